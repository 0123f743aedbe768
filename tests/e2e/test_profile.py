"""Real clients are profiled by a real py-spy and a real perf."""

from collections.abc import Callable

import pytest

from s3bench.run.inspection import Unavailable
from s3bench.run.perf import find_perf
from s3bench.run.py_spy import find_py_spy
from tests.e2e.conftest import Finished


@pytest.mark.parametrize(
    ("client", "find", "runs", "expected"),
    [
        ("boto3-classic", find_py_spy, 1, ("botocore.",)),
        ("s5cmd", find_perf, 3, ("github.com/peak/s5cmd/v2/command:", "runtime:goexit")),
    ],
)
def test_the_stacks_of_a_client_are_sampled_while_it_uploads(
    client: str, find: Callable[[], object], runs: int, expected: tuple[str, ...], s3bench: Callable[..., Finished]
) -> None:
    found = find()
    if isinstance(found, Unavailable):
        pytest.skip(f"stacks cannot be sampled here: {found}")
    select = ("-k", "upload and cp and 4KB")
    finished = s3bench("profile", "--client", client, *select, "--runs", str(runs), "--format", "collapsed")
    assert finished.code == 0, finished.err
    frames = {frame for line in finished.out.splitlines() for frame in line.rpartition(" ")[0].split(";")}
    for name in expected:
        assert any(frame.startswith(name) for frame in frames), name
