"""Which terminals are painted."""

import io
import sys

import pytest

from s3bench.cli.terminal import is_smart, stdout_paints


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("term", "smart"), [("xterm-256color", True), ("", True), ("dumb", False), ("unknown", False)])
def test_colors_and_bars_need_a_terminal_that_has_them(
    monkeypatch: pytest.MonkeyPatch, term: str, *, smart: bool
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert is_smart(Terminal()) is smart
    assert not is_smart(io.StringIO())
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert stdout_paints() is smart


@pytest.mark.parametrize(("value", "paints"), [("1", False), ("0", False), ("", True)])
def test_no_color_switches_off_colors_alone(monkeypatch: pytest.MonkeyPatch, value: str, *, paints: bool) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", value)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert stdout_paints() is paints
    assert is_smart(Terminal())
