"""Shows a load run in s4's lines: a line per second and the totals on stdout, everything else on stderr.

Operations that are not reads count as writes, since s4 has no others.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from s3bench.cli.load.view import LoadView
from s3bench.load.aggregation.live_status import LiveStatus
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Job
from s3bench.report.load.stress import StressProgress, second_line, total_lines
from s3bench.results.load import Load

_READS = frozenset({OperationKind.GET, OperationKind.RANGE})


def reads(job: Job) -> bool:
    """Whether a job only reads."""
    return set(job.kinds) <= _READS


class StressView(LoadView):
    """Writes lines with `write`, at the times of `now`; phases and messages go to `inner`, seconds do not.

    `reads_planned` and `writes_planned` are the operations of all jobs together.
    """

    def __init__(
        self,
        inner: LoadView,
        *,
        reads_planned: int,
        writes_planned: int,
        now: Callable[[], datetime],
        write: Callable[[str], None],
    ) -> None:
        self._inner = inner
        self._now = now
        self._write = write
        self._progress = StressProgress(reads_planned=reads_planned, writes_planned=writes_planned)

    def phase(self, name: str, *, number: int, count: int) -> None:
        """Begin to show a phase."""
        self._inner.phase(name, number=number, count=count)

    def show(self, status: LiveStatus) -> None:
        """Write the line of the last second: operations since the line before, split into reads and writes as in it."""
        of_reads = sum(each.operations for each in status.kinds if each.kind in _READS)
        of_all = sum(each.operations for each in status.kinds)
        done = max(0, status.operations - self._progress.reads - self._progress.writes)
        reads = round(done * of_reads / of_all) if of_all else 0
        bytes_rate = sum(each.bytes_rate for each in status.kinds)
        before, writes = self._progress, done - reads
        self._write(second_line(self._now(), before, reads=reads, writes=writes, bytes_rate=bytes_rate))
        self._progress = replace(before, reads=before.reads + reads, writes=before.writes + writes)

    def say(self, line: str) -> None:
        """Print a message that stays on the screen."""
        self._inner.say(line)

    def total(self, load: Load, *, window_s: float) -> None:
        """Write the totals of all operations, which took `window_s`."""
        size_bytes = load.bytes_up + load.bytes_down
        lines = total_lines(self._now(), operations=load.operations, size_bytes=size_bytes, elapsed_s=window_s)
        for line in lines:
            self._write(line)
