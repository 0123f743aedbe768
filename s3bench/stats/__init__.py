"""Pure statistics of samples and pairs: rank tests, confidence intervals, multiplicity corrections, diagnostics."""
