"""`s3bench history trend`: since when, by version and by date, with and without a reference."""

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from s3bench.cli.history.command import history_group
from s3bench.errors import BadInput
from s3bench.results.document import Client
from s3bench.results.document import Result as DocumentResult
from s3bench.results.machine_speed import MachineSpeed
from s3bench.results.measurement import Failure, Measurement
from tests.compare.documents import client, result
from tests.history.documents import load_text, text

Trend = Callable[..., Result]
DAYS = [(1, "2.10.0"), (2, "2.11.0"), (3, "2.12.0")]
VERSIONS = [f"2.{minor}.0" for minor in range(10, 34)]


@pytest.fixture
def trend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trend:
    """The command, over a release a day of which the 13th and later are a tenth slower; 2.10.0 is run beside each."""
    monkeypatch.setenv("S3BENCH_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    noise = random.Random(7)
    for day, version in enumerate(VERSIONS, start=1):
        mood = 1 + 0.5 * (day % 3)
        time_s = mood * (1.1 if day >= 13 else 1.0) * noise.gauss(1, 0.005)
        (tmp_path / f"{day}.json").write_bytes(
            text(
                result((time_s,) * 3, of=client("cli-crt", version)),
                *([result((mood * noise.gauss(1, 0.005),) * 3, of=client("cli-crt", VERSIONS[0]))] if day > 1 else []),
                day=day,
            )
        )
    added = CliRunner().invoke(history_group, ["add", *(str(tmp_path / f"{day}.json") for day in range(1, 25))])
    assert added.exception is None

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(history_group, ["trend", *arguments])

    return run


def test_ratios_to_a_release_beside_each_show_the_step_through_the_machines_drifting_speed(trend: Trend) -> None:
    said = trend("--reference", VERSIONS[0]).stdout
    assert "on cli-crt, machine" in said
    assert "since 2.22.0" in said
    assert "slower" in said
    assert "since" not in trend().stdout


def test_by_date_a_release_is_the_newest_version_of_a_document(trend: Trend) -> None:
    (series,) = json.loads(trend("--by", "date", "--reference", VERSIONS[0], "--json").stdout)
    assert len(series["trend"]["figures"]) == 23
    (change,) = series["trend"]["changes"]
    assert "2026-11-13 00:00" in change["releases"]
    assert change["point"]["ratio"] == pytest.approx(1.1, rel=0.02)


def test_a_pipeline_fails_on_the_newest_change_for_the_worse_alone(trend: Trend) -> None:
    assert trend("--reference", VERSIONS[0], "--fail-on-change").exit_code == 1
    assert trend("--fail-on-change").exit_code == 0


def test_a_metric_that_is_none_is_reported_with_the_nearest(trend: Trend) -> None:
    refused = trend("--metric", "total_tim").exception
    assert isinstance(refused, BadInput)
    assert "total_time" in refused.fix


def test_a_pipeline_cannot_fail_on_a_metric_that_is_neither_better_nor_worse(trend: Trend) -> None:
    refused = trend("--metric", "wire.bytes_sent", "--fail-on-change").exception
    assert isinstance(refused, BadInput)
    assert refused.what == "--fail-on-change cannot be combined with --metric wire.bytes_sent"
    assert trend("--metric", "wire.bytes_sent").exception is None


def test_nothing_that_fits_is_said(trend: Trend) -> None:
    said = trend("-k", "nowhere")
    assert (said.exit_code, said.stdout) == (0, "")
    assert said.stderr == "s3bench: no stored figures match; s3bench history list shows what is stored\n"


def test_a_pipeline_in_which_no_figure_matches_does_not_pass(trend: Trend) -> None:
    assert_untested(trend("-k", "nowhere", "--fail-on-change"))


def test_a_reference_that_no_result_has_is_refused_with_those_that_are_there(trend: Trend) -> None:
    refused = trend("--reference", "9.9").exception
    assert isinstance(refused, BadInput)
    assert refused.what == "--reference 9.9: none of the results that match is of this version"
    assert refused.fix == f"pass one of {', '.join(VERSIONS[:-9:-1])}, or an older one"


def test_a_reference_that_a_filter_leaves_out_is_said_to_be_stored(trend: Trend) -> None:
    refused = trend("--client", f"cli-crt@{VERSIONS[3]}", "--reference", VERSIONS[1]).exception
    assert isinstance(refused, BadInput)
    assert refused.why == "the store has it, and -k, --client or --machine leaves it out"
    assert "pass one of" not in refused.fix
    missing = trend("--client", f"cli-crt@{VERSIONS[3]}", "--reference", "9.9").exception
    assert isinstance(missing, BadInput)
    assert missing.fix == f"pass one of {VERSIONS[3]}"


def test_a_page_is_written_beside_the_text_and_never_over_a_file(trend: Trend, tmp_path: Path) -> None:
    page = tmp_path / "trend.html"
    written = trend("--reference", VERSIONS[0], "-o", str(page))
    assert "since 2.22.0" in written.stdout
    html = page.read_text(encoding="utf-8")
    assert html.lower().startswith("<!doctype html>")
    assert "since 2.22.0: " in html
    assert "<svg" in html
    assert isinstance(trend("-o", str(page)).exception, BadInput)
    assert trend("-o", str(page), "--force").exception is None


def test_charts_are_loaded_for_a_page_alone() -> None:
    code = "import sys, s3bench.cli.main, s3bench.cli.history.trend; sys.exit('altair' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture
def drifting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trend:
    """The command, over a release a day on a machine that is a fifth slower in every second five days."""
    monkeypatch.setenv("S3BENCH_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    noise = random.Random(7)
    for day, version in enumerate(VERSIONS, start=1):
        slowness = (1 + 0.2 * (day // 5 % 2)) * noise.gauss(1, 0.02)
        measured = result((slowness * noise.gauss(1, 0.002),) * 3, of=client("cli-crt", version))
        speed = MachineSpeed(rate=200_000 / slowness, error=0.001, probes=50)
        runs = tuple(
            replace(run, machine_speed=speed, runqueue_wait_time=0.0)
            for run in measured.measurements
            if isinstance(run, Measurement)
        )
        (tmp_path / f"{day}.json").write_bytes(text(replace(measured, measurements=runs), day=day))
    added = CliRunner().invoke(history_group, ["add", *(str(tmp_path / f"{day}.json") for day in range(1, 25))])
    assert added.exception is None

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(history_group, ["trend", *arguments])

    return run


@pytest.mark.parametrize("by", ["version", "date"])
def test_times_are_adjusted_for_the_speed_of_the_machine_and_the_gain_is_told(drifting: Trend, by: str) -> None:
    said = drifting("--by", by).stdout
    assert "no change found in 24 releases" in said
    assert "  adjusted for the speed of the machine: noise " in said
    (series,) = json.loads(drifting("--by", by, "--json").stdout)
    assert series["trend"]["adjustment"]["speed_slope"] == pytest.approx(1.0, abs=0.1)


def test_without_adjustment_times_are_as_measured(drifting: Trend) -> None:
    assert "adjusted" not in drifting("--no-adjust").stdout
    (series,) = json.loads(drifting("--no-adjust", "--json").stdout)
    assert series["trend"]["adjustment"] is None
    assert series["trend"]["figures"] == [point["value"] for point in series["trend"]["points"]]


def over(texts: Iterable[bytes], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Trend:
    """The command, over a history of these documents."""
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("S3BENCH_HOME", str(folder / "home"))
    monkeypatch.chdir(folder)
    files = []
    for number, content in enumerate(texts):
        files.append(folder / f"{number}.json")
        files[-1].write_bytes(content)
    added = CliRunner().invoke(history_group, ["add", *map(str, files)])
    assert added.exception is None
    return lambda *arguments: CliRunner().invoke(history_group, ["trend", *arguments])


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trend:
    """The command, over a load run of 4 KiB a day, and later one of 256 KiB a day, which takes longer."""
    noise = random.Random(7)
    days = [(day, *((0.01, "4KiB") if day <= 12 else (0.046, "256KiB"))) for day in range(1, 25)]
    texts = [load_text(day=day, p50=p50 * noise.gauss(1, 0.02), sizes=sizes) for day, p50, sizes in days]
    return over([*texts, load_text(day=25, url="http://two:9000")], tmp_path, monkeypatch)


def test_another_workload_of_a_load_is_another_series_and_no_change(loads: Trend) -> None:
    said = loads("--metric", "load.latency.p50", "--fail-on-change")
    assert said.exit_code == 0
    titles = [line.partition(", machine")[0] for line in said.stdout.splitlines() if not line.startswith(" ")]
    assert titles == [
        "load.get threads=16 on s3bench, endpoint http://one:9000, size 256KiB",
        "load.get threads=16 on s3bench, endpoint http://one:9000, size 4KiB",
        "load.get threads=16 on s3bench, endpoint http://two:9000, size 4KiB",
    ]
    assert said.stdout.count("no change found in 12 releases") == 2


def test_releases_of_load_runs_are_dates_unless_versions_are_asked_for(loads: Trend, tmp_path: Path) -> None:
    (_, small, _) = json.loads(loads("--json").stdout)
    assert [point["label"] for point in small["trend"]["points"]][:2] == ["2026-11-01 00:00", "2026-11-02 00:00"]
    (_, small, _) = json.loads(loads("--json", "--by", "version").stdout)
    assert [point["label"] for point in small["trend"]["points"]] == ["0.1.0"]
    assert loads("-o", str(tmp_path / "trend.html")).exception is None
    assert "documents by date" in (tmp_path / "trend.html").read_text(encoding="utf-8")


def test_a_pipeline_in_which_every_series_has_too_few_releases_does_not_pass(loads: Trend) -> None:
    assert_untested(loads("--by", "version", "--fail-on-change"))


def assert_untested(said: Result) -> None:
    assert said.exit_code == 3
    assert said.stderr.endswith("s3bench: --fail-on-change: no series has enough releases to find a change\n")


def test_without_a_metric_load_runs_show_their_latency(loads: Trend) -> None:
    assert loads().stdout == loads("--metric", "load.latency.p50").stdout
    said = loads("--metric", "total_time")
    assert said.stdout == ""
    assert "the results that match have no total_time; pass one of these with --metric: load" in said.stderr


def test_load_runs_beside_clients_are_pointed_out(loads: Trend, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(text())
    assert CliRunner().invoke(history_group, ["add", str(tmp_path / "run.json")]).exception is None
    said = loads()
    assert "on cli-crt" in said.stdout
    assert "load.get" not in said.stdout
    assert "load runs match as well; show them with --metric load.latency.p50" in said.stderr
    assert "load runs match" not in loads("--metric", "total_time").stderr


def test_a_page_does_not_replace_the_history(loads: Trend, tmp_path: Path) -> None:
    before = (tmp_path / "home" / "history.db").read_bytes()
    refused = loads("-o", str(tmp_path / "home" / "history.db"), "--force").exception
    assert isinstance(refused, BadInput)
    assert refused.what.endswith("history.db would overwrite an input file of --store")
    assert (tmp_path / "home" / "history.db").read_bytes() == before


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trend:
    """The command, over ten load runs without errors and ten of which 31 to 32 % of the operations failed."""
    noise = random.Random(7)
    rates = [0.0] * 10 + [noise.uniform(0.31, 0.32) for _ in range(10)]
    trend = over([load_text(day=day, error_rate=rate) for day, rate in enumerate(rates, 1)], tmp_path, monkeypatch)
    return lambda *arguments: trend("--metric", "load.error_rate", *arguments)


def test_errors_after_releases_without_any_fail_a_pipeline(failing: Trend, tmp_path: Path) -> None:
    said = failing("--fail-on-change", "-o", str(tmp_path / "trend.html"))
    assert said.exit_code == 1
    assert "since 2026-11-11 00:00: 31." in said.stdout
    assert " points more (31." in said.stdout
    assert "left out" not in said.stdout
    (series,) = json.loads(failing("--json").stdout)
    assert series["trend"]["figures"][:10] == [0.0] * 10
    assert series["trend"]["changes"][0]["point"]["difference"] == pytest.approx(0.315, abs=0.005)
    assert "points more" in (tmp_path / "trend.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("by", ["version", "date"])
def test_a_run_that_was_stored_before_it_ended_is_one_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    whole = [text(result((1.0, 1.1, 1.2), of=client(version=version)), day=day) for day, version in DAYS]
    killed = [
        text(result((9.0,) * runs, of=client(version=version)), day=day, ended_at=None)
        for day, version in DAYS[:2]
        for runs in (1, 2)
    ]
    alone = [
        text(result((time_s,) * runs, of=client(version="2.13.0")), day=9, ended_at=None)
        for time_s, runs in ((3.0, 1), (2.0, 2))
    ]
    trend = over([*killed, *whole, *alone], tmp_path, monkeypatch)
    (series,) = json.loads(trend("--by", by, "--json").stdout)
    assert [point["value"] for point in series["trend"]["points"]] == [1.1, 1.1, 1.1, 2.0]
    assert "  warning: 5 figures left out: a more complete document of the same run is stored\n" in trend().stdout


def test_a_reference_is_of_the_document_whose_figures_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run was stored twice while it went on: after a client's last run, and after the first one of the reference."""
    new = result((2.0, 2.0), of=client(version="2.11.0"))
    reference = result((1.0,), of=client(version="2.10.0"))
    killed = [text(new, day=2, ended_at=None), text(new, reference, day=2, ended_at=None)]
    for number, texts in enumerate((killed, killed[::-1])):
        trend = over(texts, tmp_path / str(number), monkeypatch)
        (series,) = json.loads(trend("--reference", "2.10.0", "--json").stdout)
        assert [(each["label"], each["reference"]) for each in series["trend"]["points"]] == [("2.11.0", 1.0)]


def test_a_ratio_is_of_the_figures_of_documents_that_have_the_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same release was also measured without the reference, on days on which the machine was slower."""
    reference = result((1.0,), of=client(version="2.10.0"))
    alone = [(5, 3.0, False), (6, 3.0, False)]
    texts = [
        text(result((time_s,), of=client(version=version)), *([reference] if is_beside else []), day=day)
        for version, days in (("2.11.0", [(1, 1.1, True)]), ("2.12.0", [(2, 1.2, True), *alone]))
        for day, time_s, is_beside in days
    ]
    trend = over(texts, tmp_path, monkeypatch)
    (series,) = json.loads(trend("--reference", "2.10.0", "--json").stdout)
    assert series["trend"]["figures"] == [1.1, 1.2]
    assert "2 figures left out: their documents do not have the reference release" in series["trend"]["doubts"]
    (series,) = json.loads(trend("--json").stdout)
    assert [point["value"] for point in series["trend"]["points"]] == [1.0, 1.1, 3.0]


def test_the_machine_is_that_of_the_runs_beside_the_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(time_s: float, version: str, rate: float) -> DocumentResult:
        measured = result((time_s,), of=client(version=version))
        speed = MachineSpeed(rate=rate, error=0.001, probes=50)
        runs = (each for each in measured.measurements if isinstance(each, Measurement))
        return replace(measured, measurements=tuple(replace(each, machine_speed=speed) for each in runs))

    texts = [
        text(run(1.2, "2.12.0", 100.0), run(1.0, "2.10.0", 100.0), day=1),
        *(text(run(3.0, "2.12.0", 30.0), day=day) for day in (2, 3)),
    ]
    (series,) = json.loads(over(texts, tmp_path, monkeypatch)("--reference", "2.10.0", "--json").stdout)
    (point,) = series["trend"]["points"]
    assert (point["label"], point["beside"]["speed"]) == ("2.12.0", 100.0)


def test_by_date_the_reference_is_not_a_release_beside_another_version_even_if_it_is_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = result((1.0,), of=client(version="2.38.5"))
    texts = [text(result((1.1,), of=client(version=version)), reference, day=day) for day, version in DAYS]
    trend = over([*texts, text(reference, day=4)], tmp_path, monkeypatch)
    (series,) = json.loads(trend("--by", "date", "--reference", "2.38.5", "--json").stdout)
    assert [(point["value"], point["reference"]) for point in series["trend"]["points"]] == [(1.1, 1.0)] * 3
    (series,) = json.loads(trend("--by", "date", "--json").stdout)
    assert [point["value"] for point in series["trend"]["points"]] == [1.0] * 4


BUILD = Client(name="cli-crt", version="2.11.0", label="cli-crt@/build/aws")


@pytest.mark.parametrize("is_first", [False, True])
def test_two_builds_of_one_version_in_a_document_are_two_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_first: bool
) -> None:
    texts = []
    for day in range(1, 4):
        published, build = result((1.25,), of=client(version="2.11.0")), result((2.0,), of=BUILD)
        texts.append(text(*((build, published) if is_first else (published, build)), day=day))
    texts.append(text(result((1.5,), of=client(version="2.12.0")), day=4))
    trend = over(texts, tmp_path, monkeypatch)

    def figures(*arguments: str) -> dict[str, list[float]]:
        found = json.loads(trend(*arguments, "--json").stdout)
        return {series["title"].partition(", machine")[0]: series["trend"]["figures"] for series in found}

    every, built = "s3.cp.download on cli-crt", "s3.cp.download on cli-crt@/build/aws"
    assert figures() == {every: [1.25, 1.5], built: [2.0]}
    assert figures("--by", "date") == {every: [1.25, 1.25, 1.25, 1.5], built: [2.0, 2.0, 2.0]}
    assert figures("--by", "date", "--reference", "2.11.0")[built] == [1.6, 1.6, 1.6]


def test_builds_at_paths_are_one_series_over_versions_where_no_document_has_two_of_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builds = [Client(name="cli-crt", version=version, label=f"cli-crt@/{day}/aws") for day, version in DAYS]
    texts = [text(result((1.0,), of=each), day=day) for day, each in enumerate(builds, 1)]
    (series,) = json.loads(over(texts, tmp_path, monkeypatch)("--json").stdout)
    assert [point["label"] for point in series["trend"]["points"]] == [version for _, version in DAYS]


def test_files_of_another_tool_that_have_a_start_and_no_end_all_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [text(result((time_s,)), ended_at=None, options={}) for time_s in (1.0, 2.0, 4.0)]
    said = over(texts, tmp_path, monkeypatch)("--json").stdout
    assert [point["value"] for point in json.loads(said)[0]["trend"]["points"]] == [2.0]
    assert "left out" not in said


def test_releases_with_failures_and_warnings_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = result(of=client(version="2.11.0")).with_failure(Failure(iteration=6, what="exited 1")).completed()
    warned = [
        result(of=client(version=f"2.{minor}.0"), warnings=("stub-bound: the server was busy",))
        for minor in range(11, 16)
    ]
    good = result(of=client(version="2.10.0"))
    texts = [text(each, day=day) for day, each in enumerate((good, failed, *warned), 1)]
    said = over(texts, tmp_path, monkeypatch)().stdout
    assert (
        "  warning: failures in 1 release (2.11.0), warnings in 5 releases (2.11.0, 2.12.0, 2.13.0 and 2 more): "
        "s3bench history show has them\n"
    ) in said
    assert "history show" not in over(texts[:1], tmp_path / "good", monkeypatch)().stdout
