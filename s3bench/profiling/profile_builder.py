"""Merges the samples of several runs into one profile, in which every frame and every stack stands once."""

from s3bench.profiling.py_spy_output import Samples
from s3bench.profiling.stack_profile import Frame, ProfiledRun, Sampled, Stack, StackProfile


class ProfileBuilder:
    """Collects runs; `profile` is what they have shown so far."""

    def __init__(self, *, sampled: Sampled, interval_s: float) -> None:
        self._sampled = sampled
        self._interval_s = interval_s
        self._frames: dict[Frame, int] = {}
        self._stacks: dict[Stack, int] = {}
        self._runs: list[ProfiledRun] = []

    def add(self, samples: Samples, *, total_time: float, cpu_time: float) -> None:
        """Add one run."""
        counts: dict[int, int] = {}
        for (thread, frames), count in samples.items():
            indices = tuple(self._frames.setdefault(frame, len(self._frames)) for frame in frames)
            stack = Stack(frames=indices, thread=thread)
            number = self._stacks.setdefault(stack, len(self._stacks))
            counts[number] = counts.get(number, 0) + count
        self._runs.append(ProfiledRun(total_time=total_time, cpu_time=cpu_time, samples=counts))

    @property
    def profile(self) -> StackProfile:
        """The profile of all runs so far."""
        return StackProfile(
            sampled=self._sampled,
            interval_s=self._interval_s,
            frames=tuple(self._frames),
            stacks=tuple(self._stacks),
            runs=tuple(self._runs),
        )
