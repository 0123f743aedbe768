"""The tables of options and keys in docs/load-profiles.md are those of the code, and defaults change nothing."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from s3bench.cli.load.options import GROUPS
from s3bench.load.profile.file import parse_profile
from s3bench.load.profile.form import read_form
from s3bench.load.profile.stress import STRESS
from s3bench.load.profile.table import JOB, PHASE, PROFILE, RUN_OPTIONS, LoadOption
from s3bench.spec.compound import NOTHING, RecordKey
from s3bench.spec.reader import JsonObject, Report, decode_json

TEXT = (Path(__file__).parents[3] / "docs" / "load-profiles.md").read_text(encoding="utf-8")
RUN_KEYS = tuple(row.record_key() for row in RUN_OPTIONS)


def table(head: str, rows: Iterable[tuple[str, str, str]]) -> str:
    cells = [(head, "default", "meaning"), ("---", "---", "---"), *rows]
    lines = [" | ".join(cell.replace("|", r"\|").replace("<", "&lt;") for cell in row) for row in cells]
    return "".join(f"| {line} |\n" for line in lines).replace("|  |", "| |")


def options_table(options: Iterable[LoadOption]) -> str:
    def names(row: LoadOption) -> str:
        return ", ".join(f"`{name}`" for name in (f"{row.name} {row.metavar}".strip(), *row.flags[:-1]))

    return table("option", ((names(row), row.default_text, row.meaning) for row in options))


def keys_table(keys: Iterable[RecordKey]) -> str:
    def default(key: RecordKey) -> str:
        return "" if key.default is NOTHING else f"`{json.dumps(key.default)}`"

    return table("key", ((f"`{key.name}`", default(key), key.meaning) for key in keys))


@pytest.mark.parametrize("title", GROUPS)
def test_the_docs_have_every_option_of_each_group(title: str) -> None:
    section = f"\n### {title}\n\n{options_table(GROUPS[title])}\n"
    assert section in TEXT, f"docs/load-profiles.md needs this section:\n{section}"


@pytest.mark.parametrize(
    ("heading", "keys"),
    [
        ("### Keys of the file", (*RUN_KEYS, next(key for key in PROFILE.keys if key.name == "phases"))),
        (
            "### Keys of a phase",
            tuple(key for key in PHASE.keys if key.name not in {one.name for one in JOB.keys[1:]}),
        ),
        ("### Keys of a job", JOB.keys),
    ],
)
def test_the_docs_have_every_key_with_its_default(heading: str, keys: tuple[RecordKey, ...]) -> None:
    section = f"\n{heading}\n\n{keys_table(keys)}\n"
    assert section in TEXT, f"docs/load-profiles.md needs this section:\n{section}"


def test_the_docs_have_every_key_of_s4() -> None:
    section = TEXT.partition("## A configuration of s4\n")[2]
    assert [key.name for key in STRESS.keys if f"`{key.name}`" not in section] == []


@pytest.mark.parametrize("example", re.findall(r"^```yaml\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL))
def test_the_examples_of_the_docs_are_right(example: str) -> None:
    assert parse_profile(example, "docs").profile.phases


@pytest.mark.parametrize("key", [key for key in PROFILE.keys if key.default is not NOTHING], ids=lambda key: key.name)
def test_a_default_that_is_written_changes_nothing(key: RecordKey) -> None:
    needs = {"arrivals": (("rate", 5),), "zipf_exponent": (("keys", "zipf"),)}.get(key.name, ())
    written = JsonObject(((key.name, decode_json(json.dumps(key.default))), *needs))
    report = Report()
    assert read_form(written, report) == read_form(JsonObject(needs), report)
    assert report.problems(written) == ()
