"""The view of a load run: what it says, and that nobody who reads it, or stops reading, holds up the run."""

import fcntl
import os
import pty
import struct
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest
from rich.console import Console

from s3bench.cli.load.view import _Pipe, _Terminal, load_view, status_line, view_lines
from s3bench.load.aggregation.live_status import KindStatus, LiveStatus
from s3bench.load.aggregation.nodes import NodeStatus

GET = KindStatus(
    kind="get",
    operations=12_345,
    size_bytes=50_540_000,
    rate=12_345.0,
    bytes_rate=48.2 * 2**20,
    p50_s=1.23e-3,
    p99_s=4.56e-3,
    failures=12,
)
HEAD = KindStatus(kind="head", operations=3, size_bytes=0, rate=3.0, bytes_rate=0.0, p50_s=None, p99_s=None, failures=0)
STATUS = LiveStatus(
    phase="mixed",
    second=12,
    duration_s=60.0,
    operations=150_000,
    operations_total=None,
    kinds=(GET, HEAD),
    failures=(("503 SlowDown", 11), ("timeout", 1)),
    in_flight=15.98,
    waiting=3,
    client_cpu_share=0.43,
    history=(0.0, 10e6, 20e6, 40e6, 48.2 * 2**20),
)


def test_a_second_is_a_line_in_a_pipe() -> None:
    assert status_line(STATUS) == (
        "mixed 12 of 60 s; get 12,345/s 48.2 MiB/s p50 1.23 ms p99 4.56 ms; head 3.00/s p50 - p99 -; "
        "failed: 11 503 SlowDown, 1 timeout; 16 in flight; 3 waiting; client CPU 43%"
    )


def test_threads_that_pause_are_told_apart_from_operations_in_flight() -> None:
    paused = replace(STATUS, in_flight=0.2, pausing=15.8)
    assert "; 0.2 in flight; 15.8 pausing after a failed connection; 3 waiting; " in status_line(paused)


def test_progress_is_time_or_operations_or_both() -> None:
    counted = replace(STATUS, duration_s=None, operations_total=200_000, is_warmup=True)
    assert status_line(counted).startswith("mixed 12 s, 150,000 of 200,000 operations (warming up); ")
    assert next(view_lines(counted, title="", width=120, draws=True)).count("━") == 22
    assert status_line(replace(STATUS, operations_total=200_000)).startswith(
        "mixed 12 of 60 s, 150,000 of 200,000 operations; "
    )
    endless = replace(STATUS, duration_s=None)
    assert next(view_lines(endless, title="", width=80, draws=True)) == "mixed  12 s"


def test_many_kinds_of_failures_are_counted() -> None:
    many = replace(STATUS, failures=tuple((f"{status}", 1) for status in range(500, 506)))
    assert "failed: 1 500, 1 501, 1 502, 3 kinds more;" in status_line(many)


def test_the_view_is_a_table_with_a_history() -> None:
    assert list(view_lines(STATUS, title="phase 1 of 2: mixed", width=80, draws=True)) == [
        "phase 1 of 2: mixed  12 of 60 s  ━━━━━━────────────────────────",
        "  kind  rate/s  throughput      p50      p99  failed",
        "  get   12,345  48.2 MiB/s  1.23 ms  4.56 ms      12",
        "  head    3.00           -        -        -       0",
        "  failed: 11 503 SlowDown, 1 timeout  16 in flight  3 waiting  client CPU 43%",
        "   ▂▃▆█  at most 48.2 MiB/s in 5 s",
    ]


def test_a_terminal_that_knows_no_bars_gets_words() -> None:
    lines = list(view_lines(STATUS, title="", width=80, draws=False))
    assert "".join(lines).isascii()
    assert lines[-1] == "  at most 48.2 MiB/s in 5 s"


@pytest.mark.parametrize("width", [40, 60, 80, 140])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    full = replace(STATUS, history=(1e6,) * 60)
    assert all(len(line) <= width for line in view_lines(full, title="", width=width, draws=True))


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_figure_of_the_view_is_cut(width: int) -> None:
    failing = replace(STATUS, failures=(("503 SlowDown", 12_345), ("500 InternalError", 678), ("timeout", 9)))
    wide, narrow = (
        {word.strip(",") for line in view_lines(failing, title="phase 1 of 2: mixed", width=each, draws=False)
         for word in line.split()}
        for each in (200, width)
    )  # fmt: skip
    left_out = {"p50", "p99", "1.23", "4.56", "ms", "-"} if width == 40 else set()
    assert {word for word in wide - narrow if not set(word) <= set("━─")} <= left_out


def test_operations_without_bytes_have_a_history_too() -> None:
    deletes = replace(STATUS, history=(100.0, 50.0), history_is_bytes=False)
    assert list(view_lines(deletes, title="", width=80, draws=True))[-1] == "  █▄  at most 100 operations/s in 2 s"


def test_labels_cannot_paint_the_terminal() -> None:
    hostile = replace(STATUS, phase="\x1b[2J", failures=(("\x1b[31m\n", 1),))
    with piped() as (view, reader):
        view.show(hostile)
        view.say("\x1b[31mred")
        assert "\x1b" not in os.read(reader, 10_000).decode()
    assert "\x1b" not in "".join(view_lines(hostile, title="", width=80, draws=True))


@contextmanager
def piped() -> Iterator[tuple[_Pipe, int]]:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)  # whoever writes into a full pipe fails here, and would wait in a real run
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        yield _Pipe(stream), reader
    os.close(reader)


def test_a_pipe_gets_phases_and_seconds_and_what_is_said() -> None:
    with piped() as (view, reader), view:
        view.say("preparing 1,000 objects")
        view.phase("get", number=2, count=3)
        view.show(STATUS)
        assert os.read(reader, 10_000).decode().splitlines() == [
            "s3bench: preparing 1,000 objects",
            "s3bench: phase 2 of 3: get",
            status_line(STATUS),
        ]


def test_a_reader_who_does_not_keep_up_loses_seconds_and_holds_up_nothing() -> None:
    with piped() as (view, reader):
        for _ in range(1000):  # far more than a pipe holds
            view.show(STATUS)
        lines = os.read(reader, 1 << 20).decode().splitlines()
        assert 100 < len(lines) < 1000
        assert set(lines) == {status_line(STATUS)}
        view.show(replace(STATUS, second=59))
        assert os.read(reader, 1 << 20).decode().startswith("mixed 59 of 60 s")


def test_a_reader_who_goes_away_does_not_end_the_run() -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        view = _Pipe(stream)
        os.close(reader)
        for _ in range(3):
            view.show(STATUS)
            view.say("more")
        assert os.path.samestat(os.fstat(writer), Path(os.devnull).stat()), "what is written later must not fail either"


@contextmanager
def terminal(columns: int) -> Iterator[tuple[IO[str], int]]:
    """A real terminal: the side that a program writes to, and the side that shows it."""
    shown, written = pty.openpty()
    fcntl.ioctl(written, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with os.fdopen(written, "w", encoding="utf-8") as stream:
        yield stream, shown


def live_console(stream: IO[str], columns: int) -> Console:
    return Console(file=stream, force_terminal=True, width=columns, height=24, highlight=False, legacy_windows=False)


def what_was_shown(shown: int) -> str:
    """Read what a terminal got, after the other side was closed."""
    chunks = []
    with suppress(OSError):  # Linux says EIO at the end
        while chunk := os.read(shown, 100_000):
            chunks.append(chunk)
    os.close(shown)
    return b"".join(chunks).decode()


def test_a_terminal_sees_the_view_and_keeps_only_what_was_said() -> None:
    with terminal(80) as (stream, shown), _Terminal(live_console(stream, 80)) as view:
        view.phase("mixed", number=1, count=2)
        view.show(STATUS)
        view.say("warning: [red]slow[/red]\x1b[31m")
    text = what_was_shown(shown)
    before, said, after = text.partition("warning: [red]slow[/red] [31m\r\n")
    assert said
    for part in (before, after):
        assert "phase 1 of 2: mixed  12 of 60 s" in part
    assert "…" not in text
    assert after.endswith("\x1b[2K"), "the view is taken away at the end"


def test_a_terminal_that_hangs_up_does_not_end_the_run() -> None:
    with terminal(80) as (stream, shown), _Terminal(live_console(stream, 80)) as view:
        view.show(STATUS)
        os.close(shown)
        for _ in range(3):
            view.show(STATUS)
            view.say("more")


def test_data_on_stdout_stays_there_while_the_view_is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", encoding="utf-8") as data, terminal(80) as (stream, shown):
        monkeypatch.setattr(sys, "stdout", data)
        with _Terminal(live_console(stream, 80)) as view:
            view.show(STATUS)
            print("data", flush=True)  # noqa: T201 (it is what is tested)
        os.close(shown)
    assert os.read(reader, 100) == b"data\n"
    os.close(reader)


def test_quiet_is_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with load_view(quiet=True) as view:
        view.phase("get", number=1, count=1)
        view.show(STATUS)
        view.say("more")
        assert capfd.readouterr() == ("", "")
        view.conclude("no rate held\x1b[31m")
    assert capfd.readouterr() == ("", "s3bench: no rate held [31m\n")


def test_stderr_that_is_no_terminal_gets_lines(capfd: pytest.CaptureFixture[str]) -> None:
    with load_view(quiet=False) as view:
        view.phase("get", number=1, count=1)
    assert capfd.readouterr() == ("", "s3bench: get\n")


def test_nodes_are_shown_those_first_that_are_lost_or_slow() -> None:
    nodes = (
        NodeStatus(node=0, rate=512.0, bytes_rate=2**20),
        NodeStatus(node=1, rate=12.0, bytes_rate=0.0, is_straggler=True),
        NodeStatus(node=2, rate=0.0, bytes_rate=0.0, is_lost=True),
    )
    lines = list(view_lines(replace(STATUS, nodes=nodes), title="", width=80, draws=True))
    assert "  node-3 lost  node-2 12.0/s (slow)  node-1 512/s 1.00 MiB/s" in lines
    assert "2 nodes at 12.0/s to 512/s each; node-2 12.0/s (slow); node-3 lost" in status_line(
        replace(STATUS, nodes=nodes)
    )
