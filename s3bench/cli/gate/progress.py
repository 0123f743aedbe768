"""The progress of a live gate: what it takes at most, its looks, and where the time goes."""

from collections.abc import Callable

from s3bench.cli.progress import Ticker
from s3bench.gate.evidence import Role
from s3bench.gate.live import GateStatus
from s3bench.units import render_duration

_SECONDS_UP_TO = 60


class GateProgress:
    """Shows each status of a gate that ends at `deadline_s` on the clock `now`."""

    def __init__(self, ticker: Ticker, *, deadline_s: float | None, now: Callable[[], float]) -> None:
        self._ticker = ticker
        self._deadline_s = deadline_s
        self._now = now
        self._look = 0
        self._is_planned = False
        self._is_alone = False
        self._is_counting = False
        self._is_explaining = False

    def show(self, status: GateStatus) -> None:
        """Show how far the gate is."""
        if status.at_most_s is not None and not self._is_planned:
            self._is_planned = True
            self._plan(status, status.at_most_s)
        if status.counting:
            self._say_counting(status)
        elif status.explaining:
            self._say_explaining(status)
        elif not status.look:
            self._ticker.update("warming up", done=0, total=None)
        elif status.undecided:
            self._say_look(status)
            doing = f"{status.alone}: " if status.alone else f"look {status.look} at "
            doing += f"{status.goal} pairs{self._left(status)}"
            self._ticker.update(doing, done=status.pairs_done, total=status.pairs_planned)

    def _plan(self, status: GateStatus, at_most_s: float) -> None:
        count = sum(cell.role is Role.BENCHMARK for cell in status.cells)
        controls = len(status.cells) - count
        what = f"{count} benchmark{'s' * (count != 1)}"
        what += f" and {controls} control{'s' * (controls != 1)}" if controls else ""
        takes = f"all pairs of {what} take at most {_whole(at_most_s)}"
        if self._deadline_s is None:
            self._ticker.say(takes)
            return
        left_s = max(self._deadline_s - self._now(), 0.0)
        self._ticker.say(f"{takes}; --max-time leaves {_whole(left_s)} for them")
        if status.late:
            late = f"the first look of {status.late} of {count} benchmarks"
            self._ticker.say(f"{late} does not fit into that time: the longest come last")

    def _say_look(self, status: GateStatus) -> None:
        what = "benchmark or control" if status.undecided == 1 else "benchmarks and controls"
        if status.alone:
            if not self._is_alone:
                self._ticker.say(
                    f"{status.undecided} {what} undecided: those that more pairs decide soonest come first"
                )
            self._is_alone = True
        elif status.look > self._look and not self._is_alone:
            self._look = status.look
            self._ticker.say(f"look {status.look}: {status.goal} pairs of {status.undecided} {what}")

    def _say_counting(self, status: GateStatus) -> None:
        if not self._is_counting:
            what = "benchmark whose" if status.counting == 1 else "benchmarks whose"
            self._ticker.say(f"counting instructions of {status.counting} {what} time is undecided")
        self._is_counting = True
        self._ticker.update("counting instructions", done=0, total=None)

    def _say_explaining(self, status: GateStatus) -> None:
        if not self._is_explaining:
            what = "change that FAILs" if status.explaining == 1 else "changes that FAIL"
            self._ticker.say(
                f"looking for the causes of {status.explaining} {what}; Ctrl-C ends it, the verdict stands"
            )
        self._is_explaining = True
        self._ticker.update("looking for causes", done=0, total=None)

    def _left(self, status: GateStatus) -> str:
        left_s = status.at_most_s
        if left_s is None:
            return ""
        if self._deadline_s is not None:
            left_s = max(min(left_s, self._deadline_s - self._now()), 0.0)
        return f", at most {_whole(left_s)} left"


def _whole(seconds: float) -> str:
    """Whole seconds up to a minute, which is as exact as a forecast is."""
    return f"{seconds:.0f} s" if seconds <= _SECONDS_UP_TO else render_duration(seconds)
