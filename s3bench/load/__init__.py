"""The endpoint benchmark: a profile becomes phases, phases operations, operations tallies, tallies measurements."""
