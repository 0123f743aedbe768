"""The options of `aws` and of `aws s3 cp|mv|sync|rm` with their numbers of values; splits command lines by them.

From aws-cli's tables: awscli/customizations/s3/subcommands.py and awscli/data/cli.json.
"""

from dataclasses import dataclass
from enum import Enum


class Values(Enum):
    """The number of values of an option, as in argparse."""

    NONE = 0
    ONE = 1
    OPTIONAL = "?"
    MANY = "+"


def _options(values: Values, names: str) -> dict[str, Values]:
    return {f"--{name}": values for name in names.split()}


GLOBAL_OPTIONS = {
    **_options(
        Values.NONE,
        "debug no-verify-ssl no-paginate no-sign-request no-cli-pager cli-auto-prompt no-cli-auto-prompt version "
        "v2-debug",
    ),
    **_options(
        Values.ONE,
        "endpoint-url output query profile region color ca-bundle cli-read-timeout cli-connect-timeout "
        "cli-binary-format cli-error-format",
    ),
}
"""The options of `aws` itself, which may also come before the service."""

TRANSFER_OPTIONS = {
    **GLOBAL_OPTIONS,
    **_options(
        Values.NONE,
        "recursive dryrun quiet follow-symlinks no-follow-symlinks no-guess-mime-type only-show-errors no-progress "
        "progress-multiline ignore-glacier-warnings force-glacier-transfer delete size-only exact-timestamps "
        "no-overwrite validate-same-s3-paths",
    ),
    **_options(
        Values.ONE,
        "include exclude acl content-type sse-c-key sse-kms-key-id sse-c-copy-source-key storage-class "
        "website-redirect cache-control content-disposition content-encoding content-language source-region expires "
        "metadata metadata-directive expected-size page-size checksum-mode checksum-algorithm "
        "progress-frequency copy-props case-conflict",
    ),
    **_options(Values.OPTIONAL, "sse sse-c sse-c-copy-source request-payer"),
    **_options(Values.MANY, "grants"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option as given; `known` is false if it is not in these tables."""

    name: str
    values: tuple[str, ...]
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """A split command: `words` are the arguments that belong to no option.

    It is unknown whether an unknown option takes the argument after it. `words` excludes such arguments,
    `words_at_most` includes them.
    """

    words: tuple[str, ...]
    words_at_most: tuple[str, ...]
    options: tuple[Option, ...]


def split_command(command: tuple[str, ...]) -> CommandLine:
    """`command` split into words and options."""
    words: list[str] = []
    words_at_most: list[str] = []
    options: list[Option] = []
    at = 0
    while at < len(command):
        argument = command[at]
        at += 1
        if argument == "--":
            words += command[at:]
            words_at_most += command[at:]
            break
        if not argument.startswith("--"):
            words.append(argument)
            words_at_most.append(argument)
            continue
        name, equals, value = argument.partition("=")
        known = name in TRANSFER_OPTIONS
        values = (value,) if equals else _values(command[at:], TRANSFER_OPTIONS.get(name, Values.OPTIONAL))
        at += 0 if equals else len(values)
        options.append(Option(name=name, values=values, known=known))
        if not known and not equals:
            words_at_most += values
    return CommandLine(words=tuple(words), words_at_most=tuple(words_at_most), options=tuple(options))


def _values(rest: tuple[str, ...], count: Values) -> tuple[str, ...]:
    if count is Values.NONE:
        return ()
    if count is Values.ONE:
        return rest[:1]
    free: list[str] = []
    for argument in rest:
        if argument.startswith("--") or (count is Values.OPTIONAL and free):
            break
        free.append(argument)
    return tuple(free)
