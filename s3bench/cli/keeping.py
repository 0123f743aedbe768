"""Keeps what a command has measured so far: in a file that grows with it, and after any error."""

from pathlib import Path

from s3bench.cli.unexpected import explained
from s3bench.errors import MachineError
from s3bench.results.file import write_whole


class GrowingFile:
    """The file of a command's results, if it has one, replaced again and again while they grow.

    Once it cannot be written, it is not tried again: the error names the file that has the results instead.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._has_failed = False

    def save(self, content: bytes, *, durable: bool = True) -> None:
        """Replace the file by `content`. Raises as `write_whole`, and a failure of the disk only once."""
        if self._path is None or self._has_failed:
            return
        try:
            write_whole(content, self._path, durable=durable, is_measured=True)
        except MachineError:
            self._has_failed = True
            raise


def why_stopped(error: BaseException) -> str:
    """What a record says of an error that ended it."""
    return explained(error).what if isinstance(error, Exception) else "interrupted"
