"""docs/gate.md says what the code does."""

import json
import re
from pathlib import Path

import pytest

from s3bench.errors import ExitCode
from s3bench.gate.exact_metric import CONFIRMING_RUNS, DEFAULT_EXACT, EXACT_BY_NAME
from s3bench.gate.indifference_zone import default_indifference_zone, parse_indifference_zone
from s3bench.gate.policy import GATING_METRICS, Policy
from s3bench.gate.row import Verdict
from s3bench.gate.waiver import parse_waivers
from s3bench.results.metrics import METRICS_BY_NAME

PAGE = (Path(__file__).parents[3] / "docs" / "gate.md").read_text(encoding="utf-8")


def row(start: str) -> str:
    (line,) = (line for line in PAGE.splitlines() if line.startswith(f"| {start}"))
    return line


def test_the_defaults_are_those_of_the_policy() -> None:
    policy = Policy()
    looks = ",".join(map(str, policy.looks.pairs))
    assert f"`{looks}`" in row("looks, in pairs")
    assert f"`{policy.false_alarm}`" in row("chance of any false FAIL")
    assert f"`{policy.miss}`" in row("chance that one metric")
    assert ", ".join(f"`{name}`" for name in GATING_METRICS) in row("gating metrics")
    assert ", ".join(f"`{name}`" for name in DEFAULT_EXACT) in row("exact metrics")


@pytest.mark.parametrize(
    ("name", "start"), [("total_time", "d0, d1 and floor of times"), ("peak_memory", "d0, d1 and floor of memory")]
)
def test_the_zones_are_those_of_the_code(name: str, start: str) -> None:
    zone = default_indifference_zone(METRICS_BY_NAME[name])
    written = re.search(r"`([^`]+)`", row(start))
    assert written
    assert parse_indifference_zone(f"{name}={written[1]}") == (name, zone)


def test_every_exact_metric_is_there() -> None:
    for name, metric in EXACT_BY_NAME.items():
        assert metric.meaning.split(",")[0].split(" ")[0].lower() in row(f"`{name}`").lower()
        if metric.tolerance:
            assert f"{metric.tolerance * 100:g} % tolerated" in row(f"`{name}`")
    assert f"at least {CONFIRMING_RUNS} runs of each side" in PAGE


def test_every_verdict_and_exit_code_is_explained() -> None:
    for verdict in Verdict:
        assert row(f"{verdict} |")
    for code in ExitCode:
        assert row(f"{code.value} |")


def test_the_example_of_waivers_can_be_read() -> None:
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert len(parse_waivers(example.encode(), source="docs/gate.md")) == len(json.loads(example)["waivers"])
