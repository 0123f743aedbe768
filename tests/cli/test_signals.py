"""Signals that end a command: Ctrl-C, SIGTERM and a closed terminal."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from s3bench.cli.stop import StopSignal
from s3bench.results.file import read_document
from s3bench.results.measurement import Measurement
from tests.bench.scripted_bench import ScriptedBench, measured
from tests.cli.conftest import Here

INTERRUPTED = 130
RUN = ("run", "-q", "--client", "s5cmd", "-k", "upload and 4KB and cp and not 100 and not 5,000", "-n", "3")


@pytest.fixture(autouse=True)
def _hangup() -> Iterator[None]:
    """The tests' own answer to SIGHUP, which has to stay."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def signalled(number: signal.Signals) -> Measurement:
    os.kill(os.getpid(), number)
    return measured(0.1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_command_as_ctrl_c_does(
    here: Here, bench: ScriptedBench, tmp_path: Path, number: signal.Signals
) -> None:
    bench.script = lambda _: signalled(number) if len(bench.runs) == 2 else measured(0.1)
    finished = here(*RUN, "-o", str(tmp_path / "out.json"))
    assert finished.returncode == INTERRUPTED, finished.stderr
    (result,) = read_document(tmp_path / "out.json").results
    assert len(result.measurements) == 1


def test_a_command_started_by_nohup_outlives_the_terminal(here: Here, bench: ScriptedBench, tmp_path: Path) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    bench.script = lambda _: signalled(signal.SIGHUP)
    finished = here(*RUN, "-o", str(tmp_path / "out.json"))
    assert finished.returncode == 0, finished.stderr
    (result,) = read_document(tmp_path / "out.json").results
    assert len(result.measurements) == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_a_command_that_ends_in_an_orderly_way(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with StopSignal() as stop:
        assert not stop.wait(0)
        os.kill(os.getpid(), number)
        assert stop.wait(10)
    assert signal.getsignal(number) is before


def test_nohup_holds_for_a_command_that_ends_in_an_orderly_way() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with StopSignal() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stop.wait(0)
