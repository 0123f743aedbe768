"""The gate's record: a replay concludes the same, and nothing odd is read as a record."""

import datetime as dt
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from s3bench.errors import BadInput
from s3bench.gate.conclusion import Conclusion
from s3bench.gate.evidence import ClientCellEvidence, Inspection, Role
from s3bench.gate.exact_metric import DEFAULT_EXACT
from s3bench.gate.indifference_zone import IndifferenceZone
from s3bench.gate.looks import Looks
from s3bench.gate.policy import Policy
from s3bench.gate.record import RECORD_VERSION, GateRecord, ProgramIdentity, encode_record, parse_record
from s3bench.gate.row import RowKind, Verdict
from s3bench.gate.waiver import Waiver
from tests.gate.evidence_maker import failed, inspected, of_pairs, pair, paired, ratios, run, unpaired, wired

PROGRAM = ProgramIdentity(label="cli-crt@2.38.5", name="cli-crt", version="2.38.5", digest="abc")
EMPTY = GateRecord(
    s3bench="0.4.0",
    started_at="2026-11-21T00:00:00.000Z",
    policy=Policy(exact=DEFAULT_EXACT),
    baseline=PROGRAM,
    candidate=replace(PROGRAM, label="cli-crt@2.39.0", version="2.39.0"),
    today=dt.date(2026, 11, 21),
)
WAIVER = Waiver(
    benchmark="slow", metric="total_time", ceiling="25%", reason="known", link="#1", expires=dt.date(2026, 11, 21)
)
QUIET = paired(ratios(0.0, 0.013), ratios(0.001, 0.002), name="quiet")
SLOW = paired(ratios(0.2, 0.017), name="slow")

WHOLE = replace(
    EMPTY,
    ended_at="2026-11-21T01:00:00.000Z",
    command_line=("s3bench", "gate"),
    machine={"cores": 2, "model": "x", "load": [0.5]},
    options={"max_time_s": None},
    policy=Policy(
        exact=DEFAULT_EXACT,
        zones={"total_time": IndifferenceZone(d0=0.01, d1=0.05, floor=0.001)},
        looks=Looks(pairs=(10, 40)),
    ),
    waivers=(WAIVER,),
    warnings=("odd",),
    cells=(
        QUIET,
        SLOW,
        replace(QUIET, dimensions=({"FileSize": "32MB"}, {"Threads": "4"})),
        replace(QUIET, role=Role.NEGATIVE_CONTROL),
        replace(SLOW, role=Role.POSITIVE_CONTROL, planted_s=0.0624),
    ),
)
RECORDS = {
    "empty": EMPTY,
    "whole": WHOLE,
    "bounds that are infinite": replace(EMPTY, cells=(paired(ratios(0.5, 0.1, 3)), unpaired([1.0], [2.0, 3.0]))),
    "one pair, whose spread is unknown": replace(EMPTY, cells=(paired([1.5]),)),
    "pairs without spread": replace(EMPTY, cells=(paired([1.0] * 40),)),
    "a side missing": replace(EMPTY, cells=(unpaired([1.0, 1.1], []), ClientCellEvidence(name="nothing"))),
    "figures missing": replace(
        EMPTY, cells=(ClientCellEvidence(name="x", pairs=tuple(pair(run(0.1), run(0.1, None)) for _ in range(10))),)
    ),
    "documents": replace(EMPTY, is_paired=False, cells=(unpaired(ratios(0.0, 0.03, 12), ratios(0.1, 0.03, 15)),)),
    "a failure": replace(EMPTY, cells=(failed(QUIET), SLOW)),
    "the same program, stopped": replace(EMPTY, cells=(QUIET,), same_program=True, stopped="time has passed"),
    "counts": replace(
        EMPTY,
        cells=(ClientCellEvidence(name="x", pairs=tuple(pair(wired(PUT=1), wired(PUT=2, GET=1)) for _ in range(9))),),
    ),
    "inspections": replace(
        EMPTY,
        cells=(
            inspected(
                [Inspection(modules=("a",), files=(), system_calls={"read": 1}, instructions=10)] * 8,
                [Inspection(modules=("a", "b"), system_calls={"read": 1})] * 8,
            ),
        ),
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_replay_concludes_exactly_the_same(name: str) -> None:
    record = RECORDS[name].concluded()
    read = parse_record(encode_record(record), source="gate.json")
    assert read == record
    assert read.concluded() == record
    assert encode_record(read.concluded()) == encode_record(record)


@settings(max_examples=25)
@given(st.lists(st.floats(1e-3, 1e3), min_size=10, max_size=12), st.floats(1e-6, 1e4))
def test_a_replay_of_any_times_concludes_exactly_the_same(times: list[float], baseline_s: float) -> None:
    record = replace(EMPTY, cells=(paired(times, times[::-1], baseline_s=baseline_s),)).concluded()
    assert parse_record(encode_record(record), source="gate.json").concluded() == record


def test_a_conclusion_that_was_tampered_with_is_made_anew() -> None:
    record = WHOLE.concluded()
    assert record.conclusion is not None
    forged = replace(record, conclusion=replace(record.conclusion, verdict=Verdict.FAIL))
    assert parse_record(encode_record(forged), source="x").concluded() == record


def test_the_day_of_the_record_decides_about_its_waivers() -> None:
    assert WHOLE.concluded().conclusion != replace(WHOLE, today=dt.date(2026, 11, 22)).concluded().conclusion


def test_a_record_hands_on_that_both_were_the_same_and_why_it_ended() -> None:
    conclusion = RECORDS["the same program, stopped"].concluded().conclusion
    assert conclusion is not None
    assert conclusion.reasons == (
        "baseline and candidate are the same program: nothing is decided",
        "time has passed",
    )


def test_a_record_without_end_has_no_conclusion() -> None:
    assert parse_record(encode_record(EMPTY), source="x").conclusion is None


def test_records_are_readable_text() -> None:
    text = encode_record(WHOLE.concluded()).decode()
    assert text.endswith("}\n")
    assert f'\n "gate_version": {RECORD_VERSION},\n' in text
    assert "NaN" not in text


def changed(record: GateRecord = WHOLE, **changes: Any) -> bytes:
    return json.dumps({**json.loads(encode_record(record)), **changes}).encode()


def test_a_record_of_version_1_keeps_the_limits_that_it_was_concluded_with() -> None:
    short = replace(EMPTY, cells=(paired(ratios(0.05, 0.002), baseline_s=0.024),))
    former = parse_record(changed(short, gate_version=1), source="gate.json").concluded()
    today = short.concluded()
    for record, d0, d1, verdict in (
        (former, 0.002 / 0.024, 0.002 / 0.024, Verdict.PASS),
        (today, 0.0005 / 0.024, 0.0015 / 0.024, Verdict.SMALL),
    ):
        assert record.conclusion is not None
        (row,) = (row for row in record.conclusion.rows if row.metric == "total_time")
        assert (row.d0, row.d1, row.verdict) == (pytest.approx(d0), pytest.approx(d1), verdict)
    assert parse_record(encode_record(former), source="gate.json").concluded() == former


def test_a_record_with_fresh_pairs_is_read_as_it_was_written() -> None:
    record = replace(EMPTY, cells=(replace(SLOW, sizing=paired(ratios(0.1, 0.01, 12)).pairs),)).concluded()
    assert parse_record(encode_record(record), source="gate.json").concluded() == record


def test_a_verdict_that_a_former_version_did_not_correct_agrees_with_one_that_is_corrected() -> None:
    record = replace(EMPTY, cells=(paired(ratios(0.085, 0.1)),), policy=Policy(metrics=("total_time",))).concluded()
    assert record.conclusion is not None
    (row,) = record.conclusion.rows
    assert row.is_corrected
    uncorrected = replace(
        record.conclusion, rows=(replace(row, change=0.085, low=0.05, high=0.12, is_corrected=False),)
    )
    assert uncorrected.agrees_with(record.conclusion)


def test_a_record_of_a_newer_version_is_refused_whatever_else_it_holds() -> None:
    with pytest.raises(BadInput, match=f"gate.json has gate_version {RECORD_VERSION + 1}") as caught:
        parse_record(changed(gate_version=RECORD_VERSION + 1, novelty={}), source="gate.json")
    assert caught.value.fix == "update s3bench"


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        (b"", "truncated"),
        (b"{", "truncated"),
        (b"[]", "Expected `object`"),
        (b"{}", "missing required field `gate_version`"),
        (changed(gate_version="1"), "Expected `int`, got `str` - at `$.gate_version`"),
        (changed(gate_version=True), "$.gate_version"),
        (changed(gate_version=0), "$.gate_version"),
        (changed(more=1), "unknown field `more`"),
        (changed(today="tomorrow"), "$.today"),
        (changed(policy={"metrics": ["total_time"], "level": 1}), "unknown field `level` - at `$.policy`"),
        (changed(policy={"false_alarm": 0}), "$.policy.false_alarm"),
        (changed(policy={"miss": 1.0}), "$.policy.miss"),
        (changed(policy={"zones": {"total_time": {"d0": None, "d1": 1, "floor": 0}}}), "$.policy.zones[...].d0"),
        (changed(cells=[{"name": "x", "baseline_inspections": [{"instructions": 0}]}]), "inspections[0].instructions"),
        (changed(cells=[{"name": "x", "pairs": [{"order": "AB"}]}]), "$.cells[0].pairs[0]"),
        (changed(cells=[{"name": "x", "role": "spectator"}]), "'spectator' - at `$.cells[0].role`"),
    ],
)
def test_what_is_no_record_is_refused_with_the_path(text: bytes, reported: str) -> None:
    with pytest.raises(BadInput, match=r"gate\.json is not a record of a gate") as caught:
        parse_record(text, source="gate.json")
    assert reported in caught.value.why


@pytest.mark.parametrize(
    ("changes", "reported"),
    [
        ({"policy": {"metrics": ["total_tme"]}}, "gate.json: $.policy: 'total_tme' is not a metric"),
        ({"policy": {"zones": {"x": {"d0": 0, "d1": 1, "floor": 0}}}}, "gate.json: $.policy: 'x' is not a metric"),
        (
            {"policy": {"zones": {"total_time": {"d0": 0.06, "d1": 0.02, "floor": 0}}}},
            "gate.json: $.policy.zones.total_time: d0 is 0.06 and d1 is 0.02",
        ),
        ({"policy": {"zones": {"total_time": {"d0": -2, "d1": 0.02, "floor": 0}}}}, "zones.total_time: d0 is -2"),
        ({"policy": {"looks": {"pairs": []}}}, "gate.json: $.policy: looks: not a valid list of looks"),
        ({"policy": {"looks": {"pairs": [20, 10]}}}, "gate.json: $.policy: looks: not a valid list of looks"),
        ({"policy": {"exact": ["prayers"]}}, "gate.json: $.policy.exact: "),
        ({"waivers": [{**json.loads(encode_record(WHOLE))["waivers"][0], "ceiling": "x"}]}, "$.waivers[0].ceiling"),
    ],
)
def test_rules_that_cannot_be_held_are_refused_with_the_path(changes: dict[str, Any], reported: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_record(changed(**changes), source="gate.json")
    assert reported in caught.value.what


def test_a_figure_that_is_no_number_does_not_enter_a_record_of_json() -> None:
    cell = ClientCellEvidence(name="x", pairs=(pair(run(1.0), run(math.inf)),))
    text = encode_record(replace(EMPTY, cells=(cell,)))
    with pytest.raises(BadInput, match=r"gate\.json is not a record"):
        parse_record(text, source="gate.json")


@pytest.mark.parametrize(
    ("version", "verdict"), [(1, Verdict.FAIL), (2, Verdict.FAIL), (RECORD_VERSION, Verdict.SMALL)]
)
def test_a_record_before_version_3_keeps_limits_of_the_baseline_over_the_candidate(
    version: int, verdict: Verdict
) -> None:
    pairs = tuple(
        pair(run(throughput=1e6), run(throughput=0.9425e6 / each), number)
        for number, each in enumerate(ratios(0.0, 0.0003))
    )
    fallen = replace(EMPTY, cells=(ClientCellEvidence(name="x", pairs=pairs),), policy=Policy(metrics=("throughput",)))
    read = parse_record(changed(fallen, gate_version=version), source="gate.json").concluded()
    assert read.conclusion is not None
    (row,) = (row for row in read.conclusion.rows if row.kind is RowKind.SIZE)
    assert (row.verdict, row.d1) == (verdict, pytest.approx(0.06))  # -5.75 %, which is 6.1 % less the other way round
    assert parse_record(encode_record(read), source="gate.json").concluded() == read


def test_a_decrease_of_everything_is_no_limit() -> None:
    zones = {"throughput": {"d0": 0.1, "d1": 1.0, "floor": 0, "is_drop": True}}
    with pytest.raises(BadInput, match=r"gate\.json: \$\.policy\.zones\.throughput: d1 is 1"):
        parse_record(changed(policy={"zones": zones}), source="gate.json")


def test_a_conclusion_is_the_same_but_for_last_digits() -> None:
    conclusion = WHOLE.concluded().conclusion
    assert conclusion is not None
    assert conclusion.rows[0].sigma is not None
    assert conclusion.difference_from(conclusion) == ""

    def with_first(**figures: Any) -> Conclusion:
        return replace(conclusion, rows=(replace(conclusion.rows[0], **figures), *conclusion.rows[1:]))

    sigma = conclusion.rows[0].sigma
    assert conclusion.difference_from(with_first(sigma=sigma * (1 + 1e-15))) == ""
    assert conclusion.difference_from(replace(conclusion, rows=conclusion.rows[::-1])) == ""
    apart = with_first(sigma=sigma * 1.01)
    assert conclusion.agrees_with(apart)
    assert conclusion.difference_from(apart) == "the same verdict; some figures differ from those"
    assert conclusion.difference_from(with_first(sigma=None)) == "the same verdict; some figures differ from those"
    for other in (
        replace(conclusion, verdict=Verdict.INVALID),
        with_first(verdict=Verdict.SMALL),
        replace(conclusion, rows=conclusion.rows[1:]),
    ):
        assert not conclusion.agrees_with(other)
        assert conclusion.difference_from(other) == "the replayed verdict differs from that"


def test_a_replay_agrees_with_a_record_that_has_no_medians_of_its_counts() -> None:
    cell = of_pairs([(wired(PUT=2), wired(PUT=3))] * 10)
    record = replace(WHOLE, policy=Policy(metrics=(), exact=("requests",)), cells=(cell,)).concluded()
    raw = json.loads(encode_record(record))
    (change,) = raw["conclusion"]["rows"][0]["changes"]
    assert change.pop("medians") == [2, 3]
    former = parse_record(json.dumps(raw).encode(), source="x")
    assert former.conclusion is not None
    assert record.conclusion is not None
    assert record.conclusion.difference_from(former.conclusion) == ""
