"""Real clients are profiled by a real py-spy and a real perf."""

from collections.abc import Callable

import pytest

from s3bench.run.inspection import Unavailable
from s3bench.run.perf import find_perf
from s3bench.run.py_spy import find_py_spy
from tests.e2e.conftest import Finished


def test_the_stacks_of_boto3_are_sampled_while_it_uploads(s3bench: Callable[..., Finished]) -> None:
    found = find_py_spy()
    if isinstance(found, Unavailable):
        pytest.skip(f"stacks cannot be sampled here: {found}")
    finished = s3bench(
        "profile",
        *("--client", "boto3-classic", "-k", "upload and cp and 4KB and not 100 and not 5,000"),
        *("--runs", "1", "--format", "collapsed"),
    )
    assert finished.code == 0, finished.err
    frames = {frame for line in finished.out.splitlines() for frame in line.rpartition(" ")[0].split(";")}
    assert any(frame.startswith("botocore.") for frame in frames)


def test_the_stacks_of_s5cmd_are_sampled_while_it_uploads(s3bench: Callable[..., Finished]) -> None:
    found = find_perf()
    if isinstance(found, Unavailable):
        pytest.skip(f"stacks cannot be sampled here: {found}")
    finished = s3bench(
        "profile",
        *("--client", "s5cmd", "-k", "upload and cp and 4KB and not 100 and not 5,000"),
        *("--runs", "3", "--format", "collapsed"),
    )
    assert finished.code == 0, finished.err
    frames = {frame for line in finished.out.splitlines() for frame in line.rpartition(" ")[0].split(";")}
    assert any(frame.startswith("github.com/peak/s5cmd/v2/command:") for frame in frames)
    assert "runtime:goexit" in frames
