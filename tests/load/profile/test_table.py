"""docs/load-profiles.md says what the table of keys says, and its examples are right."""

import json
import re
from pathlib import Path

import pytest

from s3bench.load.profile.file import parse_profile
from s3bench.load.profile.form import read_form
from s3bench.load.profile.stress import STRESS
from s3bench.load.profile.table import (
    JOB,
    PHASE,
    PROFILE,
    RUN_KEYS,
    Keys,
)
from s3bench.spec.compound import NOTHING, Record, RecordKey
from s3bench.spec.reader import JsonObject, Report, decode_json

TEXT = (Path(__file__).parents[3] / "docs" / "load-profiles.md").read_text(encoding="utf-8")
PHASES = next(key for key in PROFILE.keys if key.name == "phases")


def rows(heading: str) -> dict[str, str]:
    """Key and default of each row below a heading."""
    section = TEXT.partition(f"\n{heading}\n")[2].partition("\n#")[0]
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]*?) ?\|", section, flags=re.MULTILINE))


@pytest.mark.parametrize(
    ("heading", "keys"),
    [
        ("### Keys of the file", (*RUN_KEYS, PHASES)),
        ("### Keys of a phase", tuple(key for key in PHASE.keys if key.name not in {one.name for one in JOB.keys[1:]})),
        ("### Keys of a job", JOB.keys),
    ],
)
def test_the_docs_have_every_key_with_its_default(heading: str, keys: tuple[RecordKey, ...]) -> None:
    defaults = {key.name: "" if key.default is NOTHING else f"`{json.dumps(key.default)}`" for key in keys}
    assert rows(heading) == defaults


def test_the_docs_have_every_key_of_s4() -> None:
    section = TEXT.partition("## A configuration of s4\n")[2]
    assert [key.name for key in STRESS.keys if f"`{key.name}`" not in section] == []


@pytest.mark.parametrize("example", re.findall(r"^```yaml\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL))
def test_the_examples_of_the_docs_are_right(example: str) -> None:
    assert parse_profile(example, "docs").profile.phases


def with_default(record: Record[Keys], key: RecordKey) -> JsonObject:
    pairs: list[tuple[str, object]] = [(key.name, decode_json(json.dumps(key.default)))]
    needs = {"arrivals": ("rate", 5), "zipf_exponent": ("keys", "zipf")}
    return JsonObject((*pairs, needs[key.name])) if key.name in needs else JsonObject(tuple(pairs))


@pytest.mark.parametrize("key", [key for key in PROFILE.keys if key.default is not NOTHING], ids=lambda key: key.name)
def test_a_default_that_is_written_changes_nothing(key: RecordKey) -> None:
    report = Report()
    written = with_default(PROFILE, key)
    without = JsonObject(tuple(pair for pair in written.pairs if pair[0] != key.name))
    assert read_form(written, report) == read_form(without, report)
    assert report.problems(written) == ()
