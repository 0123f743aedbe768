"""Work on many machines: the load of one run, or the definitions of one suite (`suite`), distributed by Ray."""
