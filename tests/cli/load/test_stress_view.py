"""s4's lines while a run goes on: they add up, and what is no line of s4 stays on stderr."""

from datetime import datetime

import pytest

from s3bench.cli.load.stress_view import StressView
from s3bench.cli.load.view import LoadView, load_view
from s3bench.load.aggregation.live_status import KindStatus, LiveStatus
from tests.report.loads import load


def status(operations: int, **ended: int) -> LiveStatus:
    """A second in which so many of each kind ended, 1 MiB each; with all seconds before it there are `operations`."""
    return LiveStatus(
        phase="mixed",
        second=1,
        duration_s=None,
        operations=operations,
        operations_total=None,
        kinds=tuple(
            KindStatus(
                kind=kind,
                operations=count,
                size_bytes=count << 20,
                rate=float(count),
                bytes_rate=count * 2.0**20,
                p50_s=None,
                p99_s=None,
                failures=0,
            )
            for kind, count in ended.items()
        ),
        failures=(),
        in_flight=1.0,
        waiting=0,
        client_cpu_share=0.1,
        history=(),
    )


def test_seconds_add_up_and_what_is_no_line_of_s4_stays_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    stress = StressView(
        load_view(quiet=False),
        reads_planned=2000,
        writes_planned=15_000,
        now=lambda: datetime.fromisoformat("2018-05-21T13:04:15"),
        write=lines.append,
    )
    view: LoadView = stress
    with view:
        view.phase("mixed", number=1, count=1)
        view.show(status(334, put=234, get=100))
        view.show(status(670, put=335))
        view.show(status(670))
        view.say("more")
        view.conclude("most")
    stress.total(load("all", operations=700, window_s=2.0, bytes_up=600 << 20, bytes_down=100 << 20), window_s=2.0)
    assert lines == [
        "2018/05/21 13:04:15 queued/read: 2000/ 100, queued/write:  15000/ 234, byte/s: 334 MiB",
        "2018/05/21 13:04:15 queued/read: 1900/   0, queued/write:  14766/ 336, byte/s: 335 MiB",
        "2018/05/21 13:04:15 queued/read: 1900/   0, queued/write:  14430/   0, byte/s:  0 B",
        "2018/05/21 13:04:15 Elapsed time in seconds: 2.000000",
        "2018/05/21 13:04:15 Total OPS: 700, operations per second: 350, bytes per second: 350 MiB",
    ]
    assert capfd.readouterr() == ("", "s3bench: mixed\ns3bench: more\ns3bench: most\n")
