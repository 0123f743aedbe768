"""Finds outages: times in which no operation succeeded although some were wanted, from masks of tenths of a second.

A gap is a run of slots of a tenth of a second in which no request succeeded on any worker. These parts of it are time
without service:

- From the slot of its first failed attempt to that of its last one, both included.
- Silence before the first failure, after the last one, or in a gap without any failure, if operations were wanted and
  it lasts at least ten times as long as requests usually take. Shorter silence is normal for a slow server.

An outage lasts at least half a second: in a shorter time, a few failures may be neighbours by chance.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from s3bench.load.aggregation.second import ClosedSecond
from s3bench.load.engine.recorder import SECOND_NS, SLOT_NS

UNUSUAL = 10
"""Silence of this many times the usual time of a request is not by chance: of lognormal times with a sigma of 1, one in
6,000 exceeds ten times the 90th percentile."""

SLOTS_MIN = 5
"""The fewest slots of an outage."""

_SLOTS = SECOND_NS // SLOT_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A stretch without service: slots of the phase from `first` on, up to `end`, which is not part of it."""

    first: int
    end: int

    def covers(self, second: int) -> bool:
        """Whether all of a second was without service."""
        return self.first <= second * _SLOTS and (second + 1) * _SLOTS <= self.end

    def length_s(self, *, since_s: float, until_s: float) -> float:
        """How much of it lies between two times of the phase."""
        slot_s = SLOT_NS / SECOND_NS
        return max(0.0, min(self.end * slot_s, until_s) - max(self.first * slot_s, since_s))


def outages(seconds: Sequence[ClosedSecond], usual_s: float) -> tuple[Outage, ...]:
    """The outages in consecutive seconds, if requests usually take up to `usual_s`."""
    unusual = UNUSUAL * usual_s * SECOND_NS / SLOT_NS
    found = (_outage(gap, unusual) for gap in _gaps(seconds))
    return tuple(each for each in found if each is not None and each.end - each.first >= SLOTS_MIN)


@dataclass(frozen=True, slots=True)
class _Slot:
    """A slot without success."""

    number: int
    has_failed: bool
    is_wanted: bool


def _gaps(seconds: Sequence[ClosedSecond]) -> Iterator[list[_Slot]]:
    """Yield the runs of slots without success."""
    gap: list[_Slot] = []
    for second in seconds:
        for index in range(-(-second.length_ns // SLOT_NS)):
            if second.served >> index & 1:
                if gap:
                    yield gap
                gap = []
            else:
                has_failed = bool(second.failed >> index & 1)
                is_wanted = has_failed or bool(second.wanted >> index & 1)
                gap.append(_Slot(second.figures.second * _SLOTS + index, has_failed, is_wanted))
    if gap:
        yield gap


def _outage(gap: list[_Slot], unusual: float) -> Outage | None:
    """The outage in a gap, if any; silence of less than `unusual` slots is none."""
    failed = [at for at, slot in enumerate(gap) if slot.has_failed]
    if not failed:
        silent = [slot for slot in gap if slot.is_wanted]
        return _stretch(silent) if len(silent) >= unusual else None
    before = [slot for slot in gap[: failed[0]] if slot.is_wanted]
    after = [slot for slot in gap[failed[-1] + 1 :] if slot.is_wanted]
    within = gap[failed[0] : failed[-1] + 1]
    return _stretch([*(before if len(before) >= unusual else ()), *within, *(after if len(after) >= unusual else ())])


def _stretch(slots: list[_Slot]) -> Outage | None:
    return Outage(first=slots[0].number, end=slots[-1].number + 1) if slots else None
