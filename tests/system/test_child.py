import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from typing import IO

import pytest

from s3bench.system.child import ChildProcess, module_command

LIMIT_S = 60.0
UNTIL_CLOSED = "from s3bench.system.child import take_control\ncontrol = take_control()\ncontrol.send(b'!')\n"


@pytest.fixture
def stderr() -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as file:
        yield file


def started(program: str, stderr: IO[bytes]) -> ChildProcess:
    process = ChildProcess((sys.executable, "-c", UNTIL_CLOSED + program), stderr=stderr)
    process.control.settimeout(LIMIT_S)
    assert process.control.recv(1) == b"!"
    return process


def test_it_ends_when_the_channel_is_closed(stderr: IO[bytes]) -> None:
    process = started("control.recv(1); raise SystemExit(7)", stderr)
    assert process.exit_code is None
    process.end(LIMIT_S)
    assert process.exit_code == 7


def test_it_is_killed_where_it_does_not_end(stderr: IO[bytes]) -> None:
    process = started("import signal; signal.pause()", stderr)
    process.end(0.01)
    assert process.exit_code == -signal.SIGKILL


def test_how_it_ended_comes_with_its_last_words(stderr: IO[bytes]) -> None:
    process = started("control.close(); import sys; sys.exit('x' * 5000 + ' the end')", stderr)
    code, last_words = process.how_it_ended()
    assert code == 1
    assert last_words.endswith("xxx the end")
    assert len(last_words) < 2001
    process.end(LIMIT_S)


def test_programs_that_it_starts_do_not_hold_the_channel_open(stderr: IO[bytes]) -> None:
    sleeper = "import sys, subprocess\n"
    sleeper += "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    sleeper += "control.send(b'%d\\n' % child.pid)"
    process = started(sleeper, stderr)
    with process.control.makefile("rb") as lines:
        pid = int(lines.readline())
        assert lines.readline() == b"", "its end of the channel is closed, though its child lives"
    process.end(LIMIT_S)
    os.kill(pid, signal.SIGKILL)


def test_garbage_is_collected_once_it_has_taken_control(stderr: IO[bytes]) -> None:
    program = f"import gc; gc.disable()\n{UNTIL_CLOSED}control.send(bytes([gc.isenabled(), gc.get_freeze_count() > 0]))"
    process = ChildProcess((sys.executable, "-c", program), stderr=stderr)
    process.control.settimeout(LIMIT_S)
    with process.control.makefile("rb") as answers:
        assert answers.read(3) == b"!\1\1"
    process.end(LIMIT_S)


def test_a_module_runs_isolated_and_gets_its_arguments(stderr: IO[bytes]) -> None:
    process = ChildProcess(module_command("s3bench.s3.server.host", "no JSON"), stderr=stderr)
    assert process.control.recv(1) == b"", "it has ended"
    code, last_words = process.how_it_ended()
    process.end(LIMIT_S)
    assert code == 1
    assert "JSON" in last_words
