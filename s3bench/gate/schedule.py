"""The order in which a gate with a time limit spends its pairs, and what a longer gate would settle.

The order depends on what earlier looks showed, and on the clock. It is chosen anew only when a benchmark reaches a
look, so that the pairs that follow are not chosen by what they show.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from s3bench.gate.evidence import CellEvidence

Identity = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTest:
    """A test that needs more pairs; `cells` has the identity of each of its benchmarks, or of its control.

    `is_suspect`: its estimate is above d0. `pairs_expected` is the total number of pairs at which it is expected to be
    decided, infinite if it is not.
    """

    cells: tuple[Identity, ...]
    is_control: bool = False
    is_suspect: bool = False
    pairs_expected: float

    def pairs_missing(self, pairs: int, looks: Sequence[int]) -> int:
        """The pairs that it takes from `pairs` on up to the look that is expected to decide it, or to the last one."""
        following = [look for look in looks if look > pairs]
        return next((look for look in following if look >= self.pairs_expected), looks[-1]) - pairs


def by_decisiveness(
    tests: Iterable[OpenTest], pairs: Mapping[Identity, int], pair_s: Mapping[Identity, float], *, looks: Sequence[int]
) -> tuple[Identity, ...]:
    """The cells that need pairs, those first on which pairs decide most.

    Controls come first, since without them nothing is concluded; then suspects; then the others; the mean over all
    benchmarks last. Of each, what is decided in the shortest time comes first, and what no look is expected to decide
    last.
    """
    keys: dict[Identity, tuple[float, ...]] = {}
    for test in tests:
        takes_s = sum(test.pairs_missing(pairs[cell], looks) * pair_s[cell] for cell in test.cells)
        is_hopeless = test.pairs_expected > looks[-1]
        key = (not test.is_control, len(test.cells) > 1, not test.is_suspect, is_hopeless, takes_s)
        for cell in test.cells:
            keys[cell] = min(keys.get(cell, key), key)
    return tuple(sorted(keys, key=lambda cell: keys[cell]))


def fitting(first_look_s: Sequence[float], left_s: float) -> tuple[int, ...]:
    """The places of those whose first looks fit into the time left together: all, or the shortest."""
    found: list[int] = []
    for place in sorted(range(len(first_look_s)), key=lambda place: first_look_s[place]):
        left_s -= first_look_s[place]
        if left_s < 0:
            break
        found.append(place)
    return tuple(sorted(found))


def longer_gate(tests: Iterable[OpenTest], cells: Sequence[CellEvidence], *, looks: Sequence[int]) -> str:
    """What more time would settle of the open rows of single benchmarks; empty if none of them was measured."""
    measured = {cell.identity for cell in cells if cell.pairs}
    rows = [test for test in tests if not test.is_control and len(test.cells) == 1]
    known = [test for test in rows if measured.issuperset(test.cells)]
    if not known:
        return ""
    settled = [test for test in known if test.pairs_expected <= looks[-1]]
    of_rows = f"{len(rows)} open row{'s' * (len(rows) != 1)}"
    if not settled:
        return f"{looks[-1]} pairs are not expected to settle any of {of_rows}"
    missing_s = 0.0
    for cell in cells:
        missing = [test.pairs_missing(len(cell.pairs), looks) for test in settled if cell.identity in test.cells]
        missing_s += max(missing, default=0) * _usual_pair_s(cell)
    minutes = max(math.ceil(missing_s / 60), 1)
    more = f"{minutes} more minute{'s' * (minutes != 1)}"
    return f"{more} would be expected to settle {len(settled)} of {of_rows}"


def _usual_pair_s(cell: CellEvidence) -> float:
    times_s = [pair.baseline.total_time + pair.candidate.total_time for pair in cell.pairs]
    return sum(times_s) / len(times_s) if times_s else 0.0
