"""Checks from the wire log which transfer engine ran in an iteration, and that the bytes are right.

The engine is read from the requests that moved object data, never from a configuration. `download_check` checks what a
download left on the disk.

An upload is judged by the objects that it left: of a multipart upload the last successful PUT of each part, once it was
completed. Their sizes have to be those of the fixtures, and so have their checksums where the server computed any.
"""

import posixpath
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeGuard
from urllib.parse import parse_qsl

from s3bench.run.fixture import FixtureContent, content_chunks, plan_tree
from s3bench.s3.protocol.checksums import digest_of
from s3bench.s3.protocol.http import SUCCESSES
from s3bench.s3.wirelog import TransferEngine, UploadDigest, WireLog, WireRequest
from s3bench.spec.command import S3, Local, Transfer, TransferDirection, Verb
from s3bench.spec.definition import Environment
from s3bench.units import exact_bytes

_SUBRESOURCES = frozenset({"acl", "legal-hold", "retention", "tagging"})
"""What a PUT may set of an object that is there."""


def moves_object_data(request: WireRequest) -> bool:
    """Whether `request` is an S3 request that carries an object's bytes: GetObject, PutObject or UploadPart.

    Path-style addressing puts the key after the bucket (`/bucket/key`), so a path of one segment names no object.
    """
    return request.method in {"GET", "PUT"} and "/" in request.path.strip("/")


def engines(requests: Iterable[WireRequest]) -> frozenset[TransferEngine]:
    """The engines that sent `requests`."""
    return frozenset(request.engine for request in requests)


def engine_errors(log: WireLog, transfer: Transfer | None, expected: TransferEngine | None) -> tuple[str, ...]:
    """What contradicts `expected`, the engine that the client under test claims to be; empty when nothing does.

    Only requests that move object data count: every engine lists and looks up objects through the SDK around it, and
    copies within S3 too, where no data passes through the client.
    """
    if transfer is None or transfer.direction is TransferDirection.COPY or expected is None:
        return ()
    wrong = [request for request in log.requests if moves_object_data(request) and request.engine is not expected]
    if not wrong:
        return ()
    first = wrong[0]
    error = (
        f"the wire shows engine `{first.engine}` where `{expected}` was asked for: {len(wrong)} requests, the first "
        f"{first.method} {first.path}; the client silently ran another engine than the one being measured"
    )
    return (error,)


def request_errors(log: WireLog) -> tuple[str, ...]:
    """Requests that were not answered as scripted, responses left over, what spoke no HTTP, errors of the server.

    What a network model did to a request was asked for, and is no error.
    """
    failed = [request.error for request in log.requests if request.error and not request.fault]
    unused = (f"unused response: {item}" for item in log.leftover)
    return tuple(dict.fromkeys((*failed, *unused, *log.faults, *log.failures)))


def upload_errors(log: WireLog, transfer: Transfer | None, environment: Environment) -> tuple[str, ...]:
    """Whether the fixtures that `transfer` uploads reached the server, in size and in content where it has digests."""
    if not _uploads_files(transfer):
        return ()
    fixtures = _fixtures(environment)
    digests = {(digest.path, digest.query): digest for digest in log.digests}
    errors: list[str] = []
    arrived: set[str] = set()
    for path, bodies in _uploaded_objects(log.requests).items():
        name = _uploaded_file(transfer, path)
        if name in fixtures:
            arrived.add(name)
            errors += _upload_differences(name, fixtures[name], bodies, digests)
    absent = (name for name in _wanted_files(transfer, fixtures) if name not in arrived)
    return (*errors, *(_size_error(name, 0, fixtures[name].size_bytes) for name in absent))


def transfer_warnings(
    log: WireLog, transfer: Transfer | None, *, compared: Container[str] = (), part_bytes: int | None = None
) -> tuple[str, ...]:
    """Whether a download read no object, what was not verified, and whether parts have another size than asked for.

    What was downloaded from the paths `compared` is compared with files. `part_bytes` is the part size that the config
    asks for.
    """
    return (
        *_nothing_downloaded(log, transfer),
        *_unverified_downloads(log, transfer, compared),
        *_unverified_uploads(log, transfer),
        *_other_part_size(log, transfer, part_bytes),
    )


def _nothing_downloaded(log: WireLog, transfer: Transfer | None) -> tuple[str, ...]:
    """Of an empty listing a client downloads nothing, and succeeds. A sync may have nothing to do."""
    if transfer is None or transfer.direction is not TransferDirection.DOWNLOAD:
        return ()
    if transfer.verb is Verb.SYNC or transfer.may_leave_out:
        return ()
    if any(moves_object_data(request) for request in log.requests):
        return ()
    return ("nothing was downloaded: no object was read; the responses have to list and serve objects",)


def _unverified_downloads(log: WireLog, transfer: Transfer | None, compared: Container[str]) -> tuple[str, ...]:
    """Objects that were downloaded to files, and have no file to be compared with."""
    if transfer is None or transfer.direction is not TransferDirection.DOWNLOAD:
        return ()
    assert isinstance(transfer.destination, Local)
    if transfer.destination.is_stream:
        return ()
    count = sum(path not in compared for path in downloaded_paths(log))
    words = "1 object was" if count == 1 else f"{count} objects were"
    return (f"{words} served from text and not compared",) if count else ()


def _unverified_uploads(log: WireLog, transfer: Transfer | None) -> tuple[str, ...]:
    """Bytes that came without a checksum, and that are not compared with a file, to a server that should verify."""
    if not log.verified:
        return ()
    compared = {(digest.path, digest.query) for digest in log.digests} if _uploads_files(transfer) else set()
    unverified = [
        request.body_bytes
        for request in log.requests
        if request.method == "PUT"
        and moves_object_data(request)
        and request.body_bytes
        and not request.checksums
        and _has_succeeded(request)
        and (request.path, request.query) not in compared
    ]
    if not unverified:
        return ()
    warning = (
        f"{sum(unverified)} bytes were uploaded without a checksum: they were counted, but not verified "
        f"({len(unverified)} requests)"
    )
    return (warning,)


def _other_part_size(log: WireLog, transfer: Transfer | None, part_bytes: int | None) -> tuple[str, ...]:
    """Clients change the part size without a word where it is below the 5 MiB of S3 or makes more than 10,000 parts."""
    if part_bytes is None or transfer is None or transfer.direction is not TransferDirection.UPLOAD:
        return ()
    parts = [
        (int(query["partNumber"]), request.body_bytes)
        for request in log.requests
        if request.method == "PUT" and _has_succeeded(request)
        if (query := dict(parse_qsl(request.query))).get("partNumber", "").isdecimal()
    ]
    sent_bytes = max((size_bytes for _, size_bytes in parts), default=0)
    # A file below the part size may come as an upload of one part.
    if sent_bytes > part_bytes or (sent_bytes < part_bytes and any(number > 1 for number, _ in parts)):
        asked, sent = (exact_bytes(size_bytes, separator=" ") for size_bytes in (part_bytes, sent_bytes))
        return (f"the config asks for parts of {asked}, the client sent {sent}",)
    return ()


def downloaded_paths(log: WireLog) -> frozenset[str]:
    """The paths of the objects that were read."""
    return frozenset(
        request.path
        for request in log.requests
        if request.method == "GET" and moves_object_data(request) and _has_succeeded(request)
    )


def served_files(log: WireLog) -> dict[str, str]:
    """Which workspace file the server sent for which path."""
    return {request.path: request.file for request in log.requests if request.method == "GET" and request.file}


def _has_succeeded(request: WireRequest) -> bool:
    return request.complete and not request.error and request.status in SUCCESSES


def _uploaded_objects(requests: Iterable[WireRequest]) -> dict[str, tuple[WireRequest, ...]]:
    """By path the PUTs whose bodies make up each object, in the order of their parts.

    An upload that begins or is aborted drops the parts before it: stubs give every upload the same id.
    """
    objects: dict[str, tuple[WireRequest, ...]] = {}
    parts: dict[str, dict[str, dict[int, WireRequest]]] = {}
    for request in filter(_has_succeeded, requests):
        path, query = request.path, dict(parse_qsl(request.query, keep_blank_values=True))
        upload = query.get("uploadId", "")
        match request.method:
            case "PUT" if query.get("partNumber", "").isdecimal():
                parts.setdefault(path, {}).setdefault(upload, {})[int(query["partNumber"])] = request
            case "PUT" if _SUBRESOURCES.isdisjoint(query):
                objects[path] = (request,)
            case "POST" if "uploads" in query:
                parts.pop(path, None)
            case "POST" if upload in parts.get(path, ()):
                numbered = parts[path][upload]
                objects[path] = tuple(numbered[number] for number in sorted(numbered))
            case "DELETE" if upload:
                parts.get(path, {}).pop(upload, None)
            case _:
                pass
    return objects


def _uploads_files(transfer: Transfer | None) -> TypeGuard[Transfer]:
    """Whether it uploads files to paths that are known; of an access point ARN the path is the client's affair."""
    return (
        transfer is not None
        and isinstance(transfer.source, Local)
        and not transfer.source.is_stream
        and isinstance(transfer.destination, S3)
        and not transfer.destination.bucket.startswith("arn:")
    )


@lru_cache(maxsize=1)
def _fixtures(environment: Environment) -> Mapping[str, FixtureContent]:
    """Every fixture by its name in the workspace."""
    return dict(plan_tree(environment).files())


def _wanted_files(transfer: Transfer, fixtures: Mapping[str, FixtureContent]) -> Iterable[str]:
    """The fixtures that the transfer has to upload.

    None where that is not known: with filters or an option that leaves files out, and for a sync.
    """
    root = _source_root(transfer)
    if transfer.may_leave_out:
        return ()
    if not transfer.recursive:
        return (root,) if root in fixtures else ()
    if transfer.filters or transfer.verb is Verb.SYNC:
        return ()
    return (name for name in fixtures if root == "." or name.startswith(f"{root}/"))


def _uploaded_file(transfer: Transfer, path: str) -> str:
    """Give the file that the transfer uploads to `path`, by its name in the workspace; empty where it is none."""
    assert isinstance(transfer.destination, S3)
    root, key = _source_root(transfer), transfer.destination.key
    directory = f"/{transfer.destination.bucket}/{key}"
    if transfer.recursive:
        prefix = f"{posixpath.normpath(directory)}/"
        relative = posixpath.normpath(path).removeprefix(prefix)
        return posixpath.normpath(posixpath.join(root, relative)) if path.startswith(prefix) else ""
    wanted = directory + posixpath.basename(root) if directory.endswith("/") else directory
    return root if posixpath.normpath(path) == posixpath.normpath(wanted) else ""


def _source_root(transfer: Transfer) -> str:
    assert isinstance(transfer.source, Local)
    return posixpath.normpath(transfer.source.path)


def _upload_differences(
    name: str,
    content: FixtureContent,
    bodies: tuple[WireRequest, ...],
    digests: Mapping[tuple[str, str], UploadDigest],
) -> Iterator[str]:
    """What differs between the fixture `name` and the object that `bodies` make up: its size, or else a part of it."""
    received = sum(body.body_bytes for body in bodies)
    if received != content.size_bytes:
        yield _size_error(name, received, content.size_bytes)
        return
    found = [digests.get((body.path, body.query)) for body in bodies]
    known = [digest for digest in found if digest is not None]
    if len(known) < len(bodies):  # this server computes none
        return
    parts = tuple((body.body_bytes, digest.algorithm) for body, digest in zip(bodies, known, strict=True))
    expected = _digests(content, parts)
    offset = 0
    for body, digest, wanted in zip(bodies, known, expected, strict=True):
        if digest.value != wanted:
            where = f", first in bytes {offset} to {offset + body.body_bytes - 1} ({body.query})"
            yield f"what the server received as {body.path} differs from {name}{where if len(bodies) > 1 else ''}"
            return
        offset += body.body_bytes


def _size_error(name: str, received: int, wanted: int) -> str:
    if received > wanted:
        return f"the server received {received} bytes of {name}, which has {wanted}"
    if not wanted:
        return f"the server received no PUT of {name}"
    return f"the server received {received} of the {wanted} bytes of {name}"


@lru_cache(maxsize=16384)
def _digests(content: FixtureContent, parts: tuple[tuple[int, str], ...]) -> tuple[bytes, ...]:
    """Give the checksum of each part of a fixture; a part is its size in bytes and the algorithm.

    They are kept, since every iteration asks for the same.
    """
    chunks = content_chunks(content)
    rest = memoryview(b"")

    def take(left: int) -> Iterator[memoryview]:
        nonlocal rest
        while left:
            rest = rest or next(chunks)
            piece, rest = rest[:left], rest[left:]
            left -= len(piece)
            yield piece

    return tuple(digest_of(algorithm, take(size_bytes)) for size_bytes, algorithm in parts)
