"""Names that any format can hold, and medians with their intervals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from s3bench.errors import BadInput
from s3bench.report.label import NAME_MAX, client_text, one_line, result_names, unique
from s3bench.report.run.figures import check_any, endpoint_text, estimate, estimates, shortfall
from s3bench.results.document import Result
from s3bench.results.metrics import METRICS_BY_NAME
from tests.compare.documents import BASE, client, document, result
from tests.report import loads
from tests.report.runs import MEGABYTE, hostile, two_clients, with_failures

TIME = METRICS_BY_NAME["total_time"]


def test_six_figures_have_a_median_and_an_interval_and_five_have_none() -> None:
    six = estimate(result(), TIME)
    assert six is not None
    assert six.median == pytest.approx(0.525)
    assert (six.count, six.low, six.high) == (6, BASE[0], BASE[-1])
    five = estimate(result(BASE[:5]), TIME)
    assert five is not None
    assert (five.median, five.low, five.high) == (0.52, None, None)


def test_thousands_of_figures_have_an_interval_too() -> None:
    many = estimate(result([0.1] * 600 + [0.3] * 900), TIME)
    assert many is not None
    assert (many.count, many.median, many.low, many.high) == (1500, 0.3, 0.3, 0.3)


def test_a_metric_without_a_figure_has_no_estimate() -> None:
    assert estimate(Result(name="n", client=client()), TIME) is None
    assert "throughput" not in {each.metric.name for each in estimates(loads.result("load.get", loads.load()))}


def test_the_chosen_duration_of_a_load_run_is_no_figure() -> None:
    names = {each.metric.name for each in estimates(loads.result("load.get", loads.load()))}
    assert "total_time" not in names
    assert {"load.operations_rate", "load.latency.p50"} <= names


def test_a_name_is_the_same_for_every_version_of_a_client() -> None:
    assert result_names(two_clients("2.38.5")) == result_names(two_clients("2.39.0"))
    assert result_names(two_clients())[0] == "s3.cp.download FileSize=32MB on cli-crt"


def test_two_versions_in_one_document_are_told_apart() -> None:
    both = document(result(of=client(version="1")), result(of=client(version="2")), result(of=client("s5cmd")))
    assert [client_text(both, each) for each in both.results] == ["cli-crt@1", "cli-crt@2", "s5cmd"]


def test_names_that_are_alike_get_numbers() -> None:
    assert list(unique(["a", "a", "b", "a (3)", "a", "a"])) == ["a", "a (2)", "b", "a (3)", "a (4)", "a (5)"]
    names = result_names(hostile())
    assert len(set(names)) == len(names) == 3


@given(st.lists(st.sampled_from(["a", "a (2)", "a (3)", "a (2) (2)", ""]), max_size=9))
def test_no_two_names_are_ever_the_same(names: list[str]) -> None:
    made = list(unique(names))
    assert len(set(made)) == len(made) == len(names)


@given(st.text(max_size=300))
def test_a_line_holds_nothing_that_does_anything(text: str) -> None:
    line = one_line(text)
    assert line.isprintable()
    assert len(line) <= NAME_MAX
    assert line == line.strip()


def test_long_texts_that_differ_at_their_end_stay_different() -> None:
    first, second = one_line(MEGABYTE + "1"), one_line(MEGABYTE + "2")
    assert first != second
    assert len(first) == len(second) == NAME_MAX
    assert one_line("x" * NAME_MAX) == "x" * NAME_MAX


def test_what_a_result_lacks_is_said() -> None:
    failed, never, running = with_failures().results
    assert [shortfall(each) for each in (failed, never, running, result())] == [
        "1 failed",
        "1 failed, unfinished",
        "unfinished",
        "",
    ]
    twice = replace(failed, errors=failed.errors * 2)
    assert shortfall(twice) == "1 failed"  # two faults of one iteration
    warm_up = replace(failed.errors[0], iteration=None)
    assert shortfall(replace(failed, errors=(warm_up,))) == "1 failed outside of the iterations"
    assert (
        shortfall(replace(failed, errors=(warm_up, *failed.errors))) == "1 failed, 1 failed outside of the iterations"
    )


def test_the_endpoint_is_told_without_credentials() -> None:
    assert endpoint_text(document()) == "stub server"
    load = replace(loads.document(), options={"endpoint_url": "https://me:secret@s3.example.com/"})
    assert endpoint_text(load) == "https://***@s3.example.com/"
    assert endpoint_text(loads.document()) == ""


def test_nothing_to_write_is_bad_input() -> None:
    check_any(["x"], name="pyperf", holds="times")
    with pytest.raises(BadInput, match="nothing to write as pyperf"):
        check_any([], name="pyperf", holds="times")
