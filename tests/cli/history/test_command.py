"""`s3bench history`: what each command prints, keeps and refuses."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from s3bench.cli.history.command import history_group
from s3bench.errors import ExitCode, S3BenchError
from s3bench.results.document import encode_document
from tests.cli.conftest import Here
from tests.compare.documents import client, result
from tests.history.documents import full_after, text
from tests.report.loads import everything

HOSTILE = "=1+1\x1b[31m\u202e<script>\x00|" + "x" * 10**6


@dataclass(frozen=True)
class Finished:
    stdout: str
    stderr: str
    error: BaseException | None


History = Callable[..., Finished]


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """The commands, in a folder of documents, with a data folder of their own."""
    for day in (1, 2, 3):
        (tmp_path / f"{day}.json").write_bytes(text(result(of=client("s5cmd", f"2.{day}")), day=day))
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("S3BENCH_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments: str) -> Finished:
        finished = CliRunner().invoke(history_group, list(arguments))
        return Finished(stdout=finished.stdout, stderr=finished.stderr, error=finished.exception)

    return run


def identities(history: History) -> list[str]:
    return [entry["identity"] for entry in json.loads(history("list", "--json").stdout)]


def refused(finished: Finished) -> S3BenchError:
    assert isinstance(finished.error, S3BenchError)
    assert finished.error.exit_code is ExitCode.BAD_INPUT
    assert finished.stdout == ""
    return finished.error


def test_documents_are_added_once_to_the_history_in_the_data_folder(history: History, tmp_path: Path) -> None:
    first, again = history("add", "1.json", "2.json"), history("add", "2.json", "3.json")
    assert [line.split()[1:] for line in first.stdout.splitlines()] == [["added", "1.json"], ["added", "2.json"]]
    assert [line.split()[1] for line in again.stdout.splitlines()] == ["known", "added"]
    assert (tmp_path / "share" / "s3bench" / "history.db").is_file()
    assert len(identities(history)) == 3


def test_one_broken_file_among_several_and_none_is_added(history: History, tmp_path: Path) -> None:
    assert "broken.json is not JSON" in refused(history("add", "1.json", "broken.json", "2.json")).what
    assert "cannot read missing.json" in refused(history("add", "1.json", "missing.json")).what
    assert not (tmp_path / "share").exists()


def test_the_json_of_add_names_file_and_identity(history: History) -> None:
    rows = json.loads(history("add", "--json", "1.json", "1.json").stdout)
    assert [(row["file"], row["is_new"]) for row in rows] == [("1.json", True), ("1.json", False)]
    assert identities(history) == [rows[0]["identity"]]


def test_a_run_that_has_not_ended_is_kept_with_a_word(history: History, tmp_path: Path) -> None:
    (tmp_path / "running.json").write_bytes(text(ended_at=None))
    finished = history("add", "running.json")
    assert "running.json: its run ended early, or is still running" in finished.stderr
    assert "added" in finished.stdout
    assert "\nended     no: ended early, or still running\n" in history("show", identities(history)[0]).stdout


def test_a_file_of_another_tool_without_an_end_is_not_called_unfinished(history: History, tmp_path: Path) -> None:
    (tmp_path / "foreign.json").write_bytes(text(ended_at=None, options={}))
    assert history("add", "foreign.json").stderr == ""
    assert "\nended     unknown\n" in history("show", identities(history)[0]).stdout


@pytest.fixture
def growing(history: History, tmp_path: Path) -> tuple[str, ...]:
    """Documents of which not all fit into what `full_after(pages=60)` leaves."""
    files = tuple(f"large-{day}.json" for day in range(1, 7))
    for day, file in enumerate(files, start=1):
        (tmp_path / file).write_bytes(text(*(result(name=f"n{number}") for number in range(40)), day=day))
    assert history("add", files[0]).error is None
    return files


def test_a_disk_that_becomes_full_leaves_what_was_added_and_says_how_much(
    history: History, growing: tuple[str, ...]
) -> None:
    with full_after(pages=60):
        finished = history("add", *growing)
    assert isinstance(finished.error, S3BenchError)
    assert finished.error.exit_code is ExitCode.CLIENT_FAILED
    stored = finished.stdout.splitlines()
    assert 1 < len(stored) < len(growing)
    assert len(identities(history)) == len(stored)
    assert finished.error.what == (
        f"{growing[len(stored)]} was not added; the {len(stored)} files before it are stored"
    )
    assert "database or disk is full" in finished.error.why
    assert "free space" in finished.error.fix


def test_the_json_of_an_add_that_failed_has_what_is_stored(history: History, growing: tuple[str, ...]) -> None:
    with full_after(pages=60):
        finished = history("add", "--json", *growing)
    assert isinstance(finished.error, S3BenchError)
    assert [row["identity"] for row in json.loads(finished.stdout)] == identities(history)


def test_where_the_first_document_has_no_room_nothing_was_changed(history: History, tmp_path: Path) -> None:
    history("add", "1.json")
    (tmp_path / "large.json").write_bytes(text(*(result(name=f"n{number}") for number in range(200)), day=2))
    with full_after(pages=30):
        error = history("add", "large.json").error
    assert isinstance(error, S3BenchError)
    assert error.what == "large.json was not added; nothing was changed"


def test_the_list_has_a_line_for_each_document_and_each_machine(history: History) -> None:
    history("add", "2.json", "1.json")
    lines = history("list").stdout.splitlines()
    assert " ".join(lines[0].split()) == "ID STARTED (UTC) MACHINE RESULTS FAILURES ENDED S3BENCH COMMIT CLIENTS"
    assert [line.split()[1:] for line in lines[1:3]] == [
        ["2026-11-01", "00:00", lines[4][:8], "1", "0", "yes", "0.1.0", "-", "s5cmd@2.1"],
        ["2026-11-02", "00:00", lines[4][:8], "1", "0", "yes", "0.1.0", "-", "s5cmd@2.2"],
    ]
    assert lines[4].endswith("Model 1, 2 cores, 8 GiB, Linux 6.1")


def test_in_a_narrow_terminal_columns_are_left_out(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    history("add", "1.json")
    lines = history("list").stdout.splitlines()
    assert max(map(len, lines[:2])) <= 70
    assert "COMMIT" not in lines[0]


def test_filters_narrow_the_list(history: History) -> None:
    history("add", "1.json", "2.json", "3.json")

    def found(*options: str) -> int:
        return len(json.loads(history("list", "--json", *options).stdout))

    assert found("--since", "2026-11-02") == 2
    assert found("--until", "2026-11-02T00:00+00:00") == 1
    assert found("--since", "2026-11-02T00:30+01:00") == 2
    assert found("--client", "s5cmd@2.3") == 1
    assert found("-k", "download and not s5cmd") == 0
    nothing = history("list", "-k", "nothing")
    assert (nothing.stdout, nothing.stderr) == ("", "no document matches\n")


def test_a_date_that_is_none_is_refused(history: History) -> None:
    assert "'soon' is not a date; write for example 2026-11-22" in history("list", "--since", "soon").stderr


def test_a_document_is_shown_as_a_table_and_as_json(history: History) -> None:
    history("add", "1.json")
    (identity,) = identities(history)
    shown = history("show", identity[:6]).stdout
    assert f"document  {identity}" in shown
    assert "s3.cp.download" in shown
    assert "525 ms" in shown
    parsed = json.loads(history("show", identity[:6], "--json").stdout)
    assert (parsed["entry"]["identity"], parsed["document"]["results"][0]["name"]) == (identity, "s3.cp.download")


def test_a_load_run_is_shown_as_one(history: History, tmp_path: Path) -> None:
    (tmp_path / "load.json").write_bytes(encode_document(everything()))
    history("add", "load.json")
    shown = history("show", identities(history)[0][:6]).stdout
    assert "p99" in shown
    assert "503 SlowDown" in shown


def test_exported_files_are_what_was_added_and_nothing_is_overwritten(history: History, tmp_path: Path) -> None:
    history("add", "1.json", "2.json")
    first, second = identities(history)
    (tmp_path / "out").mkdir()
    assert history("export", first[:8], "-o", "out").stdout == f"out/{first[:12]}.json\n"
    assert (tmp_path / "out" / f"{first[:12]}.json").read_bytes() == (tmp_path / "1.json").read_bytes()
    existing = refused(history("export", second, first, "-o", "out"))
    assert "exists" in existing.what
    assert existing.fix == "pass another folder with -o, or remove that file"
    assert "is not a directory" in refused(history("export", second, "-o", "nowhere")).what
    assert [file.name for file in (tmp_path / "out").iterdir()] == [f"{first[:12]}.json"]


def test_pruning_asks_for_a_yes(history: History) -> None:
    history("add", "1.json", "2.json", "3.json")
    dry = history("prune", "--keep-last", "2")
    assert dry.stderr == "1 document would be removed; nothing was changed; add --yes to remove\n"
    assert "2026-11-01" in dry.stdout
    assert len(identities(history)) == 3
    assert json.loads(history("prune", "--before", "2026-11-03", "--json").stdout)["is_done"] is False
    assert history("prune", "--before", "2026-11-03", "--yes").stderr == "2 documents removed\n"
    assert len(identities(history)) == 1
    assert "select the documents to remove" in refused(history("prune", "--yes")).what


def test_without_a_history_each_command_says_how_to_begin_one(history: History, tmp_path: Path) -> None:
    for command in (("list",), ("show", "abcd"), ("export", "abcd", "-o", "."), ("prune", "--keep-last", "1")):
        error = refused(history(*command))
        assert "there is no history at" in error.what
        assert error.fix == "create it with: s3bench history add results.json"
    assert not (tmp_path / "share").exists()


def test_nothing_named_is_nothing_done(history: History) -> None:
    assert "no results document was given" in refused(history("add")).what
    assert "no document was given" in refused(history("export", "-o", ".")).what


def test_another_store_is_a_path(history: History, tmp_path: Path) -> None:
    history("add", "1.json", "--store", "nightly.db")
    assert (tmp_path / "nightly.db").is_file()
    assert len(json.loads(history("list", "--json", "--store", "nightly.db").stdout)) == 1


def test_hostile_words_do_not_reach_the_terminal(history: History, tmp_path: Path) -> None:
    facts = {"product": HOSTILE, "git_commit": HOSTILE}
    hostile = text(result(of=client(HOSTILE, HOSTILE), name=HOSTILE), s3bench=HOSTILE, machine=facts)
    (tmp_path / "hostile.json").write_bytes(hostile)
    added = history("add", "hostile.json", "1.json", "2.json")
    listed = history("list")
    shown = history("show", identities(history)[0])
    assert (added.error, listed.error, shown.error) == (None, None, None)
    for output in (added.stdout, listed.stdout, shown.stdout):
        assert not {"\x1b", "\u202e", "\x00"} & set(output)
    assert len(listed.stdout) < 5000


def test_every_command_has_help_with_an_example() -> None:
    for name, command in history_group.commands.items():
        shown = command.get_help(click.Context(command, info_name=name))
        assert f"s3bench history {name} " in shown or f"s3bench history {name}\n" in shown
        assert "--store" in shown
        assert "--json" in shown


def test_the_command_itself_says_what_is_wrong_and_exits_2_without_the_password(here: Here, tmp_path: Path) -> None:
    (tmp_path / "1.json").write_bytes(text())
    store = "postgresql://me:geheim@host:port/x"
    finished = here("history", "add", "1.json", "--store", store, cwd=tmp_path)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.splitlines()[0] == "s3bench: --store: not a valid URL of a PostgreSQL database"
    assert "geheim" not in finished.stderr
