"""How many requests a prefix takes."""

import pytest

from s3bench.s3.network import limits
from s3bench.s3.network.limits import RateLimits, prefix_of
from s3bench.s3.protocol.http import RequestHead, parse_head

SECOND_NS = 1_000_000_000


def head(path: str, method: str = "GET", host: str = "127.0.0.1:9000") -> RequestHead:
    return parse_head(f"{method} {path} HTTP/1.1\r\nHost: {host}".encode())


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


def test_the_number_of_prefixes_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_BUCKETS_MAX", 10)
    rates = RateLimits(reads_per_s=2, writes_per_s=2)
    for number in range(100):
        assert rates.admits(head(f"/b/{number}/k"), number)
    assert len(rates._buckets) == 10
    assert admitted(rates, head("/b/99/k"), 9, 100) == 1
    assert rates.admits(head("/b/new/k"), 5 * SECOND_NS)
    assert len(rates._buckets) == 1


@pytest.mark.parametrize(
    ("path", "host", "prefix"),
    [
        ("/b/dir/sub/key", "127.0.0.1:9000", "127.0.0.1/b/dir/sub"),
        ("/b/key", "localhost", "localhost/b"),
        ("/b", "localhost", "localhost/b"),
        ("/b/", "localhost", "localhost/b"),
        ("/key", "b.localhost:9000", "b.localhost"),
        ("/dir/key", "b.localhost", "b.localhost/dir"),
    ],
)
def test_the_prefix_is_the_bucket_and_the_key_up_to_its_last_slash(path: str, host: str, prefix: str) -> None:
    assert prefix_of(head(path, host=host)) == prefix
