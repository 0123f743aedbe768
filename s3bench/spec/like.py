"""Makes a fixture directory of `environment.like`: files by the sizes in a file beside the definitions."""

import hashlib
import stat
from pathlib import Path

from s3bench.errors import BadInput
from s3bench.spec.definition import FixtureDir, LikeFiles
from s3bench.spec.file_sizes import FileSizes, sample_words
from s3bench.spec.reader import Complaint, quoted
from s3bench.spec.sizes_document import parse_sizes

_FILE_BYTES_MAX = 1 << 20
"""Far more than the sizes of a `s3bench describe` take."""

SIZES_DIMENSION = "FileSizes"
"""The dimension of results whose files are like others."""

_DIGITS = 8
_FIX = "make it with: s3bench describe DIR > sizes.json"


def like_directory(like: LikeFiles, beside: Path | None) -> FixtureDir | Complaint:
    """The directory with files of these sizes, or what is wrong with the file.

    It is read only if it is a file below the directory `beside`, also after following symbolic links, so that a
    definition from somebody else cannot read other files.
    """
    if beside is None:
        return Complaint("needs a definition file to be relative to", "write the definitions to a file")
    content = _content(like.sizes, beside)
    if isinstance(content, Complaint):
        return content
    try:
        whole = parse_sizes(content, source=quoted(like.sizes)).file_sizes
    except BadInput as error:
        return Complaint(f"cannot be used: {error.what}: {error.why}", error.fix)
    return directory_of(whole.sample(files_max=like.files_max, bytes_max=like.bytes_max), whole, like)


def directory_of(sample: FileSizes, whole: FileSizes, like: LikeFiles) -> FixtureDir:
    """The directory of `sample`, which says what it leaves out of `whole`."""
    return FixtureDir(
        name=like.name,
        file_count=sample.files,
        file_size_bytes=sample.largest_bytes,
        fill=like.fill,
        sizes=sample.counts,
        sizes_file=like.sizes,
        left_out=sample_words(whole, sample),
    )


def identity_of(directory: FixtureDir) -> str:
    """The number, the bytes and a hash of the sizes: `500 files 1048576 bytes 0a1b2c3d`."""
    digest = hashlib.sha256(repr((directory.sizes, str(directory.fill))).encode()).hexdigest()[:_DIGITS]
    return f"{directory.file_count} files {directory.total_bytes} bytes {digest}"


def _content(name: str, beside: Path) -> bytes | Complaint:
    try:
        path = (beside / name).resolve(strict=True)
        if not path.is_relative_to(beside.resolve()):
            return Complaint(
                f"is {quoted(name)}, which a symbolic link leads out of the directory of the definitions",
                "put the file itself beside the definitions",
            )
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return Complaint(f"is {quoted(name)}, which is not a file", _FIX)
        if status.st_size > _FILE_BYTES_MAX:
            return Complaint(f"is {quoted(name)}, which is larger than {_FILE_BYTES_MAX} bytes", _FIX)
        return path.read_bytes()
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Complaint(f"is {quoted(name)}, which cannot be read: {reason}", _FIX)
