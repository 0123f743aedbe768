"""Planted faults of known size, the verdicts of gates on them, and whether gates on this machine are reliable.

Defines the record of a self-test, too.

History of the format (`self_test_version`):
1: the first.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from statistics import median
from typing import Any

import msgspec

from s3bench.gate.conclusion import Conclusion
from s3bench.gate.evidence import CellEvidence, Role
from s3bench.gate.policy import Policy
from s3bench.gate.record import ProgramIdentity
from s3bench.gate.row import GateRow, Verdict
from s3bench.results.encoding import pretty_json
from s3bench.results.metrics import METRICS_BY_NAME, Unit
from s3bench.stats.proportion import wilson

SELF_TEST_VERSION = 1

WORK_SHARES = (0.0, 0.03, 0.06, 0.10, 0.20)
MEMORY_SHARES = (0.01, 0.03, 0.05, 0.10)


class FaultKind(StrEnum):
    """What the client is made to do more of."""

    WORK = "work"
    MEMORY = "memory"
    REQUEST = "request"
    IMPORT = "import"


_UNITS = {FaultKind.WORK: Unit.SECONDS, FaultKind.MEMORY: Unit.BYTES}
_EXACT = {FaultKind.REQUEST: "requests", FaultKind.IMPORT: "modules"}


class PlantedFault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fault to plant: `amount` is in seconds, in bytes of memory, or a number of requests or imports.

    Work is a fixed number of turns, and `amount` its time while it was calibrated; it takes longer where the machine is
    slower, as the client does.

    `share` is `amount` relative to what the client usually takes (0.03: 3 % more), 0 for requests and imports.
    `is_required`: a reliable gate catches it every time.
    """

    kind: FaultKind
    amount: float
    share: float = 0.0
    is_required: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is planted, so that a FAIL is a false alarm."""
        return not self.amount

    @property
    def title(self) -> str:
        """The fault by name: `3 % more work`, `1 more request`."""
        return f"{self.amount:.0f} more {self.kind}" if self.kind in _EXACT else f"{self.share:.0%} more {self.kind}"

    def watchers(self, policy: Policy) -> tuple[str, ...]:
        """The metrics that measure this fault and that decide under `policy`."""
        if self.kind in _EXACT:
            return tuple(name for name in policy.exact if name == _EXACT[self.kind])
        return tuple(name for name in policy.metrics if METRICS_BY_NAME[name].unit is _UNITS[self.kind])


class FaultVerdict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The verdict of one gate on a fault.

    `round` counts from 1. `found_in` names the metrics that FAILed because of the planted fault; if nothing was
    planted, all that FAILed. `pairs` is the number of pairs of the benchmark with the fault, `sigma` the standard
    deviation of their log-ratios in the metric that measures the fault (`None` for exact counts).
    """

    round: int
    seed: int
    verdict: Verdict
    reasons: tuple[str, ...]
    found_in: tuple[str, ...]
    pairs: int
    sigma: float | None
    elapsed_s: float

    @property
    def is_caught(self) -> bool:
        """Whether the gate FAILed, and for the right reason."""
        return self.verdict is Verdict.FAIL and bool(self.found_in)


class FaultCounts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The verdicts on one fault, counted.

    `low` and `high` are the 95 % Wilson interval of the share of gates that catch it. `passed` counts the verdicts
    PASS, `others` those of the rest by verdict. `pairs` and `sigma` are medians.
    """

    fault: PlantedFault
    gates: int
    caught: int
    low: float
    high: float
    passed: int
    others: dict[str, int]
    found_in: tuple[str, ...]
    pairs: float | None
    sigma: float | None
    answers: tuple[FaultVerdict, ...]

    @property
    def is_always_caught(self) -> bool:
        """Whether there were gates with this fault and every one caught it."""
        return 0 < self.gates == self.caught


class SelfTest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A self-test: gates on one client, with faults planted into the first of `benchmarks`.

    `usual_s` and `usual_bytes` are the medians of total time and peak memory of `calibrating_runs` runs; the planted
    shares are relative to them. `left_out` lists the faults that no metric of the policy could show, `stopped` is the
    reason of an early end. `is_believed` and `reasons` are null and empty until `concluded`.
    """

    self_test_version: int = SELF_TEST_VERSION
    s3bench: str
    started_at: str
    ended_at: str | None = None
    command_line: tuple[str, ...] = ()
    machine: dict[str, Any] = {}
    options: dict[str, Any] = {}
    policy: Policy
    client: ProgramIdentity
    benchmarks: tuple[str, ...]
    calibrating_runs: int
    usual_s: float
    usual_bytes: float | None
    rounds: int
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    stopped: str = ""
    tallies: tuple[FaultCounts, ...] = ()
    is_believed: bool | None = None
    reasons: tuple[str, ...] = ()

    def stopped_by(self, why: str) -> "SelfTest":
        """The same with the reason of an early end, unless all gates have run."""
        done, planned = sum(each.gates for each in self.tallies), self.rounds * len(self.tallies)
        return (
            self if done == planned else msgspec.structs.replace(self, stopped=f"{why} after {done} of {planned} gates")
        )

    def concluded(self) -> "SelfTest":
        """The same with its conclusion."""
        reasons = failed_requirements(self.tallies)
        return msgspec.structs.replace(self, is_believed=not reasons, reasons=reasons)


def encode_self_test(test: SelfTest) -> bytes:
    """Encode as indented JSON."""
    return pretty_json(test, indent=1)


def faults_for(
    policy: Policy, *, usual_s: float, usual_bytes: float | None
) -> tuple[tuple[PlantedFault, ...], tuple[str, ...]]:
    """The faults that `policy` can show in a client of that usual time and memory, and why others are left out."""
    work = [_sized(FaultKind.WORK, share, usual_s, WORK_SHARES) for share in WORK_SHARES]
    memory = [_sized(FaultKind.MEMORY, share, usual_bytes or 0.0, MEMORY_SHARES) for share in MEMORY_SHARES]
    counted = [PlantedFault(kind=kind, amount=1, is_required=True) for kind in (FaultKind.REQUEST, FaultKind.IMPORT)]
    left_out = {
        fault.kind: f"{fault.kind}: none of the gating metrics would show it"
        for fault in (*work, *memory, *counted)
        if not fault.watchers(policy)
    }
    if usual_bytes is None:
        left_out[FaultKind.MEMORY] = f"{FaultKind.MEMORY}: the client's peak memory is unknown here"
    clean, *work = work  # planting nothing needs no metric that would show it
    kept = (clean, *(fault for fault in (*work, *memory, *counted) if fault.kind not in left_out))
    return kept, tuple(left_out.values())


def _sized(kind: FaultKind, share: float, usual: float, shares: Sequence[float]) -> PlantedFault:
    return PlantedFault(kind=kind, share=share, amount=share * usual, is_required=share == max(shares))


def fault_verdict(
    fault: PlantedFault, cell: CellEvidence, conclusion: Conclusion, policy: Policy, **run: Any
) -> FaultVerdict:
    """The verdict of a gate on `fault`, planted into the benchmark of `cell`; `run` has round, seed and duration."""
    deciding = [row for row in conclusion.rows if row.decides and row.verdict is Verdict.FAIL]
    watchers = fault.watchers(policy)
    found = [row for row in deciding if fault.is_nothing or (row.metric in watchers and row.benchmark == cell.title)]
    return FaultVerdict(
        verdict=conclusion.verdict,
        reasons=conclusion.reasons,
        found_in=tuple(dict.fromkeys(row.metric for row in found)),
        pairs=len(cell.pairs),
        sigma=_sigma(conclusion.rows, cell.title, watchers),
        **run,
    )


def _sigma(rows: Iterable[GateRow], benchmark: str, metrics: Sequence[str]) -> float | None:
    of_metric = {
        row.metric: row.sigma for row in rows if row.role is Role.BENCHMARK and row.benchmark == benchmark and row.sigma
    }
    return next((of_metric[name] for name in metrics if name in of_metric), None)


def count_verdicts(fault: PlantedFault, answers: Sequence[FaultVerdict]) -> FaultCounts:
    """Count the verdicts on `fault`."""
    caught = sum(each.is_caught for each in answers)
    low, high = wilson(caught, len(answers))
    others = Counter(_verdict_label(each) for each in answers if not each.is_caught and each.verdict != Verdict.PASS)
    found_in = Counter(name for each in answers if each.is_caught for name in each.found_in)
    sigmas = [each.sigma for each in answers if each.sigma is not None]
    return FaultCounts(
        fault=fault,
        gates=len(answers),
        caught=caught,
        low=low,
        high=high,
        passed=sum(each.verdict is Verdict.PASS for each in answers),
        others=dict(sorted(others.items())),
        found_in=tuple(name for name, _ in found_in.most_common()),
        pairs=median(each.pairs for each in answers) if answers else None,
        sigma=median(sigmas) if sigmas else None,
        answers=tuple(answers),
    )


def _verdict_label(each: FaultVerdict) -> str:
    return "FAIL elsewhere" if each.verdict is Verdict.FAIL else str(each.verdict)


def failed_requirements(tallies: Sequence[FaultCounts]) -> tuple[str, ...]:
    """The reasons why gates are not reliable here; empty if they are."""
    reasons = []
    for each in tallies:
        if each.fault.is_nothing and each.caught:
            reasons.append(f"{each.caught} of {each.gates} gates FAILed with nothing planted")
        elif (each.fault.is_required or each.fault.is_nothing) and not each.gates:
            reasons.append(f"{each.fault.title} was not tried: the self-test ended early")
        elif each.fault.is_required and not each.is_always_caught:
            reasons.append(f"{each.fault.title} was caught in only {each.caught} of {each.gates} gates")
    return tuple(reasons)


def smallest_caught(tallies: Sequence[FaultCounts], kind: FaultKind) -> FaultCounts | None:
    """The smallest fault of `kind` that, like all larger ones, was caught in every gate; `None` if there is none."""
    smallest = None
    sized = [each for each in tallies if each.fault.kind is kind and not each.fault.is_nothing]
    for each in sorted(sized, key=lambda each: -each.fault.amount):
        if each.gates and not each.is_always_caught:
            break
        smallest = each if each.gates else smallest
    return smallest
