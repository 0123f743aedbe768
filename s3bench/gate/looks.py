"""The looks of a gate (group sequential testing) and their shares of the error budget.

A test that is repeated as data come in rejects too often unless its level is shared among the looks. Each look gets a
share by the spending function alpha(t) = alpha * t of Kim and DeMets, "Design and analysis of group sequential tests
based on the type I error spending rate function", Biometrika 74 (1987), where t is the share of the pairs it has. The
shares add up (Bonferroni), which needs no assumption about the dependence of the looks.
"""

import itertools

import msgspec

from s3bench.errors import BadInput

PAIRS_MAX = 1000


class Looks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`pairs` are the numbers of pairs at which a gate decides, ascending and even (two pairs form a quad ABBA)."""

    pairs: tuple[int, ...] = (10, 20, 40)

    @property
    def cap(self) -> int:
        """The most pairs of one benchmark."""
        return self.pairs[-1]

    def share(self, look: int) -> float:
        """The part of the error budget that the look numbered `look` (from 0) may spend; all of them sum to 1."""
        before = self.pairs[look - 1] if look else 0
        return (self.pairs[look] - before) / self.cap


def parse_looks(text: str) -> Looks:
    """Parse `10,20,40`. Raises `BadInput`."""
    try:
        pairs = tuple(int(word) for word in text.split(","))
    except ValueError:
        pairs = ()
    return check_looks(Looks(pairs=pairs), f"--pairs {text}")


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
