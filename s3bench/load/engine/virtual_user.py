"""One thread of a job: one operation at a time, on one connection, tried again where it is to be.

Owns the operation: what is asked for it, when it is over, and what is counted of it. Bytes and faults of the exchange
come from `exchange`, what to do next from `work`.
"""

from enum import IntEnum

from s3bench.load.engine.exchange import OK, PARTIAL, Exchange
from s3bench.load.engine.job_state import JobState, Read, Retry
from s3bench.load.engine.multipart import MultipartUpload
from s3bench.load.engine.objects import Objects
from s3bench.load.engine.recorder import IntervalCounter
from s3bench.load.engine.response import error_code, is_error, upload_id
from s3bench.load.operation import AttemptFailure, OperationKind

PAUSE_NS = 50_000_000
PAUSE_NS_MAX = 250_000_000
"""How long a thread of a closed loop waits, at first and at most, after a connection that could not be made or brought
no answer: it must not ask in a busy loop, and it must notice soon that the server is back. An open loop has its plan
and does not wait."""

BACKOFF_NS_MAX = 20_000_000_000
"""How long a retry waits at most, as with the AWS SDKs
(https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html)."""

_GET = OperationKind.GET
_READING = frozenset({OperationKind.GET, OperationKind.RANGE, OperationKind.LIST})
_QUICK = frozenset({OperationKind.GET, OperationKind.RANGE, OperationKind.HEAD, OperationKind.LIST, OperationKind.PUT})
_TEXTS = frozenset({OperationKind.COPY, OperationKind.MULTIPART_CREATE, OperationKind.MULTIPART_COMPLETE})
_NOT_REPEATABLE = frozenset({OperationKind.MULTIPART_CREATE, OperationKind.MULTIPART_COMPLETE})  # POST: RFC 9110 9.2.2
_WORTH_ANOTHER_TRY = frozenset({408, 429})
_SERVER_ERROR = 500


class _Wait(IntEnum):
    """What a thread waits for besides its connection."""

    NOTHING = 0
    RETRY = 1  # in the middle of an operation
    START = 2  # before one
    PAUSE = 3  # before one, since the last found no connection


class VirtualUser(Exchange):
    """Does one operation of `work` after the other. `index` tells it from the others of its worker."""

    __slots__ = (
        "_attempt", "_credit", "_credit_bytes", "_down", "_failed_ns", "_failure", "_first_start_ns", "_index", "_kind",
        "_lane", "_new", "_number", "_pause_ns", "_planned_ns", "_quick_lane", "_reads", "_spared", "_step", "_target",
        "_ticket", "_up_bytes", "_upload", "_wait", "_work",
    )  # fmt: skip

    def __init__(self, work: JobState, index: int) -> None:
        super().__init__(work.loop)
        self._work = work
        self._index = index
        self.reads_body = work.job.reads_bodies
        self._kind: OperationKind | None = None  # of the operation
        self._step = _GET  # of the request that is on
        self._number = 0
        self._target = -1  # number of the object that a PUT or COPY writes
        self._new = False  # whether the object is a new one
        self._upload: MultipartUpload | None = None
        self._lane: IntervalCounter = work.lane(work.job.kinds[0])
        self._reads: dict[int, Read] = {}
        self._down = False  # whether bodies of answers count
        self._up_bytes = 0
        self._planned_ns = 0  # in open loop
        self._first_start_ns = 0
        self._attempt = 0
        self._spared = False  # whether the one retry of an idle connection's end has been made
        self._quick_lane = False  # whether all latencies of the attempt are the same
        self._credit: IntervalCounter | None = None  # where the last answer was counted as a success
        self._credit_bytes = 0
        self._failed_ns = 0
        self._failure = ""
        self._pause_ns = 0
        self._wait = _Wait.NOTHING
        self._ticket = 0

    # What the engine calls.

    def start_at(self, due_ns: int) -> None:
        """Begin the first operation, or the next one, at `due_ns`."""
        self._wait = _Wait.START
        self._ticket += 1
        self._loop.call_at(due_ns, self, self._ticket)

    def begin(self) -> bool:
        """Begin an operation, if there is one to begin now; whether there is."""
        work = self._work
        if not self._draw():
            if work.plan is not None:
                work.idle.append(self)
            return False
        work.busy += 1
        loop = self._loop
        loop.enter()
        self.entered_ns = loop.now_ns
        self.exchange()
        return True

    def resume(self, retry: Retry) -> None:
        """Make the next attempt of an operation of an open loop; the wait since the last one was lost by that."""
        if retry.kind is not self._kind:
            self._switch(retry.kind)
        self._number = retry.number
        self._target = retry.target
        self._upload = retry.upload
        self._planned_ns = retry.planned_ns
        self._first_start_ns = retry.first_start_ns
        self._attempt = retry.attempt
        self._spared = False
        self._work.retries.discard(retry)
        retry.lane.lose_time(retry.failure, self._loop.clock() - retry.failed_ns)
        self.exchange()

    def on_time(self, ticket: int) -> None:
        """Go on after a wait."""
        if ticket != self._ticket:
            return
        waited, self._wait = self._wait, _Wait.NOTHING
        if waited is _Wait.START:
            self.begin()
        elif waited is _Wait.PAUSE:
            self._loop.pausing -= 1
            self._lane.pause(self._failure, self._loop.now_ns - self._failed_ns)
            self.begin()
        elif waited is _Wait.RETRY:
            self._try_again()

    def open_ns(self, at_ns: int) -> int:
        """For how long an operation has been in flight that no latency and no lost time tells of yet."""
        if not self._attempt:
            return 0
        upload = self._upload
        if upload is not None and upload.started_ns:
            since_ns = upload.started_ns
        elif self._wait is _Wait.RETRY:
            since_ns = self._failed_ns
        else:
            since_ns = self.entered_ns or self.started_ns
        return max(0, at_ns - since_ns)

    def ages_ns(self, at_ns: int) -> tuple[int, int]:
        """For how long the operation and the attempt that are on have been so; 0 without one.

        The operation counts from its plan, or else from its first attempt.
        """
        if not self._attempt:
            return 0, 0
        upload = self._upload
        begun_ns = self._first_start_ns or self.started_ns
        if upload is not None and upload.started_ns:
            begun_ns = upload.started_ns
        attempt_ns = 0 if self._wait is _Wait.RETRY else at_ns - self.started_ns
        return at_ns - (self._planned_ns or begun_ns), attempt_ns

    def give_up(self) -> None:
        """End now, whatever is on."""
        if self._wait is _Wait.PAUSE:
            self._loop.pausing -= 1
        if self._attempt:
            self._work.lost(self._kind or _GET, self._number)
            self._work.busy -= 1
            self._loop.leave(self._loop.now_ns)
        self._attempt = 0
        self._ticket += 1
        self._wait = _Wait.NOTHING
        self.close()

    def stop(self) -> None:
        """Begin no further attempt; what is in flight may end."""
        if self._wait is not _Wait.NOTHING:
            self.give_up()

    # What is asked.

    def _draw(self) -> bool:  # noqa: C901 (the hot path of every operation)
        """Take the next operation; whether there is one."""
        work = self._work
        plan = work.plan
        if plan is not None:
            if work.ready:  # goes first
                return False
            work.expire(self._loop.now_ns)
        if not work.pending and not work.refill():
            return False
        if plan is not None:
            if plan.waiting <= 0:
                return False
            self._planned_ns = plan.take()
        kind, number = work.pending.pop()
        if number < 0:
            drawn = work.instead(kind)
            if drawn is None:
                return False
            kind, number = drawn
        if kind is not self._kind:
            self._switch(kind)
        self._number = number
        self._attempt = 1
        self._spared = False
        self._quick_lane = work.quick
        self._first_start_ns = 0
        if kind is OperationKind.COPY:
            self._target = work.draws.new_number()
        elif kind is OperationKind.PUT:
            self._target = number
        if self._new:
            work.new_begun += 1
            if kind is OperationKind.MULTIPART:
                self._upload = MultipartUpload(work.new_objects.body(number), work.job.part_bytes)
        return True

    def _switch(self, kind: OperationKind) -> None:
        """Get ready for operations of another kind."""
        self._kind = kind
        self._target = -1
        self._lane = self._work.lane(kind)
        self._new = kind is OperationKind.MULTIPART or (kind is OperationKind.PUT and not self._work.job.overwrite)
        self._step = kind
        self._upload = None
        self._expect(kind)

    def _expect(self, step: OperationKind) -> None:
        """Set what the answer to requests of a kind is like."""
        self.quick = (step in _QUICK or step is OperationKind.DELETE) and (self.reads_body or step not in _READING)
        self.start = PARTIAL if step is OperationKind.RANGE else OK
        self.head_only = step is OperationKind.HEAD
        self.quick = self.quick and not self.head_only
        self.wants_text = step in _TEXTS
        self._down = step in _READING
        self._up_bytes = 0
        self.pieces = ()
        self.size_bytes = self.crc32 = None

    def on_route(self) -> None:
        """Use what is known of requests to this address."""
        self._reads = self._work.reads(self.route.requests)

    def prepare(self) -> None:
        """Fill in the request."""
        number = self._number
        if self._step is _GET:
            found = self._reads.get(number)
            if found is None:
                found = self._work.read(self.route.requests, number)
            self.head, self.size_bytes, self.crc32 = found
        elif self._upload is not None:
            self._prepare_step(self._upload)
        else:
            self._prepare_other(number)

    def _prepare_other(self, number: int) -> None:
        work, requests = self._work, self.route.requests
        step = self._step
        if step is OperationKind.PUT:
            body = work.new_objects.body(number)
            self.head = requests.put(work.new_objects.path(number), body)
            self.pieces = body.pieces
            self._up_bytes = body.size_bytes
        elif step is OperationKind.RANGE:
            self._prepare_range(number)
        elif step is OperationKind.HEAD:
            self.head = requests.head(work.objects.path(number))
        elif step is OperationKind.DELETE:
            self.head = requests.delete(work.objects.path(number))
        elif step is OperationKind.LIST:
            keys_max = work.job.list_keys
            after = work.objects.key(number * keys_max - 1) if number and work.objects.listed is None else ""
            prefix = work.data.root if work.objects.listed is None else ""
            self.head = requests.list_objects(prefix, after=after, keys_max=keys_max)
        else:
            assert step is OperationKind.COPY, step
            self.head = requests.copy(work.new_objects.path(self._target), work.objects.copy_source(number))

    def _prepare_range(self, number: int) -> None:
        work = self._work
        objects = work.objects
        range_bytes = work.job.range_bytes
        assert range_bytes is not None, "a job with ranges has their size"
        known = objects.expected(number)[0] if objects.listed is not None else objects.size_bytes(number)
        start = work.draws.range_start(known) if known else 0
        end = start + range_bytes if known is None else min(start + range_bytes, known)
        self.start = PARTIAL
        if known == 0:  # no range of nothing is satisfiable (RFC 9110 14.1.2)
            self.start, end = OK, 0
            self.head = self.route.requests.get(objects.path(number))
        else:
            self.head = self.route.requests.get_range(objects.path(number), start, end)
        self.size_bytes = self.crc32 = None
        if work.manner.verify and known is not None:
            self.size_bytes = end - start
            if objects.listed is None:
                self.crc32 = objects.body(number).crc32_of(start, end)

    def _prepare_step(self, upload: MultipartUpload) -> None:
        requests = self.route.requests
        path = self._work.new_objects.path(self._number)
        step = self._step = upload.step
        self._lane = self._work.lane(step)
        self._expect(step)
        if step is OperationKind.MULTIPART_CREATE:
            self.head = requests.create_upload(path)
        elif step is OperationKind.MULTIPART_PART:
            part = upload.part()
            self.head = requests.upload_part(path, upload.id, upload.part_number, part)
            self.pieces = part.pieces
            self._up_bytes = part.size_bytes
        elif step is OperationKind.MULTIPART_COMPLETE:
            self.head, body = requests.complete_upload(path, upload.id, upload.parts)
            self.pieces = (memoryview(body),)
        else:
            self.head = requests.abort_upload(path, upload.id)

    # What follows.

    def on_answer(self, now_ns: int) -> None:
        """Count a request that ended well, and go on."""
        if self.wants_text and is_error(self.answer.text):
            self._fail(f"{self.answer.status} {error_code(self.answer.text)}", now_ns, worth=True)
            return
        self._pause_ns = 0
        work = self._work
        lane = self._lane
        if not work.over:
            if self._quick_lane and self.is_unheard:
                lane.quick.append(now_ns - self.started_ns)
            else:
                self._record(lane, now_ns)
            if self._up_bytes:
                lane.bytes_up += self._up_bytes
            elif self._down:
                lane.bytes_down += self.body_bytes
                if self._step is not OperationKind.LIST and work.seen.again(self._number):
                    lane.repeated += 1
            self._credit = lane
            self._credit_bytes = self._up_bytes or self.body_bytes
        if self._upload is not None:
            self._go_on(self._upload, now_ns)
        else:
            if self._target >= 0:
                work.draws.wrote(self._target)
            self._next(now_ns, well=True)

    def _record(self, lane: IntervalCounter, now_ns: int) -> None:
        """Count the latencies of an attempt that ended well."""
        lane.service.append(now_ns - self.started_ns)
        lane.first_byte.append(self.first_ns - self.started_ns)
        lane.response.append(now_ns - (self._planned_ns or self._first_start_ns or self.started_ns))
        self._trace("", now_ns)

    def _go_on(self, upload: MultipartUpload, now_ns: int) -> None:
        """Go on to the next request of a multipart upload."""
        if not upload.started_ns:
            upload.started_ns = self._first_start_ns or self.started_ns
            upload.first_ns = self.first_ns
        step = self._step
        if step is OperationKind.MULTIPART_CREATE:
            upload.created(upload_id(self.answer.text))
            if not upload.id:
                self._fail(AttemptFailure.PROTOCOL, now_ns, worth=False)
                return
        elif step is OperationKind.MULTIPART_PART:
            crc32 = upload.part().base64_crc32() if self._work.manner.checksum else ""
            upload.stored(self.answer.etag, crc32)
        else:
            self._end_upload(upload, now_ns)
            return
        self._attempt = 1
        self._first_start_ns = 0
        self._spared = False
        self.exchange()

    def _end_upload(self, upload: MultipartUpload, now_ns: int) -> None:
        """Count a multipart upload as a whole."""
        work = self._work
        lane = work.lane(OperationKind.MULTIPART)
        taken_ns = now_ns - upload.started_ns
        if not work.over:
            if upload.failure:
                lane.lose(upload.failure, retried=False, lost_ns=taken_ns, body_bytes=0)
            else:
                lane.service.append(taken_ns)
                lane.first_byte.append(upload.first_ns - upload.started_ns)
                lane.response.append(now_ns - (self._planned_ns or upload.started_ns))
                lane.bytes_up += upload.size_bytes
        if not upload.failure:
            work.draws.wrote(self._number)
        self._next(now_ns, well=not upload.failure)

    def on_refusal(self, status: int, text: bytes, now_ns: int) -> None:
        """Count a request that the server refused."""
        label = f"{status} {error_code(text)}".strip()
        self._fail(label, now_ns, worth=status >= _SERVER_ERROR or status in _WORTH_ANOTHER_TRY)

    def on_fault(self, fault: AttemptFailure, now_ns: int) -> None:
        """Count a request that broke.

        A server may close an idle connection at any time, perhaps just when a request is on its way. Such a request is
        repeated at once, as every HTTP client does (RFC 9112 9.3.1), but it is a failed attempt all the same.
        """
        unheard = self.is_unheard
        if (
            unheard
            and fault in {AttemptFailure.CLOSED, AttemptFailure.RESET}
            and not self.is_fresh
            and not self._spared
        ):
            if self._step not in _NOT_REPEATABLE:
                self._spared = True
                self._count(fault, retried=True, now_ns=now_ns)
                self._first_start_ns = self._first_start_ns or self.started_ns
                self._quick_lane = False
                self.exchange()
                return
        elif unheard and self.is_fresh and self._work.plan is None:
            self._pause_ns = min(max(2 * self._pause_ns, PAUSE_NS), PAUSE_NS_MAX)
        self._fail(fault, now_ns, worth=True)

    def on_surplus(self) -> None:
        """Count the operation before as failed: more bytes followed its answer."""
        credit, self._credit = self._credit, None
        if credit is not None and not self._work.over:
            credit.withdraw(AttemptFailure.SURPLUS, self._credit_bytes)

    def _count(self, label: str, *, retried: bool, now_ns: int) -> None:
        """Count an attempt that failed."""
        self._credit = None
        self._failure = label
        if self._work.over:
            return
        body_bytes = self.body_bytes + max(0, self.sent_bytes - len(self.head) if self.pieces else 0)
        self._lane.lose(label, retried=retried, lost_ns=now_ns - self.started_ns, body_bytes=body_bytes)
        self._trace(label, now_ns)

    def _fail(self, label: str, now_ns: int, *, worth: bool) -> None:
        """Count an attempt that failed, and try again where it is `worth` it and attempts are left."""
        work = self._work
        again = worth and self._attempt <= work.manner.retries and not work.over
        self._count(label, retried=again, now_ns=now_ns)
        if again:
            backoff_ns = min(round(work.manner.backoff_s * 1e9) << min(self._attempt - 1, 20), BACKOFF_NS_MAX)
            self._attempt += 1
            self._quick_lane = False
            self._first_start_ns = self._first_start_ns or self.started_ns
            self._failed_ns = now_ns
            if work.plan is not None:
                self._put_off(now_ns + backoff_ns)
                return
            self._wait = _Wait.RETRY
            self._ticket += 1
            self._loop.call_at(now_ns + max(backoff_ns, self._pause_ns), self, self._ticket)
            return
        upload = self._upload
        if upload is not None:
            upload.started_ns = upload.started_ns or self._first_start_ns or self.started_ns
            if upload.fail(label):
                self._attempt = 1
                self._first_start_ns = 0
                self.exchange()
            else:
                self._end_upload(upload, now_ns)
            return
        self._next(now_ns, well=False)

    def _put_off(self, due_ns: int) -> None:
        """Leave an operation of an open loop until `due_ns`, and be free for another one."""
        work = self._work
        assert self._kind is not None
        retry = Retry(
            work=work,
            kind=self._kind,
            number=self._number,
            target=self._target,
            upload=self._upload,
            planned_ns=self._planned_ns,
            first_start_ns=self._first_start_ns,
            attempt=self._attempt,
            failed_ns=self._failed_ns,
            failure=self._failure,
            lane=self._lane,
        )
        work.retries.add(retry)
        self._loop.call_at(due_ns, retry, 0)
        self._attempt = 0
        work.idle.append(self)

    def _try_again(self) -> None:
        """Make the next attempt; the wait was lost by the last one."""
        self._lane.lose_time(self._failure, self._loop.clock() - self._failed_ns)
        self.exchange()

    def _next(self, now_ns: int, *, well: bool) -> None:
        """Go on to the next operation, the last of which ended at `now_ns`.

        After a failure the engine's next turn begins it in open loop: connections may be refused at once, and each
        would be begun within the one before.
        """
        work = self._work
        if not well:
            work.lost(self._kind or _GET, self._number)
        if work.over:
            work.late += well
        elif not self._pause_ns and (well or work.plan is None) and self._draw():
            self.entered_ns = now_ns
            self.exchange()
            return
        self._attempt = 0
        work.busy -= 1
        self._loop.leave(now_ns)
        if self._pause_ns and not work.over:
            self._failed_ns = now_ns
            self._loop.pausing += 1
            self.start_at(now_ns + self._pause_ns)
            self._wait = _Wait.PAUSE
        elif work.plan is not None:
            work.idle.append(self)

    @property
    def _objects(self) -> Objects:
        """Where the operation's object is described; of a COPY the source's."""
        work = self._work
        return work.new_objects if self._new or self._step is OperationKind.PUT else work.objects

    def _status(self) -> str:
        """The status of an answer of success; a quick one has the only status that it may have."""
        if self.is_unheard:
            return "206" if self.start is PARTIAL else "200"
        return str(self.answer.status)

    def _trace(self, label: str, now_ns: int) -> None:
        trace = self._work.trace
        if trace is not None:
            planned_ns = self._planned_ns or self._first_start_ns or self.started_ns
            size_bytes = self._up_bytes or self.body_bytes
            key = "" if self._step is OperationKind.LIST else self._objects.key(self._number)
            trace.note((
                planned_ns, self.started_ns, self.first_ns, now_ns, self._step.value, self._number, key, size_bytes,
                label or self._status(), self._attempt, self._index,
            ))  # fmt: skip
