"""The runs that a study makes next to each other."""

from dataclasses import dataclass

from s3bench.tune.setting import Setting
from s3bench.tune.study import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One planned run, to be ended after `cap_s` seconds."""

    setting: Setting
    cap_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBlock:
    """Runs to make next to each other, in this order; `number` counts from 0 in each stage."""

    stage: Stage
    number: int
    runs: tuple[PlannedRun, ...]
