"""The objects of a replay: keys are hashes of the log's, sizes are those of the plan, contents are derived from both.

The contents of an object are a window of the pool of its size, and a stamp that follows from its key and version, so
that a read shows whether it got the version that was written last.
"""

import functools

from s3bench.load.engine.objects import ContentWindow, ObjectBody, Stamps, numbered_key
from s3bench.load.engine.pool import POOL_BYTES_MAX, Pool
from s3bench.load.engine.replay_file import PlannedOperation
from s3bench.load.engine.replayed_operations import ReplayedOperations
from s3bench.load.profile.profile import DataSet
from s3bench.s3.signing.sigv4 import canonical_path

_SLOTS = 64
_WINDOWS_MAX = 16 * 1024
_KEY_BITS = 64


class ReplayedContents:
    """Names and contents of all objects of a replay; made before its phase, since the pool takes a moment."""

    def __init__(self, data: DataSet, *, bucket: str) -> None:
        self.bucket = bucket
        self.root = data.root
        self.encoded_root = canonical_path("/" + data.root)
        seed = f"{data.run}\n{data.root}"
        self._stamps = Stamps(seed)
        self._pool = Pool(seed, data.payload, count=_SLOTS, total_bytes=POOL_BYTES_MAX)
        self._window = functools.lru_cache(maxsize=_WINDOWS_MAX)(self._make_window)

    def body(self, key: int, version: int, size_bytes: int) -> ObjectBody:
        """The contents of a version of an object."""
        window = self._window(key % _SLOTS, size_bytes, 0, size_bytes)
        return ObjectBody(window, self._stamps.of(version << _KEY_BITS | key)[window.own])

    def _make_window(self, slot: int, size_bytes: int, start: int, end: int) -> ContentWindow:
        part = functools.partial(self._window, slot, size_bytes)
        return ContentWindow(self._pool, self._pool.offset(slot), size_bytes, start, end, part)


class ReplayedObjects:
    """The objects of the operations that are on, by the numbers of the operations.

    What is read is not verified while its key is in `doubtful`: a write of it has failed, so that nobody knows what is
    there.
    """

    def __init__(self, contents: ReplayedContents, operations: ReplayedOperations, doubtful: set[int]) -> None:
        self._contents = contents
        self._operations = operations
        self._doubtful = doubtful

    @property
    def listed(self) -> int | None:
        """None are listed in a key file."""
        return None

    def key(self, number: int) -> str:
        """The whole key of an operation's object."""
        return numbered_key(self._contents.root, self._operations.operation(number).key)

    def path(self, number: int) -> str:
        """The key as a path, canonical as SigV4 wants it."""
        return numbered_key(self._contents.encoded_root, self._operations.operation(number).key)

    def copy_source(self, number: int) -> str:
        """The object as x-amz-copy-source names it."""
        return f"{self._contents.bucket}{self.path(number)}"

    def size_bytes(self, number: int) -> int:
        """The size of an operation's object."""
        return self._operations.operation(number).size_bytes

    def body(self, number: int) -> ObjectBody:
        """The contents that an operation writes or must read."""
        operation = self._operations.operation(number)
        return self._contents.body(operation.key, operation.version, operation.size_bytes)

    def expected(self, number: int) -> tuple[int | None, ObjectBody | None]:
        """Size and contents that a read of the whole object must bring; `None` where nobody knows."""
        if self.is_doubtful(self._operations.operation(number)):
            return None, None
        body = self.body(number)
        return body.size_bytes, body

    def is_doubtful(self, operation: PlannedOperation) -> bool:
        """Whether a write of the object has failed, and none has succeeded since."""
        return operation.key in self._doubtful
