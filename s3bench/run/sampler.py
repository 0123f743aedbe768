"""Samples the process tree: decides when to look, what to keep and what it may cost.

`tree` reads the figures. Runs inside the spawner, so it imports next to nothing.
"""

from __future__ import annotations

from array import array
from time import monotonic_ns, thread_time_ns

from s3bench.run.tree import ProcTree

TYPE_CHECKING = False  # `typing` is not imported here: see `spawner`
if TYPE_CHECKING:
    from collections.abc import Callable

    from s3bench.run.sample_loop import SampleLoop
    from s3bench.run.tree import PsutilTree

SAMPLES_MAX = 1 << 16
"""When a run has more, every two samples are made one and the rest of it is sampled half as often."""

CPU_SHARE_MAX = 0.02
"""The part of one core that sampling may take."""

_COST_SAMPLES = 32
"""So many samples go into one estimate of what a sample costs, its wake-up included."""

_BUDGET_SHARE = 0.9
"""The part of the budget that is planned for; the rest is for starting and for estimates that come late."""

_STRETCH_MAX = 10
_STRETCHED_NS = 10_000_000
"""The interval is stretched tenfold at most, or to 10 ms if that is more, since on an overloaded machine even sleeping
is accounted as dear."""

_TORN_NS = 100_000
"""A read that took this long for each process was interrupted, so that its CPU time is not of the moment noted."""

_FIND_PAUSE_NS = 4_000_000
_FIND_SHARE = 200
"""Births are looked for this much apart at least, and so that looking takes at most one part in so many."""

_FIND_ANYWAY_NS = 100_000_000
"""After so long births are looked for even where the tree denies any."""


class Sampler:
    """Samples the process tree every `interval_ns`, or less often where that would take too much CPU time.

    Where a wake-up is dear (on some virtual machines 40 microseconds), the interval is stretched to keep to
    `CPU_SHARE_MAX`. `cost_ns`, what one sample takes, is learnt, and may be handed from run to run. A sample that comes
    late is not made up for: the next one is due at the next tick.

    `left_out` counts the samples that were merged into others, and `due_interval_ns` is the interval that was asked
    for, doubled as often as that happened.

    A child is taken in when it was found twice, some milliseconds apart: until it has called exec, it shows its
    parent's memory as its own. The CPU time that it has used by then is spread over the samples taken meanwhile. What a
    process uses after its last sample, and what one uses that is gone before it was found twice, is missing from the
    series.
    """

    def __init__(
        self,
        tree: ProcTree | PsutilTree,
        pid: int,
        *,
        interval_ns: int,
        cost_ns: int,
        started_ns: int,
        now_ns: Callable[[], int] = monotonic_ns,
        used_ns: Callable[[], int] = thread_time_ns,
    ) -> None:
        self._tree = tree
        self._now_ns, self._used_ns = now_ns, used_ns
        tree.adopt(pid)
        self._candidates: frozenset[int] = frozenset()
        self._interval_ns = self.due_interval_ns = interval_ns
        self.left_out = 0
        self.cost_ns = cost_ns
        self._step_ns = self._affordable_step_ns()
        self.at_ns = array("q")
        self.rss_bytes = array("q")
        self.cpu_ns = array("q")
        self.rss_bytes_max = 0
        self.due_ns = now_ns()
        self._quiet_ns = self._born_after_ns = started_ns  # no unknown child is older
        self._find_due_ns = self._find_anyway_ns = self.due_ns
        self._cpu_start_ns = self._block_cpu_ns = used_ns()
        self._block_left = _COST_SAMPLES

    def sample(self) -> None:
        """Look once; afterwards `due_ns` says when to come again."""
        tree = self._tree
        before_ns = self._now_ns()
        if self._find_due_ns <= before_ns:
            if self._candidates or tree.has_grown() or before_ns >= self._find_anyway_ns:
                self._find()
                before_ns = self._now_ns()
            else:
                self._quiet_ns = before_ns
        rss_bytes, cpu_ns = tree.read()
        now_ns = self._now_ns()
        if now_ns - before_ns > _TORN_NS * tree.process_count:
            rss_bytes, cpu_ns = tree.read()
            now_ns = self._now_ns()
        self.at_ns.append(now_ns)
        self.rss_bytes.append(rss_bytes)
        self.cpu_ns.append(cpu_ns)
        self.rss_bytes_max = max(self.rss_bytes_max, rss_bytes)
        self._block_left -= 1
        if not self._block_left:
            self._learn_cost()
        step_ns = self._step_ns
        self.due_ns += step_ns * max(1, -((self.due_ns - now_ns) // step_ns))

    def run(self, loop: SampleLoop, until_ns: int) -> None:
        """Have `loop` take the samples up to the next one at which something has to be decided, which `sample` takes.

        Returns too at `until_ns`, and when a descriptor of the loop is readable.
        """
        tree = self._tree
        if self._block_left <= 1 or self._candidates or not isinstance(tree, ProcTree):
            return
        taken = loop.run(
            tree,
            due_ns=self.due_ns,
            step_ns=self._step_ns,
            until_ns=until_ns,
            find_due_ns=self._find_due_ns,
            find_anyway_ns=self._find_anyway_ns,
            samples_max=self._block_left - 1,
        )
        self.at_ns += taken.at_ns
        self.rss_bytes += taken.rss_bytes
        self.cpu_ns += taken.cpu_ns
        self.rss_bytes_max = max(self.rss_bytes_max, *taken.rss_bytes, 0)
        self.due_ns = taken.due_ns
        self._quiet_ns = max(self._quiet_ns, taken.quiet_ns)
        self._block_left -= len(taken.at_ns)

    def cpu_used_ns(self) -> int:
        """CPU time that sampling has taken since the start."""
        return self._used_ns() - self._cpu_start_ns

    def _affordable_step_ns(self) -> int:
        affordable_ns = round(self.cost_ns / (CPU_SHARE_MAX * _BUDGET_SHARE))
        most_ns = max(self._interval_ns * _STRETCH_MAX, _STRETCHED_NS)
        return min(max(self._interval_ns, affordable_ns), most_ns)

    def _learn_cost(self) -> None:
        now_ns = self._used_ns()
        seen_ns = (now_ns - self._block_cpu_ns) // _COST_SAMPLES
        self.cost_ns = (self.cost_ns + seen_ns) // 2 if self.cost_ns else seen_ns
        self._block_cpu_ns, self._block_left = now_ns, _COST_SAMPLES
        if len(self.at_ns) >= SAMPLES_MAX:
            self._thin_out()
        self._step_ns = self._affordable_step_ns()

    def _thin_out(self) -> None:
        """Make one of every two samples: the later one, with the larger memory of both."""
        taken = len(self.at_ns)
        self.at_ns, self.cpu_ns = self.at_ns[1::2], self.cpu_ns[1::2]
        self.rss_bytes = array("q", map(max, self.rss_bytes[::2], self.rss_bytes[1::2]))
        self.left_out += taken - len(self.at_ns)
        self._interval_ns = 2 * self._step_ns
        self.due_interval_ns *= 2

    def _find(self) -> None:
        before_ns = self._now_ns()
        unknown = frozenset(self._tree.unknown())
        lump_ns = sum(map(self._tree.adopt, unknown & self._candidates))
        self._candidates = unknown - self._candidates
        now_ns = self._now_ns()
        if lump_ns:
            self._spread(lump_ns, self._born_after_ns, now_ns)
        self._born_after_ns, self._quiet_ns = self._quiet_ns, before_ns
        self._find_due_ns = now_ns + max(_FIND_PAUSE_NS, (now_ns - before_ns) * _FIND_SHARE)
        self._find_anyway_ns = now_ns + _FIND_ANYWAY_NS

    def _spread(self, lump_ns: int, since_ns: int, now_ns: int) -> None:
        for index in range(len(self.at_ns) - 1, -1, -1):
            if self.at_ns[index] <= since_ns:
                break
            self.cpu_ns[index] += lump_ns * (self.at_ns[index] - since_ns) // (now_ns - since_ns)
