"""Checks HTTP header names and values, methods and paths in definitions (RFC 9110)."""

import re

from s3bench.spec.reader import Complaint, quoted
from s3bench.spec.shape import TextRule

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
_METHOD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Z-]+")
_FORBIDDEN = re.compile(r"[^\t\x20-\x7e\x80-\xff]")  # RFC 9110, section 5.5: VCHAR, SP, HTAB, obs-text


def _check_field_name(name: str) -> Complaint | None:
    if _TOKEN.fullmatch(name):
        return None
    return Complaint(
        f"{quoted(name)} is not a header name", "use letters, digits and `-`, e.g. `ETag` (a token of RFC 9110)"
    )


def _check_field_value(value: str) -> Complaint | None:
    found = _FORBIDDEN.search(value)
    if found and found.group() in "\r\n":
        return Complaint("has a line break, which would begin another header", "write the value in one line")
    if found:
        return Complaint(
            f"has the character {quoted(found.group())}, which a header value cannot contain",
            "use visible ASCII and spaces (RFC 9110, section 5.5)",
        )
    if value != value.strip(" \t"):
        return Complaint("has spaces at its ends, which HTTP does not transmit", f"write {quoted(value.strip())}")
    return None


def _check_method(method: str) -> Complaint | None:
    if _METHOD.fullmatch(method):
        return None
    if _METHOD.fullmatch(method.upper()):
        return Complaint(f"is {quoted(method)}; methods are upper-case", f"write {quoted(method.upper())}")
    return Complaint(f"is {quoted(method)}, which is not an HTTP method", "write GET, HEAD, PUT, POST or DELETE")


def _check_path(path: str) -> Complaint | None:
    if not path.startswith(("/", "*")):
        return Complaint(
            f"is {quoted(path)}, which matches no request's path", f"begin with `/` or `*`: {quoted(f'/{path}')}"
        )
    if "?" in path:
        before, _, _ = path.partition("?")
        return Complaint(
            f"is {quoted(path)}: it has a query",
            f'write {quoted(before)} and put the query under `query`, e.g. {{"uploads": ""}}',
        )
    return None


def _anything(_text: str) -> Complaint | None:
    return None


def _check_query_name(name: str) -> Complaint | None:
    return None if name else Complaint("is empty", "name a query parameter")


FIELD_NAME = TextRule(check=_check_field_name, pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
"""A header name."""

FIELD_VALUE = TextRule(
    check=_check_field_value,
    pattern=r"^$|^[\u0021-\u007e\u0080-\u00ff](?:[\t\u0020-\u007e\u0080-\u00ff]*[\u0021-\u007e\u0080-\u00ff])?$",
)
"""A header value: Latin-1 without control characters, no spaces at its ends."""

METHOD = TextRule(check=_check_method, pattern=r"^[!#$%&'*+.^_`|~0-9A-Z-]+$")
"""A request method in upper case."""

PATH = TextRule(check=_check_path, pattern=r"^[/*][^?]*$")
"""A decoded URL path, in which `*` matches any characters."""

QUERY_NAME = TextRule(check=_check_query_name, pattern=r"^[\s\S]+$")
"""The name of a query parameter."""

QUERY_VALUE = TextRule(check=_anything, pattern=r"^[\s\S]*$")
"""The value of a query parameter; empty to match any value."""
