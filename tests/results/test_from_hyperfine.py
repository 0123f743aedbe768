"""hyperfine's exports, of version 1 and 2: each run a measurement, each failed command an error."""

import copy
import json
from typing import Any

import pytest

from s3bench.errors import BadInput
from s3bench.results.document import Document, Status
from s3bench.results.foreign import read_any

# As hyperfine 1.20.0 writes it with `--ignore-failure -P`.
SUMMED: dict[str, Any] = {
    "results": [
        {
            "command": "aws s3 cp a s3://b/a",
            "mean": 1.5,
            "stddev": 0.5,
            "median": 1.5,
            "user": 0.75,
            "system": 0.25,
            "min": 1.0,
            "max": 2.0,
            "times": [1.0, 2.0, 1.5],
            "memory_usage_byte": [50_000_000, 60_000_000, 55_000_000],
            "exit_codes": [0, 1, None],
            "parameters": {"size": "32MB"},
        }
    ]
}

# As the integration tests of hyperfine 2.0.0 have it (tests/snapshots/integration_tests__json_export_basic.snap).
MEASURED: dict[str, Any] = {
    "schema_version": 2,
    "metadata": {
        "hyperfine_version": "2.0.0",
        "start_time": "2026-11-21T10:00:00Z",
        "platform": {"os": "Linux", "architecture": "x86_64"},
    },
    "primary_metric": "time_wall_clock",
    "results": [
        {
            "command": "sleep 1",
            "name": "one second",
            "measurements": [
                {
                    "time_wall_clock": {"value": 1.0, "unit": "second"},
                    "time_cpu": {"value": 0.75, "unit": "second"},
                    "time_user": {"value": 0.5, "unit": "second"},
                    "time_system": {"value": 0.25, "unit": "second"},
                    "memory_peak_resident": {"value": 1048576.0, "unit": "byte"},
                    "exit_code": 0,
                },
                {"time_wall_clock": {"value": 2.0, "unit": "second"}, "exit_code": 3},
            ],
            "parameters": {"duration": "1"},
            "summary": {},
        }
    ],
}


def read(tree: dict[str, Any]) -> Document:
    return read_any(json.dumps(tree).encode(), source="export.json")


def summed(**changes: Any) -> dict[str, Any]:
    return {"results": [SUMMED["results"][0] | changes]}


def measured(**changes: Any) -> dict[str, Any]:
    tree = copy.deepcopy(MEASURED)
    tree["results"][0]["measurements"][0] |= changes
    return tree


def test_each_run_that_went_well_is_a_measurement_and_the_others_are_errors() -> None:
    (result,) = read(SUMMED).results
    assert (result.name, result.dimensions, result.client.name) == (
        "aws s3 cp a s3://b/a",
        ({"size": "32MB"},),
        "hyperfine",
    )
    (run,) = result.measurements
    assert (run.iteration, run.total_time, run.peak_memory) == (0, 1.0, 50_000_000)
    assert [(each.iteration, each.exit_code) for each in result.errors] == [(1, 1), (2, None)]
    assert result.status is Status.FAILED


def test_means_over_runs_are_no_figures_of_a_run() -> None:
    document = read(summed(exit_codes=[0, 0, 0]))
    assert [each.user_cpu_time for each in document.results[0].measurements] == [None] * 3
    assert "means over all runs" in document.warnings[1]
    (run,) = read(summed(times=[1.0], exit_codes=[0], memory_usage_byte=[1])).results[0].measurements
    assert (run.user_cpu_time, run.system_cpu_time, run.cpu_time) == (0.75, 0.25, 1.0)


def test_older_exports_without_memory_and_exit_codes_are_read() -> None:
    old = {key: SUMMED["results"][0][key] for key in ("command", "mean", "times", "user", "system")}
    (result,) = read({"results": [old]}).results
    assert [each.total_time for each in result.measurements] == [1.0, 2.0, 1.5]
    assert all(each.peak_memory is None for each in result.measurements)


def test_version_2_has_the_figures_of_every_run() -> None:
    document = read(MEASURED)
    assert document.started_at == "2026-11-21T10:00:00.000Z"
    (result,) = document.results
    assert (result.name, result.client.version, result.dimensions) == ("one second", "2.0.0", ({"duration": "1"},))
    (run,) = result.measurements
    assert (run.total_time, run.user_cpu_time, run.system_cpu_time, run.cpu_time) == (1.0, 0.5, 0.25, 0.75)
    assert (run.peak_memory, run.max_memory) == (1048576, None)
    assert [(each.iteration, each.exit_code) for each in result.errors] == [(1, 3)]


def test_a_memory_of_nothing_was_not_measured() -> None:
    (run,) = read(measured(memory_peak_resident={"value": 0.0, "unit": "byte"})).results[0].measurements
    assert run.peak_memory is None


@pytest.mark.parametrize(
    ("tree", "reported"),
    [
        (summed(times=[]), "at `$.results[0].times`"),
        (summed(times=[1.0, -1.0, 1.0]), "at `$.results[0].times[1]`"),
        (summed(exit_codes=[0]), "it has 1 values for 3 times - at `$.results[0].exit_codes`"),
        (summed(memory_usage_byte=[1, 2]), "at `$.results[0].memory_usage_byte`"),
        (summed(command=None), "at `$.results[0].command`"),
        ({"results": [{"command": "a", "mean": 1.0}]}, "missing required field `times`"),
        ({"results": []}, "at `$.results`"),
        (MEASURED | {"schema_version": 3}, "it is 3, but only 2 can be read - at `$.schema_version`"),
        (
            measured(time_wall_clock={"value": 1.0, "unit": "millisecond"}),
            "it is 'millisecond', not 'second' - at `$.results[0].measurements[0].time_wall_clock.unit`",
        ),
        (measured(time_user={"value": "1", "unit": "second"}), "at `$.results[0].measurements[0].time_user.value`"),
        (measured(exit_code="0"), "at `$.results[0].measurements[0].exit_code`"),
    ],
)
def test_what_is_wrong_is_reported_with_its_path(tree: dict[str, Any], reported: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(tree)
    assert reported in str(caught.value)
    assert "export.json" in str(caught.value)
