"""Live counters: the line, and the rates in it."""

import io
import sys

import pytest

from s3bench.cli.serve.status import Rates, status_for_stderr
from s3bench.s3.control import Counters


def test_rates_are_those_of_the_last_second_not_of_every_look() -> None:
    rates = Rates(100.0)
    first = Counters(requests=50, bytes_received=1_000_000, connections_open=3, in_flight=2)
    assert rates.line(first, 100.5) == "0 requests/s  in 0.0 MB/s  out 0.0 MB/s  CPU 0%  3 connections, 2 in flight"
    second = Counters(requests=3000, bytes_received=4_000_000, bytes_sent=1_000_000, server_cpu_s=1.0)
    assert rates.line(second, 102.0).startswith("1,500 requests/s  in 2.0 MB/s  out 0.5 MB/s  CPU 50%")
    assert rates.line(Counters(requests=3200), 102.5).startswith("1,500 requests/s")
    assert rates.line(Counters(requests=3200), 103.0).startswith("200 requests/s")


def test_an_emulator_tells_what_it_holds() -> None:
    assert Rates(0.0).line(Counters(objects=1200, held_bytes=3 << 20), 0.1).endswith("1,200 objects, 3.00 MiB")


class Terminal(io.StringIO):
    """A stderr that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


COUNTERS = Counters(requests=1234, connections_open=32, in_flight=16, objects=1200, held_bytes=3 << 20)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_figure_of_the_counters_is_cut(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    with status_for_stderr() as status:
        status.count(COUNTERS)
    shown = terminal.getvalue().split()
    assert {"0.0", "0%", "32", "16", "1,200", "3.00", "MiB"} <= set(shown)


def test_a_terminal_that_cannot_move_its_cursor_gets_lines_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "dumb")
    with status_for_stderr() as status:
        status.say(["GET /key 200"])
        status.count(COUNTERS)
    assert terminal.getvalue() == "GET /key 200\n"


def test_the_name_of_an_emoji_in_a_key_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with status_for_stderr() as status:
        status.say(["GET /users:id:1 200"])
    assert "/users:id:1" in terminal.getvalue()
