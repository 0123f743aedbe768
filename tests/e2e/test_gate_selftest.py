"""The self-test on a real client: what is planted is caught, and nothing else differs."""

import datetime as dt
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from s3bench.bench.local import open_bench
from s3bench.bench.runner import Settings
from s3bench.cli.definitions import read_suite
from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.registry import known_client
from s3bench.clients.staging import stage
from s3bench.clients.store import ClientStore
from s3bench.errors import BadInput
from s3bench.gate.evidence import Side
from s3bench.gate.exact_metric import CONFIRMING_RUNS
from s3bench.gate.indifference_zone import IndifferenceZone
from s3bench.gate.inspection import find_inspector
from s3bench.gate.live import GateRules
from s3bench.gate.looks import Looks
from s3bench.gate.planted_fault import FaultKind, FaultVerdict, PlantedFault
from s3bench.gate.policy import Policy
from s3bench.gate.self_test import calibrate, gate_runner, run_self_test, stub_with_injection
from s3bench.run.tracing import Tracer, find_tracer
from tests.e2e.conftest import Finished

# The planted delay of the control is twice the second limit: large, so that no noise of a shared machine hides it.
ZONES = {"total_time": IndifferenceZone(d0=0.5, d1=1.0, floor=0.0)}
SETTINGS = Settings(interval_s=None, timeout_s=30)
[UPLOAD] = (each for each in read_suite(()) if (each.name, each.dimensions) == ("s3.cp.upload", (("FileSize", "4KB"),)))


def caught(fault: PlantedFault, policy: Policy, root: Path) -> FaultVerdict:
    """What the gate says of `fault` in a real client."""
    found = find_client(parse_client_spec("crt-python"), ClientStore(root / "store"))
    with open_bench(stub_with_injection(known_client(found.kind).engine), parent=root) as bench:
        usual = calibrate(bench, UPLOAD, found, SETTINGS, runs=1)
        assert usual.total_s > 0
        assert usual.peak_bytes
        assert usual.turns > 0
        inspector = find_inspector(root / "inspection", policy)
        clients = {side: stage(found, root / side.value[:1]).client for side in Side}
        rules = GateRules(policy=policy, settings=SETTINGS, seed=1)
        run = gate_runner(bench, (UPLOAD,), clients, rules, inspector, usual, now=time.monotonic)
        steps = run_self_test(
            run, [fault], policy, rounds=1, seed=1, deadline_s=None, today=dt.date(2026, 11, 21), now=time.monotonic
        )
        [answer] = [step.answer for step in steps if step.answer]
    return answer


@pytest.mark.campaign
def test_one_more_request_is_answered_and_caught_by_its_kind(tmp_path: Path) -> None:
    looks = Looks(pairs=(CONFIRMING_RUNS + CONFIRMING_RUNS % 2,))
    policy = Policy(metrics=("peak_memory",), exact=("requests",), zones=ZONES, looks=looks)
    answer = caught(PlantedFault(kind=FaultKind.REQUEST, amount=1), policy, tmp_path)
    assert (answer.is_caught, answer.found_in) == (True, ("requests",)), answer.reasons
    assert "requests of s3.cp.upload FileSize=4KB: 1 more: GET (0 -> 1)" in answer.reasons


@pytest.mark.campaign
@pytest.mark.timeout(180)
def test_one_more_import_is_caught_by_its_name_and_what_carries_it_is_on_both_sides(tmp_path: Path) -> None:
    policy = Policy(
        metrics=("peak_memory",), exact=("modules", "files"), zones=ZONES, looks=Looks(pairs=(4,)), false_alarm=0.1
    )
    answer = caught(PlantedFault(kind=FaultKind.IMPORT, amount=1), policy, tmp_path)
    assert (answer.is_caught, answer.found_in) == (True, ("modules",)), answer.reasons
    reasons = " | ".join(answer.reasons)
    assert "modules of s3.cp.upload FileSize=4KB: 1 more: colorsys (0 -> 1)" in reasons
    if isinstance(find_tracer(), Tracer):
        assert "files of s3.cp.upload FileSize=4KB: 1 more:" in reasons
    assert "injection" not in reasons


def test_a_fault_that_would_not_be_planted_is_refused(workspaces: Path, tmp_path: Path) -> None:
    found = find_client(parse_client_spec("s5cmd"), ClientStore(tmp_path / "store"))
    endpoint = stub_with_injection(known_client(found.kind).engine)
    with open_bench(endpoint, parent=workspaces) as bench, pytest.raises(BadInput, match="into s5cmd") as no:
        calibrate(bench, UPLOAD, found, SETTINGS)
    assert no.value.what == f"no fault can be planted into {found.label} running s3.cp.upload FileSize=4KB"


def test_the_command_stops_in_time_and_says_that_it_showed_too_little(
    s3bench: Callable[..., Finished], tmp_path: Path
) -> None:
    kept = tmp_path / "out.json"
    finished = s3bench(
        "gate", "--self-test", "--baseline", "crt-python", "--max-time", "0.5s", "--no-exact", "-o", kept
    )
    assert finished.code == 4, finished.err
    assert "the gate cannot be trusted on this machine" in finished.out
    assert "stopped: --max-time 0.5s has passed after 0 of 45 gates" in finished.out
    told = json.loads(kept.read_text())
    assert (told["is_believed"], told["client"]["name"], told["benchmarks"]) == (
        *(False, "crt-python"),
        ["s3.cp.upload FileSize=4KB"],
    )
