"""Documents that an earlier version wrote are read by every command, with the figures that it printed of them then.

`tests/data/before/README.md` tells which version and how. Words and tables may change, and more may be printed; a
figure that was printed is printed still, in the formats of other tools as often as it was.
"""

import json
import re
import shlex
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from s3bench.cli.main import main
from s3bench.results.document import encode_document, parse_document
from s3bench.results.load import LoadMeasurement
from tests.report.page.charts import undrawn

BEFORE = Path(__file__).parent / "data" / "before"
COMMANDS = [line.split(maxsplit=2) for line in (BEFORE / "commands.txt").read_text(encoding="utf-8").splitlines()]
PAGES = [arguments for name, _, arguments in COMMANDS if name.endswith("-html")]
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)*(?:e[-+]?\d+)?")
_SAMPLES_OF_LOAD = re.compile(r'^.*harness[._]samples(?!",).*$|"harness.samples",.*?"Unit":"Count"', re.MULTILINE)
"""A load run takes no samples of memory and CPU; documents before version 5 counted them, as 0."""

_DETECTABLE = re.compile(r"\+\d+\.\d%$|detectable: .*$", re.MULTILINE)
"""What a gate would FAIL left out d1 and the looks before, so it was too small and is another figure now."""

_LIMITS = re.compile(r"\d+\.\d%/\d+\.\d%|(above|below) \d+\.\d%")
"""A gate of two documents has today's limits, which are narrower for short programs; a record has its own."""

_MEDIAN_OF_MAXIMA = {"report-cluster": "343 ms"}
"""The `max` of several loops was the median of theirs, and is the greatest now."""

_FIGURE_DIGITS = 3
_LOAD_MEASUREMENT = frozenset(LoadMeasurement.__struct_fields__)
_VERSIONS = frozenset({"schema_version", "gate_version", "study_version", "bisect_version"})
_NOT_HELD = _VERSIONS | {"detectable"}


class _Cells(HTMLParser):
    """The texts of a page's table cells."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._is_cell = False

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        if tag in {"td", "th"}:
            self.texts.append("")
            self._is_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"}:
            self._is_cell = False

    def handle_data(self, data: str) -> None:
        if self._is_cell:
            self.texts[-1] += data


def numbers_in(text: str) -> Counter[str]:
    return Counter(_NUMBER.findall(text))


def measured_in(text: str) -> set[str]:
    """The numbers of a table that can only be figures; counts and headings have fewer than three digits."""
    return {number for number in numbers_in(text) if sum(map(str.isdigit, number)) >= _FIGURE_DIGITS}


def figures_in(tree: Any, path: str = "$") -> Iterator[tuple[str, object]]:
    """Every number and truth value of a JSON tree with its path; those that mean something else now apart."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key not in _NOT_HELD:
                yield from figures_in(value, f"{path}.{key}")
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from figures_in(value, f"{path}[{index}]")
    elif isinstance(tree, int | float):
        yield path, tree


def keys_in(tree: Any, path: str = "$") -> Iterator[str]:
    """The paths of all keys of a JSON tree, items of an array taken together."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield f"{path}.{key}"
            yield from keys_in(value, f"{path}.{key}")
    elif isinstance(tree, list):
        for value in tree:
            yield from keys_in(value, f"{path}[]")


def assert_holds(now: Any, former: Any) -> None:
    """That a JSON tree still has every key of a former one, and its figures."""
    assert not set(keys_in(former)) - set(keys_in(now))
    expected, figures = dict(figures_in(former)), dict(figures_in(now))
    # The last digits of least squares depend on the linear algebra kernels that numpy chooses for a processor.
    assert {path: figures.get(path) for path in expected} == pytest.approx(expected, rel=1e-9)


def name_row_warnings(comparison: Any) -> None:
    """Give the warnings of rows the name that they have since `schema_version` 2 of a comparison."""
    for row in (row for other in comparison["others"] for row in other["rows"]):
        row["warnings"] = row.pop("doubts")


@pytest.fixture
def before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with all former documents, which is the current one."""
    with zipfile.ZipFile(BEFORE / "documents.zip") as archive:
        archive.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


def run(arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["s3bench", *shlex.split(arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize(("name", "code", "arguments"), COMMANDS, ids=[name for name, _, _ in COMMANDS])
def test_a_command_reads_former_documents_and_prints_their_figures(
    name: str,
    code: str,
    arguments: str,
    before: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if arguments in PAGES:
        monkeypatch.setattr("s3bench.report.page.page.draw", undrawn)
    ended = run(arguments, monkeypatch)
    printed = capsys.readouterr()
    assert ended == int(code), printed.err
    with zipfile.ZipFile(BEFORE / "printed.zip") as archive:
        former = archive.read(f"{name}.txt").decode()
    if name.startswith("gate") and "--json" not in arguments:
        former = _DETECTABLE.sub("", former)
        former = former if "--replay" in arguments else _LIMITS.sub("", former)
    former = former.replace(_MEDIAN_OF_MAXIMA.get(name, "\0"), "")
    now = printed.out
    if "--json" in arguments:
        tree = json.loads(former)
        if name.startswith("compare"):
            name_row_warnings(tree)
        assert_holds(json.loads(now), tree)
        return
    if arguments in PAGES:
        cells = _Cells()
        cells.feed((before / arguments.rsplit(maxsplit=1)[-1]).read_text(encoding="utf-8"))
        now = "\n".join(cells.texts)
    if "--format" not in arguments or "markdown" in arguments:
        assert not measured_in(former) - measured_in(now)
        return
    missing = numbers_in(_SAMPLES_OF_LOAD.sub("", former) if "load_" in arguments else former) - numbers_in(now)
    if arguments.endswith("--format csv"):
        missing.pop("0", None)  # `harness.samples` of load runs, in a column of its own
    assert not missing


@pytest.mark.campaign
@pytest.mark.parametrize("arguments", PAGES)
def test_every_chart_of_former_documents_is_drawn(
    arguments: str, before: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(arguments, monkeypatch) == 0
    page = (before / arguments.rsplit(maxsplit=1)[-1]).read_text(encoding="utf-8")
    assert page.count('<svg class="chart wide"') == len(re.findall(r'id="[\w-]+-chart-\d+-title"', page)) > 0


def test_the_verdict_of_a_former_gate_is_made_again_figure_by_figure(
    before: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run("gate --replay gate.json --json", monkeypatch)
    assert_holds(json.loads(capsys.readouterr().out), json.loads((before / "gate.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", ["run", "run_audit", "run_failed", "load_phases", "load_errors", "load_cluster"])
def test_a_former_document_written_again_has_all_its_figures(name: str, before: Path) -> None:
    former = (before / f"{name}.json").read_bytes()
    tree = json.loads(former)
    if name.startswith("load_"):
        for result in tree["results"]:
            result["measurements"] = [
                {key: value for key, value in each.items() if key in _LOAD_MEASUREMENT}
                for each in result["measurements"]
            ]
    assert_holds(json.loads(encode_document(parse_document(former, source=name))), tree)
