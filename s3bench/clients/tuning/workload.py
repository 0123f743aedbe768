"""What is to be transferred: a direction, and how many files of which size."""

from enum import StrEnum

import msgspec


class Action(StrEnum):
    """What the transfer command does: `sync` sends a directory to a prefix where nothing is yet."""

    UPLOAD = "upload"
    DOWNLOAD = "download"
    SYNC = "sync"


class Workload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`files` files of `size_bytes` bytes each, moved by one command."""

    action: Action
    size_bytes: int
    files: int = 1

    @property
    def total_bytes(self) -> int:
        """All bytes of object data that one run moves."""
        return self.size_bytes * self.files

    @property
    def is_upload(self) -> bool:
        """Whether the bytes go to S3."""
        return self.action is not Action.DOWNLOAD

    @property
    def is_recursive(self) -> bool:
        """Whether a directory is moved rather than a file."""
        return self.files > 1 or self.action is Action.SYNC
