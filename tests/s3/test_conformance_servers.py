"""The servers of `benchmarks/s3_conformance.py`: without one that does not start, the others are compared."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
STARTING = """
from conformance.servers import Missing, {server}
try:
    with {server}("false"):
        pass
except Missing as error:
    print(error)
"""


@pytest.mark.parametrize("server", ["versitygw", "moto"])
def test_a_server_that_ends_at_once_is_missing(server: str) -> None:
    command = [sys.executable, "-B", "-c", STARTING.format(server=server)]
    finished = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.endswith(" ended with 1 before it took a connection\n")
