"""Tuning: finds the settings of a client that suit a transfer best.

The rules are pure: the search space, the search model, the race and the verification. Only `s3bench.tune.live` runs
trials.
"""
