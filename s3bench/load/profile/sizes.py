"""Sizes of objects: one size, a weighted list, or a distribution, each as a table of slots.

The notation is `32MiB`, `4KiB:70,1MiB:30`, `uniform:1KiB-1MiB`, `lognormal:64KiB,1.5`. The size of an object is that of
its slot, and its slot derives from its number alone, so that no table of sizes is kept and every reader knows the size
that it must get. The slots of a distribution are the means of equally probable shares, so that the mean of all objects
is that of the distribution.
"""

import math
import re
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist

import msgspec

from s3bench.units import BadQuantity, exact_bytes, parse_bytes, render_bytes

SLOTS = 256
SIZE_BYTES_MAX = 5 * 1024**4
"""S3's largest object (https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html)."""

_SIGMA_MAX = 8
_RIGHT = (
    "write one size such as 4096, 1K, 32MiB or 1.5GB, sizes with weights such as 4KiB:70,1MiB:30, uniform:1KiB-1MiB, "
    "or lognormal:MEDIAN,SIGMA with the standard deviation of the size's logarithm, such as lognormal:64KiB,1.5, "
    "after which the largest size may follow"
)
_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?", re.ASCII)


class Sizes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The sizes in bytes that objects have, `text` as a person wrote them; each slot is equally frequent.

    There is one slot, or `SLOTS` of them, in ascending order.
    """

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
    """All objects of one size, with its exact text."""
    return Sizes(text=exact_bytes(size_bytes), slots=(size_bytes,))


def parse_sizes(text: str) -> Sizes:
    """Parse one size, sizes with weights, or a distribution. Raises `BadQuantity`."""
    try:
        slots = _within_limits(_parse_slots(text.strip()))
    except BadQuantity as bad:
        raise BadQuantity(bad.what, _RIGHT) from None
    except (ValueError, OverflowError) as error:
        raise BadQuantity.of(text, f"which cannot be read: {error}", _RIGHT) from None
    return Sizes(text=text.strip(), slots=slots)


def _parse_slots(text: str) -> tuple[int, ...]:
    name, colon, rest = text.partition(":")
    if not colon and "," not in text:
        return (parse_bytes(text),)
    if name.lower() == "uniform":
        return _parse_uniform(rest)
    if name.lower() == "lognormal":
        return _parse_lognormal(rest)
    return _parse_list(text)


def _within_limits(slots: tuple[int, ...]) -> tuple[int, ...]:
    if max(slots) > SIZE_BYTES_MAX:
        raise ValueError(f"it has objects of {render_bytes(max(slots))}, and S3 stores at most 5 TiB")
    return slots


def _parse_part(text: str) -> int:
    try:
        return parse_bytes(text)
    except BadQuantity as bad:
        raise ValueError(f"one of its sizes {bad.what}") from None


def _parse_list(text: str) -> tuple[int, ...]:
    weights: dict[int, Fraction] = {}
    for part in text.split(","):
        size, colon, weight = part.partition(":")
        if not colon:
            raise ValueError(f"{part!r} has no weight")
        size_bytes = _parse_part(size)
        weights[size_bytes] = weights.get(size_bytes, Fraction(0)) + _parse_weight(weight)
    return _apportioned(dict(sorted(weights.items())))


def _parse_weight(text: str) -> Fraction:
    if not _NUMBER.fullmatch(text.strip()) or not Fraction(text):
        raise ValueError(f"{text!r} is not a weight, which is a number above 0")
    return Fraction(text)


def _apportioned(weights: dict[int, Fraction]) -> tuple[int, ...]:
    """Give each size the slots that its weight deserves, by largest remainders (Hamilton's method)."""
    total = sum(weights.values())
    shares = {size_bytes: weight / total * SLOTS for size_bytes, weight in weights.items()}
    for size_bytes, share in shares.items():
        if share < 1:
            raise ValueError(
                f"size {size_bytes} has {float(share / SLOTS):.3%} of the weight and there are {SLOTS} slots: "
                f"a size needs at least {float(total / SLOTS):.4g} of the {float(total):g} in all, or is left out"
            )
    slots = {size_bytes: int(share) for size_bytes, share in shares.items()}
    by_remainder = sorted(shares, key=lambda size_bytes: slots[size_bytes] - shares[size_bytes])
    for size_bytes in by_remainder[: SLOTS - sum(slots.values())]:
        slots[size_bytes] += 1
    return tuple(size_bytes for size_bytes, count in slots.items() for _ in range(count))


def _parse_uniform(text: str) -> tuple[int, ...]:
    low_text, dash, high_text = text.partition("-")
    if not dash:
        raise ValueError(f"{text!r} is not a range of two sizes")
    low, high = _parse_part(low_text), _parse_part(high_text)
    if low > high:
        raise ValueError("the first size is above the second")
    return _rounded(low + (high - low) * (slot + 0.5) / SLOTS for slot in range(SLOTS))


def _parse_lognormal(text: str) -> tuple[int, ...]:
    median_text, *rest = text.split(",")
    if len(rest) not in {1, 2}:
        raise ValueError(f"{text!r} is not a median, a sigma and an optional largest size")
    if not _NUMBER.fullmatch(rest[0].strip()) or not 0 < float(rest[0]) <= _SIGMA_MAX:
        raise ValueError(f"{rest[0]!r} is not a sigma, which is a number above 0 and at most {_SIGMA_MAX}")
    median, sigma = _parse_part(median_text), float(rest[0])
    if not median:
        raise ValueError("the median is 0")
    if len(rest) == 1:
        return _rounded(_lognormal_means(median, sigma, math.inf))
    largest = _parse_part(rest[1])
    if largest <= median:
        raise ValueError("the largest size is not above the median")
    return tuple(min(size_bytes, largest) for size_bytes in _rounded(_lognormal_means(median, sigma, largest)))


def _lognormal_means(median: float, sigma: float, largest: float) -> Iterable[float]:
    """Yield the means of equally probable shares of a lognormal distribution that ends at `largest`.

    The part of the mean between two quantiles z is exp(mu + sigma**2 / 2) times the normal probability between
    z - sigma of both (Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, 14.3), calculated from the
    upper tail, where nothing cancels.
    """
    normal = NormalDist()
    reached = normal.cdf(math.log(largest / median) / sigma) if largest < math.inf else 1.0
    bounds = [normal.inv_cdf(reached * slot / SLOTS) for slot in range(1, SLOTS)]
    bounds = [-math.inf, *bounds, math.log(largest / median) / sigma if largest < math.inf else math.inf]
    tails = [math.erfc((sigma - bound) / math.sqrt(2)) / 2 for bound in bounds]
    scale = median * math.exp(sigma**2 / 2) * SLOTS / reached
    for below, above in pairwise(tails):
        yield scale * (above - below)


def _rounded(sizes_bytes: Iterable[float]) -> tuple[int, ...]:
    return tuple(round(size_bytes) for size_bytes in sizes_bytes)
