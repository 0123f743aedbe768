"""The status of a running server on stderr: log lines, and on a terminal live counters below them."""

import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol, Self

from rich.live import Live
from rich.text import Text

from s3bench.cli.console import stderr_console
from s3bench.cli.terminal import is_smart
from s3bench.s3.control import Counters
from s3bench.units import render_bytes

_RATE_S = 1.0  # rates are averaged over at least this


class ServeStatus(AbstractContextManager["ServeStatus"], Protocol):
    """Shows lines and counters."""

    def say(self, lines: Sequence[str]) -> None:
        """Write `lines`."""

    def count(self, counters: Counters) -> None:
        """Show the current counters."""


def status_for_stderr() -> ServeStatus:
    """The status display for stderr: live on a terminal, else lines only."""
    return _Terminal() if is_smart(sys.stderr) else _Pipe()


class _Pipe:
    """Lines only."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def say(self, lines: Sequence[str]) -> None:
        if lines:
            sys.stderr.write("".join(f"{line}\n" for line in lines))
            sys.stderr.flush()

    def count(self, counters: Counters) -> None:
        pass


class _Terminal:
    def __init__(self) -> None:
        self._console = stderr_console()
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._rates = Rates(time.monotonic())

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def say(self, lines: Sequence[str]) -> None:
        if lines:
            self._console.print("\n".join(lines), markup=False, soft_wrap=True)

    def count(self, counters: Counters) -> None:
        self._live.update(Text(self._rates.line(counters, time.monotonic())), refresh=True)


class Rates:
    """Turns counters into a line with rates, those of the last whole second."""

    def __init__(self, now_s: float) -> None:
        self._last = Counters()
        self._last_s = now_s
        self._text = _rates_in_words(self._last, self._last, 1.0)

    def line(self, counters: Counters, now_s: float) -> str:
        """The line for `counters`, read at `now_s` of a monotonic clock."""
        if now_s - self._last_s >= _RATE_S:
            self._text = _rates_in_words(self._last, counters, now_s - self._last_s)
            self._last, self._last_s = counters, now_s
        stored = f"  {counters.objects:,} objects, {render_bytes(counters.held_bytes)}" if counters.held_bytes else ""
        return f"{self._text}  {counters.connections_open:,} connections, {counters.in_flight:,} in flight{stored}"


def _rates_in_words(before: Counters, after: Counters, span_s: float) -> str:
    requests = (after.requests - before.requests) / span_s
    received = (after.bytes_received - before.bytes_received) / span_s / 1e6
    sent = (after.bytes_sent - before.bytes_sent) / span_s / 1e6
    cpu = (after.server_cpu_s - before.server_cpu_s) / span_s
    return f"{requests:,.0f} requests/s  in {received:,.1f} MB/s  out {sent:,.1f} MB/s  CPU {cpu:.0%}"
