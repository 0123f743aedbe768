"""The POST policy: what the fields of a browser-based upload must be, and how large its file may be.

https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html; codes and messages are those of
recorded responses of S3, where there are any (docs/s3-behaviour.md). Pure.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from s3bench.s3.protocol.decimals import parse_decimal
from s3bench.s3.protocol.s3_error import S3Error

_EXEMPT = frozenset({"awsaccesskeyid", "file", "policy", "signature", "x-amz-signature"})
_EXEMPT_PREFIX = "x-ignore-"
_RANGE = "content-length-range"
_OPERATORS = frozenset({"eq", "starts-with", _RANGE})
_ARGUMENTS = 3
_EXPIRATION = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z", re.ASCII)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCondition:
    """One condition as S3 repeats it in errors: `["eq", "$key", "value"]`; of a range, the least and the most bytes."""

    operator: str
    first: str
    second: str

    @property
    def field(self) -> str:
        """The form field that it is about, in lower case; empty where it names none."""
        return self.first.removeprefix("$").lower() if self.first.startswith("$") else ""

    @property
    def size_range(self) -> tuple[int, int] | None:
        """The least and the most bytes that a file may have; `None` where they are no numbers."""
        least, most = parse_decimal(self.first), parse_decimal(self.second)
        return None if least is None or most is None else (least, most)

    def holds(self, fields: Mapping[str, str]) -> bool:
        """Whether `fields` are as it says; a field that is not there is not."""
        if self.operator == _RANGE:
            return self.size_range is not None
        value = fields.get(self.field)
        if value is None:
            return False
        if self.operator == "eq":
            return value == self.second
        if self.field == "content-type":  # a list, each of which must fit
            return all(one.lstrip().startswith(self.second) for one in value.split(","))
        return value.startswith(self.second)

    def __str__(self) -> str:
        return json.dumps([self.operator, self.first, self.second], ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostPolicy:
    """A policy: when it expires, in seconds since 1970, and its conditions in order."""

    expires_s: float
    conditions: tuple[PolicyCondition, ...]

    def check(self, fields: Mapping[str, str], now_s: float) -> None:
        """Check the form, whose names are in lower case and have `bucket` among them. Raises `S3Error`."""
        if now_s > self.expires_s:
            raise _violated("Policy expired.")
        for condition in self.conditions:
            if not condition.holds(fields):
                raise _violated(f"Policy Condition failed: {condition}")
        covered = {condition.field for condition in self.conditions} | _EXEMPT
        extra = [name for name in fields if name not in covered and not name.startswith(_EXEMPT_PREFIX)]
        if extra:
            raise _violated(f"Extra input fields: {', '.join(extra)}")

    @property
    def size_ranges(self) -> tuple[tuple[int, int], ...]:
        """The least and the most bytes that the file may have, by each condition about it."""
        ranges = (condition.size_range for condition in self.conditions if condition.operator == _RANGE)
        return tuple(found for found in ranges if found is not None)


def parse_policy(text: str) -> PostPolicy:
    """Read the field `policy`: JSON in base64. Raises `S3Error`."""
    try:
        decoded = base64.b64decode(text, validate=True).decode()
        content = json.loads(_ESCAPE.sub(_unescaped_dollar, decoded))
    except (ValueError, RecursionError, binascii.Error):  # a UnicodeDecodeError is a ValueError
        content = None
    if not isinstance(content, dict):
        raise _invalid("Invalid JSON.")
    for name in ("expiration", "conditions"):
        if name not in content:
            raise _invalid(f"Policy missing {name}.")
    conditions = content["conditions"]
    if not isinstance(conditions, list):
        raise _invalid("Invalid 'conditions' value: it must be a list.")
    return PostPolicy(
        expires_s=_expiration(content["expiration"]), conditions=tuple(_condition(item) for item in conditions)
    )


def check_size(ranges: tuple[tuple[int, int], ...], size_bytes: int) -> None:
    """Check the size of a file against the ranges of its policy. Raises `S3Error`."""
    for least, most in ranges:
        if size_bytes > most:
            message, limit = "Your proposed upload exceeds the maximum allowed size", ("MaxSizeAllowed", str(most))
            code = "EntityTooLarge"
        elif size_bytes < least:
            message = "Your proposed upload is smaller than the minimum allowed size"
            limit, code = ("MinSizeAllowed", str(least)), "EntityTooSmall"
        else:
            continue
        details = (("ProposedSize", str(size_bytes)), limit)
        raise S3Error(status=400, code=code, message=message, details=details)


def _unescaped_dollar(found: re.Match[str]) -> str:
    """Undo the escape that policies have beside those of JSON: a backslash before a dollar sign."""
    return "$" if found[1] == "$" else found[0]


def _expiration(text: Any) -> float:
    if isinstance(text, str) and _EXPIRATION.fullmatch(text) is not None:
        try:
            return datetime.fromisoformat(text).astimezone(UTC).timestamp()
        except (ValueError, OverflowError):
            pass
    raise _invalid(f"Invalid 'expiration' value: '{text}'")


def _condition(item: Any) -> PolicyCondition:
    if isinstance(item, dict):
        if len(item) != 1:
            raise _invalid("Invalid Simple-Condition: Simple-Conditions must have exactly one property specified.")
        ((name, value),) = item.items()
        if not isinstance(value, str):
            raise _invalid("Invalid Simple-Condition: value must be a string.")
        return PolicyCondition(operator="eq", first=f"${name}", second=value)
    if not isinstance(item, list) or not item or not isinstance(item[0], str):
        raise _invalid("Invalid Condition: it must be a list or an object.")
    operator = item[0].lower()
    if operator not in _OPERATORS:
        raise _invalid(f"Invalid Condition: unknown operation '{item[0]}'.")
    if len(item) != _ARGUMENTS:
        raise _invalid(f"Invalid Condition: '{operator}' needs two arguments.")
    first, second = item[1:]
    for argument in (first, second):
        if not isinstance(argument, str) and not (operator == _RANGE and type(argument) is int):
            raise _invalid(f"Invalid Condition: an argument of '{operator}' has the wrong type.")
    return PolicyCondition(operator=operator, first=str(first), second=str(second))


def _invalid(why: str) -> S3Error:
    return S3Error(status=400, code="InvalidPolicyDocument", message=f"Invalid Policy: {why}")


def _violated(why: str) -> S3Error:
    return S3Error(status=403, code="AccessDenied", message=f"Invalid according to Policy: {why}")
