"""The number of runs that confirms a difference between two exact metrics.

When all runs of one side show one count and all runs of the other side another, the difference is real unless the count
varies by itself and each side happened to get only one of its values. With k runs per side that has a probability of at
most 1 in 2^(2k-1): 1 in 500,000 for `CONFIRMING_RUNS`. For a count with many values it is 1 in 90,000.
"""

CONFIRMING_RUNS = 10
"""Runs per side from which a difference between counts is confirmed."""
