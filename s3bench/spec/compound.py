"""Shapes of compound JSON values: lists, objects with free keys, objects with known keys, and one of two shapes."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from s3bench.spec.reader import Complaint, JsonObject, Report, Steps, nearest, one_of, quoted
from s3bench.spec.shape import Shape, TextRule, unencodable, wrong_kind

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf(Generic[T]):
    """A list of items of one shape; at least `least`, and without duplicates if `distinct`."""

    item: Shape[T]
    least: int = 0
    distinct: bool = False
    noun: str = "a list"

    def read(self, value: Any, at: Steps, report: Report) -> tuple[T, ...]:
        """Return the items in order (with blanks for wrong ones, so that indices are right), or an empty tuple."""
        if not isinstance(value, list):
            report.add(at, wrong_kind(value, at, self.noun, f"write {self.noun} in square brackets"))
            return ()
        if len(value) < self.least:
            report.add(at, Complaint("is empty", f"put {self.item.noun} into it, or omit the key if it is optional"))
        items = tuple(self.item.read(item, (*at, index), report) for index, item in enumerate(value))
        if self.distinct:
            self._check_distinct(items, at, report)
        return items

    def _check_distinct(self, items: tuple[T, ...], at: Steps, report: Report) -> None:
        first: dict[T, int] = {}
        for index, item in enumerate(items):
            if report.touches((*at, index)):
                continue
            if item in first:
                what = f"is {quoted(str(item))}, which is already at [{first[item]}]"
                report.add((*at, index), Complaint(what, "remove one of the two"))
            first.setdefault(item, index)

    def schema(self) -> dict[str, Any]:
        """`type: array` of the item's schema."""
        limits = ({"minItems": self.least} if self.least else {}) | ({"uniqueItems": True} if self.distinct else {})
        return {"type": "array", "items": self.item.schema()} | limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs(Generic[T]):
    """An object with free keys and values of one shape."""

    name_rule: TextRule
    value: Shape[T]
    noun: str = "an object of strings"
    example: str = '{"name": "value"}'

    def read(self, value: Any, at: Steps, report: Report) -> tuple[tuple[str, T], ...]:
        """Return the pairs in order, wrong ones left out."""
        if not isinstance(value, JsonObject):
            report.add(at, wrong_kind(value, at, self.noun, f"write {self.noun}, e.g. {self.example}"))
            return ()
        _report_twice(value, at, report)
        pairs = []
        for name, content in value.pairs:
            complaint = unencodable(name) or self.name_rule.check(name)
            if complaint:
                report.add((*at, name), complaint)
            pairs.append((name, self.value.read(content, (*at, name), report)))
        return tuple((name, content) for name, content in pairs if not report.touches((*at, name)))

    def schema(self) -> dict[str, Any]:
        """`type: object` with patterns for names and values."""
        return {
            "type": "object",
            "propertyNames": {"pattern": self.name_rule.pattern},
            "additionalProperties": self.value.schema(),
        }


class _Nothing(StrEnum):
    NOTHING = "nothing"


NOTHING = _Nothing.NOTHING
"""The default of a key that has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordKey:
    """One key of a record: its name in JSON, the parameter it becomes, its shape and its meaning in a sentence.

    Without `becomes` the parameter has the same name.
    `default` is the value of an absent key, in JSON; a test checks that it equals the parameter's default.
    """

    name: str
    becomes: str = ""
    shape: Shape[Any]
    meaning: str
    required: bool = False
    default: Any = NOTHING
    examples: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "becomes", self.becomes or self.name)

    def schema(self) -> dict[str, Any]:
        """Return the shape's schema with description, default and examples."""
        schema = self.shape.schema() | {"description": self.meaning}
        if self.default is not NOTHING:
            schema["default"] = self.default
        return schema | ({"examples": list(self.examples)} if self.examples else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Generic[T]):
    """An object with known keys, converted to `make(**parameters)`.

    `outdated` recognises former forms of the object: its complaint then replaces those about single keys.
    """

    make: Callable[..., T]
    keys: tuple[RecordKey, ...]
    noun: str
    wrong_kind_fix: str = ""
    outdated: Callable[[JsonObject], Complaint | None] | None = None
    _by_name: dict[str, RecordKey] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {key.name: key for key in self.keys})

    def read(self, value: Any, at: Steps, report: Report) -> T:
        """Return the record, with blanks for wrong and missing keys."""
        if not isinstance(value, JsonObject):
            fix = self.wrong_kind_fix or f"write an object with {_all_of(self._by_name)}"
            report.add(at, wrong_kind(value, at, self.noun, fix))
            return self._blank()
        former = self.outdated(value) if self.outdated else None
        if former:
            report.add(at, former)
            return self._blank()
        _report_twice(value, at, report)
        given = {name: (name, content) for name, content in value.pairs}
        for name, content in value.pairs:
            if name not in self._by_name:
                near = nearest(name, (key for key in self._by_name if key not in given))
                report.add((*at, name), self._unknown(near))
                # Read it as the key that was probably meant, to find problems inside it in the same pass.
                if near:
                    given[near] = (name, content)
                    report.distrust((*at, near))
        parameters = {}
        for key in self.keys:
            if key.name in given:
                name, content = given[key.name]
                parameters[key.becomes] = key.shape.read(content, (*at, name), report)
            elif key.required:
                report.add((*at, key.name), Complaint("is missing", f"add `{key.name}`, {key.shape.noun}"))
                parameters[key.becomes] = key.shape.read(None, (), Report())
        return self.make(**parameters)

    def _blank(self) -> T:
        return self.read(JsonObject(()), (), Report())

    def _unknown(self, near: str | None) -> Complaint:
        fix = f"did you mean `{near}`?" if near else f"remove it; {self.noun} has {_all_of(self._by_name)}"
        return Complaint("is an unknown key", fix)

    def schema(self) -> dict[str, Any]:
        """`type: object` that allows only these keys."""
        return {
            "type": "object",
            "additionalProperties": False,
            "required": [key.name for key in self.keys if key.required],
            "properties": {key.name: key.schema() for key in self.keys},
        }


def _all_of(words: dict[str, RecordKey]) -> str:
    """`` `a`, `b` and `c` ``."""
    return one_of(words).replace(" or ", " and ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Either(Generic[T]):
    """One of two shapes: `special` for values of the Python type `special_type`, `usual` for all others."""

    usual: Shape[T]
    special: Shape[T]
    special_type: type

    @property
    def noun(self) -> str:
        """Both nouns."""
        return f"{self.usual.noun} or {self.special.noun}"

    def read(self, value: Any, at: Steps, report: Report) -> T:
        """Return the value, read as the shape for its type."""
        if isinstance(value, self.special_type):
            return self.special.read(value, at, report)
        return self.usual.read(value, at, report)

    def schema(self) -> dict[str, Any]:
        """`anyOf` the two."""
        return {"anyOf": [self.usual.schema(), self.special.schema()]}


@dataclass(frozen=True, slots=True, kw_only=True)
class ByKey(Generic[T]):
    """One of two kinds of objects: `special` if the object has one of its keys or a similar one, else `usual`."""

    usual: Record[Any]
    special: Record[Any]

    @property
    def noun(self) -> str:
        """Both nouns."""
        return f"{self.usual.noun} or {self.special.noun}"

    def read(self, value: Any, at: Steps, report: Report) -> T:
        """Return the value, read as the record for its keys."""
        special = [key.name for key in self.special.keys]
        every = [*special, *(key.name for key in self.usual.keys)]
        names = [name for name, _ in value.pairs] if isinstance(value, JsonObject) else []
        named = any(nearest(name, every) in special for name in names)
        read: T = (self.special if named else self.usual).read(value, at, report)
        return read

    def schema(self) -> dict[str, Any]:
        """`oneOf` the two: each requires a key that the other does not have."""
        return {"oneOf": [self.usual.schema(), self.special.schema()]}


def _report_twice(value: JsonObject, at: Steps, report: Report) -> None:
    for name, count in Counter(name for name, _ in value.pairs).items():
        if count > 1:
            report.add((*at, name), Complaint(f"is given {count} times in one object", "keep one of them"))
