"""A run as OpenMetrics text: by the specification's grammar, and by the parser of Prometheus' own client."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from s3bench.report.run.openmetrics import render_openmetrics
from s3bench.results.document import Document
from tests.report.loads import everything
from tests.report.machine_samples import CRT, EMPTY, hostile, result, run

# The text format's ABNF (section "ABNF" of the specification), as far as gauges go.
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_META = re.compile(r"# (TYPE|UNIT|HELP) (s3bench_[a-z0-9_]+) (.+)")
_SAMPLE = re.compile(rf"(s3bench_[a-z0-9_]+)(?:\{{({_LABEL}(?:,{_LABEL})*)\}})? ({_NUMBER})")


def families(text: str) -> dict[str, dict[str, Any]]:
    """The families by the grammar; each line must fit it, and families may not mix."""
    assert text.endswith("# EOF\n")
    found: dict[str, dict[str, Any]] = {}
    for line in text.removesuffix("# EOF\n").split("\n")[:-1]:
        meta, sample = _META.fullmatch(line), _SAMPLE.fullmatch(line)
        assert meta or sample, line[:200]
        if meta:
            assert meta[1] not in found.setdefault(meta[2], {"samples": {}}), "metadata stands once, before samples"
            assert list(found)[-1] == meta[2]
            assert not found[meta[2]]["samples"]
            found[meta[2]][meta[1]] = meta[3]
        elif sample:
            assert list(found)[-1] == sample[1]
            assert sample[2] not in found[sample[1]]["samples"], "no two samples of a family have equal labels"
            found[sample[1]]["samples"][sample[2]] = float(sample[3])
    for name, each in found.items():
        assert each["TYPE"] == "gauge"
        assert "UNIT" not in each or name.endswith(f"_{each['UNIT']}")
    return found


def test_a_family_has_type_unit_help_and_the_median_of_each_client() -> None:
    family = families(render_openmetrics(run()))["s3bench_total_time_seconds"]
    assert family["UNIT"] == "seconds"
    assert family["HELP"].startswith("Median of the iterations: from just before the program was executed")
    labels = 'benchmark="s3.cp.upload",client="{0}@2.38.5",client_name="{0}",client_version="2.38.5"'
    assert family["samples"][labels.format("cli-crt") + ',dimension_FileSize="32MB"'] == 1.5
    assert family["samples"][labels.format("cli-classic") + ',dimension_FileSize="32MB"'] == 2.0


def test_units_are_base_units_and_stand_at_the_end_of_names() -> None:
    found = families(render_openmetrics(run())) | families(render_openmetrics(everything()))
    assert found["s3bench_peak_memory_bytes"]["UNIT"] == "bytes"
    assert found["s3bench_throughput_bytes_per_second"]["UNIT"] == "bytes_per_second"
    assert found["s3bench_load_operations_rate_per_second"]["UNIT"] == "per_second"
    assert found["s3bench_load_error_rate_ratio"]["UNIT"] == "ratio"
    assert "UNIT" not in found["s3bench_wire_requests"]


def test_iterations_and_failures_are_counted() -> None:
    found = families(render_openmetrics(run()))
    assert list(found["s3bench_iterations"]["samples"].values()) == [3, 1, 1, 0]
    assert list(found["s3bench_failures"]["samples"].values()) == [0, 0, 1, 0]
    assert list(found["s3bench_missing"]["samples"].values()) == [0, 0, 0, 1]


def test_the_times_of_the_run_are_seconds_since_1970() -> None:
    found = families(render_openmetrics(run()))
    assert found["s3bench_run_start_timestamp_seconds"]["samples"] == {None: 1795255200.0}
    assert found["s3bench_run_end_timestamp_seconds"]["samples"] == {None: 1795255500.0}


def test_what_was_not_measured_has_no_sample() -> None:
    found = families(render_openmetrics(run()))
    assert "s3bench_max_cpu_cores" not in found
    assert "s3bench_load_latency_p99_seconds" not in found


def test_the_chosen_duration_of_a_load_run_is_no_figure() -> None:
    assert "s3bench_total_time_seconds" not in families(render_openmetrics(everything()))


def test_an_empty_document_ends_as_it_should() -> None:
    assert list(families(render_openmetrics(EMPTY))) == [
        "s3bench_run_complete",
        "s3bench_run_start_timestamp_seconds",
        "s3bench_run_end_timestamp_seconds",
    ]


def test_a_run_that_was_cut_short_is_not_complete() -> None:
    killed = replace(run(), ended_at=None, options={"warmup": 0})
    for document, expected in ((run(), 1.0), (killed, 0.0)):
        assert families(render_openmetrics(document))["s3bench_run_complete"]["samples"] == {None: expected}


def test_hostile_names_stay_in_their_labels_and_apart() -> None:
    text = render_openmetrics(hostile())
    assert len(families(text)["s3bench_total_time_seconds"]["samples"]) == 3
    assert len(text) < 200_000
    assert not set(text) & set("\x1b\x00\r\u202e\ud800")


@settings(max_examples=30)
@given(st.text(), st.dictionaries(st.text(), st.text(), max_size=3))
def test_any_name_fits_the_grammar(name: str, dimensions: dict[str, str]) -> None:
    dimensioned = tuple({key: value} for key, value in dimensions.items())
    one = replace(result(name, CRT, 1.0), dimensions=dimensioned)
    families(render_openmetrics(EMPTY.with_result(one)))


@pytest.mark.parametrize("document", [run(), everything(), hostile(), EMPTY], ids=["run", "load", "hostile", "empty"])
def test_prometheus_own_parser_reads_it(document: Document) -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser", reason="prometheus_client is not installed")
    text = render_openmetrics(document)
    read = {family.name: family for family in parser.text_string_to_metric_families(text)}
    ours = families(text)
    assert list(read) == list(ours)
    for name, family in read.items():
        assert family.type == "gauge"
        assert family.unit == ours[name].get("UNIT", "")
        assert [sample.value for sample in family.samples] == list(ours[name]["samples"].values())
