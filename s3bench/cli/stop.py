"""How work that goes on until somebody stops it is stopped: by Ctrl-C or SIGTERM, in good order.

Owns the signals while it lasts. Whoever works looks here now and then, or waits here.
"""

import os
import select
import signal
import time
from contextlib import ExitStack
from types import FrameType
from typing import Self

_IMPATIENCE_S = 1.0


class StopSignal:
    """Set by SIGINT and SIGTERM while the context lasts; another one a second later interrupts whatever hangs.

    Not sooner: who stops a whole process group, as timeout(1) does, often signals each process twice.
    A pipe, since a lock such as that of `threading.Event` may be held by the very code that the signal interrupts.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._asked_s: float | None = None
        self._wake, self._woken = 0, 0

    def __enter__(self) -> Self:
        self._wake, self._woken = os.pipe()
        self._stack.callback(os.close, self._wake)
        self._stack.callback(os.close, self._woken)
        for number in (signal.SIGINT, signal.SIGTERM):
            self._stack.callback(signal.signal, number, signal.signal(number, self._on_signal))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def wait(self, limit_s: float) -> bool:
        """Wait up to `limit_s`; whether to stop."""
        return bool(select.select((self._wake,), (), (), limit_s)[0])

    def _on_signal(self, _signal: int, _frame: FrameType | None) -> None:
        now_s = time.monotonic()
        if self._asked_s is None:
            self._asked_s = now_s
            os.write(self._woken, b"!")
        elif now_s - self._asked_s > _IMPATIENCE_S:
            raise KeyboardInterrupt
