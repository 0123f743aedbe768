"""The release gate: runs pairs of a baseline and a candidate, tests them, and decides PASS, SMALL or FAIL."""
