"""Files that no tool of ours wrote: each command refuses them in a few words, with exit code 2."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Finished, Here

_LEVELS = 20_000
_LIST = "[" * _LEVELS + "]" * _LEVELS
_OBJECT = '{"a":' * _LEVELS + "1" + "}" * _LEVELS
_DOCUMENT = f'{{"schema_version":1,"s3bench":"1","started_at":"","options":{{"x":{_LIST}}}}}'
_RECORD = f'{{"gate_version":1,"options":{_LIST}}}'
_STUDY = f'{{"study_version":1,"options":{_LIST}}}\n'


@pytest.mark.parametrize(
    "content", [_LIST, _OBJECT, _DOCUMENT, _RECORD, _STUDY], ids=("list", "object", "document", "record", "study")
)
def test_what_is_nested_too_deeply_is_refused_by_the_files_name(here: Here, tmp_path: Path, content: str) -> None:
    (tmp_path / "hostile").write_text(content)
    commands = (
        ("validate", "hostile"),
        ("run", "--list", "hostile"),
        ("compare", "hostile", "hostile"),
        ("report", "hostile"),
        ("report", "hostile", "--format", "html"),
        ("gate", "hostile", "hostile"),
        ("gate", "--replay", "hostile"),
        ("gate", "hostile", "hostile", "--waivers", "hostile"),
        ("history", "add", "--store", "history.db", "hostile"),
        ("tune", "--replay", "hostile"),
        ("serve", "--network", "hostile"),
    )
    for command in commands:
        _refused(here(*command, cwd=tmp_path))


def test_a_profile_that_is_nested_too_deeply_is_refused_by_its_name(here: Here, tmp_path: Path) -> None:
    levels = _LEVELS // 4  # YAML is parsed slowly
    (tmp_path / "hostile.yaml").write_text("phases: " + "[" * levels + "]" * levels)
    _refused(here("load", "hostile.yaml", cwd=tmp_path))


def _refused(finished: Finished) -> None:
    assert finished.returncode == 2, (finished.args, finished.stderr)
    assert "hostile" in finished.stderr.splitlines()[0], (finished.args, finished.stderr)
    assert len(finished.stderr) < 5_000


@pytest.mark.parametrize("name", ["/".join("a" * 3_000), "/".join("a" * 101), "/".join(["a" * 250] * 5)])
def test_fixture_names_of_too_many_levels_or_bytes_are_refused(here: Here, tmp_path: Path, name: str) -> None:
    definition = {
        "name": "n",
        "command": ["s3", "cp", "x", "s3://b/k"],
        "environment": {"files": [{"name": name, "size": 1}]},
    }
    (tmp_path / "one.json").write_text(json.dumps([definition]))
    finished = here("validate", "one.json", cwd=tmp_path)
    assert finished.returncode == 2
    assert "$[0].environment.files[0].name: has" in finished.stderr
    assert "keep it within 100 levels and 1024 bytes" in finished.stderr


def test_of_thousands_of_problems_the_first_hundred_are_told(here: Here, tmp_path: Path) -> None:
    (tmp_path / "many.json").write_text(json.dumps([{"name": f"{number}", "command": 1} for number in range(3000)]))
    finished = here("validate", "many.json", cwd=tmp_path)
    lines = finished.stderr.splitlines()
    assert lines[0] == "s3bench: many.json: 3000 problems; nothing was run"
    assert len(lines) == 102
    assert lines[-1].strip() == "and 2900 more"
    (tmp_path / "many.yaml").write_text("phases:\n" + "- name: a\n  unknown: 1\n" * 150)
    finished = here("load", "many.yaml", cwd=tmp_path)
    assert "$.phases[0].unknown (line 3)" in finished.stderr
    assert finished.stderr.splitlines()[-1].endswith("more")
