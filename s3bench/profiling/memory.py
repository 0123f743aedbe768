"""Runs a client with its memory looked at, apart from everything that is timed."""

from pathlib import Path

import msgspec

from s3bench.bench.runner import ClientRunner, Conditions, Settings
from s3bench.profiling.allocations import AllocationProfile, ProbeReport, parse_probe_report
from s3bench.profiling.probe_output import probe_output
from s3bench.results.measurement import Failure
from s3bench.run.inspection import Unavailable, inspection_variables

TIMEOUT_FACTOR = 60
"""A run whose memory is looked at may take this many times the timeout."""

_ATTEMPTS = 3
_FILE = "allocations"
_NO_PROBE = Unavailable(
    reason="memory is looked at in clients written in Python alone, and in aws-cli only in commands that load its"
    " plug-ins"
)
_NO_PEAK = Unavailable(reason="the client's peak memory is below that of the process that starts it")
_UNSTEADY = Unavailable(reason="the client does not reach its peak memory at the same call in each run")


def profile_memory(
    runner: ClientRunner, settings: Settings, conditions: Conditions, directory: Path
) -> AllocationProfile | Failure | Unavailable:
    """Run it twice: once to learn when it reaches its peak, and then to look at what holds the memory there.

    The probe writes to `directory`, which exists. Where no moment comes in the second run, both are repeated.
    `Unavailable` where the client has no probe. Raises `MachineError` where what it wrote is unreadable.
    """
    for _ in range(_ATTEMPTS):
        learned = _run(runner, settings, conditions, directory / _FILE, "")
        if not isinstance(learned, ProbeReport):
            return learned
        if not learned.moments:
            return _NO_PEAK
        moments = msgspec.json.encode(learned.moments).decode()
        looked = _run(runner, settings, conditions, directory / _FILE, moments)
        if not isinstance(looked, ProbeReport):
            return looked
        if looked.taken_bytes:
            return looked.profile(peak_bytes=learned.peak_bytes)
    return _UNSTEADY


def _run(
    runner: ClientRunner, settings: Settings, conditions: Conditions, file: Path, moments: str
) -> ProbeReport | Failure | Unavailable:
    variables = inspection_variables(allocations_file=file, allocations_moments=moments)
    written = probe_output(runner, settings, conditions, file, variables, timeout_factor=TIMEOUT_FACTOR)
    if isinstance(written, Failure):
        return written
    return parse_probe_report(written) if written else _NO_PROBE
