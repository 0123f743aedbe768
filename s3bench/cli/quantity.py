"""Quantities in options: parses them, and names the option when they are wrong."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self, TypeVar

import click
from click.shell_completion import CompletionItem

from s3bench.cli.completion_items import complete_file
from s3bench.errors import BadInput
from s3bench.units import BadQuantity, parse_bytes, parse_seconds, parse_share

T = TypeVar("T")

_CHANCE_MAX = 0.5


class QuantityType(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click alone
    """The type of an option whose text `parse` reads; a shell completes `words`, or the name of a file."""

    name = "quantity"

    def __init__(self, parse: Callable[[str], Any], *, words: Sequence[str] = (), is_file: bool = False) -> None:
        self._parse = parse
        self._words = words
        self._is_file = is_file

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse text, or a default that is a number."""
        if not isinstance(value, str | int | float):
            return value
        try:
            return self._parse(str(value))
        except BadQuantity as bad:
            return self.fail(str(bad), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The words that begin like this, or a mark by which the shell completes a file."""
        if self._is_file:
            return complete_file(ctx, param, incomplete)
        return [CompletionItem(word) for word in self._words if word.startswith(incomplete)]


class FiniteRange(click.FloatRange):
    """A range of numbers without `nan`, which click finds inside any range, and without `inf`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse text, or a default that is a number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class Duration(float):
    """Seconds above 0 that print as they were typed: `30m`."""

    def __new__(cls, text: str) -> Self:
        """Parse `text`. Raises `BadQuantity`."""
        return super().__new__(cls, parse_seconds(text, above_zero=True))

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        """As it was typed."""
        return self._text

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        """For copies: without the text there is none."""
        return type(self), (self._text,)


def _chance(text: str) -> float:
    share = parse_share(text)
    if not 0 < share < _CHANCE_MAX:
        raise BadQuantity.of(text, "which is not between 0 and 50%", "write it like 0.01 or 1%")
    return share


CHANCE = QuantityType(_chance)
"""The chance of an error: `0.01`, `1%`."""
DURATION = QuantityType(Duration)
SECONDS = QuantityType(partial(parse_seconds, above_zero=True))
"""Seconds above 0, which may have another unit: `600`, `10m`."""
SIZE = QuantityType(partial(parse_bytes, above_zero=True))
"""Bytes, one at least: `512MiB`."""


def parse_option(option: str, text: str, parse: Callable[[str], T]) -> T:
    """Parse the value of an option. Raises `BadInput`."""
    try:
        return parse(text)
    except BadQuantity as bad:
        raise BadInput(f"{option} {bad.what}", fix=bad.fix) from None


def parse_size(option: str, text: str) -> int:
    """Parse `512MiB` or `10GiB` into bytes, one at least. Raises `BadInput`."""
    return parse_option(option, text, partial(parse_bytes, above_zero=True))
