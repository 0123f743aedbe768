"""How many requests a prefix takes."""

import pytest

from s3bench.s3.network.limits import PREFIXES_MAX, RateLimits, prefix_of
from s3bench.s3.protocol.http import RequestHead, parse_head

SECOND_NS = 1_000_000_000


def head(path: str, method: str = "GET") -> RequestHead:
    return parse_head(f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:9000".encode())


def admitted(rates: RateLimits, request: RequestHead, count: int, now_ns: int) -> int:
    return sum(rates.admits(request, now_ns) for _ in range(count))


def test_a_second_of_requests_is_taken_at_once_and_then_the_rate() -> None:
    rates = RateLimits(reads_per_s=10, writes_per_s=3)
    assert admitted(rates, head("/b/p/k"), 50, 0) == 10
    assert admitted(rates, head("/b/p/k"), 50, SECOND_NS // 2) == 5
    assert admitted(rates, head("/b/p/k"), 50, 60 * SECOND_NS) == 10


def test_what_is_turned_away_costs_nothing() -> None:
    rates = RateLimits(reads_per_s=2, writes_per_s=None)
    admitted(rates, head("/b/p/k"), 1000, 0)
    assert admitted(rates, head("/b/p/k"), 9, SECOND_NS) == 2


def test_reads_writes_and_prefixes_are_counted_apart() -> None:
    rates = RateLimits(reads_per_s=10, writes_per_s=3)
    assert admitted(rates, head("/b/p/k"), 50, 0) == 10
    assert admitted(rates, head("/b/p/other", "HEAD"), 50, 0) == 0
    assert admitted(rates, head("/b/p/k", "PUT"), 50, 0) == 3
    assert admitted(rates, head("/b/p/k", "DELETE"), 50, 0) == 0
    assert admitted(rates, head("/b/q/k"), 50, 0) == 10


def test_a_missing_rate_is_no_limit_and_a_small_one_still_takes_one() -> None:
    rates = RateLimits(reads_per_s=None, writes_per_s=0.1)
    assert admitted(rates, head("/b/k"), 99, 0) == 99
    assert admitted(rates, head("/b/k", "PUT"), 9, 0) == 1
    assert admitted(rates, head("/b/k", "PUT"), 9, 10 * SECOND_NS) == 1


def test_the_prefixes_of_the_last_requests_are_remembered_and_no_more() -> None:
    rates = RateLimits(reads_per_s=2, writes_per_s=2)
    for number in range(PREFIXES_MAX + 1):
        assert rates.admits(head(f"/b/{number}/k"), number)
    taken = {number: admitted(rates, head(f"/b/{number}/k"), 9, PREFIXES_MAX) for number in (PREFIXES_MAX, 1, 0)}
    assert taken == {PREFIXES_MAX: 1, 1: 1, 0: 2}  # the first one was forgotten, which is as good as a full one


@pytest.mark.parametrize(
    ("path", "prefix"), [("/b/dir/sub/key", "/b/dir/sub"), ("/b/key", "/b"), ("/b", "/b"), ("/b/", "/b"), ("/", "/")]
)
def test_the_prefix_is_the_bucket_and_the_key_up_to_its_last_slash(path: str, prefix: str) -> None:
    assert prefix_of(head(path)) == prefix
