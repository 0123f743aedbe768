"""What readers make of a document from a cluster: nodes' parts are shown, and are no benchmarks of their own."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from s3bench.cli.compare.command import compare_command
from s3bench.cli.gate.command import gate_command
from s3bench.cli.report.command import report_command
from s3bench.errors import BadInput
from s3bench.history.indexing import index_document
from s3bench.report.formats import Format
from s3bench.report.load.csv import matrix_csv
from s3bench.report.load.text import render_load
from s3bench.report.page.load.section import load_sections
from s3bench.report.rendering import RENDERINGS
from s3bench.results.document import Document, encode_document
from s3bench.results.measurement import Failure
from tests.cluster.documents import clustered, parts_of, whole_of
from tests.compare.documents import document as run_document
from tests.compare.documents import result as run_result
from tests.test_docs_load import plan_of

LOOPS = 10  # what a gate takes at its first look
NODES = ["node-1", "node-2", "node-3"]
OF_PARTS = {Format.CSV, Format.MARKDOWN}


@pytest.fixture(scope="module")
def even() -> Document:
    return clustered(loops=LOOPS)


@pytest.fixture(scope="module")
def uneven() -> Document:
    """A document of which the third node was five times slower."""
    return clustered(loops=LOOPS, slow=2)


def with_parts_of(document: Document, other: Document) -> Document:
    return replace(document, results=(whole_of(document), *parts_of(other)))


def written(path: Path, document: Document) -> str:
    path.write_bytes(encode_document(document))
    return str(path)


def run(command: Any, *arguments: str) -> str:
    return CliRunner().invoke(command, arguments).stdout


def test_parts_are_left_out_where_their_whole_is_there(even: Document) -> None:
    assert [dict(each.dimensions[0])["node"] for each in parts_of(even)] == NODES
    assert even.without_parts().results == (whole_of(even),)
    assert even.without_parts().without_parts() == even.without_parts()


def test_parts_that_were_picked_stand_for_themselves(even: Document) -> None:
    picked = even.selected(lambda labels: ("node", "node-2") in labels.dimensions)
    assert [each.dimensions for each in picked.without_parts().results] == [({"node": "node-2"},)]


def test_a_dimension_of_the_user_s_own_is_no_part(even: Document) -> None:
    own = run_document(run_result((0.5, 0.6)), run_result((0.5, 0.6), dimensions={"node": "node-1"}))
    assert own.without_parts() is own
    spread = replace(own, options=even.options)  # a suite that was spread over a cluster
    assert spread.without_parts() == spread
    single = replace(even, options={})
    assert single.without_parts() is single


def test_a_profile_s_own_dimension_of_that_name_does_not_go_with_a_cluster(tmp_path: Path) -> None:
    profile = tmp_path / "profile.yaml"
    profile.write_text("phases:\n  - {dimensions: [{node: rack 3}], jobs: [{operation: get}]}\n", encoding="utf-8")
    to = ["-u", "http://127.0.0.1:9", "-b", "data"]
    assert plan_of([str(profile), *to]).profile.phases[0].dimensions == ({"node": "rack 3"},)
    with pytest.raises(BadInput, match="--cluster cannot be combined with the profile's dimension `node`"):
        plan_of([str(profile), "--cluster", "auto", *to])


def test_a_node_alone_neither_fails_a_gate_nor_counts_in_it(tmp_path: Path, even: Document, uneven: Document) -> None:
    before = written(tmp_path / "before.json", even)
    after = written(tmp_path / "after.json", with_parts_of(even, uneven))
    reported = json.loads(run(gate_command, before, after, "--json"))
    assert [cell["dimensions"] for cell in reported["cells"]] == [[]]
    rows = [row for row in reported["conclusion"]["rows"] if row["kind"] == "size"]
    assert {row["metric"]: row["verdict"] for row in rows} == {
        "load.operations_rate": "PASS",
        "load.latency.p50": "PASS",
        "load.latency.p99": "PASS",
    }
    assert not any("node" in warning for warning in reported["warnings"])


def test_a_comparison_has_the_whole_and_with_by_node_the_nodes(
    tmp_path: Path, even: Document, uneven: Document
) -> None:
    before, after = written(tmp_path / "before.json", even), written(tmp_path / "after.json", uneven)
    reported = json.loads(run(compare_command, before, after, "--json"))
    assert {str(row["dimensions"]) for row in reported["others"][0]["rows"]} == {"[]"}
    assert [source["measurements"] for source in reported["sources"]] == [LOOPS, LOOPS]
    by_node = json.loads(run(compare_command, after, "--by", "node", "--json"))
    assert by_node["baseline"]["name"] == "node=node-1"
    assert [other["name"] for other in by_node["others"]] == ["node=node-2", "node=node-3"]
    rates = [row["word"] for row in by_node["others"][1]["rows"] if row["metric"] == "load.operations_rate"]
    assert rates == ["fewer operations"]


def test_clusters_are_distinguished_by_size_and_not_by_their_clocks(tmp_path: Path, even: Document) -> None:
    cluster = even.options["cluster"]
    later = replace(even, options={"cluster": {**cluster, "phases": []}})
    smaller = replace(even, options={"cluster": {**cluster, "nodes": cluster["nodes"][:2]}})
    names = [written(tmp_path / name, each) for name, each in (("a", even), ("b", later), ("c", smaller))]
    warnings = json.loads(run(compare_command, *names, "--json"))["warnings"]
    before, after = (f"{nodes} nodes with 2 workers each, by simulated" for nodes in (3, 2))
    reported = f"different cluster: {before} in {names[0]}, {after} in {names[2]}"
    assert [each for each in warnings if "cluster" in each] == [reported]


def test_the_table_has_the_whole_and_how_evenly_the_nodes_took_part(tmp_path: Path, uneven: Document) -> None:
    lines = render_load(uneven, width=140, color=False).splitlines()
    assert not [line for line in lines if line.startswith("node=")]
    (reported,) = (line.split() for line in lines if line.startswith("  nodes:"))
    assert reported[:5] == ["nodes:", "get:", "3", "of", "them,"]
    assert (reported[6], reported[7]) == ("(node-3)", "to")
    assert float(reported[5].removesuffix("/s")) < float(reported[8].removesuffix("/s")) / 4
    picked = run(report_command, written(tmp_path / "uneven.json", uneven), "-k", "node-3")
    assert picked.splitlines()[2] == "node=node-3"


def test_a_refusal_is_reported_once_and_not_of_every_node(even: Document) -> None:
    refused = Failure(iteration=0, what="the figures contradict each other and are left out")
    failed = replace(even, results=tuple(replace(each, measurements=()).with_failure(refused) for each in even.results))
    assert render_load(failed, width=140, color=False).count("contradict") == 1
    assert failed.without_parts().results == (whole_of(failed),)


def test_the_page_has_one_phase_and_a_table_of_its_nodes(uneven: Document) -> None:
    (section,) = load_sections(uneven)
    (table,) = section.tables[1:]
    assert len(section.tables[0].rows) == 1
    assert [cell.text for cell in table.columns[0].cells] == [f"node={name}" for name in NODES]


@pytest.mark.parametrize("form", Format)
def test_formats_that_are_judged_by_have_no_nodes(form: Format, even: Document) -> None:
    try:
        text = RENDERINGS[form].text_of([even])
    except BadInput:
        assert form is Format.HYPERFINE  # has no load runs
        return
    assert ("node-1" in text) == (form in OF_PARTS)


def test_a_matrix_has_a_row_for_each_cell_and_none_for_its_nodes(even: Document) -> None:
    cell = ({"size": "1KiB"}, {"threads": "8"})
    results = tuple(replace(each, dimensions=(*cell, *each.dimensions)) for each in even.results)
    assert len(list(matrix_csv(replace(even, results=results)))) == 1 + LOOPS


def test_the_history_has_no_series_of_a_node(even: Document) -> None:
    text = encode_document(even)
    indexed = index_document(text, source="even.json")
    assert [json.loads(row["dimensions"]) for row in indexed.results] == [[]]
    assert {row["place"] for row in indexed.figures} == {0}
    assert (indexed.document["results"], indexed.document["measurements"]) == (1, LOOPS)
    assert indexed.identity != index_document(encode_document(even.without_parts()), source="even.json").identity
