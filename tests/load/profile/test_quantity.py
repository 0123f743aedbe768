from collections.abc import Callable
from typing import Any

import pytest

from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import KeyDistribution, Share
from s3bench.load.profile.quantity import (
    parse_byte_count,
    parse_duration,
    parse_exponent,
    parse_factor,
    parse_key_distribution,
    parse_kind,
    parse_mix,
    parse_part_size,
    parse_time_limit,
)
from s3bench.units import BadQuantity

GOOD: list[tuple[Callable[[str], Any], str, Any]] = [
    (parse_duration, "30s", 30.0),
    (parse_duration, "5m", 300.0),
    (parse_duration, "1.5h", 5400.0),
    (parse_duration, "250ms", 0.25),
    (parse_duration, "60", 60.0),
    (parse_duration, " 1e-05 ", 1e-5),
    (parse_duration, "0", 0.0),
    (parse_byte_count, "1M", 1024**2),
    (parse_byte_count, "1k", 1024),
    (parse_byte_count, "1.5MB", 1_500_000),
    (parse_byte_count, "4096", 4096),
    (parse_part_size, "5MiB", 5 * 1024**2),
    (parse_factor, "2.5", 2.5),
    (parse_exponent, "1.1", 1.1),
    (parse_kind, "multipart", OperationKind.MULTIPART),
    (parse_key_distribution, "sequential", (KeyDistribution.SEQUENTIAL, 1.0)),
    (parse_key_distribution, "zipf", (KeyDistribution.ZIPF, 1.0)),
    (parse_key_distribution, "zipf:1.2", (KeyDistribution.ZIPF, 1.2)),
    (parse_mix, "get=70, put=30", (Share(kind=OperationKind.GET, weight=70), Share(kind=OperationKind.PUT, weight=30))),
    (parse_mix, "head", (Share(kind=OperationKind.HEAD),)),
]

BAD: list[tuple[Callable[[str], Any], str]] = [
    (parse_duration, "soon"),
    (parse_duration, "5 parsecs"),
    (parse_duration, "-1s"),
    (parse_duration, "1e999"),
    (parse_duration, "25h"),
    (parse_duration, ""),
    (parse_time_limit, "0s"),
    (parse_byte_count, "0"),
    (parse_byte_count, "1 parsec"),
    (parse_byte_count, "9" * 400),
    (parse_part_size, "4MiB"),
    (parse_part_size, "6GiB"),
    (parse_factor, "0.5"),
    (parse_exponent, "0"),
    (parse_exponent, "11"),
    (parse_kind, "multipart.part"),
    (parse_key_distribution, "uniform:2"),
    (parse_key_distribution, "zipf:"),
    (parse_mix, "get=70,get=30"),
    (parse_mix, "get=0"),
    (parse_mix, "get="),
    (parse_mix, ""),
]


@pytest.mark.parametrize(("parse", "text", "expected"), GOOD)
def test_a_figure_is_read_as_it_is_meant(parse: Callable[[str], Any], text: str, expected: Any) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(("parse", "text"), BAD)
def test_what_is_no_such_figure_is_refused_with_what_would_be_right(parse: Callable[[str], Any], text: str) -> None:
    with pytest.raises(BadQuantity) as caught:
        parse(text)
    assert caught.value.what.startswith("is ")
    assert caught.value.fix


def test_the_nearest_operation_is_suggested() -> None:
    with pytest.raises(BadQuantity, match="did you mean `delete`"):
        parse_kind("delte")
