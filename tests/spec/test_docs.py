"""docs/definitions.md says what the table says, and its examples are right."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from s3bench.clients.registry import known_clients
from s3bench.errors import BadDefinitions
from s3bench.spec.awsconfig_table import PROFILE_KEYS, config_blocks
from s3bench.spec.file_sizes import FileSizes
from s3bench.spec.parse import parse_definitions
from s3bench.spec.schema import json_schema
from s3bench.spec.sizes_document import LeftOut, SizesDocument, encode_sizes

TEXT = (Path(__file__).parents[2] / "docs" / "definitions.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([^`]+)` \| ([^|]+ \| [^|]+) \|", TEXT, flags=re.MULTILINE))
EXAMPLES = re.findall(r"^```json\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)


def _keys(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Every key in `schema` with its own schema and whether it is required."""
    for form in [schema, *schema.get("anyOf", []), *schema.get("oneOf", [])]:
        if form is not schema:
            yield from _keys(form, path)
        if "items" in form:
            yield from _keys(form["items"], f"{path}[]")
        for name, inner in form.get("properties", {}).items():
            place = f"{path}.{name}".lstrip(".")
            yield place, inner, name in form["required"]
            yield from _keys(inner, place)


KEYS = {key.removeprefix("[]."): (inner, required) for key, inner, required in _keys(json_schema(known_clients()))}


def test_every_key_of_the_schema_is_in_the_table_and_no_other() -> None:
    assert set(ROWS) == set(KEYS)
    assert len(KEYS) == 46


@pytest.mark.parametrize("key", sorted(KEYS))
def test_type_and_default_of_a_key_are_documented_as_they_are(key: str) -> None:
    inner, required = KEYS[key]
    kind, _, default = ROWS[key].partition(" | ")
    if required:
        assert default.startswith("required")
    elif "default" in inner:
        assert default == f"`{json.dumps(inner['default'])}`"
    else:
        assert not default.startswith("required")
    words = {"string": "string", "integer": "integer", "number": "number", "array": "list", "object": "object"}
    expected = words[inner["type"]] if "type" in inner else ("string" if "enum" in inner else " or ")
    assert expected in kind


def test_every_word_of_an_enum_is_documented() -> None:
    for inner, _ in KEYS.values():
        words = inner.get("enum") or inner.get("items", {}).get("enum") or []
        assert [word for word in words if f"`{word}`" not in TEXT] == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_parses_and_fits_the_schema(example: str, tmp_path: Path) -> None:
    sizes = SizesDocument.of(FileSizes(counts=((5, 3),)), folders=0, left_out=LeftOut())
    (tmp_path / "sizes.json").write_bytes(encode_sizes(sizes))
    assert parse_definitions(example, "docs/definitions.md", known_clients(), beside=tmp_path)
    jsonschema.validate(json.loads(example), json_schema(known_clients()))


def test_the_examples_show_every_key() -> None:
    shown = "".join(EXAMPLES)
    assert [key for key in KEYS if f'"{key.rpartition(".")[2]}"' not in shown] == []


def test_the_problems_shown_are_the_problems_reported() -> None:
    wrong = [
        {"name": "a", "comand": ["s3", "ls"], "environment": {"files": [{"name": "f", "size": "12"}]}},
        {
            "name": "b",
            "command": ["s3", "ls"],
            "environment": {"files": [{"name": "test_file", "size": 1}]},
            "responses": [{"body": {"file": "test_fil"}}],
        },
    ]
    with pytest.raises(BadDefinitions) as caught:
        parse_definitions(json.dumps(wrong), "mine.json", known_clients())
    [shown] = re.findall(r"^```text\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)
    assert str(caught.value).splitlines() == shown.splitlines()


def test_every_key_that_a_config_may_set_is_documented_and_no_other() -> None:
    section = TEXT.partition("### What `config` may set")[2].partition("\n#")[0]
    items = re.findall(r"^- .*(?:\n  .*)*", section, flags=re.MULTILINE)
    lists = [set(re.findall(r"`(\w+)`", item)) for item in items]
    blocks = config_blocks(known_clients())
    assert lists == [set(PROFILE_KEYS), *(keys | {block} for block, keys in blocks.items())]
