"""The JSON document of the sizes of files: written by `s3bench describe`, read by `environment.like` and `tune --like`.

It is anonymous: numbers and sizes, no names. Versions: 1, the first.
"""

from decimal import ROUND_CEILING, Decimal
from typing import Literal

import msgspec

from s3bench.errors import BadInput
from s3bench.spec.environment_table import OBJECT_BYTES_MAX
from s3bench.spec.file_sizes import FileSizes, error_between

KIND: Literal["file-sizes"] = "file-sizes"
SIZES_VERSION = 1
_FIX = "make it with: s3bench describe DIR > sizes.json"


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many entries are not among the files, by the reason."""

    symlinks: int = 0
    special: int = 0
    unreadable: int = 0
    folder_markers: int = 0


class SizesDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`sizes` are pairs of a size and how many files have it.

    `size_error_max` is the largest relative error of a file's size, rounded up; 0 if all sizes are exact. Number,
    bytes, the quantiles named here and the largest file are always exact.
    """

    kind: Literal["file-sizes"] = KIND
    sizes_version: int = SIZES_VERSION
    files: int
    folders: int
    total_bytes: int
    p50_bytes: int
    p90_bytes: int
    p99_bytes: int
    largest_bytes: int
    size_error_max: float
    left_out: LeftOut = LeftOut()
    sizes: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, sizes: FileSizes, *, folders: int, left_out: LeftOut) -> "SizesDocument":
        """The document of `sizes`, condensed if there are many distinct ones.

        Raises `BadInput` for a file that is too large for S3: no reader takes such a document.
        """
        if sizes.largest_bytes > OBJECT_BYTES_MAX:
            raise BadInput(
                f"the largest file has {sizes.largest_bytes:,} bytes, more than {OBJECT_BYTES_MAX:,}",
                "no object of S3 can be so large",
                "leave out files of more than 50,000 GiB",
            )
        condensed = sizes.condensed()
        return cls(
            files=sizes.files,
            folders=folders,
            total_bytes=sizes.total_bytes,
            p50_bytes=sizes.quantile(0.5),
            p90_bytes=sizes.quantile(0.9),
            p99_bytes=sizes.quantile(0.99),
            largest_bytes=sizes.largest_bytes,
            size_error_max=_rounded_up(error_between(sizes, condensed)),
            left_out=left_out,
            sizes=condensed.counts,
        )

    @property
    def file_sizes(self) -> FileSizes:
        """The sizes of the files."""
        return FileSizes(counts=self.sizes)


def encode_sizes(document: SizesDocument) -> bytes:
    """The document as JSON, one key a line, all sizes in one."""
    pairs = msgspec.json.decode(msgspec.json.encode(document), type=dict[str, msgspec.Raw])
    lines = [b' "' + key.encode() + b'": ' + bytes(value) for key, value in pairs.items()]
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


class _Head(msgspec.Struct):
    kind: str = ""
    sizes_version: int = 0


def is_sizes_document(content: bytes) -> bool:
    """Whether `content` says that it is such a document, of whatever version."""
    try:
        return msgspec.json.decode(content, type=_Head).kind == KIND
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False


def parse_sizes(content: bytes, *, source: str) -> SizesDocument:
    """Parse a document. Raises `BadInput`."""
    try:
        head = msgspec.json.decode(content, type=_Head)
        if head.sizes_version > SIZES_VERSION:
            raise BadInput(
                f"{source} has sizes_version {head.sizes_version}; this s3bench reads versions up to {SIZES_VERSION}",
                "a newer s3bench wrote it",
                "update s3bench",
            )
        document = msgspec.json.decode(content, type=SizesDocument)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadInput(f"{source} has no sizes of files", str(error), _FIX) from error
    if fault := _fault(document):
        raise BadInput(f"{source} contradicts itself", fault, _FIX)
    return document


def _rounded_up(error: float) -> float:
    return float(Decimal(str(error)).quantize(Decimal("1e-6"), ROUND_CEILING))


def _fault(document: SizesDocument) -> str | None:
    sizes = [size for size, _ in document.sizes]
    if not sizes or sizes != sorted(set(sizes)):
        return "`sizes` has to be a list of distinct sizes in ascending order"
    if sizes[0] < 0 or sizes[-1] > OBJECT_BYTES_MAX:
        return f"a size in `sizes` is not between 0 and {OBJECT_BYTES_MAX} bytes"
    if min(count for _, count in document.sizes) < 1:
        return "a number of files in `sizes` is below 1"
    found = document.file_sizes
    if (found.files, found.total_bytes) != (document.files, document.total_bytes):
        return (
            f"`sizes` has {found.files} files of {found.total_bytes} bytes, but `files` and `total_bytes` say "
            f"{document.files} and {document.total_bytes}"
        )
    return None
