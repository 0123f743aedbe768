"""The one way to a terminal: whatever writes, no control of an untrusted text gets through."""

import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest
from rich.live import Live
from rich.text import Text

from s3bench.cli.console import stderr_console
from s3bench.cli.doctor import action
from s3bench.cli.main import s3bench_command
from s3bench.cli.progress import ticker_for
from s3bench.cli.streams import print_styled, print_whole, safe_streams
from s3bench.errors import MachineError
from s3bench.results.file import write_document
from tests.report.runs import two_clients

_HOSTILE = "\x1b]0;title\x07\x9b2J\u202e\udcff"
_SHOWN = "\\u001b]0;title\\u0007\\u009b2J\\u202e\\udcff"


class Terminal(io.BytesIO):
    """The bytes of a stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True

    @property
    def text(self) -> str:
        return self.getvalue().decode()


@contextmanager
def one_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """Have stdout and stderr on one terminal, as `main` has them."""
    shared = Terminal()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shared, encoding="ascii"))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(shared, encoding="ascii"))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with safe_streams():
        yield shared


def test_whatever_prints_shows_controls_as_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    with one_terminal(monkeypatch) as terminal:
        click.echo(_HOSTILE)
        click.echo(_HOSTILE, err=True)
        print(_HOSTILE, file=sys.stderr)  # noqa: T201 (that new code may do so)
        sys.stdout.write(f"{_HOSTILE}\n")
        click.UsageError(_HOSTILE).show()
    assert terminal.text.count(_SHOWN) == 5
    assert "\x1b" not in terminal.text


def test_reports_keep_their_styles_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with one_terminal(monkeypatch) as terminal:
        print_styled(f"\x1b[31mred\x1b[0m {_HOSTILE}")
    assert terminal.text == f"\x1b[31mred\x1b[0m {_SHOWN}"


@pytest.mark.parametrize("command", ["report results.json", "doctor"])
def test_the_tables_of_a_command_are_styled_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    write_document(two_clients(), tmp_path / "results.json", durable=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(action, "tool_findings", lambda: ())
    with one_terminal(monkeypatch) as terminal:
        s3bench_command.main(command.split(), standalone_mode=False)
    assert "\x1b[" in terminal.text
    assert "\\u001b" not in terminal.text


def test_a_table_that_stdout_does_not_take_is_kept_as_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    fixes = []
    for unsaved in (None, lambda: b"{}"):
        with Path("/dev/full").open("w") as full:
            monkeypatch.setattr(sys, "stdout", full)
            with safe_streams(), pytest.raises(MachineError) as failed:
                print_styled("FAIL", unsaved=unsaved)
        fixes.append(failed.value.fix)
    (saved,) = tmp_path.iterdir()
    assert saved.read_bytes() == b"{}"
    assert fixes == ["redirect it to a disk with free space", f"the results were saved in {saved}"]


def test_documents_stay_json_and_bytes_that_are_no_utf_8_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with one_terminal(monkeypatch) as terminal:
        print_whole('["\x9b\u202eü"]\n'.encode())
        print_whole(b"\xff")
    assert terminal.text == '["\\u009b\\u202eü"]\n\\xff'


def test_bars_and_live_views_move_the_cursor_and_their_texts_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with one_terminal(monkeypatch) as terminal:
        with ticker_for(quiet=False) as ticker:
            ticker.update(_HOSTILE, done=1, total=2)
            ticker.say(_HOSTILE)
            click.echo(_HOSTILE, err=True)
        with Live(Text(_HOSTILE), console=stderr_console(), auto_refresh=False):
            pass
    assert "\x1b[?25l" in terminal.text  # rich hides the cursor
    for hostile in ("\x1b]0", "\x9b", "\u202e"):
        assert hostile not in terminal.text
    assert terminal.text.count("\\u202e") >= 4
