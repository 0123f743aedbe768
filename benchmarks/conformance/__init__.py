"""The parts of `benchmarks/s3_conformance.py`: servers, calls, cases and verdicts."""
