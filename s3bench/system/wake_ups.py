"""Makes the wake-ups of this process prompt, so that what is planned for a moment starts near it.

Two things delay a process that sleeps until a moment. The kernel puts its timer off by up to 50 us, the timer slack
(https://man7.org/linux/man-pages/man2/PR_SET_TIMERSLACK.2const.html). And a core without work goes into an idle state
that takes time to leave: microseconds on bare metal, milliseconds in a virtual machine whose host has given the core
away in the meantime.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

CPU_LATENCY = Path("/dev/cpu_dma_latency")
"""While a process holds this file open with a latency in us written to it, as a 32-bit number, no core of the machine
enters an idle state that takes longer to leave (https://docs.kernel.org/power/pm_qos_interface.html). Root can open it,
and a container if it was given the device."""

TIMER_SLACK = Path("/proc/self/timerslack_ns")
"""The timer slack of this process's main thread, in ns."""

_NONE = bytes(4)


@contextlib.contextmanager
def prompt_wake_ups(latency: Path = CPU_LATENCY, timer_slack: Path = TIMER_SLACK) -> Iterator[bool]:
    """Wake up promptly while the context lasts; gives whether all cores are kept out of idle states.

    Where the kernel or its permissions forbid one of the two, wake-ups are as late as they were.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            before = timer_slack.read_text(encoding="ascii")
            timer_slack.write_text("1", encoding="ascii")
            stack.callback(timer_slack.write_text, before, encoding="ascii")
        is_awake = False
        with contextlib.suppress(OSError):
            descriptor = os.open(latency, os.O_WRONLY | os.O_CLOEXEC)
            stack.callback(os.close, descriptor)
            is_awake = os.write(descriptor, _NONE) == len(_NONE)
        yield is_awake
