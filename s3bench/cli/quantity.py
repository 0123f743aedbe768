"""Quantities in options: parses them, and names the option when they are wrong."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import click

from s3bench.errors import BadInput
from s3bench.units import BadQuantity, parse_bytes, parse_seconds

T = TypeVar("T")


class QuantityType(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click alone
    """The type of an option whose text `parse` reads."""

    name = "quantity"

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse text, or a default that is a number."""
        if not isinstance(value, str | int | float):
            return value
        try:
            return self._parse(str(value))
        except BadQuantity as bad:
            return self.fail(str(bad), param, ctx)


SECONDS = QuantityType(partial(parse_seconds, above_zero=True))
"""Seconds above 0, which may have another unit: `600`, `10m`."""


def parse_option(option: str, text: str, parse: Callable[[str], T]) -> T:
    """Parse the value of an option. Raises `BadInput`."""
    try:
        return parse(text)
    except BadQuantity as bad:
        raise BadInput(f"{option} {bad.what}", fix=bad.fix) from None


def parse_duration(option: str, text: str) -> float:
    """Parse `90s`, `30m` or `2h` into seconds. Raises `BadInput`."""
    return parse_option(option, text, partial(parse_seconds, above_zero=True, needs_unit=True))


def parse_size(option: str, text: str) -> int:
    """Parse `512MiB` or `10GiB` into bytes, one at least. Raises `BadInput`."""
    return parse_option(option, text, partial(parse_bytes, above_zero=True))
