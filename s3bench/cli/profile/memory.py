"""Looks at the memory of one client, or at what two hold differently at their peaks."""

from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from s3bench.bench.runner import Settings
from s3bench.cli.progress import Ticker
from s3bench.clients.client import ClientSpec
from s3bench.clients.registry import known_client
from s3bench.errors import ClientFailed, MachineError
from s3bench.profiling.allocations import AllocationProfile
from s3bench.profiling.explaining import PEAK_RUNS, Explainer
from s3bench.profiling.explanation import Explanation
from s3bench.profiling.memory import profile_memory
from s3bench.profiling.observed_change import ObservedChange, ProfiledSide
from s3bench.results.measurement import Failure
from s3bench.results.metrics import Unit
from s3bench.run.inspection import Unavailable

_UNSEEN = "the client's memory cannot be traced"
_NO_LIMIT_S = float("inf")


def refuse_native(clients: Sequence[ClientSpec]) -> None:
    """Raises `MachineError` for a client that is not written in Python."""
    for client in clients:
        if not known_client(client.kind).is_python:
            raise MachineError(
                _UNSEEN,
                f"{client.kind} is not written in Python, and tracemalloc sees only Python",
                f"measure its peak_memory: s3bench run --client {client}",
            )


def memory_of(side: ProfiledSide, settings: Settings, directory: Path) -> AllocationProfile:
    """What holds the memory of one client at its peak. Raises `ClientFailed` or `MachineError` where that fails."""
    match profile_memory(side.runner, settings, side.conditions, directory):
        case Failure(what=what, why=why):
            raise ClientFailed(what, why)
        case Unavailable(reason=reason, fix=fix):
            raise MachineError(_UNSEEN, reason, fix)
        case found:
            return found


def memory_difference(
    sides: Sequence[ProfiledSide], benchmark: str, settings: Settings, directory: Path, progress: Ticker
) -> Explanation:
    """What the candidate, the second side, holds more or less than the baseline at the peak.

    The change of the peak itself is measured afterwards. Raises `MachineError` where memory cannot be looked at.
    """
    explainer = Explainer(
        directory=directory,
        now=monotonic,
        say=lambda done: progress.update("runs of each side", done=done, total=PEAK_RUNS),
    )
    baseline, candidate = sides
    found = explainer.explain(
        ObservedChange(
            benchmark=benchmark,
            metric="peak_memory",
            unit=Unit.BYTES,
            change=None,
            baseline=baseline,
            candidate=candidate,
            settings=settings,
            until_s=_NO_LIMIT_S,
        )
    )
    if not found.is_compared:
        raise MachineError(_UNSEEN, "; ".join(found.notes))
    return found
