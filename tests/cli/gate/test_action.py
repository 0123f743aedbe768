"""What `s3bench gate` decides before it measures, and what it keeps when it is interrupted."""

import dataclasses
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
from s3bench.gate.row import Verdict
from s3bench.profiling.explaining import Explainer
from s3bench.profiling.explanation import Cause, CauseKind, Explanation
from s3bench.profiling.observed_change import ObservedChange
from tests.bench.scripted_bench import ScriptedBench, client, failed, measured
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


SIDES = ("--baseline", "cli-classic@1", "--candidate", "cli-classic@2", "--metric", "total_time")
FOUR_KB = "upload and cp and 4KB and not 100 and not 5,000"


@pytest.fixture
def slower(bench: ScriptedBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedBench:
    """Two versions of a client, of which the second takes a tenth longer."""
    clients = [client(tmp_path, version, "cli-classic") for version in "12"]
    monkeypatch.setattr(action, "found_clients", lambda *_: clients)
    bench.script = lambda run: measured((1.1 if run.client.version == "2" else 1.0) + 1e-4 * (len(bench.runs) * 7 % 11))
    return bench


def test_an_interrupted_search_for_causes_leaves_the_verdict_as_it_is(
    here: Here, slower: ScriptedBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Explainer, "explain", interrupted)
    file = tmp_path / "gate.json"
    finished = here("gate", *SIDES, "-k", FOUR_KB, "--no-exact", "-o", str(file))
    assert slower.runs
    assert finished.returncode == 1, finished.stderr
    kept = parse_record(file.read_bytes(), source="gate.json")
    assert kept.stopped == ""
    assert kept.conclusion is not None
    assert kept.conclusion.verdict is Verdict.FAIL
    assert "the search for causes was interrupted; the verdict is not affected" in kept.warnings


def test_the_time_that_clients_take_to_install_is_part_of_the_time_limit(
    here: Here, slower: ScriptedBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*_: object) -> list[FoundClient]:
        slower.now_s += 60.0
        return clients

    clients = [client(tmp_path, version, "cli-classic") for version in "12"]
    monkeypatch.setattr(action, "found_clients", slowly)
    file = tmp_path / "gate.json"
    finished = here(
        "gate", *SIDES, "-k", FOUR_KB, "--no-exact", "--no-instructions", "--max-time", "1m", "-o", str(file)
    )
    assert finished.returncode == 3, finished.stderr
    assert parse_record(file.read_bytes(), source="gate.json").stopped == "--max-time 1m has passed"
    assert not slower.runs


def test_a_client_that_hangs_under_observation_does_not_hold_the_gate_for_hours(
    here: Here, slower: ScriptedBench
) -> None:
    usual = slower.script
    slower.script = lambda run: failed("hangs", None) if run.debug_name == "inspection" else usual(run)
    finished = here("gate", *SIDES, "-k", FOUR_KB, "--exact", "modules", "--max-time", "11m")
    assert finished.returncode == 4, finished.stderr
    assert 11 * 60 <= slower.now_s < 2 * 11 * 60


@pytest.mark.parametrize("option", [(), ("--no-explain",)])
def test_what_fails_is_explained_unless_switched_off(
    here: Here, slower: ScriptedBench, monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...]
) -> None:
    def explain(_: object, change: ObservedChange) -> Explanation:
        return Explanation(benchmark=change.benchmark, metric=change.metric, change=0.04, notes=("seen",))

    monkeypatch.setattr(Explainer, "explain", explain)
    finished = here("gate", *SIDES, "-k", FOUR_KB, "--no-exact", *option)
    assert slower.runs
    assert finished.returncode == 1, finished.stderr
    assert ("Why total_time of s3.cp.upload FileSize=4KB changed by +40.0 ms" in finished.stdout) is not bool(option)


@pytest.mark.parametrize("candidate", ["2", "./build/site"])
def test_causes_in_a_checkout_are_annotated_at_their_lines(
    candidate: str, here: Here, slower: ScriptedBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explain(_: object, change: ObservedChange) -> Explanation:
        causes = [
            Cause(kind=CauseKind.FUNCTION, place="b:f", file=file, line=7, change=0.04)
            for file in ("b/f.py", "json/decoder.py", "../outside.py", str(tmp_path / "outside.py"))
        ]
        return Explanation(benchmark=change.benchmark, metric=change.metric, change=0.04, causes=tuple(causes))

    monkeypatch.setattr(Explainer, "explain", explain)
    (tmp_path / "checkout" / "src" / "b").mkdir(parents=True)
    (tmp_path / "checkout" / "src" / "b" / "f.py").touch()
    (tmp_path / "outside.py").touch()
    monkeypatch.chdir(tmp_path / "checkout")
    path = candidate if "/" in candidate else None
    baseline, newer = (client(tmp_path, version, "cli-classic") for version in "12")
    monkeypatch.setattr(action, "found_clients", lambda *_: [baseline, dataclasses.replace(newer, asked_path=path)])
    finished = here("gate", *SIDES, "-k", FOUR_KB, "--no-exact", "--annotations")
    assert slower.runs
    annotated = [line for line in finished.stderr.splitlines() if "file=" in line]
    assert [line.partition(",title")[0] for line in annotated] == (["::warning file=src/b/f.py,line=7"] if path else [])
