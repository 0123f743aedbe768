"""`s3bench doctor`: a headline with counts, a line for each finding, and the same as JSON."""

import json
from dataclasses import asdict

import pytest
from click.testing import CliRunner

from s3bench.cli.doctor import action
from s3bench.cli.doctor.command import doctor_command
from s3bench.run.doctor import MachineFinding, Severity

SWAP = MachineFinding(
    subject="swap", found="1 MiB used", severity=Severity.WARNING, effect="an effect", remedy="swapoff -a"
)
RAY = MachineFinding(
    subject="ray", found="not installed", severity=Severity.MISSING, effect="clusters", remedy="the extra"
)
CORES = MachineFinding(subject="cores", found="8 usable")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(action, "machine_findings", lambda _facts, _around: (CORES, SWAP))
    monkeypatch.setattr(action, "tool_findings", lambda: (RAY,))


@pytest.mark.usefixtures("machine")
def test_it_prints_counts_first_and_a_remedy_below_each_problem() -> None:
    result = CliRunner().invoke(doctor_command)
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines == [
        "1 warning, 1 tool missing",
        "machine",
        "ok cores 8 usable",
        "warning swap 1 MiB used",
        "an effect",
        "swapoff -a",
        "tools",
        "missing ray not installed",
        "it would add: clusters",
        "the extra",
    ]


@pytest.mark.usefixtures("machine")
def test_json_has_every_finding() -> None:
    result = CliRunner().invoke(doctor_command, ["--json"])
    assert json.loads(result.stdout) == [asdict(finding) for finding in (CORES, SWAP, RAY)]


def test_without_problems_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(action, "machine_findings", lambda _facts, _around: (CORES,))
    monkeypatch.setattr(action, "tool_findings", lambda: ())
    assert CliRunner().invoke(doctor_command).stdout.startswith("nothing disturbs measurements here\n")
