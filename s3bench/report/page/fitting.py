"""Chooses what of all sections goes on the page, so that it stays small and is made in a short time.

Charts and tables are left out from the end, those of folded parts first. What is left out is counted, at its place and
for the page as a whole.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from s3bench.report.label import clipped
from s3bench.report.page.section import ChartFigure, CodeBlock, FlameGraph, Line, Section
from s3bench.report.table import Table
from s3bench.units import counted

PAGE_BYTES_MAX = 1_500_000
"""A page is smaller than this, always."""
CHARTS_MAX = 100
"""The most charts on a page: each takes some 50 to 90 ms to draw."""
ROWS_MAX = 1000
"""The most rows of a table on the page."""
TEXT_MAX = 1000
"""The most characters of any one text on the page."""

_FRAME_BYTES = 60_000
"""For all that is not a section: style, script, head, and the tabs."""
_SECTION_BYTES, _LINE_BYTES = 300, 120
_LINES_MAX = 100


@dataclass(slots=True)
class FittedSection:
    """A section on its way to the page: the pieces of it that fit, as HTML, and words about those that do not.

    `lead` is what comes before its lines: the first figure and the blocks of a section with a headline.
    """

    section: Section
    element_id: str
    is_folded: bool
    parts: list["FittedSection"] = field(default_factory=list)
    lines: Sequence[Line] = ()
    lead: list[Markup] = field(default_factory=list)
    pieces: list[Markup] = field(default_factory=list)
    left_out: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """How pieces become HTML: a table by its element's id and a word on missing rows, a figure by its pictures."""

    block: Callable[[CodeBlock], Markup]
    flame_graph: Callable[[FlameGraph, str, Markup], Markup]
    table: Callable[[Table, str, str], Markup]
    figure: Callable[[ChartFigure, str, Markup, Markup], Markup]
    pictures: Callable[[Sequence[tuple[ChartFigure, str]]], Iterable[Markup]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedPage:
    """The sections as far as they fit, and how many charts, tables and sections of all there are do not."""

    parts: Sequence[FittedSection]
    charts: int
    charts_left_out: int
    tables_left_out: int
    sections_left_out: int


def shown(text: str) -> str:
    """A text as the page shows it: printable, on one line, and clipped."""
    return clipped(text, most=TEXT_MAX)


def all_figures(
    sections: Iterable[Section], within: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], ChartFigure]]:
    """Every figure with the names of the sections that it stands in."""
    for section in sections:
        path = (*within, section.name)
        yield from ((path, figure) for figure in section.figures)
        yield from all_figures(section.parts, path)


def fit(sections: Sequence[Section], pieces: Pieces) -> FittedPage:
    """Choose what goes on the page, and render it."""
    parts = [_part(section, f"part-{number}", is_folded=False) for number, section in enumerate(sections, start=1)]
    every = sorted(_walked(parts), key=lambda part: part.is_folded)  # stable: in the page's order within both
    figures = [(figure, _figure_id(part, number)) for part in every for number, figure in _figures(part)]
    drawn = figures[:CHARTS_MAX]
    pictures = dict(zip((element_id for _, element_id in drawn), pieces.pictures(drawn), strict=True))
    fitting = _Fitting(pieces, pictures)
    for part in every:
        fitting.take(part)
    return FittedPage(
        parts=_kept(parts, fitting.refused),
        charts=len(figures) + sum(len(part.section.flame_graphs) for part in every),
        charts_left_out=fitting.charts_left_out,
        tables_left_out=fitting.tables_left_out,
        sections_left_out=len(fitting.refused),
    )


class _Fitting:
    """Takes what fits, in the order of what matters."""

    def __init__(self, pieces: Pieces, pictures: dict[str, Markup]) -> None:
        self._pieces = pieces
        self._pictures = pictures
        self._room_bytes = PAGE_BYTES_MAX - _FRAME_BYTES
        self.charts_left_out = 0
        self.tables_left_out = 0
        self.refused: set[str] = set()

    def take(self, part: FittedSection) -> None:
        """Fill a part with what there is room for."""
        lines, charts, tables = _lines(part.section), 0, 0
        frame_bytes = _SECTION_BYTES + _text_bytes(part.section.title)
        frame_bytes += sum(_LINE_BYTES + _text_bytes(line.text) for line in lines)
        if frame_bytes > self._room_bytes:
            self.refused.add(part.element_id)
            self.charts_left_out += len(part.section.figures) + len(part.section.flame_graphs)
            self.tables_left_out += len(part.section.tables)
            return
        self._room_bytes -= frame_bytes
        part.lines = lines
        figures = [(figure, _figure_id(part, number)) for number, figure in _figures(part)]
        flames = [(graph, f"{part.element_id}-flame-{n}") for n, graph in enumerate(part.section.flame_graphs, start=1)]
        has_lead = part.section.headline is not None
        if has_lead and figures:
            charts += not self._admit(part, self._figure(*figures.pop(0)))
        elif has_lead and flames:
            charts += not self._admit(part, self._flame_graph(*flames.pop(0)))
        blocks = sum(not self._admit(part, self._pieces.block(block)) for block in part.section.blocks)
        if has_lead:
            part.lead, part.pieces = part.pieces, []
        for figure, element_id in figures:
            charts += not self._admit(part, self._figure(figure, element_id))
        for graph, element_id in flames:
            charts += not self._admit(part, self._flame_graph(graph, element_id))
        for number, table in enumerate(part.section.tables, start=1):
            tables += not self._admit(part, self._table(table, f"{part.element_id}-table-{number}"))
        part.left_out = _left_out(charts, tables + blocks)
        self.charts_left_out += charts
        self.tables_left_out += tables + blocks

    def _admit(self, part: FittedSection, piece: Markup) -> bool:
        size_bytes = len(piece.encode())
        if not piece or size_bytes > self._room_bytes:
            return False
        self._room_bytes -= size_bytes
        part.pieces.append(piece)
        return True

    def _table(self, table: Table, element_id: str) -> Markup:
        more = len(table.rows) - ROWS_MAX
        left_out = f"The first {ROWS_MAX:,} of {len(table.rows):,} rows." if more > 0 else ""
        return self._pieces.table(table.head(ROWS_MAX), element_id, left_out)

    def _flame_graph(self, graph: FlameGraph, element_id: str) -> Markup:
        return self._pieces.flame_graph(graph, element_id, self._table(graph.table, f"{element_id}-table"))

    def _figure(self, figure: ChartFigure, element_id: str) -> Markup:
        if element_id not in self._pictures:
            return Markup()
        table = Markup() if figure.table is None else self._table(figure.table, f"{element_id}-table")
        return self._pieces.figure(figure, element_id, self._pictures[element_id], table)


def _part(section: Section, element_id: str, *, is_folded: bool) -> FittedSection:
    part = FittedSection(section, element_id, is_folded or section.is_folded)
    part.parts = [
        _part(each, f"{element_id}-{number}", is_folded=part.is_folded)
        for number, each in enumerate(section.parts, start=1)
    ]
    return part


def _walked(parts: Iterable[FittedSection]) -> Iterator[FittedSection]:
    for part in parts:
        yield part
        yield from _walked(part.parts)


def _kept(parts: Iterable[FittedSection], refused: set[str]) -> list[FittedSection]:
    kept = [part for part in parts if part.element_id not in refused]
    for part in kept:
        part.parts = _kept(part.parts, refused)
    return kept


def _figures(part: FittedSection) -> Iterator[tuple[int, ChartFigure]]:
    return enumerate(part.section.figures, start=1)


def _figure_id(part: FittedSection, number: int) -> str:
    return f"{part.element_id}-chart-{number}"


def _lines(section: Section) -> tuple[Line, ...]:
    more = len(section.lines) - _LINES_MAX
    rest = (Line(text=f"... and {more:,} more lines."),) if more > 0 else ()
    return (*section.lines[:_LINES_MAX], *rest)


def _text_bytes(text: str) -> int:
    return len(escape(shown(text)).encode())


def _left_out(charts: int, tables: int) -> str:
    words = [counted(number, noun) for number, noun in ((charts, "chart"), (tables, "table")) if number]
    return f"Left out here, to keep the page small: {' and '.join(words)}." if words else ""
