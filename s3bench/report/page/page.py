"""Renders sections as one HTML file: its own style and script, nothing loaded, everything escaped.

The content security policy admits style and script by their hashes alone.
"""

import math
from base64 import b64encode
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from hashlib import sha256
from importlib.resources import files
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import s3bench
from s3bench.report.page.drawing import draw
from s3bench.report.page.fitting import PAGE_BYTES_MAX, FittedPage, Pieces, fit, shown
from s3bench.report.page.profile import tints
from s3bench.report.page.section import ChartFigure, Headline, Line, Section
from s3bench.report.page.theme import INKS
from s3bench.report.table import Tone
from s3bench.units import counted

FILES_REMEDY = "`s3bench report ... --svg DIR` draws every chart into a file."

_BADGES = MappingProxyType({Tone.GOOD: "✓ good", Tone.BAD: "✕ bad", Tone.WARNING: "! warning"})
_SIGNS = MappingProxyType({Tone.GOOD: "✓", Tone.BAD: "✕", Tone.WARNING: "!"})
_HEADLINES_MAX = 8
_LINES_OPEN_MAX = 2
"""More lines in the head of the page are folded away below it."""

_DRAWERS = 2
"""While vl-convert's one thread draws, another of ours makes its last picture small."""


def render_page(
    title: str,
    sections: Sequence[Section],
    *,
    facts: Sequence[tuple[str, str]] = (),
    lines: Sequence[Line] = (),
    remedy: str = FILES_REMEDY,
) -> str:
    """Render the page. Its head has the headlines of the sections, `facts` on when and by whom, and warnings.

    `remedy` says how to get the charts that are left out where there are too many.
    """
    environment = _environment()
    macros = vars(environment.get_template("parts.html.j2").module)
    fitted = fit(
        sections,
        Pieces(
            block=macros["block"],
            flame_graph=macros["flame_graph"],
            table=macros["table"],
            figure=macros["figure"],
            pictures=_pictures,
        ),
    )
    has_flame_graph = any(map(_has_flame_graph, sections))
    page = environment.get_template("page.html.j2").render(
        title=title,
        headlines=tuple(_headlines(sections)),
        facts=facts,
        lines=(*lines, *_shortfall(fitted, remedy)),
        all=fitted.parts,
        style=_style(has_flame_graph=has_flame_graph),
        script=_script(has_flame_graph=has_flame_graph),
        version=s3bench.__version__,
    )
    assert len(page.encode()) < PAGE_BYTES_MAX
    return page


def _has_flame_graph(section: Section) -> bool:
    return bool(section.flame_graphs) or any(map(_has_flame_graph, section.parts))


def _headlines(sections: Sequence[Section]) -> Iterator[tuple[str, Headline]]:
    """The headlines of the page's parts; where there are several, each below its part's title."""
    found = [(section.title, section.headline) for section in sections if section.headline is not None]
    for title, headline in found[:_HEADLINES_MAX]:
        yield title if len(found) > 1 else "", headline


def _pictures(figures: Sequence[tuple[ChartFigure, str]]) -> Iterator[Markup]:
    with ThreadPoolExecutor(_DRAWERS) as drawers:
        yield from drawers.map(_picture, figures)


def _picture(figure_and_id: tuple[ChartFigure, str]) -> Markup:
    figure, element_id = figure_and_id
    return Markup(draw(figure, element_id=element_id))  # noqa: S704 (written by `picture`, which escapes all text)


def _shortfall(fitted: FittedPage, remedy: str) -> Iterator[Line]:
    if fitted.charts_left_out:
        there = f"{fitted.charts - fitted.charts_left_out:,} of {counted(fitted.charts, 'chart')}"
        yield Line(text=f"To keep the page small and quick, it has {there}; {remedy}")
    if fitted.tables_left_out or fitted.sections_left_out:
        lost = f"{counted(fitted.tables_left_out, 'table')} and {counted(fitted.sections_left_out, 'part')}"
        yield Line(text=f"Left out to keep the page small: {lost}. The files that it was made from have all figures.")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("s3bench.report.page", ""),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
    )
    environment.filters |= {"shown": shown, "sortable": _sortable, "digest": _digest}
    environment.globals |= {"BADGES": _BADGES, "SIGNS": _SIGNS, "LINES_OPEN_MAX": _LINES_OPEN_MAX}
    return environment


def _sortable(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else f"{value:.12g}"


def _digest(text: str) -> str:
    """The source of an inline element for a content security policy (CSP level 3, hash-source)."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _style(*, has_flame_graph: bool) -> Markup:
    """The style, with each ink as a variable and as the classes that a picture's colours became."""
    inks = "".join(f"--{name}: light-dark({ink.light}, {ink.dark}); " for name, ink in INKS.items())
    classes = "".join(
        f".f-{name} {{ fill: var(--{name}); }}\n.s-{name} {{ stroke: var(--{name}); }}\n" for name in INKS
    )
    flames = f"{tints.style()}{_file('profile/flame_graph.css')}" if has_flame_graph else ""
    return Markup(f":root {{ {inks}}}\n{classes}{_file('page.css')}{flames}")  # noqa: S704 (ours alone)


@cache
def _script(*, has_flame_graph: bool) -> Markup:
    flames = _file("profile/flame_graph.js") if has_flame_graph else ""
    return Markup(_file("page.js") + flames)  # noqa: S704 (ours alone)


def _file(name: str) -> str:
    return (files("s3bench.report.page") / name).read_text(encoding="utf-8")
