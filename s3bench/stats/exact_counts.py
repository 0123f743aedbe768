"""How many runs of each side show that two counts differ for good, and not by the luck of the draw.

Where each side shows one value and the values differ, a few runs say so already, unless the count has two values of its
own and chance dealt one to each side: with k runs a side that happens at most once in 2^(2k-1) times (500,000 for
`CONFIRMING_RUNS`), and to a count of many values once in 90,000.
"""

CONFIRMING_RUNS = 10
"""Runs a side from which a difference between counts is confirmed."""
