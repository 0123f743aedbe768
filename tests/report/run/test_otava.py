"""Runs for Apache Otava: rows and configuration fit each other, and Otava itself finds a change in them."""

import csv
import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from s3bench.errors import BadInput
from s3bench.report.run.otava import OTAVA_FILE, gaps_in_words, render_otava, render_otava_config
from s3bench.results.document import Client, Document, render_time
from tests.report.machine_samples import CLASSIC, CRT, EMPTY, hostile, measurement, result, run

TITLE = "s3.cp.upload FileSize=32MB cli-crt"


def rows(*documents: Document) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(render_otava(*documents), newline="")))


def at(document: Document, started_at: str) -> Document:
    return replace(document, started_at=started_at)


def test_a_document_is_a_row_of_medians() -> None:
    (row,) = rows(run())
    assert row["time"] == "2026-11-21T10:00:00.000Z"
    assert row["s3bench"] == "0.1.0"
    assert row[f"{TITLE} version"] == "2.38.5"
    assert row[f"{TITLE} total_time"] == "1.5"
    assert row[f"{TITLE} throughput"] == repr((32 << 20) / 1.5)


def test_metrics_without_a_better_and_figures_that_are_not_known_have_no_column() -> None:
    (row,) = rows(run())
    assert f"{TITLE} minor_faults" not in row
    assert f"{TITLE} wire.connections" not in row
    assert f"{TITLE} max_memory" in row


def test_rows_stand_in_the_order_of_their_times_and_versions_make_one_series() -> None:
    newer = Client(name="cli-crt", version="2.39.0", label="cli-crt@2.39.0")
    before = at(EMPTY.with_result(result("a", CRT, 1.0)), "2026-11-20T10:00:00.000Z")
    after = at(EMPTY.with_result(result("a", newer, 2.0)), "2026-11-21T10:00:00+01:00")
    first, second = rows(after, before)
    assert [each["a cli-crt version"] for each in (first, second)] == ["2.38.5", "2.39.0"]
    assert [each["a cli-crt total_time"] for each in (first, second)] == ["1.0", "2.0"]
    assert second["time"] == "2026-11-21T09:00:00.000Z"


def test_what_a_document_lacks_is_no_column_since_otava_takes_no_gaps() -> None:
    both = EMPTY.with_result(result("a", CRT, 1.0)).with_result(result("b", CRT, 1.0))
    (first, second) = rows(both, EMPTY.with_result(result("a", CRT, 2.0)))
    assert "a cli-crt total_time" in first
    assert "b cli-crt total_time" not in first
    assert all(first.values())
    assert all(second.values())


def test_a_metric_that_a_document_lacks_is_no_column() -> None:
    bare = replace(result("a", CRT), measurements=(replace(measurement(2.0), peak_memory=None),))
    (first, second) = rows(EMPTY.with_result(result("a", CRT, 1.0)), EMPTY.with_result(bare))
    assert "a cli-crt peak_memory" not in first
    assert [row["a cli-crt total_time"] for row in (first, second)] == ["1.0", "2.0"]


def test_versions_of_which_any_document_has_several_are_series_of_their_own_in_all_documents() -> None:
    newer = Client(name="cli-crt", version="2.39.0", label="cli-crt@2.39.0")
    old = [result("a", CRT, total_s) for total_s in (1.0, 1.1, 1.2)]
    new = [result("a", newer, total_s) for total_s in (2.0, 2.1)]
    documents = (
        at(EMPTY.with_result(old[0]).with_result(new[0]), "2026-11-20T10:00:00.000Z"),
        at(EMPTY.with_result(new[1]).with_result(old[1]), "2026-11-21T10:00:00.000Z"),
    )
    found = rows(*documents)
    assert [row["a cli-crt@2.38.5 total_time"] for row in found] == ["1.0", "1.1"]
    assert [row["a cli-crt@2.39.0 total_time"] for row in found] == ["2.0", "2.1"]
    assert [row["a cli-crt@2.39.0 version"] for row in found] == ["2.39.0", "2.39.0"]
    assert "a cli-crt total_time" not in found[0]
    alone = at(EMPTY.with_result(old[2]), "2026-11-22T10:00:00.000Z")
    assert [row["a cli-crt@2.38.5 total_time"] for row in rows(*documents, alone)] == ["1.0", "1.1", "1.2"]


def test_the_configuration_names_the_columns_that_are_there() -> None:
    (row,) = rows(run())
    tests = yaml.safe_load(render_otava_config(run()))["tests"]
    assert list(tests) == [TITLE, "s3.cp.upload FileSize=32MB cli-classic", "s3.mv cli-crt"]
    for test in tests.values():
        assert (test["type"], test["file"], test["time_column"]) == ("csv", "otava.csv", "time")
        assert set(test["attributes"]) <= set(row)
        assert {metric["column"] for metric in test["metrics"].values()} <= set(row)
    assert tests[TITLE]["metrics"]["total_time"]["direction"] == -1
    assert tests[TITLE]["metrics"]["throughput"]["direction"] == 1


def test_a_document_without_a_time_is_refused() -> None:
    with pytest.raises(BadInput, match="time"):
        render_otava(replace(run(), started_at=""))


def test_no_cell_of_a_hostile_document_is_a_formula() -> None:
    text = render_otava(hostile())
    for row in csv.reader(StringIO(text, newline="")):
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row)
    assert not set(text) & set("\x1b\x00\u202e\ud800")
    tests = yaml.safe_load(render_otava_config(hostile()))["tests"]
    assert len(tests) == 3
    assert {column for test in tests.values() for column in (m["column"] for m in test["metrics"].values())} <= set(
        rows(hostile())[0]
    )


@pytest.mark.parametrize(("version", "cell"), [("\uff1d1+1", "'\uff1d1+1"), ("-1.5", "-1.5"), ("-1.5.2", "'-1.5.2")])
def test_a_version_is_a_formula_in_no_width_and_a_number_is_left_as_it_is(version: str, cell: str) -> None:
    client = Client(name="cli-crt", version=version, label="cli-crt")
    (row,) = rows(EMPTY.with_result(result("a", client, 1.0)))
    assert row["a cli-crt version"] == cell


@settings(max_examples=30)
@given(st.text(), st.text())
def test_any_name_is_a_column_and_a_test(name: str, value: str) -> None:
    document = EMPTY.with_result(result(name, CRT, 1.0, dimension=value))
    (test,) = yaml.safe_load(render_otava_config(document))["tests"].values()
    assert rows(document)[0][test["metrics"]["total_time"]["column"]] == "1.0"


@pytest.mark.campaign
def test_otava_finds_the_change(tmp_path: Path) -> None:
    program = shutil.which("otava")
    if program is None:
        pytest.skip("otava is not in PATH: install apache-otava")
    now = datetime.now(UTC)
    documents = [
        at(
            EMPTY.with_result(result("a", CRT, (1.0 if number < 20 else 1.2) + number % 5 / 1000)).with_result(
                result("=b", CLASSIC, 1.0 + number % 5 / 1000)
            ),
            render_time(now - timedelta(days=40 - number)),
        )
        for number in range(40)
    ]
    config = tmp_path / "otava.yaml"
    (tmp_path / OTAVA_FILE).write_text(render_otava(*documents), newline="")
    config.write_text(render_otava_config(*documents))
    environment = os.environ | {"OTAVA_CONFIG": str(config), "HOME": str(tmp_path)}

    def told(test: str) -> str:
        command = [program, "analyze", test]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    changed = told("a cli-crt")
    assert any("+19" in line or "+20" in line for line in changed.splitlines())
    assert documents[20].started_at[:10] in changed
    assert "%" not in told("'=b cli-classic")


def test_documents_without_a_figure_in_common_are_refused() -> None:
    documents = [EMPTY.with_result(result(name, CRT, 1.0)) for name in ("a", "b")]
    for render, name in ((render_otava, "otava"), (render_otava_config, "otava-config")):
        with pytest.raises(BadInput) as refused:
            render(*documents)
        assert refused.value.what == f"nothing to write as {name}: the documents have no test and metric in common"
        assert refused.value.fix == "report the documents of one suite together"
        with pytest.raises(BadInput) as empty:
            render(EMPTY)
        assert empty.value.what == f"the document has nothing to write as {name}"


def test_what_not_all_documents_have_is_counted() -> None:
    first = EMPTY.with_result(result("a", CRT, 1.0)).with_result(result("b", CRT, 1.0))
    bare = replace(result("a", CRT), measurements=(replace(measurement(2.0), peak_memory=None),))
    second = EMPTY.with_result(bare).with_result(result("c", CRT, 1.0)).with_result(result("never", CRT))
    assert gaps_in_words([first, second]) == "2 tests and 1 more metric left out: not all documents have them"
    assert gaps_in_words([first, EMPTY.with_result(result("a", CRT, 1.0))]) == (
        "1 test left out: not all documents have them"
    )
    assert gaps_in_words([first, first]) == gaps_in_words([second]) == ""
