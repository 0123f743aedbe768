"""Servers to be loaded, each with a ruler of its own: how much of objects it has moved, by the server's own count.

For load_throughput.py. What a tool says of itself is not believed; what the server answered well counts, in the same
way for every tool. Our emulator counts bodies and is asked over its control channel; versitygw writes a line a request
into its access log. `steady` cuts start-up, listing and the end out of what was seen.
"""

import contextlib
import itertools
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import boto3
import psutil
from botocore.config import Config
from peers import free_port, serving

from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint

ACCESS_KEY, SECRET_KEY, REGION = "benchmark", "not-a-secret-at-all", "us-east-1"
BUCKET = "bucket"
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 (the memory itself is wanted; all is made below a directory of our own)

_EDGE = 0.1
_LINE = re.compile(rb" s3_(Get|Put)Object [^\n]*? (\d{3}) [^\n]*\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What was read and written of objects since the server began, in the unit of who counts."""

    read: int
    written: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A running server. `count` tells what it has moved; in bytes where `in_bytes`, else in objects.

    It speaks TLS where there is a `ca_bundle`.
    """

    name: str
    url: str
    count: Callable[[], Moved]
    in_bytes: bool
    ca_bundle: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What had been moved at a moment, and the CPU time that a tool had used for it."""

    at_s: float
    amount: int
    cpu_s: float


def steady(samples: list[Sample]) -> Sample:
    """Return what was moved between the moments at which a tenth and nine tenths of all was, and what that took.

    Where too little was moved to tell these apart, all of it and the time in which it was moved.
    """
    first, last = samples[0].amount, samples[-1].amount
    low, high = first + (last - first) * _EDGE, last - (last - first) * _EDGE
    inside = [sample for sample in samples if low <= sample.amount <= high]
    begin, amount = inside[0] if inside else samples[0], inside[-1].amount if inside else last
    if begin.amount == amount:
        begin, amount = [sample for sample in samples if sample.amount == first][-1], last
    # Where little moves, most samples repeat the one before: what counts is when an amount was first seen.
    end = next(sample for sample in samples if sample.amount == amount)
    return Sample(at_s=end.at_s - begin.at_s, amount=amount - begin.amount, cpu_s=end.cpu_s - begin.cpu_s)


class CpuTime:
    """The CPU time of programs and of all that they started; who is there is looked at twice a second."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._roots = tuple(map(psutil.Process, pids))
        self._members: tuple[psutil.Process, ...] = ()
        self._used_s: dict[int, float] = {}
        self._look_s = 0.0

    def __call__(self) -> float:
        """Seconds, of those that have ended as well."""
        now_s = time.perf_counter()
        if now_s >= self._look_s:
            self._members = (*self._roots, *itertools.chain.from_iterable(map(_started_by, self._roots)))
            self._look_s = now_s + 0.5
        for member in self._members:
            with contextlib.suppress(psutil.Error):
                times = member.cpu_times()
                self._used_s[member.pid] = times.user + times.system
        return sum(self._used_s.values())


def _started_by(root: psutil.Process) -> list[psutil.Process]:
    try:
        return root.children(recursive=True)
    except psutil.Error:
        return []


@contextlib.contextmanager
def emulator(directory: Path, *, tls: bool = False) -> Iterator[Served]:
    """Our S3 in memory; it asks for no particular keys."""
    directory.mkdir()
    with EmulatorEndpoint(directory=directory, tls=tls) as endpoint:
        endpoint.arm(EmulatorSettings(buckets=(BUCKET,)))

        def count() -> Moved:
            counters = endpoint.drain(requests_max=0).counters
            return Moved(read=counters.bytes_sent, written=counters.bytes_received)

        name = "emulator, TLS" if tls else "emulator"
        yield Served(name=name, url=endpoint.url, count=count, in_bytes=True, ca_bundle=endpoint.ca_bundle)


@contextlib.contextmanager
def versitygw(path: str) -> Iterator[Served]:
    """The gateway on files in memory; its access log, which grows all the time, is a file like any other."""
    parent = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    with (
        tempfile.TemporaryDirectory(prefix="s3bench-load-", dir=parent) as root,
        tempfile.TemporaryDirectory(prefix="s3bench-load-") as logs,
    ):
        log = Path(logs, "access.log")
        port = free_port()
        listening = ["--port", f"127.0.0.1:{port}", "--keep-alive", "--quiet", "--access-log", str(log)]
        keys = {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
        with serving([path, *listening, "posix", root], port, keys):
            url = f"http://127.0.0.1:{port}"
            client(url).create_bucket(Bucket=BUCKET)
            yield Served(name="versitygw", url=url, count=AccessLog(log).count, in_bytes=False)


class AccessLog:
    """Counts the lines of objects that were read or written well."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""
        self._read = 0
        self._written = 0

    def count(self) -> Moved:
        """Take in what was appended since the last time."""
        with self._path.open("rb") as file:
            file.seek(self._offset)
            appended = file.read()
        self._offset += len(appended)
        whole, newline, rest = (self._rest + appended).rpartition(b"\n")
        self._rest = rest
        for verb, status in _LINE.findall(whole + newline):
            if status.startswith(b"2"):
                self._read += verb == b"Get"
                self._written += verb == b"Put"
        return Moved(read=self._read, written=self._written)


def client(url: str, ca_bundle: Path | None = None) -> "boto3.client":
    """A client of boto3's for what is to be prepared."""
    return boto3.client(
        "s3",
        endpoint_url=url,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        region_name=REGION,
        verify=None if ca_bundle is None else str(ca_bundle),
        config=Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required"),
    )


def keyed(url: str, ca_bundle: Path | None = None) -> dict[str, str]:
    """The environment in which every tool runs: keys, region, endpoint and trust, and nothing of the user's."""
    trust = {} if ca_bundle is None else dict.fromkeys(("AWS_CA_BUNDLE", "SSL_CERT_FILE"), str(ca_bundle))
    return {
        "PATH": os.environ["PATH"],
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "S3_ENDPOINT_URL": url,
        **trust,
    }


def watch(
    served: Served, *, read: bool, until: Callable[[], bool], used: Callable[[], float], interval_s: float = 0.05
) -> list[Sample]:
    """Look at what is moved, and what CPU time is used, until `until`, bounded by whoever gives that."""
    samples = []
    while True:
        over = until()
        moved = served.count()
        samples.append(Sample(at_s=time.perf_counter(), amount=moved.read if read else moved.written, cpu_s=used()))
        if over:
            return samples
        time.sleep(interval_s)
