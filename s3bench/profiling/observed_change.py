"""A change of one metric that was observed between two clients, and what it takes to look for its causes."""

from dataclasses import dataclass

from s3bench.bench.runner import PLAIN, ClientRunner, Conditions, Settings
from s3bench.profiling.explanation import Cause
from s3bench.results.metrics import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledSide:
    """A client that can be run: its runner, and the conditions of its runs."""

    runner: ClientRunner
    conditions: Conditions = PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedChange:
    """A change of a metric of one benchmark.

    `change` is candidate minus baseline in the metric's `unit`; `None` if only the runs of the explanation show it.
    `known` are causes that were seen already. Explaining it ends at `until_s` on the clock.
    """

    benchmark: str
    metric: str
    unit: Unit
    change: float | None
    baseline: ProfiledSide
    candidate: ProfiledSide
    settings: Settings
    known: tuple[Cause, ...] = ()
    until_s: float
