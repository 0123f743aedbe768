"""Byte ranges, against the naive reading of RFC 9110 14.1.2: number the bytes and keep those asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.s3.protocol.ranges import ByteRange, Unsatisfiable, parse_range


def parse(header: str, size_bytes: int) -> tuple[int, int] | str | None:
    try:
        part = parse_range(header, size_bytes)
    except Unsatisfiable:
        return "unsatisfiable"
    return None if part is None else (part.start, part.end)


@pytest.mark.parametrize(
    ("header", "size_bytes", "expected"),
    [
        ("bytes=0-0", 10, (0, 1)),
        ("bytes=2-5", 10, (2, 6)),
        ("BYTES=2-5", 10, (2, 6)),
        ("bytes=2-", 10, (2, 10)),
        ("bytes=-3", 10, (7, 10)),
        ("bytes=-30", 10, (0, 10)),
        ("bytes=5-500", 10, (5, 10)),
        ("bytes=10-", 10, "unsatisfiable"),
        ("bytes=10-20", 10, "unsatisfiable"),
        ("bytes=-0", 10, "unsatisfiable"),
        ("bytes=0-", 0, "unsatisfiable"),
        ("bytes=-5", 0, None),
        ("bytes=5-2", 10, None),
        ("bytes=0-1,4-5", 10, None),
        ("bytes=-", 10, None),
        ("bytes=a-b", 10, None),
        ("lines=0-1", 10, None),
        ("bytes=0-99999999999999999999999", 10, (0, 10)),
        ("bytes=" + "9" * 5000 + "-", 10, "unsatisfiable"),
        ("bytes=-" + "9" * 5000, 10, (0, 10)),
        ("bytes=\u0663-", 10, None),
        ("", 10, None),
    ],
)
def test_a_range_header_means(header: str, size_bytes: int, expected: tuple[int, int] | str | None) -> None:
    assert parse(header, size_bytes) == expected


def test_content_range_counts_inclusively() -> None:
    assert ByteRange(start=2, end=6, size_bytes=10).content_range == "bytes 2-5/10"


@given(st.integers(0, 30), st.none() | st.integers(0, 30), st.none() | st.integers(0, 30))
def test_ranges_select_the_bytes_asked_for(size_bytes: int, first: int | None, last: int | None) -> None:
    header = f"bytes={'' if first is None else first}-{'' if last is None else last}"
    everything = list(range(size_bytes))
    expected: list[int] | str | None
    if first is None and last is None:
        expected = None
    elif first is None:
        assert last is not None
        expected = everything[-last:] if last else "unsatisfiable"
        expected = expected or None  # a suffix of nothing is the whole, empty, object
    elif last is not None and last < first:
        expected = None
    else:
        expected = everything[first : None if last is None else last + 1] or "unsatisfiable"
    actual = parse(header, size_bytes)
    assert (everything[slice(*actual)] if isinstance(actual, tuple) else actual) == expected


@given(st.text(max_size=40), st.integers(0, 100))
def test_any_header_is_answered(header: str, size_bytes: int) -> None:
    actual = parse(header, size_bytes)
    if isinstance(actual, tuple):
        assert 0 <= actual[0] < actual[1] <= size_bytes
