"""Checks the AWS config file of a benchmark, and reads which transfer client it selects.

Parses sections, keys, and the indented block under `s3 =` (https://docs.aws.amazon.com/cli/latest/topic/s3-config.html)
with Python's configparser, as the clients do. Text that two readers could split into lines differently is rejected.
`awsconfig_table` lists what is allowed.
"""

import configparser
from collections.abc import Collection, Iterator, Mapping

from s3bench.spec.awsconfig_table import (
    PROFILE_KEYS,
    config_blocks,
    is_allowed_section,
    reason_against_key,
    reason_against_section,
)
from s3bench.spec.client_traits import KnownClients
from s3bench.spec.reader import Complaint, nearest, one_of, quoted

_PROFILE = "`[default]` or `[profile NAME]`"


def check_config(text: str, clients: KnownClients) -> Complaint | None:
    """Return why `clients` cannot read `text` or what is not allowed in it, or `None`."""
    odd = next((character for character in text if not (character.isprintable() or character in "\n\t")), None)
    if odd is not None:
        what = f"has the character {quoted(odd)}, at which only some programs begin a new line"
        return Complaint(what, 'separate lines by "\\n", and use only printable characters')
    try:
        sections = _sections(text)
    except configparser.MissingSectionHeaderError as error:
        return Complaint(
            f"is not an AWS config: line {error.lineno} is before any section",
            'begin with a section: "[default]\\n..."',
        )
    except configparser.Error as error:
        reason = error.message.replace("\n", " ").replace("<string>", "config")
        return Complaint(
            f"is not an AWS config: {reason}", "write sections, each with `key = value` or an indented block"
        )
    return next(_complaints(sections, config_blocks(clients)), None)


def _complaints(sections: configparser.RawConfigParser, blocks: Mapping[str, Collection[str]]) -> Iterator[Complaint]:
    for section in sections.sections():
        if not is_allowed_section(section):
            reason = reason_against_section(section)
            what = f"has the section {quoted(f'[{section}]')}, which is not allowed{f': {reason}' if reason else ''}"
            yield Complaint(what, f"write settings under {_PROFILE}")
        for key, value in sections.items(section):
            # A value that begins on the next line is a block of settings, as under `s3 =`.
            if value.startswith("\n") or key in blocks:
                yield from _block_complaints(section, key, value, blocks)
            elif "\n" in value:
                what = f"sets `{key}` in `[{section}]` to a value of several lines"
                yield Complaint(what, "write each value in one line, without indented lines below it")
            elif key not in PROFILE_KEYS:
                yield _unknown(f"`{key}` in `[{section}]`", key, PROFILE_KEYS | blocks.keys())


def _block_complaints(
    section: str, block: str, value: str, blocks: Mapping[str, Collection[str]]
) -> Iterator[Complaint]:
    where = f"under `{block} =` in `[{section}]`"
    if block not in blocks:
        yield _unknown(f"a block `{block}` in `[{section}]`", block, blocks)
        return
    first, *lines = value.splitlines() or [""]
    if first:
        yield Complaint(f"sets `{block}` in `[{section}]` to a value", f"write indented lines below `{block} =`")
    for line in lines:
        key, equals, _ = line.partition("=")
        if not line.strip():
            continue
        if not equals:
            what = f"is not an AWS config: under `{block} =` the line {quoted(line.strip())} has no `=`"
            yield Complaint(what, "write `key = value` in each indented line")
        elif key.strip() not in blocks[block]:
            yield _unknown(f"`{key.strip()}` {where}", key.strip(), blocks[block])


def _unknown(what: str, key: str, allowed: Collection[str]) -> Complaint:
    reason = reason_against_key(key)
    near = None if reason else nearest(key, allowed)
    hint = f"did you mean `{near}`? " if near else "remove it: "
    fix = f"{hint}allowed are {one_of(sorted(allowed))}".replace(" or ", " and ")
    return Complaint(f"sets {what}, which is not allowed{f': {reason}' if reason else ''}", fix)


def transfer_kind(text: str, clients: KnownClients) -> str | None:
    """The client whose transfer client the default profile of `text` prefers; `None` for `auto` or nothing."""
    try:
        sections = _sections(text)
    except configparser.Error:
        return None
    if not sections.has_option("default", "s3"):
        return None
    for line in sections.get("default", "s3").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "preferred_transfer_client":
            return next((name for name, each in clients.items() if value.strip() in each.transfer_words), None)
    return None


def _sections(text: str) -> configparser.RawConfigParser:
    # No default section: in an AWS config `[default]` is a profile like others.
    sections = configparser.RawConfigParser(default_section="")
    sections.read_string(text)
    return sections
