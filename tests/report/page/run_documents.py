"""Documents of runs for the tests of the page: with samples and requests, with many benchmarks, with nothing."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from s3bench.report.page.section import ChartFigure, Section
from s3bench.results.document import Document, Result, Status
from s3bench.results.measurement import Failure, Measurement, Milestones
from s3bench.results.timeline import RequestSpan, UsageSeries
from tests.compare.documents import BASE, client, document, result, slower

MILESTONES = Milestones(interpreter_start=0.04, imports_done=0.3, first_request=0.4, last_response=0.45, exit=0.46)
SERIES = UsageSeries(at=(0.0, 0.1, 0.5), memory=(10 << 20, 80 << 20, 60 << 20), cores=(None, 1.25, 0.5))
SPAN = RequestSpan(
    connection=1,
    kind="GET ranged",
    start=0.4,
    body_end=0.4,
    first_byte=0.42,
    end=0.45,
    bytes_up=0,
    bytes_down=8 << 20,
    status=206,
    attempt=1,
    fault="",
    error="",
)
FAILURE = Failure(iteration=6, what="the client failed", exit_code=1, why="no such bucket")


def timed(of: str = "cli-crt", *, factor: float = 1.0, **known: Any) -> Result:
    """Six runs of one client, each with milestones and samples; the median run with two requests."""
    engine = {"cli-crt": "CRT", "cli-classic": "Classic"}.get(of)
    dimensions = {"FileSize": "32MB", **({"S3TransferClient": engine} if engine else {})}
    made = result(slower(BASE, factor), dimensions=dimensions, of=client(of), **known)
    measurements = tuple(replace(each, series=SERIES, milestones=MILESTONES) for each in made.measurements)
    with_samples = replace(made, measurements=measurements)
    spans = (SPAN, replace(SPAN, start=0.41, connection=2, attempt=2, status=503, fault="slow down"))
    median = with_samples.median_iteration
    kept = (replace(each, requests=spans) if each is median else each for each in measurements)
    return replace(with_samples, measurements=tuple(kept))


def classic_beside_crt() -> Document:
    """One benchmark on both engines, one run of Classic failed."""
    failed = replace(timed("cli-classic", factor=2.0), errors=(FAILURE,), status=Status.FAILED)
    return document(failed, timed())


def many(benchmarks: int, runs: int, clients: tuple[str, ...] = ("cli-crt",)) -> Document:
    """Many benchmarks of equal runs."""
    one = timed().measurements[0]
    measurements = tuple(replace(one, iteration=run, total_time=0.5 + run / 100) for run in range(runs))
    return document(*(_alike(f"b{number}", name, measurements) for number in range(benchmarks) for name in clients))


def figures(sections: tuple[Section, ...]) -> Iterator[ChartFigure]:
    """All figures of sections and of their parts."""
    for section in sections:
        yield from section.figures
        yield from figures(section.parts)


def figure_of(sections: tuple[Section, ...], name: str) -> ChartFigure:
    """The first figure of this name."""
    return next(figure for figure in figures(sections) if figure.name == name)


def data(tree: object) -> list[dict[str, Any]]:
    """All data of a chart."""
    found: list[dict[str, Any]] = []
    match tree:
        case ChartFigure():
            return data(tree.chart.to_dict(validate=False))
        case {"datasets": datasets}:
            return [value for values in datasets.values() for value in values]
        case {"values": [{}, *_] as values}:
            found += values
        case dict():
            found += [value for each in tree.values() for value in data(each)]
        case list():
            found += [value for each in tree for value in data(each)]
        case _:
            pass
    return found


def labels(figure: ChartFigure) -> list[str]:
    """What the marks of a chart say."""
    return [value["label"] for value in data(figure) if "label" in value]


def _alike(name: str, of: str, measurements: tuple[Measurement, ...]) -> Result:
    return Result(name=name, client=client(of), status=Status.COMPLETE, measurements=measurements)
