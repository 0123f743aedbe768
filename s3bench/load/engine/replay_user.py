"""A virtual user of a replay: does the operations of a plan, each on its object and with its sizes."""

from http import HTTPStatus

from s3bench.load.engine.exchange import PARTIAL
from s3bench.load.engine.multipart import MultipartUpload
from s3bench.load.engine.replay_state import ReplayState
from s3bench.load.engine.virtual_user import VirtualUser
from s3bench.load.operation import OperationKind


class ReplayUser(VirtualUser):
    """Does one operation of `state` after the other."""

    __slots__ = ("_state_of_replay",)

    def __init__(self, state: ReplayState, index: int) -> None:
        super().__init__(state, index)
        self._state_of_replay = state

    def on_error_response(self, status: int, text: bytes, now_ns: int) -> None:
        """Count a request that the server refused; one that had to find no object has succeeded if there is none."""
        state = self._state_of_replay
        if status != HTTPStatus.NOT_FOUND or not state.is_missing(self._number):
            super().on_error_response(status, text, now_ns)
            return
        self._pause_ns = 0
        if not state.over:
            self._record(self._counter, now_ns)
        self._next(now_ns, well=True)

    def _draw(self) -> bool:
        state = self._state_of_replay
        if state.ready:  # goes first
            return False
        begun = state.next_operation(self._loop.now_ns)
        if begun is None:
            return False
        kind, number, self._planned_ns = begun
        if kind is not self._kind:
            self._switch(kind)
        self._number = number
        self._attempt = 1
        self._spared = False
        self._quick_counter = False
        self._first_start_ns = 0
        if kind is OperationKind.MULTIPART:
            part_bytes = state.planned(number).length_bytes
            self._upload = MultipartUpload(state.new_objects.body(number), part_bytes)
        return True

    def _prepare_other(self, number: int) -> None:
        if self._step is OperationKind.LIST:
            state = self._state_of_replay
            self.head = self.route.requests.list_objects(state.data.root, after="", keys_max=state.job.list_keys)
        else:
            super()._prepare_other(number)

    def _prepare_range(self, number: int) -> None:
        state = self._state_of_replay
        operation = state.planned(number)
        start, end = operation.first, operation.first + operation.length_bytes
        self.start = PARTIAL
        self.head = self.route.requests.get_range(state.objects.path(number), start, end)
        self.size_bytes = self.expected = None
        if state.is_verified(operation):
            self.size_bytes = end - start
            self.expected = state.objects.body(number).part(start, end)

    def _next(self, now_ns: int, *, well: bool) -> None:
        """Free what waits for this operation's key, and go on to the next one."""
        state = self._state_of_replay
        state.ended(self._kind or OperationKind.GET, self._number, well=well)
        super()._next(now_ns, well=well)
