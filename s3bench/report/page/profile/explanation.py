"""Explanations as sections of the page: what carries each change, with a flame graph of both sides."""

from collections.abc import Iterator, Sequence

from s3bench.profiling.explanation import Explanation
from s3bench.report.explanation import explanation_lines, explanation_title
from s3bench.report.label import clipped
from s3bench.report.page.profile.graph import flame_graph
from s3bench.report.page.section import Line, Section

_TEXT_MAX = 600


def explanation_sections(explanations: Sequence[Explanation], labels: tuple[str, str]) -> Iterator[Section]:
    """A section for each; `labels` name baseline and candidate. The flame graph is there where stacks were sampled."""
    for number, explanation in enumerate(explanations):
        graph = None
        if explanation.candidate is not None:
            graph = flame_graph(
                explanation.baseline,
                explanation.candidate,
                labels=labels,
                name=f"why-{number}",
                title=f"{explanation.candidate.sampled} of {_text(explanation.benchmark)}",
            )
        yield Section(
            name=f"why-{number}",
            title=_text(explanation_title(explanation)),
            lines=tuple(Line(text=_text(line)) for line in explanation_lines(explanation)),
            flame_graphs=() if graph is None else (graph,),
        )


def _text(text: str) -> str:
    return clipped(text, most=_TEXT_MAX)
