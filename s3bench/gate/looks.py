"""The looks of a gate (group sequential testing) and their shares of the error budget.

A test that is repeated as data come in rejects too often unless its level is shared among the looks. Each look gets a
share by a spending function of Kim and DeMets, "Design and analysis of group sequential tests based on the type I error
spending rate function", Biometrika 74 (1987): alpha(t) = alpha * t^rho, where t is the share of the pairs it has. The
shares add up (Bonferroni), which needs no assumption about the dependence of the looks.

A gate whose time is over has a last look at the pairs that are there, which spends what is left.
"""

import itertools
from enum import StrEnum

import msgspec

from s3bench.errors import BadInput

PAIRS_MAX = 1000
_EARLY = 0.5  # rho of the misses


class Spending(StrEnum):
    """How the looks share the error budget.

    BY_PAIRS: by the pairs that each adds. BY_USE: false alarms by the pairs too, but a look with too few pairs to
    reject anything at its level leaves its share to the last one; misses with rho = 1/2, because most benchmarks are
    unchanged, and the sooner they PASS, the more time is left for the others.
    """

    BY_PAIRS = "by pairs"
    BY_USE = "by use"


class Looks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`pairs` are the numbers of pairs at which a gate decides, ascending and even (two pairs form a quad ABBA).

    Former records have no `spending`.
    """

    pairs: tuple[int, ...] = (10, 20, 40)
    spending: Spending = Spending.BY_PAIRS

    @property
    def cap(self) -> int:
        """The most pairs of one benchmark."""
        return self.pairs[-1]

    def share(self, look: int) -> float:
        """The part of the pairs that the look numbered `look` (from 0) adds; all of them sum to 1."""
        before = self.pairs[look - 1] if look else 0
        return (self.pairs[look] - before) / self.cap

    def alarm_shares(self, level: float) -> tuple[float, ...]:
        """The part of the false alarms that each look may spend, for a test of this level."""
        shares = tuple(self.share(look) for look in range(len(self.pairs)))
        if self.spending is Spending.BY_PAIRS:
            return shares
        usable = [
            share if 0.5**pairs <= level * share else 0.0
            for pairs, share in zip(self.pairs[:-1], shares[:-1], strict=True)
        ]
        return (*usable, 1.0 - sum(usable))

    @property
    def miss_shares(self) -> tuple[float, ...]:
        """The part of the misses that each look may spend."""
        if self.spending is Spending.BY_PAIRS:
            return tuple(self.share(look) for look in range(len(self.pairs)))
        spent = [0.0, *((pairs / self.cap) ** _EARLY for pairs in self.pairs)]
        return tuple(after - before for before, after in itertools.pairwise(spent))

    def left(self, shares: tuple[float, ...], pairs: int) -> float:
        """What the looks at up to `pairs` pairs leave of these shares."""
        return sum(share for share, count in zip(shares, self.pairs, strict=True) if count > pairs)


def parse_looks(text: str, *, spending: Spending = Spending.BY_PAIRS) -> Looks:
    """Parse `10,20,40`. Raises `BadInput`."""
    try:
        pairs = tuple(int(word) for word in text.split(","))
    except ValueError:
        pairs = ()
    return check_looks(Looks(pairs=pairs, spending=spending), f"--pairs {text}")


def check_looks(looks: Looks, where: str = "looks") -> Looks:
    """Check the numbers of pairs, given by the option or at the path `where`. Raises `BadInput`."""
    pairs = looks.pairs
    ascending = all(first < second for first, second in itertools.pairwise(pairs))
    if not pairs or not ascending or pairs[0] < 2 or pairs[-1] > PAIRS_MAX or any(count % 2 for count in pairs):  # noqa: PLR2004 (the least even number)
        raise BadInput(
            f"{where}: not a valid list of looks",
            f"the numbers of pairs must ascend, be even (two pairs form a quad ABBA) and be at most {PAIRS_MAX}",
            "write for example --pairs 10,20,40",
        )
    return looks
