"""Varies a setting of the clients: each value makes benchmarks of their own, with the dimension `KEY=VALUE`. Pure.

`run --parameter-list` and `--parameter-scan`, as in hyperfine. A key is one of the config's block `s3`, which every
client reads, or `BLOCK.KEY` of a client's own block, such as `s5cmd.numworkers`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from s3bench.clients.awsconfig import with_settings
from s3bench.clients.registry import known_clients
from s3bench.errors import BadInput
from s3bench.spec.awsconfig import check_value
from s3bench.spec.awsconfig_table import config_blocks, reason_against_key
from s3bench.spec.definition import Definition
from s3bench.spec.label import benchmark_label
from s3bench.spec.reader import nearest, one_of
from s3bench.spec.transfer_options import split_command

VALUES_MAX = 1000
"""The most values of a list, and combinations of several."""

LIST, SCAN, STEP = "--parameter-list", "--parameter-scan", "--parameter-step-size"

_GENERAL = "s3"
_CHOSEN_BY_CLIENT = "preferred_transfer_client"
_LIVE_ONLY = "addressing_style"
_NUMBER = re.compile(r"([0-9]{1,18})([A-Za-z/]*)")
_SERVICES = frozenset({"s3", "s3api"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterList:
    """The values of one key of a block of the config."""

    block: str
    key: str
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """The key as options and dimensions have it."""
        return self.key if self.block == _GENERAL else f"{self.block}.{self.key}"


def parse_parameter_list(name: str, text: str, *, is_live: bool = False) -> ParameterList:
    """Parse the values `8MB,16MB` of a key. Raises `BadInput` that names the option.

    `is_live`: the endpoint is not ours. For ours s3bench sets `addressing_style` itself.
    """
    parsed = _checked(LIST, name, [value.strip() for value in text.split(",")])
    if parsed.name == _LIVE_ONLY and not is_live:
        raise BadInput(
            f"{LIST} {name}: s3bench sets it to `path` for its own endpoints",
            fix="leave it out, or measure a live endpoint: --endpoint-url URL --bucket NAME",
        )
    return parsed


def parse_parameter_scan(name: str, first: str, last: str, step: str | None) -> ParameterList:
    """Make the list of the values from `first` to `last`, `step` apart, all in one unit; without a step 1 apart.

    Raises `BadInput` that names the option.
    """
    numbers = [_number(SCAN, name, first), _number(SCAN, name, last)]
    unit = numbers[0][1]
    numbers.append((1, unit) if step is None else _number(STEP, name, step))
    if len({unit for _, unit in numbers}) > 1:
        typed = " ".join(text for text in (first, last, step) if text is not None)
        raise BadInput(
            f"{SCAN} {name}: {typed} have different units",
            fix=f"write all in one unit: {SCAN} multipart_chunksize 8MB 64MB {STEP} 8MB",
        )
    (low, _), (high, _), (by, _) = numbers
    if by == 0:
        raise BadInput(f"{STEP} is 0", fix="write a number above 0")
    if low > high:
        raise BadInput(f"{SCAN} {name}: {first} is more than {last}", fix=f"write {SCAN} {name} {last} {first}")
    count = (high - low) // by + 1
    if count > VALUES_MAX:
        raise BadInput(f"{SCAN} {name} has {count:,} values, more than {VALUES_MAX:,}", fix=f"write a larger {STEP}")
    return _checked(SCAN, name, [f"{value}{unit}" for value in range(low, high + 1, by)])


def _number(option: str, name: str, text: str) -> tuple[int, str]:
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise BadInput(
            f"{option} {name}: {text!r} is not a whole number", fix="write a number or a size, such as 20 or 8MB"
        )
    return int(found[1]), found[2]


def _checked(option: str, name: str, values: list[str]) -> ParameterList:
    block, key = _setting(option, name)
    for value in values:
        if not value or not value.isprintable():
            raise BadInput(f"{option} {name} has an empty or unprintable value", fix="write them as 8MB,16MB,32MB")
        try:
            check_value(block, key, value, known_clients())
        except BadInput as bad:
            raise BadInput(f"{option} {name}: {value!r} is not a value of it", fix=bad.fix) from None
    if twice := next((value for value in values if values.count(value) > 1), None):
        raise BadInput(f"{option} {name} has {twice} twice", fix="write each value once")
    return ParameterList(block=block, key=key, values=tuple(values))


def _setting(option: str, name: str) -> tuple[str, str]:
    """The block and the key of `name`."""
    blocks = config_blocks(known_clients())
    block, dot, key = name.rpartition(".")
    if not dot:
        block = _GENERAL
    if key in blocks.get(block, ()):
        if key == _CHOSEN_BY_CLIENT:
            raise BadInput(
                f"{option} {name}: s3bench sets it for each client",
                fix="select clients instead: --client cli-classic --client cli-crt",
            )
        return block, key
    names = sorted(
        key if block == _GENERAL else f"{block}.{key}"
        for block, keys in blocks.items()
        for key in keys - {_CHOSEN_BY_CLIENT}
    )
    near = nearest(name, names)
    raise BadInput(
        f"{option} {name}: there is no such setting",
        reason_against_key(key),
        f"did you mean `{near}`?" if near else f"the settings are {one_of(names)}",
    )


def vary(definitions: Iterable[Definition], lists: tuple[ParameterList, ...]) -> tuple[Definition, ...]:
    """Each definition of an S3 command once for every combination of values; the others are left out.

    Raises `BadInput` where a definition has such a dimension already, or where there are too many combinations.
    """
    names = [each.name for each in lists]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadInput(f"{twice} is given by several {LIST} or {SCAN}", fix="give all its values in one list")
    if (count := prod(len(each.values) for each in lists)) > VALUES_MAX:
        raise BadInput(f"{' and '.join(names)} have {count:,} combinations", fix=f"give {VALUES_MAX:,} at most")
    return tuple(
        _varied(definition, tuple(zip(lists, values, strict=True)))
        for definition in definitions
        if is_varied(definition)
        for values in product(*(each.values for each in lists))
    )


def is_varied(definition: Definition) -> bool:
    """Whether its command transfers with the settings of the config."""
    return any(word in _SERVICES for word in split_command(definition.command).words[:1])


def _varied(definition: Definition, values: tuple[tuple[ParameterList, str], ...]) -> Definition:
    config, dimensions = definition.environment.config, definition.dimensions
    for each, value in values:
        if each.name in dict(dimensions):
            label = benchmark_label(definition.name, definition.dimensions)
            raise BadInput(
                f"{label} has the dimension {each.name} already",
                f"{LIST} and {SCAN} add a dimension of that name",
                f"leave {each.name} out, or select other benchmarks with -k",
            )
        config = with_settings(config, {each.key: value}, block=each.block)
        dimensions = (*dimensions, (each.name, value))
    return replace(definition, dimensions=dimensions, environment=replace(definition.environment, config=config))
