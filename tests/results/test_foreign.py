"""Whose results they are is told by their keys, and what is of no known tool is refused."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s3bench.compare.comparison import compare
from s3bench.compare.matching import DocumentSource
from s3bench.errors import BadInput
from s3bench.results.document import Client, Document, Result, encode_document
from s3bench.results.foreign import read_any
from s3bench.results.foreign_tree import parse_time
from s3bench.results.measurement import measure

PYPERF = {"version": "1.0", "benchmarks": [{"metadata": {"name": "a"}, "runs": [{"values": [0.5]}]}]}
HYPERFINE = {"results": [{"command": "sleep 1", "times": [1.0], "exit_codes": [0]}]}
HYPERFINE_2 = {
    "schema_version": 2,
    "metadata": {"hyperfine_version": "2.0.0"},
    "primary_metric": "time_wall_clock",
    "results": [
        {"command": "a", "measurements": [{"time_wall_clock": {"value": 1.0, "unit": "second"}, "exit_code": 0}]}
    ],
}
WARP = {
    "v": 2,
    "final": True,
    "by_op_type": {
        "GET": {
            "total_requests": 10,
            "total_errors": 0,
            "concurrency": 4,
            "throughput": {"measure_duration_millis": 5000, "bytes": 1e6, "objects": 10, "ops": 10, "errors": 0},
        }
    },
}


def read(tree: object) -> Document:
    return read_any(json.dumps(tree).encode(), source="a.json")


def test_ours_is_read_as_it_is() -> None:
    client = Client(name="cli-crt", version="2", label="cli-crt@2")
    ours = Document(s3bench="0.1.0", started_at="2026-11-21T00:00:00.000Z", results=(Result(name="a", client=client),))
    assert read_any(encode_document(ours), source="a.json") == ours


@pytest.mark.parametrize(
    ("tree", "client", "what"),
    [
        (PYPERF, "pyperf", "a pyperf file"),
        (HYPERFINE, "hyperfine", "a hyperfine export"),
        (HYPERFINE_2, "hyperfine", "a hyperfine export"),
        (WARP, "warp", "a warp analysis"),
        ({"type": "single", "mixed": False, "operations": []}, "", ""),
    ],
)
def test_each_tool_is_known_by_its_keys_and_named_in_a_warning(tree: object, client: str, what: str) -> None:
    if not client:
        with pytest.raises(BadInput, match="is not a warp analysis that s3bench can read"):
            read(tree)
        return
    document = read(tree)
    assert [each.name for each in document.clients] == [client]
    assert document.warnings[0] == f"read from a.json, {what}: figures that it does not have are null"


def test_a_document_of_another_tool_can_be_written_and_read() -> None:
    for tree in (PYPERF, HYPERFINE, HYPERFINE_2):
        document = read(tree)
        assert read_any(encode_document(document), source="b.json") == document


def test_a_broken_document_of_ours_is_reported_as_ours() -> None:
    with pytest.raises(BadInput, match=r"is not a results document of version 2(.|\n)*results\[0\]"):
        read({"schema_version": 2, "s3bench": "1", "started_at": "", "results": [{}]})


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b'{"a": "\xff"}', "is not JSON"),
        (b'{"a": NaN}', "is not JSON"),
        (b"[]", "is not a JSON object"),
        (b'"text"', "is not a JSON object"),
        (b"{}", "its keys are none"),
        (b'{"a": 1, "b": 2}', "its keys are 'a', 'b'"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_what_is_of_no_tool_is_refused(content: bytes, reported: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_any(content, source="a.json")
    assert reported in str(caught.value)
    assert "a.json" in str(caught.value)


def test_two_files_of_a_tool_can_be_compared() -> None:
    def suite(factor: float) -> Document:
        runs = [{"values": [factor * (1 + number / 100)]} for number in range(10)]
        return read({"version": "1.0", "benchmarks": [{"metadata": {"name": "a"}, "runs": runs}]})

    reported = compare(
        (DocumentSource(name="before", document=suite(1.0)), DocumentSource(name="after", document=suite(1.5)))
    )
    (row,) = (row for row in reported.others[0].rows if row.metric == "total_time")
    assert row.change == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("text", "known"),
    [("2026-11-21T10:00:00Z", True), ("2026-11-21T10:00:00.123456789+01:00", True), ("2026-11-21T10:00:00", False)],
)
def test_a_moment_is_known_by_its_zone(text: str, known: bool) -> None:
    assert (parse_time(text) is not None) is known
    assert parse_time(None) is None
    assert parse_time("=1+1") is None


_TREES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def _paths(tree: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    below = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(deeper for key, value in below for deeper in _paths(value, (*path, key)))]


def _with(tree: object, path: tuple[str | int, ...], value: object) -> object:
    if not path:
        return value
    if isinstance(tree, dict):
        return tree | {path[0]: _with(tree[path[0]], path[1:], value)}
    assert isinstance(tree, list)
    return [_with(each, path[1:], value) if number == path[0] else each for number, each in enumerate(tree)]


@pytest.mark.parametrize("tree", [PYPERF, HYPERFINE, HYPERFINE_2, WARP], ids=["pyperf", "hyperfine", "2", "warp"])
@settings(max_examples=30)
@given(st.data())
def test_whatever_stands_anywhere_is_a_document_or_bad_input(tree: object, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(_paths(tree)))
    changed = _with(tree, path, data.draw(_TREES))
    try:
        document = read(changed)
    except BadInput:
        return
    assert all(each.total_time >= 0 for result in document.results for each in result.measurements)
    assert measure(iteration=0, total_s=1.0).total_time == 1.0
