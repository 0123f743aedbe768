"""Decodes YAML into the tree that `s3bench.spec.reader` makes of JSON, with the line of each value.

Only the plain types of YAML are made, whatever tags the text has, and no Python objects.
"""

from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.constructor import ConstructorError, SafeConstructor

from s3bench.spec.reader import Complaint, JsonObject, Steps

_VALUES_MAX = 100_000  # aliases can multiply a short text into an endless tree
_DEPTH_MAX = 20

_TAG = "tag:yaml.org,2002:"


@dataclass(slots=True)
class YamlTree:
    """A decoded text: `value` as `decode_json` gives it, and the lines, from 1, at which values begin."""

    value: Any = None
    lines: dict[Steps, int] = field(default_factory=dict)


def decode_yaml(text: str) -> YamlTree | Complaint:
    """Return the tree of `text`, or a `Complaint` if it is not YAML."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        return _complaint(error, text)
    except yaml.YAMLError as error:  # a character that YAML does not allow
        return Complaint(f"is not YAML: {str(error).splitlines()[0]}", "take the character out")
    except RecursionError:
        return Complaint("is nested too deeply", f"write at most {_DEPTH_MAX} levels")
    tree = YamlTree()
    if node is None:
        return tree
    try:
        tree.value = _value(node, (), tree.lines)
    except _TooLargeError:
        return Complaint("is too large, or its aliases go round in circles", "write it without aliases")
    return tree


class _TooLargeError(Exception):
    """The tree has more values or levels than any profile."""


def _value(node: yaml.Node, at: Steps, lines: dict[Steps, int]) -> Any:
    if len(at) > _DEPTH_MAX or len(lines) > _VALUES_MAX:
        raise _TooLargeError
    lines.setdefault(at, node.start_mark.line + 1)
    match node:
        case yaml.MappingNode():
            return JsonObject(tuple(_pair(key, value, at, lines) for key, value in node.value))
        case yaml.SequenceNode():
            return [_value(item, (*at, index), lines) for index, item in enumerate(node.value)]
        case yaml.ScalarNode():
            return _scalar(node)
        case _:
            raise AssertionError(node)


def _pair(key: yaml.Node, value: yaml.Node, at: Steps, lines: dict[Steps, int]) -> tuple[str, Any]:
    name = key.value if isinstance(key, yaml.ScalarNode) else "a key that is not a plain word"
    lines[*at, name] = key.start_mark.line + 1
    return name, _value(value, (*at, name), lines)


def _scalar(node: yaml.ScalarNode) -> str | int | float | bool | None:
    constructor = SafeConstructor()
    try:
        match node.tag.removeprefix(_TAG):
            case "null":
                return None
            case "bool":
                return bool(constructor.construct_yaml_bool(node))
            case "int":
                return int(constructor.construct_yaml_int(node))
            case "float":
                return float(constructor.construct_yaml_float(node))
    except (ValueError, KeyError, ConstructorError):  # words that only look like the type, such as `0b_`, or `!!int x`
        pass
    return str(node.value)


def _complaint(error: yaml.MarkedYAMLError, text: str) -> Complaint:
    mark = error.problem_mark or error.context_mark
    said = ": ".join(part for part in (error.context, error.problem) if part)
    if mark is None:
        return Complaint(f"is not YAML: {said}", "correct the text")
    lines = text.splitlines()
    line = lines[mark.line].strip() if mark.line < len(lines) else ""
    return Complaint(
        f"is not YAML: line {mark.line + 1}, column {mark.column + 1}: {said}",
        f"correct the text there: `{line[:60]}`" if line else "correct the text there, or just before it",
    )
