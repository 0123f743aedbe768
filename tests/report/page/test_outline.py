"""Paths told shortly, and drawn where they were."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.report.page.outline import _segments, circle_radius, render_number, shortened

COORDINATES = st.floats(-2000, 2000, allow_nan=False).map(lambda value: round(value, 4))


def corners(data: str) -> list[tuple[float, float]]:
    """The absolute points of a path of moves and lines."""
    x = y = 0.0
    points = []
    for command, numbers in _segments(data):
        base_x, base_y = (x, y) if command.islower() else (0.0, 0.0)
        match command.upper():
            case "H":
                x = base_x + numbers[0]
            case "V":
                y = base_y + numbers[0]
            case _:
                x, y = base_x + numbers[-2], base_y + numbers[-1]
        points.append((x, y))
    return points


@given(st.lists(st.tuples(COORDINATES, COORDINATES), min_size=2, max_size=50, unique_by=lambda each: round(each[0])))
def test_no_point_of_a_line_is_off_by_more_than_a_twentieth_of_a_pixel(points: list[tuple[float, float]]) -> None:
    data = "M" + "L".join(f"{x},{y}" for x, y in points)
    drawn = corners(shortened(data))
    assert len(drawn) == len(points)
    for (x, y), (drawn_x, drawn_y) in zip(points, drawn, strict=True):
        assert math.isclose(x, drawn_x, abs_tol=0.0501)
        assert math.isclose(y, drawn_y, abs_tol=0.0501)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("M0,0L10.667,61.263L21.333,61.263", "M0 0l10.7 61.3h10.6"),
        ("M586.6666666666667,60h53.333333333333336v20h-53.333333333333336Z", "M586.7 60h53.3v20h-53.3z"),
        ("M0,0C1,1,2,2,3,3", "M0 0c1 1 2 2 3 3"),
        ("M0,-3.6L-3,3.6L3,3.6Z", "M0-3.6l-3 7.2h6z"),
        ("M0,0L1,1 2,3", "M0 0l1 1 1 2"),
    ],
)
def test_paths_become_short(data: str, expected: str) -> None:
    assert shortened(data) == expected


def test_a_path_is_moved_to_where_it_is_drawn() -> None:
    assert shortened("M-3,-3h6v6h-6Z", (464.0, 73.06)) == "M461 70.1h6v6h-6z"
    assert shortened("M3,0A3,3,0,1,1,-3,0", (10.0, 10.0)) == "M13 10a3 3 0 1 1-6 0"


@pytest.mark.parametrize("data", ["M0,0X1,1", "M0,0L1"])
def test_what_is_no_path_is_refused(data: str) -> None:
    with pytest.raises(ValueError, match="no path"):
        shortened(data)


def test_dots_are_known_as_circles() -> None:
    assert circle_radius("M3.162,0A3.162,3.162,0,1,1,-3.162,0A3.162,3.162,0,1,1,3.162,0") == 3.162
    assert circle_radius("M-3.162,-3.162h6.325v6.325h-6.325Z") is None


@pytest.mark.parametrize(
    ("number", "text"), [(0.0, "0"), (-0.04, "0"), (-0.5, "-.5"), (0.25, ".2"), (12.0, "12"), (-3.14, "-3.1")]
)
def test_numbers_have_one_decimal_at_most(number: float, text: str) -> None:
    assert render_number(number) == text
