"""Shapes of single JSON values: each reads a value into its Python type and describes itself as JSON Schema.

Lists and objects are in `s3bench.spec.compound`. Reading does not stop at a problem: it is added to the report, and a
blank of the right type is used instead, so that one pass finds all problems.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

from s3bench.spec.reader import Complaint, Report, Steps, nearest, one_of, quoted, render_kind

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Shape(Protocol[T_co]):
    """The shape of a JSON value."""

    @property
    def noun(self) -> str:
        """The shape in words, with an article: `a string`."""
        ...

    def read(self, value: Any, at: Steps, report: Report) -> T_co:
        """`value` as its Python type; for a problem, which goes to `report`, a blank value."""
        ...

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema, draft 2020-12."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRule:
    """A rule for strings: `check` returns the complaint, `pattern` is the same rule for JSON Schema."""

    check: Callable[[str], Complaint | None]
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A string that can be encoded as UTF-8."""

    rule: TextRule | None = None
    noun: str = "a string"

    def read(self, value: Any, at: Steps, report: Report) -> str:
        """Return the string, or an empty one."""
        if not isinstance(value, str):
            report.add(at, wrong_kind(value, at, self.noun, f"write {self.noun} in double quotes"))
            return ""
        complaint = unencodable(value) or (self.rule.check(value) if self.rule else None)
        if complaint:
            report.add(at, complaint)
            return ""
        return value

    def schema(self) -> dict[str, Any]:
        """`type: string`, with the rule's pattern."""
        return {"type": "string"} | ({"pattern": self.rule.pattern} if self.rule else {})


def unencodable(text: str) -> Complaint | None:
    """The complaint about a string that cannot be encoded as UTF-8, or `None`."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return Complaint(
            f"cannot be encoded as UTF-8: character {error.start} is half of a surrogate pair",
            "write the character itself, or both halves of its \\u escape",
        )
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeNumber:
    """A whole number between two limits. `3.2e7` is valid, `true` is not; `why_maximum` explains the limit."""

    minimum: int
    maximum: int
    unit: str = ""
    why_maximum: str = ""

    @property
    def noun(self) -> str:
        """`a whole number of bytes`."""
        return f"a whole number of {self.unit}" if self.unit else "a whole number"

    def read(self, value: Any, at: Steps, report: Report) -> int:
        """Return the number, or `minimum`."""
        number = _as_whole(value)
        if number is None:
            hint = (
                f"write it without quotes: {value}" if _digits(value) else f"write {self.noun}, e.g. {self._example()}"
            )
            report.add(at, wrong_kind(value, at, self.noun, hint))
        elif number < self.minimum:
            report.add(
                at, Complaint(f"is {number}, below the minimum of {self.minimum}", f"write {self.minimum} or more")
            )
        elif number > self.maximum:
            reason = f" ({self.why_maximum})" if self.why_maximum else ""
            report.add(
                at,
                Complaint(f"is {number}, above the maximum of {self.maximum}{reason}", f"write {self.maximum} or less"),
            )
        else:
            return number
        return self.minimum

    def _example(self) -> int:
        return max(self.minimum, 1)

    def schema(self) -> dict[str, Any]:
        """`type: integer` with both limits."""
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}


def _as_whole(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    # JSON Schema's `integer` is any number without a fraction, and people write 3.2e7. All limits lie below 2**53,
    # where such a number is exact.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def _digits(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdigit()


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """True or false."""

    noun: str = "true or false"

    def read(self, value: Any, at: Steps, report: Report) -> bool:
        """Return the value, or false."""
        if not isinstance(value, bool):
            report.add(at, wrong_kind(value, at, self.noun, "write true or false, without quotes"))
            return False
        return value

    def schema(self) -> dict[str, Any]:
        """`type: boolean`."""
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """A number of seconds; `above_zero` forbids zero itself."""

    maximum: float
    above_zero: bool = False
    noun: str = "a number of seconds"

    def read(self, value: Any, at: Steps, report: Report) -> float:
        """Return the seconds, or 0."""
        least = "above 0" if self.above_zero else "at least 0"
        if isinstance(value, bool) or not isinstance(value, int | float):
            report.add(at, wrong_kind(value, at, self.noun, f"write {self.noun}, {least}, e.g. 0.5"))
        elif value < 0 or (self.above_zero and value == 0):
            report.add(at, Complaint(f"is {value} seconds", f"write {self.noun} {least}"))
        elif value > self.maximum:
            report.add(at, Complaint(f"is {value} seconds, longer than a day", f"write {self.maximum:g} or less"))
        else:
            return float(value)
        return 0.0

    def schema(self) -> dict[str, Any]:
        """`type: number` with its limits."""
        lower = "exclusiveMinimum" if self.above_zero else "minimum"
        return {"type": "number", lower: 0, "maximum": self.maximum}


WordT = TypeVar("WordT", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Word(Generic[WordT]):
    """One of the words of `words`; the first is the blank."""

    words: type[WordT]
    noun: str

    def read(self, value: Any, at: Steps, report: Report) -> WordT:
        """Return the word, or the blank."""
        right = [str(word) for word in self.words]
        if isinstance(value, str) and value in right:
            return self.words(value)
        report.add(at, _not_among(value, right, at, self.noun))
        return next(iter(self.words))

    def schema(self) -> dict[str, Any]:
        """`enum` of the words."""
        return {"enum": [str(word) for word in self.words]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """One of `names`, which are known only when a file is read; the first is the blank."""

    names: tuple[str, ...]
    noun: str

    def read(self, value: Any, at: Steps, report: Report) -> str:
        """Return the name, or the blank."""
        if isinstance(value, str) and value in self.names:
            return value
        report.add(at, _not_among(value, self.names, at, self.noun))
        return self.names[0]

    def schema(self) -> dict[str, Any]:
        """`enum` of the names."""
        return {"enum": list(self.names)}


def _not_among(value: object, right: Sequence[str], at: Steps, noun: str) -> Complaint:
    if not isinstance(value, str):
        return wrong_kind(value, at, noun, f"write {one_of(right)}")
    near = nearest(value, right)
    fix = f"did you mean `{near}`? It must be {one_of(right)}" if near else f"write {one_of(right)}"
    return Complaint(f"is {quoted(value)}, which is not {noun}", fix)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedWord(Generic[T]):
    """The one string `word`, which stands for the value `means`."""

    word: str
    means: T

    @property
    def noun(self) -> str:
        """`"any"`."""
        return f'"{self.word}"'

    def read(self, value: Any, at: Steps, report: Report) -> T:
        """Return what the word means, whatever was written."""
        if value != self.word:
            fix = f"write it without quotes: {value}" if _digits(value) else f"write {self.noun}"
            report.add(at, Complaint(f"is {render_kind(value)}, not {self.noun}", fix))
        return self.means

    def schema(self) -> dict[str, Any]:
        """`const` of the word."""
        return {"const": self.word}


def wrong_kind(value: object, at: Steps, noun: str, fix: str) -> Complaint:
    """The complaint that `value` is not `noun`; `fix` says what to write."""
    if value is None and at and isinstance(at[-1], str):
        return Complaint(f"is null, not {noun}", f"{fix}, or omit the key if it is optional")
    return Complaint(f"is {render_kind(value)}, not {noun}", fix)
