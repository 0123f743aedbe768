"""The requests of one run of each client that the page shows, on the rows of their connections, and as a table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from s3bench.report.label import one_line
from s3bench.report.page.run.benchmark import ClientResults
from s3bench.report.table import Table, TableColumn, column
from s3bench.results.metrics import Unit, render_figure
from s3bench.results.timeline import RequestSpan

LANES_MAX = 64
"""The most connections of a client that are shown."""

_WORDS_MAX = 80
_FIRST_BAD_STATUS = 400  # RFC 9110, 15: the client's errors begin here, the server's come after


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRequest:
    """A request on its lane: its connection, or without sockets a row of requests that followed each other."""

    lane: int
    span: RequestSpan

    @property
    def is_trouble(self) -> bool:
        """Whether it was another attempt, was not answered well, or had something wrong with it."""
        span = self.span
        is_bad = span.status is None or span.status >= _FIRST_BAD_STATUS
        return bool(span.attempt > 1 or span.fault or span.error or is_bad)

    @property
    def kind(self) -> str:
        """What it was: `GET ranged`."""
        return one_line(self.span.kind, characters_max=_WORDS_MAX)

    @property
    def wrongs(self) -> tuple[str, ...]:
        """What a network model did to it, and what was wrong with it."""
        span = self.span
        return tuple(one_line(text, characters_max=_WORDS_MAX) for text in (span.fault, span.error) if text)

    @property
    def label(self) -> str:
        """All that is known of it, in a line."""
        span = self.span
        where = "" if span.connection is None else f" on connection {span.connection}"
        words = [f"{self.kind}{where}: {_seconds(span.start)} to {_seconds(span.end)}"]
        words.append(f"took {_seconds(span.end - span.start)}")
        if span.first_byte is not None:
            words.append(f"first byte after {_seconds(span.first_byte - span.start)}")
        bodies = ((span.bytes_up, "up"), (span.bytes_down, "down"))
        words += [f"{render_figure(size_bytes, Unit.BYTES)} {way}" for size_bytes, way in bodies if size_bytes]
        words.append("no response" if span.status is None else f"status {span.status}")
        if span.attempt > 1:
            words.append(f"attempt {span.attempt}")
        return ", ".join((*words, *self.wrongs))


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRun:
    """The requests of one run that are shown, at least one, and how many others it had."""

    client: str
    iteration: int
    requests: tuple[ShownRequest, ...]
    left_out: int

    @property
    def first_s(self) -> float:
        """When its first request began, in seconds since the spawn."""
        return min(each.span.start for each in self.requests)

    @property
    def lanes(self) -> int:
        """How many rows it takes."""
        return len({each.lane for each in self.requests})


def wire_runs(rows: Sequence[ClientResults], *, requests_max: int) -> tuple[WireRun, ...]:
    """Of each client the run whose requests were kept, its first requests on its first connections."""
    return tuple(run for row in rows for run in _wire_run(row, requests_max))


def wire_words(runs: Sequence[WireRun]) -> str:
    """What a chart of them shows and what it leaves out."""
    words = [
        "The requests of each client's run of median total time as the server saw them, a row for each connection.",
        "A bar is faint while the request waits, and solid while a body moves: uploads from the start, responses from",
        "the first byte on.",
    ]
    if any(each.is_trouble for run in runs for each in run.requests):
        words.append("A triangle marks a request that was repeated, answered badly or not at all, or tampered with.")
    if any(each.span.connection is None for run in runs for each in run.requests):
        words.append("Where there are no sockets, a row holds requests that followed each other.")
    words += [
        f"{run.client}: the first {len(run.requests):,} of {len(run.requests) + run.left_out:,} requests."
        for run in runs
        if run.left_out
    ]
    return " ".join((*words, "The results document has all that were kept."))


def wire_table(runs: Sequence[WireRun], *, rows_max: int) -> Table | None:
    """The shown requests; `None` where there are more than `rows_max`."""
    if sum(len(run.requests) for run in runs) > rows_max:
        return None
    rows = [(run.client, each, each.span) for run in runs for each in run.requests]

    def count(heading: str, pick: Callable[[RequestSpan], int | None]) -> TableColumn:
        return _column(heading, rows, pick, str)

    def time(heading: str, pick: Callable[[RequestSpan], float | None]) -> TableColumn:
        return _column(heading, rows, pick, _seconds)

    def size(heading: str, pick: Callable[[RequestSpan], int]) -> TableColumn:
        return _column(heading, rows, pick, lambda size_bytes: render_figure(size_bytes, Unit.BYTES))

    return Table(
        caption="The requests that are drawn: times since the spawn, bytes of bodies",
        columns=(
            column("request", rows, lambda row: f"{row[0]} {row[1].kind}"),
            count("connection", lambda span: span.connection),
            time("start", lambda span: span.start),
            time("first byte", lambda span: span.first_byte),
            time("end", lambda span: span.end),
            size("up", lambda span: span.bytes_up),
            size("down", lambda span: span.bytes_down),
            count("status", lambda span: span.status),
            count("attempt", lambda span: span.attempt),
            column("wrong", rows, lambda row: "; ".join(row[1].wrongs) or "-"),
        ),
    )


def _wire_run(row: ClientResults, requests_max: int) -> Iterator[WireRun]:
    measurement = next((each for each in row.result.runs if each.requests), None)
    if measurement is not None:
        shown = tuple(each for each in _on_lanes(measurement.requests) if each.lane < LANES_MAX)[:requests_max]
        left_out = len(measurement.requests) - len(shown) + measurement.requests_left_out
        yield WireRun(client=row.client, iteration=measurement.iteration, requests=shown, left_out=left_out)


def _on_lanes(spans: Sequence[RequestSpan]) -> Iterator[ShownRequest]:
    """Put each request on its connection's lane, in order of first use, or else on the first lane that is free."""
    lanes: dict[int, int] = {}
    free_from_s: list[float] = []
    for span in sorted(spans, key=lambda span: span.start):
        if span.connection is not None:
            yield ShownRequest(lane=lanes.setdefault(span.connection, len(lanes)), span=span)
            continue
        lane = next((lane for lane, at_s in enumerate(free_from_s) if at_s <= span.start), len(free_from_s))
        free_from_s[lane : lane + 1] = [span.end]
        yield ShownRequest(lane=lane, span=span)


def _column(
    heading: str,
    rows: Sequence[tuple[str, ShownRequest, RequestSpan]],
    pick: Callable[[RequestSpan], float | None],
    render: Callable[[Any], str],
) -> TableColumn:
    def text(row: tuple[str, ShownRequest, RequestSpan]) -> str:
        return "-" if (value := pick(row[2])) is None else render(value)

    return column(heading, rows, text, value=lambda row: pick(row[2]))


def _seconds(value_s: float) -> str:
    return render_figure(value_s, Unit.SECONDS)
