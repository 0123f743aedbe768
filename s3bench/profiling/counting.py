"""Runs a client once with its calls counted, apart from everything that is timed."""

from dataclasses import replace
from pathlib import Path

from s3bench.bench.runner import ClientRunner, Conditions, Settings
from s3bench.clients.launch import PROBES
from s3bench.errors import MachineError
from s3bench.profiling.call_counts import CallCounts, parse_call_counts
from s3bench.results.measurement import Failure
from s3bench.run.inspection import STEADY_VARIABLES, Unavailable, inspection_variables

TIMEOUT_FACTOR = 20
"""A run whose calls are counted may take this many times the timeout."""

# Has a Python that reads PYTHONPATH, as that of aws-cli v1 does, count from its start on. Others ignore it.
_EARLY = ("/bin/sh", "-c", 'PYTHONPATH="$0${PYTHONPATH:+:$PYTHONPATH}" exec "$@"', str(PROBES / "early"))
_FILE = "call_counts"
_SIZE_MAX_BYTES = 256 << 20


def count_calls(
    runner: ClientRunner, settings: Settings, conditions: Conditions, directory: Path
) -> CallCounts | Failure | Unavailable:
    """Run it once; the probe writes to `directory`, which exists.

    `Unavailable` where the client has no probe that counts. Raises `MachineError` where what it wrote is unreadable.
    """
    file = directory / _FILE
    file.unlink(missing_ok=True)
    outcome = runner.run_once(
        0,
        replace(
            settings,
            interval_s=None,
            probes=True,
            measures_speed=False,
            keeps_timeline=False,
            timeout_s=settings.timeout_s * TIMEOUT_FACTOR,
        ),
        "call-counts",
        replace(
            conditions,
            prefix=(*_EARLY, *conditions.prefix),
            env={**conditions.env, **STEADY_VARIABLES, **inspection_variables(call_counts_file=file)},
            writable=(*conditions.writable, directory),
        ),
    )
    return outcome if isinstance(outcome, Failure) else _read(file)


def _read(file: Path) -> CallCounts | Unavailable:
    try:
        with file.open("rb") as stream:
            data = stream.read(_SIZE_MAX_BYTES + 1)
    except FileNotFoundError:
        data = b""
    if not data:
        return Unavailable(
            reason="calls are counted in clients written in Python alone, and by aws-cli only in commands that load"
            " its plug-ins"
        )
    if len(data) > _SIZE_MAX_BYTES:
        raise MachineError(
            "the call counts of the client cannot be read",
            f"the file has more than {_SIZE_MAX_BYTES >> 20} MiB",
            "count a benchmark with fewer different calls",
        )
    return parse_call_counts(data.decode("utf-8", "replace"))
