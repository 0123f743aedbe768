"""Checks the AWS config file of a benchmark, and reads which transfer client it selects.

Parses sections, keys, and the indented block under `s3 =` (https://docs.aws.amazon.com/cli/latest/topic/s3-config.html)
with Python's configparser, as the clients do. Text that two readers could split into lines differently is rejected.
`awsconfig_table` lists what is allowed.
"""

import configparser
from collections.abc import Collection, Iterator

from s3bench.errors import BadInput
from s3bench.spec.awsconfig_table import (
    PROFILE_KEYS,
    config_blocks,
    is_allowed_section,
    reason_against_key,
    reason_against_section,
)
from s3bench.spec.awsconfig_value import PROFILE_PARSERS, S3_PARSERS, word_of
from s3bench.spec.client_traits import KnownClients
from s3bench.spec.reader import Complaint, nearest, one_of, quoted

_PROFILES = ("default", "profile default")  # two spellings of one profile
_TRANSFER_CLIENT = "preferred_transfer_client"
_ANY_TRANSFER_CLIENT = "auto"


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
    return next(_complaints(sections, clients), None)


def _complaints(sections: configparser.RawConfigParser, clients: KnownClients) -> Iterator[Complaint]:
    blocks = config_blocks(clients)
    if all(map(sections.has_section, _PROFILES)):
        what = "has both `[default]` and `[profile default]`, which are one profile: clients ignore one of the two"
        yield Complaint(what, "write all settings under `[default]`")
    for section in sections.sections():
        if not is_allowed_section(section):
            reason = reason_against_section(section)
            what = f"has the section {quoted(f'[{section}]')}, which is not allowed{f': {reason}' if reason else ''}"
            yield Complaint(what, "write settings under `[default]`")
        for key, value in sections.items(section):
            # A value that begins on the next line is a block of settings, as under `s3 =`.
            if value.startswith("\n") or key in blocks:
                yield from _block_complaints(section, key, value, clients)
            elif "\n" in value:
                what = f"sets `{key}` in `[{section}]` to a value of several lines"
                yield Complaint(what, "write each value in one line, without indented lines below it")
            elif key not in PROFILE_KEYS:
                yield _unknown(f"`{key}` in `[{section}]`", key, PROFILE_KEYS | blocks.keys())
            elif key in PROFILE_PARSERS:
                try:
                    PROFILE_PARSERS[key](key, value)
                except BadInput as error:
                    yield _unusable(f"`{key}` in `[{section}]`", value, error)


def _block_complaints(section: str, block: str, value: str, clients: KnownClients) -> Iterator[Complaint]:
    where = f"under `{block} =` in `[{section}]`"
    blocks = config_blocks(clients)
    if block not in blocks:
        yield _unknown(f"a block `{block}` in `[{section}]`", block, blocks)
        return
    first, *lines = value.splitlines() or [""]
    if first:
        yield Complaint(f"sets `{block}` in `[{section}]` to a value", f"write indented lines below `{block} =`")
    for line in lines:
        if not line.strip():
            continue
        key, equals, setting = (part.strip() for part in line.partition("="))
        if not equals:
            what = f"is not an AWS config: under `{block} =` the line {quoted(line.strip())} has no `=`"
            yield Complaint(what, "write `key = value` in each indented line")
        elif key not in blocks[block]:
            yield _unknown(f"`{key}` {where}", key, blocks[block])
        else:
            try:
                check_value(block, key, setting, clients)
            except BadInput as error:
                yield _unusable(f"`{key}` {where}", setting, error)


def _unusable(what: str, value: str, error: BadInput) -> Complaint:
    return Complaint(f"sets {what} to {quoted(value)}: {error.why or error.what}", error.fix)


def check_value(block: str, key: str, text: str, clients: KnownClients) -> None:
    """Raise `BadInput` if `text` is not a value of `key` of a block that `config_blocks` has."""
    if block != "s3":
        for each in clients.values():
            if each.config_block == block and each.parse_config is not None:
                each.parse_config({key: text})
    elif key == _TRANSFER_CLIENT:
        words = frozenset().union(*(each.transfer_words for each in clients.values()))
        word_of(key, text, (_ANY_TRANSFER_CLIENT, *sorted(words)))
    elif key in S3_PARSERS:
        S3_PARSERS[key](key, text)


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
    blocks = (sections.get(section, "s3") for section in _PROFILES if sections.has_option(section, "s3"))
    for line in next(blocks, "").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == _TRANSFER_CLIENT:
            return next((name for name, each in clients.items() if value.strip() in each.transfer_words), None)
    return None


def _sections(text: str) -> configparser.RawConfigParser:
    # No default section: in an AWS config `[default]` is a profile like others.
    sections = configparser.RawConfigParser(default_section="")
    sections.read_string(text)
    return sections
