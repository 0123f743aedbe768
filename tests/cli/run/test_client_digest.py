"""`s3bench run` keeps the digest of each program, by which a gate of two documents tells two builds apart."""

import json
from pathlib import Path

import pytest

from s3bench.clients.client import FoundClient
from s3bench.errors import MachineError
from tests.bench.scripted_bench import ScriptedBench, measured
from tests.cli.conftest import Here
from tests.e2e.conftest import upload


def digests(here: Here, tmp_path: Path) -> set[str | None]:
    (tmp_path / "one.json").write_text(json.dumps([upload(1000, clients=["s5cmd"])]))
    finished = here("run", "-q", str(tmp_path / "one.json"))
    assert finished.returncode == 0, finished.stderr
    document = json.loads(finished.stdout)
    clients = [*document["clients"], *(result["client"] for result in document["results"])]
    assert len(clients) == 2
    return {client.get("digest") for client in clients}


def test_the_document_has_the_digest_of_each_client(
    here: Here, bench: ScriptedBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.script = lambda _: measured()
    monkeypatch.setattr("s3bench.cli.run.action.program_digest", lambda found: f"digest of {found.kind}")
    assert digests(here, tmp_path) == {"digest of s5cmd"}


def test_a_program_whose_files_cannot_be_read_has_none_and_runs_all_the_same(
    here: Here, bench: ScriptedBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(_found: FoundClient) -> str:
        raise MachineError("cannot tell whether two clients are the same program")

    bench.script = lambda _: measured()
    monkeypatch.setattr("s3bench.cli.run.action.program_digest", unreadable)
    assert digests(here, tmp_path) == {None}
