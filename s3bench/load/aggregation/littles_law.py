"""Checks a phase against Little's law: the mean number in flight is the rate times the mean time in flight.

L = lambda W (Little, "A Proof for the Queuing Formula",
Operations Research 9, 1961) holds over any window at whose edges nothing is in flight (Little, "Little's Law as Viewed
on Its 50th Anniversary", Operations Research 59, 2011). L is measured as an integral and W by clocks of single
operations, so that the check finds a clock that stops too early, and operations that were lost.

At the edges: an operation in flight when the window opens brings its whole time with it, though part of that was
before: `by_law` is too high by the ages of those. One still in flight when it closes was counted in the integral and
brings no time: `by_law` is too low by the ages of those. The ages at the end are known. Those at the start are not, but
are bounded by the longest time that any operation took.
"""

from dataclasses import dataclass

TOLERANCE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What was in flight within a window of `window_s` seconds.

    `integral_s` is the integral of the number in flight over the window, `time_s` the sum of the times that the
    operations which ended in it took, failed attempts included; both in operations times seconds. `at_start` were in
    flight when the window opened, `longest_s` is the longest time of one operation; upper bounds suffice. `open_s` is
    for how long those that were in flight when it closed had been so, added up.
    """

    window_s: float
    integral_s: float
    time_s: float
    at_start: int = 0
    longest_s: float = 0.0
    open_s: float = 0.0

    @property
    def in_flight(self) -> float:
        """The mean number of operations in flight: L."""
        return self.integral_s / self.window_s if self.window_s > 0 else 0.0

    @property
    def by_law(self) -> float:
        """The same by rate and time: lambda times W."""
        return self.time_s / self.window_s if self.window_s > 0 else 0.0

    @property
    def excess_max(self) -> float:
        """By how much `by_law` may be too high for what was in flight at the start."""
        return self.at_start * self.longest_s / self.window_s if self.window_s > 0 else 0.0

    @property
    def lack_max(self) -> float:
        """By how much `by_law` may be too low for what was in flight at the end."""
        return self.open_s / self.window_s if self.window_s > 0 else 0.0


def contradiction(flow: Flow) -> str:
    """Describe how the figures contradict the law; empty if they agree within 5 % and the bounds of the edges."""
    apart = flow.by_law - flow.in_flight
    excused = flow.excess_max if apart > 0 else flow.lack_max
    if abs(apart) <= excused + TOLERANCE * max(flow.in_flight, flow.by_law):
        return ""
    return (
        f"{flow.in_flight:.2f} operations were in flight on average, but rate and latencies give {flow.by_law:.2f} "
        f"(Little's law; the edges of the window explain up to {excused:.2f})"
    )
