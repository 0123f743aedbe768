"""A clock that a test sets."""

from dataclasses import dataclass


@dataclass
class Clock:
    """Tells `s` seconds until the test changes it."""

    s: float = 0.0

    def __call__(self) -> float:
        return self.s
