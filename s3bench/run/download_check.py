"""Checks downloads: compares every file on the disk, byte by byte, with the one that was served.

Where each object lands, and the bytes of small fixtures, are kept from iteration to iteration, so that checking
thousands of small files takes little time.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from s3bench.spec.command import S3, Transfer, TransferDirection, Verb, expected_local
from s3bench.spec.definition import Environment, ListingBody, Response

_COMPARE_BYTES = 1 << 20
_SMALL_BYTES = 64 << 10
_REMEMBERED_BYTES_MAX = 64 << 20
# Not to wait for a writer when a client left a pipe where a file should be.
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class DownloadCheck:
    """The files that one transfer has to leave in `work`, iteration after iteration; `served_from` has the originals.

    Beside the objects that were served these are those that `responses` list, if the transfer has to take them all.
    The originals are whole whenever this looks: the workspace is restored before every iteration, and what a command
    did to them since does not change the small ones' bytes that are remembered here.
    """

    def __init__(
        self,
        transfer: Transfer | None,
        environment: Environment,
        responses: Iterable[Response] = (),
        *,
        work: Path,
        served_from: Path,
    ) -> None:
        is_download = (
            transfer is not None and transfer.direction is TransferDirection.DOWNLOAD and not transfer.is_dry_run
        )
        self._transfer = transfer if is_download else None
        self._listed = () if self._transfer is None else _listed_paths(self._transfer, environment, responses)
        self._directories = {directory.name for directory in environment.directories}
        self._work = os.fspath(work)
        self._served_from = os.fspath(served_from)
        self._places: dict[str, str | None] = {}
        self._small: dict[str, bytes] = {}
        self._remembered_bytes = 0
        self._served: Mapping[str, str] = {}
        self._right: set[str] = set()

    def look_ahead(self) -> None:
        """Compare the small files that were served the last time, since these most likely were served again.

        For the time in which the server's log is waited for; `errors` tells what came of it.
        """
        if self._transfer is not None and self._served:
            with self._opened() as work_fd:
                self._right = {
                    path
                    for path, file in self._served.items()
                    if (name := self._places[path]) is not None and self._is_small_and_equal(name, work_fd, file)
                }

    def errors(self, served: Mapping[str, str]) -> tuple[str, ...]:
        """Compare each file that landed with what `served` tells of its path: the original's name.

        Objects that were listed and not served from a file have to be there.
        """
        if self._transfer is None:
            return ()
        right = {path for path in self._right if served.get(path) == self._served[path]}
        errors = (*self._differences(self._transfer, served, right), *self._absent(self._transfer, served))
        self._served, self._right = served, set()
        return errors

    def landed(self) -> tuple[str, ...]:
        """Where the files that were compared last are, by their names in `work`."""
        return tuple(name for path in self._served if (name := self._places[path]) is not None)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        work_fd = os.open(self._work, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield work_fd
        finally:
            os.close(work_fd)

    def _differences(self, transfer: Transfer, served: Mapping[str, str], right: Collection[str]) -> Iterator[str]:
        with self._opened() as work_fd:
            for path, file in served.items():
                if path in right:
                    continue
                name = self._place(transfer, path)
                if name is not None and not self._is_small_and_equal(name, work_fd, file):
                    yield from self._difference(path, name, file)

    def _absent(self, transfer: Transfer, served: Mapping[str, str]) -> Iterator[str]:
        for path in self._listed:
            name = None if path in served else self._place(transfer, path)
            if name and not _is_file(Path(self._work, name)):
                yield f"{path} was listed, but {name} is not there"

    def _place(self, transfer: Transfer, path: str) -> str | None:
        if path not in self._places:
            key = path.lstrip("/").partition("/")[2]
            self._places[path] = expected_local(transfer, key, directories=self._directories)
        return self._places[path]

    def _is_small_and_equal(self, name: str, work_fd: int, file: str) -> bool:
        """Whether a small file is right; `False` also where that takes a closer look."""
        wanted = self._small.get(file)
        if wanted is None:
            wanted = self._remember(file)
        if wanted is None:
            return False
        try:
            landed = os.open(name, _OPEN, dir_fd=work_fd)
        except OSError:
            return False
        try:
            return os.read(landed, len(wanted) + 1) == wanted
        except OSError:
            return False
        finally:
            os.close(landed)

    def _remember(self, file: str) -> bytes | None:
        with open(os.path.join(self._served_from, file), "rb") as original:  # noqa: PTH118, PTH123 (paths as objects would take longer than reading a small file)
            content = original.read(_SMALL_BYTES + 1)
        if len(content) > _SMALL_BYTES or self._remembered_bytes + len(content) > _REMEMBERED_BYTES_MAX:
            return None
        self._remembered_bytes += len(content)
        self._small[file] = content
        return content

    def _difference(self, path: str, name: str, file: str) -> Iterator[str]:
        source, landed = Path(self._served_from, file), Path(self._work, name)
        if not _is_file(landed):
            yield f"{path} was served, but {name} is not there"
            return
        at = first_difference(source, landed)
        if at is not None:
            sizes = f"{landed.stat().st_size} bytes for {source.stat().st_size}"
            yield f"{name} differs from what was served for {path}: {sizes}, first difference at byte {at}"


def _is_file(path: Path) -> bool:
    """Whether there is a file; there is none under a name that is too long, for which `Path.is_file` raises."""
    return os.path.isfile(path)  # noqa: PTH113 (see above)


def _listed_paths(transfer: Transfer, environment: Environment, responses: Iterable[Response]) -> tuple[str, ...]:
    """The paths of listed objects that the transfer has to download: none for a sync, or if some may be left out."""
    is_whole = transfer.recursive and not transfer.filters and not transfer.may_leave_out
    if not is_whole or transfer.verb is Verb.SYNC or not isinstance(transfer.source, S3):
        return ()
    bucket = f"/{transfer.source.bucket}"
    return tuple(
        f"{bucket}/{body.prefix}{name}"
        for response in responses
        if isinstance(body := response.body, ListingBody) and _may_answer(response, bucket)
        if (directory := environment.directory(body.directory)) is not None
        for name, _ in directory.files()
    )


def _may_answer(response: Response, bucket: str) -> bool:
    """Whether a listing of `bucket` may get this response."""
    pattern = (response.match.path if response.match else None) or "*"
    return any(fnmatchcase(path, pattern) for path in (bucket, f"{bucket}/"))


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
