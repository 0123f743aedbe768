"""What the wire and the disk prove about one iteration: which engine ran, and that the bytes are right.

Owns the checks between a client's exit and its measurement. A configuration is never believed: the engine is read from
the requests that moved object data, and every downloaded file is compared with the one that was served.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from s3bench.s3.wirelog import Engine, WireLog, WireRequest
from s3bench.spec.command import Direction, Local, Transfer, Verb, expected_local
from s3bench.spec.definition import Environment

_COMPARE_BYTES = 1 << 20


def moves_object_data(request: WireRequest) -> bool:
    """Whether `request` is an S3 request that carries an object's bytes: GetObject, PutObject or UploadPart.

    Path-style addressing puts the key after the bucket (`/bucket/key`), so a path of one segment names no object.
    """
    return request.method in {"GET", "PUT"} and "/" in request.path.strip("/")


def engines(requests: Iterable[WireRequest]) -> frozenset[Engine]:
    """The engines that sent `requests`."""
    return frozenset(request.engine for request in requests)


def engine_errors(log: WireLog, transfer: Transfer | None, expected: Engine | None) -> tuple[str, ...]:
    """What contradicts `expected`, the engine that the client under test claims to be; empty when nothing does.

    Only requests that move object data count: every engine lists and looks up objects through the SDK around it, and
    copies within S3 too, where no data passes through the client.
    """
    if transfer is None or transfer.direction is Direction.COPY or expected is None:
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
    """Requests that were not answered as scripted, responses left over, connections that spoke no HTTP.

    What a network model did to a request was asked for, and is no error.
    """
    failed = [request.error for request in log.requests if request.error and not request.fault]
    return tuple(dict.fromkeys((*failed, *(f"unused response: {item}" for item in log.leftover), *log.faults)))


def upload_errors(log: WireLog, transfer: Transfer | None, environment: Environment) -> tuple[str, ...]:
    """Whether every byte of an uploaded fixture reached the server."""
    if transfer is None or transfer.direction is not Direction.UPLOAD or not isinstance(transfer.source, Local):
        return ()
    asked = _fixture_bytes(transfer, transfer.source.path.rstrip("/"), environment)
    received = sum(request.body_bytes for request in log.requests if request.method == "PUT" and request.complete)
    if asked is None or received >= asked:
        return ()
    return (f"the server received {received} of the {asked} bytes of {transfer.source.path}",)


def _fixture_bytes(transfer: Transfer, name: str, environment: Environment) -> int | None:
    """The bytes that the transfer has to move, or `None` where that is not known: filters, literals, a live sync."""
    if not transfer.recursive:
        return next((file.size_bytes for file in environment.files if file.name == name), None)
    if transfer.filters or transfer.verb is Verb.SYNC:
        return None
    directory = next((item for item in environment.file_dirs if item.name.rstrip("/") == name), None)
    return None if directory is None else directory.file_count * directory.file_size_bytes


def served_files(log: WireLog) -> dict[str, str]:
    """Which workspace file the server sent for which path."""
    return {request.path: request.file for request in log.requests if request.method == "GET" and request.file}


def download_errors(
    served: Mapping[str, str],
    transfer: Transfer | None,
    environment: Environment,
    *,
    work: Path,
    served_from: Path,
) -> tuple[str, ...]:
    """Compare each downloaded file, byte by byte, with the file in `served_from` that was served for its path."""
    if transfer is None or transfer.direction is not Direction.DOWNLOAD:
        return ()
    directories = {directory.name for directory in environment.file_dirs}
    return tuple(_differences(served, transfer, directories, work, served_from))


def _differences(
    served: Mapping[str, str], transfer: Transfer, directories: Collection[str], work: Path, served_from: Path
) -> Iterator[str]:
    for path, file in served.items():
        key = path.lstrip("/").partition("/")[2]
        name = expected_local(transfer, key, directories=directories)
        if name is None:
            continue
        # Strings and plain descriptors: paths as objects would take longer than the comparison of small files.
        source, landed = os.path.join(served_from, file), os.path.join(work, name)  # noqa: PTH118 (as above)
        if not os.path.isfile(landed):  # noqa: PTH113 (as above)
            yield f"{path} was served, but {name} is not there"
            continue
        at = first_difference(source, landed)
        if at is not None:
            sizes = f"{os.path.getsize(landed)} bytes for {os.path.getsize(source)}"  # noqa: PTH202 (as above)
            yield f"{name} differs from what was served for {path}: {sizes}, first difference at byte {at}"


def first_difference(left: str | Path, right: str | Path) -> int | None:
    """The offset of the first byte in which two files differ (a shorter file differs at its end), or `None`."""
    descriptors = []
    try:
        descriptors = [os.open(left, os.O_RDONLY | os.O_CLOEXEC)]
        descriptors.append(os.open(right, os.O_RDONLY | os.O_CLOEXEC))
        return _first_difference(*descriptors)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _first_difference(left: int, right: int) -> int | None:
    # Room for a large block costs more than reading a small file into it.
    block_bytes = min(_COMPARE_BYTES, os.fstat(left).st_size + 1)
    offset = 0
    while True:
        # Whole bytes objects are compared by memcmp; memoryviews item by item, sixty times slower.
        left_block, right_block = os.read(left, block_bytes), os.read(right, block_bytes)
        if left_block != right_block:
            common = min(len(left_block), len(right_block))
            return offset + next((at for at in range(common) if left_block[at] != right_block[at]), common)
        if len(left_block) < block_bytes:  # the end, since a regular file gives all it has (read(2))
            return None
        offset += len(left_block)
