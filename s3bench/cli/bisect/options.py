"""The options of `s3bench bisect`: their meaning, and the checks of combinations."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from s3bench.cli.quantity import Duration
from s3bench.errors import BadInput
from s3bench.gate.indifference_zone import parse_indifference_zone
from s3bench.gate.looks import parse_looks
from s3bench.gate.policy import Policy, check_gating

PAIRS = "20,40,80"
"""Twice the gate's: levels are stricter, and ten pairs reach none of them. Forty would leave every fifth search among
32 versions with suspects where the change is 1.5 times the noise of a pair; eighty one in fifty (simulated)."""

_METRICS = ("total_time",)
_NEVER_MEASURED = ("p50_", "p95_", "load.")
_RESUMED_WITH = frozenset({"resume", "max_time", "explains", "as_json", "quiet"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectOptions:
    """The options of `s3bench bisect`, by the names of its parameters."""

    files: tuple[Path, ...]
    client: str | None
    good: str | None
    bad: str | None
    dependency: str | None
    metrics: tuple[str, ...]
    select: str | None
    suite: str | None
    pairs: str
    zones: tuple[str, ...]
    error: float
    max_time: Duration | None
    seed: int | None
    timeout: float
    tls: bool
    output: Path | None
    force: bool
    resume: Path | None
    explains: bool
    as_json: bool
    quiet: bool

    @classmethod
    def of(cls, typed: Mapping[str, Any], given: Mapping[str, str]) -> Self:
        """Take the options as typed, those `given` with their flags; refuse what contradicts. Raises `BadInput`."""
        options = cls(**typed)
        recorded = [option for name, option in given.items() if name not in _RESUMED_WITH]
        if options.resume is not None and recorded:
            raise BadInput(
                "--resume continues the search as its record describes it",
                f"{', '.join(recorded)} cannot be changed now",
                "leave these out, or start a new search with -o FILE",
            )
        if options.resume is None and not (options.client and options.good and options.bad):
            raise BadInput(
                "a search needs a client and two of its versions",
                fix="s3bench bisect --client cli-crt --good 2.34.3 --bad 2.38.5",
            )
        return options

    @property
    def kept(self) -> Path | None:
        """The file of the record."""
        return self.output or self.resume

    @property
    def policy(self) -> Policy:
        """Metrics, zones and looks; the levels are the search's."""
        return Policy(
            metrics=_measured(check_gating(self.metrics or _METRICS)),
            zones=dict(parse_indifference_zone(text) for text in self.zones),
            looks=parse_looks(self.pairs),
        )


def _measured(metrics: tuple[str, ...]) -> tuple[str, ...]:
    for name in metrics:
        if name.startswith(_NEVER_MEASURED):
            raise BadInput(
                f"--metric {name}: bisect does not measure it",
                "nothing is sampled while versions are compared, and no load is run",
                "use total_time, cpu_time, peak_memory or another metric of single runs",
            )
    return metrics
