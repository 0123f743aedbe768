"""`s3bench report`: what it prints and writes, and its exit codes."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from s3bench.cli.report.command import report_command
from s3bench.errors import ExitCode, S3BenchError
from s3bench.report.rendering import RENDERINGS
from s3bench.results.file import write_document
from tests.compare.documents import document, result
from tests.documented import ROOT
from tests.report import loads
from tests.report.runs import hostile, two_clients, with_failures

FORMATS = [form.value for form in RENDERINGS]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    made = {
        "run": two_clients(),
        "other": two_clients("2.39.0"),
        "failed": with_failures(),
        "load": loads.everything(),
        "matrix": loads.document(
            loads.result("load.get", loads.load(), dimensions=[{"size": "4KiB"}, {"threads": "16"}])
        ),
        "hostile": hostile(),
        "empty": document(),
    }
    for name, whole in made.items():
        write_document(whole, tmp_path / f"{name}.json", durable=False)
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    return tmp_path


@dataclass(frozen=True)
class Finished:
    stdout: str
    stderr: str
    error: S3BenchError | None


Report = Callable[..., Finished]


@pytest.fixture
def report(files: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Report:
    monkeypatch.chdir(files)
    monkeypatch.setenv("COLUMNS", "140")

    def run(*arguments: str) -> Finished:
        error = None
        try:
            report_command.main(list(arguments), standalone_mode=False)
        except S3BenchError as caught:
            error = caught
        sys.stdout.flush()
        said = capfdbinary.readouterr()
        return Finished(stdout=said.out.decode(), stderr=said.err.decode(), error=error)

    return run


def test_without_a_format_it_is_the_table_of_the_terminal(report: Report) -> None:
    finished = report("run.json")
    assert finished.error is None
    assert "s3.cp.download FileSize=32MB\n" in finished.stdout
    assert "525 ms" in finished.stdout
    assert "\x1b" not in finished.stdout
    assert finished.stderr == ""


def test_a_load_run_has_its_own_table_and_a_matrix_its_own(report: Report) -> None:
    assert "61,728" in report("load.json").stdout
    assert "\nget of 4KiB\n" in report("matrix.json").stdout


def test_several_documents_stand_below_their_names(report: Report) -> None:
    lines = report("run.json", "load.json").stdout.splitlines()
    assert [line for line in lines if line.endswith(".json")] == ["run.json", "load.json"]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_goes_to_stdout_or_into_a_file_alike(report: Report, files: Path, form: str) -> None:
    shown = report("run.json", "--format", form)
    written = report("run.json", "--format", form, "-o", "out")
    assert shown.error is written.error is None
    assert written.stdout == ""
    assert (files / "out").read_bytes().decode() == shown.stdout != ""


def test_csv_keeps_its_line_ends(report: Report) -> None:
    assert report("run.json", "--format", "csv").stdout.count("\r\n") == 13


def test_nothing_is_overwritten_unasked(report: Report, files: Path) -> None:
    (files / "out.csv").write_text("precious", encoding="utf-8")
    refused = report("run.json", "--format", "csv", "-o", "out.csv")
    assert refused.error is not None
    assert "it will not be overwritten" in str(refused.error)
    assert (files / "out.csv").read_text(encoding="utf-8") == "precious"
    assert report("run.json", "--format", "csv", "-o", "out.csv", "--force").error is None
    assert (files / "out.csv").read_text(encoding="utf-8").startswith("benchmark,")


def test_a_format_that_cannot_hold_the_document_leaves_no_file(report: Report, files: Path) -> None:
    assert report("load.json", "--format", "hyperfine", "-o", "out.json").error is not None
    assert not (files / "out.json").exists()


def test_markdown_holds_several_documents(report: Report) -> None:
    finished = report("run.json", "other.json", "--format", "markdown")
    assert finished.stdout.count("### `s3.cp.download`") == 2


def test_markdown_that_no_comment_can_hold_is_said(report: Report, files: Path) -> None:
    many = document(*(result(name=f"benchmark-{number}") for number in range(900)))
    write_document(many, files / "many.json", durable=False)
    finished = report("many.json", "--format", "markdown")
    assert f"the Markdown has {len(finished.stdout):,} characters" in finished.stderr
    assert report("run.json", "--format", "markdown").stderr == ""


def test_otava_gets_a_row_for_each_document(report: Report) -> None:
    assert len(report("run.json", "other.json", "--format", "otava").stdout.splitlines()) == 3


def test_what_the_figures_do_not_tell_is_said_beside_them(report: Report) -> None:
    finished = report("failed.json", "--format", "bencher")
    assert finished.stderr == "s3bench: failed.json: 2 of 3 results without a measurement, 2 iterations failed\n"
    assert json.loads(finished.stdout)
    assert report("run.json", "--format", "bencher").stderr == ""


def test_hostile_texts_do_not_reach_the_terminal(report: Report) -> None:
    texts = [report("hostile.json").stdout, *(report("hostile.json", "--format", form).stdout for form in FORMATS)]
    for text in texts:
        assert text.replace("\r\n", "").replace("\n", "").isprintable()


def test_an_expression_picks_the_benchmarks_that_are_told(report: Report) -> None:
    assert "s5cmd" not in report("run.json", "-k", "cli-crt").stdout
    picked = report("run.json", "-k", "cli-crt and download", "--format", "csv").stdout.splitlines()
    assert len(picked) == 1 + 6
    refused = report("run.json", "-k", "upload").error
    assert refused is not None
    assert (refused.what, refused.fix) == ("-k upload: no benchmark is selected", "there are `s3.cp.download`")


def test_the_formats_are_listed_with_what_they_are_for(report: Report) -> None:
    lines = report("--list-formats").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [*FORMATS, "html"]
    assert lines[0].split(maxsplit=2)[1:] == [".csv", "a line for each measurement, every metric a column"]
    assert max(map(len, lines)) <= 110


def test_the_page_has_a_row_for_each_format() -> None:
    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    table = page.partition("`--list-formats` lists the formats:")[2].partition("\n\nWith six or more runs")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", table, flags=re.MULTILINE) == [*FORMATS, "html"]


def test_the_help_has_examples_and_its_exit_codes(report: Report) -> None:
    text = report("--help").stdout
    assert "s3bench report results.json --format csv -o results.csv" in text
    assert "Exit code 0" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no results document was given"),
        (("missing.json",), "cannot read missing.json"),
        (("broken.json",), "broken.json is not JSON"),
        (("run.json", "other.json", "--format", "csv"), "--format csv holds one document; 2 were given"),
        (("run.json", "-o", "out.PROM"), "Pass --format openmetrics; s3bench report --list-formats"),
        (("run.json", "-o", "out.csv"), "Pass --format csv or otava; s3bench report --list-formats"),
        (("run.json", "-o", "out.json"), "bencher or perfetto; s3bench report --list-formats"),
        (("run.json", "-o", "out"), "Pass --format NAME; s3bench report --list-formats"),
        (("run.json", "--format", "csv", "-o", "-"), "leave out the option to print to stdout"),
        (("run.json", "--format", "csv", "-o", "."), "it is a directory"),
        (("empty.json", "--format", "pyperf"), "nothing to write as pyperf"),
        (("load.json", "--format", "hyperfine"), "run times of commands"),
    ],
)
def test_bad_input_is_exit_code_2_and_says_what_to_do(report: Report, arguments: tuple[str, ...], said: str) -> None:
    finished = report(*arguments)
    assert finished.error is not None
    assert finished.error.exit_code is ExitCode.BAD_INPUT
    assert said in str(finished.error)
    assert finished.stdout == ""


@pytest.mark.parametrize("more", [("--format", "csv"), ("--format", "html")])
def test_a_report_does_not_replace_what_it_is_made_of(report: Report, files: Path, more: tuple[str, ...]) -> None:
    before = (files / "run.json").read_bytes()
    refused = report("run.json", "-o", "./run.json", "--force", *more).error
    assert refused is not None
    assert refused.what == "-o run.json would overwrite an input file"
    assert (files / "run.json").read_bytes() == before


@pytest.mark.parametrize("form", [None, *FORMATS])
def test_results_of_another_tool_have_tables_and_formats_too(report: Report, files: Path, form: str | None) -> None:
    export = {"results": [{"command": "sleep 1", "times": [1.0, 1.1], "exit_codes": [0, 0]}]}
    (files / "hyperfine.json").write_text(json.dumps(export), encoding="utf-8")
    finished = report("hyperfine.json", *(() if form is None else ("--format", form)))
    if form in {"otava", "otava-config"}:
        assert finished.error is not None
        assert "needs the time of each run" in str(finished.error)
        return
    assert finished.error is None
    assert finished.stdout


def test_other_records_are_refused_with_the_command_that_shows_them(report: Report, files: Path) -> None:
    (files / "gate.json").write_text('{"gate_version": 1}', encoding="utf-8")
    refused = report("gate.json").error
    assert refused is not None
    assert "s3bench report FILE -o page.html" in refused.fix
    (files / "other.json").write_text('{"a": 1}', encoding="utf-8")
    refused = report("other.json").error
    assert refused is not None
    assert refused.what == "other.json is not a results file of a known tool"


@pytest.mark.parametrize("form", ["otava", "otava-config"])
def test_what_rows_of_several_documents_lack_is_said(report: Report, files: Path, form: str) -> None:
    write_document(document(two_clients().results[0]), files / "fewer.json", durable=False)
    finished = report("run.json", "fewer.json", "--format", form)
    assert finished.error is None
    assert finished.stderr.startswith("s3bench: ")
    assert finished.stderr.endswith(" left out: not all documents have them\n")
    assert report("run.json", "other.json", "--format", form).stderr == ""
