"""Runs one worker's share of a phase, from its first operation to its last interval record.

Starts virtual users, ends seconds and the phase. Nothing blocks, and every wait is bounded.
"""

import itertools
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import msgspec

from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.job_state import JobState, PlannedStarts, Seen
from s3bench.load.engine.loop import EngineLoop
from s3bench.load.engine.message import BeginPhase, Keys, PhaseEnded, PreparePhase
from s3bench.load.engine.objects import Objects
from s3bench.load.engine.operation_mix import OperationMix, seed_of
from s3bench.load.engine.recorder import CountedInterval, IntervalRecorder
from s3bench.load.engine.replay_file import NEVER_NS, plan_path, planned_starts
from s3bench.load.engine.replay_state import ReplayState
from s3bench.load.engine.replay_user import ReplayUser
from s3bench.load.engine.replayed_objects import ReplayedContents
from s3bench.load.engine.replayed_operations import ReplayedOperations
from s3bench.load.engine.schedule import first_workers, planned_batches, share_of
from s3bench.load.engine.trace import Trace
from s3bench.load.engine.virtual_user import VirtualUser
from s3bench.load.profile.profile import Job
from s3bench.system.wake_ups import prompt_wake_ups

LATE_S_MAX = 10.0
"""How long what is in flight at the end may take to end."""

_SWEEP_NS = 250_000_000
_SWEEP_NS_MIN = 10_000_000


def run_delay_ns(path: Path = Path("/proc/self/schedstat")) -> int | None:
    """How long this process has been ready to run and had no core; `None` where the kernel does not report it.

    It is the second of three numbers in the file: time on the CPU, time on a run queue, time slices, the times in
    nanoseconds (https://docs.kernel.org/scheduler/sched-stats.html). A kernel that does not count has zeros there. They
    are those of the first thread, and a worker has no other.
    """
    try:
        on_cpu_ns, delay_ns, _ = map(int, path.read_bytes().split())
    except (OSError, ValueError):
        return None
    return delay_ns if on_cpu_ns else None


def _no_replay(job: Job) -> ReplayedContents:
    raise AssertionError(job)


class WorkerEngine:
    """Does one phase from `start_ns` of the monotonic clock on. `send_record` gets its interval records.

    `contents` gives the objects of a job: those that are read, and those that are written; `replayed_contents` those of
    a job that is a replay.
    """

    def __init__(
        self,
        prepare: PreparePhase,
        begin: BeginPhase,
        *,
        start_ns: int,
        context: ssl.SSLContext | None,
        contents: Callable[[Job], tuple[Objects, Objects]],
        replayed_contents: Callable[[Job], ReplayedContents] = _no_replay,
        seen: Mapping[int, Seen],
        send_record: Callable[[IntervalRecord], None],
        trace: Trace | None = None,
        run_delay_ns: Callable[[], int | None] = run_delay_ns,
        session_keys: Callable[[], Keys] | None = None,
    ) -> None:
        self._prepare = prepare
        self._begin = begin
        retries = max(prepare.manner.retries, begin.retries_min)
        self._manner = msgspec.structs.replace(prepare.manner, retries=retries)
        self._send_record = send_record
        self._trace = trace
        self._run_delay_ns = run_delay_ns
        self._start_ns = start_ns
        duration_s = begin.phase.duration_s
        self._end_ns = None if duration_s is None else start_ns + round(duration_s * 1e9)
        self._stopped = False
        self._sweep_ns = min(
            _SWEEP_NS,
            max(_SWEEP_NS_MIN, round(min(prepare.manner.patience_s, prepare.manner.connect_timeout_s) * 1e8)),
        )
        self._sweep_due_ns = start_ns
        self._begun_ns: int | None = None
        self.loop = EngineLoop(prepare.target, prepare.manner, context, session_keys=session_keys)
        self._recorder = IntervalRecorder(self.loop, worker=prepare.worker, start_ns=start_ns)
        self._unsent: deque[CountedInterval] = deque()
        first = first_workers(begin.phase, prepare.workers)
        self._shares = tuple((prepare.worker - each) % prepare.workers for each in first)  # of each job, which is ours
        self._job_states = [
            self._make_job_state(index, job, contents(job), seen[index])
            if job.replay is None
            else self._make_replay_state(index, job, replayed_contents(job))
            for index, job in enumerate(begin.phase.jobs)
        ]
        self._users: list[VirtualUser] = []

    def stop(self) -> None:
        """Start nothing any more."""
        self._stopped = True

    def run(self) -> PhaseEnded:
        """Do the phase; interval records are sent as they are made."""
        if self._trace is not None:
            self._trace.begin(self._begin.phase.name, self._start_ns)
        delay_before_ns = self._run_delay_ns()
        with self.loop, self._wake_ups() as cores_awake:
            try:
                self._make_users()
                end_ns = self._run_until_end()
                delay_ns = self._run_delay_ns()
                unfinished = sum(job_state.busy for job_state in self._job_states)
                waiting = sum(job_state.waiting(end_ns) for job_state in self._job_states)
                open_ns = sum(user.open_ns(end_ns) for user in self._users)
                open_ns += sum(retry.open_ns(end_ns) for job_state in self._job_states for retry in job_state.retries)
                ages_ns = [user.ages_ns(end_ns) for user in self._users]
                waits_ns = [job_state.oldest_ns(end_ns) for job_state in self._job_states]
                oldest_ns = max((0, *waits_ns, *(age for age, _ in ages_ns)))
                oldest_attempt_ns = max((0, *(age for _, age in ages_ns)))
                self._finish()
            finally:
                for user in self._users:
                    user.close()
                if self._trace is not None:
                    self._trace.flush()
        return PhaseEnded(
            worker=self._prepare.worker,
            elapsed_ns=end_ns - self._start_ns,
            unfinished=unfinished,
            open_ns=open_ns,
            late=sum(job_state.late for job_state in self._job_states),
            unanswered=sum(job_state.unanswered for job_state in self._job_states),
            written=tuple(job_state.written for job_state in self._job_states),
            waiting=waiting,
            begun_ns=0 if self._begun_ns is None else self._begun_ns - self._start_ns,
            oldest_ns=oldest_ns,
            oldest_attempt_ns=oldest_attempt_ns,
            run_delay_ns=None if delay_before_ns is None or delay_ns is None else delay_ns - delay_before_ns,
            cores_awake=cores_awake,
            reached=self.loop.addresses(reached=True),
            unreached=self.loop.addresses(reached=False),
        )

    def _wake_ups(self) -> AbstractContextManager[bool | None]:
        """Prompt wake-ups for planned starts; a closed loop has none."""
        is_open_loop = any(job_state.plan is not None for job_state in self._job_states)
        return prompt_wake_ups() if is_open_loop else nullcontext()

    def _make_job_state(self, index: int, job: Job, contents: tuple[Objects, Objects], seen: Seen) -> JobState:
        """This worker's part; workers beyond the job's virtual users have none, and no operations either."""
        prepare, begin, share = self._prepare, self._begin, self._shares[index]
        workers = min(prepare.workers, job.threads)
        is_idle = share >= workers
        operations = None if job.operations is None else share_of(job.operations, share, workers)
        if is_idle:
            job, operations = msgspec.structs.replace(job, rate=None), 0
        objects, new_objects = contents
        worker, seed = min(share, workers - 1), seed_of(prepare.seed, begin.turn, index)
        mix = OperationMix(
            job,
            worker=worker,
            workers=workers,
            objects=job.objects if job.objects is not None else objects.listed or 0,
            first_number=begin.first_numbers[index],
            seed=seed,
        )
        return JobState(
            job,
            worker=worker,
            workers=workers,
            left=operations,
            mix=mix,
            plan=self._planned_starts(job, worker=worker, workers=workers, seed=seed),
            objects=objects,
            new_objects=new_objects,
            seen=seen,
            **self._shared(index, job),
        )

    def _make_replay_state(self, index: int, job: Job, contents: ReplayedContents) -> ReplayState:
        """This worker's part of a replay; workers beyond its shares have none."""
        replay, share = job.replay, self._shares[index]
        assert replay is not None, "the job is a replay"
        is_idle = share >= replay.shares
        path = plan_path(replay.directory, replay.part, share)
        starts = None
        if replay.is_paced:
            batches = itertools.repeat([NEVER_NS]) if is_idle else planned_starts(path)
            behind = itertools.repeat(NEVER_NS) if is_idle else itertools.chain.from_iterable(planned_starts(path))
            starts = PlannedStarts(batches, behind, self._start_ns)
        return ReplayState(
            ReplayedOperations(None if is_idle else path),
            contents,
            job=job,
            worker=min(share, replay.shares - 1),
            workers=replay.shares,
            left=None,
            plan=starts,
            **self._shared(index, job),
        )

    def _shared(self, index: int, job: Job) -> dict[str, Any]:
        """What the states of all jobs have in common."""
        return {
            "index": index,
            "first_number": self._begin.first_numbers[index],
            "loop": self.loop,
            "recorder": self._recorder,
            "manner": self._manner,
            "data": self._prepare.data.of(job.sizes),
            "trace": self._trace,
        }

    def _planned_starts(self, job: Job, *, worker: int, workers: int, seed: int) -> PlannedStarts | None:
        """When the operations of an open loop are to start."""
        rate = job.rate
        if rate is None:
            return None

        def batches() -> Iterator[list[int]]:
            return planned_batches(
                rate.per_s,
                rate.arrivals,
                seed=seed,
                worker=worker,
                workers=workers,
                ramp_s=self._begin.phase.ramp_s,
                changes=rate.changes,
            )

        return PlannedStarts(batches(), itertools.chain.from_iterable(batches()), self._start_ns)

    def _make_users(self) -> None:
        """Make the virtual users of all jobs; in closed loop they begin one after the other over the ramp."""
        workers = self._prepare.workers
        ramp_ns = self._begin.phase.ramp_s * 1e9
        for job_state, share in zip(self._job_states, self._shares, strict=True):
            count = share_of(job_state.job.threads, share, workers)
            for index in range(count):
                number = len(self._users)
                if isinstance(job_state, ReplayState):
                    user: VirtualUser = ReplayUser(job_state, number)
                else:
                    user = VirtualUser(job_state, number)
                self._users.append(user)
                if job_state.plan is None:
                    before = (index * workers + share) / job_state.job.threads
                    user.start_at(self._start_ns + round(ramp_ns * before))
                else:
                    job_state.idle.append(user)

    def _run_until_end(self) -> int:
        """Turn until all is done, time is up or the phase is stopped; gives when that was."""
        loop, trace = self.loop, self._trace
        planned = [job_state for job_state in self._job_states if job_state.plan is not None]
        look_ns = 0  # when there is more to look after than events
        while True:
            until_ns = loop.now_ns if self._unsent else look_ns
            loop.wait(self._next_start_ns(planned, until_ns) if planned else until_ns, precise=bool(planned))
            if loop.now_ns >= look_ns:
                if self._is_time_up():
                    assert self._end_ns is not None
                    return self._report_until(self._end_ns)
                look_ns = self._look_after()
            loop.handle()
            if planned:
                self._recorder.waiting_max = max(self._recorder.waiting_max, sum(map(self._start_planned, planned)))
            if trace is not None and trace.is_full:
                trace.flush()
            if self._unsent and not self._unsent[0].bin_one():
                self._send_record(self._unsent.popleft().record())
            if self._stopped or (not loop.in_flight and all(job_state.is_done for job_state in self._job_states)):
                end_ns = loop.clock()
                loop.wait(0, precise=False)  # brings the integral up to now
                return self._report_until(max(end_ns, self._start_ns))

    @staticmethod
    def _next_start_ns(planned: list[JobState], until_ns: int) -> int:
        """When the next planned operation can start, `until_ns` at the latest."""
        for job_state in planned:
            if job_state.plan is not None and job_state.idle and (job_state.pending or job_state.has_more):
                until_ns = min(until_ns, job_state.plan.next_ns)
        return until_ns

    def _is_time_up(self) -> bool:
        return self._end_ns is not None and self.loop.now_ns >= self._end_ns

    def _look_after(self) -> int:
        """End seconds and give up what takes too long, where it is time for that; gives when to look again."""
        now_ns, recorder = self.loop.now_ns, self._recorder
        if now_ns >= recorder.slot_due_ns:
            recorder.mark(now_ns, is_wanted=self._is_wanted)
        if now_ns >= recorder.due_ns:
            self._end_seconds(now_ns)
        if now_ns >= self._sweep_due_ns:
            self._sweep()
        look_ns = min(recorder.slot_due_ns, self._sweep_due_ns)  # seconds end with a slot
        return look_ns if self._end_ns is None else min(look_ns, self._end_ns)

    def _report_until(self, end_ns: int) -> int:
        """Send records of what is left until `end_ns`, the phase's end, and give that."""
        recorder = self._recorder
        for job_state in self._job_states:
            job_state.expire(end_ns)
        recorder.mark(end_ns, is_wanted=self._is_wanted)
        while recorder.due_ns <= end_ns:
            self._unsent.append(recorder.end_second())
        rest = recorder.end(end_ns, is_wanted=self._is_wanted)
        if rest is not None:
            self._unsent.append(rest)
        while self._unsent:
            self._send_record(self._unsent.popleft().record())
        return end_ns

    @property
    def _is_wanted(self) -> bool:
        """Whether an operation is in flight or due, or a virtual user pauses after a failed connection."""
        loop = self.loop
        return bool(loop.in_flight or loop.pausing) or any(job_state.is_behind for job_state in self._job_states)

    def _end_seconds(self, now_ns: int) -> None:
        """End the seconds that are over, and look after what is due once a second."""
        recorder = self._recorder
        while recorder.due_ns <= now_ns:
            self._unsent.append(recorder.end_second())
        if self._trace is not None:
            self._trace.flush()
        wall_s = time.time()
        for requests in {route.requests for route in self.loop.routes}:
            if requests.renew(wall_s):
                for job_state in self._job_states:
                    job_state.forget(requests)

    def _start_planned(self, job_state: JobState) -> int:
        """Begin what is due, as far as there are virtual users; gives how many operations still wait."""
        plan = job_state.plan
        assert plan is not None
        plan.tick(self.loop.now_ns)
        job_state.expire(self.loop.now_ns)
        while job_state.ready and job_state.idle:
            job_state.idle.pop().resume(job_state.ready.popleft())
        while job_state.idle and job_state.is_startable:
            if not job_state.idle.pop().begin():
                break
        return job_state.backlog

    def _sweep(self) -> None:
        now_ns = self.loop.now_ns
        if self._begun_ns is None:  # the first sweep is due at the start
            self._begun_ns = now_ns
        self._sweep_due_ns = now_ns + self._sweep_ns
        for user in self._users:
            user.sweep(now_ns)

    def _finish(self) -> None:
        """Let what is in flight end, within bounds, and give up the rest."""
        loop = self.loop
        for job_state in self._job_states:
            job_state.stop()
        for user in self._users:
            user.stop()
        until_ns = loop.clock() + round(min(self._prepare.manner.patience_s, LATE_S_MAX) * 1e9)
        while any(job_state.busy for job_state in self._job_states) and loop.clock() < until_ns:
            loop.wait(min(until_ns, loop.clock() + self._sweep_ns), precise=False)
            loop.handle()
            now_ns = loop.now_ns
            for user in self._users:
                user.sweep(now_ns)
        for user in self._users:
            user.give_up()
