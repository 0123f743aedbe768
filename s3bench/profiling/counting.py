"""Counts the calls of a client in one run, apart from everything that is timed."""

from dataclasses import replace
from pathlib import Path

from s3bench.bench.runner import ClientRunner, Conditions, Settings
from s3bench.clients.launch import PROBES
from s3bench.profiling.call_counts import CallCounts, parse_call_counts
from s3bench.profiling.probe_output import probe_output
from s3bench.results.measurement import Failure
from s3bench.run.inspection import Unavailable, inspection_variables

TIMEOUT_FACTOR = 20
"""A run whose calls are counted may take this many times the timeout."""

# Has a Python that reads PYTHONPATH, as that of aws-cli v1 does, count from its start on. Others ignore it.
_EARLY = ("/bin/sh", "-c", 'PYTHONPATH="$0${PYTHONPATH:+:$PYTHONPATH}" exec "$@"', str(PROBES / "early"))
_FILE = "call-counts"
_NO_PROBE = Unavailable(
    reason="calls are counted in clients written in Python alone, and by aws-cli only in commands that load its"
    " plug-ins"
)


def count_calls(
    runner: ClientRunner, settings: Settings, conditions: Conditions, directory: Path
) -> CallCounts | Failure | Unavailable:
    """Run it once; the probe writes to `directory`, which exists.

    `Unavailable` where the client has no probe that counts. Raises `MachineError` where what it wrote is unreadable.
    """
    file = directory / _FILE
    early = replace(conditions, prefix=(*_EARLY, *conditions.prefix))
    variables = inspection_variables(call_counts_file=file)
    written = probe_output(runner, settings, early, file, variables, timeout_factor=TIMEOUT_FACTOR)
    if isinstance(written, Failure):
        return written
    return parse_call_counts(written.decode("utf-8", "replace")) if written else _NO_PROBE
