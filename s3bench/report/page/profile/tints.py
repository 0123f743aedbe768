"""The colours of a flame graph: of packages, or of differences between two profiles.

Packages are pale on light paper and deep on dark paper. Differences are orange for more and blue for less, which
readers with any common colour blindness can tell apart; the stronger the difference, the stronger the colour, and texts
and signs say the same. Texts on frames stand out by 4.5:1 at least (WCAG 2.2, 1.4.3).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from s3bench.report.label import clipped
from s3bench.report.page.profile.call_tree import CallNode, CallTree
from s3bench.report.page.theme import INKS, Ink
from s3bench.units import render_seconds

STEP_RATIO = 4
"""A step of colour stands for differences so many times as large as those of the step below it."""
_STEPS = 3

_DARK_TEXT, _LIGHT_TEXT = "#14181c", "#f4f6f8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tint:
    """The fill of a frame and of the text on it."""

    fill: Ink
    text: Ink


def _on_paper(light: str, dark: str) -> Tint:
    """A tint that carries the page's own text."""
    return Tint(fill=Ink(light, dark), text=INKS["text"])


PACKAGE_TINTS: tuple[Tint, ...] = (
    _on_paper("#dfe3e8", "#343c45"),
    _on_paper("#bcd3f5", "#1f4a86"),
    _on_paper("#f6cfae", "#7a3d12"),
    _on_paper("#b5e0dc", "#14605a"),
    _on_paper("#e0c8ee", "#5d2f7c"),
    _on_paper("#f3c3dc", "#7d2656"),
    _on_paper("#dedf9f", "#54570a"),
)
"""Of all other packages first, then of the largest ones."""
CHANGE_TINTS: tuple[Tint, ...] = (
    _on_paper("#e6e9ed", "#2d343c"),
    _on_paper("#fbdcbc", "#573415"),
    Tint(fill=Ink("#f2a458", "#a04e0c"), text=Ink(_DARK_TEXT, _LIGHT_TEXT)),
    Tint(fill=Ink("#b0490a", "#ffb169"), text=Ink(_LIGHT_TEXT, _DARK_TEXT)),
    _on_paper("#cfe1f9", "#1d3c63"),
    Tint(fill=Ink("#7fb0ef", "#2c66b0"), text=Ink(_DARK_TEXT, _LIGHT_TEXT)),
    Tint(fill=Ink("#2160c4", "#8fc1ff"), text=Ink(_LIGHT_TEXT, _DARK_TEXT)),
)
"""Of no difference first, then of more time in three steps, then of less time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tinting:
    """Which tint each node has, by the node's `id`; `legend` has the class of a tint with its meaning."""

    kind: str
    tints: Mapping[int, int]
    legend: tuple[tuple[str, str], ...]


def style() -> str:
    """The classes of all tints, of frames and of the texts on them."""
    return "".join(
        f".{kind}-{number} {{ fill: {_css(tint.fill)}; background: {_css(tint.fill)}; }}\n"
        f".on-{kind}-{number} {{ fill: {_css(tint.text)}; }}\n"
        for kind, tints in (("package", PACKAGE_TINTS), ("change", CHANGE_TINTS))
        for number, tint in enumerate(tints)
    )


def _css(ink: Ink) -> str:
    return f"light-dark({ink.light}, {ink.dark})"


def package_tinting(tree: CallTree) -> Tinting:
    """A tint for each of the packages with the most time of their own, and one for all others."""
    nodes = list(tree.root.walk())
    sizes: Counter[str] = Counter()
    for node in nodes:
        sizes[_package(node)] += node.self_samples[0]
    ordered = sorted((name for name in sizes if name), key=lambda name: (-sizes[name], name))
    named = ordered[: len(PACKAGE_TINTS) - 1]
    number_of = {name: number for number, name in enumerate(named, start=1)}
    legend = [(f"package-{number}", clipped(name)) for name, number in number_of.items()]
    if len(ordered) > len(named):
        legend.append(("package-0", "other packages"))
    return Tinting(
        kind="package",
        tints={id(node): number_of.get(_package(node), 0) for node in nodes},
        legend=tuple(legend),
    )


def _package(node: CallNode) -> str:
    return node.function.module.partition(".")[0]


def change_tinting(tree: CallTree) -> Tinting:
    """Tints by the difference of the total times, those within the noise without any."""
    changes = {id(node): tree.difference_s(node) for node in tree.root.walk() if not tree.is_noise(node)}
    largest_s = max(map(abs, changes.values()), default=0.0)
    limits_s = [largest_s / STEP_RATIO ** (_STEPS - 1 - step) for step in range(_STEPS - 1)]
    tints = {
        node: 1 + sum(abs(change) >= limit for limit in limits_s) + (_STEPS if change < 0 else 0)
        for node, change in changes.items()
    }
    return Tinting(kind="change", tints=tints, legend=tuple(_change_legend(set(tints.values()), limits_s)))


def _change_legend(used: set[int], limits_s: Sequence[float]) -> Iterator[tuple[str, str]]:
    yield "change-0", "no difference beyond noise"
    low, high = (render_seconds(limit) for limit in limits_s)
    for start, word in ((1, "more"), (1 + _STEPS, "less")):
        for step, text in enumerate((f"below {low}", f"from {low}", f"from {high}")):
            if start + step in used:
                yield f"change-{start + step}", f"{word}: {text}"
