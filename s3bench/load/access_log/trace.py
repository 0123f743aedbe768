"""The file that `s3bench load --trace` writes: a line of CSV for each attempt.

Requests are at the moments that were planned for them. Times begin anew with each phase, so only one phase can be
read: the first that is not the writing of a data set, whose lines are skipped. Lines of other phases are requests
without a kind. The start of a range is not recorded.
"""

import csv
from collections.abc import Callable

from s3bench.load.access_log.broken_line import BrokenLine
from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.load.access_log.whole_number import whole_number
from s3bench.load.operation import OperationKind

COLUMNS = (
    "worker", "phase", "planned_ns", "started_ns", "first_byte_ns", "ended_ns", "kind", "number", "key", "bytes",
    "outcome", "attempt", "connection",
)  # fmt: skip
"""`outcome` is the HTTP status, with S3's code where it reports an error, or what happened instead."""

EXAMPLE = ",".join(COLUMNS)

_BROKEN = "not an attempt of an s3bench trace"
_KINDS = {kind.value: kind for kind in OperationKind}
_WHOLE = frozenset({OperationKind.GET, OperationKind.PUT, OperationKind.MULTIPART_PART})


def data_set_phase(objects: int) -> str:
    """The name of the phase that writes a data set of so many objects."""
    return f"writing {objects:,} objects"


def is_data_set(phase: str) -> bool:
    """Whether a phase of a trace is the writing of a data set, which comes before what is measured."""
    return phase.startswith("writing ") and phase.endswith(" objects")


def parser() -> Callable[[str], LoggedRequest | None]:
    """The parser of a line, which raises `BrokenLine`; the header and the data set are no requests."""
    return _Parser().parse


class _Parser:
    """Remembers the phase that is read."""

    def __init__(self) -> None:
        self._phase: str | None = None

    def parse(self, line: str) -> LoggedRequest | None:
        if line == EXAMPLE:
            return None
        try:
            fields = next(csv.reader((line,)), []) if '"' in line else line.split(",")
        except csv.Error as error:
            raise BrokenLine(_BROKEN) from error
        if len(fields) != len(COLUMNS):
            raise BrokenLine(_BROKEN)
        _, phase, planned, started, _, ended, name, _, key, size, outcome, _, _ = fields
        kind: OperationKind | None = _KINDS.get(name)
        planned_ns, started_ns, ended_ns, size_bytes = map(whole_number, (planned, started, ended, size))
        if kind is None or planned_ns is None or started_ns is None or ended_ns is None or size_bytes is None:
            raise BrokenLine(_BROKEN)
        status = whole_number(outcome.partition(" ")[0])
        operation: str = name
        if is_data_set(phase):
            return None
        if not self._is_read(phase):
            kind, operation = None, f"{name} of another phase"
        elif status is None:
            kind, operation = None, f"{name} without a response"
        return LoggedRequest(
            at_s=planned_ns / 1e9,
            kind=kind,
            operation=operation,
            key=key,
            object_bytes=size_bytes if kind in _WHOLE else None,
            body_bytes=size_bytes,
            status=status or 0,
            elapsed_s=(ended_ns - started_ns) / 1e9,
        )

    def _is_read(self, phase: str) -> bool:
        if self._phase is None:
            self._phase = phase
        return phase == self._phase
