"""Selects between the implementations for Linux and the portable ones.

The spawner imports this, so it imports next to nothing itself.
"""

import os
import sys

IS_PORTABLE = sys.platform != "linux" or os.environ.get("S3BENCH_PORTABLE") == "1"
"""Whether the portable implementations are used: on other systems, and on Linux where S3BENCH_PORTABLE=1 is set."""
