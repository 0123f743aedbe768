"""Runs a client once with a probe that writes a file, apart from everything that is timed."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from s3bench.bench.runner import ClientRunner, Conditions, Settings
from s3bench.errors import MachineError
from s3bench.results.measurement import Failure
from s3bench.run.inspection import STEADY_VARIABLES

_SIZE_MAX_BYTES = 256 << 20


def probe_output(
    runner: ClientRunner,
    settings: Settings,
    conditions: Conditions,
    file: Path,
    variables: Mapping[str, str],
    *,
    timeout_factor: float,
) -> bytes | Failure:
    """Run it, and read what the probe wrote to `file`, in a directory that exists; empty if it wrote nothing.

    `variables` tell the probe what to do. The run may take `timeout_factor` times the timeout. Raises `MachineError`
    where the file is too large.
    """
    file.unlink(missing_ok=True)
    outcome = runner.run_once(
        0,
        replace(
            settings,
            interval_s=None,
            probes=True,
            measures_speed=False,
            keeps_timeline=False,
            timeout_factor=timeout_factor,
        ),
        file.name,
        replace(
            conditions,
            env={**conditions.env, **STEADY_VARIABLES, **variables},
            writable=(*conditions.writable, file.parent),
        ),
    )
    return outcome if isinstance(outcome, Failure) else _read(file)


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            data = stream.read(_SIZE_MAX_BYTES + 1)
    except FileNotFoundError:
        return b""
    if len(data) > _SIZE_MAX_BYTES:
        raise MachineError(
            f"the {file.name.replace('-', ' ')} of the client cannot be read",
            f"the file has more than {_SIZE_MAX_BYTES >> 20} MiB",
            "choose a benchmark that runs less code, such as one with fewer files",
        )
    return data
