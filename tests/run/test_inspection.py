"""What an inspection needs of the machine, and what it tells the probe and hears from it."""

import json
import subprocess
from pathlib import Path

import pytest

from s3bench.errors import MachineError
from s3bench.run.inspection import (
    FaultInjection,
    Unavailable,
    fixed_addresses,
    inspection_variables,
    read_modules,
    read_output,
    try_out,
)


def test_nothing_asked_for_sets_no_variable() -> None:
    assert inspection_variables() == {}


def test_a_dial_tells_what_it_plants_alone() -> None:
    variables = inspection_variables(modules_file=Path("/x/modules"), injection=FaultInjection(requests=2))
    assert variables == {"S3BENCH_MODULES_FILE": "/x/modules", "S3BENCH_FAULT_INJECTION": '{"requests": 2}'}


def test_call_counts_are_asked_for_by_their_file() -> None:
    variables = inspection_variables(call_counts_file=Path("/x/counts"))
    assert variables == {"S3BENCH_CALL_COUNTS_FILE": "/x/counts"}


def test_a_dial_at_zero_is_loaded_all_the_same_so_that_both_sides_pay_for_it() -> None:
    assert json.loads(inspection_variables(injection=FaultInjection())["S3BENCH_FAULT_INJECTION"]) == {}


def test_modules_are_none_where_the_probe_told_nothing(tmp_path: Path) -> None:
    assert read_modules(tmp_path / "absent") is None
    (tmp_path / "empty").touch()
    assert read_modules(tmp_path / "empty") is None
    (tmp_path / "two").write_text("a\nb.c\n")
    assert read_modules(tmp_path / "two") == ("a", "b.c")


def test_fixed_addresses_are_fixed() -> None:
    prefix = fixed_addresses()
    if isinstance(prefix, Unavailable):
        pytest.skip(str(prefix))
    maps = {subprocess.run([*prefix, "cat", "/proc/self/maps"], capture_output=True, check=True).stdout for _ in "ab"}
    starts = {tuple(line.split(b"-")[0] for line in text.splitlines()) for text in maps}
    assert len(starts) == 1


def test_without_setarch_the_reason_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert fixed_addresses() == Unavailable(reason="setarch is not installed", fix="install util-linux")


def test_where_the_system_forbids_it_the_reason_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "setarch").write_text("#!/bin/sh\necho 'setarch: Operation not permitted' >&2\nexit 1\n")
    (tmp_path / "setarch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert "Operation not permitted" in str(fixed_addresses())


def test_what_cannot_be_started_or_fails_silently_is_a_complaint_too() -> None:
    assert try_out(("true",)) is None
    assert try_out(("false",)) == "exit code 1"
    assert "nowhere" in str(try_out(("/nowhere/at/all",)))


def test_an_observer_without_output_is_the_machines_fault(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="strace left no output"):
        read_output(tmp_path / "absent", of="strace")
