"""Creates the files that clients keep outside of their workspaces, since `run.landlock` prevents them from doing so.

Python writes byte-code beside the modules that it imports; without it every run would compile them again. The AWS
Common Runtime keeps a lock file that shows whether another process is using it.
"""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from s3bench.clients.client import FoundClient
from s3bench.clients.identity import program_files
from s3bench.clients.interpreter import is_python, script_words
from s3bench.clients.launch import PROBES
from s3bench.clients.registry import known_client
from s3bench.errors import MachineError

CRT_LOCKS = Path("/tmp/aws_crt_cross_process_lock")  # noqa: S108 (its name is fixed in the CRT)
"""Where the CRT keeps its lock files (aws-c-common, source/posix/cross_process_lock.c). Clients may write there."""

_LOCK_TABLE = Path("/proc/locks")
_COMPILE_TIMEOUT_S = 300.0


def prepare_confinement(found: FoundClient) -> None:
    """Compile what `found` imports where its byte-code is missing or stale, and make the CRT's lock directory.

    Modules in read-only directories are left as they are. Raises as `program_files`.
    """
    try:
        CRT_LOCKS.mkdir(mode=0o777, exist_ok=True)
    except OSError as error:
        raise MachineError(f"cannot make {CRT_LOCKS}", str(error), "remove what is in its place") from error
    python = _interpreter(found)
    if python is not None:
        ours = [PROBES, known_client(found.kind).driver]
        probes = [path for folder in ours if folder is not None for path in folder.rglob("*.py")]
        modules = [path for path in (*program_files(found), *probes) if path.suffix == ".py"]
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                (python, "-I", "-m", "compileall", "-q", "-i", "-"),
                input=b"\n".join(map(os.fsencode, modules)),
                capture_output=True,
                timeout=_COMPILE_TIMEOUT_S,
                check=False,
            )


def lock_causes(name: str, *, table: Path = _LOCK_TABLE, locks: Path = CRT_LOCKS) -> tuple[str, ...]:
    """Which process holds the CRT's lock `name`; nothing if none does, or if the kernel does not list locks."""
    lock = locks / f"{name}.lock"
    try:
        inode = lock.stat().st_ino
        lines = table.read_text(encoding="ascii").splitlines()
    except OSError:
        return ()
    # "1: FLOCK  ADVISORY  WRITE 5653 fe:00:10002434 0 EOF"; an arrow comes before the kind if a process only waits.
    held = (words for line in lines if len(words := line.split()) > 5 and words[1] != "->")  # noqa: PLR2004 (see above)
    return tuple(
        f"process {words[4]} holds the CRT's lock {lock}, and the client runs Classic meanwhile: wait until it "
        "has ended, or end it"
        for words in held
        if words[5].rpartition(":")[2] == str(inode)
    )


def _interpreter(found: FoundClient) -> Path | None:
    if known_client(found.kind).driver is not None:
        return found.executable
    words = script_words(found.executable)
    return Path(words[0]) if words and is_python(Path(words[0])) else None
