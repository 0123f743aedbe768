"""A virtual user: does one operation of a job at a time, on one connection, and tries again what failed.

What to do next comes from `job_state`; `exchange` moves the bytes.
"""

from enum import IntEnum

from s3bench.load.engine.exchange import OK, PARTIAL, Exchange
from s3bench.load.engine.job_state import JobState, Read, Retry, Write
from s3bench.load.engine.multipart import MultipartUpload
from s3bench.load.engine.objects import JOINED_BYTES_MAX, ObjectBody, ObjectSet
from s3bench.load.engine.recorder import IntervalCounter
from s3bench.load.engine.response import error_code, is_error, upload_id
from s3bench.load.operation import AttemptFailure, OperationKind

PAUSE_NS = 50_000_000
PAUSE_NS_MAX = 250_000_000
"""How long a virtual user of a closed loop waits, at first and at most, after a connection that could not be made or
brought no response: it must not try in a busy loop, and it must notice soon that the server is back. An open loop has
its plan and does not wait."""

BACKOFF_NS_MAX = 20_000_000_000
"""How long a retry waits at most, as with the AWS SDKs
(https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html)."""

_GET = OperationKind.GET
_READING = frozenset({OperationKind.GET, OperationKind.RANGE, OperationKind.LIST})
_QUICK = frozenset({OperationKind.GET, OperationKind.RANGE, OperationKind.HEAD, OperationKind.LIST, OperationKind.PUT})
_TEXTS = frozenset({OperationKind.COPY, OperationKind.MULTIPART_CREATE, OperationKind.MULTIPART_COMPLETE})
_NOT_REPEATABLE = frozenset({OperationKind.MULTIPART_CREATE, OperationKind.MULTIPART_COMPLETE})  # POST: RFC 9110 9.2.2
_CHANGING = frozenset({
    OperationKind.PUT, OperationKind.COPY, OperationKind.MULTIPART_CREATE, OperationKind.MULTIPART_PART,
    OperationKind.MULTIPART_COMPLETE,
})  # fmt: skip
_UNANSWERED = frozenset({
    AttemptFailure.TIMEOUT, AttemptFailure.RESET, AttemptFailure.CLOSED, AttemptFailure.PROTOCOL,
})  # fmt: skip
_WORTH_ANOTHER_TRY = frozenset({408, 429})
_SERVER_ERROR = 500


class _Wait(IntEnum):
    """What a virtual user waits for besides its connection."""

    NOTHING = 0
    RETRY = 1  # in the middle of an operation
    START = 2  # before one
    PAUSE = 3  # before one, since the last found no connection


class VirtualUser(Exchange):
    """Does one operation of `job_state` after the other. `index` is its number in its worker."""

    __slots__ = (
        "_attempt", "_counter", "_credit", "_credit_bytes", "_down", "_failed_ns", "_failure", "_first_start_ns",
        "_index", "_job_state", "_kind", "_new", "_number", "_pause_ns", "_planned_ns", "_quick_counter", "_reads",
        "_spared", "_step", "_target", "_ticket", "_up_bytes", "_upload", "_uploaded_bytes", "_wait", "_writes",
    )  # fmt: skip

    def __init__(self, job_state: JobState, index: int) -> None:
        super().__init__(job_state.loop)
        self._job_state = job_state
        self._index = index
        self.reads_body = job_state.job.reads_bodies
        self._kind: OperationKind | None = None  # of the operation
        self._step = _GET  # of the request that is on
        self._number = 0
        self._target = -1  # number of the object that a PUT or COPY writes
        self._new = False  # whether the object is a new one
        self._upload: MultipartUpload | None = None
        self._counter: IntervalCounter = job_state.counter(job_state.job.kinds[0])
        self._reads: dict[int, Read] = {}
        self._writes: dict[int, Write] = {}
        self._down = False  # whether bodies of responses count
        self._up_bytes = 0
        self._planned_ns = 0  # in open loop; of the next requests of an upload, which have no plan, 0
        self._first_start_ns = 0
        self._attempt = 0
        self._spared = False  # whether the one retry of an idle connection's end has been made
        self._quick_counter = False  # whether all latencies of the attempt are the same
        self._credit: IntervalCounter | None = None  # where the last response was counted as a success
        self._credit_bytes = 0
        self._uploaded_bytes = 0  # of the last multipart upload that was counted as a success
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
        job_state = self._job_state
        if not self._draw():
            if job_state.plan is not None:
                job_state.idle.append(self)
            return False
        job_state.busy += 1
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
        self._job_state.retries.discard(retry)
        retry.counter.lose_time(retry.failure, self._loop.clock() - retry.failed_ns)
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
            self._counter.pause(self._failure, self._loop.now_ns - self._failed_ns)
            self.begin()
        elif waited is _Wait.RETRY:
            self._try_again()

    def open_ns(self, at_ns: int) -> int:
        """For how long an operation has been in flight that is not yet counted in latency or lost time."""
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
        return at_ns - (self._plan_ns or begun_ns), attempt_ns

    def give_up(self) -> None:
        """End now, whatever is on."""
        if self._wait is _Wait.PAUSE:
            self._loop.pausing -= 1
        if self._attempt:
            if self._wait is _Wait.NOTHING:
                self._note_unanswered()
            self._job_state.lost(self._kind or _GET, self._number)
            self._job_state.busy -= 1
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
        job_state = self._job_state
        plan = job_state.plan
        if plan is not None:
            if job_state.ready:  # goes first
                return False
            job_state.expire(self._loop.now_ns)
        if not job_state.pending and not job_state.refill():
            return False
        if plan is not None:
            if plan.waiting <= 0:
                return False
            self._planned_ns = plan.take()
        kind, number = job_state.pending.pop()
        if number < 0:
            drawn = job_state.instead(kind)
            if drawn is None:
                return False
            kind, number = drawn
        if kind is not self._kind:
            self._switch(kind)
        self._number = number
        self._attempt = 1
        self._spared = False
        self._quick_counter = job_state.quick
        self._first_start_ns = 0
        if kind is OperationKind.COPY:
            self._target = job_state.mix.new_number()
        elif kind is OperationKind.PUT:
            self._target = number
        if self._new:
            job_state.new_begun += 1
            if kind is OperationKind.MULTIPART:
                self._upload = MultipartUpload(job_state.new_objects.body(number), job_state.job.part_bytes)
        return True

    def _switch(self, kind: OperationKind) -> None:
        """Get ready for operations of another kind."""
        self._kind = kind
        self._target = -1
        self._counter = self._job_state.counter(kind)
        self._new = kind is OperationKind.MULTIPART or (kind is OperationKind.PUT and not self._job_state.job.overwrite)
        self._step = kind
        self._upload = None
        self._expect(kind)

    def _expect(self, step: OperationKind) -> None:
        """Set what the response to requests of a kind is like."""
        self.quick = (step in _QUICK or step is OperationKind.DELETE) and (self.reads_body or step not in _READING)
        self.start = PARTIAL if step is OperationKind.RANGE else OK
        self.head_only = step is OperationKind.HEAD
        self.quick = self.quick and not self.head_only
        self.wants_text = step in _TEXTS
        self._down = step in _READING
        self._up_bytes = 0
        self.pieces = ()
        self.size_bytes = self.expected = None

    def on_route(self) -> None:
        """Use what is known of requests to this address."""
        self._reads = self._job_state.reads(self.route.requests)
        self._writes = self._job_state.writes(self.route.requests)

    def prepare(self) -> None:
        """Fill in the request."""
        number = self._number
        if self._step is _GET:
            found = self._reads.get(number)
            if found is None:
                found = self._job_state.read(self.route.requests, number)
            self.head, self.size_bytes, self.expected = found
        elif self._upload is not None:
            self._prepare_step(self._upload)
        else:
            self._prepare_other(number)

    def _prepare_other(self, number: int) -> None:
        job_state, requests = self._job_state, self.route.requests
        step = self._step
        if step is OperationKind.PUT:
            self._send_body(*(self._writes.get(number) or job_state.write(requests, number)))
        elif step is OperationKind.RANGE:
            self._prepare_range(number)
        elif step is OperationKind.HEAD:
            self.head = requests.head(job_state.objects.path(number))
        elif step is OperationKind.DELETE:
            self.head = requests.delete(job_state.objects.path(number))
        elif step is OperationKind.LIST:
            keys_max = job_state.job.list_keys
            after = job_state.objects.key(number * keys_max - 1) if number else ""
            prefix = job_state.data.root if job_state.objects.listed is None else job_state.data.existing
            self.head = requests.list_objects(prefix, after=after, keys_max=keys_max)
        else:
            assert step is OperationKind.COPY, step
            self.head = requests.copy(job_state.new_objects.path(self._target), job_state.objects.copy_source(number))

    def _prepare_range(self, number: int) -> None:
        job_state = self._job_state
        objects = job_state.objects
        range_bytes = job_state.job.range_bytes
        assert range_bytes is not None, "a job with ranges has their size"
        known = objects.expected(number)[0] if objects.listed is not None else objects.size_bytes(number)
        start = job_state.mix.range_start(known) if known else 0
        end = start + range_bytes if known is None else min(start + range_bytes, known)
        self.start = PARTIAL
        if known == 0:  # no range of nothing is satisfiable (RFC 9110 14.1.2)
            self.start, end = OK, 0
            self.head = self.route.requests.get(objects.path(number))
        else:
            self.head = self.route.requests.get_range(objects.path(number), start, end)
        self.size_bytes = self.expected = None
        if job_state.manner.verify and known is not None:
            self.size_bytes = end - start
            if objects.listed is None:
                self.expected = objects.body(number).part(start, end)

    def _prepare_step(self, upload: MultipartUpload) -> None:
        requests = self.route.requests
        path = self._job_state.new_objects.path(self._number)
        step = self._step = upload.step
        self._counter = self._job_state.counter(step)
        self._expect(step)
        if step is OperationKind.MULTIPART_CREATE:
            self.head = requests.create_upload(path)
        elif step is OperationKind.MULTIPART_PART:
            part = upload.part()
            self._send_body(requests.upload_part(path, upload.id, upload.part_number, part), part)
        elif step is OperationKind.MULTIPART_COMPLETE:
            self.head, body = requests.complete_upload(path, upload.id, upload.parts)
            self.pieces = (memoryview(body),)
        else:
            self.head = requests.abort_upload(path, upload.id)

    def _send_body(self, head: bytes, body: ObjectBody) -> None:
        """Fill in a request with `body`."""
        self._up_bytes = size_bytes = body.size_bytes
        if size_bytes <= JOINED_BYTES_MAX:
            self.head, self.pieces = body.joined_to(head), ()
        else:
            self.head, self.pieces = head, body.pieces

    # What follows.

    def on_response(self, now_ns: int) -> None:
        """Count a successful request, and continue."""
        if self.wants_text and is_error(self.response.text):
            self._fail(f"{self.response.status} {error_code(self.response.text)}", now_ns, worth=True)
            return
        self._pause_ns = 0
        job_state = self._job_state
        counter = self._counter
        if not job_state.over:
            if self._quick_counter and self.has_no_response:
                counter.quick.append(now_ns - self.started_ns)
            else:
                self._record(counter, now_ns)
            if self._up_bytes:
                counter.bytes_up += self._up_bytes
            elif self._down:
                counter.bytes_down += self.body_bytes
                if self._step is not OperationKind.LIST and job_state.seen.again(self._number):
                    counter.repeated += 1
            self._credit = counter
            self._credit_bytes = self._up_bytes or self.body_bytes
        if self._upload is not None:
            self._go_on(self._upload, now_ns)
        else:
            if self._target >= 0:
                job_state.mix.wrote(self._target)
            self._next(now_ns, well=True)

    def _record(self, counter: IntervalCounter, now_ns: int) -> None:
        """Count the latencies of a successful attempt."""
        counter.service.append(now_ns - self.started_ns)
        counter.first_byte.append(self.first_ns - self.started_ns)
        counter.response.append(now_ns - (self._planned_ns or self._first_start_ns or self.started_ns))
        self._trace("", now_ns)

    def _go_on(self, upload: MultipartUpload, now_ns: int) -> None:
        """Go on to the next request of a multipart upload, of which only the first was planned."""
        if not upload.started_ns:
            upload.started_ns = self._first_start_ns or self.started_ns
            upload.first_ns = self.first_ns
            upload.planned_ns, self._planned_ns = self._planned_ns, 0
        step = self._step
        if step is OperationKind.MULTIPART_CREATE:
            upload.created(upload_id(self.response.text))
            if not upload.id:
                self._fail(AttemptFailure.PROTOCOL, now_ns, worth=False)
                return
        elif step is OperationKind.MULTIPART_PART:
            crc32 = upload.part().base64_crc32() if self._job_state.manner.checksum else ""
            upload.stored(self.response.etag, crc32)
        else:
            self._end_upload(upload, now_ns)
            return
        self._attempt = 1
        self._first_start_ns = 0
        self._spared = False
        self.exchange()

    def _end_upload(self, upload: MultipartUpload, now_ns: int) -> None:
        """Count a multipart upload as a whole."""
        job_state = self._job_state
        counter = job_state.counter(OperationKind.MULTIPART)
        taken_ns = now_ns - upload.started_ns
        if not job_state.over:
            if upload.failure:
                counter.lose(upload.failure, retried=False, lost_ns=taken_ns, body_bytes=0)
            else:
                counter.service.append(taken_ns)
                counter.first_byte.append(upload.first_ns - upload.started_ns)
                counter.response.append(now_ns - (upload.planned_ns or upload.started_ns))
                counter.bytes_up += upload.size_bytes
                self._uploaded_bytes = upload.size_bytes
        if not upload.failure:
            job_state.mix.wrote(self._number)
        self._next(now_ns, well=not upload.failure)

    def on_error_response(self, status: int, text: bytes, now_ns: int) -> None:
        """Count a request that the server refused."""
        label = f"{status} {error_code(text)}".strip()
        self._fail(label, now_ns, worth=status >= _SERVER_ERROR or status in _WORTH_ANOTHER_TRY)

    def on_fault(self, fault: AttemptFailure, now_ns: int) -> None:
        """Count a request that broke.

        A server may close an idle connection at any time, perhaps just when a request is on its way. Such a request is
        repeated at once, as every HTTP client does (RFC 9112 9.3.1), but it is a failed attempt all the same.
        """
        if fault in _UNANSWERED:
            self._note_unanswered()
        silent = self.has_no_response
        if silent and fault in {AttemptFailure.CLOSED, AttemptFailure.RESET} and not self.is_fresh and not self._spared:
            if self._step not in _NOT_REPEATABLE:
                self._spared = True
                self._count(fault, retried=True, now_ns=now_ns)
                self._first_start_ns = self._first_start_ns or self.started_ns
                self._quick_counter = False
                self.exchange()
                return
        elif silent and self.is_fresh and self._job_state.plan is None:
            self._pause_ns = min(max(2 * self._pause_ns, PAUSE_NS), PAUSE_NS_MAX)
        self._fail(fault, now_ns, worth=True)

    def on_surplus(self) -> None:
        """Count the operation before as failed: more bytes followed its response, the last one of an upload."""
        credit, self._credit = self._credit, None
        if credit is None or self._job_state.over:
            return
        credit.withdraw(AttemptFailure.SURPLUS, self._credit_bytes)
        if credit.kind is OperationKind.MULTIPART_COMPLETE:
            self._job_state.counter(OperationKind.MULTIPART).withdraw(AttemptFailure.SURPLUS, self._uploaded_bytes)

    def _note_unanswered(self) -> None:
        """Note a write that was sent whole and had no response, which the server may do later; any other is none."""
        if self._step in _CHANGING and self.sent_bytes:
            self._job_state.unanswered += self.sent_bytes >= len(self.head) + sum(map(len, self.pieces))

    def _count(self, label: str, *, retried: bool, now_ns: int) -> None:
        """Count an attempt that failed."""
        self._credit = None
        self._failure = label
        if self._job_state.over:
            return
        joined_bytes = 0 if self.pieces else self._up_bytes  # of the body, in `head`
        body_bytes = self.body_bytes + max(0, self.sent_bytes - len(self.head) + joined_bytes)
        self._counter.lose(label, retried=retried, lost_ns=now_ns - self.started_ns, body_bytes=body_bytes)
        self._trace(label, now_ns)

    def _fail(self, label: str, now_ns: int, *, worth: bool) -> None:
        """Count an attempt that failed, and try again where it is `worth` it and attempts are left."""
        job_state = self._job_state
        again = worth and self._attempt <= job_state.manner.retries and not job_state.over
        self._count(label, retried=again, now_ns=now_ns)
        if again:
            backoff_ns = min(round(job_state.manner.backoff_s * 1e9) << min(self._attempt - 1, 20), BACKOFF_NS_MAX)
            self._attempt += 1
            self._quick_counter = False
            self._first_start_ns = self._first_start_ns or self.started_ns
            self._failed_ns = now_ns
            if job_state.plan is not None:
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
        job_state = self._job_state
        assert self._kind is not None
        retry = Retry(
            job_state=job_state,
            kind=self._kind,
            number=self._number,
            target=self._target,
            upload=self._upload,
            planned_ns=self._planned_ns,
            first_start_ns=self._first_start_ns,
            attempt=self._attempt,
            failed_ns=self._failed_ns,
            failure=self._failure,
            counter=self._counter,
        )
        job_state.retries.add(retry)
        self._loop.call_at(due_ns, retry, 0)
        self._attempt = 0
        job_state.idle.append(self)

    def _try_again(self) -> None:
        """Make the next attempt; the wait was lost by the last one."""
        self._counter.lose_time(self._failure, self._loop.clock() - self._failed_ns)
        self.exchange()

    def _next(self, now_ns: int, *, well: bool) -> None:
        """Go on to the next operation, the last of which ended at `now_ns`.

        After a failure the engine's next turn begins it in open loop: connections may be refused at once, and each
        would be begun within the one before.
        """
        job_state = self._job_state
        if not well:
            job_state.lost(self._kind or _GET, self._number)
        if job_state.over:
            job_state.late += well
        elif not self._pause_ns and (well or job_state.plan is None) and self._draw():
            self.entered_ns = now_ns
            self.exchange()
            return
        self._attempt = 0
        job_state.busy -= 1
        self._loop.leave(now_ns)
        if self._pause_ns and not job_state.over:
            self._failed_ns = now_ns
            self._loop.pausing += 1
            self.start_at(now_ns + self._pause_ns)
            self._wait = _Wait.PAUSE
        elif job_state.plan is not None:
            job_state.idle.append(self)

    @property
    def _plan_ns(self) -> int:
        """When the whole operation was to start; 0 in closed loop."""
        return self._planned_ns or (0 if self._upload is None else self._upload.planned_ns)

    @property
    def _objects(self) -> ObjectSet:
        """Where the operation's object is described; of a COPY the source's."""
        job_state = self._job_state
        return job_state.new_objects if self._new or self._step is OperationKind.PUT else job_state.objects

    def _status(self) -> str:
        """The status of a successful response; a quick one has the only status that it may have."""
        if self.has_no_response:
            return "206" if self.start is PARTIAL else "200"
        return str(self.response.status)

    def _trace(self, label: str, now_ns: int) -> None:
        trace = self._job_state.trace
        if trace is not None:
            planned_ns = self._plan_ns or self._first_start_ns or self.started_ns
            size_bytes = self._up_bytes or self.body_bytes
            key = "" if self._step is OperationKind.LIST else self._objects.key(self._number)
            trace.note((
                planned_ns, self.started_ns, self.first_ns, now_ns, self._step.value, self._number, key, size_bytes,
                label or self._status(), self._attempt, self._index,
            ))  # fmt: skip
