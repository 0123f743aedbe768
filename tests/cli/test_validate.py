"""`s3bench validate` finds what `s3bench run` would refuse, in one file and in several together."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Here

GOOD = [{"name": "good", "command": ["s3", "ls"]}]
BROKEN = [{"name": "a", "comand": ["x"]}]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (("good", GOOD), ("broken", BROKEN), ("empty", [])):
        Path(f"{name}.json").write_text(json.dumps(content))


def test_a_file_that_cannot_be_read_does_not_hide_the_problems_of_another(here: Here) -> None:
    told = here("validate", "broken.json", "missing.json", "good.json")
    assert told.returncode == 2
    for line in (
        "$[0].comand: is an unknown key",
        "missing.json: cannot be read",
        "good.json: 1 benchmark, no problems",
    ):
        assert line in told.stderr
    rows = json.loads(here("validate", "--json", "missing.json", "broken.json").stdout)
    assert rows[0] == {
        "source": "missing.json",
        "path": "$",
        "what": "cannot be read: No such file or directory",
        "fix": "pass a file of benchmark definitions, e.g. benchmarks.json",
    }
    assert {row["source"] for row in rows[1:]} == {"broken.json"}


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("empty.json",), "there are no benchmarks in the definitions"),
        (("good.json", "good.json"), "benchmark 'good' is in two definition files with equal dimensions"),
    ],
)
def test_what_a_run_refuses_of_all_files_together_is_a_problem(here: Here, names: tuple[str, ...], said: str) -> None:
    assert said in here("run", "--list", *names).stderr
    told = here("validate", "--json", *names)
    assert told.returncode == 2
    assert said in told.stderr
    assert "no problems" not in told.stderr
    (row,) = json.loads(told.stdout)
    assert (row["source"], row["path"]) == (", ".join(names), "$")
    assert row["what"].startswith(said)
    assert row["fix"]


def test_an_empty_file_is_no_problem_beside_another(here: Here) -> None:
    assert here("run", "--list", "good.json", "empty.json").returncode == 0
    told = here("validate", "--json", "good.json", "empty.json")
    assert (told.returncode, json.loads(told.stdout)) == (0, [])


def test_an_empty_file_is_no_problem_beside_one_that_cannot_be_read(here: Here) -> None:
    rows = json.loads(here("validate", "--json", "empty.json", "missing.json").stdout)
    assert [row["source"] for row in rows] == ["missing.json"]
