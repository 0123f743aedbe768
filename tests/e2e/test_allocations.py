"""The memory of a real client is looked at in its workspace."""

from pathlib import Path

import pytest

from s3bench.bench.local import open_bench
from s3bench.bench.runner import Conditions, Settings
from s3bench.cli.definitions import read_suite
from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.registry import known_client
from s3bench.clients.store import ClientStore
from s3bench.gate.self_test import stub_with_injection
from s3bench.profiling.allocations import AllocationProfile, held_by_function
from s3bench.profiling.memory import profile_memory
from s3bench.run.inspection import FaultInjection, inspection_variables

SETTINGS = Settings(interval_s=None, timeout_s=30)
[UPLOAD] = (each for each in read_suite(()) if (each.name, each.dimensions) == ("s3.cp.upload", (("FileSize", "4KB"),)))


@pytest.mark.campaign  # the probe: tests/clients/test_allocations_probe.py; the runs: tests/profiling/test_memory.py
def test_memory_that_a_client_holds_is_told(tmp_path: Path) -> None:
    found = find_client(parse_client_spec("crt-python"), ClientStore(tmp_path / "store"))
    (tmp_path / "observed").mkdir()
    conditions = Conditions(env=inspection_variables(injection=FaultInjection(hold_bytes=64 << 20)))
    with (
        open_bench(stub_with_injection(known_client(found.kind).engine), parent=tmp_path) as bench,
        bench.workspace(UPLOAD.environment) as runner_of,
    ):
        seen = profile_memory(runner_of(UPLOAD, found), SETTINGS, conditions, tmp_path / "observed")
    assert isinstance(seen, AllocationProfile), seen
    frame, own, _ = held_by_function(seen)[0]
    assert (frame.name, seen.start) == ("s3bench_probe.fault_injection:_hold", "imports")
    assert own == pytest.approx(64 << 20, rel=0.01)
