"""Documents held against each other, as a whole."""

import random
from pathlib import Path

import msgspec
import pytest

from s3bench.compare.comparison import (
    NODES_WARNING,
    ORDER_WARNING,
    Against,
    Baseline,
    Comparison,
    MissingResult,
    Origin,
    compare,
)
from s3bench.compare.difference import ChangeOutcome, ComparisonRow
from s3bench.compare.matching import DocumentSource
from s3bench.compare.metrics import DEFAULT_METRICS, choose_metrics
from s3bench.compare.sample import SampleSummary
from s3bench.compare.sample_warning import SampleWarning
from s3bench.errors import BadInput
from s3bench.results.measurement import Failure
from s3bench.results.metrics import METRICS_BY_NAME
from tests.compare.documents import BASE, client, document, measurement, result, slower, source

SIZES = tuple({"FileSize": f"{size}KB"} for size in (4, 32, 256))


def outcomes(comparison: Comparison, metric: str) -> list[ChangeOutcome]:
    return [row.outcome for row in comparison.others[0].rows if row.metric == metric]


def test_a_document_against_itself_shows_exactly_no_difference() -> None:
    one = source("a.json", *(result(slower(BASE, 1 + number), dimensions=size) for number, size in enumerate(SIZES)))
    comparison = compare([one, one], metrics=("all",))
    (other,) = comparison.others
    assert other.same_measurements
    assert other.summary == "no difference: the same measurements on both sides"
    assert {row.outcome for row in other.rows} == {ChangeOutcome.NO_DIFFERENCE, ChangeOutcome.EQUAL}
    assert not other.missing
    assert ORDER_WARNING not in comparison.warnings


def test_other_measurements_of_like_figures_are_not_the_same() -> None:
    comparison = compare([source("a", result()), source("b", result(tuple(reversed(BASE))))])
    assert not comparison.others[0].same_measurements
    assert comparison.warnings[0] == ORDER_WARNING


def test_a_part_of_a_document_is_not_the_same_measurements() -> None:
    (other,) = compare([source("a", result(), result(name="s3.rm")), source("b", result())]).others
    assert not other.same_measurements
    assert {row.outcome for row in other.rows} == {ChangeOutcome.NO_DIFFERENCE, ChangeOutcome.EQUAL}


def test_regressions_come_first_by_size_then_counts_improvements_and_warnings() -> None:
    first = source("a", *(result(dimensions=size) for size in (*SIZES, {"FileSize": "1B"}, {"FileSize": "2B"})))
    second = source(
        "b",
        result(slower(BASE, 1.5), dimensions=SIZES[0]),
        result(slower(BASE, 2.0), dimensions=SIZES[1]),
        result(slower(BASE, 0.2), dimensions=SIZES[2]),
        result(slower(BASE[:2], 9.0), dimensions={"FileSize": "1B"}),
        result(slower(BASE, 1.0001), dimensions={"FileSize": "2B"}, kinds={"HEAD": 2, "GET ranged": 4}),
    )
    other = compare([first, second], metrics=("total_time", "requests_by_kind")).others[0]
    reported = [(row.word, row.dimensions[0]["FileSize"], row.kind) for row in other.rows]
    assert reported[:6] == [
        ("slower", "32KB", ""),
        ("slower", "4KB", ""),
        ("differs", "2B", "HEAD"),
        ("faster", "256KB", ""),
        ("too few runs", "1B", ""),
        ("no detectable difference", "2B", ""),
    ]
    assert {word for word, _, _ in reported[6:]} == {"equal"}
    assert other.summary == (
        "2 slower, 1 faster, 1 count differs, 1 without detectable difference, 1 with too few runs, 9 counts equal"
    )
    assert other.counts["worse"] == 2


def test_p_values_are_adjusted_over_everything_that_is_compared() -> None:
    first, second, third = source("a", result()), source("b", result(slower(BASE, 2))), source("c", result(BASE[:5]))
    alone = compare([first, second], metrics=("total_time",)).others[0].rows[0]
    among = compare([first, second, third], metrics=("total_time",)).others[0].rows[0]
    assert alone.p_adjusted == alone.p == among.p
    assert among.p_adjusted == pytest.approx(2 * alone.p if alone.p else None)


def test_noise_alone_seldom_reports_a_difference() -> None:
    draws = random.Random(5)

    def run(name: str) -> DocumentSource:
        cells = ({"Number": str(number)} for number in range(60))
        return source(
            name, *(result([draws.lognormvariate(0, 0.05) for _ in range(10)], dimensions=cell) for cell in cells)
        )

    detected = [
        row.word
        for number in range(10)
        for row in compare([run("a"), run("b")], metrics=("total_time",)).others[0].rows
        if row.outcome in {ChangeOutcome.WORSE, ChangeOutcome.BETTER}
    ]
    assert len(detected) <= 3  # of 600 rows; unadjusted it would be about 27


def test_more_documents_are_each_compared_with_the_first() -> None:
    comparison = compare([source("a", result()), source("b", result(slower(BASE, 2))), source("c", result(BASE[::-1]))])
    assert comparison.baseline.name == "a"
    assert [other.name for other in comparison.others] == ["b", "c"]
    assert "slower" in comparison.others[0].summary
    assert "slower" not in comparison.others[1].summary


def test_what_matches_nothing_is_missing_on_its_side() -> None:
    first = source("a", result(), result(dimensions=SIZES[0]))
    second = source("b", result(), result(of=client("s5cmd", "2.3.0")))
    missing = compare([first, second]).others[0].missing
    assert [(each.missing_in, each.client, each.dimensions) for each in missing] == [
        ("b", "cli-crt@2.38.5", (SIZES[0],)),
        ("a", "s5cmd@2.3.0", ()),
    ]


def test_a_metric_that_neither_side_measured_gives_no_row_and_one_side_alone_is_reported() -> None:
    bare = msgspec.structs.replace(
        result(), measurements=tuple(msgspec.structs.replace(each, wire=None) for each in result().measurements)
    )
    assert outcomes(compare([source("a", bare), source("b", bare)]), "wire.requests") == []
    (row,) = (
        row
        for row in compare([source("a", result()), source("b", bare)]).others[0].rows
        if row.metric == "wire.requests"
    )
    assert (row.outcome, row.detail) == (ChangeOutcome.TOO_FEW, "n=6 and 0; nothing to compare with")


def test_warnings_about_figures_are_named_with_their_iterations_and_nothing_is_left_out() -> None:
    wild = (0.50, 0.51, 0.52, 2.50, 0.51, 0.50, 0.52)
    (row,) = compare([source("a", result()), source("b", result(wild))], metrics=("total_time",)).others[0].rows
    (warning,) = row.warnings
    assert (warning.group, warning.kind, warning.iterations, warning.values) == ("b", "outliers", (3,), (2.5,))
    assert warning.words == "has outliers, which are included: iteration 3 (2.50 s)"
    assert row.other.n == 7
    assert row.other.maximum == 2.5


def test_outliers_have_the_numbers_of_their_iterations_where_some_failed() -> None:
    late = result((0.50, 0.51, 0.52, 2.50, 0.51, 0.50, 0.52))
    late = msgspec.structs.replace(
        late,
        measurements=tuple(msgspec.structs.replace(each, iteration=each.iteration + 2) for each in late.measurements),
    )
    (row,) = compare([source("a", result()), source("b", late)], metrics=("total_time",)).others[0].rows
    assert row.warnings[0].iterations == (5,)


def test_a_kind_of_request_that_an_iteration_lacks_counts_0_there() -> None:
    seldom = msgspec.structs.replace(
        result(), measurements=(measurement(0, 0.5, kinds={"PUT": 1}), measurement(1, 0.6, kinds={"PUT": 1, "HEAD": 1}))
    )
    rows = compare([source("a", seldom), source("b", seldom)], metrics=("requests_by_kind",)).others[0].rows
    assert {row.kind: (row.baseline.minimum, row.baseline.maximum) for row in rows} == {"PUT": (1, 1), "HEAD": (0, 1)}


def test_drift_and_two_modes_are_reported() -> None:
    drifting = tuple(0.5 + 0.01 * number for number in range(12))
    switching = tuple(0.5 + 0.001 * (number % 7) + 0.5 * (number % 3 == 0) for number in range(30))
    rows = compare([source("a", result(drifting)), source("b", result(switching))], metrics=("total_time",))
    words = [warning.words for warning in rows.others[0].rows[0].warnings]
    assert words[0].startswith("drifts up by 19.8%")
    assert words[1].startswith("has two modes: 67% of the runs near 502 ms, 33% near 1.00 s")


def test_figures_too_large_for_their_squares_do_not_stop_a_comparison() -> None:
    huge = result((1e308, 1e307) * 5)
    assert outcomes(compare([source("a", result((5e-324,) * 10)), source("b", huge)]), "total_time") == [
        ChangeOutcome.NOT_JUDGED
    ]


def test_other_machines_and_options_are_warned_of_and_other_clients_are_not() -> None:
    first = DocumentSource(name="a", document=document(result(of=client(version="1"))))
    second = DocumentSource(
        name="b",
        document=document(
            result(BASE[::-1], of=client(version="2")),
            machine={"cpu_model": "Model 2", "kernel": "Linux 6.2"},
            tls=True,
        ),
    )
    assert compare([first, second]).warnings == (
        ORDER_WARNING,
        "different CPU: Model 1 in a, Model 2 in b",
        "different kernel: Linux 6.1 in a, Linux 6.2 in b",
        "different tls: no in a, yes in b",
    )


def test_what_changes_no_figure_is_not_warned_of() -> None:
    first = DocumentSource(name="a", document=document(result()))
    like = {"memory_total": (8 << 30) - (64 << 20), "load_1min": 0.3, "frequency_mhz": 1234.5}
    second = DocumentSource(
        name="b", document=document(result(BASE[::-1]), machine=like, num_iterations=7, timeout=5.0)
    )
    assert compare([first, second]).warnings == (ORDER_WARNING,)
    other = DocumentSource(
        name="b", document=document(result(BASE[::-1]), machine={"memory_total": 4 << 30}, data_interval=1)
    )
    assert compare([first, other]).warnings[1:] == (
        "different amount of memory: 8.00 GiB in a, 4.00 GiB in b",
        "different data interval: 0.001 in a, 1 in b",
    )


def test_of_a_cluster_its_engine_and_the_parts_of_its_load_are_warned_of_and_nothing_else() -> None:
    suite = {"engine": "ray", "nodes": [{}, {}], "units": [{"node": "node-1"}]}
    load = {"engine": "ray", "nodes": [{}, {}], "workers_per_node": 4, "phases": [{"start_skew": 0.001}]}

    def warnings(before: object, after: object) -> tuple[str, ...]:
        sources = [
            DocumentSource(name=name, document=document(result(runs), **({"cluster": cluster} if cluster else {})))
            for name, runs, cluster in (("a", BASE, before), ("b", BASE[::-1], after))
        ]
        return compare(sources).warnings[1:]

    assert warnings(None, suite) == ("different cluster: none in a, ray in b",)
    assert warnings(suite, {**suite, "nodes": [{}], "units": []}) == ()
    assert warnings(load, {**load, "phases": []}) == ()
    assert warnings(load, {**load, "nodes": [{}, {}, {}]}) == (
        "different cluster: 2 nodes with 4 workers each, by ray in a, 3 nodes with 4 workers each, by ray in b",
    )


def test_another_engine_of_another_client_is_not_warned_of() -> None:
    crt, classic = result(of=client("cli-crt")), result(of=client("cli-classic"), engine="python")
    warnings = compare([source("a", crt, classic)], by="client").warnings
    assert not [each for each in warnings if "transfer engines" in each]


def test_another_engine_of_the_same_client_is_warned_of() -> None:
    comparison = compare([source("a", result()), source("b", result(engine="python"))])
    assert (
        comparison.warnings[1]
        == "different transfer engines: crt in a, python in b, for s3.cp.download on cli-crt@2.38.5"
    )


def test_warnings_failures_and_unfinished_runs_of_either_document_are_reported() -> None:
    questionable = result(warnings=("stub-bound: busy for 62% of it",))
    failed = questionable.with_failure(Failure(iteration=6, what="the client failed")).completed()
    second = msgspec.structs.replace(document(failed), ended_at=None, warnings=("the machine is busy",))
    assert compare([source("a", result()), DocumentSource(name="b", document=second)]).warnings[1:] == (
        "b: the machine is busy",
        "b: the run is not complete",
        "b: 1 failure in s3.cp.download on cli-crt@2.38.5 (the client failed)",
        "b: s3.cp.download on cli-crt@2.38.5: 6 iterations with a warning, stub-bound: busy for 62% of it",
    )


def test_warnings_that_differ_by_their_numbers_alone_are_reported_once() -> None:
    shares = msgspec.structs.replace(
        result(),
        measurements=tuple(
            measurement(number, 0.5, warnings=(f"stub-bound: busy for {50 + number}.{number}% of it",))
            for number in range(4)
        ),
    )
    warnings = compare([source("a", result()), source("b", shares)]).warnings
    assert warnings[1:] == (
        "b: s3.cp.download on cli-crt@2.38.5: 4 iterations with a warning, for example: stub-bound: busy for 50.0% of it",  # noqa: E501
    )


def test_groups_within_a_document() -> None:
    one = source("a", result(), result(slower(BASE, 2), of=client("cli-classic")))
    comparison = compare([one], by="client", baseline="cli-classic")
    assert (comparison.by, comparison.baseline.name) == ("client", "client=cli-classic")
    assert outcomes(comparison, "total_time") == [ChangeOutcome.BETTER]


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ([source("a", result())], "--by client"),
        ([source("a", result()), source("b")], "b has no results"),
        ([source("a", result()), source("b", result(name="s3.rm"))], "no benchmark in common"),
        ([source("a", result()), source("b", result(of=client("s5cmd")))], "--by client"),
    ],
)
def test_nothing_to_compare_is_refused_with_a_way_out(sources: list[DocumentSource], said: str) -> None:
    with pytest.raises(BadInput) as caught:
        compare(sources)
    assert said in str(caught.value)


def test_a_baseline_by_name_needs_groups() -> None:
    with pytest.raises(BadInput, match="--baseline needs --by"):
        compare([source("a", result()), source("b", result())], baseline="a")


def test_every_metric_can_be_chosen_and_a_mistyped_one_is_answered_with_the_nearest() -> None:
    assert set(choose_metrics(["all"])) == {*METRICS_BY_NAME, "requests_by_kind"}
    assert choose_metrics(["throughput", "throughput"]) == ("throughput",)
    assert set(DEFAULT_METRICS) <= set(choose_metrics(["all"]))
    with pytest.raises(BadInput, match="totl_time") as caught:
        choose_metrics(["totl_time"])
    assert caught.value.fix == "did you mean `total_time`?"


def test_the_json_form_reads_back() -> None:
    comparison = compare([source("a", result()), source("b", result(slower(BASE, 2)[:2], kinds={}))], metrics=("all",))
    assert msgspec.json.decode(msgspec.json.encode(comparison), type=Comparison) == comparison


def test_the_documentation_names_every_key_and_every_outcome() -> None:
    text = (Path(__file__).parents[2] / "docs" / "compare.md").read_text(encoding="utf-8")
    structs = (Comparison, Origin, MissingResult, Baseline, Against, ComparisonRow, SampleSummary, SampleWarning)
    keys = {field for struct in structs for field in struct.__struct_fields__}
    assert {name for name in (*keys, *ChangeOutcome, *DEFAULT_METRICS) if f"`{name}`" not in text} == set()


def test_nodes_of_a_cluster_were_measured_at_the_same_time_and_another_dimension_was_not() -> None:
    parts = [result(slower(BASE, factor), dimensions={"node": name}) for name, factor in (("1", 1.0), ("2", 1.1))]
    for options, first in (({"cluster": {"nodes": []}}, NODES_WARNING), ({}, ORDER_WARNING)):
        whole = DocumentSource(name="a", document=document(*parts, **options))
        warnings = compare([whole], by="node").warnings
        assert warnings[0] == first
        assert len({ORDER_WARNING, NODES_WARNING} & set(warnings)) == 1
