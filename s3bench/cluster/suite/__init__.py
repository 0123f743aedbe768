"""A suite on many machines: splits it into units, runs them on nodes, and combines the results into one run."""
