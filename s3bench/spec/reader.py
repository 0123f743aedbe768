"""Decodes JSON text to a tree that keeps duplicate keys, and collects problems with their JSON paths."""

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from s3bench.errors import Problem

Steps = tuple[str | int, ...]
"""The path from the top of a document to a value: keys and indices."""

_SHOWN_CHARACTERS = 60
_WHOLE_DIGITS_MAX = 300  # far beyond every limit, and far below the 4300 digits at which int() refuses
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class JsonObject:
    """A JSON object as written: its pairs in order, including duplicate keys."""

    pairs: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class NotJson:
    """`NaN`, `Infinity` or `-Infinity`: accepted by Python's decoder, but not JSON (RFC 8259)."""

    word: str


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong with a value, and how to fix it; the report adds its path."""

    what: str
    fix: str


class Report:
    """The problems of one document, and which values they affect."""

    def __init__(self) -> None:
        self._found: list[tuple[Steps, Complaint]] = []
        self._at: set[Steps] = set()
        self._above: set[Steps] = set()

    def add(self, at: Steps, complaint: Complaint) -> None:
        """Add a problem of the value `at`."""
        self._found.append((at, complaint))
        self.distrust(at)

    def distrust(self, at: Steps) -> None:
        """Mark the value `at` as affected without adding a problem."""
        self._at.add(at)
        self._above.update(at[:depth] for depth in range(len(at)))

    def touches(self, at: Steps) -> bool:
        """Whether the value `at`, something inside it or something around it has a problem.

        Rules that compare several values check this first, since a value that could not be read is meaningless.
        """
        return at in self._above or self.touches_whole(at)

    def touches_whole(self, at: Steps) -> bool:
        """Whether the value `at` itself or something around it has a problem, so that it could not be read at all."""
        return any(at[:depth] in self._at for depth in range(len(at) + 1))

    def problems(self, document: object) -> tuple[Problem, ...]:
        """All problems in the order of the file; a missing key comes after the existing keys."""
        ordered = sorted(self._found, key=lambda found: _position(document, found[0]))
        return tuple(Problem(path=render_path(at), what=said.what, fix=said.fix) for at, said in ordered)


def _position(document: Any, at: Steps) -> tuple[int, ...]:
    position = []
    value = document
    for step in at:
        if isinstance(value, JsonObject):
            keys = [key for key, _ in value.pairs]
            index = keys.index(step) if step in keys else len(keys)
            value = value.pairs[index][1] if index < len(keys) else None
        elif isinstance(value, list):
            index = int(step)
            value = value[index]
        else:  # inside a key that is missing, or was read under another name
            break
        position.append(index)
    return tuple(position)


def decode_json(text: str) -> Any:
    """Return the tree of `text`, or a `Complaint` if it is not JSON.

    The tree consists of `JsonObject`, list, str, int, float, bool, `None` and `NotJson`.
    Extremely long integers become an infinite float, which no key accepts.
    """
    try:
        return json.loads(text, object_pairs_hook=_json_object, parse_constant=NotJson, parse_int=_whole)
    except json.JSONDecodeError as error:
        line = text.split("\n")[error.lineno - 1].strip()
        return Complaint(
            f"is not JSON: line {error.lineno}, column {error.colno}: {error.msg}",
            f"fix the text there: `{_shortened(line)}`" if line else "fix the text there, or just before it",
        )
    except RecursionError:
        return Complaint("is nested too deeply", "write definitions, which have at most six levels")


def _json_object(pairs: list[tuple[str, Any]]) -> JsonObject:
    return JsonObject(tuple(pairs))


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _WHOLE_DIGITS_MAX else float(digits)


def render_path(at: Steps) -> str:
    """`$[3].environment.files[0].size`; keys that are not plain words as `["x-amz-meta"]`."""
    return "$" + "".join(_render_step(step) for step in at)


def _render_step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _PLAIN_KEY.match(step) else f"[{json.dumps(step)}]"


def render_kind(value: object) -> str:
    """Return the JSON type of `value` in words, with its value if that is short: `the string "12"`, `an object`."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"the string {quoted(value)}"
        case int() | float():
            return f"the number {_shortened(str(value))}"
        case NotJson():
            return f"{value.word}, which JSON does not have"
        case JsonObject():
            return "an object"
        case _:
            return "a list"


def quoted(text: str) -> str:
    """`text` in double quotes, escaped as in JSON, shortened if long."""
    return json.dumps(_shortened(text), ensure_ascii=not text.isprintable())


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 3]}..."


def nearest(word: str, right: Iterable[str]) -> str | None:
    """Return the word of `right` most similar to `word`, ignoring case; `None` if none is similar."""
    by_folded = {candidate.casefold(): candidate for candidate in right}
    found = difflib.get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def one_of(words: Iterable[str]) -> str:
    """`` `a`, `b` or `c` ``."""
    *most, last = [f"`{word}`" for word in words]
    return f"{', '.join(most)} or {last}" if most else last
