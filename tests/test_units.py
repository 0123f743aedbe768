"""Quantities as people write them, and as they are printed."""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.units import (
    BadQuantity,
    exact_bytes,
    parse_bandwidth,
    parse_bytes,
    parse_number,
    parse_rate,
    parse_seconds,
    parse_share,
    render_duration,
)

Parser = Callable[[str], float]
GOOD: list[tuple[Parser, str, float]] = [
    (parse_bytes, "0", 0),
    (parse_bytes, "4096", 4096),
    (parse_bytes, "512MiB", 512 * 2**20),
    (parse_bytes, "2 GiB", 2 * 2**30),
    (parse_bytes, "2gib", 2 * 2**30),
    (parse_bytes, "1.5GB", 1_500_000_000),
    (parse_bytes, "1kb", 1000),
    (parse_bytes, "1K", 1024),
    (parse_bytes, "3 t", 3 * 2**40),
    (parse_bytes, "7B", 7),
    (parse_bytes, "1e3", 1000),
    (parse_seconds, "30s", 30.0),
    (parse_seconds, "5m", 300.0),
    (parse_seconds, "1.5h", 5400.0),
    (parse_seconds, "20ms", 0.02),
    (parse_seconds, "250us", 0.00025),
    (parse_seconds, " 1e-05 ", 1e-5),
    (parse_seconds, "60", 60.0),
    (parse_seconds, "0", 0.0),
    (parse_seconds, "1m30s", 90.0),
    (parse_seconds, " 1H5m ", 3900.0),
    (parse_seconds, "2h0m1s250ms", 7201.25),
    (partial(parse_seconds, needs_unit=True), "1h5m", 3900.0),
    (parse_share, "0.1%", 0.001),
    (parse_share, "57%", 0.57),
    (parse_share, "0.001", 0.001),
    (parse_share, "100%", 1.0),
    (parse_rate, "500", 500.0),
    (parse_rate, "0.5/s", 0.5),
    (parse_bandwidth, "93MB/s", 93e6),
    (parse_bandwidth, "1MiB", 1048576.0),
    (parse_bandwidth, "2Gbit/s", 250e6),
    (parse_number, ".5", 0.5),
]
BAD: list[tuple[Parser, str, str]] = [
    *((parse_bytes, text, "not a size") for text in ("", "MiB", "-x", "--1", "1 2", "5 parsecs", "٣", "9" * 400, "1s")),
    *((parse_seconds, text, "not a duration") for text in ("", "soon", "-1parsec", "1e999", "1e308h", "nan")),
    *((parse_seconds, text, "not a duration") for text in ("30s1m", "1m1m", "1m30", "1.5m30s", "1m 30s", "1m-30s")),
    (parse_seconds, f"{'9' * 400}h1m", "not a duration"),
    (partial(parse_seconds, above_zero=True), "0m0s", "not above 0"),
    (partial(parse_seconds, needs_unit=True), "30", "not a duration"),
    (partial(parse_seconds, above_zero=True), "0s", "not above 0"),
    (partial(parse_bytes, above_zero=True), "0", "not above 0"),
    (parse_share, "101%", "more than the whole"),
    (parse_share, "1.5", "more than the whole"),
    (parse_share, "1s", "not a share"),
    (parse_rate, "0", "not above 0"),
    (parse_rate, "5/m", "not a rate"),
    (parse_bandwidth, "93", "not a bandwidth"),
    (parse_bandwidth, "93M/s", "not a bandwidth"),
    (parse_bandwidth, "0B/s", "not above 0"),
    (parse_number, "1K", "not a number"),
    (parse_number, "-1", "below 0"),
    (parse_bytes, " -4KiB ", "below 0"),
    (parse_seconds, "-1s", "below 0"),
    (parse_rate, "-5/s", "below 0"),
]


@pytest.mark.parametrize(("parse", "text", "expected"), GOOD)
def test_a_quantity_is_a_number_and_a_unit(parse: Parser, text: str, expected: float) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(("parse", "text", "what"), BAD)
def test_anything_else_is_refused_with_what_would_be_right(parse: Parser, text: str, what: str) -> None:
    with pytest.raises(BadQuantity, match="; write ") as caught:
        parse(text)
    assert caught.value.what.startswith('is "')
    assert what in caught.value.what


@given(st.integers(0, 2**50))
def test_a_size_that_is_rendered_exactly_is_read_as_itself(size_bytes: int) -> None:
    assert parse_bytes(exact_bytes(size_bytes)) == parse_bytes(exact_bytes(size_bytes, separator=" ")) == size_bytes


@given(st.tuples(*[st.none() | st.integers(0, 10**6)] * 4))
def test_a_duration_of_several_units_is_their_sum(numbers: tuple[int | None, ...]) -> None:
    parts = [(number, unit) for number, unit in zip(numbers, ("h", "m", "s", "ms"), strict=True) if number is not None]
    if parts:
        expected = sum(parse_seconds(f"{number}{unit}") for number, unit in parts)
        assert parse_seconds("".join(f"{number}{unit}" for number, unit in parts)) == pytest.approx(expected)


def test_a_long_duration_is_in_minutes() -> None:
    assert (render_duration(12.5), render_duration(99.0), render_duration(750.0)) == ("12.5 s", "99.0 s", "12.5 min")
