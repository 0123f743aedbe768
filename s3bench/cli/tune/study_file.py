"""The file of a study, with one line for every trial.

Each trial is written before the next one starts. An unfinished last line, from a killed process, is removed when the
study is resumed.
"""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from s3bench.errors import BadInput, MachineError
from s3bench.results.file import check_output, read_whole
from s3bench.tune.study import Header, Study, Trial, encode_line, parse_study


def read_study(path: Path) -> Study:
    """Read a study. Raises `BadInput`."""
    return parse_study(read_whole(path, of="a study"), source=str(path))


class StudyFile:
    """A study on disk, open for its next trials and locked; a context manager.

    `study` is what the file had when it was locked, which no other s3bench can have changed since.
    """

    def __init__(self, path: Path, descriptor: int, study: Study) -> None:
        self.study = study
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def begin(cls, path: Path, header: Header, *, force: bool) -> Self:
        """Begin a new study. Raises `BadInput` if the file exists, unless `force`, and if another s3bench writes it.

        The file is emptied after it was locked, so that a study that is being written stays whole.
        """
        check_output(path, force=force)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | (0 if force else os.O_EXCL)
        file = cls(path, _opened(path, flags), Study(header=header))
        os.ftruncate(file._descriptor, 0)
        file._write(encode_line(header))
        return file

    @classmethod
    def resume(cls, path: Path) -> Self:
        """Open a study to continue it; removes an unfinished last line. Raises `BadInput` if it is not a study.

        The file is read after it was locked: until then another s3bench may add trials.
        """
        descriptor = _opened(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, fix="pass the path of a study")
        try:
            content = read_whole(path, of="a study")
            study = parse_study(content, source=str(path))
            os.ftruncate(descriptor, content.rfind(b"\n") + 1)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor, study)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def append(self, trial: Trial) -> None:
        """Append a trial."""
        self._write(encode_line(trial))

    def _write(self, line: bytes) -> None:
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
        except OSError as error:
            raise MachineError(
                f"cannot write to {self._path}", str(error), "free some space; all earlier trials are saved"
            ) from None


def _opened(path: Path, flags: int, *, fix: str = "") -> int:
    """Open and lock the file. Raises `BadInput`."""
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        raise BadInput(f"cannot open {path}", error.strerror or str(error), fix) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise BadInput(
                f"{path} is in use", "another s3bench is writing to it", "wait until that has ended"
            ) from None
        raise BadInput(f"cannot lock {path}", error.strerror or str(error)) from None
    return descriptor
