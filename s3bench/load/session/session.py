"""Runs a profile at a site: loops, phases and their data sets, calibration, and the SLO search or verdict.

It yields events, which the caller shows and stores. The caller also calls `clean_up`, which removes what was written,
since a run that failed needs it too.
"""

import contextlib
import secrets
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, TypeVar

import msgspec

from s3bench.errors import BadInput
from s3bench.load.aggregation.bottleneck import Yardsticks
from s3bench.load.aggregation.phase_aggregation import PhaseAggregation
from s3bench.load.aggregation.phase_result import PhaseResult
from s3bench.load.aggregation.slo import Slo, SloOutcome, SloVerdict
from s3bench.load.engine.key_file import read_key_file
from s3bench.load.engine.trace import join_traces
from s3bench.load.profile.profile import DataSet, Job, Phase, Profile, Rate
from s3bench.load.profile.sizes import Sizes
from s3bench.load.session.bucket import CleanUpResult, new_run, root_of
from s3bench.load.session.calibration import calibrate, calibrated, lone
from s3bench.load.session.capacity import RATE_PER_WORKER_MAX
from s3bench.load.session.inventory import Inventory
from s3bench.load.session.object_log import write_object_log
from s3bench.load.session.running import LoadRun, PhaseCutShort, RunRules
from s3bench.load.session.site import Site
from s3bench.load.session.slo_search import HighestRate, SloSearch
from s3bench.load.session.worker_pool import WorkerPool
from s3bench.load.session.workers import PoolMaker, Workers

EXISTING_MAX = 1_000_000
"""Existing objects that are read by their names, at most."""

SLO_STEP_S = 10.0
"""How long each rate of the SLO search is tried, unless the profile says otherwise."""

_SEARCH_START = 0.25  # of the rate that a closed loop reached
_GUESS_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of a session beside its profile.

    `run` is the run that is made; it reads the data set of the run `reused`, if any. Objects named in `key_file`, or
    listed under the prefix `existing`, are read instead of our own. With `slo` the highest rate that holds it is
    searched for; if the job has a rate, it is decided whether that rate holds it. `calibrates` measures this machine's
    ceiling for each phase. All attempts are written to the file `trace`. Random choices, such as the next object,
    follow from `seed`. `preparing` writes the objects that a replay needs. `keeps_rows` keeps each second for
    `PhaseAggregation.take_rows`.
    """

    workers: int
    run: str = field(default_factory=new_run)
    reused: str | None = None
    key_file: Path | None = None
    existing: str | None = None
    slo: Slo | None = None
    calibrates: bool = False
    trace: Path | None = None
    seed: int = field(default_factory=lambda: secrets.randbits(63))
    is_over: Callable[[], bool] = lambda: False
    preparing: Job | None = None
    keeps_rows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """A phase begins: number `number` of `count`, `None` if unknown; `number` is 0 for preparations."""

    name: str
    number: int = 0
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A phase is over: its result in loop `loop`, counted from 0, and when it began."""

    phase: Phase
    loop: int
    started_at: datetime
    result: PhaseResult
    memory_bytes_max: int | None


_Returned = TypeVar("_Returned")
Event = Beginning | PhaseAggregation | Measured | HighestRate | SloVerdict


def is_search(profile: Profile, slo: Slo | None) -> bool:
    """Whether the highest rate that holds `slo` is searched for: the job has no rate."""
    return slo is not None and profile.phases[0].jobs[0].rate is None


class Session:
    """One run at a site; a context manager that has workers, which `make_pool` makes. `directory` is private to it."""

    def __init__(
        self,
        site: Site,
        profile: Profile,
        terms: Terms,
        *,
        directory: Path,
        make_pool: PoolMaker | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.terms = terms
        self._site = site
        self._profile = profile
        self._directory = directory
        self._stack = contextlib.ExitStack()
        self._wrote = False  # whether there may be objects of this run
        self._make_pool = make_pool or _pool
        self._now = now
        self._known: dict[bytes, Yardsticks] = {}

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            key_file, listed = self._existing()
            data = DataSet(
                run=self.terms.reused or self.terms.run,
                root=root_of(self.terms.reused or self.terms.run),
                payload=self._profile.payload,
                layout=self._profile.layout,
                key_file=None if key_file is None else str(key_file),
                existing=self.terms.existing or "",
            )
            self._rules = RunRules(
                manner=self._profile.manner,
                data=data,
                new_root=root_of(self.terms.run),
                seed=self.terms.seed,
                trace=self.terms.trace,
                is_over=self.terms.is_over,
                keeps_rows=self.terms.keeps_rows,
            )
            pool = self._directory / "pool"
            pool.mkdir(mode=0o700)
            if self.terms.trace is not None:
                stack.callback(join_traces, self.terms.trace, workers=self.terms.workers)
            self._pool = stack.enter_context(self._make_pool(self.terms.workers, pool))
            self._run = LoadRun(self._pool, self._site.target, self._rules, self._inventory(data, listed))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers, and join their traces, which are complete then."""
        self._stack.close()

    def log_objects(self, log: Path) -> int:
        """Write the names and MD5 sums of the written objects to `log`, after `close`; returns how many there are."""
        sizes = [job.sizes for phase in self._profile.phases for job in phase.jobs]
        assert self.terms.trace is not None, "the log is made from the trace"
        return write_object_log(
            log,
            self.terms.trace,
            self._rules.data,
            sizes,
            bucket=self._site.bucket.name,
            workers=self.terms.workers,
            new_root=root_of(self.terms.run),
        )

    def events(self) -> Iterator[Event]:
        """Run it; ends early when it `is_over`."""
        slo = self.terms.slo
        if slo is not None and is_search(self._profile, slo):
            yield from self._search(self._profile.phases[0], slo)
            return
        phases = self._profile.phases
        number, count = 0, len(phases) * self._profile.loops
        for loop in range(self._profile.loops):
            for phase in phases:
                number += 1
                name = phase.name or _name_of(phase)
                known = yield from self._yardsticks(phase)
                if not self.terms.is_over():
                    yield from self._prepared(phase)
                if self.terms.is_over():
                    return
                yield Beginning(name=name, number=number, count=count)
                measured = yield from self._measured(self._named(phase, name), loop, known)
                result = measured.result
                if result.losses:
                    return
                if slo is not None and not result.contradiction and not self.terms.is_over():
                    yield slo.holds(result.whole, window_s=result.window_s)

    def _named(self, phase: Phase, name: str) -> Phase:
        """The phase with a name, which distinguishes its results from those of other phases."""
        is_told_apart = phase.dimensions or len(self._profile.phases) == 1
        dimensions = phase.dimensions if is_told_apart else ({"phase": name},)
        return msgspec.structs.replace(phase, name=name, dimensions=dimensions)

    @property
    def unanswered(self) -> int:
        """How many attempts to write had no response so far: what they wrote may appear after a clean-up."""
        return self._run.unanswered if self._wrote else 0

    def clean_up(self) -> CleanUpResult:
        """Remove what the run wrote; the data set of a reused run stays, also what was added to it.

        Without anything written it makes no request: a server that hangs would delay the end.
        """
        if not self._wrote:
            return CleanUpResult()
        return self._site.bucket.remove_run(self.terms.run)

    def _prepared(self, phase: Phase) -> Iterator[Event]:
        """Write the objects that the phase reads and that are not there."""
        preparing = self.terms.preparing
        if preparing is not None:
            self._wrote = True
            yield Beginning(name=f"writing {preparing.operations:,} objects that the log reads")
            yield from self._watched(self._run.write_replayed(preparing))
        for sizes, objects in self._run.missing(phase):
            self._wrote = True
            yield Beginning(name=f"writing {objects:,} objects of {sizes}")
            yield from self._watched(self._run.write_data_set(sizes, objects))

    def _measured(self, phase: Phase, loop: int, known: Yardsticks) -> Generator[Event, None, Measured]:
        started_at = self._now()
        try:
            result = (yield from self._watched(self._measure(phase))).measure(known)
        except PhaseCutShort as cut:
            result = cut.aggregation.measure(known)
            if not result.window_s:
                raise
            loss = f"the phase ended early: {'; '.join(filter(None, (cut.what, cut.why, cut.fix)))}"
            result = replace(result, losses=(*result.losses, loss))
        measured = Measured(
            phase=phase,
            loop=loop,
            started_at=started_at,
            result=result,
            memory_bytes_max=self._pool.memory_bytes_max(),
        )
        yield measured
        return measured

    def _measure(self, phase: Phase, *, fills: bool = True) -> Generator[PhaseAggregation, None, PhaseAggregation]:
        self._wrote = self._wrote or any(job.leaves_objects for job in phase.jobs)
        return self._run.measure(phase, fills=fills)

    def _watched(
        self, aggregations: Generator[PhaseAggregation, None, _Returned]
    ) -> Generator[PhaseAggregation, None, _Returned]:
        """Pass aggregations on, and call the site's `every_second` as often."""
        while True:
            try:
                aggregation = next(aggregations)
            except StopIteration as end:
                returned: _Returned = end.value
                return returned
            self._site.every_second()
            yield aggregation

    def _yardsticks(self, phase: Phase) -> Generator[Event, None, Yardsticks]:
        """Measure the limits known from outside a phase: this machine's ceiling, and latency without a queue."""
        known = Yardsticks(link_bytes_per_s=self._site.link_bytes_per_s)
        short = calibrated(phase) if self.terms.calibrates else None
        if short is None:
            return known
        key = msgspec.json.encode(msgspec.structs.replace(short, name="", dimensions=()))
        if key not in self._known:
            yield Beginning(name="calibrating: this machine against a server that does nothing")
            directory = self._directory / f"null-{len(self._known)}"
            directory.mkdir(mode=0o700)
            ceiling = yield from calibrate(
                short, self._rules, tls=self._site.target.tls, workers=self.terms.workers, directory=directory
            )
            yield from self._prepared(phase)
            floor_s = yield from self._latency_floor(short)
            ceiling_per_s = ceiling.measure().whole.operations_rate or None
            self._known[key] = replace(known, ceiling=ceiling_per_s, latency_floor_s=floor_s)
        return self._known[key]

    def _latency_floor(self, short: Phase) -> Generator[Event, None, float | None]:
        """Measure the median latency of one request at a time; `None` for several jobs. It leaves no data set."""
        alone = lone(self._run.settled(short))
        if alone is None:
            return None
        yield Beginning(name="calibrating: one request at a time")
        floor = yield from self._watched(self._measure(alone, fills=False))
        return floor.measure().whole.latency.p50

    def _search(self, phase: Phase, slo: Slo) -> Iterator[Event]:
        """Find the highest rate of a phase's one job that meets `slo`."""
        (job,) = phase.jobs
        known = yield from self._yardsticks(phase)
        if not self.terms.is_over():
            yield from self._prepared(phase)
        if self.terms.is_over():
            return
        start_per_s = yield from self._guess(phase)
        rate_max_per_s = RATE_PER_WORKER_MAX * min(self.terms.workers, job.threads)
        search = SloSearch(start_per_s=max(1.0, start_per_s), rate_max_per_s=rate_max_per_s)
        number = 0
        while not self.terms.is_over() and (step := search.proposal) is not None:
            number += 1
            rated = msgspec.structs.replace(
                phase,
                name=f"{step.rate_per_s:,.1f} operations/s",
                duration_s=(phase.duration_s or SLO_STEP_S) * step.longer,
                warmup_s=max(phase.warmup_s, phase.ramp_s),  # of a ramp only what follows it was at this rate
                jobs=(msgspec.structs.replace(job, rate=Rate(per_s=step.rate_per_s)),),
                dimensions=(*phase.dimensions, {"rate": f"{step.rate_per_s:.1f}/s", "step": str(number)}),
            )
            yield Beginning(name=rated.name, number=number)
            phase_result = (yield from self._measured(rated, 0, known)).result
            if phase_result.losses:
                return
            if self.terms.is_over():  # this rate was not tried for as long as it should have been
                break
            if phase_result.contradiction:
                verdict = SloVerdict(outcome=SloOutcome.NO_EVIDENCE, words=phase_result.contradiction)
            else:
                verdict = slo.holds(phase_result.whole, window_s=phase_result.window_s)
            search = search.after(verdict)
        yield search.found

    def _guess(self, phase: Phase) -> Generator[Event, None, float]:
        """Find the first rate: a share of what a closed loop reaches in a few seconds."""
        short = msgspec.structs.replace(
            phase, name="closed loop", duration_s=_GUESS_S, warmup_s=0.0, ramp_s=0.0, stable=False
        )
        yield Beginning(name="a closed loop, to find the first rate")
        aggregation = yield from self._watched(self._measure(short))
        return aggregation.measure().whole.operations_rate * _SEARCH_START

    def _existing(self) -> tuple[Path | None, int]:
        """The file that names the objects to be read instead of our own, and how many there are."""
        path = self.terms.key_file
        if self.terms.existing is not None:
            path = self._directory / "keys"
            if not self._site.bucket.write_key_file(self.terms.existing, path, keys_max=EXISTING_MAX):
                raise BadInput(
                    f"there are no objects under {self.terms.existing!r} in bucket {self._site.bucket.name!r}",
                    fix="pass a prefix that has objects, or remove --list-existing to read objects that s3bench writes",
                )
        return (None, 0) if path is None else (path, len(read_key_file(str(path))))

    def _inventory(self, data: DataSet, listed: int) -> Inventory:
        """The objects that exist already: listed ones, or those of a reused run."""
        present: dict[Sizes, int] = {}
        for sizes in {job.sizes for phase in self._profile.phases for job in phase.jobs}:
            if listed:
                present[sizes] = listed
            elif self.terms.reused is not None:
                present[sizes] = self._site.bucket.gapless(data.of(sizes).root)
        if self.terms.reused is not None and not any(present.values()):
            raise BadInput(
                f"run {self.terms.reused} has no objects of these sizes in bucket {self._site.bucket.name!r}",
                fix="pass the sizes that it was written with, or remove --reuse",
            )
        return Inventory(present, is_reused=self.terms.reused is not None)


def _pool(workers: int, directory: Path) -> Workers:
    return WorkerPool(workers, directory=directory)


def _name_of(phase: Phase) -> str:
    kinds = {kind for job in phase.jobs for kind in job.kinds}
    return "mixed" if len(kinds) > 1 else next(iter(kinds)).value
