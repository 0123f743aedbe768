"""What every document and record says of its origin: the version, the time, the command line and the machine."""

import sys
from datetime import UTC, datetime
from typing import Any, TypedDict

import msgspec

import s3bench
from s3bench.cli.sandbox import confinement_warnings
from s3bench.results.document import render_time
from s3bench.results.redaction import redact
from s3bench.run import speed_probe
from s3bench.run.machine import machine_facts, machine_warnings
from s3bench.system.portable import IS_PORTABLE


class CommandOrigin(TypedDict):
    """The command that measured, by the keys of documents and records."""

    s3bench: str
    started_at: str
    command_line: tuple[str, ...]


class MachineOrigin(TypedDict):
    """The machine that was measured on, by the keys of documents and records."""

    machine: dict[str, Any]
    warnings: tuple[str, ...]


def command_origin() -> CommandOrigin:
    """Describe the command that is running, secrets taken out of its command line."""
    return CommandOrigin(
        s3bench=s3bench.__version__,
        started_at=render_time(datetime.now(UTC)),
        command_line=("s3bench", *redact(sys.argv[1:])),
    )


def machine_origin() -> MachineOrigin:
    """Describe this machine, with warnings about what disturbs measurements here."""
    facts = machine_facts()
    return MachineOrigin(
        machine=msgspec.to_builtins(facts),
        warnings=(*machine_warnings(facts), *_speed_warnings(), *confinement_warnings()),
    )


def _speed_warnings() -> tuple[str, ...]:
    reason = speed_probe.missing()
    if not reason or IS_PORTABLE:  # for which there is a warning already
        return ()
    return (f"the speed of the machine is not measured: {reason}; `s3bench doctor` says how to mend it",)
