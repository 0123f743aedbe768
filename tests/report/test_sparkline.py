"""A series as one line of bars."""

from s3bench.report.sparkline import sparkline, stretches


def test_a_sparkline_shows_the_least_there_is_and_blanks_for_nothing() -> None:
    assert sparkline([0, 1, 500, 1000]) == " ▁▄█"
    assert sparkline([0, 0]) == "  "
    assert sparkline([]) == ""


def test_a_series_that_fits_is_left_as_it_is() -> None:
    assert stretches([1, 2, 3], count_max=3) == (1, (1, 2, 3))
    assert stretches([], count_max=3) == (1, ())


def test_a_longer_series_becomes_means_of_neighbours_the_last_of_what_is_left() -> None:
    assert stretches([1, 3, 5, 7, 100], count_max=3) == (2, (2, 6, 100))
