"""Checks names of files: they must be relative, plain and inside the workspace.

Symbolic links cannot be seen in a name; the workspace checks them.
"""

import re

from s3bench.spec.reader import Complaint, quoted
from s3bench.spec.shape import TextRule

_COMPONENT_BYTES_MAX = 255  # NAME_MAX of the common Linux and macOS file systems
_NAME_BYTES_MAX = 1024  # the longest key of S3, and PATH_MAX of macOS
_LEVELS_MAX = 100  # far below the open directories and the recursion that removing a tree may take
_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")  # what Python makes of bytes in a file name that are not UTF-8


def _check(name: str) -> Complaint | None:
    return _check_characters(name) or _check_components(name)


def _check_characters(name: str) -> Complaint | None:
    if not name:
        return Complaint("is empty", 'write the name of a file in the workspace, e.g. "test_file"')
    control = _CONTROL.search(name)
    if control:
        return Complaint(
            f"is {quoted(name)}: character {control.start()} is a control character", "use only printable characters"
        )
    if _SURROGATE.search(name):
        return Complaint(f"is {quoted(name)}: it is not UTF-8", "rename the file: keys of S3 are UTF-8")
    if "\\" in name:
        return Complaint(f"is {quoted(name)}: it has a backslash", f"separate directories by `/`: {mended_name(name)}")
    if _DRIVE.match(name):
        return Complaint(
            f"is {quoted(name)}: it begins with a drive letter", f"name it inside the workspace: {mended_name(name)}"
        )
    return None


def _check_components(name: str) -> Complaint | None:
    if way_out := leaves_workspace(name):
        return Complaint(f"is {quoted(name)}: {way_out}", f"name it inside the workspace: {mended_name(name)}")
    components = name.split("/")
    if "." in components or "" in components:
        return Complaint(
            f"is {quoted(name)}: it has an empty component or `.`",
            f"write each file in one way only: {mended_name(name)}",
        )
    if len(components) > _LEVELS_MAX or len(name.encode()) > _NAME_BYTES_MAX:
        return Complaint(
            f"has {len(components)} levels and {len(name.encode())} bytes",
            f"keep it within {_LEVELS_MAX} levels and {_NAME_BYTES_MAX} bytes",
        )
    longest = max(components, key=lambda component: len(component.encode()))
    if len(longest.encode()) > _COMPONENT_BYTES_MAX:
        return Complaint(
            f"has the component {quoted(longest)} of {len(longest.encode())} bytes",
            f"keep each component within {_COMPONENT_BYTES_MAX} bytes, the limit of file systems",
        )
    return None


def leaves_workspace(path: str) -> str:
    """How `path`, relative to the workspace, leaves it, in words; empty if it stays inside."""
    if path.startswith("/"):
        return "it is absolute and leaves the workspace"
    return "`..` leaves the workspace" if ".." in path.split("/") else ""


def mended_name(name: str) -> str:
    """Return the nearest name that stays inside, quoted."""
    parts = [part for part in re.split(r"[/\\]", _DRIVE.sub("", name)) if part not in {"", ".", ".."}]
    return quoted("/".join(parts) or "test_file")


def _check_fixture(name: str) -> Complaint | None:
    if "*" in name:
        what = f"is {quoted(name)}: `*` is a wildcard in a body's `file`, so the name of a fixture cannot have it"
        return Complaint(what, "give the fixture another name")
    return _check(name)


def _check_body(name: str) -> Complaint | None:
    if name.count("*") > 1:
        return Complaint(f"is {quoted(name)}: it has more than one `*`", "keep one, for the `*` of `match.path`")
    return _check(name)


_INSIDE = r"^(?!/)(?![A-Za-z]:)(?!(?:.*/)?\.{0,2}(?:/|$))"

FIXTURE_NAME = TextRule(check=_check_fixture, pattern=_INSIDE + r"[^*\\\u0000-\u001f\u007f]+$")
"""A relative name inside the workspace, with `/` between directories, in its shortest form."""

BODY_NAME = TextRule(check=_check_body, pattern=_INSIDE + r"(?=[^*]*\*?[^*]*$)[^\\\u0000-\u001f\u007f]+$")
"""The same, with at most one `*`."""
