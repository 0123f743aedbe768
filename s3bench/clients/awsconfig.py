"""Reads and edits the text of an AWS config file: a profile's blocks, their keys, further sections.

Knows the part of the format that this needs (https://docs.aws.amazon.com/cli/latest/topic/s3-config.html): sections,
keys, and nested blocks, which are the more deeply indented lines below `s3 =`. Pure; the rest of the text is unchanged.
"""

import re
from collections.abc import Mapping

_SECTION = re.compile(r"\s*\[\s*(?P<name>[^\]]+?)\s*\]")
_PAIR = re.compile(r"(?P<indent>\s*)(?P<key>[^=:#;\s][^=:]*?)\s*[=:]\s*(?P<value>.*?)\s*")


def with_settings(text: str, settings: Mapping[str, str], *, block: str = "s3", profile: str = "default") -> str:
    """Put `settings` into a `block` of `profile`, each in place of an earlier value or at the block's end."""
    lines = text.splitlines()
    section = _find_section(lines, profile)
    if section is None:
        heading = "[default]" if profile == "default" else f"[profile {profile}]"
        return _joined([*lines, heading, f"{block} =", *(f"    {key} = {value}" for key, value in settings.items())])
    start, end = section
    found = _find_block(lines, block, start, end)
    if found is None:
        added = [f"{block} =", *(f"    {key} = {value}" for key, value in settings.items())]
        return _joined([*lines[:start], *added, *lines[start:]])
    head, last = found
    inner = _with_pairs(lines[head + 1 : last], settings, lines[head])
    return _joined([*lines[: head + 1], *inner, *lines[last:]])


def block_settings(text: str, block: str, *, profile: str = "default") -> dict[str, str]:
    """Read the keys and values of a `block` of `profile`, as written; empty when there is none."""
    lines = text.splitlines()
    head, last = _block_of(lines, block, profile)
    pairs = [pair for line in lines[head:last] if (pair := _PAIR.fullmatch(line))]
    return {pair["key"]: pair["value"] for pair in pairs}


def with_section(text: str, section: str, pairs: Mapping[str, str]) -> str:
    """`text` with `pairs` at the beginning of `section`, which is added at the end when it is not there."""
    lines = text.splitlines()
    found = _find_section(lines, section, exact=True)
    added = [f"{key} = {value}" for key, value in pairs.items()]
    if found is None:
        return _joined([*lines, f"[{section}]", *added])
    return _joined([*lines[: found[0]], *added, *lines[found[0] :]])


def _find_section(lines: list[str], profile: str, *, exact: bool = False) -> tuple[int, int] | None:
    """Find the half-open range of lines below the heading of `profile`, `[profile NAME]` or `[default]`."""
    names = {profile} if exact else {f"profile {profile}"} | ({profile} if profile == "default" else set())
    start = None
    for number, line in enumerate(lines):
        heading = _SECTION.match(line)
        if heading is None:
            continue
        if start is not None:
            return start, number
        if " ".join(heading["name"].replace('"', " ").replace("'", " ").split()) in names:
            start = number + 1
    return None if start is None else (start, len(lines))


def _find_block(lines: list[str], name: str, start: int, end: int) -> tuple[int, int] | None:
    """Find the line of `name =` and the end of the more deeply indented lines below it.

    As in configparser, the case of `name` does not matter, and comments and blank lines end nothing. Trailing ones are
    left out.
    """
    for number in range(start, end):
        pair = _PAIR.fullmatch(lines[number])
        if pair is None or pair["key"].lower() != name:
            continue
        last = number + 1
        for inner in range(number + 1, end):
            if _is_empty(lines[inner]):
                continue
            if _depth(lines[inner]) <= _depth(lines[number]):
                break
            last = inner + 1
        return number, last
    return None


def _block_of(lines: list[str], name: str, profile: str) -> tuple[int, int]:
    section = _find_section(lines, profile)
    block = _find_block(lines, name, *section) if section else None
    return (block[0] + 1, block[1]) if block else (0, 0)


def _with_pairs(block: list[str], settings: Mapping[str, str], head: str) -> list[str]:
    indent = next((line[: _depth(line)] for line in block if not _is_empty(line)), f"{head[: _depth(head)]}    ")
    left = dict(settings)
    lines = []
    for line in block:
        pair = _PAIR.fullmatch(line)
        if pair is None or pair["key"] not in settings:
            lines.append(line)
        elif pair["key"] in left:  # a second line with the same key would override ours
            lines.append(f"{pair['indent']}{pair['key']} = {left.pop(pair['key'])}")
    return [*lines, *(f"{indent}{key} = {value}" for key, value in left.items())]


def _is_empty(line: str) -> bool:
    """Whether the line is blank or a comment."""
    return line.strip()[:1] in {"", "#", ";"}


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
