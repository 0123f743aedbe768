"""github-action-benchmark's customSmallerIsBetter: figures of which less is better, under names that last."""

from typing import Any

import pytest

from s3bench.errors import BadInput
from s3bench.report.run.github import render_github
from s3bench.results.document import Document
from tests.compare.documents import BASE, document, result
from tests.report import loads
from tests.report.runs import hostile, parsed, two_clients, with_failures


def entries(whole: Document) -> dict[str, Any]:
    found = parsed(render_github(whole))
    by_name = {each["name"]: each for each in found}
    assert len(by_name) == len(found)
    for each in found:
        assert set(each) <= {"name", "unit", "value", "range", "extra"}
        assert isinstance(each["value"], int | float)
        assert all(isinstance(each[key], str) for key in set(each) - {"value"})
    return by_name


def test_an_entry_is_a_median_with_its_interval() -> None:
    found = entries(two_clients())
    assert found["s3.cp.download FileSize=32MB on cli-crt: total_time"] == {
        "name": "s3.cp.download FileSize=32MB on cli-crt: total_time",
        "unit": "s",
        "value": pytest.approx(0.525),
        "range": f"{BASE[0]} to {BASE[-1]}, 95 %",
        "extra": "median of 6\ncli-crt 2.38.5",
    }
    assert found["s3.cp.download on s5cmd: peak_memory"]["unit"] == "bytes"


def test_five_iterations_have_no_range() -> None:
    found = entries(document(result(BASE[:5])))
    assert "range" not in found["s3.cp.download on cli-crt: total_time"]


def test_what_is_better_when_it_is_more_is_left_out() -> None:
    whole = loads.document(loads.result("load.get", loads.load()))
    assert not [name for name in (*entries(whole), *entries(two_clients())) if "rate:" in name or "through" in name]
    assert "load.get on s3bench: load.latency.p99" in entries(whole)
    assert "load.get on s3bench: load.operations_rate" not in entries(whole)


def test_failures_are_told_in_the_tooltip() -> None:
    found = entries(with_failures())
    assert {each["extra"] for each in found.values()} == {"median of 6\n1 failed\ncli-crt 2.38.5"}


def test_hostile_names_do_not_leave_their_cell() -> None:
    for each in entries(hostile()).values():
        assert not {"`", "|"} & set(each["name"] + each["extra"])
        assert each["name"].isprintable()


def test_a_document_without_figures_is_bad_input() -> None:
    with pytest.raises(BadInput, match="nothing to write as github-action-benchmark"):
        render_github(document())
