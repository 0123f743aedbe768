"""Plans `s3bench load --replay`: reads the log, and puts what it says in place of a profile's phase."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

from s3bench.cli.load.plan import LoadPlan
from s3bench.cli.load.view import LoadView
from s3bench.cli.stop import StopSignal
from s3bench.errors import BadInput
from s3bench.load.access_log.nginx import COMBINED
from s3bench.load.access_log.reading import read_log
from s3bench.load.session.replay_plan import ReplayPlan, ReplayRules, plan_replay
from s3bench.s3.emulator.settings import MEMORY_LIMIT_BYTES
from s3bench.units import render_bytes
from s3bench.visible import visible

_LINES_PER_REPORT = 1_000_000


def plan_replayed(plan: LoadPlan, root: Path, view: LoadView, stop: StopSignal, *, shares: int) -> ReplayPlan:
    """Read the log, plan its replay in a new directory below `root`, and say what is replayed and what is not."""
    options = plan.options
    assert options.replay is not None, "there is a log"
    directory = root / "replay"
    directory.mkdir(mode=0o700)
    (job,) = plan.profile.phases[0].jobs
    made = plan_replay(
        read_log(options.replay, options.log_format, nginx_format=options.nginx_format or COMBINED),
        ReplayRules(
            speed=options.speed or 1.0,
            from_s=options.from_s,
            to_s=options.to_s,
            span_s=options.span_s,
            usual_sizes=job.sizes,
        ),
        directory=directory,
        shares=shares,
        threads=job.threads,
        check=_checker(view, stop),
    )
    for line in made.summary.words:
        view.say(visible(line))
    if not plan.placement.endpoint_urls and made.summary.bytes_before > MEMORY_LIMIT_BYTES:
        raise BadInput(
            f"the objects that the log reads have {render_bytes(made.summary.bytes_before)}, "
            "which do not fit into the S3 in memory",
            f"it holds {render_bytes(MEMORY_LIMIT_BYTES)}",
            "replay a part of the log (--from, --for), or name an endpoint",
        )
    return made


def replayed(plan: LoadPlan, replay: ReplayPlan) -> LoadPlan:
    """The plan of the run with the operations of the log."""
    (phase,) = plan.profile.phases
    phase = msgspec.structs.replace(phase, jobs=replay.phase.jobs)
    return replace(plan, profile=msgspec.structs.replace(plan.profile, phases=(phase,)))


def _checker(view: LoadView, stop: StopSignal) -> Callable[[int], None]:
    """What is called with the number of lines that are read: shows progress, and ends the command on Ctrl-C."""
    reported = 0

    def check(lines: int) -> None:
        nonlocal reported
        if stop.wait(0):
            raise KeyboardInterrupt
        if lines - reported >= _LINES_PER_REPORT:
            reported = lines
            view.say(f"{lines:,} lines read")

    return check
