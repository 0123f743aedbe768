"""Sections of the page: lines, tables and figures, before any HTML.

All text is plain; the page escapes it.
"""

from dataclasses import dataclass

import altair as alt

from s3bench.report.table import Table, Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One sentence of a section's head: a verdict, a summary, a warning."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The answer of a section: it stands above all else on the page.

    `verdict` is a word or two, such as `FAIL`; `text` is the answer in a sentence, with the figure or the bound that
    decided; `remarks` qualify it. `figures` are the few that matter, by their names.
    """

    text: str
    verdict: str = ""
    tone: Tone = Tone.PLAIN
    remarks: tuple[str, ...] = ()
    figures: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartFigure:
    """A chart with its words.

    `name` is made of `a-z`, `0-9` and `-`, and unique in its section; files of `--svg` and `--png` are named by it.
    `description` is a sentence on what the chart shows, for those who do not see it. `table` holds the chart's
    figures, folded away beneath it: whatever is drawn can be read there. `narrow` is the chart as it is laid out for a
    narrow screen, of the same marks in the same order; without it, the same chart is drawn less wide.
    """

    name: str
    title: str
    description: str
    chart: alt.TopLevelMixin
    narrow: alt.TopLevelMixin | None = None
    table: Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlameGraph:
    """A flame graph, which the page's script draws.

    `data` are the packed frames, of letters, digits and `+/=` alone. `legend` has the CSS class of a colour with its
    meaning. `table` has the largest frames and is folded away beneath the graph.
    """

    name: str
    title: str
    description: str
    data: str
    legend: tuple[tuple[str, str], ...]
    table: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBlock:
    """Lines to be copied as they stand, such as commands."""

    caption: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page with a heading: its lines first, then blocks, figures, flame graphs, tables, and own parts.

    `name` is made as a figure's and unique among its neighbours. One that `is_folded` shows only its heading and its
    lines until it is opened. Of one that has a headline, the first figure, or else the first flame graph, and the
    blocks come before its lines.
    """

    name: str
    title: str
    headline: Headline | None = None
    lines: tuple[Line, ...] = ()
    blocks: tuple[CodeBlock, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[ChartFigure, ...] = ()
    flame_graphs: tuple[FlameGraph, ...] = ()
    parts: tuple["Section", ...] = ()
    is_folded: bool = False
