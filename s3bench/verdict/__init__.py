"""What two sets of measurements say about each other: tests, intervals, corrections and doubts.

Pure: no processes, sockets, clocks or randomness. Formulas name their sources.
"""
