"""The options of `s3bench gate`: their meaning, what the record keeps of them, and the checks of combinations."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from s3bench.bench.runner import Settings
from s3bench.cli.quantity import Duration
from s3bench.clients.descriptor import ClientDescriptor
from s3bench.errors import BadInput
from s3bench.gate.exact_metric import DEFAULT_EXACT, EXACT_BY_NAME, INSTRUCTIONS
from s3bench.gate.indifference_zone import parse_indifference_zone
from s3bench.gate.looks import Spending, parse_looks
from s3bench.gate.policy import GATING_METRICS, Policy, check_gating
from s3bench.run.process import check_interval
from s3bench.spec.reader import nearest, one_of

_SELF_TEST_ROUNDS = 5
NO_METRIC = "none"
"""Given as the only metric: counts alone decide."""

_SAMPLED, _OF_LOAD = ("p50_", "p95_"), "load."
"""How the names of metrics begin that only samples show, or only a load run."""

_OF_RUNS = frozenset({
    "data_interval", "explains", "max_time", "no_adjust", "no_instructions", "pairs", "seed", "select", "suite",
    "timeout", "tls",
})  # fmt: skip
"""What only matters where clients are run, by the names of the parameters."""

_OF_RULES = frozenset({"metrics", "exact", "no_exact", "zones", "false_alarm", "miss", "waivers"})
"""What a record holds already."""

_NOT_OF_SELF_TEST = frozenset({
    "annotations", "candidate", "comment", "explains", "junit", "markdown", "no_instructions", "replay", "strict",
    "verbose", "waivers",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """The options of `s3bench gate`, by the names of its parameters."""

    files: tuple[Path, ...]
    baseline: str | None
    candidate: str | None
    select: str | None
    suite: str | None
    pairs: str
    metrics: tuple[str, ...]
    exact: tuple[str, ...]
    no_exact: bool
    no_adjust: bool
    no_instructions: bool
    explains: bool
    zones: tuple[str, ...]
    false_alarm: float
    miss: float
    max_time: Duration | None
    seed: int | None
    timeout: float
    data_interval: float | None
    tls: bool
    waivers: Path | None
    strict: bool
    output: Path | None
    force: bool
    as_json: bool
    junit: Path | None
    markdown: Path | None
    comment: Path | None
    annotations: bool
    replay: Path | None
    self_test: bool
    rounds: int | None
    verbose: bool
    quiet: bool

    @classmethod
    def of(cls, typed: Mapping[str, Any], given: Mapping[str, str]) -> Self:
        """Take the options as typed, those `given` with their flags; refuse what contradicts. Raises `BadInput`."""
        options = cls(**typed)
        options._check(given)
        return options

    @property
    def is_live(self) -> bool:
        """Whether clients are run, rather than documents or a record read."""
        return self.baseline is not None

    @property
    def self_test_rounds(self) -> int:
        """The number of gates for each planted fault."""
        return _SELF_TEST_ROUNDS if self.rounds is None else self.rounds

    @property
    def counts_instructions(self) -> bool:
        """Whether instructions are counted."""
        return INSTRUCTIONS in (*self.metrics, *self.exact)

    @property
    def policy(self) -> Policy:
        """The rules as declared. Raises `BadInput`."""
        sized = tuple(name for name in self.metrics if name not in {INSTRUCTIONS, NO_METRIC})
        exact = () if self.no_exact else self.exact or DEFAULT_EXACT
        if self.counts_instructions and INSTRUCTIONS not in exact:
            exact = (*exact, INSTRUCTIONS)
        return Policy(
            metrics=check_gating(sized) if self.metrics else GATING_METRICS,
            exact=tuple(dict.fromkeys(exact)),
            zones=dict(parse_indifference_zone(text) for text in self.zones),
            looks=parse_looks(self.pairs, spending=Spending.BY_USE),
            false_alarm=self.false_alarm,
            miss=self.miss,
            adjusts=not self.no_adjust,
        )

    def check_pairs(self, benchmarks: int) -> None:
        """Refuse looks with too few pairs to FAIL anything among so many benchmarks. Raises `BadInput`."""
        policy = self.policy
        if not policy.can_fail_by_size(benchmarks):
            of_benchmarks = f"{benchmarks} benchmark{'s' * (benchmarks != 1)}"
            tests = policy.tests_by_size(benchmarks)
            raise BadInput(
                f"--pairs {self.pairs}: with {policy.looks.cap} pairs nothing could ever FAIL by size",
                f"{tests} test{'s' * (tests != 1)} of {of_benchmarks} share a chance of a false alarm of "
                f"{self.false_alarm:g}",
                f"ask for at least {policy.pairs_to_fail(benchmarks)} pairs at the last look, or select fewer "
                "benchmarks with -k",
            )

    def check_instructions(self, clients: Iterable[ClientDescriptor]) -> None:
        """Refuse to compare counts of instructions that differ between equal runs. Raises `BadInput`."""
        varying = next((client.name for client in clients if not client.instructions_repeat), None)
        if self.counts_instructions and varying is not None:
            option = "--metric" if INSTRUCTIONS in self.metrics else "--exact"
            raise BadInput(
                f"{option} {INSTRUCTIONS}: equal runs of {varying} are not known to execute equally many",
                "a difference between its counts may be chance, and would FAIL",
                f"leave {option} {INSTRUCTIONS} out; --metric cpu_time measures the work of any client",
            )

    @property
    def written(self) -> tuple[tuple[str, Path], ...]:
        """The files that are written, each with its option."""
        named = (
            ("-o", self.output),
            ("--junit", self.junit),
            ("--markdown", self.markdown),
            ("--comment", self.comment),
        )
        return tuple((option, path) for option, path in named if path is not None)

    @property
    def read(self) -> tuple[tuple[str, Path], ...]:
        """The files that are read, each with its option; that of an argument is empty."""
        named = (("--replay", self.replay), ("--waivers", self.waivers), *(("", path) for path in self.files))
        return tuple((option, path) for option, path in named if path is not None)

    @property
    def settings(self) -> Settings:
        """How to measure: nothing is sampled unless asked for, totals and peaks come from the kernel.

        A run under observation may be slow, but not take more time than the whole gate has.
        """
        limit_s = math.inf if self.max_time is None else max(float(self.max_time), self.timeout)
        return Settings(interval_s=self.data_interval, timeout_s=self.timeout, limit_s=limit_s)

    @property
    def recorded(self) -> dict[str, object]:
        """What the record keeps beside the policy: all that can change a figure."""
        return {
            "data_interval": self.data_interval,
            "timeout": self.timeout,
            "max_time": None if self.max_time is None else float(self.max_time),
            "tls": self.tls,
            "strict": self.strict,
            "select": self.select,
        }

    def _check(self, given: Mapping[str, str]) -> None:
        for name in self.exact:
            if name not in EXACT_BY_NAME:
                near = nearest(name, list(EXACT_BY_NAME))
                raise BadInput(
                    f"--exact {name}: there is no such exact metric",
                    fix=f"did you mean {near}?" if near else f"use one of {one_of(EXACT_BY_NAME)}",
                )
        if NO_METRIC in self.metrics and (len(self.metrics) > 1 or self.no_exact):
            other = "--no-exact" if self.no_exact else "another --metric"
            raise BadInput(
                f"--metric {NO_METRIC} and {other} contradict each other",
                "with it counts alone decide",
                "leave one of them out",
            )
        if self.exact and self.no_exact:
            raise BadInput("--exact and --no-exact contradict each other", fix="leave one of them out")
        check_interval(self.data_interval, option="--data-interval")
        if self.is_live or self.self_test:
            self._check_measured()
        if self.self_test:
            self._check_self_test(given)
            return
        if (self.baseline is None) is not (self.candidate is None):
            raise BadInput(
                "--baseline and --candidate need each other", fix="name the client on both sides, as cli-crt@2.38.5"
            )
        ways = [bool(self.replay), self.is_live, not self.replay and not self.is_live and bool(self.files)]
        if sum(ways) != 1 or (self.replay and self.files):
            raise BadInput(
                "a gate takes one of three things",
                "two clients (--baseline and --candidate), two results documents, or a record (--replay)",
                "see `s3bench gate --help`",
            )
        if not self.is_live and not self.replay and len(self.files) != 2:  # noqa: PLR2004 (a pair of documents)
            raise BadInput(
                f"a gate on documents takes two, not {len(self.files)}", fix="s3bench gate BASE.json CANDIDATE.json"
            )
        self._check_use(given)

    def _check_measured(self) -> None:
        """Refuse metrics of which no run of a client would have a figure. Raises `BadInput`."""
        for name in self.metrics:
            if name.startswith(_SAMPLED) and self.data_interval is None:
                raise BadInput(
                    f"--metric {name} needs samples",
                    "nothing is sampled unless asked for: totals and peaks come from the kernel",
                    "add --data-interval 10ms, or use peak_memory",
                )
            if name.startswith(_OF_LOAD):
                raise BadInput(
                    f"--metric {name}: clients run no load",
                    "it is a metric of load runs, which are gated as two documents",
                    "s3bench gate BASE.json CANDIDATE.json, each written by `s3bench load`",
                )

    def _check_use(self, given: Mapping[str, str]) -> None:
        """Refuse options that would change nothing of a replay or of two documents."""
        recorded = [option for name, option in given.items() if self.replay and name in _OF_RULES]
        if recorded:
            raise BadInput(
                f"{recorded[0]} cannot be combined with --replay",
                "a replay applies the rules and the waivers of its record",
                f"leave {' and '.join(recorded)} out",
            )
        senseless = [] if self.is_live else [option for name, option in given.items() if name in _OF_RUNS]
        senseless += [] if self.rounds is None else ["--rounds"]
        if senseless:
            needed = "--self-test" if senseless == ["--rounds"] else "--baseline and --candidate"
            raise BadInput(
                f"{senseless[0]} needs {needed}", "nothing of it is run here", f"leave {' and '.join(senseless)} out"
            )

    def _check_self_test(self, given: Mapping[str, str]) -> None:
        found = [option for name, option in given.items() if name in _NOT_OF_SELF_TEST]
        if found:
            raise BadInput(
                f"--self-test and {found[0]} contradict each other",
                "a self-test plants faults into one client, --baseline, to test the gate itself",
                f"leave {' and '.join(found)} out",
            )
