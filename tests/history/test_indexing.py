"""What is kept of a document: which two are the same, and the rows of its figures."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from s3bench.errors import BadInput, MachineError
from s3bench.history.indexing import identity_of, index_document, unpack
from s3bench.history.timestamp import milliseconds_of, parse_milliseconds, time_of
from s3bench.results.measurement import Failure
from tests.compare.documents import BASE, result
from tests.history.documents import text

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(JSON, st.randoms(use_true_random=False))
def test_order_of_keys_and_white_space_make_no_other_document(value: object, order: random.Random) -> None:
    def shuffled(item: Any) -> Any:
        if isinstance(item, dict):
            keys = sorted(item)
            order.shuffle(keys)
            return {key: shuffled(item[key]) for key in keys}
        return [shuffled(each) for each in item] if isinstance(item, list) else item

    def encoded(item: object, indent: int | None) -> bytes:
        return json.dumps(item, indent=indent, ensure_ascii=indent is None).encode("utf-8", "surrogatepass")

    assert identity_of(encoded(value, None)) == identity_of(encoded(shuffled(value), 3))


def test_any_other_figure_makes_another_document() -> None:
    assert identity_of(text(result(BASE))) != identity_of(text(result((*BASE[:-1], BASE[-1] + 1e-9))))


def test_each_metric_has_the_median_over_the_iterations_that_have_it() -> None:
    one, two, three = result((1.0, 3.0, 2.5)).measurements
    first = replace(result(), measurements=(one, replace(two, peak_memory=None), replace(three, peak_memory=None)))
    figures = {row["metric"]: row for row in index_document(text(first), source="x").figures}
    assert figures["total_time"] == {"place": 0, "metric": "total_time", "median": 2.5, "n": 3}
    assert (figures["peak_memory"]["n"], figures["wire.requests"]["median"]) == (1, 5.0)
    assert "max_cpu" not in figures
    assert "milestones.exit" not in figures


def test_a_median_that_no_number_holds_is_left_out() -> None:
    measurements = tuple(replace(each, total_time=1.7e308, peak_memory=10**400) for each in result().measurements)
    indexed = index_document(text(replace(result(), measurements=measurements)), source="x")
    assert not {"total_time", "peak_memory"} & {row["metric"] for row in indexed.figures}


def test_a_result_says_how_much_of_it_is_questionable() -> None:
    doubted = replace(result().measurements[0], warnings=("stub-bound",))
    failure = Failure(iteration=9, what="no")
    indexed = index_document(text(replace(result(), measurements=(doubted,), errors=(failure,))), source="x")
    assert (indexed.results[0]["doubtful"], indexed.document["failures"]) == (1, 1)


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{",
        b"[]",
        b'{"schema_version": 99}',
        b'{"schema_version":2,"machine":' + b"[" * 10**5 + b"]" * 10**5 + b"}",
    ],
)
def test_what_is_no_results_document_is_refused_by_its_name(broken: bytes) -> None:
    with pytest.raises(BadInput, match=r"^mine\.json "):
        index_document(broken, source="mine.json")


@pytest.mark.parametrize(
    "time", ["", "yesterday", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "x" * 10**6]
)
def test_a_document_without_a_time_has_no_place_in_a_history(time: str) -> None:
    with pytest.raises(BadInput, match=r"mine: \$\.started_at is not a time") as caught:
        index_document(text(started_at=time), source="mine")
    assert len(str(caught.value)) < 300


@given(st.datetimes(timezones=st.timezones()) | st.datetimes())
def test_moments_come_back_to_the_millisecond(at: Any) -> None:
    try:
        back = time_of(parse_milliseconds(at.isoformat()))
    except ValueError:
        assert at.year in {1, 9999}
        return
    assert milliseconds_of(back) == milliseconds_of(at)
    assert back.microsecond % 1000 == 0


def test_a_damaged_text_is_reported_and_not_given_out() -> None:
    indexed = index_document(text(), source="x")
    body = indexed.document["body"]
    assert unpack(body, indexed.identity) == text()
    other = index_document(text(day=2), source="x").document["body"]
    for damaged in (other, body[:-9], b""):
        with pytest.raises(MachineError, match="damaged"):
            unpack(damaged, indexed.identity)
