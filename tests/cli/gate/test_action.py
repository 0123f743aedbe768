"""What `s3bench gate` decides before it measures, and what it keeps when it is interrupted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from s3bench.cli.gate import action
from s3bench.cli.gate.action import may_count_instructions
from s3bench.clients.client import FoundClient
from s3bench.gate.evidence import Side
from s3bench.gate.policy import Policy
from s3bench.gate.record import GateRecord, parse_record
from tests.cli.conftest import Here
from tests.gate.evidence_maker import paired


@pytest.mark.parametrize(
    ("kinds", "policy", "switched_off", "expected"),
    [
        (("cli-classic", "cli-crt"), Policy(), False, True),
        (("cli-classic", "cli-classic"), Policy(), True, False),
        (("cli-classic", "s5cmd"), Policy(), False, False),
        (("rclone", "rclone"), Policy(), False, False),
        (("cli-classic", "cli-classic"), Policy(metrics=("peak_memory",)), False, False),
        (("cli-classic", "cli-classic"), Policy(exact=("instructions",)), False, False),
    ],
)
def test_instructions_are_counted_for_times_of_clients_whose_counts_repeat(
    kinds: tuple[str, str], policy: Policy, *, switched_off: bool, expected: bool
) -> None:
    clients = {
        side: FoundClient(kind=kind, version="1", executable=Path(kind)) for side, kind in zip(Side, kinds, strict=True)
    }
    assert may_count_instructions(policy, clients, is_switched_off=switched_off) is expected


def test_an_interruption_while_the_verdict_is_computed_loses_no_pair(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(_: object, record: GateRecord, *others: object) -> Iterator[GateRecord]:
        yield record
        yield replace(record, cells=(paired([1.0] * 12),))

    def interrupted(record: GateRecord) -> Any:
        monkeypatch.setattr(GateRecord, "concluded", concluded)
        raise KeyboardInterrupt

    concluded = GateRecord.concluded
    monkeypatch.setattr(action, "_measured", measured)
    monkeypatch.setattr(GateRecord, "concluded", interrupted)
    file = tmp_path / "gate.json"
    finished = here("gate", "--baseline", "s5cmd", "--candidate", "s5cmd", "-k", "4KB", "-o", str(file))
    assert finished.returncode == 130
    kept = parse_record(file.read_bytes(), source="gate.json")
    assert kept.stopped == "interrupted"
    assert len(kept.cells[0].pairs) == 12
