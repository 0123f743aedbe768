"""Sizes as people write them."""

import pytest

from s3bench.units import parse_bytes


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0", 0),
        ("4096", 4096),
        ("512MiB", 512 * 2**20),
        ("2 GiB", 2 * 2**30),
        ("2gib", 2 * 2**30),
        ("1.5GB", 1_500_000_000),
        ("1kb", 1000),
        ("7B", 7),
    ],
)
def test_binary_units_are_powers_of_1024_and_decimal_ones_of_1000(text: str, size_bytes: int) -> None:
    assert parse_bytes(text) == size_bytes


@pytest.mark.parametrize("text", ["", "MiB", "-1", "1e3", "1 2", "5 parsecs", "1.MiB", "٣"])
def test_anything_else_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="512MiB"):
        parse_bytes(text)
