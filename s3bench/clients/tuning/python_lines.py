"""Python source for recipes: keyword arguments of numbers as people write them."""

from collections.abc import Mapping


def keyword_arguments(values: Mapping[str, int]) -> tuple[str, ...]:
    """`NAME=VALUE` for each."""
    return tuple(f"{name}={python_number(value)}" for name, value in values.items())


def python_number(value: int) -> str:
    """`16 * 1024**2` rather than `16777216`."""
    for power in (3, 2, 1):
        if value and value % 1024**power == 0:
            step = "1024" if power == 1 else f"1024**{power}"
            return f"{value // 1024**power} * {step}"
    return str(value)
