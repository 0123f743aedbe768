"""A tuning on the page: the answer's words and figures, and every chart by its data."""

import math

import pytest
from msgspec.structs import replace

from s3bench.report.page.section import Headline, Section
from s3bench.report.page.tune.convergence import TRIALS_MAX, convergence_figure
from s3bench.report.page.tune.front import front_figure
from s3bench.report.page.tune.map import map_figures
from s3bench.report.page.tune.pairs import pairs_figure
from s3bench.report.page.tune.section import tune_section
from s3bench.report.table import Table, Tone
from s3bench.report.tune import cells as words
from s3bench.tune.conclusion import conclude
from s3bench.tune.objective import Aim, Objective
from s3bench.tune.setting import Setting
from s3bench.tune.study import Stage, Study
from s3bench.tune.study_result import StudyResult
from s3bench.tune.verification import CLEAR_LOOKS, Change, TuneVerdict, verify
from s3bench.units import render_seconds
from tests.report.page.chart_reader import assert_is_drawn, figures, labels, marks, texts, values
from tests.report.tune_samples import ANSWERS, CLASSIC, answer, everything, hostile, trial, unsettled
from tests.tune.simulated_client import Link, Simulation, upload


@pytest.fixture(scope="module")
def study() -> Study:
    """A whole study of a client that is simulated."""
    return Simulation(link=Link(), workload=upload(256), clients=(CLASSIC,)).study(budget_s=120.0)


def of_trials(study: Study, *totals_s: float | None) -> Study:
    """The study with these runs of its first client alone."""
    return replace(study, trials=tuple(trial(number, CLASSIC, total_s) for number, total_s in enumerate(totals_s)))


def table(section: Section, caption: str) -> Table:
    """The table whose caption begins so."""
    (found,) = [each for each in section.tables if each.caption.startswith(caption)]
    return found


def test_a_study_is_told_and_drawn_whole(study: Study) -> None:
    concluded = conclude(study)
    section = tune_section(concluded, study)
    assert section.headline is not None
    assert section.headline.text.lower().startswith(words.change_words(concluded.gain, concluded.objective))
    assert [each.name for each in figures(section)] == ["verification", "map-1", "time-against-memory", "convergence"]
    for each in figures(section):
        assert_is_drawn(each)


@pytest.mark.parametrize("name", ANSWERS)
def test_every_figure_stands_in_the_table_as_in_the_terminal(name: str, study: Study) -> None:
    told = ANSWERS[name]
    (settings,) = [part.tables[0] for part in tune_section(told, study).parts if part.name == "settings"]
    titles = [column.heading for column in settings.columns]
    for row, known in zip(settings.rows, told.table, strict=True):
        cells = dict(zip(titles, row, strict=True))
        assert (cells["real"].text, cells["real"].value) == (words.real_text(known), known.time)
        assert (cells["memory"].text, cells["memory"].value) == (words.bytes_text(known.peak_memory), known.peak_memory)
        assert cells["setting"].text + cells["setting"].more == words.setting_words(known, told)


def test_the_verdict_s_mood(study: Study) -> None:
    tones = {told.verdict: headline(told, study).tone for told in ANSWERS.values()}
    assert tones[TuneVerdict.BETTER] is tones[TuneVerdict.AS_GOOD] is Tone.GOOD
    assert headline(unsettled(), study).tone is Tone.WARNING
    assert headline(unsettled(), study).verdict == "UNSETTLED"


def headline(told: StudyResult, study: Study) -> Headline:
    found = tune_section(told, study).headline
    assert found is not None
    return found


def test_predictions_are_marked_and_have_their_ranges(study: Study) -> None:
    predicted = table(tune_section(everything(), study), "predictions, not measured")
    assert [cell.text for cell in predicted.rows[0]][2:4] == ["about 131 s", "118 to 146 s"]


def test_recipes_can_be_pasted(study: Study) -> None:
    told = answer()
    (recipe,) = tune_section(told, study).blocks
    assert recipe.caption.startswith("To paste, shell")
    assert recipe.lines == told.recipes[0].lines


def test_a_map_says_its_cells() -> None:
    found = next(map_figures(everything()))
    assert "max_concurrent_requests 40, multipart_chunksize 32MB: best, 6.16 s" in labels(found.chart)
    assert "max_concurrent_requests 20, multipart_chunksize 32MB: 3.9 % more time than 6.16 s" in labels(found.chart)
    assert [each for each in labels(found.chart) if each.endswith("ended as too slow, so a lower bound")]
    texts_drawn = [each["text"] for each in values(found.chart, "rect")]
    assert "." not in texts_drawn
    assert found.table is not None
    assert "." in [cell.text for row in found.table.rows for cell in row]


def test_the_front_joins_what_is_not_beaten_and_marks_the_parts() -> None:
    told = everything()
    made = front_figure(told)
    assert made is not None
    (line,) = [each for each in marks(made.chart) if each["mark"]["type"] == "line"]
    assert len(line["values"]) == len(told.pareto)
    shown = {each["role"] for each in values(made.chart, "point")}
    assert shown == {"default", "recommended", "runner-up", "other settings", "some runs failed"}
    assert f"recommended: {told.recommended.setting}: 4.10 s, 900 MiB" in labels(made.chart)
    assert not [each for each in labels(made.chart) if "> " in each]
    assert_is_drawn(made)


def test_axes_are_named_by_what_their_values_are(study: Study) -> None:
    for objective, name in (("time", "time"), ("throughput", "transfer"), ("cost-weighted", "cost")):
        aimed = replace(study, header=replace(study.header, objective=Objective(aim=Aim(objective))))
        front, convergence = front_figure(answer(objective=objective)), convergence_figure(of_trials(aimed, 8.0, 6.0))
        assert front is not None
        assert convergence is not None
        assert front.title == f"{name.capitalize()} against memory"
        assert f"in both {name} and peak memory." in front.description
        for figure in (front, convergence):
            titles = {title for mark in marks(figure.chart) if (title := mark["encoding"].get("y", {}).get("title"))}
            assert any(title.startswith(f"{name} (") for title in titles), titles


def test_one_setting_makes_no_front() -> None:
    alone = answer()
    assert front_figure(replace(alone, table=(alone.default,), recommended=alone.default, candidate=alone.default,
                                runner_up=None, pareto=(alone.default.setting,))) is None  # fmt: skip


def test_convergence_has_a_dot_for_each_trial_and_the_best_so_far(study: Study) -> None:
    made = convergence_figure(of_trials(study, 8.0, None, 6.0, 7.0))
    assert made is not None
    assert labels(made.chart) == [
        f"trial 0, verification, {CLASSIC} defaults: 8.00 s",
        f"trial 1, verification, {CLASSIC} defaults: failed",
        f"trial 2, verification, {CLASSIC} defaults: 6.00 s",
        f"trial 3, verification, {CLASSIC} defaults: 7.00 s",
    ]
    (line,) = [each for each in marks(made.chart) if each["mark"]["type"] == "line"]
    assert [(each["at"], each["value"]) for each in line["values"]] == [(8.0, 8.0), (15.0, 6.0), (22.0, 6.0)]
    assert_is_drawn(made)


def test_a_run_that_was_ended_is_told_as_such(study: Study) -> None:
    whole = of_trials(study, 8.0, None)
    capped = replace(whole.trials[1], was_capped=True, cap_s=12.0, failure=None)
    made = convergence_figure(replace(whole, trials=(whole.trials[0], capped)))
    assert made is not None
    assert labels(made.chart)[1].endswith("ended as too slow, after 12.0 s")


def test_of_many_trials_those_remain_that_were_the_best(study: Study) -> None:
    made = convergence_figure(of_trials(study, 8.0, 6.0, *[7.0] * TRIALS_MAX))
    assert made is not None
    assert len(labels(made.chart)) == 2
    assert "Drawn are those that were the best until then" in made.description


def test_where_nothing_ended_there_is_no_convergence(study: Study) -> None:
    assert convergence_figure(of_trials(study, None, None)) is None
    assert convergence_figure(of_trials(study)) is None


def test_pairs_are_those_of_the_verification(study: Study) -> None:
    other = Setting.of(CLASSIC, {"max_concurrent_requests": 40})
    runs = [
        replace(trial(number, CLASSIC, total_s), block=number // 2, setting=Setting(client=CLASSIC))
        for number, total_s in ((0, 10.0), (2, 20.0), (4, None))
    ]
    runs += [
        replace(trial(number, CLASSIC, total_s), block=number // 2, setting=other)
        for number, total_s in ((1, 8.0), (3, 21.0), (5, 9.0))
    ]
    whole = replace(study, trials=tuple(runs))
    default, objective = Setting(client=CLASSIC), study.header.objective
    gain = verify(runs, winner=other, other=default, objective=objective, looks=CLEAR_LOOKS)
    told = answer(candidate=replace(answer().candidate, setting=other), gain=gain)
    made = pairs_figure(told, whole)
    assert made is not None
    assert labels(made.chart) == ["pair 1: 20 % less time", "pair 2: 5.0 % more time"]
    assert [each["change"] for each in values(made.chart, "point")] == pytest.approx([-20.0, 5.0])
    assert all(each.stage is Stage.VERIFICATION for each in runs)
    assert_is_drawn(made)


def test_without_a_verification_there_are_no_pairs(study: Study) -> None:
    assert pairs_figure(answer(), replace(study, trials=())) is None
    assert pairs_figure(answer(gain=None), study) is None
    none = Change(estimate=math.nan, low=None, high=None, pairs=0)
    assert pairs_figure(answer(gain=none), replace(study, trials=())) is None


def test_hostile_text_does_no_harm(study: Study) -> None:
    section = tune_section(hostile(), study)
    for text in texts(section):
        assert text.isprintable()
    for each in figures(section):
        assert_is_drawn(each)


def test_what_is_recommended_has_its_expected_time(study: Study) -> None:
    told = answer()
    (line,) = headline(told, study).remarks
    assert line.startswith(f"recommended: {told.recommended.setting}: {render_seconds(6.16)} (6.04 to 6.34 s)")
