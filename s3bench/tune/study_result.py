"""The result of a study: the recommended setting, the evidence for it, and all other figures.

Reports render it and `--json` prints it.
"""

import msgspec

from s3bench.clients.tuning.workload import Workload
from s3bench.tune.bottleneck import Bottleneck
from s3bench.tune.effective_settings import ParameterNote
from s3bench.tune.prediction import Prediction
from s3bench.tune.recipe import Recipe
from s3bench.tune.setting import Setting
from s3bench.tune.study import DiskSpeed
from s3bench.tune.verification import Change, TuneVerdict


class SettingFigures(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The figures of one setting: `runs` complete runs in search and verification, `verified` of them in the latter.

    `value` is that of the objective, in `StudyResult.unit`; `time` is the seconds of the whole command (`real` of
    time(1)). Both are adjusted to an average round of the verification, by least squares over the rounds of all
    settings, so that figures from different rounds are comparable. `time_low` and `time_high` are the 95 % interval of
    the time, null for too few runs. `gigabits_per_s` is all object data over the time, in 10^9 bits. `user`, `system`
    (seconds) and `requests` are medians over the runs of the verification, else of the search. `peak_memory` is the
    largest of all runs, in bytes. `was_capped`: all runs were ended as too slow; `time` and `value` are then lower
    bounds. `failures` is the number of failed runs, `failure` describes the last one. `exceeds_memory`: it needed more
    than was allowed.
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
    """One client at its defaults and at its best setting of the search; only `StudyResult.recommended` is verified.

    If all settings of the client keep failing or may exceed the memory limit, `best` is the default, and if that does
    so too, there are no `recipes`.
    """

    client: str
    default: SettingFigures
    best: SettingFigures
    recipes: tuple[Recipe, ...]


class StudyResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The conclusion of a study.

    `endpoint` describes the emulator, or is the URL and the bucket of a live endpoint. `can_settle`: more time may
    settle a verdict that is unsettled.
    `recommended` is the default if that is as good, or if nothing is proven. `candidate` is the best of the verified
    settings: among those about as fast, the one with the least memory, then with the fewest changes. `default` is the
    default of the first client, with which the candidate was compared. `gain` compares the values of candidate and
    default, `lead` those of candidate and runner-up, the fastest of the others. `table` has every setting, best first;
    `pareto` those that no other one beats in both time and memory, including `recommended`. `knobs` are notes on single
    parameters. `measured_s` is the time of all runs.
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
    can_settle: bool = True
