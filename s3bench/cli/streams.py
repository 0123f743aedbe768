"""Safe standard streams: control characters in untrusted text are shown as escapes.

If writing fails: output for a reader that has gone is dropped, as are messages that cannot be written; results that
cannot be written are an error.
"""

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from s3bench.errors import MachineError
from s3bench.visible import visible, visible_styled

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_FORM = ("utf-8", "backslashreplace")  # encoding, and the handling of surrogates

_MISSING = ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY))
"""How a missing descriptor is opened on /dev/null. Writing to stdout then fails as on a closed one (as in glibc's
csu/check_fds.c), so that results are not silently lost; messages on stderr are."""


def open_missing_descriptors() -> None:
    """Open those of descriptors 0 to 2 that are closed, before a file or a socket gets their number."""
    for number, mode in _MISSING:
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, mode)
            assert opened == number
            os.set_inheritable(opened, True)  # noqa: FBT003 (its signature)
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 (for as long as the process lives)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)))
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w", closefd=False)))


@contextmanager
def safe_streams() -> Iterator[None]:
    """Replace sys.stdout and sys.stderr by streams that escape control characters; both write UTF-8."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _safe(sys.stdout, is_vital=True), _safe(sys.stderr, is_vital=False)
    try:
        yield
    finally:
        with suppress(MachineError):  # commands with results flush by themselves and get the error
            sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = before


def print_styled(text: str, *, unsaved: Callable[[], bytes] | None = None) -> None:
    """Write text with styles to stdout; other control characters are escaped.

    For `unsaved`, see `rescued`.
    """
    with rescued(unsaved):
        stream = unescaped(sys.stdout)
        stream.write(visible_styled(text))
        stream.flush()


def print_whole(content: bytes, *, is_measured: bool = False) -> None:
    """Write a document to stdout. If that fails, measured results are saved in a file that the error names."""
    with rescued((lambda: content) if is_measured else None):
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


@contextmanager
def rescued(unsaved: Callable[[], bytes] | None) -> Iterator[None]:
    """If stdout cannot be written, save `unsaved`, measured results that are in no file yet; the error names the file.

    Raises `MachineError`.
    """
    try:
        yield
    except MachineError as error:
        if unsaved is None:
            raise
        from s3bench.results.file import rescue  # noqa: PLC0415 (`--help` does without)

        raise MachineError(error.what, error.why, rescue(unsaved())) from error


def unescaped(stream: TextIO) -> TextIO:
    """The underlying stream without escaping, for text whose control characters are already escaped."""
    return stream.below if isinstance(stream, _SafeText) else stream


def _safe(stream: TextIO, *, is_vital: bool) -> TextIO:
    buffer = getattr(stream, "buffer", None)
    if buffer is None:  # replaced by a text-only stream
        return stream
    stream.flush()
    bottom = io.BufferedWriter(_Sink(getattr(buffer, "raw", buffer), is_vital=is_vital))
    return _SafeText(bottom, by_line=not is_vital or stream.isatty())


class _SafeText(io.TextIOWrapper):
    """A text stream that escapes control characters, also in the bytes written to its `buffer`."""

    def __init__(self, bottom: "io.BufferedWriter[_Sink]", *, by_line: bool) -> None:
        super().__init__(_SafeBytes(bottom), *_FORM, line_buffering=by_line, write_through=True)
        self.below = io.TextIOWrapper(bottom, *_FORM, line_buffering=by_line, write_through=True)


class _SafeBytes(io.BufferedIOBase):
    """A binary stream that escapes control characters in UTF-8 text; each write has whole characters."""

    def __init__(self, bottom: "io.BufferedWriter[_Sink]") -> None:
        super().__init__()
        self._bottom = bottom
        self.name = bottom.name

    def write(self, data: "ReadableBuffer", /) -> int:
        content = bytes(data)
        self._bottom.write(visible(content.decode("utf-8", "backslashreplace")).encode())
        return len(content)

    def flush(self) -> None:
        self._bottom.flush()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._bottom.fileno()

    def isatty(self) -> bool:
        return self._bottom.isatty()


class _Sink(io.RawIOBase):
    """The raw output stream. It fails at most once: after a failure it writes to /dev/null."""

    def __init__(self, raw: io.RawIOBase, *, is_vital: bool) -> None:
        super().__init__()
        self._raw = raw
        self.name = getattr(raw, "name", "")
        self._is_vital = is_vital

    def write(self, data: "ReadableBuffer", /) -> int | None:
        size = memoryview(data).nbytes
        try:
            written = self._raw.write(data)
        except OSError as error:
            with Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), self.fileno())
            if self._is_vital and error.errno != errno.EPIPE:
                why = "it is closed" if error.errno == errno.EBADF else error.strerror or str(error)
                raise MachineError("cannot write to stdout", why, "redirect it to a disk with free space") from error
            return size
        return size if written is None and not self._is_vital else written  # None: would block

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()
