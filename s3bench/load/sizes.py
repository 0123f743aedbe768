"""How large objects are: one size, a weighted list, or a distribution; always as a table of slots.

Owns the distributions and their notation (`32MiB`, `4KiB:70,1MiB:30`, `uniform:1KiB-1MiB`, `lognormal:64KiB,1.5`). An
object's size is that of its slot, and the slot follows from the object's number alone, so that nobody keeps a table of
sizes and every reader knows what it must get. A distribution has its slots at the middles of equally probable shares.
"""

import msgspec

from s3bench.units import render_bytes

SLOTS = 256
SIZE_BYTES_MAX = 5 * 1024**4
"""S3's largest object (https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html)."""


class Sizes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The sizes in bytes that objects have, `text` as a person wrote them; each slot is equally frequent."""

    text: str
    slots: tuple[int, ...]

    @property
    def mean_bytes(self) -> float:
        """The mean size of an object."""
        return sum(self.slots) / len(self.slots)

    @property
    def size_bytes_max(self) -> int:
        """The largest size of an object."""
        return max(self.slots)

    def __str__(self) -> str:
        return self.text


def fixed(size_bytes: int) -> Sizes:
    """All objects of one size."""
    return Sizes(text=render_bytes(size_bytes).replace(".0 ", "").replace(" ", ""), slots=(size_bytes,))
