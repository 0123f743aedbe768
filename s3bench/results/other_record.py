"""Recognises other files of s3bench where a results document is expected, and says which command shows them."""

from typing import Any

import msgspec

from s3bench.errors import BadInput
from s3bench.results.decoding import decode

_PAGE = "make its page with: s3bench report FILE -o page.html"
_SHOWN_BY = {
    "study_version": ("a study of `s3bench tune`", f"{_PAGE}; print its result with: s3bench tune --replay FILE"),
    "gate_version": ("the record of a gate", f"{_PAGE}; print its table with: s3bench gate --replay FILE"),
    "bisect_version": ("the record of a bisection", _PAGE),
    "profile_version": ("the record of a profile", _PAGE),
    "self_test_version": ("the record of a gate's self-test", "no command reads it; it is JSON for other programs"),
    "sizes_version": ("a file of sizes from `s3bench describe`", "tune for them with: s3bench tune upload --like FILE"),
}
"""What the file is that has this key in its first object, and how it is shown."""

_DEFINITIONS = ("a file of definitions", "measure them with: s3bench run FILE -o results.json")


class OtherRecord(BadInput):
    """A file of s3bench that is no results document."""


def refusal_of_record(content: bytes, *, source: str) -> OtherRecord | None:
    """The error about a file of s3bench that is no results document, or `None` for any other file."""
    for text in (content, content.partition(b"\n")[0]):  # a study has an object on each line
        try:
            found = _known(decode(text, Any))
        except msgspec.DecodeError:
            continue
        if found is not None:
            what, fix = found
            return OtherRecord(f"{source} is {what}, not a results document", fix=fix)
    return None


def _known(tree: object) -> tuple[str, str] | None:
    if isinstance(tree, list):
        is_definition = bool(tree) and all(
            isinstance(each, dict) and "name" in each and each.keys() & {"command", "environment"} for each in tree
        )
        return _DEFINITIONS if is_definition else None
    keys = tree if isinstance(tree, dict) else {}
    return next((shown for key, shown in _SHOWN_BY.items() if key in keys), None)
