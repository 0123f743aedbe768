"""docs/load.md and docs/load-profiles.md say what `s3bench load` does: options, defaults, examples and figures."""

import re
from collections.abc import Iterator
from typing import Any

import click
import pytest
from click.testing import CliRunner

from s3bench.cli.compare.command import compare_command
from s3bench.cli.gate.command import gate_command
from s3bench.cli.load.options import OPTIONS, LoadCommand, LoadOptions, load_options
from s3bench.cli.load.plan import REFERENCE_BUCKET, REFERENCE_JOB, LoadPlan, plan_load
from s3bench.clients.pointing import SECRET_VARIABLE
from s3bench.errors import ExitCode
from s3bench.gate.policy import LOAD_GATING_METRICS
from s3bench.load.aggregation import bottleneck, outage, stability
from s3bench.load.aggregation.bottleneck import PhaseLimit
from s3bench.load.aggregation.slo import ERRORS_IMPLIED
from s3bench.load.engine import operation_mix
from s3bench.load.engine.engine import LATE_S_MAX
from s3bench.load.engine.objects import STAMP_BYTES
from s3bench.load.engine.pool import POOL_BYTES_MAX
from s3bench.load.engine.request import DATE_S
from s3bench.load.engine.trace import COLUMNS
from s3bench.load.engine.virtual_user import BACKOFF_NS_MAX, PAUSE_NS, PAUSE_NS_MAX
from s3bench.load.operation import MIXABLE, AttemptFailure
from s3bench.load.profile.defaults import DEFAULT_JOB, REPLAY_THREADS
from s3bench.load.profile.profile import Manner, Profile
from s3bench.load.profile.table import LoadOption
from s3bench.load.session import slo_search
from s3bench.load.session.calibration import CALIBRATION_S, WARMUP_S
from s3bench.load.session.inventory import OBJECTS
from s3bench.load.session.session import EXISTING_MAX
from s3bench.report.load.csv import SECOND_COLUMNS
from s3bench.results.bins import BINS_PER_OCTAVE, PERCENTS, samples_needed
from s3bench.results.metrics import METRICS_BY_NAME
from s3bench.units import render_bytes
from tests.documented import ROOT, lines_of

PAGE = (ROOT / "docs" / "load.md").read_text(encoding="utf-8")
OPTIONS_PAGE = (ROOT / "docs" / "load-profiles.md").read_text(encoding="utf-8")
LINES = [line for page in ("load.md", "load-profiles.md") for line in lines_of(ROOT / "docs" / page)]


def plan_of(arguments: list[str]) -> LoadPlan:
    taken: list[LoadOptions] = []

    @click.command("load", cls=LoadCommand)
    @load_options
    def command(**options: Any) -> None:
        taken.append(LoadOptions.of(options))

    result = CliRunner().invoke(command, arguments, standalone_mode=False)
    if result.exception:
        raise result.exception
    return plan_load(taken[0], environment={SECRET_VARIABLE: "secret"})


def flags() -> Iterator[str]:
    """Every way to write an option of `s3bench load`."""
    for row in OPTIONS.values():
        yield from (name for name in row.flags if name.startswith("-"))


def section(heading: str) -> str:
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def cells(page: str, start: str) -> list[str]:
    """The cells of the one row of a table that begins with `start`."""
    (line,) = (line for line in page.splitlines() if line.startswith(f"| {start}"))
    return [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


# Options.


def test_no_option_is_documented_that_does_not_exist() -> None:
    known = {name for command in (compare_command, gate_command) for param in command.params for name in param.opts}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", PAGE + OPTIONS_PAGE))
    assert {name.removesuffix("-") for name in named} - known - set(flags()) == set()


def test_the_defaults_that_words_describe_are_those_of_the_code() -> None:
    assert REFERENCE_BUCKET in OPTIONS["bucket"].default_text
    assert OPTIONS["threads"].default_text == (
        f"{DEFAULT_JOB.threads}; with -u: {REFERENCE_JOB.threads}; with --replay: {REPLAY_THREADS}"
    )
    assert f" {OBJECTS};" in OPTIONS["objects"].default_text


@pytest.mark.parametrize("row", [row for row in OPTIONS.values() if row.default_text == str(row.default)])
def test_a_default_that_is_typed_changes_nothing(row: LoadOption) -> None:
    where = ["--endpoint-url", "http://127.0.0.1:9000", "--bucket", "data", *(["--rate", "5"] if row.need else [])]
    typed, plain = plan_of([*where, row.name, row.default_text]), plan_of(where)
    assert (typed.profile, typed.placement) == (plain.profile, plain.placement)


# Examples.


def test_the_metrics_of_the_examples_exist() -> None:
    named = re.findall(r"--metric (\S+)", "\n".join(LINES))
    assert named
    assert set(named) <= METRICS_BY_NAME.keys()


def test_every_metric_that_is_named_exists() -> None:
    named = set(re.findall(r"`(load\.[a-z0-9_.]+)`", PAGE)) - {"load.md"}
    assert named
    assert named <= METRICS_BY_NAME.keys()


# Figures.


def test_each_percentile_has_the_samples_that_it_needs() -> None:
    heading, samples = cells(PAGE, "percentile |")[1:], cells(PAGE, "samples |")[1:]
    assert dict(zip(heading, samples, strict=True)) == {
        f"p{percent:g}": f"{samples_needed(percent):,}" for percent in PERCENTS
    }


@pytest.mark.parametrize(
    ("heading", "told"),
    [
        ("How each figure is made", f"{BINS_PER_OCTAVE} bins for each power of two"),
        ("How each figure is made", f"may end within {LATE_S_MAX:g} s"),
        ("How each figure is made", f"renewed every {DATE_S:g} seconds"),
        ("How each figure is made", f"first after {Manner().backoff_s * 1000:g} ms"),
        ("How each figure is made", f"each time, {BACKOFF_NS_MAX // 10**9} s at most"),
        ("Outages", f"pauses: {PAUSE_NS // 10**6} ms, then twice as long, up to {PAUSE_NS_MAX // 10**6} ms"),
        ("Outages", f"less than {outage.SLOTS_MIN / 10:g} s counts"),
        ("Comparing runs", "decides by `{}`, `{}` and `{}` unless".format(*LOAD_GATING_METRICS)),
        ("Bottlenecks", f"{bottleneck.BUSY_SHARE * 100:g} % of the time"),
        ("Bottlenecks", f"less than {bottleneck.IDLE_SHARE * 100:g} % of it"),
        ("Bottlenecks", f"{bottleneck.CEILING_SHARE * 100:g} % or more of the ceiling"),
        ("Bottlenecks", f"{bottleneck.LINK_SHARE * 100:g} % or more of the speed"),
        ("Bottlenecks", f"It takes {CALIBRATION_S + WARMUP_S:g} seconds"),
        ("Closed and open loop", f"more than {(1 - bottleneck.REACHED_SHARE) * 100:.0f} % apart"),
        ("SLO search", f"until the gap is {slo_search.PRECISION * 100:g} %"),
        ("SLO search", f"`{ERRORS_IMPLIED}`"),
        ("SLO search", f"within {stability.HALF_WIDTH * 100:g} % to either side"),
        ("A live endpoint", f"at most {EXISTING_MAX:,} of them"),
        ("Exit codes", f"({Profile(phases=()).max_error_rate * 100:g} %)"),
        ("Limits", f"last {STAMP_BYTES} bytes"),
        ("Limits", f"at most {render_bytes(POOL_BYTES_MAX).replace('.0', '')}"),
        ("Limits", f"remember {operation_mix._OWN_MAX:,} objects"),
        ("Workloads", f"{DEFAULT_JOB.list_keys:,} keys a page"),
    ],
)
def test_each_figure_of_the_page_is_that_of_the_code(heading: str, told: str) -> None:
    assert told in " ".join(section(heading).split())


def test_the_search_for_a_rate_takes_as_long_for_each_as_the_page_says() -> None:
    [phase] = plan_of(["--slo", "p99<50ms"]).profile.phases
    assert phase.duration_s is not None
    assert f"`--duration` ({phase.duration_s:g}s by default" in section("SLO search")


# Words.


def test_every_operation_has_its_row() -> None:
    assert re.findall(r"^\| `(\w+)` \|", section("Workloads"), flags=re.MULTILINE) == [*MIXABLE]


def test_every_way_to_fail_is_named() -> None:
    assert [fault for fault in AttemptFailure if f"`{fault}`" not in " ".join(PAGE.split())] == []


def test_every_bottleneck_is_explained() -> None:
    named = re.findall(r"^\| `([\w ]+)` \|", section("Bottlenecks"), flags=re.MULTILINE)
    assert sorted(named) == sorted(filter(None, PhaseLimit))


def test_every_exit_code_is_there() -> None:
    named = re.findall(r"^\| (\d+) \|", section("Exit codes"), flags=re.MULTILINE)
    assert set(map(int, named)) == set(ExitCode)


def test_the_columns_of_both_files_are_shown() -> None:
    assert ",".join(SECOND_COLUMNS) in PAGE.splitlines()
    assert ",".join(COLUMNS) in PAGE.splitlines()
