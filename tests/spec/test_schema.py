import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.clients.registry import known_clients
from s3bench.spec.compound import NOTHING, Record, RecordKey
from s3bench.spec.definition import DEFAULT_RESPONSES
from s3bench.spec.environment_table import FILE, FILE_DIR, FILE_LITERAL, environment_shape
from s3bench.spec.header import FIELD_NAME, FIELD_VALUE, METHOD, PATH, QUERY_NAME, QUERY_VALUE
from s3bench.spec.names import BODY_NAME, FIXTURE_NAME
from s3bench.spec.reader import Report, decode_json
from s3bench.spec.response_table import FILE_BODY, KEY_PREFIX, LISTING_BODY, MATCH, RESPONSE
from s3bench.spec.schema import json_schema
from s3bench.spec.shape import TextRule
from s3bench.spec.table import ARGUMENT, DIMENSION, LABEL, definition_shape

RECORDS: dict[str, list[Record[Any]]] = {
    "": [definition_shape(known_clients())],
    "dimensions[].": [DIMENSION],
    "environment.": [environment_shape(known_clients())],
    "environment.files[].": [FILE],
    "environment.file_dirs[].": [FILE_DIR],
    "environment.file_literals[].": [FILE_LITERAL],
    "responses[].": [RESPONSE],
    "responses[].body.": [FILE_BODY, LISTING_BODY],
    "responses[].match.": [MATCH],
}
KEYS = [
    pytest.param(record, key, id=f"{path}{key.name}")
    for path, records in RECORDS.items()
    for record in records
    for key in record.keys
]


def complaints(document: Any) -> list[str]:
    validator = jsonschema.Draft202012Validator(json_schema(known_clients()))
    return [error.message for error in validator.iter_errors(document)]


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema(known_clients()))
    assert json.loads(json.dumps(json_schema(known_clients()))) == json_schema(known_clients())


def test_the_shipped_definitions_fit_the_schema() -> None:
    shipped = Path(__file__).parents[2] / "benchmarks.json"
    assert complaints(json.loads(shipped.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(("record", "key"), KEYS)
def test_every_default_is_the_default_of_the_type(record: Record[Any], key: RecordKey) -> None:
    if key.default is NOTHING:
        return
    report = Report()
    read = key.shape.read(decode_json(json.dumps(key.default)), (), report)
    assert report.problems(None) == ()
    defaults = {field.name: field.default for field in dataclasses.fields(record.make)}  # type: ignore[arg-type]
    assert read == defaults[key.becomes]


def test_the_default_responses_are_those_of_the_reference() -> None:
    responses = next(key for key in definition_shape(known_clients()).keys if key.name == "responses")
    assert '[{"headers": {}, "body": ""}]' in responses.meaning
    assert responses.shape.read(decode_json('[{"headers": {}, "body": ""}]'), (), Report()) == DEFAULT_RESPONSES


@pytest.mark.parametrize(("record", "key"), KEYS)
def test_every_example_is_right_for_parser_and_schema(record: Record[Any], key: RecordKey) -> None:
    assert key.meaning.endswith(".")
    for example in key.examples:
        report = Report()
        key.shape.read(decode_json(json.dumps(example)), (), report)
        assert report.problems(None) == ()
        jsonschema.validate(example, key.shape.schema())


@pytest.mark.parametrize(
    "document",
    [
        {},
        [1],
        [{"name": "a"}],
        [{"name": "a", "command": []}],
        [{"name": "a", "command": ["s3"], "comment": ""}],
        [{"name": "a", "command": ["s3"], "clients": ["s5"]}],
        [{"name": "a", "command": ["s3"], "timeout": 0}],
        [{"name": "a", "command": ["s3"], "responses": [{"instances": "all"}]}],
        [{"name": "a", "command": ["s3"], "responses": [{"instances": 0}]}],
        [{"name": "a", "command": ["s3"], "responses": [{"body": {"fil": "x"}}]}],
        [{"name": "a", "command": ["s3"], "responses": [{"body": {"file": "x", "listing": "y"}}]}],
        [{"name": "a", "command": ["s3"], "responses": [{"headers": {"a b": ""}}]}],
        [{"name": "a", "command": ["s3"], "environment": {"files": [{"name": "../x", "size": 1}]}}],
        [{"name": "a", "command": ["s3"], "environment": {"files": [{"name": "x", "size": True}]}}],
        [{"name": "a", "command": ["s3"], "environment": {"config": "x = 1"}}],
    ],
)
def test_the_schema_refuses_what_is_plainly_wrong(document: Any) -> None:
    assert complaints(document)


RULES = {
    "FIXTURE_NAME": FIXTURE_NAME,
    "BODY_NAME": BODY_NAME,
    "FIELD_NAME": FIELD_NAME,
    "FIELD_VALUE": FIELD_VALUE,
    "METHOD": METHOD,
    "PATH": PATH,
    "QUERY_NAME": QUERY_NAME,
    "QUERY_VALUE": QUERY_VALUE,
    "KEY_PREFIX": KEY_PREFIX,
    "ARGUMENT": ARGUMENT,
}


@pytest.mark.parametrize("name", RULES)
@given(text=st.text(alphabet="aZ:/.\\* \t\n\r\0?é\x7f-", max_size=12))
def test_the_pattern_of_a_rule_decides_as_its_check(name: str, text: str) -> None:
    assert _fits(RULES[name], text) == (RULES[name].check(text) is None)


@pytest.mark.parametrize("rule", [FIXTURE_NAME, BODY_NAME])
@pytest.mark.parametrize("name", ["caf\udce9", "a/\udce9/b", "\ud800"])
def test_a_file_name_that_is_not_utf_8_is_a_complaint(rule: TextRule, name: str) -> None:
    complaint = rule.check(name)
    assert complaint is not None
    assert complaint.what.endswith(": it is not UTF-8")
    complaint.what.encode()


@given(text=st.text(alphabet="ab é\t\n\0\u200b", max_size=8))
def test_the_pattern_of_labels_refuses_nothing_that_the_check_takes(text: str) -> None:
    assert _fits(LABEL, text) or LABEL.check(text) is not None


def _fits(rule: TextRule, text: str) -> bool:
    # JSON Schema takes its patterns from ECMA-262, where `$` is the end and no line break before it.
    return re.search(re.sub(r"\$(?=[)|]|$)", r"\\Z", rule.pattern), text) is not None
