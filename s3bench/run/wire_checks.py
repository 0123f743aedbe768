"""Checks from the wire log which transfer engine ran in an iteration, and that the bytes are right.

The engine is read from the requests that moved object data, never from a configuration. `download_check` checks what a
download left on the disk.
"""

from collections.abc import Iterable

from s3bench.s3.wirelog import TransferEngine, WireLog, WireRequest
from s3bench.spec.command import Local, Transfer, TransferDirection, Verb
from s3bench.spec.definition import Environment


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
    """Whether every byte of an uploaded fixture reached the server."""
    if transfer is None or transfer.direction is not TransferDirection.UPLOAD or not isinstance(transfer.source, Local):
        return ()
    asked = _fixture_bytes(transfer, transfer.source.path.rstrip("/"), environment)
    received = sum(request.body_bytes for request in log.requests if request.method == "PUT" and request.complete)
    if asked is None or received >= asked:
        return ()
    return (f"the server received {received} of the {asked} bytes of {transfer.source.path}",)


def download_warnings(log: WireLog, transfer: Transfer | None) -> tuple[str, ...]:
    """Whether a download read any object: of an empty listing a client downloads nothing, and succeeds.

    A sync may have nothing to do.
    """
    if transfer is None or transfer.direction is not TransferDirection.DOWNLOAD or transfer.verb is Verb.SYNC:
        return ()
    if any(moves_object_data(request) for request in log.requests):
        return ()
    return ("nothing was downloaded: no object was read; the responses have to list and serve objects",)


def _fixture_bytes(transfer: Transfer, name: str, environment: Environment) -> int | None:
    """The bytes that the transfer has to move, or `None` where that is not known: filters, literals, a live sync."""
    if not transfer.recursive:
        return next((file.size_bytes for file in environment.files if file.name == name), None)
    if transfer.filters or transfer.verb is Verb.SYNC:
        return None
    directory = environment.directory(name)
    return None if directory is None else directory.total_bytes


def served_files(log: WireLog) -> dict[str, str]:
    """Which workspace file the server sent for which path."""
    return {request.path: request.file for request in log.requests if request.method == "GET" and request.file}
