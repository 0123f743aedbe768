"""Gates simulated as live ones run: noise of several shapes, ABBA and BAAB quads, pairs given only to the undecided.

Owns the noise and the loop of looks. All of it is drawn from the generator it is given.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from s3bench.gate.evidence import ClientCellEvidence, RunPair
from s3bench.gate.indifference_zone import IndifferenceZone
from s3bench.gate.looks import Looks, Spending
from s3bench.gate.multiple_testing import decide_rows, pairs_needed
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind, Verdict
from tests.gate.evidence_maker import MEMORY_BYTES, run

Array = NDArray[np.float64]

TIME = "total_time"
MEMORY = "peak_memory"
ZONES = {TIME: IndifferenceZone(d0=0.02, d1=0.06, floor=0.0), MEMORY: IndifferenceZone(d0=0.01, d1=0.03, floor=0.0)}
MEMORY_SIGMA_SHARE = 0.5
"""Peak memory varies half as much as time here, and its zone is half as wide: both kinds of row are equally hard."""

_LIGHT_TAIL_SHARE = 0.2
_HIGH_MODE_CHANCE = 0.3
_TREND_SIGMAS = 10.0
_SIDES = 2


class SizePolicy(Policy, frozen=True, kw_only=True):
    """A policy under which nothing is judged for information alone, which takes most of the time."""

    @property
    def informational(self) -> tuple[str, ...]:
        return ()


def policy(*, false_alarm: float = 0.05, looks: Looks | None = None) -> SizePolicy:
    """The default rules with zones of no floor, and more false alarms so that few gates show some."""
    return SizePolicy(zones=ZONES, false_alarm=false_alarm, looks=looks or Looks(spending=Spending.BY_USE))


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape)


def _student(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Student's t with 4 degrees of freedom, whose variance is 2."""
    return np.asarray(rng.standard_t(4, shape) / np.sqrt(2))


def _lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A long tail of slow runs."""
    variance = np.exp(0.64) - 1
    return np.asarray((rng.lognormal(0.0, 0.8, shape) - np.exp(0.32)) / np.sqrt(variance * np.exp(0.64)))


def _bimodal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Each run is of the fast mode or of the slow one."""
    modes = (rng.random(shape) < _HIGH_MODE_CHANCE).astype(np.float64) - _HIGH_MODE_CHANCE
    within = _LIGHT_TAIL_SHARE * np.sqrt(_HIGH_MODE_CHANCE * (1 - _HIGH_MODE_CHANCE))
    scale = np.hypot(np.sqrt(_HIGH_MODE_CHANCE * (1 - _HIGH_MODE_CHANCE)), within)
    return np.asarray((modes + within * rng.standard_normal(shape)) / scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """`draw` gives the log of each run's own noise, of variance 1; `trend` what the machine adds over time 0 to 1."""

    draw: Callable[[np.random.Generator, tuple[int, ...]], Array]
    trend: Callable[[Array, float], Array] | None = None


NOISES: Mapping[str, Noise] = {
    "normal": Noise(draw=_normal),
    "t4": Noise(draw=_student),
    "lognormal": Noise(draw=_lognormal),
    "bimodal": Noise(draw=_bimodal),
    "drift": Noise(draw=_normal, trend=lambda times, _: _TREND_SIGMAS * times),
    "step": Noise(draw=_normal, trend=lambda times, at: np.where(times > at, _TREND_SIGMAS / 2, 0.0)),
}


def log_runs(rng: np.random.Generator, noise: Noise, cells: int, pairs: int) -> Array:
    """The log of the noise of each run, [cell, pair, side]: the difference of the sides of a pair has a sigma of 1.

    Runs follow each other as in a live gate: quad by quad, in each the benchmarks in turn, each ABBA or BAAB. A trend
    over that time is ten sigmas in all; a step is half as high, and comes at any moment of the middle half.
    """
    values = noise.draw(rng, (cells, pairs, _SIDES))
    if noise.trend is not None:
        starts_with_candidate = np.repeat(rng.random((cells, pairs // 2)) < 1 / 2, 2, axis=1)
        is_second_pair = np.arange(pairs) % 2 == 1
        candidate_place = (starts_with_candidate == is_second_pair).astype(np.intp)  # 1: runs second in its pair
        quads = (np.arange(pairs) // 2) * cells + np.arange(cells)[:, None]
        firsts = quads * 4 + 2 * is_second_pair
        runs = np.stack((firsts + 1 - candidate_place, firsts + candidate_place), axis=2)
        values = values + noise.trend(runs / (cells * pairs * 2 - 1), rng.uniform(0.25, 0.75))
    return np.asarray(values / np.sqrt(2))


def all_pairs(
    rng: np.random.Generator, noise: Noise, sigma: float, worsenings: Mapping[str, Sequence[float]], pairs: int = 40
) -> Iterator[ClientCellEvidence]:
    """Cells with all their pairs. `worsenings` are the true ones by metric, one a benchmark; `sigma` is of pairs."""
    count = len(worsenings[TIME])
    seconds = np.exp(_shifted(sigma * log_runs(rng, noise, count, pairs), worsenings[TIME]))
    memory_sigma = sigma * MEMORY_SIGMA_SHARE
    sizes = MEMORY_BYTES * np.exp(_shifted(memory_sigma * log_runs(rng, noise, count, pairs), worsenings[MEMORY]))
    for cell in range(count):
        both = zip(seconds[cell].tolist(), sizes[cell].tolist(), strict=True)
        yield ClientCellEvidence(
            name=f"benchmark-{cell}",
            pairs=tuple(
                RunPair(
                    order="AB",
                    hash_seed=0,
                    started_s=0.0,
                    baseline=run(time[0], size[0]),
                    candidate=run(time[1], size[1]),
                )
                for time, size in both
            ),
        )


def _shifted(log_values: Array, worsenings: Sequence[float]) -> Array:
    log_values[:, :, 1] += np.log1p(worsenings)[:, None]
    return log_values


@dataclass(frozen=True, kw_only=True)  # without slots, for the cached properties
class Outcome:
    """How a gate ended under `rules`: the cells with the pairs that they had at each look; the last look is the end."""

    rules: Policy
    looks: tuple[tuple[ClientCellEvidence, ...], ...]

    @property
    def cells(self) -> tuple[ClientCellEvidence, ...]:
        """The cells with all the pairs that they were given."""
        return self.looks[-1]

    @cached_property
    def rows(self) -> tuple[GateRow, ...]:
        """The rows at the end."""
        return decide_rows(self.cells, self.rules).rows

    @cached_property
    def after_looks(self) -> tuple[tuple[GateRow, ...], ...]:
        """The rows after each look."""
        return tuple(decide_rows(cells, self.rules).rows for cells in self.looks)

    def failed(self, kind: RowKind) -> list[GateRow]:
        """The rows of this kind whose worsening was shown to be above d0."""
        return [row for row in self.rows if row.kind is kind and row.verdict in {Verdict.FAIL, Verdict.SMALL}]

    @property
    def mean_pairs(self) -> float:
        """The pairs given, a benchmark."""
        return sum(len(cell.pairs) for cell in self.cells) / len(self.cells)


def run_gate(whole: Sequence[ClientCellEvidence], rules: Policy) -> Outcome:
    """Judge after every look, and give further pairs to the undecided alone."""
    cells = [replace(cell, pairs=()) for cell in whole]
    undecided = frozenset(cell.identity for cell in cells)
    looks = []
    for pairs in rules.looks.pairs:
        cells = [
            replace(cell, pairs=full.pairs[:pairs]) if cell.identity in undecided else cell
            for cell, full in zip(cells, whole, strict=True)
        ]
        looks.append(tuple(cells))
        undecided = pairs_needed(cells, rules).undecided
        if not undecided:
            break
    return Outcome(rules=rules, looks=tuple(looks))
