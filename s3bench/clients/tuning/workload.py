"""What is to be transferred: a direction, and how many files of which size."""

from enum import StrEnum

import msgspec

from s3bench.spec.file_sizes import FileSizes, SizeCounts


class Action(StrEnum):
    """What the transfer command does: `sync` sends a directory to a prefix where nothing is yet."""

    UPLOAD = "upload"
    DOWNLOAD = "download"
    SYNC = "sync"


class Workload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`files` files of `size_bytes` bytes each, moved by one command.

    Where files differ in size, `sizes` has their sizes with the number of each, and `size_bytes` is the largest.
    """

    action: Action
    size_bytes: int
    files: int = 1
    sizes: SizeCounts = ()

    @classmethod
    def like(cls, action: Action, sizes: FileSizes) -> "Workload":
        """Files of these sizes."""
        return cls(
            action=action,
            size_bytes=sizes.largest_bytes,
            files=sizes.files,
            sizes=sizes.counts if len(sizes.counts) > 1 else (),
        )

    @property
    def file_sizes(self) -> FileSizes:
        """The sizes of its files."""
        return FileSizes(counts=self.sizes or ((self.size_bytes, self.files),))

    def of_each_size(self) -> tuple["Workload", ...]:
        """One workload for each size, with the files of that size."""
        return tuple(
            Workload(action=self.action, size_bytes=size, files=count) for size, count in self.file_sizes.counts
        )

    def times(self, factor: int) -> "Workload":
        """The same with `factor` times as many files."""
        sizes = tuple((size, count * factor) for size, count in self.sizes)
        return msgspec.structs.replace(self, files=self.files * factor, sizes=sizes)

    @property
    def total_bytes(self) -> int:
        """All bytes of object data that one run moves."""
        return self.file_sizes.total_bytes

    @property
    def is_upload(self) -> bool:
        """Whether the bytes go to S3."""
        return self.action is not Action.DOWNLOAD

    @property
    def is_recursive(self) -> bool:
        """Whether a directory is moved rather than a file."""
        return self.files > 1 or self.action is Action.SYNC
