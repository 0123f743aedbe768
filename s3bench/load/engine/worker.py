"""The process of a worker: does what the coordinator orders, and ends when that does.

Objects, and which of them were read, stay from phase to phase. Started by `load.session.worker_pool`.
"""

import contextlib
import gc
import os
import select
import ssl
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from s3bench.errors import S3BenchError
from s3bench.load.engine.channel import worker_channel
from s3bench.load.engine.engine import WorkerEngine
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.job_state import Seen
from s3bench.load.engine.message import (
    BeginPhase,
    Order,
    PhasePrepared,
    PhaseReady,
    PreparePhase,
    Report,
    RequestTarget,
    StartPhase,
    StopPhase,
    WorkerFailed,
)
from s3bench.load.engine.objects import Objects
from s3bench.load.engine.replayed_objects import ReplayedContents
from s3bench.load.engine.tls import client_context
from s3bench.load.engine.trace import Trace
from s3bench.load.profile.profile import Job
from s3bench.load.profile.sizes import Sizes
from s3bench.system.channel import Channel, ChannelClosed
from s3bench.system.child import take_control
from s3bench.system.descriptors import raise_descriptor_limit
from s3bench.system.poller import READABLE

if TYPE_CHECKING:
    from s3bench.load.engine.session_keys import SessionKeys

_DESCRIPTORS_MAX = 1 << 20  # the usual fs.nr_open (proc_sys_fs(5)), ten times what the most threads need
_TURN_S = 1.0
_TALK_S = 60.0


class Contents:
    """The objects of one run by their sizes, each made once."""

    def __init__(self, prepare: PreparePhase) -> None:
        self._prepare = prepare
        self._made: dict[tuple[Sizes, bool], Objects] = {}
        self._seen: dict[Sizes, Seen] = {}
        self._replayed: ReplayedContents | None = None  # of the only replay that a run has

    def replayed(self, job: Job) -> ReplayedContents:
        """The objects of a job that is a replay."""
        if self._replayed is None:
            prepare = self._prepare
            self._replayed = ReplayedContents(prepare.data.of(job.sizes), bucket=prepare.target.bucket)
        return self._replayed

    def of(self, job: Job) -> tuple[Objects, Objects]:
        """What a job reads, and what it writes; the same, unless it reads objects that are not ours."""
        theirs = self._prepare.data.key_file is not None and job.needs_objects
        ours = self._objects(job.sizes, theirs=False) if job.leaves_objects or not theirs else None
        read = self._objects(job.sizes, theirs=True) if theirs else ours
        assert read is not None
        return read, ours or read

    def seen(self, job: Job) -> Seen:
        """Which objects of a job's data set were read."""
        return self._seen.setdefault(job.sizes, Seen())

    def _objects(self, sizes: Sizes, *, theirs: bool) -> Objects:
        found = self._made.get((sizes, theirs))
        if found is None:
            prepare = self._prepare
            data = prepare.data.of(sizes)
            new = msgspec.structs.replace(prepare.data, root=prepare.new_root or prepare.data.root)
            found = self._made[sizes, theirs] = Objects(
                data if theirs else msgspec.structs.replace(data, key_file=None),
                sizes,
                bucket=prepare.target.bucket,
                workers=prepare.workers,
                signs_payload=prepare.manner.signs_payload,
                checksum=prepare.manner.checksum,
                new_root=new.of(sizes).root,
            )
        return found


class Worker:
    """Does what comes over `channel`."""

    def __init__(self, channel: Channel[Report, Order], stack: contextlib.ExitStack) -> None:
        self._channel = channel
        self._stack = stack  # what lasts as long as the process
        self._parent = os.getppid()
        self._prepare: PreparePhase | None = None
        self._phase: BeginPhase | None = None
        self._context: ssl.SSLContext | None = None
        self._contents: Contents | None = None
        self._trace: Trace | None = None
        self._engine: WorkerEngine | None = None
        self._session_keys: SessionKeys | None = None

    def serve(self) -> None:
        """Do what is ordered until the coordinator is gone."""
        while os.getppid() == self._parent:
            if not select.select((self._channel,), (), (), _TURN_S)[0]:
                continue
            order = self._channel.receive(limit_s=_TALK_S)
            try:
                self._obey(order)
            except S3BenchError as error:
                self._channel.send(WorkerFailed(what=error.what, why=error.why, fix=error.fix), limit_s=_TALK_S)

    def _obey(self, order: Order) -> None:
        match order:
            case PreparePhase():
                self._get_ready(order)
                self._channel.send(PhasePrepared(pid=os.getpid()), limit_s=_TALK_S)
            case BeginPhase():
                self._begin(order)
            case StartPhase():
                self._perform(order)
            case StopPhase():
                pass  # the phase was over before it came

    def _get_ready(self, prepare: PreparePhase) -> None:
        self._context = client_context(prepare.target)
        self._contents = Contents(prepare)
        if prepare.target.express and self._session_keys is None:
            self._session_keys = self._stack.enter_context(_session_keys(prepare.target, self._context))
        if prepare.trace is not None and (self._prepare is None or self._prepare.trace != prepare.trace):
            self._trace = self._stack.enter_context(Trace(prepare.trace, worker=prepare.worker))
        self._prepare = prepare

    def _begin(self, begin: BeginPhase) -> None:
        """Make what the phase needs, which may take a second, before it starts for all workers at once."""
        prepare, contents = self._prepare, self._contents
        assert prepare is not None, "a worker is prepared first"
        assert contents is not None
        for job in begin.phase.jobs:
            (contents.of if job.replay is None else contents.replayed)(job)
        gc.collect()
        self._phase = begin
        self._channel.send(PhaseReady(worker=prepare.worker), limit_s=_TALK_S)

    def _perform(self, start: StartPhase) -> None:
        """Do a phase; the garbage collector, which would only find nothing, waits until it is over."""
        prepare, contents, begin = self._prepare, self._contents, self._phase
        assert prepare is not None, "a phase is begun before it starts"
        assert contents is not None
        assert begin is not None
        self._engine = WorkerEngine(
            prepare,
            begin,
            start_ns=start.start_ns,
            context=self._context,
            contents=contents.of,
            replayed_contents=contents.replayed,
            seen={index: contents.seen(job) for index, job in enumerate(begin.phase.jobs)},
            send_record=self._send_record,
            trace=self._trace if prepare.trace is not None else None,
            session_keys=None if self._session_keys is None else self._session_keys.current,
        )
        self._engine.loop.watch(self._channel.fileno(), self, READABLE)
        gc.disable()
        gc.freeze()
        try:
            ended = self._engine.run()
        finally:
            gc.unfreeze()
            gc.enable()
            self._engine = None
        if self._session_keys is not None:
            ended = msgspec.structs.replace(ended, session_error=self._session_keys.take_error())
        self._channel.send(ended, limit_s=_TALK_S)

    def on_event(self, events: int) -> None:
        """Take an order in the middle of a phase: to stop it, or, by the channel's end, to give all up."""
        del events
        order = self._channel.receive(limit_s=_TALK_S)
        assert isinstance(order, StopPhase), order
        assert self._engine is not None
        self._engine.stop()

    def _send_record(self, record: IntervalRecord) -> None:
        if os.getppid() != self._parent:
            raise ChannelClosed
        self._channel.post(record)


def _session_keys(target: RequestTarget, context: ssl.SSLContext | None) -> "SessionKeys":
    from s3bench.load.engine.session_keys import SessionKeys, create_session  # noqa: PLC0415 (only directory buckets need it)

    return SessionKeys(partial(create_session, target, context))


def main() -> None:
    """Work until the other end of the channel closes."""
    raise_descriptor_limit(_DESCRIPTORS_MAX)
    with contextlib.ExitStack() as stack:
        control = stack.enter_context(take_control())
        with contextlib.suppress(ChannelClosed):
            Worker(worker_channel(control), stack).serve()


if __name__ == "__main__":
    main()
