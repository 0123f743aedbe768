"""Shortens the data of SVG paths: moved to where they are drawn, rounded, and written as relative steps.

The grammar is that of the `d` attribute (SVG 2, chapter 9). Points are rounded to a tenth of a pixel where they stand,
not by their steps, so that no error adds up along a path.
"""

import re
from collections.abc import Iterator
from types import MappingProxyType

_TOKENS = re.compile(r"[A-Za-z]|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_NUMBERS_OF = MappingProxyType({"M": 2, "L": 2, "T": 2, "H": 1, "V": 1, "S": 4, "Q": 4, "C": 6, "A": 7, "Z": 0})
_TENTHS = 10
_NUMBER = r"(-?[\d.]+)"
_CIRCLE = re.compile(rf"M{_NUMBER},0A\1,\1,0,1,1,-\1,0A\1,\1,0,1,1,\1,0Z?")

Point = tuple[float, float]


def circle_radius(data: str) -> float | None:
    """The radius of a path that is a whole circle around the origin, as charts draw their dots; else `None`."""
    match = _CIRCLE.fullmatch(data)
    return None if match is None else float(match[1])


def shortened(data: str, moved_by: Point = (0.0, 0.0)) -> str:
    """The path, moved. Raises `ValueError` for what is no path data."""
    pen = _Pen()
    at = start = (0.0, 0.0)
    for command, numbers in _segments(data):
        base = at if command.islower() else moved_by
        kind = command.upper()
        match kind:
            case "Z":
                pen.close(start)
                at = start
            case "H":
                at = (base[0] + numbers[0], at[1])
                pen.line(at)
            case "V":
                at = (at[0], base[1] + numbers[0])
                pen.line(at)
            case "A":
                at = (base[0] + numbers[5], base[1] + numbers[6])
                pen.arc(numbers[:5], at)
            case _:
                points = [(base[0] + x, base[1] + y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
                at = points[-1]
                if kind == "M":
                    start = at
                    pen.move(at)
                elif kind == "L":
                    pen.line(at)
                else:
                    pen.curve(kind.lower(), points)
    return pen.drawn


def render_number(number: float) -> str:
    """A length with one decimal, as short as SVG allows: `-.5`, `12`, `3.1`."""
    return _tenths_text(round(number * _TENTHS))


def _segments(data: str) -> Iterator[tuple[str, list[float]]]:
    """Each command with its numbers; repeated ones, and a move's further points, are separate."""
    command, numbers = "", list[float]()
    for token in _TOKENS.findall(data):
        if token.isalpha():
            if token.upper() not in _NUMBERS_OF or numbers:
                raise ValueError(f"no path: {data[:40]!r}")
            command = token
            if command in "Zz":
                yield command, []
            continue
        numbers.append(float(token))
        if len(numbers) == _NUMBERS_OF.get(command.upper()):
            yield command, numbers
            numbers = []
            command = {"M": "L", "m": "l"}.get(command, command)
    if numbers:
        raise ValueError(f"no path: {data[:40]!r}")


class _Pen:
    """Writes commands. Its place is known in tenths of a pixel, as the reader will have it."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._last = ""
        self._x = self._y = 0

    @property
    def drawn(self) -> str:
        return "".join(self._parts)

    def move(self, to: Point) -> None:
        self._x, self._y = _rounded(to)
        self._write("M", [self._x, self._y])

    def close(self, start: Point) -> None:
        self._write("z", [])
        self._x, self._y = _rounded(start)

    def line(self, to: Point) -> None:
        x, y = _rounded(to)
        across, down = x - self._x, y - self._y
        if across and down:
            self._write("l", [across, down])
        elif across:
            self._write("h", [across])
        elif down:
            self._write("v", [down])
        self._x, self._y = x, y

    def curve(self, command: str, points: list[Point]) -> None:
        steps = []
        for point in points:
            x, y = _rounded(point)
            steps += [x - self._x, y - self._y]
        self._write(command, steps)
        self._x, self._y = _rounded(points[-1])

    def arc(self, shape: list[float], to: Point) -> None:
        x, y = _rounded(to)
        self._write("a", [*(round(number * _TENTHS) for number in shape), x - self._x, y - self._y])
        self._x, self._y = x, y

    def _write(self, command: str, tenths: list[int]) -> None:
        is_same = command == self._last and command not in "Mz"
        for place, number in enumerate(tenths):
            text = _tenths_text(number)
            needs_space = (place > 0 or is_same) and not text.startswith("-")
            lead = command if place == 0 and not is_same else " " if needs_space else ""
            self._parts.append(lead + text)
        if not tenths:
            self._parts.append(command)
        self._last = command


def _rounded(point: Point) -> tuple[int, int]:
    return round(point[0] * _TENTHS), round(point[1] * _TENTHS)


def _tenths_text(tenths: int) -> str:
    whole, part = divmod(abs(tenths), _TENTHS)
    text = (str(whole) if whole or not part else "") + (f".{part}" if part else "")
    return f"-{text}" if tenths < 0 else text
