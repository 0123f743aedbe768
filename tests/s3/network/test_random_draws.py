"""What chance deals: the same for the same, whatever the order."""

import math
import random
from itertools import pairwise

import pytest

from s3bench.s3.network import random_draws
from s3bench.s3.network.model import NetworkModel
from s3bench.s3.network.random_draws import RandomDraws, ttfb_s
from s3bench.s3.protocol.http import RequestHead, parse_head


def head(target: str, method: str = "GET", byte_range: str = "") -> RequestHead:
    line = f"\r\nRange: {byte_range}" if byte_range else ""
    return parse_head(f"{method} {target} HTTP/1.1\r\nHost: h{line}".encode())


def test_equal_seeds_deal_the_same_whatever_the_order() -> None:
    requests = [head(f"/b/{number % 50}") for number in range(200)]
    dealt = []
    for order in (requests, requests[::-1], random.Random(1).sample(requests, len(requests))):
        deals = RandomDraws(7)
        dealt.append(sorted((request.path, deals.draw(request)) for request in order))
    assert dealt[0] == dealt[1] == dealt[2]


def test_another_seed_deals_something_else() -> None:
    assert RandomDraws(7).draw(head("/b/k")) != RandomDraws(8).draw(head("/b/k"))


@pytest.mark.parametrize(
    "other", [head("/b/l"), head("/b/k?x=1"), head("/b/k", "PUT"), head("/b/k", byte_range="bytes=0-1")]
)
def test_different_requests_are_dealt_differently(other: RequestHead) -> None:
    assert RandomDraws(7).draw(head("/b/k")) != RandomDraws(7).draw(other)


def test_the_same_request_again_is_dealt_anew() -> None:
    deals = RandomDraws(7)
    assert len({deals.draw(head("/b/k")) for _ in range(10)}) == 10


def test_upload_ids_and_signatures_make_no_difference() -> None:
    first = RandomDraws(7).draw(head("/b/k?partNumber=2&uploadId=abc&X-Amz-Signature=1"))
    assert first == RandomDraws(7).draw(head("/b/k?partNumber=2&uploadId=xyz&X-Amz-Signature=2"))
    assert first != RandomDraws(7).draw(head("/b/k?partNumber=3&uploadId=abc"))


def test_more_requests_than_are_counted_apart_are_dealt_anew_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_draws, "_COUNTED_MAX", 10)
    deals = RandomDraws(7)
    dealt = [deals.draw(head(f"/b/{number}")) for number in range(100) for _ in range(2)]
    assert len(set(dealt)) == 200


def test_draws_are_spread_evenly_and_independently() -> None:
    deals = RandomDraws(3)
    dealt = [deals.draw(head("/b/k")) for _ in range(4000)]
    for values in ([draw.ttfb for draw in dealt], [draw.fault for draw in dealt], [draw.place for draw in dealt]):
        assert all(0 <= value < 1 for value in values)
        assert abs(sum(values) / len(values) - 0.5) < 0.02
        assert abs(sum(value < 0.1 for value in values) / len(values) - 0.1) < 0.02
    both = sum(draw.ttfb < 0.5 and draw.fault < 0.5 for draw in dealt) / len(dealt)
    assert abs(both - 0.25) < 0.03


def test_a_fixed_ttfb_is_always_the_same() -> None:
    model = NetworkModel(ttfb_p50_s=0.02, ttfb_p90_s=0.02)
    assert {ttfb_s(model, share) for share in (0.0, 0.5, 0.999)} == {0.02}


def test_a_lognormal_ttfb_has_the_two_quantiles_and_is_lognormal() -> None:
    model = NetworkModel(ttfb_p50_s=0.015, ttfb_p90_s=0.04)
    assert math.isclose(ttfb_s(model, 0.5), 0.015)
    assert math.isclose(ttfb_s(model, 0.9), 0.04)
    assert math.isclose(ttfb_s(model, 0.1), 0.015**2 / 0.04)
    values = [ttfb_s(model, share / 100) for share in range(100)]
    assert all(low < high for low, high in pairwise(values))
    assert values[0] > 0


def test_samples_are_drawn_as_often_as_they_are_there() -> None:
    model = NetworkModel(ttfb_samples_s=(0.01, 0.01, 0.01, 0.5))
    assert [ttfb_s(model, share) for share in (0.0, 0.74, 0.75, 0.99)] == [0.01, 0.01, 0.5, 0.5]
