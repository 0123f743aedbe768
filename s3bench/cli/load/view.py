"""Shows the progress of a load run on stderr: a live view on a terminal, a line per second in a pipe, or only its end.

There is one refresh a second, which costs a millisecond or two of the machine that is also making the load. A reader
that goes away or does not keep up never stops the run.
"""

import os
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from textwrap import wrap
from typing import IO, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from s3bench.cli.console import stderr_console
from s3bench.load.aggregation.live_status import HISTORY_S, KindStatus, LiveStatus
from s3bench.load.aggregation.nodes import NodeStatus, node_name
from s3bench.report.load.cells import bytes_rate_text, count_text, rate_text, seconds_text
from s3bench.report.sparkline import sparkline
from s3bench.report.table import Table, TableColumn, column
from s3bench.report.terminal import printable
from s3bench.report.text_table import table_lines

_PROGRESS_WIDTH = 30
_PROGRESS_DONE, _PROGRESS_LEFT = "━", "─"
_LABELS_MAX = 3
_NODES_MAX = 16
_PATIENCE_S = 1.0  # how long a message waits for a reader that does not keep up


class LoadView(AbstractContextManager["LoadView"]):
    """Shows which phase runs, its status every second, and messages."""

    def __exit__(self, *_: object) -> None:
        """Overridden by views that need an end."""

    def phase(self, name: str, *, number: int, count: int) -> None:
        """Begin to show a phase, the `number`th of `count`."""

    def show(self, status: LiveStatus) -> None:
        """Show the status of the last second."""

    def say(self, line: str) -> None:
        """Print a message that stays on the screen."""

    def conclude(self, line: str) -> None:
        """Print a message that every user needs, `-q` or not: a result, or why the run fails."""
        self.say(line)


def load_view(*, quiet: bool) -> LoadView:
    """Return the view that fits stderr."""
    if quiet:
        return _Quiet(sys.stderr)
    console = stderr_console()
    return _Terminal(console) if console.is_terminal and not console.is_dumb_terminal else _Pipe(sys.stderr)


class _Pipe(LoadView):
    """Lines; a second is left out when the reader has no room for its line."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._has_reader = True

    def phase(self, name: str, *, number: int, count: int) -> None:
        self.say(phase_line(name, number=number, count=count))

    def show(self, status: LiveStatus) -> None:
        self._write(status_line(status), patience_s=0.0)

    def say(self, line: str) -> None:
        self._write(f"s3bench: {line}", patience_s=_PATIENCE_S)

    def _write(self, line: str, *, patience_s: float) -> None:
        if not self._has_reader or not _has_room(self._stream, patience_s):
            return
        try:
            self._stream.write(f"{printable(line)}\n")
            self._stream.flush()
        except OSError:
            self._has_reader = False
            _redirect_to_null(self._stream)


class _Quiet(_Pipe):
    """No progress: only what every user needs."""

    def phase(self, name: str, *, number: int, count: int) -> None:
        """Show nothing."""

    def show(self, status: LiveStatus) -> None:
        """Show nothing."""

    def say(self, line: str) -> None:
        """Show nothing."""

    def conclude(self, line: str) -> None:
        super().say(line)


class _Terminal(LoadView):
    def __init__(self, console: Console) -> None:
        self._console = console
        # Data on stdout is not redirected unless it is the same terminal, where it would run into the view.
        stdout_is_shown = sys.stdout.isatty()
        self._live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=stdout_is_shown)
        self._has_reader = True
        self._title = ""

    def __enter__(self) -> Self:
        self._act(self._live.start)
        return self

    def __exit__(self, *_: object) -> None:
        self._act(self._live.stop)

    def phase(self, name: str, *, number: int, count: int) -> None:
        self._title = printable(phase_line(name, number=number, count=count))

    def show(self, status: LiveStatus) -> None:
        draws = self._console.encoding.lower().startswith("utf")
        lines = view_lines(status, title=self._title, width=self._console.width, draws=draws)
        text = Text("\n".join(lines), no_wrap=True, overflow="crop")
        self._act(lambda: self._live.update(text, refresh=True))

    def say(self, line: str) -> None:
        self._act(lambda: self._console.print(printable(line), markup=False, soft_wrap=True))

    def _act(self, action: Callable[[], None]) -> None:
        """Do something with the terminal, unless it is closed."""
        if not self._has_reader:
            return
        try:
            action()
        except OSError:
            self._has_reader = False
            with suppress(OSError):
                self._live.stop()
            _redirect_to_null(self._console.file)


def phase_line(name: str, *, number: int, count: int) -> str:
    """Name the phase that begins."""
    return f"phase {number} of {count}: {name}" if count > 1 else name


def status_line(status: LiveStatus) -> str:
    """One second as a line: progress, each operation, failures, requests in flight."""
    return "; ".join(
        (
            f"{status.phase} {_progress(status)}",
            *(_kind_text(kind) for kind in status.kinds),
            *_state_text(status),
            *_nodes_text(status.nodes),
        )
    )


def view_lines(status: LiveStatus, *, title: str, width: int, draws: bool) -> Iterator[str]:
    """One second as lines of at most `width` characters; `draws` with bars, for terminals that can show them."""
    head = (title or printable(status.phase), _progress(status))
    bar = _bar(status) if draws else ""
    line = "  ".join((*head, bar))
    yield from (line.rstrip(),) if len(line) <= width else _filled(head, width, indent="")
    if status.kinds:
        yield from table_lines(Table(columns=tuple(_columns(status.kinds))), width=width)
    yield from _filled(tuple(_state_text(status)), width)
    if status.nodes:
        yield from _filled(tuple(_node_text(status.nodes)), width)
    if status.history:
        line = f"  {_history_text(status)}"
        room = width - len(line) - 2
        if draws and room > 0:
            yield f"  {sparkline(status.history[-room:])}{line}"
        else:
            yield from _filled((line.strip(),), width)


def _progress(status: LiveStatus) -> str:
    passed = f"{status.second} of {status.duration_s:g} s" if status.duration_s else f"{status.second} s"
    if status.operations_total:
        passed += f", {count_text(status.operations)} of {count_text(status.operations_total)} operations"
    return passed + " (warming up)" * status.is_warmup


def _bar(status: LiveStatus) -> str:
    """Progress of the phase by what ends it first, time or operations."""
    shares = [status.second / status.duration_s] if status.duration_s else []
    shares += [status.operations / status.operations_total] if status.operations_total else []
    if not shares:
        return ""
    done = round(min(1.0, max(shares)) * _PROGRESS_WIDTH)
    return _PROGRESS_DONE * done + _PROGRESS_LEFT * (_PROGRESS_WIDTH - done)


def _columns(kinds: Sequence[KindStatus]) -> Iterator[TableColumn]:
    yield column("  kind", kinds, lambda kind: f"  {printable(kind.kind)}")
    yield column("rate/s", kinds, lambda kind: rate_text(kind.rate), is_number=True)
    yield column("throughput", kinds, lambda kind: bytes_rate_text(kind.bytes_rate), is_number=True, rank=1)
    yield column("p50", kinds, lambda kind: seconds_text(kind.p50_s), is_number=True, rank=2)
    yield column("p99", kinds, lambda kind: seconds_text(kind.p99_s), is_number=True, rank=2)
    yield column("failed", kinds, lambda kind: count_text(kind.failures), is_number=True)


def _kind_text(kind: KindStatus) -> str:
    words = f"{kind.kind} {rate_text(kind.rate)}/s"
    words += f" {bytes_rate_text(kind.bytes_rate)}" if kind.bytes_rate else ""
    return f"{words} p50 {seconds_text(kind.p50_s)} p99 {seconds_text(kind.p99_s)}"


def _state_text(status: LiveStatus) -> Iterator[str]:
    if status.failures:
        labels = [f"{count_text(count)} {printable(label)}" for label, count in status.failures[:_LABELS_MAX]]
        labels += [f"{len(status.failures) - _LABELS_MAX} kinds more"] * (len(status.failures) > _LABELS_MAX)
        yield f"failed: {', '.join(labels)}"
    yield f"{status.in_flight:.3g} in flight"
    if status.pausing:
        yield f"{status.pausing:.3g} pausing after a failed connection"
    if status.waiting:
        yield f"{count_text(status.waiting)} waiting"
    yield f"client CPU {status.client_cpu_share:.0%}"


def _nodes_text(nodes: Sequence[NodeStatus]) -> Iterator[str]:
    """The range of the rates of all nodes, and those that are lost or slow."""
    rates = [node.rate for node in nodes if not node.is_lost]
    if rates:
        count = "1 node" if len(rates) == 1 else f"{len(rates)} nodes"
        yield f"{count} at {rate_text(min(rates))}/s to {rate_text(max(rates))}/s each"
    yield from (_node_word(node) for node in nodes if node.is_lost or node.is_straggler)


def _node_text(nodes: Sequence[NodeStatus]) -> Iterator[str]:
    """Each node, beginning with those that are lost or slow."""
    ordered = sorted(nodes, key=lambda node: (not node.is_lost, not node.is_straggler, node.node))
    yield from (_node_word(node) for node in ordered[:_NODES_MAX])
    if len(ordered) > _NODES_MAX:
        yield f"{len(ordered) - _NODES_MAX} nodes more"


def _node_word(node: NodeStatus) -> str:
    if node.is_lost:
        return f"{node_name(node.node)} lost"
    words = f"{node_name(node.node)} {rate_text(node.rate)}/s"
    words += f" {bytes_rate_text(node.bytes_rate)}" if node.bytes_rate else ""
    return words + " (slow)" * node.is_straggler


def _history_text(status: LiveStatus) -> str:
    most = max(status.history)
    words = bytes_rate_text(most) if status.history_is_bytes else f"{rate_text(most)} operations/s"
    return f"at most {words} in {min(len(status.history), HISTORY_S)} s"


def _filled(texts: Sequence[str], width: int, *, indent: str = "  ") -> Iterator[str]:
    """Put the texts into as few lines as they fit; one that is longer than a line is broken between its words."""
    line = ""
    for text in texts:
        if line and len(line) + len(text) + 2 > width:
            yield line
            line = ""
        line += f"  {text}" if line else f"{indent}{text}"
        *full, line = wrap(
            line, width, subsequent_indent=indent, drop_whitespace=True, break_long_words=False, break_on_hyphens=False
        )
        yield from full
    yield line


def _has_room(stream: IO[str], patience_s: float) -> bool:
    """Whether a line can be written now, or after a wait: writing to a full pipe would stop the run."""
    poll = select.poll()
    poll.register(stream.fileno(), select.POLLOUT)
    return bool(poll.poll(patience_s * 1e3))


def _redirect_to_null(stream: IO[str]) -> None:
    """Discard what is still to be written to a stream without a reader."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
