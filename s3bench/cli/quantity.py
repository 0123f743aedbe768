"""Quantities in options: parses them, and names the option when they are wrong."""

from collections.abc import Callable
from typing import TypeVar

from s3bench.errors import BadInput
from s3bench.units import BadQuantity, parse_bytes, parse_seconds

T = TypeVar("T")


def parse_option(option: str, text: str, parse: Callable[[str], T]) -> T:
    """Parse the value of an option. Raises `BadInput`."""
    try:
        return parse(text)
    except BadQuantity as bad:
        raise BadInput(f"{option} {bad.what}", fix=bad.fix) from None


def parse_duration(option: str, text: str) -> float:
    """Parse `90s`, `30m` or `2h` into seconds. Raises `BadInput`."""
    return parse_option(option, text, lambda text: parse_seconds(text, above_zero=True, needs_unit=True))


def parse_size(option: str, text: str) -> int:
    """Parse `512MiB` or `10GiB` into bytes, one at least. Raises `BadInput`."""
    return parse_option(option, text, lambda text: parse_bytes(text, above_zero=True))
