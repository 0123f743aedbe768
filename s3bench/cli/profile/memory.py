"""Looks at the memory of one client, or at what two hold differently at their peaks."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import monotonic

from s3bench.bench.runner import Settings
from s3bench.cli.progress import Ticker
from s3bench.errors import ClientFailed, MachineError
from s3bench.profiling.allocations import AllocationProfile
from s3bench.profiling.explaining import Explainer
from s3bench.profiling.explanation import Explanation
from s3bench.profiling.memory import profile_memory
from s3bench.profiling.observed_change import ObservedChange, ProfiledSide
from s3bench.results.measurement import Failure
from s3bench.results.metrics import Unit
from s3bench.run.inspection import Unavailable

_PLAIN_RUNS = 5
_NO_LIMIT_S = float("inf")


def memory_of(side: ProfiledSide, settings: Settings, directory: Path) -> AllocationProfile:
    """What holds the memory of one client at its peak. Raises `ClientFailed` or `MachineError` where that fails."""
    match profile_memory(side.runner, settings, side.conditions, directory):
        case Failure(what=what, why=why):
            raise ClientFailed(what, why)
        case Unavailable(reason=reason, fix=fix):
            raise MachineError("memory cannot be looked at here", reason, fix)
        case found:
            return found


def memory_difference(
    sides: Sequence[ProfiledSide], benchmark: str, settings: Settings, directory: Path, progress: Ticker
) -> Explanation:
    """What the candidate, the second side, holds more or less than the baseline at the peak.

    The change of the peak itself is that of runs in turn in which nothing else is looked at.
    """
    peaks: tuple[list[float], list[float]] = ([], [])
    for number in range(_PLAIN_RUNS):
        progress.update("runs of each side", done=number, total=_PLAIN_RUNS)
        for side, found in zip(sides, peaks, strict=True):
            outcome = side.runner.run_once(number, settings, "plain", side.conditions)
            if isinstance(outcome, Failure):
                raise ClientFailed(outcome.what, outcome.why)
            if outcome.peak_memory is None:
                raise MachineError("the peak memory of this client is not known here")
            found.append(float(outcome.peak_memory))
    baseline, candidate = sides
    return Explainer(directory=directory, now=monotonic).explain(
        ObservedChange(
            benchmark=benchmark,
            metric="peak_memory",
            unit=Unit.BYTES,
            change=median(peaks[1]) - median(peaks[0]),
            baseline=baseline,
            candidate=candidate,
            settings=settings,
            until_s=_NO_LIMIT_S,
        )
    )
