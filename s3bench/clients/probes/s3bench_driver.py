"""Runs one S3 transfer command with boto3 or awscrt: `python s3bench_driver.py REQUEST`, the request as JSON.

Starts the clock before anything else is imported; `s3bench_probe.driver` does the work. This directory, and nothing
else of s3bench, is on the path of the client's process.
"""

import time

STARTED_NS = time.clock_gettime_ns(time.CLOCK_MONOTONIC)

if __name__ == "__main__":
    import sys

    from s3bench_probe.driver import main  # type: ignore[import-not-found,unused-ignore]

    sys.exit(main(sys.argv[1], STARTED_NS))
