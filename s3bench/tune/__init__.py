"""Which settings suit a transfer best: spaces of settings, evidence from trials, and what follows from it.

Pure: no processes, sockets or clocks. `s3bench.tune.live` runs the trials. Formulas name their sources.
"""
