"""What a study comes to: the recommended setting, the evidence for it, and what else it showed.

Owns the shape that reports render and `--json` prints. Pure.
"""

import msgspec

from s3bench.tune.bottleneck import Bottleneck
from s3bench.tune.effective_settings import ParameterNote
from s3bench.tune.prediction import Prediction
from s3bench.tune.recipe import Recipe
from s3bench.tune.setting import Setting
from s3bench.tune.study import DiskSpeed
from s3bench.tune.verification import Change, TuneVerdict
from s3bench.tune.workload import Workload


class SettingFigures(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the runs of one setting showed: `runs` whole ones of search and verification, `verified` of the latter.

    `value` is the objective's, in `StudyResult.unit`, and `time` the seconds of the whole command (`real` of time(1)):
    both as in an average round of the verification, by least squares over the rounds of all settings, so that the
    figures of all settings can be compared whenever they ran. `time_low` and `time_high` are the 95 % interval of the
    time, null where the runs are too few. `gigabits_per_s` is all object data over the time, 10^9 bits. `user`,
    `system` (seconds) and `requests` are medians over the runs of the verification, else of the search. `peak_memory`
    is the most of all its runs, in bytes. `was_capped`: all runs were ended as too slow; `time` is then a lower bound
    and `value` too. `failures` counts runs that failed, `failure` says how the last one did. `exceeds_memory`: it
    needed more than was allowed.
    """

    setting: Setting
    runs: int
    value: float | None
    time: float | None
    time_low: float | None = None
    time_high: float | None = None
    gigabits_per_s: float | None = None
    user: float | None = None
    system: float | None = None
    peak_memory: int | None = None
    requests: int | None = None
    was_capped: bool = False
    exceeds_memory: bool = False
    failures: int = 0
    failure: str = ""
    verified: int = 0


class ClientBest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One client at its defaults and at its best setting of the search. Only `StudyResult.recommended` is proven."""

    client: str
    default: SettingFigures
    best: SettingFigures
    recipes: tuple[Recipe, ...]


class StudyResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The conclusion of a study.

    `recommended` is the default's when that is as good, or when nothing is proven. `candidate` is what was chosen of
    the verified settings: of those that are about as fast the one with the least memory, then with the fewest settings.
    `default` is the setting that it was held against, the first client's own. `gain` is how the candidate's value lies
    to the default's, `lead` how it lies to that of the runner-up, the fastest of the others. `table` has every setting,
    best first; `pareto` those that no other beats in both time and memory, `recommended` among them. `measured_s` is
    the time of all runs.
    """

    workload: Workload
    network: str | None
    endpoint: str
    objective: str
    unit: str
    verdict: TuneVerdict
    recommended: SettingFigures
    candidate: SettingFigures
    default: SettingFigures
    runner_up: SettingFigures | None
    gain: Change | None
    lead: Change | None
    recipes: tuple[Recipe, ...]
    clients: tuple[ClientBest, ...]
    table: tuple[SettingFigures, ...]
    pareto: tuple[Setting, ...]
    bottleneck: Bottleneck
    knobs: tuple[ParameterNote, ...]
    predictions: tuple[Prediction, ...]
    disk: DiskSpeed | None
    max_memory_bytes: int | None
    runs: int
    measured_s: float
    warnings: tuple[str, ...]
