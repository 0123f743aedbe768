"""`s3bench run` where the machine fails."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from s3bench.bench.suite import SuiteStatus, run_suite
from s3bench.errors import MachineError
from tests.cli.conftest import Here
from tests.e2e.conftest import upload


def test_what_was_measured_before_the_machine_failed_is_printed(
    here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail_at_last(*arguments: Any, **options: Any) -> Iterator[SuiteStatus]:
        yield from run_suite(*arguments, **options)
        raise MachineError("the helper ended")

    monkeypatch.setenv("S3BENCH_TMPDIR", str(tmp_path))
    (tmp_path / "one.json").write_text(json.dumps([upload(1000, clients=["s5cmd"])]))
    monkeypatch.setattr("s3bench.cli.run.action.run_suite", fail_at_last)
    finished = here("run", "-q", str(tmp_path / "one.json"))
    assert finished.returncode == 4
    assert finished.stderr == "s3bench: the helper ended\n"
    assert len(json.loads(finished.stdout)["results"][0]["measurements"]) == 1
