"""The release gate: the pairs it runs, the tests on them, the record, and PASS, FAIL or INCONCLUSIVE."""
