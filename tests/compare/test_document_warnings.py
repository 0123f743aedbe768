"""A warning that several documents have is one line."""

from msgspec.structs import replace

from s3bench.compare.document_warnings import document_warnings
from s3bench.compare.matching import DocumentSource
from tests.compare.documents import BASE, result, source


def warned(name: str, *warnings: str, of_runs: str = "") -> DocumentSource:
    results = [result(BASE, dimensions={"FileSize": f"{size}KB"}) for size in range(5)]
    if of_runs:
        results = [
            replace(each, measurements=tuple(replace(run, warnings=(of_runs,)) for run in each.runs))
            for each in results
        ]
    given = source(name, *results)
    document = replace(given.document, warnings=warnings, ended_at="2026-01-01T00:00:00.000Z")
    return DocumentSource(name=name, document=document)


def test_a_warning_of_several_documents_is_one_line_with_their_names_and_figures_that_differ_stay() -> None:
    busy = [warned(name, f"load {load} on 2 cores", "no turbo") for name, load in (("a.json", 5), ("b.json", 6))]
    assert document_warnings(busy) == (
        "a.json: load 5 on 2 cores",
        "a.json, b.json: no turbo",
        "b.json: load 6 on 2 cores",
    )


def test_a_warning_of_many_runs_is_one_line_with_their_number() -> None:
    sources = [warned(name, of_runs="the stub is busy") for name in ("a.json", "b.json")]
    (line,) = document_warnings(sources)
    label = sources[0].document.results[0].label
    assert line == (
        f"a.json, b.json: 5 results (first {label}): {5 * len(BASE)} iterations with a warning, the stub is busy"
    )
