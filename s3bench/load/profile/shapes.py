"""Shapes of the values in a load profile: quantities, flags, operation mixes, dimensions, URLs and buckets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from s3bench.load.operation import MIXABLE, OperationKind
from s3bench.load.profile.profile import Share
from s3bench.load.profile.quantity import parse_kind
from s3bench.spec.reader import Complaint, JsonObject, Report, Steps
from s3bench.spec.shape import Flag, Text, TextRule, wrong_kind
from s3bench.spec.table import LABEL
from s3bench.units import BadQuantity, parse_number

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileQuantity(Generic[T]):
    """A number, or text with a unit, that `parse` reads; `blank` stands for a wrong one, `render` is for readers."""

    parse: Callable[[str], T]
    noun: str
    example: str
    blank: T
    render: Callable[[T], str] | None = None

    def read(self, value: Any, at: Steps, report: Report) -> T:
        """Return the quantity, or the blank."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            report.add(at, wrong_kind(value, at, self.noun, f"write {self.noun}, e.g. {self.example}"))
            return self.blank
        try:
            return self.parse(str(value))
        except BadQuantity as bad:
            report.add(at, Complaint(bad.what, bad.fix))
            return self.blank

    def schema(self) -> dict[str, Any]:
        """A number or a string."""
        return {"type": ["number", "string"]}


WEIGHT = ProfileQuantity(parse=parse_number, noun="a weight", example="70", blank=1.0)
NAME = Text(rule=LABEL)


@dataclass(frozen=True, slots=True)
class MixShape:
    """Operations and their weights."""

    noun: str = "an object of operations and weights"

    def read(self, value: Any, at: Steps, report: Report) -> tuple[Share, ...]:
        """Return the shares that can be read."""
        if not isinstance(value, JsonObject) or not value.pairs:
            report.add(at, wrong_kind(value, at, self.noun, "write e.g. {get: 70, put: 30}"))
            return ()
        shares: dict[OperationKind, Share] = {}
        for name, content in value.pairs:
            weight = WEIGHT.read(content, (*at, name), report)
            try:
                kind = parse_kind(name)
            except BadQuantity as bad:
                report.add((*at, name), Complaint(bad.what, bad.fix))
                continue
            if kind in shares:
                report.add((*at, name), Complaint("is given twice", "keep one of them"))
            elif not weight and not report.touches((*at, name)):
                report.add((*at, name), Complaint("has no weight", "write a weight above 0, or take it out"))
            shares[kind] = Share(kind=kind, weight=weight)
        return tuple(shares.values())

    def schema(self) -> dict[str, Any]:
        """`type: object` of numbers."""
        names = {"enum": [str(kind) for kind in MIXABLE]}
        return {"type": "object", "propertyNames": names, "additionalProperties": {"type": "number"}}


@dataclass(frozen=True, slots=True)
class DimensionShape:
    """One name and its value."""

    noun: str = "an object of one name and its value"

    def read(self, value: Any, at: Steps, report: Report) -> dict[str, str]:
        """Return the name and its value, or nothing."""
        if not isinstance(value, JsonObject) or len(value.pairs) != 1:
            report.add(at, wrong_kind(value, at, self.noun, 'write e.g. {"size": "1 KiB"}'))
            return {}
        [(name, content)] = value.pairs
        NAME.read(name, (*at, name), report)
        return {name: NAME.read(content, (*at, name), report)}

    def schema(self) -> dict[str, Any]:
        """`type: object` of one string."""
        return {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": {"type": "string"}}


def _check_url(text: str) -> Complaint | None:
    if text.lower().startswith(("http://", "https://")):
        return None
    if "@" in text:
        fix = "take them out of the URL; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead"
        return Complaint("holds a user name or a password", fix)
    return Complaint("is not a URL", "write it like http://127.0.0.1:9000")  # not repeated: it may hold a password


def _check_bucket(text: str) -> Complaint | None:
    if text and "/" not in text and text.isprintable() and " " not in text:
        return None
    return Complaint("is not the name of a bucket", "write the name of a bucket that exists")


FLAG = Flag()
URL = Text(rule=TextRule(check=_check_url, pattern="^[Hh][Tt][Tt][Pp][Ss]?://"), noun="a URL")
BUCKET = Text(rule=TextRule(check=_check_bucket, pattern="^[^/ ]+$"), noun="the name of a bucket")
