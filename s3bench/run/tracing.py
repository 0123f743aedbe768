"""Counts the system calls and opened files of one run of a client, with strace(1).

Two runs of the same program give the same: calls that depend on time alone are counted apart, and names made up for one
run are replaced by stable ones.
"""

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from s3bench.run.inspection import Unavailable, fixed_addresses, try_out

TIMING_DEPENDENT = frozenset(
    {
        # Waiting for another thread, for the network or for time: as often as the scheduler has it.
        *("futex", "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6"),
        *("nanosleep", "clock_nanosleep", "sched_yield", "restart_syscall", "wait4", "waitid", "pause"),
        # A stream comes in as many pieces as the network makes of it.
        *("read", "readv", "recvfrom", "recvmsg", "recvmmsg", "write", "writev", "sendto", "sendmsg", "sendfile"),
        # What event loops set and take down between two waits; a process may end before its threads have cleaned up.
        *("epoll_ctl", "timerfd_settime", "ioctl", "close"),
        # SQLite locks and looks again when threads meet at one database: aws-cli v2 keeps its session in one.
        *("fcntl", "fstat"),
        # The allocator gives threads arenas of their own when they meet, and takes memory back when it is free.
        *("mmap", "munmap", "mremap", "mprotect", "madvise", "brk"),
        # Signals: Go's scheduler interrupts its threads by them; what comes late comes together.
        *("rt_sigreturn", "rt_sigprocmask", "rt_sigaction", "tgkill", "tkill", "sigaltstack", "getpid", "gettid"),
        # Threads that are started when there is more to do than threads that are free.
        *("clone", "clone3", "set_robust_list", "rseq", "exit", "sched_getaffinity", "prctl"),
        # Clocks that are no vDSO's on this machine.
        *("clock_gettime", "gettimeofday", "time", "times", "getrusage"),
        # Bytes of randomness are drawn in as many pieces as a cache of them is short.
        "getrandom",
    }
)
"""System calls whose number differs between two runs of the same program; they are left out of exact comparisons."""

_OPENING = ("open", "openat", "openat2", "creat")
_STARTED = re.compile(r"(\d+) +([a-z_0-9]+)\(")
_RESUMED = re.compile(r"(\d+) +<\.\.\. ([a-z_0-9]+) resumed>")
_OPENED = re.compile(r"\) += \d+<(.*)>(?:\(deleted\))?$")
_RESTARTED = re.compile(r"\) += \? ERESTART")
_ESCAPE = re.compile(r'\\(x[0-9a-f]{2}|[0-7]{1,3}|[abfnrtv"\\])')
_LETTERS = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, '"': 34, "\\": 92}

# Names made up anew in each run. Python's byte-code is written beside its place under a number first (importlib);
# s3transfer downloads to NAME.8 hex digits, Go programs (os.CreateTemp, below one of our roots) to NAME and a number;
# tempfile's names have 8 characters.
_MADE_UP = (
    (re.compile(r"\.pyc\.\d+$"), ".pyc.$NUMBER"),
    (re.compile(r"\.[0-9a-fA-F]{8}$"), ".$RANDOM"),
    (re.compile(r"^(\$.*[^/\d])\d{7,10}$"), r"\1$RANDOM"),
    (re.compile(r"/tmp[a-z0-9_]{8}(?=/|$)"), "/$RANDOM"),  # noqa: S108 (a pattern, not a place to write)
    (re.compile(r"^/proc/\d+(?=/|$)"), "/proc/$PID"),
    (re.compile(r"/task/\d+(?=/|$)"), "/task/$TID"),
    (re.compile(r"^(pipe|socket|anon_inode):.*"), r"\1"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracer:
    """An strace that works here. `warnings` tells what makes its counts less steady than they could be."""

    executable: str
    addresses: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def prefix(self, output: Path) -> tuple[str, ...]:
        """Make what goes before a command's argv to have it traced, with all its children, into `output`.

        Every call is traced, its arguments undecoded but for those that open files: fewer bytes, and no reading of the
        client's memory. File descriptors have their paths beside them (-y), so a file's real name is known whatever
        the current directory and links.
        """
        shown = ",".join(f"?{name}" for name in _OPENING)
        return (
            *self.addresses,
            self.executable,
            "-f",
            "-y",
            "-qq",
            "-s",
            "0",
            "-e",
            f"raw=!{shown}",
            "-o",
            str(output),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """What one run did. `system_calls` counts them by name; `files_opened` are the paths opened at least once, sorted.

    Directories and devices that were opened are among the files.
    """

    system_calls: Mapping[str, int]
    files_opened: tuple[str, ...]


def find_tracer() -> Tracer | Unavailable:
    """Find out whether programs can be traced here, by tracing one."""
    strace = shutil.which("strace")
    if strace is None:
        return Unavailable(
            reason="strace is not installed",
            fix="`apt-get install strace` (Debian, Ubuntu) or `dnf install strace` (Fedora, Amazon Linux)",
        )
    addresses = fixed_addresses()
    if isinstance(addresses, Unavailable):
        tracer = Tracer(executable=strace, warnings=(str(addresses),))
    else:
        tracer = Tracer(executable=strace, addresses=addresses)
    with tempfile.TemporaryDirectory(prefix="s3bench-strace-") as directory:
        output = Path(directory) / "trace"
        complaint = try_out((*tracer.prefix(output), "true"))
        if complaint is None and output.is_file() and parse_strace(output.read_text("utf-8"), roots={}).files_opened:
            return tracer
    return Unavailable(
        reason=f"strace does not work here ({complaint or 'it saw nothing'})",
        fix="allow the system call ptrace: in a container, `--cap-add SYS_PTRACE`",
    )


def parse_strace(text: str, *, roots: Mapping[str, str]) -> Traced:
    """Read what `Tracer.prefix` had strace write.

    `roots` replaces the beginnings of paths, such as `{"/tmp/x/work": "$WORK", "/tmp/x/home": "$HOME"}`, the longest
    first; give the client's own directory too where two of them are compared. Calls that the kernel restarts of itself
    after a signal count once.
    """
    calls: Counter[str] = Counter()
    paths = set()
    for name, count, path in _events(text):
        calls[name] += count
        if path is not None:
            paths.add(path)
    ordered = sorted(roots.items(), key=lambda root: -len(root[0]))
    return Traced(
        system_calls={name: calls[name] for name in sorted(calls) if calls[name]},
        files_opened=tuple(sorted({_stable(path, ordered) for path in paths})),
    )


def _events(text: str) -> Iterator[tuple[str, int, str | None]]:
    """For each line that starts or ends a call: its name, by how many that changes its count, and the file it opened.

    Signals (`---`), ends (`+++`) and calls that strace could not name (`????`) are no calls of the program's.
    """
    for line in text.splitlines():
        started = _STARTED.match(line)
        found = started or _RESUMED.match(line)
        if found is None:
            continue
        name = found[2]
        opened = _OPENED.search(line) if name in _OPENING else None
        again = _RESTARTED.search(line) is not None
        yield name, bool(started) - again, _unescaped(opened[1]) if opened else None


def _unescaped(text: str) -> str:
    def byte(found: re.Match[str]) -> bytes:
        code = found[1]
        if code[0] == "x":
            return bytes([int(code[1:], 16)])
        return bytes([_LETTERS[code] if code in _LETTERS else int(code, 8) & 0xFF])

    parts, end = [], 0
    for found in _ESCAPE.finditer(text):
        parts += [text[end : found.start()].encode(), byte(found)]
        end = found.end()
    return b"".join((*parts, text[end:].encode())).decode("utf-8", "backslashreplace")


def _stable(path: str, roots: list[tuple[str, str]]) -> str:
    for root, placeholder in roots:
        if path == root or path.startswith(root.rstrip("/") + "/"):
            path = placeholder + path[len(root.rstrip("/")) :]
            break
    for pattern, replacement in _MADE_UP:
        path = pattern.sub(replacement, path)
    return path
