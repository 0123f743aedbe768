"""Reads the workload files of AWS's CRT S3 benchmarks (`*.run.json`) as definitions.

The format is version 2 of https://github.com/awslabs/aws-crt-s3-benchmarks, `workloads/README.md`: every key is
required, and other versions are rejected, as that document demands. A workload is a set of files that are all uploaded
or all downloaded; its tasks become one command that does the same, as in that project's own runner for aws-cli
(`runners/s3-benchrunner-python/runner/cli.py`): a single file is copied, several are the files of one directory.
"""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from html import escape

from s3bench.errors import BadDefinitions, Problem
from s3bench.spec.client_traits import KnownClients
from s3bench.spec.compound import Either, ListOf, Record, RecordKey
from s3bench.spec.definition import Definition, Environment, FileBody, Fill, FixtureFile, RequestMatch, Response
from s3bench.spec.environment_table import OBJECT_BYTES_MAX
from s3bench.spec.listing import LISTED_AT, PAGE_KEYS_MAX
from s3bench.spec.names import FIXTURE_NAME
from s3bench.spec.reader import Complaint, Report, Steps, decode_json, quoted, render_path
from s3bench.spec.shape import Flag, Shape, Text, WholeNumber, Word, wrong_kind
from s3bench.units import exact_bytes

SUFFIX = ".run.json"
"""The suffix of workload files."""

_VERSION = 2
_COUNT_MAX = 2**53
_UPLOADED, _STORED, _LANDED = "upload_from", "stored", "download_to"
_BUCKET = "bucket"


class _Action(StrEnum):
    UPLOAD = "upload"
    DOWNLOAD = "download"


class _Checksum(StrEnum):
    CRC32 = "CRC32"
    CRC32C = "CRC32C"
    SHA1 = "SHA1"
    SHA256 = "SHA256"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    action: _Action
    key: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    version: int
    comment: str
    files_on_disk: bool
    checksum: _Checksum | None
    repeat_count_max: int
    repeat_s_max: int
    tasks: tuple[_Task, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrtWorkload:
    """The definitions of a workload file, and `notes` on what s3bench does differently."""

    definitions: tuple[Definition, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Null:
    noun: str = "null"

    def read(self, value: object, at: Steps, report: Report) -> None:
        if value is not None:
            report.add(at, wrong_kind(value, at, self.noun, "write null"))

    def schema(self) -> dict[str, object]:
        return {"type": "null"}


def _key(name: str, becomes: str, shape: Shape[object], meaning: str) -> RecordKey:
    return RecordKey(name=name, becomes=becomes, shape=shape, required=True, meaning=meaning)


_TASK = Record(
    make=_Task,
    noun="a task",
    keys=(
        _key("action", "action", Word(words=_Action, noun="an action"), "`upload` or `download`."),
        _key("key", "key", Text(rule=FIXTURE_NAME), "The object's key, and the file's path."),
        _key(
            "size", "size_bytes", WholeNumber(minimum=0, maximum=OBJECT_BYTES_MAX, unit="bytes"), "Its size in bytes."
        ),
    ),
)

_WORKLOAD = Record(
    make=_Written,
    noun="a workload",
    keys=(
        _key("version", "version", WholeNumber(minimum=0, maximum=_COUNT_MAX), "Version of the format."),
        _key("comment", "comment", Text(), "Why there is this workload."),
        _key("filesOnDisk", "files_on_disk", Flag(), "Whether data comes from files, or from memory."),
        _key(
            "checksum",
            "checksum",
            Either(usual=Word(words=_Checksum, noun="a checksum or null"), special=_Null(), special_type=type(None)),
            "Checksum that uploads carry and downloads verify.",
        ),
        _key("maxRepeatCount", "repeat_count_max", WholeNumber(minimum=0, maximum=_COUNT_MAX), "Most repetitions."),
        _key(
            "maxRepeatSecs", "repeat_s_max", WholeNumber(minimum=0, maximum=_COUNT_MAX, unit="seconds"), "Most seconds."
        ),
        _key("tasks", "tasks", ListOf(item=_TASK, least=1), "What is transferred."),
    ),
)


def read_crt_workload(content: bytes, *, source: str, clients: KnownClients) -> CrtWorkload:
    """Read a workload file for `clients`; `source` is its path, from which the benchmark gets its name.

    Raises `BadDefinitions` with every problem and its JSON path: violations of version 2 of the format, and workloads
    that no command of the clients can do.
    """
    written = _read(content, source)
    definition = _definition(written, _name(source), clients)
    return CrtWorkload(definitions=(definition,), notes=tuple(_notes(written, definition.name)))


def _read(content: bytes, source: str) -> _Written:
    try:
        document = decode_json(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        document = Complaint(f"is not UTF-8: byte {error.start} is 0x{content[error.start]:02x}", "save it as UTF-8")
    if isinstance(document, Complaint):
        raise BadDefinitions(source, (Problem(path="$", what=document.what, fix=document.fix),))
    report = Report()
    written = _WORKLOAD.read(document, (), report)
    _check(written, report)
    if problems := report.problems(document):
        raise BadDefinitions(source, problems)
    return written


def _check(written: _Written, report: Report) -> None:
    """Report combinations of keys that no definition can express."""
    if not report.touches(("version",)) and written.version != _VERSION:
        what = f"is {written.version}, but only version {_VERSION} of workloads is supported"
        report.add(("version",), Complaint(what, f"rebuild the workload for version {_VERSION}"))
    first: dict[str, int] = {}
    for index, task in enumerate(written.tasks):
        at: Steps = ("tasks", index)
        if report.touches(at):
            continue
        if task.action is not written.tasks[0].action and not report.touches(("tasks", 0)):
            what = f"is `{task.action}`, but another is `{written.tasks[0].action}`: no command transfers both ways"
            report.add((*at, "action"), Complaint(what, "write one workload for each direction"))
        if task.key in first:
            what = f"is {quoted(task.key)}, which `tasks[{first[task.key]}]` has too: a command transfers a file once"
            report.add((*at, "key"), Complaint(what, "give each task its own key; `s3bench load` repeats objects"))
        first.setdefault(task.key, index)
    if written.checksum and any(task.action is _Action.DOWNLOAD for task in written.tasks):
        what = f"is {quoted(written.checksum)} for downloads, but the objects served for them have no such checksum"
        report.add(("checksum",), Complaint(what, "write null: every byte that arrives is compared with the object"))
    _check_places(written.tasks, report)


def _check_places(tasks: Sequence[_Task], report: Report) -> None:
    """Report each key that is a directory of another one."""
    directories = {parent: index for index, task in enumerate(tasks) for parent in _parents(task.key)}
    for index, task in enumerate(tasks):
        at: Steps = ("tasks", index, "key")
        if task.key in directories and not report.touches(at):
            what = f"is {quoted(task.key)}, a directory in {render_path(('tasks', directories[task.key], 'key'))}"
            report.add(at, Complaint(what, "give it another key: it cannot be a file and a directory"))


def _parents(key: str) -> Iterator[str]:
    while key := posixpath.dirname(key):
        yield key


def _definition(written: _Written, name: str, clients: KnownClients) -> Definition:
    tasks = written.tasks
    uploads = tasks[0].action is _Action.UPLOAD
    root = _UPLOADED if uploads else _STORED
    return Definition(
        name=name,
        command=_command(written),
        dimensions=tuple(_dimensions(tasks)),
        environment=Environment(
            files=tuple(
                FixtureFile(name=f"{root}/{task.key}", size_bytes=task.size_bytes, fill=Fill.RANDOM) for task in tasks
            )
        ),
        responses=_UPLOAD_RESPONSES if uploads else tuple(_download_responses(tasks)),
        clients=tuple(_clients(written, clients)),
    )


def _clients(written: _Written, clients: KnownClients) -> Iterator[str]:
    """All clients except the default one; with a checksum only those that run any command, for its option."""
    for name, each in clients.items():
        is_usual = not each.is_default and not each.runs_unnamed
        if is_usual and (written.checksum is None or each.runs_any_command):
            yield name


def _command(written: _Written) -> tuple[str, ...]:
    """A command for one file by its name, or for several by their deepest common directory, which has nothing else."""
    keys = [task.key for task in written.tasks]
    place = keys[0] if len(keys) == 1 else _directory(keys)
    remote = f"s3://{_BUCKET}/{place}"
    local = posixpath.join(_UPLOADED if written.tasks[0].action is _Action.UPLOAD else _LANDED, place).rstrip("/")
    way = (local, remote) if written.tasks[0].action is _Action.UPLOAD else (remote, local)
    recursive = ("--recursive",) if len(keys) > 1 else ()
    checksum = ("--checksum-algorithm", str(written.checksum)) if written.checksum else ()
    return ("s3", "cp", *way, *recursive, "--quiet", *checksum)


def _directory(keys: Sequence[str]) -> str:
    return posixpath.commonpath([posixpath.dirname(key) for key in keys])


def _dimensions(tasks: Sequence[_Task]) -> Iterator[tuple[str, str]]:
    sizes = {task.size_bytes for task in tasks}
    yield "FileCount", f"{len(tasks)}"
    if len(sizes) == 1:
        yield "FileSize", exact_bytes(sizes.pop())
    else:
        yield "TotalSize", exact_bytes(sum(task.size_bytes for task in tasks))


_UPLOAD_RESPONSES = (
    Response(match=RequestMatch(method="PUT", path=f"/{_BUCKET}/*"), instances=None),
    Response(
        match=RequestMatch(method="POST", path=f"/{_BUCKET}/*", query=(("uploads", ""),)),
        body=f"<InitiateMultipartUploadResult><Bucket>{_BUCKET}</Bucket><Key>object</Key><UploadId>upload</UploadId>"
        "</InitiateMultipartUploadResult>",
        instances=None,
    ),
    Response(
        match=RequestMatch(method="POST", path=f"/{_BUCKET}/*", query=(("uploadId", ""),)),
        body=f"<CompleteMultipartUploadResult><Location>/{_BUCKET}/object</Location><Bucket>{_BUCKET}</Bucket>"
        '<Key>object</Key><ETag>"00000000000000000000000000000000-1"</ETag></CompleteMultipartUploadResult>',
        instances=None,
    ),
)


def _download_responses(tasks: Sequence[_Task]) -> Iterator[Response]:
    """The responses of a stub, which also define the objects of the emulator and a live endpoint."""
    keys = [task.key for task in tasks]
    place = keys[0] if len(keys) == 1 else posixpath.join(_directory(keys), "*")
    body = FileBody(file=f"{_STORED}/{place}")
    if len(tasks) > 1:
        yield from _listings(sorted(tasks, key=lambda task: task.key.encode()))
    for method in ("HEAD", "GET"):
        yield Response(match=RequestMatch(method=method, path=f"/{_BUCKET}/{place}"), body=body, instances=None)


def _listings(tasks: Sequence[_Task]) -> Iterator[Response]:
    """ListObjectsV2 in byte order of the keys; later pages first, since their requests match the first one too."""
    starts = range(0, len(tasks), PAGE_KEYS_MAX)
    for number in reversed(range(len(starts))):
        page = tasks[starts[number] : starts[number] + PAGE_KEYS_MAX]
        following = f"page-{number + 1}" if number + 1 < len(starts) else ""
        token = (("continuation-token", f"page-{number}"),) if number else ()
        yield Response(
            match=RequestMatch(method="GET", path=f"/{_BUCKET}", query=(("list-type", ""), *token)),
            headers=(("Content-Type", "application/xml"),),
            body=_page_xml(page, following),
            instances=None,
        )


def _page_xml(tasks: Sequence[_Task], following: str) -> str:
    contents = "".join(
        f"<Contents><Key>{escape(task.key, quote=False)}</Key><LastModified>{LISTED_AT}</LastModified>"
        f'<ETag>"00000000000000000000000000000000"</ETag><Size>{task.size_bytes}</Size></Contents>'
        for task in tasks
    )
    more = f"<NextContinuationToken>{following}</NextContinuationToken>" if following else ""
    return (
        '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<KeyCount>{len(tasks)}</KeyCount><MaxKeys>{PAGE_KEYS_MAX}</MaxKeys>"
        f"<IsTruncated>{'true' if following else 'false'}</IsTruncated>{more}{contents}</ListBucketResult>"
    )


def _name(source: str) -> str:
    """The file's name without its suffix, as in that project, and without unprintable characters."""
    name = posixpath.basename(source.replace("\\", "/")).removesuffix(SUFFIX)
    shown = "".join(character if character.isprintable() else " " for character in name).strip()
    return shown or "workload"


def _notes(written: _Written, name: str) -> Iterator[str]:
    yield (
        f"{name}: the workload asks for {written.repeat_count_max} repetitions, or {written.repeat_s_max} seconds of"
        " them; s3bench uses --num-iterations instead, each in a new process"
    )
    if not written.files_on_disk:
        yield (
            f"{name}: the workload keeps its data in memory, but s3bench uses files; to exclude the disk, set"
            " S3BENCH_TMPDIR to a directory in memory, such as /dev/shm"
        )
    if written.checksum:
        yield f"{name}: the checksum {written.checksum} needs an option that only aws-cli has"
