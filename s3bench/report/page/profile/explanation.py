"""Explanations as sections of the page: what carries each change, with a flame graph of both sides."""

from collections.abc import Iterator, Sequence

from s3bench.profiling.explanation import Explanation
from s3bench.report.explanation import explanation_lines, explanation_title
from s3bench.report.label import sentence
from s3bench.report.page.profile.graph import flame_graph
from s3bench.report.page.section import Line, Section


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
                title=f"{explanation.candidate.sampled} of {sentence(explanation.benchmark)}",
            )
        yield Section(
            name=f"why-{number}",
            title=sentence(explanation_title(explanation)),
            lines=tuple(Line(text=sentence(line)) for line in explanation_lines(explanation)),
            flame_graphs=() if graph is None else (graph,),
        )
