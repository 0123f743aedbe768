"""The file of a study: nothing is overwritten unasked, no whole trial is lost, nobody writes beside another."""

import os
from pathlib import Path

import pytest

from s3bench.cli.tune.study_file import StudyFile, read_study
from s3bench.errors import BadInput
from s3bench.tune.study import Study
from tests.tune.test_study import HEADER, TRIAL


def test_trials_are_there_as_soon_as_they_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    with StudyFile.begin(path, HEADER, force=False) as file:
        assert read_study(path).trials == ()
        file.append(TRIAL)
        assert read_study(path).trials == (TRIAL,)


def test_a_file_that_exists_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    path.write_text("mine")
    with pytest.raises(BadInput, match="exists"):
        StudyFile.begin(path, HEADER, force=False)
    assert path.read_text() == "mine"
    with StudyFile.begin(path, HEADER, force=True):
        assert read_study(path).header == HEADER


def test_going_on_appends_after_the_last_whole_trial(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    with StudyFile.begin(path, HEADER, force=False) as file:
        file.append(TRIAL)
    with path.open("ab") as torn:
        torn.write(b'{"number":1,"sta')
    with StudyFile.resume(path) as file:
        file.append(TRIAL)
    assert read_study(path).trials == (TRIAL, TRIAL)


def test_a_study_that_is_continued_is_what_the_locked_file_has(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    with StudyFile.begin(path, HEADER, force=False) as file:
        assert file.study == Study(header=HEADER)
        file.append(TRIAL)
    with StudyFile.resume(path) as file:
        assert file.study == Study(header=HEADER, trials=(TRIAL,))


def test_a_file_that_is_no_study_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text('{"results":\n1}')
    for _ in range(2):  # and not left locked
        with pytest.raises(BadInput, match="is not a study"):
            StudyFile.resume(path)
    assert path.read_text() == '{"results":\n1}'


def test_two_do_not_go_on_with_one_study(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    with StudyFile.begin(path, HEADER, force=False), pytest.raises(BadInput, match="in use"):
        StudyFile.resume(path)


def test_a_study_that_another_one_writes_is_not_overwritten_by_force(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    with StudyFile.begin(path, HEADER, force=False) as file:
        file.append(TRIAL)
        with pytest.raises(BadInput, match="in use"):
            StudyFile.begin(path, HEADER, force=True)
        file.append(TRIAL)
    assert read_study(path).trials == (TRIAL, TRIAL)


def test_a_study_that_is_cut_while_it_is_written_gets_no_gap(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    with StudyFile.begin(path, HEADER, force=False) as file:
        whole = path.stat().st_size
        file.append(TRIAL)
        os.truncate(path, whole)
        file.append(TRIAL)
    assert read_study(path).trials == (TRIAL,)


def test_a_study_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"tune\.jsonl"):
        read_study(tmp_path / "tune.jsonl")
    with pytest.raises(BadInput, match=r"tune\.jsonl"):
        StudyFile.resume(tmp_path / "tune.jsonl")
