"""The AWS config file of a benchmark: whether the clients can read it, and which transfer client it asks for.

Owns as much of the format as the definitions need: sections, keys, and the indented block under `s3 =`
(https://docs.aws.amazon.com/cli/latest/topic/s3-config.html). The clients read it with Python's configparser, so it is
read here the same way.
"""

import configparser

from s3bench.spec.definition import ClientKind
from s3bench.spec.reader import Complaint, quoted

_KIND_BY_WORD = {
    "classic": ClientKind.CLI_CLASSIC,
    "default": ClientKind.CLI_CLASSIC,  # what aws-cli before 2.13 called it
    "crt": ClientKind.CLI_CRT,
}


def check_config(text: str) -> Complaint | None:
    """Return what keeps the clients from reading `text`, or `None`."""
    try:
        sections = _sections(text)
    except configparser.MissingSectionHeaderError as error:
        return Complaint(
            f"is no AWS config: line {error.lineno} stands before any section",
            'begin with a section: "[default]\\n..."',
        )
    except configparser.Error as error:
        reason = error.message.replace("\n", " ").replace("<string>", "config")
        return Complaint(
            f"is no AWS config: {reason}", "write sections, and in each `key = value` or an indented block"
        )
    for section in sections.sections():
        for key, value in sections.items(section):
            # A value that begins on the next line is a block of settings, as under `s3 =`.
            loose = [line for line in value.splitlines() if line.strip() and "=" not in line]
            if value.startswith("\n") and loose:
                said = f"is no AWS config: under `{key} =` the line {quoted(loose[0].strip())} has no `=`"
                return Complaint(said, "write `key = value` in each indented line")
    return None


def transfer_kind(text: str) -> ClientKind | None:
    """`CLI_CLASSIC` or `CLI_CRT` when the default profile of `text` asks for one; `None` for `auto` or nothing."""
    try:
        sections = _sections(text)
    except configparser.Error:
        return None
    if not sections.has_option("default", "s3"):
        return None
    for line in sections.get("default", "s3").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "preferred_transfer_client":
            return _KIND_BY_WORD.get(value.strip())
    return None


def _sections(text: str) -> configparser.RawConfigParser:
    # No default section: in an AWS config `[default]` is a profile like others.
    sections = configparser.RawConfigParser(default_section="")
    sections.read_string(text)
    return sections
