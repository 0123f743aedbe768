"""The findings about a machine: what disturbs, what is only unknown, and that each problem has a remedy."""

import tempfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from s3bench.run import doctor
from s3bench.run.doctor import (
    FREE_BYTES_MIN,
    MachineFinding,
    Severity,
    Surroundings,
    machine_findings,
    surroundings,
    tool_findings,
)
from s3bench.run.inspection import Unavailable
from s3bench.run.machine import MachineFacts, machine_facts, machine_warnings
from s3bench.run.perf import Perf
from s3bench.s3.signing import sigv4
from tests.run.test_machine import quiet, write

AROUND = Surroundings(
    huge_pages="madvise",
    steal_share=0.0,
    directory=Path("/tmp"),
    file_system="ext4",
    free_bytes=FREE_BYTES_MIN,
    keeps_cores_awake=True,
)


def still(**changes: object) -> MachineFacts:
    """Make the facts of a machine on which nothing disturbs but `changes`."""
    values: dict[str, object] = {"virtualization": "none", "landlock_abi": 7, "turbo": False, "hyperthreading": False}
    return quiet(**values | {"clock_source": "tsc", "on_battery": False, "address_randomization": 2} | changes)


def of(findings: tuple[MachineFinding, ...], subject: str) -> MachineFinding:
    (found,) = (finding for finding in findings if finding.subject == subject)
    return found


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tool is tried, which takes a part of a second for each; tests/cli/test_first_examples.py runs `doctor`."""
    for name in ("find_tracer", "instruction_counter", "find_py_spy", "find_perf"):
        monkeypatch.setattr(doctor, name, lambda: Unavailable(reason="not tried"))


@pytest.mark.usefixtures("no_tools")
@pytest.mark.parametrize(
    ("subject", "module", "name"), [("server in C", doctor, "fast_path"), ("signatures in C", sigv4, "in_c")]
)
def test_what_is_not_done_in_c_is_told(
    subject: str, module: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, None)
    finding = of(tool_findings(), subject)
    assert finding.severity is Severity.MISSING
    assert "python3-dev" in finding.remedy
    monkeypatch.setattr(module, name, object())
    assert of(tool_findings(), subject).severity is Severity.OK


def test_a_machine_on_which_nothing_disturbs_has_no_finding_but_ok() -> None:
    assert {finding.severity for finding in machine_findings(still(), AROUND)} == {Severity.OK}


@pytest.mark.parametrize(
    ("change", "subject", "severity"),
    [
        ({"cores_allowed": 1}, "cores", Severity.WARNING),
        ({"governor": "powersave"}, "frequency governor", Severity.WARNING),
        ({"turbo": True}, "turbo", Severity.NOTE),
        ({"hyperthreading": True}, "hyper-threading", Severity.NOTE),
        ({"on_battery": True}, "power supply", Severity.WARNING),
        ({"clock_source": "hpet"}, "clock source", Severity.NOTE),
        ({"load_1min": 4.1}, "load", Severity.WARNING),
        ({"cpu_quota_cores": 1.5}, "CPU limit", Severity.WARNING),
        ({"virtualization": "hypervisor"}, "virtualization", Severity.NOTE),
        ({"swap_used": 1}, "swap", Severity.WARNING),
        ({"address_randomization": 0}, "address randomization", Severity.NOTE),
        ({"landlock_abi": 0}, "sandbox of clients", Severity.NOTE),
    ],
)
def test_each_problem_is_found_with_its_effect_and_a_remedy(
    change: dict[str, object], subject: str, severity: Severity
) -> None:
    findings = machine_findings(still(**change), AROUND)
    wrong = [finding for finding in findings if finding.severity is not Severity.OK]
    assert [(finding.subject, finding.severity) for finding in wrong if finding.subject == subject] == [
        (subject, severity)
    ]
    assert all(finding.effect and finding.remedy for finding in wrong)


@pytest.mark.parametrize(
    ("around", "subject"),
    [
        (replace(AROUND, huge_pages="always"), "huge pages"),
        (replace(AROUND, keeps_cores_awake=False), "idle states"),
        (replace(AROUND, steal_share=0.02), "time stolen"),
        (replace(AROUND, free_bytes=FREE_BYTES_MIN - 1), "disk of workspaces"),
        (replace(AROUND, file_system="nfs4"), "disk of workspaces"),
        (replace(AROUND, file_system="fuse.sshfs"), "disk of workspaces"),
        (replace(AROUND, wanted_directory="/nowhere"), "disk of workspaces"),
    ],
)
def test_what_results_do_not_store_is_judged_too(around: Surroundings, subject: str) -> None:
    finding = of(machine_findings(still(), around), subject)
    assert finding.severity in {Severity.NOTE, Severity.WARNING}
    assert finding.effect
    assert finding.remedy


def test_what_a_system_does_not_report_is_unknown_and_no_problem() -> None:
    finding = of(machine_findings(still(governor=None), AROUND), "frequency governor")
    assert (finding.severity, finding.remedy) == (Severity.UNKNOWN, "")


@pytest.mark.parametrize(
    "change", [{"governor": "powersave"}, {"load_1min": 4.1}, {"cores_allowed": 1}, {"swap_used": 1}]
)
def test_whatever_results_warn_of_the_doctor_warns_of(change: dict[str, object]) -> None:
    facts = still(**change)
    severities = [finding.severity for finding in machine_findings(facts, AROUND)]
    assert severities.count(Severity.WARNING) == len(machine_warnings(facts)) == 1


def test_surroundings_are_read_from_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("S3BENCH_TMPDIR", raising=False)
    root = write(tmp_path, {"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n"})
    around = surroundings(root)
    assert around.huge_pages == "madvise"
    assert around.directory == Path(tempfile.gettempdir())
    assert around.free_bytes > 0
    assert surroundings(tmp_path / "nowhere").huge_pages is None


def test_the_disk_is_the_one_on_which_workspaces_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/nowhere")
    monkeypatch.setenv("S3BENCH_TMPDIR", str(tmp_path))
    around = surroundings()
    assert (around.directory, around.wanted_directory) == (tmp_path, "")
    monkeypatch.setenv("S3BENCH_TMPDIR", "/nowhere")
    disk = of(machine_findings(still(), surroundings()), "disk of workspaces")
    assert (disk.severity, disk.remedy) == (Severity.WARNING, "set S3BENCH_TMPDIR to one that is, or unset it")


def test_a_tmpdir_that_cannot_be_used_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("S3BENCH_TMPDIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert surroundings().wanted_directory == ""
    monkeypatch.setenv("TMPDIR", "/nowhere")
    assert surroundings().wanted_directory == "/nowhere"
    monkeypatch.delenv("TMPDIR")
    assert surroundings().wanted_directory == ""


def test_a_missing_tool_has_what_it_would_add_and_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    strace = of(tool_findings(), "strace")
    assert strace.severity is Severity.MISSING
    assert "system calls" in strace.effect
    assert "install strace" in strace.remedy


@pytest.mark.usefixtures("no_tools")
def test_a_perf_that_may_not_sample_has_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_perf", lambda: Unavailable(reason="not permitted", fix="run as root"))
    perf = of(tool_findings(), "perf")
    assert (perf.severity, perf.found, perf.remedy) == (Severity.MISSING, "not permitted", "run as root")
    assert "s5cmd" in perf.effect


@pytest.mark.usefixtures("no_tools")
def test_a_perf_that_may_not_sample_the_kernel_is_noted_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_perf", lambda: Perf(executable="perf", event="cpu-clock:u"))
    perf = of(tool_findings(), "perf")
    assert perf.severity is Severity.NOTE
    assert "kernel is not sampled" in perf.effect
    assert "perf_event_paranoid=1" in perf.remedy
    monkeypatch.setattr(doctor, "find_perf", lambda: Perf(executable="perf"))
    assert of(tool_findings(), "perf") == MachineFinding(subject="perf", found="works")


@pytest.mark.usefixtures("no_tools")
def test_a_py_spy_that_may_not_trace_has_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_py_spy", lambda: Unavailable(reason="not permitted", fix="add SYS_PTRACE"))
    py_spy = of(tool_findings(), "py-spy")
    assert (py_spy.severity, py_spy.found, py_spy.remedy) == (Severity.MISSING, "not permitted", "add SYS_PTRACE")
    assert "s3bench profile" in py_spy.effect


@pytest.mark.usefixtures("no_tools")
def test_a_tool_that_does_not_work_is_one_line_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "instruction_counter", lambda: Unavailable(reason="no file\nvalgrind: giving up"))
    finding = of(tool_findings(), "instructions")
    assert (finding.severity, finding.found) == (Severity.MISSING, "no file valgrind: giving up")
    assert finding.remedy


def test_this_machine_can_be_judged() -> None:
    assert len(machine_findings(machine_facts(), surroundings())) == len(machine_findings(still(), AROUND))
