"""The endpoint benchmark: profile, phases, operations, interval records, measurements."""
