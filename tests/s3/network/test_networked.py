"""What befalls requests behind a network model, and what does not."""

from collections import Counter

from s3bench.s3.emulator.addressing import BucketAddressing
from s3bench.s3.network.model import NetworkModel, parse_network
from s3bench.s3.network.networked import Networked
from s3bench.s3.protocol.exchange import NO_BODY, Break, Reply, RequestBody, Segment
from s3bench.s3.protocol.http import RequestHead, parse_head
from s3bench.s3.wirelog import InjectedFault

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


class Inner:
    """A handler that counts what reaches it."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.finished: list[str] = []

    def begin(self, head: RequestHead) -> None:
        del head

    def finish(self, head: RequestHead, body: RequestBody, date_line: bytes) -> Reply:
        del body, date_line
        self.finished.append(head.path)
        return self.reply


def head(path: str, method: str = "GET", host: str = "h") -> RequestHead:
    return parse_head(f"{method} {path} HTTP/1.1\r\nHost: {host}".encode())


def behind(model: NetworkModel, reply: Reply | None = None) -> tuple[Networked, Inner]:
    inner = Inner(reply or Reply(200, HEAD, b"x" * 100))
    bucket_of = BucketAddressing("localhost", "http").bucket_of
    return Networked(inner, model, bucket_of=bucket_of, clock=lambda: 0), inner


def fates(model: NetworkModel, count: int) -> list[tuple[str, int, float, str]]:
    network, _ = behind(model)
    return [
        (f"/b/{number}", *_told(network.finish(head(f"/b/{number}"), NO_BODY, b"Date: now\r\n")))
        for number in range(count)
    ]


def _told(reply: Reply) -> tuple[int, float, str]:
    return reply.facts[0], reply.facts[-2], reply.facts[-1]


def test_the_handlers_own_reply_comes_later_and_stays_as_it_was() -> None:
    reply = Reply(200, HEAD, b"body", delay_s=0.5, served=("f", 1, 5))
    network, _ = behind(parse_network("ttfb=20ms"), reply)
    got = network.finish(head("/b/k"), NO_BODY, b"")
    assert (got.data, got.delay_s, got.broken, got.at_once) == (reply.data, 0.52, None, None)
    assert got.facts == (200, {}, "", "f", 1, 5, 0.52, "")
    assert (reply.delay_s, reply.facts[-2:]) == (0.5, (0.5, ""))


def test_a_reply_that_would_be_sent_in_one_go_is_not_when_it_crosses_a_link() -> None:
    network, inner = behind(parse_network("bandwidth=1MB/s"))
    assert inner.reply.at_once
    assert not network.finish(head("/b/k"), NO_BODY, b"").at_once


def test_chance_deals_faults_at_their_rates_and_equally_for_equal_seeds() -> None:
    model = parse_network("ttfb=lognormal:15ms:40ms,errors=0.1,resets=0.05,stalls=0.2:5s,seed=7")
    dealt = fates(model, 4000)
    counts = Counter(fault for *_, fault in dealt)
    for fault, share in (
        (InjectedFault.ERROR, 0.1),
        (InjectedFault.RESET, 0.05),
        (InjectedFault.STALL, 0.2),
        (InjectedFault.NONE, 0.65),
    ):
        assert abs(counts[fault] / 4000 - share) < 0.03
    assert dealt == fates(model, 4000)
    assert dealt != fates(parse_network(model.text.replace("seed=7", "seed=8")), 4000)


def test_a_request_that_fails_changes_nothing() -> None:
    network, inner = behind(parse_network("ttfb=20ms,errors=1"))
    reply = network.finish(head("/b/k", "PUT"), NO_BODY, b"Date: now\r\n")
    assert b"<Code>InternalError</Code>" in reply.data
    assert _told(reply) == (500, 0.02, "error")
    assert reply.delay_s == 0.02
    assert inner.finished == []


def test_a_prefix_that_has_too_many_slows_down_after_the_first_byte_time() -> None:
    network, inner = behind(parse_network("ttfb=20ms,reads=2"))
    replies = [network.finish(head(f"/b/{number}"), NO_BODY, b"Date: now\r\n") for number in range(3)]
    assert [_told(reply) for reply in replies] == [(200, 0.02, ""), (200, 0.02, ""), (503, 0.02, "slow-down")]
    assert b"<Code>SlowDown</Code>" in replies[2].data
    assert len(inner.finished) == 2


def test_buckets_are_limited_apart_however_they_are_addressed() -> None:
    network, inner = behind(parse_network("reads=1"))
    for host, path in (
        ("minio.local:9000", "/one"),
        ("minio.local:9000", "/two"),
        ("three.localhost:9000", "/k"),
        ("four.localhost:9000", "/k"),
        ("minio.local:9000", "/three/dir/k"),
    ):
        assert _told(network.finish(head(path, host=host), NO_BODY, b""))[0] == 200
    for host, path in (("127.0.0.1", "/one/k"), ("three.localhost", "/other"), ("s3.localhost", "/three/k")):
        assert _told(network.finish(head(path, host=host), NO_BODY, b""))[0] == 503
    assert inner.finished[2] == "/k"


def test_draws_for_equal_keys_of_two_buckets_do_not_depend_on_their_order() -> None:
    model = parse_network("ttfb=lognormal:15ms:40ms,seed=7")
    dealt = []
    for order in (("one", "two"), ("two", "one")):
        network, _ = behind(model)
        dealt.append(
            {bucket: _told(network.finish(head("/k", host=f"{bucket}.localhost"), NO_BODY, b"")) for bucket in order}
        )
    assert dealt[0] == dealt[1]
    assert dealt[0]["one"] != dealt[0]["two"]


def test_a_request_is_dealt_the_same_however_it_addresses_its_bucket() -> None:
    model = parse_network("ttfb=lognormal:15ms:40ms,seed=7")
    virtual = behind(model)[0].finish(head("/k", host="one.localhost"), NO_BODY, b"")
    path_style = behind(model)[0].finish(head("/one/k"), NO_BODY, b"")
    assert _told(virtual) == _told(path_style)


def test_a_reset_and_a_stall_strike_inside_the_body() -> None:
    for text, stall_s in (("resets=1", 0.0), ("stalls=1:5s", 5.0)):
        network, inner = behind(parse_network(text))
        places = set()
        for _ in range(50):
            broken = network.finish(head("/b/k"), NO_BODY, b"").broken
            assert broken is not None
            assert broken.stall_s == stall_s
            assert len(HEAD) <= broken.after_bytes < len(HEAD) + 100
            places.add(broken.after_bytes)
        assert len(places) > 10
        assert len(inner.finished) == 50


def test_segments_count_for_where_a_reply_breaks() -> None:
    class File:
        descriptor, name = 0, "f"

    network, _ = behind(parse_network("resets=1"), Reply(200, HEAD, segments=(Segment(File(), 0, 10**9),)))
    broken = network.finish(head("/b/k"), NO_BODY, b"").broken
    assert broken is not None
    assert len(HEAD) + 1000 < broken.after_bytes < 10**9


def test_a_reply_without_a_body_breaks_inside_its_head() -> None:
    network, _ = behind(parse_network("resets=1"), Reply(200, HEAD))
    for _ in range(20):
        broken = network.finish(head("/b/k"), NO_BODY, b"").broken
        assert isinstance(broken, Break)
        assert 1 <= broken.after_bytes < len(HEAD)
