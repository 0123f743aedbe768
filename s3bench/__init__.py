"""Benchmarks of S3 clients and S3 endpoints whose figures can be trusted."""

__version__ = "0.1.0"
