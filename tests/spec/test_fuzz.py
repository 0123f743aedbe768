"""Any text is either definitions that plan, or problems with a path each; never another exception."""

import copy
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s3bench.clients.plan import plan_runs
from s3bench.clients.registry import known_clients
from s3bench.errors import BadDefinitions, Problem
from s3bench.spec.definition import Definition
from s3bench.spec.parse import parse_definitions
from s3bench.spec.schema import json_schema

WORDS = st.text(alphabet="abcXYZ019._-é", min_size=1, max_size=6).filter(lambda word: word.strip(".") == word)
SIZES = st.integers(0, 10_000) | st.just(3.2e7) | st.just(10_000 * 5 * 1024**3)
AWS_CLI = ["cli", "cli-classic", "cli-crt"]
EVERY_CLIENT = [*AWS_CLI, "boto3-classic", "boto3-crt", "crt-python", "s5cmd"]


@st.composite
def environments(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(WORDS, min_size=3, max_size=8, unique_by=str.casefold))
    fills = st.fixed_dictionaries({}, optional={"fill": st.sampled_from(["zero", "random"])})
    return {
        "files": [{"name": f"f/{name}", "size": draw(SIZES)} | draw(fills) for name in names[::3]],
        "file_dirs": [{"name": f"d/{name}", "file_count": 3, "file_size": 5} | draw(fills) for name in names[1::3]],
        "file_literals": [
            {"name": f"l/{name}", "content": draw(st.text(max_size=5)), "mode": draw(st.sampled_from(["w", "ab", "x"]))}
            for name in names[2::3]
        ],
        "config": draw(st.sampled_from(["[default]", "", "[default]\ns3 =\n preferred_transfer_client = auto"])),
    }


@st.composite
def responses(draw: st.DrawFn, environment: dict[str, Any]) -> dict[str, Any]:
    file = draw(st.sampled_from(environment["files"]))
    directory = draw(st.sampled_from(environment["file_dirs"]))["name"]
    bodies = [draw(st.text(max_size=10)), {"file": file["name"]}, {"file": f"{directory}/file-000002"}]
    response: dict[str, Any] = {"body": draw(st.sampled_from([*bodies, {"listing": directory, "prefix": "p/"}]))}
    if draw(st.booleans()):
        response["match"] = {"method": draw(st.sampled_from(["GET", "HEAD"])), "path": "/b/*", "query": {"x": ""}}
        response["instances"] = draw(st.sampled_from(["any", 1, 7]))
    if response["body"] == {"file": file["name"]} and draw(st.booleans()):
        response["headers"] = {"Content-Length": str(int(file["size"]))}
    if draw(st.booleans()):
        response |= {"status_code": draw(st.sampled_from([200, 206, 404, 503])), "delay": draw(st.floats(0, 5))}
    return response


@st.composite
def definitions(draw: st.DrawFn) -> list[dict[str, Any]]:
    written = []
    for number in range(draw(st.integers(1, 3))):
        environment = draw(environments())
        transfers = draw(st.booleans())
        definition: dict[str, Any] = {
            "name": f"{draw(WORDS)}{number}",
            "command": ["s3", "sync", ".", "s3://b"]
            if transfers
            else ["sqs", draw(WORDS), draw(st.sampled_from(["", "x"]))],
            "environment": environment,
            "responses": draw(st.lists(responses(environment), max_size=3)),
            "dimensions": [{"name": name, "value": name} for name in draw(st.lists(WORDS, max_size=2, unique=True))],
            "clients": draw(
                st.lists(st.sampled_from(EVERY_CLIENT if transfers else AWS_CLI), min_size=1, max_size=3, unique=True)
            ),
            "tags": draw(st.lists(WORDS, max_size=2, unique=True)),
        }
        left_out = draw(st.sets(st.sampled_from(["responses", "dimensions", "clients", "tags"])))
        written.append({key: value for key, value in definition.items() if key not in left_out})
    return written


def planned(parsed: tuple[Definition, ...]) -> int:
    plan = plan_runs(parsed, clients=(), select=None, num_chunks=1, chunk_id=0, iterations=1, warmup=0)
    return len(plan.cells)


VALIDATOR = jsonschema.Draft202012Validator(json_schema(known_clients()))


@given(written=definitions())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_right_definitions_parse_and_plan_and_fit_the_schema(written: list[dict[str, Any]]) -> None:
    parsed = parse_definitions(json.dumps(written), "x", known_clients())
    assert len(parsed) == len(written)
    assert planned(parsed) == sum(len(definition.get("clients", ["cli"])) for definition in written)
    assert VALIDATOR.is_valid(written)


def reported(text: str) -> tuple[Problem, ...]:
    """The problems of `text`; none when it parses."""
    try:
        parse_definitions(text, "x", known_clients())
    except BadDefinitions as error:
        return error.problems
    return ()


def complete(problems: tuple[Problem, ...]) -> bool:
    return all(problem.path.startswith("$") and problem.what and problem.fix for problem in problems)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def _places(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for step, item in inner for place in _places(item, (*at, step)))]


def _with(value: Any, place: tuple[str | int, ...], new: Any) -> Any:
    if not place:
        return new
    changed = copy.copy(value)
    changed[place[0]] = _with(value[place[0]], place[1:], new)
    return changed


@given(data=st.data(), written=definitions(), new=JSON)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_a_value_replaced_anywhere_parses_or_is_reported_with_its_path(
    data: st.DataObject, written: list[dict[str, Any]], new: Any
) -> None:
    place = data.draw(st.sampled_from(_places(written)))
    document = _with(written, place, new)
    problems = reported(json.dumps(document))
    assert complete(problems)
    # What the schema refuses the parser refuses too; the parser also knows what must agree.
    assert problems or VALIDATOR.is_valid(document)


@given(data=st.data(), written=definitions())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_a_misspelt_key_anywhere_is_reported_at_its_own_path(
    data: st.DataObject, written: list[dict[str, Any]]
) -> None:
    free = {"headers", "query"}
    objects = [
        place for place in _places(written) if isinstance(_at(written, place), dict) and not free & set(place[-1:])
    ]
    place = data.draw(st.sampled_from([place for place in objects if _at(written, place)]))
    wrong = dict(_at(written, place))
    key = data.draw(st.sampled_from(sorted(wrong)))
    wrong[f"{key}_x"] = wrong.pop(key)
    with pytest.raises(BadDefinitions) as caught:
        parse_definitions(json.dumps(_with(written, place, wrong)), "x", known_clients())
    unknown = [problem for problem in caught.value.problems if problem.what == "is an unknown key"]
    assert [problem.path.rpartition(".")[2] for problem in unknown] == [f"{key}_x"]
    assert f"`{key}`" in unknown[0].fix


def _at(value: Any, place: tuple[str | int, ...]) -> Any:
    for step in place:
        value = value[step]
    return value


@given(document=JSON)
def test_any_json_is_definitions_or_problems(document: Any) -> None:
    assert complete(reported(json.dumps(document)))


@given(text=st.text(alphabet='[]{}",:0123456789.eE+-truefalsn \\ud', max_size=60) | st.text(max_size=60))
def test_any_text_is_definitions_or_problems(text: str) -> None:
    assert complete(reported(text))
