"""The calls of a real client are counted in its workspace, and a planted import is told."""

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
from s3bench.profiling.call_counts import CallCounts, CountedFrom, count_differences
from s3bench.profiling.counting import count_calls
from s3bench.profiling.explanation import CauseKind
from s3bench.run.inspection import FaultInjection, inspection_variables

SETTINGS = Settings(interval_s=None, timeout_s=30)
[UPLOAD] = (each for each in read_suite(()) if (each.name, each.dimensions) == ("s3.cp.upload", (("FileSize", "4KB"),)))


@pytest.mark.campaign  # the probe: tests/clients/test_call_counts_probe.py; the runs: tests/profiling/test_counting.py
def test_a_module_that_boto3_imports_more_is_told_from_one_run_of_each_side(tmp_path: Path) -> None:
    found = find_client(parse_client_spec("boto3-classic"), ClientStore(tmp_path / "store"))
    (tmp_path / "counted").mkdir()
    sides = []
    with (
        open_bench(stub_with_injection(known_client(found.kind).engine), parent=tmp_path) as bench,
        bench.workspace(UPLOAD.environment) as runner_of,
    ):
        for injection in (FaultInjection(), FaultInjection(imports=1)):
            conditions = Conditions(env=inspection_variables(injection=injection))
            seen = count_calls(runner_of(UPLOAD, found), SETTINGS, conditions, tmp_path / "counted")
            assert isinstance(seen, CallCounts), seen
            assert seen.counted_from is CountedFrom.IMPORTS
            sides.append(seen)
    names = {each.name for each in sides[0].functions}
    assert {"boto3.session:<module>", "s3transfer.upload:UploadSubmissionTask._submit", "os:stat"} <= names
    [imported] = [cause for cause in count_differences(sides[:1], sides[1:]) if cause.kind is CauseKind.IMPORT]
    assert (imported.place, imported.counts) == ("colorsys", (0.0, 1.0))
