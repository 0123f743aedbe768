"""Statistics of samples and pairs, each method once: rank tests, intervals, corrections, diagnostics. Pure."""
