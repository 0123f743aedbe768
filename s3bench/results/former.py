"""Load measurements as formats before version 5 of the results document had them: with all keys of `Measurement`.

Those that are not `LoadMeasurement`'s held nothing. They are accepted on reading, and dropped.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from s3bench.results.load import LoadMeasurement

_T = TypeVar("_T", bound=msgspec.Struct)


class FormerLoadMeasurement(LoadMeasurement, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A load measurement as it is read, of any version."""

    max_memory: None = None
    max_cpu: None = None
    p50_memory: None = None
    p95_memory: None = None
    p50_cpu: None = None
    p95_cpu: None = None
    first_client_invocation_time: None = None
    user_cpu_time: None = None
    system_cpu_time: None = None
    minor_faults: None = None
    major_faults: None = None
    voluntary_context_switches: None = None
    involuntary_context_switches: None = None
    requests_by_kind: dict[str, int] | None = None
    milestones: dict[str, None] | None = None
    wire: None = None
    harness: dict[str, int | None] | None = None
    network: tuple[Any, ...] = ()
    series: None = None
    requests: tuple[Any, ...] = ()
    requests_left_out: int = 0


def without_client_keys(read: Iterable[FormerLoadMeasurement]) -> tuple[LoadMeasurement, ...]:
    """The measurements as they are kept."""
    return tuple(recast(each, LoadMeasurement) for each in read)


def recast(read: msgspec.Struct, kind: type[_T]) -> _T:
    """An instance of `kind` with the values of `read`, whose type narrows or extends it."""
    return kind(**{name: getattr(read, name) for name in kind.__struct_fields__})
