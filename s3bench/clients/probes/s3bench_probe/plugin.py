"""The aws-cli plug-in: marks milestones through the CLI's own event hooks.

Loaded by `[plugins]` of the config file, in AWS's frozen v2 build as in v1; imports nothing that the CLI has not
imported already. `first_client_invocation` is the first `before-call` event, as in aws-cli's own harness: the API call
is about to be made (with the CRT transfer client, about to be handed to it).
"""

from __future__ import annotations

import atexit
import os
import time
from typing import Any

from .milestones import MilestoneLog

_IMPORTED_NS = time.clock_gettime_ns(time.CLOCK_MONOTONIC)

# Events that every aws-cli has, v1 and v2: only a current v2 has one for a client that is finished.
_EVENTS = (
    ("building-command-table.main", "plugins_loaded"),
    ("creating-client-class", "client_created"),
    ("before-call", "first_client_invocation"),
)


def awscli_initialize(event_hooks: Any) -> None:
    """Register the hooks; the CLI calls this once, when all that it imports at start is imported."""
    milestones = MilestoneLog()
    milestones.mark("imports_done", _IMPORTED_NS)
    for event, name in _EVENTS:
        event_hooks.register_last(event, _Mark(milestones, name))
    atexit.register(milestones.mark, "exit")
    if os.environ.get("S3BENCH_STUB_SCRIPT"):
        from .stubbing import install  # noqa: PLC0415 (only when asked for: its imports would be the client's time)

        install()
    if os.environ.get("S3BENCH_MODULES_FILE"):
        from . import inspection  # noqa: PLC0415 (as above)

        inspection.install()
    if os.environ.get("S3BENCH_CALL_COUNTS_FILE"):
        from . import call_counts  # noqa: PLC0415 (as above)

        call_counts.install("plug-in")
    if os.environ.get("S3BENCH_ALLOCATIONS_FILE"):
        from . import allocations  # noqa: PLC0415 (as above)

        allocations.install("plug-in")
    if os.environ.get("S3BENCH_FAULT_INJECTION"):
        from . import fault_injection  # noqa: PLC0415 (as above)

        fault_injection.play()


class _Mark:
    """A hook that marks its milestone. It stays: each API client has its own copy of the hooks."""

    def __init__(self, milestones: MilestoneLog, name: str) -> None:
        self._milestones = milestones
        self._name = name

    def __call__(self, **_: Any) -> None:
        self._milestones.mark(self._name)
