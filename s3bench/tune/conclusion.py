"""Concludes a study: computes the figures of each setting and the recommendation from the trials alone."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from statistics import median

from msgspec.structs import replace

from s3bench.clients.tuning.workload import Workload
from s3bench.errors import ExitCode, S3BenchError
from s3bench.results.measurement import Measurement
from s3bench.s3.network.model import NetworkModel, parse_network
from s3bench.stats.median_interval import median_interval
from s3bench.tune.bottleneck import find_bottleneck
from s3bench.tune.effective_settings import parameter_notes
from s3bench.tune.evidence import TrialEvidence
from s3bench.tune.objective import Objective
from s3bench.tune.pareto import pareto_front
from s3bench.tune.prediction import Prediction, predict, predict_others
from s3bench.tune.preference import TOLERANCE
from s3bench.tune.race import FAILURES_MAX, MEMORY_MARGIN, RUNS_MIN, find_leaders
from s3bench.tune.recipe import Recipe, recipes_of
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space
from s3bench.tune.study import Header, Search, Stage, Study
from s3bench.tune.study_result import ClientBest, SettingFigures, StudyResult
from s3bench.tune.transfer_model import fit
from s3bench.tune.tuner import FIRST_RUN_S, Tuner
from s3bench.tune.verification import Change, TuneVerdict, verdict_on
from s3bench.units import counted, render_bytes, render_seconds

_BITS = 8
_USEFUL_RUNS_MIN = 30  # of each client, for a useful tuning: probes, a small search, and pairs
_GIGA = 1e9


def conclude(
    study: Study, others: Sequence[tuple[Workload, NetworkModel | None]] = (), *, has_ended: bool = False
) -> StudyResult:
    """The result of a study, with predictions for `others`. Raises `S3BenchError` if no client works.

    `has_ended`: it was not interrupted. Its trials do not always show that: a run that its end stopped is no trial.
    """
    return _Conclusion(study, has_ended=has_ended).result(others)


class NothingFound(S3BenchError):
    """The study recommends nothing: there was no time to compare settings, or none reliably keeps the memory limit."""

    exit_code = ExitCode.INCONCLUSIVE


class _Conclusion:
    def __init__(self, study: Study, *, has_ended: bool) -> None:
        self._has_ended = has_ended
        self._header: Header = study.header
        self._trials = study.trials
        self._tuner = tuner = Tuner(header=study.header, space=Space.of(study.header.clients, study.header.workload))
        state = tuner.state(study.trials)
        self._state = state
        is_final = state.is_undecided and not state.has_ended_before and self._is_over
        self._state = dataclasses.replace(state, is_final=is_final)
        self._network = None if study.header.network is None else parse_network(study.header.network)

    def result(self, others: Sequence[tuple[Workload, NetworkModel | None]]) -> StudyResult:
        reference, finalists = self._state.reference, self._state.finalists if self._state.reference else None
        if reference is None or finalists is None:
            raise self._nothing_found()
        if self._has_defaults_alone:
            raise self._too_short()
        header = self._header
        candidate, runner_up = finalists.winner, self._state.runner_up
        compared = candidate if candidate != reference else runner_up
        gain = None if compared is None else self._change(compared, reference)
        shown, default = self.figures(candidate), self.figures(reference)
        found = self._verdict(gain)
        best = shown if found in {TuneVerdict.BETTER, TuneVerdict.FITS} else default
        recommended = best.setting
        table = tuple(self.figures(estimate.setting) for estimate in self._state.measured.estimates())
        return StudyResult(
            workload=header.workload,
            network=header.network,
            endpoint=f"{header.endpoint_url}, bucket {header.bucket}" if header.endpoint_url else header.endpoint,
            objective=header.objective.aim,
            unit=header.objective.unit,
            verdict=found,
            can_settle=found is TuneVerdict.UNSETTLED and self._tuner.can_continue(self._trials),
            recommended=best,
            candidate=shown,
            default=default,
            runner_up=None if runner_up is None else self.figures(runner_up),
            gain=gain,
            lead=None if runner_up is None else self._change(candidate, runner_up),
            recipes=self._recipes(recommended),
            clients=tuple(self._clients(table)),
            table=table,
            pareto=tuple(figures.setting for figures in pareto_front(table, best)),
            bottleneck=find_bottleneck(
                self._measurements(recommended),
                recommended,
                header.workload,
                self._network,
                header.disk,
                cores=header.machine.get("cores_allowed") or header.machine.get("cores_logical") or 1,
            ),
            knobs=parameter_notes(self._trials, header.workload),
            predictions=tuple(self._predictions(recommended, others)),
            disk=header.disk,
            max_memory_bytes=header.max_memory_bytes,
            runs=len(self._trials),
            measured_s=sum(trial.took_s for trial in self._trials),
            warnings=tuple(dict.fromkeys((*header.warnings, *self._warnings(recommended), *_unproven(table, best)))),
        )

    def figures(self, setting: Setting) -> SettingFigures:
        """The figures of a setting over all its trials."""
        header = self._header
        own = [trial for trial in self._trials if trial.setting == setting]
        failures = [trial.failure_words for trial in own if trial.failure is not None]
        peaks = self._peaks_bytes(setting)
        peak = round(max(peaks)) if peaks else None
        known = SettingFigures(
            setting=setting,
            runs=sum(trial.measurement is not None for trial in own if trial.stage is not Stage.PROBE),
            verified=sum(trial.measurement is not None for trial in own if trial.stage is Stage.VERIFICATION),
            value=None,
            time=None,
            peak_memory=peak,
            exceeds_memory=bool(peak and header.max_memory_bytes and peak > header.max_memory_bytes),
            failures=len(failures),
            failure=failures[-1] if failures else "",
        )
        if runs := self._measurements(setting):
            return self._with_times(known, runs)
        estimate = self._state.measured.estimate(setting)
        if estimate is None or not estimate.was_capped:
            return known
        return replace(known, value=estimate.value, time=estimate.value, was_capped=True)

    def _with_times(self, known: SettingFigures, runs: Sequence[Measurement]) -> SettingFigures:
        """The same with the times, adjusted to an average round of the verification, and the CPU figures."""
        median_s, low_s, high_s = median_interval([run.total_time for run in runs])
        value, time = self._state.measured.estimate(known.setting), self._times.estimate(known.setting)
        time_s = time.value if time is not None else median_s
        return replace(
            known,
            value=value.value if value is not None else median([self._header.objective.value(run) for run in runs]),
            time=time_s,
            time_low=None if low_s is None else low_s * time_s / median_s,
            time_high=None if high_s is None else high_s * time_s / median_s,
            gigabits_per_s=self._header.workload.total_bytes * _BITS / time_s / _GIGA,
            user=_median([run.user_cpu_time for run in runs]),
            system=_median([run.system_cpu_time for run in runs]),
            requests=_whole(_median([run.wire.requests if run.wire else None for run in runs])),
        )

    @cached_property
    def _times(self) -> TrialEvidence:
        """As `StudyState.measured`, but for the time, whatever the objective is."""
        return TrialEvidence.of(self._state.measured.trials, Objective())

    def _peaks_bytes(self, setting: Setting) -> tuple[float, ...]:
        """The peak memory of every complete run of a setting that reported it, in all stages."""
        return self._state.everything.peaks_bytes(setting)

    def _measurements(self, setting: Setting) -> tuple[Measurement, ...]:
        """The complete runs of a setting: those of the verification, else of the search, else of the probes."""
        for stage in (Stage.VERIFICATION, Stage.SEARCH, Stage.PROBE):
            found = tuple(
                trial.measurement
                for trial in self._trials
                if trial.setting == setting and trial.stage is stage and trial.measurement is not None
            )
            if found:
                return found
        return ()

    def _change(self, setting: Setting, other: Setting) -> Change | None:
        change = self._state.change(setting, other)
        return change if change.pairs else None

    def _verdict(self, gain: Change | None) -> TuneVerdict:
        """The verdict on the candidate, which keeps the memory limit; a default without any rival is as good.

        A rival that was left out only for its memory, or that has no pair with the default, leaves it unsettled.
        """
        reference = self._state.reference
        assert reference is not None
        if not self._state.keeps_memory(reference):
            return TuneVerdict.FITS
        if gain is not None:
            return verdict_on(gain)
        found = find_leaders(self._state.evidence, reference, keeps=lambda _: True)
        has_rival = found is not None and (found.winner != reference or found.runner_up is not None)
        return TuneVerdict.UNSETTLED if has_rival else TuneVerdict.AS_GOOD

    def _nothing_found(self) -> S3BenchError:
        limit_bytes = self._header.max_memory_bytes
        known = [setting for setting in self._state.evidence.settings if self._peaks_bytes(setting)]
        too_large = [setting for setting in known if not self._state.keeps_memory(setting)]
        if not self._state.evidence.trials and (self._state.reference is not None or not self._is_over):
            return self._too_short()
        if limit_bytes is None or not too_large:
            return S3BenchError(
                "no client completed the transfer",
                "\n".join(dict.fromkeys(self._failures())),
                "list the clients with `s3bench clients list`, and try a single one with --clients",
            )
        nearest = min(too_large, key=self._state.peak_bound_bytes)
        peaks = self._peaks_bytes(nearest)
        may_fit = max(peaks) * (1 + MEMORY_MARGIN) <= limit_bytes
        return NothingFound(
            f"no setting reliably stays within --max-memory {render_bytes(limit_bytes)}",
            f"of {len(too_large)} settings, {nearest} came nearest: {_range_of(peaks)}; since peaks vary, "
            f"{render_bytes(self._state.peak_bound_bytes(nearest))} cannot be ruled out",
            f"raise --max-memory, {'measure longer with a larger --budget, ' if may_fit else ''}or try other --clients",
        )

    @property
    def _has_defaults_alone(self) -> bool:
        """Whether there was no time for anything but the defaults, nor to verify which client's are the best.

        Where nothing is expected of other settings, the defaults run more often. Those of several clients are a result
        so far while the study goes on.
        """
        estimates = self._state.evidence.estimates()
        if not all(each.setting.is_default for each in estimates) or estimates[0].runs >= RUNS_MIN:
            return False
        has_others = any(not setting.is_default for setting in self._state.space.starts())
        is_compared = bool(self._state.of(Stage.VERIFICATION)) or (len(estimates) > 1 and not self._is_over)
        return has_others and not is_compared

    def _too_short(self) -> NothingFound:
        return self._too_little_time() if self._is_over else self._unfinished()

    @property
    def _is_over(self) -> bool:
        return self._has_ended or not self._is_planned

    @property
    def _is_planned(self) -> bool:
        """Whether another run would follow the trials."""
        return self._tuner.next_block(self._trials) is not None

    def _unfinished(self) -> NothingFound:
        spent_s, budget_s = sum(trial.cost_s for trial in self._trials), self._header.budget_s
        made = counted(len(self._trials), "run")
        return NothingFound(
            "the study is unfinished: no settings have been compared yet",
            f"{made} took {render_seconds(spent_s)} of the budget of {render_seconds(budget_s)}"
            if self._trials
            else "no run of it has ended",
            "continue it with `s3bench tune --resume FILE`",
        )

    def _too_little_time(self) -> NothingFound:
        """The budget was too small for anything but the defaults, or the run that its end stopped was too long."""
        times_s = [trial.took_s for trial in self._trials]
        one_s = max((*times_s, self._stopped_s))
        enough_s = _USEFUL_RUNS_MIN * one_s * len(self._header.clients)
        made = f"{counted(len(times_s), 'run')} of up to {render_seconds(max(times_s, default=0.0))}"
        return NothingFound(
            f"the budget of {render_seconds(self._header.budget_s)} ended before any settings could be compared",
            f"there was time for {made}" if times_s else "not even one run of the defaults had ended",
            f"allow more time, for example --budget {math.ceil(enough_s)}s, or fewer --clients",
        )

    @property
    def _stopped_s(self) -> float:
        """The seconds of the run that the end of the study stopped; 0 if none was."""
        if not self._is_planned:
            return 0.0
        return max(self._tuner.left_s(self._trials), 0.0 if self._trials else FIRST_RUN_S)

    def _clients(self, table: Sequence[SettingFigures]) -> Iterator[ClientBest]:
        for client in self._header.clients:
            default = self.figures(Setting(client=client))
            own = (figures for figures in table if figures.setting.client == client)
            best = next((figures for figures in own if figures.setting in self._state.running), default)
            is_usable = self._state.keeps_memory(best.setting) and best.failures < FAILURES_MAX
            recipes = self._recipes(best.setting) if is_usable else ()
            yield ClientBest(client=client, default=default, best=best, recipes=recipes)

    def _recipes(self, setting: Setting) -> tuple[Recipe, ...]:
        return recipes_of(setting, self._header.version_of(setting.client))

    def _predictions(
        self, setting: Setting, others: Sequence[tuple[Workload, NetworkModel | None]]
    ) -> Iterator[Prediction]:
        """None for a live endpoint, of whose link nothing is known."""
        if self._network is None:
            return
        own = [trial for trial in self._trials if trial.setting.client == setting.client]
        model = fit(own, self._header.workload, self._network)
        if model is None:
            return
        if not others:
            yield from predict_others(model, setting, self._header.workload, self._network)
        for workload, network in others:
            yield predict(model, setting, workload, network or self._network)

    def _failures(self) -> tuple[str, ...]:
        return tuple(f"{trial.setting}: {trial.failure_words}" for trial in self._trials if trial.failure)

    def _warnings(self, recommended: Setting) -> Iterator[str]:
        """Warnings: another reference, an incomplete grid, and those of the runs behind the recommendation."""
        first, reference = Setting(client=self._header.clients[0]), self._state.reference
        if reference is not None and reference != first:
            yield f"compared with the defaults of {reference.client}, since {first.client} failed"
        tried, grid = len(self._state.evidence.settings), len(self._state.space.grid())
        if self._header.search is Search.GRID and tried < grid:
            yield f"the budget ended after {tried} of the {grid} settings of the grid"
        runs = self._measurements(recommended)
        by_kind: dict[str, dict[int, str]] = {}
        for number, run in enumerate(runs):
            for warning in run.warnings:
                by_kind.setdefault(warning.partition(":")[0], {}).setdefault(number, warning)
        for warned in by_kind.values():
            yield f"{len(warned)} of the {len(runs)} runs of {recommended}: {next(iter(warned.values()))}"


def _unproven(table: Sequence[SettingFigures], recommended: SettingFigures) -> Iterator[str]:
    """A warning about settings that were better in both time and memory, but only in the search."""
    value, memory = recommended.value, recommended.peak_memory
    if value is None or memory is None:
        return
    better = [
        each
        for each in table
        if each.value is not None
        and each.runs
        and not (each.verified or each.failures or each.exceeds_memory)
        and each.value < value * (1 - TOLERANCE)
        and each.peak_memory is not None
        and each.peak_memory <= memory
    ]
    if better:
        few = f"{better[0].setting}" + (f" and {len(better) - 1} more" if better[1:] else "")
        yield (
            f"{few} looked faster than {recommended.setting}, with no more memory, in a few runs of the search; "
            "there was no time to verify that; use a larger --budget"
        )


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _range_of(peaks: Sequence[float]) -> str:
    least, most = render_bytes(min(peaks)), render_bytes(max(peaks))
    return f"{most} in one run" if len(peaks) == 1 else f"{least} to {most} in {counted(len(peaks), 'run')}"


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
