"""A live gate before its first run."""

from pathlib import Path
from typing import cast

import pytest

from s3bench.bench.runner import Bench, Settings
from s3bench.clients.client import FoundClient
from s3bench.gate.evidence import Side
from s3bench.gate.live import GateRules, run_gate
from s3bench.gate.policy import Policy
from s3bench.spec.definition import ClientKind


def test_both_programs_are_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clients, seen = {}, []
    for side in Side:
        program = tmp_path / side.value / "s5cmd"
        program.parent.mkdir()
        program.write_bytes(b"\x7fELF")
        clients[side] = FoundClient(kind=ClientKind.S5CMD, version="2.3.0", executable=program)
    monkeypatch.setattr("s3bench.gate.live.reread", seen.extend)
    rules = GateRules(policy=Policy(), settings=Settings(), seed=1, has_controls=False)
    list(run_gate(cast("Bench", None), (), clients, rules, None, now=lambda: 0.0))
    assert sorted(seen) == sorted(client.executable for client in clients.values())
