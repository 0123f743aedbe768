"""Shell commands of the user's: their environment, their errors, their end."""

import os
import shlex
import sys
import time
from pathlib import Path

import pytest

from s3bench.errors import ExitCode, ShellCommandFailed
from s3bench.run.shell_command import run_shell_command


def failed(command: str, *, timeout_s: float = 20.0) -> ShellCommandFailed:
    with pytest.raises(ShellCommandFailed) as caught:
        run_shell_command("--prepare", command, timeout_s=timeout_s)
    assert caught.value.exit_code is ExitCode.CLIENT_FAILED
    return caught.value


def test_a_command_has_the_users_directory_and_environment_and_its_output_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINE", "a b")
    run_shell_command("--prepare", 'echo out; echo err >&2; echo "$MINE" > here', timeout_s=20)
    assert (tmp_path / "here").read_text() == "a b\n"
    assert capfd.readouterr() == ("", "")


def test_a_command_that_fails_is_named_with_its_exit_code_and_its_last_lines() -> None:
    error = failed("for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $n >&2; done; exit 3")
    assert error.what.endswith("exit 3` exited 3")
    assert error.what.startswith("--prepare `for n in")
    assert error.why.splitlines() == [f"line {number}" for number in range(3, 13)]
    assert failed("exit 1").why == "it wrote nothing to stderr"


def test_secrets_of_a_command_are_not_repeated() -> None:
    error = failed("TOKEN=hunter2 false; echo 'see http://me:hunter2@host/' >&2; false")
    assert "hunter2" not in str(error)


def test_a_signal_is_named() -> None:
    assert failed("kill -TERM $$").what == "--prepare `kill -TERM $$` was ended by signal 15 (SIGTERM)"
    assert failed("kill -40 $$").what == "--prepare `kill -40 $$` was ended by signal 40"


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    error = failed(f"sleep 60 & echo $! > {tmp_path}/pid; wait", timeout_s=0.3)
    assert error.what.endswith("took longer than 0.3 s")
    status = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    deadline_s = time.monotonic() + 10
    while status.exists() and " Z " not in status.read_text():
        assert time.monotonic() < deadline_s, "the child still runs"


def test_a_child_has_time_to_clean_up_when_the_shell_has_ended(tmp_path: Path) -> None:
    cleaned, ready = tmp_path / "cleaned", tmp_path / "ready"
    handler = f"import time; time.sleep(0.3); open({str(cleaned)!r}, 'w').close(); raise SystemExit"
    code = (
        f"import signal; signal.signal(signal.SIGTERM, lambda *_: exec({handler!r})); "
        f"open({str(ready)!r}, 'w').close(); signal.pause()"
    )
    failed(f"{shlex.join((sys.executable, '-c', code))}; true", timeout_s=2)
    assert ready.exists()
    assert cleaned.exists()


def test_a_server_left_in_the_background_does_not_keep_the_command_from_ending(tmp_path: Path) -> None:
    began_s = time.monotonic()
    run_shell_command("--prepare", f"sleep 30 & echo $! > {tmp_path}/pid", timeout_s=20)
    os.kill(int((tmp_path / "pid").read_text()), 9)
    assert time.monotonic() - began_s < 15
