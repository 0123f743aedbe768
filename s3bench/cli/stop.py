"""Stops a running command in an orderly way on Ctrl-C, SIGTERM or SIGHUP.

The command polls the stop signal or waits for it.
"""

import os
import select
import signal
import time
from contextlib import ExitStack
from types import FrameType
from typing import Self

from s3bench.system.signals import ending_signals

_REPEATED_SIGNAL_S = 1.0


class StopSignal:
    """Set by the ending signals while the context lasts; another signal a second later raises `KeyboardInterrupt`.

    Not sooner, since a process group that is stopped, for example by timeout(1), often gets each signal twice.
    It uses a pipe, since the interrupted code may hold the lock of a `threading.Event`.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._signalled_s: float | None = None
        self._read_end, self._write_end = 0, 0

    def __enter__(self) -> Self:
        self._read_end, self._write_end = os.pipe()
        self._stack.callback(os.close, self._read_end)
        self._stack.callback(os.close, self._write_end)
        for number in ending_signals():
            self._stack.callback(signal.signal, number, signal.signal(number, self._on_signal))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def wait(self, limit_s: float) -> bool:
        """Wait up to `limit_s`; return whether to stop."""
        return bool(select.select((self._read_end,), (), (), limit_s)[0])

    def _on_signal(self, _signal: int, _frame: FrameType | None) -> None:
        now_s = time.monotonic()
        if self._signalled_s is None:
            self._signalled_s = now_s
            os.write(self._write_end, b"!")
        elif now_s - self._signalled_s > _REPEATED_SIGNAL_S:
            raise KeyboardInterrupt
