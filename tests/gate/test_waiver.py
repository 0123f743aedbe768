"""Waivers: the file, which row one covers, and up to what."""

import datetime as dt
import json

import pytest
from msgspec.structs import replace

from s3bench.errors import BadInput
from s3bench.gate.exact_metric import CountChange, Difference
from s3bench.gate.row import GateRow, RowKind
from s3bench.gate.waiver import Waiver, parse_waivers

TODAY = dt.date(2026, 11, 21)
ENTRY = {
    "benchmark": "s3.cp.upload FileSize=32MB",
    "metric": "total_time",
    "ceiling": "8%",
    "reason": "bytes are hashed now",
    "link": "https://example.org/1",
    "expires": "2026-12-01",
}
WAIVER = Waiver(**{**ENTRY, "expires": dt.date(2026, 12, 1)})  # type: ignore[arg-type]
ROW = GateRow(benchmark="s3.cp.upload FileSize=32MB", metric="total_time", kind=RowKind.SIZE, change=0.05)


def file_of(**changes: object) -> bytes:
    return json.dumps({"waivers": [ENTRY, {**ENTRY, **changes}]}).encode()


def counts(*increases: int, difference: Difference = Difference.MORE) -> GateRow:
    changes = tuple(
        CountChange(name=f"n{number}", difference=difference, baseline=(1, 2), candidate=(3, 1 + increase))
        for number, increase in enumerate(increases)
    )
    return GateRow(benchmark="x", metric="requests", kind=RowKind.EXACT, changes=changes)


def test_a_file_of_waivers_is_read() -> None:
    assert parse_waivers(file_of(), source="w.json") == (WAIVER, WAIVER)
    assert parse_waivers(b'{"waivers": []}', source="w.json") == ()


def test_a_waiver_covers_the_row_of_its_names_alone() -> None:
    assert WAIVER.covers(ROW)
    assert not WAIVER.covers(replace(ROW, metric="cpu_time"))
    assert not WAIVER.covers(replace(ROW, benchmark="s3.cp.upload"))
    assert replace(WAIVER, benchmark="").covers(replace(ROW, benchmark=""))


def test_a_waiver_expires_when_its_last_day_is_over() -> None:
    assert not WAIVER.is_expired(WAIVER.expires)
    assert WAIVER.is_expired(WAIVER.expires + dt.timedelta(days=1))


@pytest.mark.parametrize(
    ("change", "is_allowed"), [(0.05, True), (0.08, True), (0.081, False), (-0.05, True), (-0.09, False), (None, False)]
)
def test_a_percentage_is_compared_with_the_estimate_in_either_direction(change: float | None, is_allowed: bool) -> None:
    assert WAIVER.allows(replace(ROW, change=change)) is is_allowed


@pytest.mark.parametrize(("increases", "is_allowed"), [((3, 4), True), ((4,), True), ((3, 5), False), ((), True)])
def test_a_number_is_compared_with_the_largest_increase_of_each_name_that_has_more(
    increases: tuple[int, ...], is_allowed: bool
) -> None:
    assert replace(WAIVER, ceiling="4").allows(counts(*increases)) is is_allowed


def test_names_that_have_fewer_need_no_waiver() -> None:
    assert replace(WAIVER, ceiling="0").allows(counts(5, difference=Difference.FEWER))


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`"),
        (b"{}", "missing required field `waivers`"),
        (b'{"waivers": [], "more": 1}', "unknown field `more`"),
        (file_of(more=1), "unknown field `more` - at `$.waivers[1]`"),
        (file_of(expires="soon"), "Invalid RFC3339 encoded date - at `$.waivers[1].expires`"),
        (file_of(expires="2026-02-30"), "$.waivers[1].expires"),
        (file_of(ceiling=8), "Expected `str`, got `int` - at `$.waivers[1].ceiling`"),
        (json.dumps({"waivers": [{"benchmark": "x"}]}).encode(), "missing required field `metric` - at `$.waivers[0]`"),
    ],
)
def test_a_file_of_another_shape_is_refused_with_the_path(text: bytes, reported: str) -> None:
    with pytest.raises(BadInput, match=r"w\.json is not a waiver file") as caught:
        parse_waivers(text, source="w.json")
    assert reported in caught.value.why


@pytest.mark.parametrize(
    ("changes", "what", "fix"),
    [
        ({"reason": " "}, "w.json: $.waivers[1].reason is empty", "reason"),
        ({"link": ""}, "w.json: $.waivers[1].link is empty", "where"),
        ({"metric": ""}, "w.json: $.waivers[1].metric is empty", "metric"),
        ({"ceiling": "lots"}, "w.json: $.waivers[1].ceiling: 'lots' is neither a percentage nor a number", '"8%"'),
        ({"ceiling": "-8%"}, "w.json: $.waivers[1].ceiling: '-8%' is neither", '"2"'),
        ({"ceiling": "8"}, "w.json: $.waivers[1].ceiling: '8' does not fit total_time", "a percentage"),
        (
            {"metric": "requests"},
            "w.json: $.waivers[1].ceiling: '8%' does not fit requests",
            "the largest increase of a count",
        ),
    ],
)
def test_a_waiver_that_says_too_little_is_refused_with_the_path(changes: dict[str, str], what: str, fix: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_waivers(file_of(**changes), source="w.json")
    assert caught.value.what.startswith(what)
    assert fix in caught.value.fix


def test_a_minor_fault_row_takes_a_number_and_so_does_every_exact_metric() -> None:
    assert parse_waivers(file_of(metric="minor_faults", ceiling="40"), source="w")[1].ceiling == "40"


@pytest.mark.parametrize("metric", ["instructions", "minor_faults"])
@pytest.mark.parametrize("ceiling", ["3%", "40"])
def test_counts_with_limits_in_per_cent_take_a_ceiling_in_per_cent_too(metric: str, ceiling: str) -> None:
    assert parse_waivers(file_of(metric=metric, ceiling=ceiling), source="w")[1].ceiling == ceiling


@pytest.mark.parametrize(("ceiling", "is_allowed"), [("73%", True), ("72.9%", False), ("1752", True), ("1751", False)])
@pytest.mark.parametrize("metric", ["minor_faults", "instructions"])
def test_a_ceiling_of_a_count_with_limits_in_per_cent_is_compared_with_the_change_of_its_median(
    metric: str, ceiling: str, *, is_allowed: bool
) -> None:
    change = CountChange(
        name="n",
        difference=Difference.MORE,
        baseline=(2390, 3900),
        candidate=(4100, 4210),
        medians=(2400.0, 4152.0),
    )
    row = GateRow(benchmark="x", metric=metric, kind=RowKind.EXACT, changes=(change,))
    assert replace(WAIVER, ceiling=ceiling).allows(row) is is_allowed


@pytest.mark.parametrize(("ceiling", "is_allowed"), [("3%", True), ("2.9%", False)])
def test_a_percentage_of_instructions_that_were_counted_by_size_is_of_their_change(
    ceiling: str, is_allowed: bool
) -> None:
    row = GateRow(benchmark="x", metric="instructions", kind=RowKind.INSTRUCTIONS, change=0.03)
    assert replace(WAIVER, ceiling=ceiling).allows(row) is is_allowed


@pytest.mark.parametrize(("ceiling", "is_allowed"), [("34%", True), ("33.9%", False)])
def test_a_percentage_of_a_throughput_is_of_its_decrease(ceiling: str, is_allowed: bool) -> None:
    row = GateRow(benchmark="x", metric="throughput", kind=RowKind.SIZE, change=-0.34, is_drop=True)
    assert replace(WAIVER, ceiling=ceiling).allows(row) is is_allowed
