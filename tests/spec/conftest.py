"""What the tests of definitions share: a small right definition, and the problems of a wrong one."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from s3bench.clients.registry import known_clients
from s3bench.errors import BadDefinitions
from s3bench.spec.definition import Definition
from s3bench.spec.parse import parse_definitions

Parse = Callable[..., Definition]
Problems = Callable[..., list[str]]


def _written(**keys: Any) -> dict[str, Any]:
    return {"name": "a", "command": ["s3", "cp", "test_file", "s3://bucket/test_file"]} | keys


@pytest.fixture
def parse() -> Parse:
    """Parse one definition with the given keys."""

    def parse_one(**keys: Any) -> Definition:
        [definition] = parse_definitions(json.dumps([_written(**keys)]), "test.json", known_clients())
        return definition

    return parse_one


@pytest.fixture
def problems() -> Problems:
    """The problems of one definition with the given keys, as `path: what; fix`; empty when it is right."""

    def problems_of(**keys: Any) -> list[str]:
        try:
            parse_definitions(json.dumps([_written(**keys)]), "test.json", known_clients())
        except BadDefinitions as error:
            return [str(problem) for problem in error.problems]
        return []

    return problems_of
