"""Rules for requests, one for each operation and command."""

from typing import Any

RULES = 1_000


def read_rules(model: Any, names: list[str]) -> list[tuple[str, str, int]]:
    """Make all rules."""
    operations = [*model["operations"], *names]
    return [normalised(model["name"], operations[number % len(operations)], number) for number in range(RULES)]


def normalised(service: str, name: str, number: int) -> tuple[str, str, int]:
    """One rule."""
    return service, name.lower(), number


def check_rules(rules: list[tuple[str, str, int]]) -> None:
    """Raise where rules are not in order."""
    numbers = [number for _service, _name, number in rules]
    if numbers != sorted(numbers):
        raise ValueError("rules out of order")
