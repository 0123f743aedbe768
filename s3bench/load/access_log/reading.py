"""Reads a log line by line, in bounded memory: a file, a compressed one (`.gz`), or a folder of such files.

What cannot be understood is skipped and counted by kind, up to a limit.
"""

import gzip
import itertools
import re
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from s3bench.errors import BadInput
from s3bench.load.access_log.broken_line import BrokenLine
from s3bench.load.access_log.log_format import FORMATS, AccessLogFormat, detect, make_parser
from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.load.access_log.nginx import COMBINED
from s3bench.visible import visible

BROKEN_MIN = 100
BROKEN_SHARE = 0.01
"""A log may have this share of broken lines, and at least as many as `BROKEN_MIN`."""

_BLOCK_BYTES = 1024**2
_SAMPLE_LINES = 100
_RECORDS_BYTES_MAX = 256 * 1024**2
_RECORDS = re.compile(rb'\s*\{\s*"Records"\s*:\s*\[')


class _RecordsFile(msgspec.Struct, frozen=True):
    """A file as CloudTrail delivers it."""

    records: tuple[msgspec.Raw, ...] = msgspec.field(name="Records")


@dataclass(slots=True, kw_only=True)
class Skipped:
    """Broken lines of one kind: how many, and where the first is, such as `line 17`."""

    count: int
    first: str


@dataclass(slots=True, kw_only=True)
class ReadingReport:
    """What was read so far: `lines` that are not empty, the `requests` in them, and what was `skipped` by kind."""

    lines: int = 0
    requests: int = 0
    skipped: dict[str, Skipped] = field(default_factory=dict)

    @property
    def broken(self) -> int:
        """How many lines were skipped."""
        return sum(each.count for each in self.skipped.values())

    @property
    def words(self) -> tuple[str, ...]:
        """What was skipped, a sentence for each kind."""
        return tuple(
            f"{each.count:,} lines: {kind}, first at {each.first}" if each.count > 1 else f"{each.first}: {kind}"
            for kind, each in self.skipped.items()
        )


class LogReading:
    """A log that is read: iterate over its requests, as often as needed; `report` is that of the last iteration.

    Raises `BadInput` at the end of an iteration in which too many lines were broken.
    """

    def __init__(self, path: Path, log_format: AccessLogFormat, nginx_format: str) -> None:
        self.path = path
        self.format = log_format
        self.report = ReadingReport()
        self._parse = make_parser(log_format, nginx_format=nginx_format)

    def __iter__(self) -> Iterator[LoggedRequest]:
        report = self.report = ReadingReport()
        parse = self._parse
        for name, lines in _files(self.path):
            number = 0
            for line in lines:
                number += 1
                if not line:
                    continue
                report.lines += 1
                try:
                    request = parse(line)
                except BrokenLine as broken:
                    self._skip(broken.kind, f"{name}line {number:,}")
                    continue
                if request is not None:
                    report.requests += 1
                    yield request
        self._check()

    def _skip(self, kind: str, place: str) -> None:
        found = self.report.skipped.get(kind)
        if found is None:
            self.report.skipped[kind] = Skipped(count=1, first=place)
        else:
            found.count += 1

    def _check(self) -> None:
        report = self.report
        if not report.requests:
            raise _not_understood(self.path, f"no line of it has a request as in: {FORMATS[self.format].title}")
        if report.broken > max(BROKEN_MIN, BROKEN_SHARE * report.lines):
            raise BadInput(
                f"{visible(str(self.path))}: {report.broken:,} of {report.lines:,} lines are broken",
                "; ".join(report.words),
                f"pass the format if it is not {self.format}, or remove these lines; "
                f"{BROKEN_MIN} lines may be broken, or {BROKEN_SHARE:.0%} if that is more",
            )


def read_log(path: Path, log_format: AccessLogFormat | None = None, *, nginx_format: str = COMBINED) -> LogReading:
    """Open the log at `path`, in the format that is given, or that its first lines have.

    Raises `BadInput` if it cannot be read, if it is empty, or if no format fits.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise BadInput(
            f"{visible(str(path))}: the log is neither a file nor a folder",
            "it is read more than once: its first lines show its format",
            "write what a pipe or a device gives to a file, and pass that",
        )
    sample = _sample(path)
    if not sample:
        raise BadInput(f"{visible(str(path))}: the log is empty", fix=_expected())
    if log_format is None:
        log_format = detect(sample, nginx_format=nginx_format)
    if log_format is None:
        raise _not_understood(path, "its first lines are in none of the formats")
    return LogReading(path, log_format, nginx_format)


def _sample(path: Path) -> list[str]:
    """The first lines that are not empty."""
    lines = (line for _, lines in _files(path) for line in lines if line)
    return list(itertools.islice(lines, _SAMPLE_LINES))


def _files(path: Path) -> Iterator[tuple[str, Iterator[str]]]:
    """The lines of each file, and what comes before a line's number in messages."""
    if not path.is_dir():
        yield "", _lines(path)
        return
    for each in sorted(each for each in path.rglob("*") if each.is_file()):
        yield f"{visible(str(each.relative_to(path)))} ", _lines(each)


def _lines(path: Path) -> Iterator[str]:
    """The lines of one file without their ends. Raises `BadInput` where it cannot be read."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(_opened(path))
            first = file.read(_BLOCK_BYTES)
            yield from _records(path, first, file) if _RECORDS.match(first) else _split(first, file)
        except (OSError, EOFError, zlib.error) as error:
            why = (error.strerror if isinstance(error, OSError) else "") or str(error)
            raise BadInput(f"{visible(str(path))}: the log cannot be read", why, "pass the path of a log") from error


def _opened(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.GzipFile(path)) if path.suffix == ".gz" else path.open("rb")


def _split(block: bytes, file: BinaryIO) -> Iterator[str]:
    """Lines, of which one that is longer than a block is given in pieces: a file without lines is not read whole."""
    rest = b""
    while block:
        whole, end, rest = (rest + block).rpartition(b"\n")
        if end:
            yield from whole.decode(errors="surrogateescape").replace("\r\n", "\n").removesuffix("\r").split("\n")
        elif len(rest) > _BLOCK_BYTES:
            yield rest.decode(errors="surrogateescape")
            rest = b""
        block = file.read(_BLOCK_BYTES)
    if rest:
        yield rest.decode(errors="surrogateescape").removesuffix("\r")


def _records(path: Path, first: bytes, file: BinaryIO) -> Iterator[str]:
    """Each record of a file of CloudTrail as a line: a record may be written over many lines."""
    content = first + file.read(_RECORDS_BYTES_MAX - len(first) + 1)
    if len(content) > _RECORDS_BYTES_MAX:
        raise BadInput(
            f"{visible(str(path))}: the file is too large to be read as one JSON document",
            f"it has more than {_RECORDS_BYTES_MAX // 1024**2} MiB, and CloudTrail delivers smaller files",
            "write an event a line: jq -c '.Records[]' FILE > events.jsonl",
        )
    try:
        records = msgspec.json.decode(content, type=_RecordsFile).records
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadInput(
            f"{visible(str(path))}: the file of CloudTrail is broken", str(error), "pass a complete file"
        ) from error
    for record in records:
        yield bytes(record).decode(errors="surrogateescape")


def _not_understood(path: Path, why: str) -> BadInput:
    return BadInput(f"{visible(str(path))}: the log is not understood", why, _expected())


def _expected() -> str:
    formats = "\n".join(f"  {name:<10} {row.title}: {row.example}" for name, row in FORMATS.items())
    return f"pass a log in one of these formats:\n{formats}"
