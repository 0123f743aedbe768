"""What every document and record says of its origin: the version, the time, the command line and the machine."""

import sys
from datetime import UTC, datetime
from typing import Any, TypedDict

import msgspec

import s3bench
from s3bench.cli.sandbox import confinement_warnings
from s3bench.results.document import render_time
from s3bench.results.redaction import redact
from s3bench.run.machine import machine_facts, machine_warnings


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
        machine=msgspec.to_builtins(facts), warnings=(*machine_warnings(facts), *confinement_warnings())
    )
