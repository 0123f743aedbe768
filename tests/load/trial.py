"""One phase, run by real workers against any endpoint, and what they made of it.

Owns the way from a job to its phase_result and its traces; judging them is the tests'.
"""

import csv
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from s3bench.clients.environment import FAKE_CREDENTIALS
from s3bench.load.aggregation.phase_result import PhaseResult
from s3bench.load.engine.message import PhaseEnded
from s3bench.load.profile.profile import DataSet, Job, Manner, Phase
from s3bench.load.session.bucket import new_run, root_of
from s3bench.load.session.inventory import Inventory
from s3bench.load.session.running import LoadRun, RunRules
from s3bench.load.session.target import find_target
from s3bench.load.session.worker_pool import WorkerPool

BUCKET = "load"
PHASE = "measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A line of a trace, `first_byte_ns` -1 without one."""

    planned_ns: int
    started_ns: int
    first_byte_ns: int
    ended_ns: int
    number: int
    size_bytes: int
    outcome: str
    attempt: int

    @property
    def was_right(self) -> bool:
        """Whether it ended well."""
        return self.outcome in {"200", "206"}

    @classmethod
    def of(cls, line: dict[str, str]) -> Self:
        """From a line as read."""
        return cls(
            planned_ns=int(line["planned_ns"]),
            started_ns=int(line["started_ns"]),
            first_byte_ns=int(line["first_byte_ns"] or -1),
            ended_ns=int(line["ended_ns"]),
            number=int(line["number"]),
            size_bytes=int(line["bytes"]),
            outcome=line["outcome"],
            attempt=int(line["attempt"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came of it; `attempts` by worker, empty without a trace."""

    result: PhaseResult
    ended: tuple[PhaseEnded, ...]
    attempts: tuple[tuple[Attempt, ...], ...]


def attempt(
    url: str,
    job: Job,
    directory: Path,
    *,
    manner: Manner = Manner(),  # noqa: B008 (frozen)
    duration_s: float | None = None,
    workers: int = 1,
    has_trace: bool = False,
    before: Callable[[], object] = lambda: None,
    meanwhile: Callable[[int], object] = lambda _: None,
) -> Trial:
    """Write what the job reads, call `before`, and measure; `meanwhile` is called with every second that is over."""
    target = find_target((url,), bucket=BUCKET, credentials=FAKE_CREDENTIALS, tls_verify=False)
    run = new_run()
    trace = directory / "trace"
    rules = RunRules(manner=manner, data=DataSet(run=run, root=root_of(run)), trace=trace if has_trace else None)
    phase = Phase(name=PHASE, jobs=(job,), duration_s=duration_s)
    with WorkerPool(workers, directory=directory) as pool:
        load = LoadRun(pool, target, rules, Inventory())
        for sizes, objects in load.missing(phase):
            for _ in load.write_data_set(sizes, objects):
                pass
        before()
        aggregations = load.measure(phase)
        aggregation = next(aggregations)  # the same one, every second and at the end
        for second, _ in enumerate(itertools.chain((aggregation,), aggregations), 1):
            meanwhile(second)
    return Trial(
        result=aggregation.measure(),
        ended=aggregation.ended,
        attempts=read_traces(trace, workers=workers, phase=PHASE) if has_trace else (),
    )


def read_traces(trace: Path, *, workers: int, phase: str) -> tuple[tuple[Attempt, ...], ...]:
    """The attempts of one phase, by worker."""
    return tuple(tuple(read_trace(Path(f"{trace}.{worker}"), phase)) for worker in range(workers))


def read_trace(path: Path, phase: str) -> Iterator[Attempt]:
    """The attempts of one phase in one file."""
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            if line["phase"] == phase:
                yield Attempt.of(line)
