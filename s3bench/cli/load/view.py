"""How a load run is going, on stderr: a live view on a terminal, a line a second in a pipe, nothing when quiet.

Owns the writing and its manners: one refresh a second, which costs a millisecond or two of the machine that is also the
client under load, and a reader who goes away or does not keep up never stops the run. What stands is
`s3bench.load.aggregation.live_status`'s.
"""

import os
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from typing import IO, Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from s3bench.cli.console import stderr_console
from s3bench.load.aggregation.live_status import HISTORY_S, KindStatus, LiveStatus
from s3bench.load.aggregation.nodes import NodeStatus, node_name
from s3bench.report.columns import TextColumn, fitted, heading_lines, row_lines
from s3bench.report.load.cells import (
    bytes_rate_text,
    count_text,
    rate_text,
    seconds_text,
)
from s3bench.report.sparkline import sparkline
from s3bench.report.terminal import printable

_PROGRESS_WIDTH = 30
_PROGRESS_DONE, _PROGRESS_LEFT = "━", "─"
_LABELS_MAX = 3
_NODES_MAX = 16
_PATIENCE_S = 1.0  # how long what must be said waits for a reader who does not keep up


class LoadView(AbstractContextManager["LoadView"], Protocol):
    """Told which phase runs, how it stands every second, and what is worth knowing."""

    def phase(self, name: str, *, number: int, count: int) -> None:
        """Say that a phase begins, the `number`th of `count`."""

    def stands(self, standing: LiveStatus) -> None:
        """Show the last second."""

    def say(self, line: str) -> None:
        """Say something that stays on the screen."""


def load_view(*, quiet: bool) -> LoadView:
    """The view that fits stderr."""
    if quiet:
        return _Quiet()
    console = stderr_console()
    return _Terminal(console) if console.is_terminal and not console.is_dumb_terminal else _Pipe(sys.stderr)


class _Quiet:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def phase(self, name: str, *, number: int, count: int) -> None:
        pass

    def stands(self, standing: LiveStatus) -> None:
        pass

    def say(self, line: str) -> None:
        pass


class _Pipe(_Quiet):
    """Lines. A second whose line the reader has no room for is left out."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._has_reader = True

    def phase(self, name: str, *, number: int, count: int) -> None:
        self.say(phase_line(name, number=number, count=count))

    def stands(self, standing: LiveStatus) -> None:
        self._write(standing_line(standing), patience_s=0.0)

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
            _turn_away(self._stream)


class _Terminal(_Quiet):
    def __init__(self, console: Console) -> None:
        self._console = console
        # Data on stdout stays there unless it is the same terminal, where it must not run into the view.
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

    def stands(self, standing: LiveStatus) -> None:
        draws = self._console.encoding.lower().startswith("utf")
        lines = view_lines(standing, title=self._title, width=self._console.width, draws=draws)
        text = Text("\n".join(lines), no_wrap=True, overflow="crop")
        self._act(lambda: self._live.update(text, refresh=True))

    def say(self, line: str) -> None:
        self._act(lambda: self._console.print(printable(line), markup=False, soft_wrap=True))

    def _act(self, action: Callable[[], None]) -> None:
        """Do something to the terminal, unless it has hung up."""
        if not self._has_reader:
            return
        try:
            action()
        except OSError:
            self._has_reader = False
            with suppress(OSError):
                self._live.stop()
            _turn_away(self._console.file)


def phase_line(name: str, *, number: int, count: int) -> str:
    """Say which phase begins."""
    return f"phase {number} of {count}: {name}" if count > 1 else name


def standing_line(standing: LiveStatus) -> str:
    """A second in a line: progress, each kind of operation, what failed, what is in flight."""
    return "; ".join(
        (
            f"{standing.phase} {_progress(standing)}",
            *(_kind_words(kind) for kind in standing.kinds),
            *_state_words(standing),
            *_nodes_words(standing.nodes),
        )
    )


def view_lines(standing: LiveStatus, *, title: str, width: int, draws: bool) -> Iterator[str]:
    """A second as a few lines of at most `width` characters; `draws` with bars, for terminals that know them."""
    head = f"{title or printable(standing.phase)}  {_progress(standing)}"
    bar = _bar(standing) if draws else ""
    yield f"{head}  {bar}" if bar and len(head) + len(bar) + 2 <= width else head
    if standing.kinds:
        columns = fitted(tuple(_columns(standing.kinds)), width=width)
        yield from heading_lines(columns)
        yield from row_lines(columns)
    yield from _filled(tuple(_state_words(standing)), width)
    if standing.nodes:
        yield from _filled(tuple(_node_words(standing.nodes)), width)
    if standing.history:
        line = f"  {_history_words(standing)}"
        room = width - len(line) - 2
        yield f"  {sparkline(standing.history[-room:])}{line}" if draws and room > 0 else line


def _progress(standing: LiveStatus) -> str:
    passed = f"{standing.second} of {standing.duration_s:g} s" if standing.duration_s else f"{standing.second} s"
    if standing.operations_total:
        passed += f", {count_text(standing.operations)} of {count_text(standing.operations_total)} operations"
    return passed + " (warming up)" * standing.is_warmup


def _bar(standing: LiveStatus) -> str:
    """How far the phase is by what ends it first: time, or operations."""
    shares = [standing.second / standing.duration_s] if standing.duration_s else []
    shares += [standing.operations / standing.operations_total] if standing.operations_total else []
    if not shares:
        return ""
    done = round(min(1.0, max(shares)) * _PROGRESS_WIDTH)
    return _PROGRESS_DONE * done + _PROGRESS_LEFT * (_PROGRESS_WIDTH - done)


def _columns(kinds: Sequence[KindStatus]) -> Iterator[TextColumn]:
    yield TextColumn(heading="  kind", cells=tuple(f"  {printable(kind.kind)}" for kind in kinds))
    yield TextColumn(heading="rate/s", cells=tuple(rate_text(kind.rate) for kind in kinds))
    yield TextColumn(heading="throughput", rank=1, cells=tuple(bytes_rate_text(kind.bytes_rate) for kind in kinds))
    yield TextColumn(heading="p50", rank=2, cells=tuple(seconds_text(kind.p50_s) for kind in kinds))
    yield TextColumn(heading="p99", rank=2, cells=tuple(seconds_text(kind.p99_s) for kind in kinds))
    yield TextColumn(heading="failed", cells=tuple(count_text(kind.failures) for kind in kinds))


def _kind_words(kind: KindStatus) -> str:
    words = f"{kind.kind} {rate_text(kind.rate)}/s"
    words += f" {bytes_rate_text(kind.bytes_rate)}" if kind.bytes_rate else ""
    return f"{words} p50 {seconds_text(kind.p50_s)} p99 {seconds_text(kind.p99_s)}"


def _state_words(standing: LiveStatus) -> Iterator[str]:
    if standing.failures:
        labels = [f"{count_text(count)} {printable(label)}" for label, count in standing.failures[:_LABELS_MAX]]
        labels += [f"{len(standing.failures) - _LABELS_MAX} kinds more"] * (len(standing.failures) > _LABELS_MAX)
        yield f"failed: {', '.join(labels)}"
    yield f"{standing.in_flight:.3g} in flight"
    if standing.pausing:
        yield f"{standing.pausing:.3g} pausing after a failed connection"
    if standing.waiting:
        yield f"{count_text(standing.waiting)} waiting"
    yield f"client CPU {standing.client_cpu_share:.0%}"


def _nodes_words(nodes: Sequence[NodeStatus]) -> Iterator[str]:
    """All nodes in a few words: the range of their rates, and those that are lost or lag behind."""
    rates = [node.rate for node in nodes if not node.is_lost]
    if rates:
        count = "1 node" if len(rates) == 1 else f"{len(rates)} nodes"
        yield f"{count} at {rate_text(min(rates))}/s to {rate_text(max(rates))}/s each"
    yield from (_node_word(node) for node in nodes if node.is_lost or node.is_straggler)


def _node_words(nodes: Sequence[NodeStatus]) -> Iterator[str]:
    """Each node, those first that are lost or lag behind."""
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


def _history_words(standing: LiveStatus) -> str:
    most = max(standing.history)
    words = bytes_rate_text(most) if standing.history_is_bytes else f"{rate_text(most)} operations/s"
    return f"at most {words} in {min(len(standing.history), HISTORY_S)} s"


def _filled(words: Sequence[str], width: int) -> Iterator[str]:
    """The words in as few lines as they fit into, none of them broken."""
    line = ""
    for word in words:
        if line and len(line) + len(word) + 2 > width:
            yield line
            line = ""
        line += f"  {word}"
    yield line


def _has_room(stream: IO[str], patience_s: float) -> bool:
    """Whether a line can be written at once, or after a wait: a full pipe would stop the run's coordinator."""
    poll = select.poll()
    poll.register(stream.fileno(), select.POLLOUT)
    return bool(poll.poll(patience_s * 1e3))


def _turn_away(stream: IO[str]) -> None:
    """Let what is still to be written to a stream without a reader go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
