"""Work on many machines: the load of one run, or the definitions of one suite (`suite`); the engine that spreads it."""
