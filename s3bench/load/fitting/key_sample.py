"""A sample of the keys of a log, each with all of its requests, in bounded memory and one pass.

A key belongs to the sample if its hash is below a threshold, which is halved whenever the sample grows too large
(adaptive sampling: Flajolet, Computing 43, 1990; Gibbons, VLDB 2001). Keys that stay have been in it from their first
request on, so that their counts are exact, and whether a key is in it does not depend on how often it is requested.
"""

import hashlib
from collections.abc import Iterator

KEYS_MAX = 1 << 17
"""The most keys of a sample. They take 50 MB; a log with fewer keys is not sampled."""

_HASH_BYTES = 8
_ALL = 1 << 8 * _HASH_BYTES


class SampledKey:
    """What is known of one key: requests, size, and the times of its first write and the first read after that.

    `first_read_at_s` is the earliest read; `read_after_at_s` the earliest read that came after the first write, as far
    as the lines of the log were in order. Times are `None` before there is one.
    """

    __slots__ = ("first_read_at_s", "read_after_at_s", "reads", "size_bytes", "writes", "written_at_s")

    def __init__(self) -> None:
        self.reads = 0
        self.writes = 0
        self.size_bytes: int | None = None
        self.written_at_s: float | None = None
        self.first_read_at_s: float | None = None
        self.read_after_at_s: float | None = None

    def read(self, at_s: float) -> None:
        """Note a read."""
        self.reads += 1
        self.first_read_at_s = _earlier(self.first_read_at_s, at_s)
        if self.written_at_s is not None and at_s >= self.written_at_s:
            self.read_after_at_s = _earlier(self.read_after_at_s, at_s)

    def written(self, at_s: float) -> None:
        """Note a write."""
        self.writes += 1
        self.written_at_s = _earlier(self.written_at_s, at_s)

    @property
    def first_read_after_write_at_s(self) -> float | None:
        """When the key was first read after it was first written; `None` if it was not."""
        if self.written_at_s is None:
            return None
        if self.first_read_at_s is not None and self.first_read_at_s >= self.written_at_s:
            return self.first_read_at_s  # the lines of a log need not be in order
        return self.read_after_at_s


class KeySample:
    """The sampled keys. `share` is the share of all keys that are in it."""

    def __init__(self, *, keys_max: int = KEYS_MAX) -> None:
        self._keys: dict[int, SampledKey] = {}
        self._keys_max = keys_max
        self._threshold = _ALL

    def __iter__(self) -> Iterator[SampledKey]:
        return iter(self._keys.values())

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def share(self) -> float:
        """The share of all keys that are in the sample."""
        return self._threshold / _ALL

    def at(self, bucket: str, key: str) -> SampledKey | None:
        """The key, which is added if it is new; `None` if it does not belong to the sample."""
        name = f"{bucket}\0{key}".encode(errors="surrogateescape")
        place = int.from_bytes(hashlib.blake2b(name, digest_size=_HASH_BYTES).digest(), "big")
        if place >= self._threshold:
            return None
        found = self._keys.get(place)
        if found is None:
            found = self._keys[place] = SampledKey()
            while len(self._keys) > self._keys_max:
                self._threshold //= 2
                self._keys = {each: kept for each, kept in self._keys.items() if each < self._threshold}
            if place >= self._threshold:
                return None
        return found


def _earlier(known_s: float | None, at_s: float) -> float:
    return at_s if known_s is None or at_s < known_s else known_s
