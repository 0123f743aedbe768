"""The record of a profile as versioned JSON: the stacks or the memory of one client, or what differs between two.

History of the format (`profile_version`):
1: the first.
2: `explanation` has the `interval` of its change, unless that was tested before, and `is_compared`.
"""

from typing import Any

import msgspec

from s3bench.profiling.allocations import AllocationProfile
from s3bench.profiling.explanation import Explanation
from s3bench.profiling.stack_profile import StackProfile
from s3bench.results.encoding import pretty_json
from s3bench.results.versioned import decode_versioned

RECORD_VERSION = 2


class ClientProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One client: its label, its stacks, and the total times of runs without the profiler, in seconds."""

    client: str
    stacks: StackProfile
    plain_times: tuple[float, ...] = ()


class ClientMemory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One client: its label, and what holds its memory at the peak."""

    client: str
    allocations: AllocationProfile


class ProfileRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Profiles of one benchmark: of one client, or of a baseline and a candidate with what differs between them.

    `profiler` is what sampled the stacks, or looked at the memory; then `profiles` is empty, and `memory` is there for
    one client. Times are UTC in ISO 8601; `machine` is as in a results document.
    """

    profile_version: int = RECORD_VERSION
    s3bench: str
    started_at: str
    command_line: tuple[str, ...] = ()
    machine: dict[str, Any] = {}
    warnings: tuple[str, ...] = ()
    benchmark: str
    profiler: str
    profiles: tuple[ClientProfile, ...] = ()
    memory: ClientMemory | None = None
    explanation: Explanation | None = None


def parse_profile(text: bytes, *, source: str) -> ProfileRecord:
    """Parse a record strictly. Raises `BadInput` with `source` and the JSON path of the error."""
    return decode_versioned(
        text,
        ProfileRecord,
        key="profile_version",
        newest=RECORD_VERSION,
        source=source,
        noun="record of a profile",
        fix="pass a file that `s3bench profile -o FILE` wrote",
    )


def encode_profile(record: ProfileRecord) -> bytes:
    """Encode as JSON, a line for each part of a profile."""
    return pretty_json(record, indent=0)
