"""A load run from its bucket to its clean-up: workers, phases, calibration and the search for the highest rate."""
