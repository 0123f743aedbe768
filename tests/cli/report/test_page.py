"""`s3bench report` as a page and as charts in files: what is recognised, what is written, and what is refused."""

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from s3bench.bisect.record import encode_bisect
from s3bench.cli.report import page
from s3bench.cli.report.command import report_command
from s3bench.cli.report.inputs import read_inputs
from s3bench.errors import BadInput, S3BenchError
from s3bench.gate.record import encode_record
from s3bench.profiling.record import ClientProfile, ProfileRecord, encode_profile
from s3bench.report.page.fitting import PAGE_BYTES_MAX
from s3bench.report.page.section import Section
from s3bench.results.file import read_document, write_document
from s3bench.results.measurement import Failure
from s3bench.results.metrics import METRICS_BY_NAME, render_figure
from s3bench.tune.study import encode_line
from tests.compare.documents import document, result
from tests.report import loads
from tests.report.conftest import made_up_gates
from tests.report.page.charts import HOSTILE, dots, undrawn
from tests.report.page.profile.stack_profiles import profile
from tests.report.runs import hostile, two_clients
from tests.report.test_bisection import record_of, slower_from
from tests.tune.simulated_client import Link, Simulation, upload

FAR = Link(latency_s=0.03, connection=5e6, nic=100e6)

Report = Callable[..., None]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a file of each kind, small ones of runs among them."""
    directory = tmp_path_factory.mktemp("originals")
    made = {
        "few": document(result([1.0, 1.1])),
        "fewer": document(result([1.2, 1.3])),
        "run": two_clients(),
        "load": loads.document(loads.result("load.get", loads.load(seconds=(loads.second(0), loads.second(1))))),
        "hostile": hostile(),
    }
    for name, whole in made.items():
        write_document(whole, directory / f"{name}.json", durable=False)
    (directory / "gate.json").write_bytes(encode_record(made_up_gates()["fail by size"]))
    known = Simulation(link=FAR, workload=upload(64)).study(budget_s=60.0)
    (directory / "tune.jsonl").write_bytes(b"".join(map(encode_line, (known.header, *known.trials))))
    (directory / "bisect.json").write_bytes(encode_bisect(record_of(slower_from(5))))
    stacks = profile({"app:main;app:work": 50, "app:main;lib:f": 10})
    record = ProfileRecord(
        s3bench="0",
        started_at="2026-11-21T00:00:00Z",
        benchmark="s3.ls",
        profiler="py-spy",
        profiles=(ClientProfile(client="cli-classic@1", stacks=stacks),),
    )
    (directory / "profile.json").write_bytes(encode_profile(record))
    (directory / "broken.json").write_text("{", encoding="utf-8")
    return directory


@pytest.fixture
def files(originals: Path, tmp_path: Path) -> Path:
    return shutil.copytree(originals, tmp_path, dirs_exist_ok=True)


@pytest.fixture
def report(files: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    monkeypatch.chdir(files)

    def run(*arguments: str) -> None:
        report_command.main(list(arguments), standalone_mode=False)

    return run


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts are made and not drawn, which takes most of a page's time."""
    monkeypatch.setattr("s3bench.report.page.page.draw", undrawn)


def page_of(report: Report, files: Path, *names: str) -> str:
    report(*names, "-o", "page.html", "--force")
    return (files / "page.html").read_text(encoding="utf-8")


def test_files_are_told_apart_by_what_they_hold(files: Path) -> None:
    paths = [files / name for name in ("tune.jsonl", "gate.json", "load.json", "run.json")]
    inputs = read_inputs(paths)
    assert [name for name, _ in inputs.documents] == ["load.json", "run.json"]
    assert [name for name, _ in inputs.gates] == ["gate.json"]
    assert [name for name, _ in inputs.studies] == ["tune.jsonl"]


def test_files_of_one_name_are_told_apart_by_their_paths(files: Path) -> None:
    (files / "new").mkdir()
    (files / "new" / "run.json").write_bytes((files / "run.json").read_bytes())
    paths = [files / "run.json", files / "new" / "run.json"]
    assert [name for name, _ in read_inputs(paths).documents] == list(map(str, paths))


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("run.json", "s3.cp.download on 2 clients"),
        ("load.json", "Load: get"),
        ("gate.json", "Release gate: cli-crt@2.38.5 against cli-crt@2.36.0"),
        ("tune.jsonl", "Settings for upload of 1 file of 64.0 MiB"),
        ("bisect.json", "Bisection of cli-crt, 2.30.0 to 2.37.0: s3.cp.upload"),
    ],
)
@pytest.mark.usefixtures("without_pictures")
def test_every_kind_of_file_becomes_a_page(report: Report, files: Path, name: str, title: str) -> None:
    text = page_of(report, files, name)
    assert f"<title>{title}</title>" in text
    assert re.search(r'<svg id="part-1[\d-]*-chart-1"></svg>', text)
    assert '<div class="answer' in text
    assert 'id="part-1"' in text


def test_the_charts_of_a_page_tell_the_figures_of_its_document(report: Report, files: Path) -> None:
    text = page_of(report, files, "few.json")
    assert text.count('<svg class="chart wide"') == text.count('<svg class="chart narrow"') > 0
    labels = re.findall(r'data-label="([^"]+)"', text)
    (told,) = read_document(files / "few.json").results
    for run in told.measurements:
        figure = render_figure(run.total_time, METRICS_BY_NAME["total_time"].unit)
        assert f"{told.client.name} run {run.iteration}: {figure}" in labels


def test_the_record_of_a_profile_becomes_a_page(report: Report, files: Path) -> None:
    text = page_of(report, files, "profile.json")
    assert "<title>Profile of cli-classic@1: s3.ls</title>" in text
    assert "app:work" in text
    assert "2026-11-21 00:00:00 UTC (start)" in text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"interval_s": 0}, "interval_s is not a time above 0"),
        ({"stacks": [{"frames": [7]}]}, "a stack has a frame that is not there"),
        ({"runs": [{"total_time": 1, "cpu_time": 1, "samples": {"7": 1}}]}, "samples of a stack that is not there"),
    ],
)
def test_a_profile_that_was_edited_by_hand_is_refused_with_its_path(
    report: Report, files: Path, change: dict[str, object], said: str
) -> None:
    record = json.loads((files / "profile.json").read_text(encoding="utf-8"))
    record["profiles"][0]["stacks"] |= change
    (files / "profile.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(BadInput) as raised:
        report("profile.json", "-o", "page.html")
    assert said in str(raised.value)
    assert "$.profiles[0].stacks" in str(raised.value)


@pytest.mark.usefixtures("without_pictures")
def test_of_several_documents_the_comparison_comes_first(report: Report, files: Path) -> None:
    text = page_of(report, files, "few.json", "fewer.json")
    tabs = [
        line.partition(">")[2].removesuffix("</a>") for line in text.splitlines() if line.startswith('<a href="#part')
    ]
    assert tabs[1:] == ["few.json", "fewer.json", "Machines"]
    assert "<h1>fewer.json against few.json</h1>" in text
    assert "2026-11-21 00:00:00 UTC to 2026-11-21 00:10:00 UTC" in text


@pytest.mark.usefixtures("without_pictures")
def test_documents_that_cannot_be_compared_still_make_a_page(report: Report, files: Path) -> None:
    assert "Not compared: " in page_of(report, files, "few.json", "load.json")


@pytest.mark.parametrize(("benchmarks", "runs"), [(81, 4), pytest.param(200, 40, marks=pytest.mark.campaign)])
def test_a_document_of_many_benchmarks_and_runs_stays_small(
    report: Report, files: Path, benchmarks: int, runs: int
) -> None:
    draws = random.Random(7)
    results = [
        result([draws.lognormvariate(0, 0.03) for _ in range(runs)], dimensions={"FileSize": f"{number}MB"})
        for number in range(benchmarks)
    ]
    write_document(document(*results), files / "big.json", durable=False)
    text = page_of(report, files, "big.json")
    assert len(text.encode()) < PAGE_BYTES_MAX
    assert f"FileSize={benchmarks - 1}MB" in text
    assert text.count("data-label=") >= benchmarks


@pytest.mark.usefixtures("without_pictures")  # of hostile names they are in tests/report/page
def test_hostile_names_make_a_page_without_a_script_of_theirs(report: Report, files: Path) -> None:
    text = page_of(report, files, "hostile.json")
    assert text.count("<script") == text.count("</script") == 1
    assert text.replace("\n", "").isprintable()


@pytest.mark.usefixtures("without_pictures")
def test_the_page_goes_to_stdout_by_its_format(report: Report, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    report("bisect.json", "--format", "html")
    assert capfdbinary.readouterr().out.startswith(b"<!DOCTYPE html>")


def test_charts_become_files_named_by_where_they_stand(report: Report, files: Path) -> None:
    report("few.json", "--svg", "svg", "--png", "png")
    pictures, shots = sorted((files / "svg").iterdir()), sorted((files / "png").iterdir())
    assert pictures
    assert [path.stem for path in pictures] == [path.stem for path in shots]
    assert all(path.read_bytes().startswith(b"<svg ") for path in pictures)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in shots)


def test_a_single_chart_is_told_as_one(
    report: Report, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page, "write_charts", lambda *_, **__: 1)
    report("few.json", "--svg", "svg")
    assert capsys.readouterr().err == "s3bench: 1 chart in svg\n"


def test_names_of_charts_lead_nowhere_and_never_meet(tmp_path: Path) -> None:
    figures = (dots(["a"], name="../../../etc/passwd"), dots(["b"], name=HOSTILE), dots(["c"], name="x" * 999))
    sections = (Section(name="..", title="", figures=figures), Section(name="/", title="", figures=figures))
    assert page.write_charts(sections, tmp_path / "charts", extension="svg") == 6
    written = [path.name for path in (tmp_path / "charts").iterdir()]
    assert len(written) == 6
    assert all(len(name) < 200 and name.replace(".svg", "").replace("-", "").isalnum() for name in written)
    assert [path.name for path in tmp_path.iterdir()] == ["charts"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-o", "page.html"), "no results document was given"),
        (("broken.json", "-o", "page.html"), "broken.json is not JSON"),
        (("missing.json", "-o", "page.html"), "cannot read missing.json"),
        (("run.json", "-o", "gate.json", "--format", "html"), "it will not be overwritten"),
        (("run.json", "--svg", "."), "is not empty"),
        (("run.json", "--svg", "gate.json"), "is not a directory"),
        (("run.json", "--svg", "gate.json/new"), "cannot make gate.json/new"),
        (("run.json", "--svg", "new", "--format", "csv"), "--svg and --png draw"),
        (("run.json", "--svg", "new", "-o", "out.csv"), "--svg and --png draw"),
    ],
)
def test_what_cannot_be_written_is_refused_first(
    report: Report, files: Path, arguments: tuple[str, ...], said: str
) -> None:
    before = sorted(files.rglob("*"))
    with pytest.raises(S3BenchError, match=said):
        report(*arguments)
    assert sorted(files.rglob("*")) == before


def test_a_document_without_figures_has_no_charts_and_nothing_is_written(report: Report, files: Path) -> None:
    document = json.loads((files / "run.json").read_bytes())
    for each in document["results"]:
        each |= {"measurements": [], "status": "failed"}
    (files / "failed.json").write_text(json.dumps(document))
    with pytest.raises(S3BenchError, match="there is no chart to draw"):
        report("failed.json", "--svg", "new", "-o", "page.html")
    assert not (files / "new").exists()
    assert not (files / "page.html").exists()


def test_what_draws_is_loaded_for_a_page_alone(files: Path) -> None:
    program = (
        "import sys; from s3bench.cli.report.command import report_command; "
        f"report_command.main([{str(files / 'run.json')!r}], standalone_mode=False); "
        "print(sorted({'altair', 'vl_convert', 'jinja2'} & set(sys.modules)))"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("tune.jsonl", "is a study of `s3bench tune`, not a results document"),
        ("gate.json", "is the record of a gate, not a results document"),
        ("bisect.json", "is the record of a bisection, not a results document"),
        ("profile.json", "is the record of a profile, not a results document"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--format", "csv")])
def test_what_has_a_page_only_is_refused_with_the_command_for_it(
    report: Report, file: str, said: str, more: tuple[str, ...]
) -> None:
    with pytest.raises(S3BenchError, match=said) as caught:
        report(file, *more)
    assert "s3bench report FILE -o page.html" in caught.value.fix


def test_a_load_run_without_a_figure_is_shown_as_a_load_run(tmp_path: Path) -> None:
    refused = Failure(iteration=0, what="the figures contradict each other", why="Little's law")
    options = {"endpoint_url": ["http://one:9000"], "phases": [{"name": "get"}]}
    whole = replace(loads.document(loads.result("load.get", errors=(refused,))), options=options)
    write_document(whole, tmp_path / "load.json", durable=False)
    inputs = read_inputs([tmp_path / "load.json"], benchmarks="")
    sections = page.sections_of(inputs)
    assert [section.name for section in sections] == ["load", "machine"]
    assert any("the figures contradict each other" in line.text for line in sections[0].lines)
    html = page.page_html(inputs, sections)
    assert "<title>Load: get" in html
    assert html.count("the run is not complete: it ended early, or is still running") == 1
    ended = replace(whole, ended_at="2026-11-21T00:10:00.000Z")
    write_document(ended, tmp_path / "ended.json", durable=False)
    inputs = read_inputs([tmp_path / "ended.json"], benchmarks="")
    assert "the run is not complete" not in page.page_html(inputs, page.sections_of(inputs))
