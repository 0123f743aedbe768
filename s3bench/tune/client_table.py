"""Builds the table of `tune --compare-clients`: every client on every workload, the fastest first."""

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import median

import msgspec

from s3bench.clients.tuning.workload import Workload
from s3bench.results.measurement import Measurement
from s3bench.stats.median_interval import median_interval
from s3bench.tune.setting import Setting
from s3bench.tune.study import Trial

_BITS = 8
_GIGA = 1e9


class ClientCell(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One client on one workload: medians of its complete runs, null without any.

    `gigabits_per_s` is all object data over the median time, in 10^9 bits; `time`, `user` and `system` are seconds, as
    time(1) prints real, user and sys. Both intervals are those of 95 % for the median, null for too few runs.
    `peak_memory` is the largest of all runs, in bytes. `failures` is the number of runs without a result, including
    those ended as too slow; `failure` describes the last one.
    """

    runs: int
    time: float | None = None
    time_low: float | None = None
    time_high: float | None = None
    gigabits_per_s: float | None = None
    gigabits_low: float | None = None
    gigabits_high: float | None = None
    user: float | None = None
    system: float | None = None
    peak_memory: int | None = None
    failures: int = 0
    failure: str = ""


class ClientRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A client with the setting it ran under, and a cell for each workload."""

    setting: Setting
    cells: tuple[ClientCell, ...]


class ClientTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Columns are `workloads`, in the given order; rows are clients, the fastest first."""

    workloads: tuple[Workload, ...]
    rows: tuple[ClientRow, ...]

    @property
    def has_runs(self) -> bool:
        """Whether any client completed a run."""
        return any(cell.runs for row in self.rows for cell in row.cells)


def client_table(trials_by_workload: Sequence[tuple[Workload, Sequence[Trial]]]) -> ClientTable:
    """The table of these trials, a row for each setting.

    Rows are sorted by the number of workloads without a time, then by the geometric mean of their times.
    """
    settings = dict.fromkeys(trial.setting for _, trials in trials_by_workload for trial in trials)
    rows = [
        ClientRow(
            setting=setting,
            cells=tuple(
                _cell(workload, [trial for trial in trials if trial.setting == setting])
                for workload, trials in trials_by_workload
            ),
        )
        for setting in settings
    ]
    return ClientTable(
        workloads=tuple(workload for workload, _ in trials_by_workload), rows=tuple(sorted(rows, key=_sort_key))
    )


def _cell(workload: Workload, trials: Sequence[Trial]) -> ClientCell:
    whole = [trial.measurement for trial in trials if trial.measurement is not None]
    failures = len(trials) - len(whole)
    failure = _failure(trials) if failures else ""
    if not whole:
        return ClientCell(runs=0, failures=failures, failure=failure)
    times = [each.total_time for each in whole]
    peak = max((each.max_memory for each in whole if each.max_memory is not None), default=None)
    time, low, high = median_interval(times)
    return ClientCell(
        runs=len(whole),
        time=time,
        time_low=low,
        time_high=high,
        gigabits_per_s=_gigabits_per_s(workload, time),
        gigabits_low=None if high is None else _gigabits_per_s(workload, high),
        gigabits_high=None if low is None else _gigabits_per_s(workload, low),
        user=_median(whole, lambda each: each.user_cpu_time),
        system=_median(whole, lambda each: each.system_cpu_time),
        peak_memory=None if peak is None else round(peak),
        failures=failures,
        failure=failure,
    )


def _failure(trials: Sequence[Trial]) -> str:
    return next(_failures(reversed(trials)), "")


def _failures(trials: Iterator[Trial]) -> Iterator[str]:
    for trial in trials:
        if trial.failure is not None:
            yield trial.failure_words
        elif trial.was_capped:
            yield "ended as too slow" if trial.cap_s is None else f"ended as too slow after {trial.cap_s:g} s"


def _median(whole: Sequence[Measurement], pick: Callable[[Measurement], float | None]) -> float | None:
    values = [value for each in whole if (value := pick(each)) is not None]
    return median(values) if values else None


def _gigabits_per_s(workload: Workload, time_s: float) -> float | None:
    return workload.total_bytes * _BITS / _GIGA / time_s if time_s else None


def _sort_key(row: ClientRow) -> tuple[int, float]:
    known = [cell.time for cell in row.cells if cell.time]
    return len(row.cells) - len(known), math.fsum(map(math.log, known)) / len(known) if known else 0.0
