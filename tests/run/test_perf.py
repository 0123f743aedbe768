"""perf is found, and what it says when it fails becomes a reason and a remedy."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from s3bench.errors import MachineError
from s3bench.run import perf
from s3bench.run.inspection import Unavailable
from s3bench.run.perf import Perf, find_perf, why_perf_failed
from tests.run.fake_perf import fake_perf

LIMITED = """Error:
Access to performance monitoring and observability operations is limited.
Consider adjusting /proc/sys/kernel/perf_event_paranoid setting to open
"""
OTHER_KERNEL = "WARNING: perf not found for kernel 5.15.0-91\n  You may need to install linux-tools-5.15.0-91-generic"
SAMPLED = 'echo sample >"$recorded"'


def test_the_command_line_samples_cpu_time_and_follows_frame_pointers() -> None:
    prefix = Perf(executable="/opt/perf", rate_hz=500).prefix(Path("/tmp/out"), waits=False)
    assert prefix[:2] == ("/opt/perf", "record")
    assert prefix[-3:] == ("-o", "/tmp/out", "--")
    shown = " ".join(prefix)
    assert "-F 500 -e cpu-clock --call-graph fp" in shown
    assert "--no-buildid-cache" in prefix, "it would write below the home directory"
    assert Perf(executable="perf", rate_hz=500).interval_s == 0.002
    assert "cpu-clock:u" in Perf(executable="perf", event="cpu-clock:u").prefix(Path("/tmp/out"), waits=False)


@pytest.mark.parametrize(
    ("said", "paranoid", "reason", "fix"),
    [
        (LIMITED, 4, "the kernel does not permit it", "sysctl kernel.perf_event_paranoid=2, or run as root"),
        ("Error:\nNo permission to enable cpu-clock:u event.", 2, "does not permit", "--cap-add PERFMON"),
        (OTHER_KERNEL, 2, "perf is not installed for this kernel", "linux-tools"),
        ("event syntax error: 'cpu-clock'", 2, "does not have the event", "update perf"),
        ("[ perf record: Woken up 0 times to write data ]\n", 2, "perf sampled nothing", "takes longer"),
        ("", 2, "perf sampled nothing", "takes longer"),
        (
            "Failed to collect 'cpu-clock' for the '/x' workload: Permission denied",
            4,
            "perf failed (Failed to collect",
            "",
        ),
    ],
)
def test_what_it_says_becomes_a_reason_and_a_remedy(said: str, paranoid: int, reason: str, fix: str) -> None:
    found = why_perf_failed(said, paranoid=paranoid)
    assert reason in found.reason
    assert fix in found.fix
    assert "perf record:" not in found.reason


def test_without_perf_the_line_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    found = find_perf()
    assert isinstance(found, Unavailable)
    assert found.reason == "perf is not installed"
    assert "apt-get install linux-perf" in found.fix


@pytest.fixture
def found_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The directory in which perf is looked for; the kernel's setting is Debian's."""
    monkeypatch.setattr(shutil, "which", lambda _: str(tmp_path / "perf"))
    monkeypatch.setattr(perf, "perf_event_paranoid", lambda: 3)
    return tmp_path


def test_one_that_samples_a_loop_is_taken(found_in: Path) -> None:
    executable = fake_perf(found_in, record=SAMPLED)
    assert find_perf() == Perf(executable=executable)
    assert not Perf(executable=executable).warnings


def test_one_that_may_not_sample_is_refused_with_the_setting_of_the_kernel(found_in: Path) -> None:
    fake_perf(found_in, record=f"echo '{LIMITED}' >&2", exit_code=255)
    found = find_perf()
    assert isinstance(found, Unavailable)
    assert found.fix == "sysctl kernel.perf_event_paranoid=2, or run as root"


def test_one_that_samples_nothing_is_refused(found_in: Path) -> None:
    fake_perf(found_in, record=': >"$recorded"')
    found = find_perf()
    assert isinstance(found, Unavailable)
    assert "perf sampled nothing" in found.reason


def test_one_that_cannot_read_what_it_recorded_is_refused(found_in: Path) -> None:
    fake_perf(found_in, record=SAMPLED, script="echo 'incompatible file format' >&2; exit 1")
    found = find_perf()
    assert isinstance(found, Unavailable)
    assert "incompatible file format" in found.reason


def test_where_the_kernel_is_left_out_there_is_a_warning(found_in: Path) -> None:
    fake_perf(found_in, record=SAMPLED, event="cpu-clock:u")
    found = find_perf()
    assert isinstance(found, Perf)
    assert found.event == "cpu-clock:u"
    assert "in the kernel is not sampled" in found.warnings[0]


def test_where_only_user_space_can_be_opened_that_is_sampled(found_in: Path) -> None:
    of_kernel = f"case \"$arguments\" in *' cpu-clock '*) echo '{LIMITED}' >&2; exit 255 ;; esac"
    executable = fake_perf(found_in, record=f"{of_kernel}; {SAMPLED}", event="cpu-clock:u")
    program = Path(executable)
    program.write_text(program.read_text().replace("verb=$1\n", 'verb=$1\narguments="$*"\n'))
    found = find_perf()
    assert isinstance(found, Perf)
    assert found.event == "cpu-clock:u"


def test_what_was_recorded_and_cannot_be_read_is_an_error_of_the_machine(tmp_path: Path) -> None:
    executable = fake_perf(tmp_path, script="echo 'incompatible file format' >&2; exit 1")
    with pytest.raises(MachineError) as error:
        Perf(executable=executable).write_text(tmp_path / "recorded", tmp_path / "text")
    assert "incompatible file format" in str(error.value)


def test_the_real_one_ends_with_the_exit_code_of_the_program(tmp_path: Path) -> None:
    found = find_perf()
    if isinstance(found, Unavailable):
        pytest.skip(f"stacks cannot be sampled here: {found}")
    argv = (*found.prefix(tmp_path / "out", waits=False), sys.executable, "-c", "raise SystemExit(7)")
    assert subprocess.run(argv, capture_output=True, check=False).returncode == 7
    found.write_text(tmp_path / "out", tmp_path / "text")
    assert "([" in (tmp_path / "text").read_text() or "(/" in (tmp_path / "text").read_text()
