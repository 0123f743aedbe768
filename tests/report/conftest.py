"""Gates of every kind, concluded from made-up evidence, and golden files to hold their reports against."""

import datetime as dt
import math
import os
import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import cycle
from pathlib import Path
from types import MappingProxyType

import pytest
from msgspec.structs import replace

from s3bench.gate.evidence import ClientCellEvidence, Inspection, Role, RunPair, Side, SideFailure
from s3bench.gate.exact_metric import DEFAULT_EXACT
from s3bench.gate.looks import Looks
from s3bench.gate.policy import Policy
from s3bench.gate.record import GateRecord, ProgramIdentity
from s3bench.gate.waiver import Waiver
from s3bench.results.machine_speed import MachineSpeed
from s3bench.results.measurement import Failure, Measurement, UsageFacts, measure
from tests.report.machine_samples import upload_facts

TODAY = dt.date(2026, 11, 21)
HOSTILE = "a|b `c` **d** <b>e</b>\n# f\x1b[31m @someone #12 😀 ::error::g \u202e\x00]]> &amp; _h_ \\| :tada: 5 % x,y"

UPLOAD = "s3.cp.upload"


def measurement(
    total_s: float, *, memory_bytes: float = 1e8, puts: int = 4, warnings: Sequence[str] = ()
) -> Measurement:
    usage = UsageFacts(peak_memory_bytes=int(memory_bytes), minor_faults=20_000)
    return measure(
        iteration=0, total_s=total_s, usage=usage, wire=upload_facts(requests=puts), warnings=tuple(warnings)
    )


def cell(
    name: str = UPLOAD,
    *,
    pairs: int = 10,
    slower: float = 0.0,
    more_memory: float = 0.0,
    noise: float = 0.01,
    puts: int = 4,
    role: Role = Role.BENCHMARK,
    warnings: Sequence[str] = (),
) -> ClientCellEvidence:
    """A benchmark whose candidate is `slower` and takes `more_memory` by these shares, with `puts` requests."""
    source = random.Random(f"{name} {role} {slower}")

    def one(share: float, memory_share: float, requests: int) -> Measurement:
        total_s = 0.3 * (1 + share) * math.exp(source.gauss(0, noise))
        memory_bytes = 1e8 * (1 + memory_share) * math.exp(source.gauss(0, 0.001))
        return measurement(total_s, memory_bytes=memory_bytes, puts=requests, warnings=warnings)

    return ClientCellEvidence(
        name=name,
        dimensions=({"FileSize": "32MB"},) if name == UPLOAD else (),
        role=role,
        planted_s=0.036 if role is Role.POSITIVE_CONTROL else 0.0,
        pairs=tuple(
            RunPair(
                order="AB" if number % 4 in {0, 3} else "BA",
                hash_seed=number,
                started_s=float(number),
                baseline=one(0.0, 0.0, 4),
                candidate=one(slower, more_memory, puts),
            )
            for number in range(pairs)
        ),
    )


def controls(*, itself: float = 0.0, delay: float = 0.12) -> list[ClientCellEvidence]:
    return [
        cell("startup", slower=itself, pairs=20 if itself else 10, role=Role.NEGATIVE_CONTROL),
        cell("startup", slower=delay, role=Role.POSITIVE_CONTROL),
    ]


def program(version: str) -> ProgramIdentity:
    return ProgramIdentity(label=f"cli-crt@{version}", name="cli-crt", version=version)


def record(cells: Sequence[ClientCellEvidence], **changes: object) -> GateRecord:
    """A concluded record of these cells."""
    bare = GateRecord(
        s3bench="0.1.0",
        started_at="2026-11-21T00:00:00.000Z",
        policy=Policy(exact=DEFAULT_EXACT, looks=Looks(), alarm_weights={}),
        baseline=program("2.36.0"),
        candidate=program("2.38.5"),
        today=TODAY,
        cells=tuple(cells),
    )
    return replace(bare, **changes).concluded()


def waiver(
    metric: str, *, expires: dt.date = TODAY, ceiling: str = "20%", benchmark: str = f"{UPLOAD} FileSize=32MB"
) -> Waiver:
    link = "https://example.com/issues/7"
    return Waiver(benchmark=benchmark, metric=metric, ceiling=ceiling, reason="new hash", link=link, expires=expires)


def with_imports(each: ClientCellEvidence, more: Sequence[str]) -> ClientCellEvidence:
    seen = Inspection(modules=("json", "os"))
    added = Inspection(modules=tuple(sorted((*("json", "os"), *more))))
    return replace(each, baseline_inspections=(seen,) * 10, candidate_inspections=(added,) * 10)


def unpaired(each: ClientCellEvidence) -> ClientCellEvidence:
    return replace(each, pairs=(), baseline=each.runs(Side.BASELINE), candidate=each.runs(Side.CANDIDATE))


def on_a_shared_machine(each: ClientCellEvidence, *, candidate_share: float = 0.0) -> ClientCellEvidence:
    """The same on a machine whose speed changes from run to run, and that the candidate slows down by a share."""
    source = random.Random(each.name)

    def slowed(run: Measurement, share: float) -> Measurement:
        slowness = source.gauss(0.0, 0.15) + share
        speed = MachineSpeed(rate=2e5 * math.exp(-slowness), error=0.004, probes=60)
        return replace(run, total_time=run.total_time * math.exp(slowness), machine_speed=speed, runqueue_wait_time=0.0)

    pairs = (
        replace(pair, baseline=slowed(pair.baseline, 0.0), candidate=slowed(pair.candidate, candidate_share))
        for pair in each.pairs
    )
    return replace(each, pairs=tuple(pairs))


def failed(each: ClientCellEvidence, why: str) -> ClientCellEvidence:
    failure = Failure(iteration=3, what="the client failed", exit_code=1, why=why)
    return replace(each, failures=(SideFailure(side=Side.CANDIDATE, failure=failure),))


@cache
def made_up_gates() -> Mapping[str, GateRecord]:
    """Gates of every kind, by name."""
    copy = cell("s3.cp.copy", warnings=("stub-bound: the server was busy",))
    slow = cell(slower=0.1, pairs=20)
    crept = [cell(f"creeping.{number}", slower=0.028, pairs=40, noise=0.02) for number in range(4)]
    others = [cell(f"other.{number}", pairs=20) for number in range(3)]
    known, over = waiver("total_time"), waiver("peak_memory", expires=dt.date(2026, 1, 1))
    made = {
        "pass": record([cell(), copy, *controls()]),
        "small": record([cell(slower=0.04, pairs=40, noise=0.012), copy, *others, *controls()]),
        "fail by size": record([slow, copy, *controls()], warnings=("the machine was busy",)),
        "fail by memory": record([cell(more_memory=0.05, pairs=20), copy, *controls()]),
        "fail by creep": record([*crept, *controls()]),
        "fail by requests": record([cell(puts=5), copy, *controls()]),
        "fail by imports": record([with_imports(cell(), [f"module_{n}" for n in range(7)]), copy, *controls()]),
        "waived": record([slow, copy, *controls()], waivers=(known, over)),
        "inconclusive": record([cell(noise=0.2, pairs=40), copy, *controls()]),
        "invalid by the negative control": record([slow, copy, *controls(itself=0.1)]),
        "invalid by the positive control": record([cell(), copy, *controls(delay=0.0)]),
        "invalid by a failure": record([failed(cell(), "ERROR\n\x1b[31mno such\tbucket"), copy, *controls()]),
        "same program": record([cell(), copy, *controls()], same_program=True, candidate=program("2.36.0")),
        "missing side": record(
            [replace(unpaired(cell()), candidate=()), unpaired(copy)],
            is_paired=False,
        ),
        "time limit": record([cell(noise=0.2, pairs=4), copy, *controls()], stopped="stopped after 30 minutes"),
        "two documents": record([unpaired(cell(slower=0.1, pairs=20)), unpaired(copy)], is_paired=False),
        "nothing": record([]),
        "adjusted": record([on_a_shared_machine(cell(slower=0.1, pairs=20)), on_a_shared_machine(copy), *controls()]),
        "not adjusted": record([on_a_shared_machine(cell(pairs=40), candidate_share=0.3), copy, *controls()]),
        "faster": record([cell(slower=-0.1, puts=3), copy, *controls()]),
    }
    return MappingProxyType(made)


def many_gate(count: int = 200) -> GateRecord:
    """Many benchmarks, each slower and with a long name of characters that need escapes and several bytes."""
    kinds = [cell(f"kind {number}", slower=0.5, pairs=20, noise=0.01) for number in range(min(count, 10))]
    names = [f"benchmark {number} " + "|😀`é" * 40 for number in range(count)]
    return record([*(replace(each, name=name) for each, name in zip(cycle(kinds), names, strict=False)), *controls()])


def hostile_gate() -> GateRecord:
    """Names and texts that would break out of any format, in every place that comes from outside."""
    each = failed(with_imports(cell(HOSTILE, slower=0.3, pairs=20, warnings=(HOSTILE,)), [HOSTILE]), HOSTILE)
    known = replace(waiver("modules", ceiling="2", benchmark=HOSTILE), reason=HOSTILE, link=HOSTILE)
    sides = {"baseline": replace(program("1"), label=HOSTILE), "candidate": replace(program("2"), label=HOSTILE)}
    return record([each, *controls()], waivers=(known,), warnings=(HOSTILE,), stopped=HOSTILE, **sides)


@pytest.fixture(scope="session")
def gates() -> Mapping[str, GateRecord]:
    """Gates of every kind, by name."""
    return made_up_gates()


@pytest.fixture(scope="session")
def many() -> GateRecord:
    """A gate over 200 benchmarks, all of which FAIL."""
    return many_gate()


@pytest.fixture(scope="session")
def hostile() -> GateRecord:
    """A gate in which all that comes from outside is hostile."""
    return hostile_gate()


@pytest.fixture
def assert_golden() -> Callable[[str, str], None]:
    """Hold a text against the file of that name; with S3BENCH_WRITE_GOLDEN=1 it is written instead."""

    def check(name: str, text: str) -> None:
        path = Path(__file__).parent / name
        if os.environ.get("S3BENCH_WRITE_GOLDEN"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return check
