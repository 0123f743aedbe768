"""A warning that several documents have is one line."""

import json

from msgspec.structs import replace

from s3bench.compare.document_warnings import document_warnings
from s3bench.compare.matching import DocumentSource
from s3bench.results.document import Status
from s3bench.results.foreign import read_any
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


def test_a_run_that_was_cut_short_is_warned_of_and_a_file_without_times_is_not() -> None:
    of_hyperfine = json.dumps({"results": [{"command": "true", "times": [1.0], "exit_codes": [0]}]}).encode()
    foreign = DocumentSource(name="a.json", document=read_any(of_hyperfine, source="a.json"))
    assert not any("not complete" in line for line in document_warnings([foreign]))
    (running,) = (replace(each, status=Status.RUNNING) for each in foreign.document.results)
    unfinished = DocumentSource(name="a.json", document=replace(foreign.document, results=(running,)))
    assert any("the run is not complete: true on hyperfine" in line for line in document_warnings([unfinished]))
    whole = warned("b.json")
    killed = DocumentSource(name="b.json", document=replace(whole.document, ended_at=None))
    assert document_warnings([whole, killed]) == ("b.json: the run is not complete",)
