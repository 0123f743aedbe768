"""Our driver's process: reads the request, makes the client, runs the command, marks the milestones.

The request has `kind` (the client's name), `backend` (the directory with its module), `endpoint_url`, `ca_bundle`,
`region`, `site`, `settings` (of the config's `s3` block, sizes in bytes) and `command` (see `transfers`).
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from typing import Any

from .milestones import MilestoneLog

# site(3): the second on Debian.
_PACKAGES = ("site-packages", "dist-packages")


def main(request_text: str, started_ns: int) -> int:
    """Run the command; 0, or 1 with the reason on stderr."""
    milestones = MilestoneLog()
    milestones.mark("interpreter_start", started_ns)
    request = json.loads(request_text)
    if request["site"]:
        # Without the interpreter's own packages: they would stand in for those that the directory does not have.
        others = [place for place in sys.path if os.path.basename(place) not in _PACKAGES]
        sys.path[:] = [request["site"], *others]
    from . import transfers  # noqa: PLC0415 (after the first milestone)

    atexit.register(milestones.mark, "exit")
    if os.environ.get("S3BENCH_MODULES_FILE"):
        from . import inspection  # noqa: PLC0415 (only when asked for)

        inspection.install()
    if os.environ.get("S3BENCH_CALL_COUNTS_FILE"):
        from . import call_counts  # noqa: PLC0415 (as above)

        call_counts.install("imports")
    if os.environ.get("S3BENCH_ALLOCATIONS_FILE"):
        from . import allocations  # noqa: PLC0415 (as above)

        allocations.install("imports")
    backend = _backend(request, milestones)
    try:
        transfers.run(request["command"], backend)
    except Exception as error:  # noqa: BLE001 (whatever the SDK raises is the client's failure)
        sys.stderr.write(f"{type(error).__module__}.{type(error).__qualname__}: {error}\n")
        return 1
    return 0


def _backend(request: dict[str, Any], milestones: MilestoneLog) -> Any:
    sys.path.append(request["backend"])
    from s3bench_driver_backend import make_backend  # type: ignore[import-not-found,unused-ignore] # noqa: PLC0415 (imports the SDK under test)

    milestones.mark("imports_done")
    _plant()
    if os.environ.get("S3BENCH_STUB_SCRIPT"):
        from .stubbing import install  # noqa: PLC0415 (only when asked for)

        install()
    return make_backend(request, milestones)


def _plant() -> None:
    """Plant a known fault when told to: after the SDK's imports, as in aws-cli, so that a module more is one more."""
    if os.environ.get("S3BENCH_FAULT_INJECTION"):
        from .fault_injection import play  # noqa: PLC0415 (only when asked for)

        play()
