import http.client
from collections.abc import Iterator

import pytest

from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from tests.load.faultyproxy import FaultyProxy
from tests.load.misbehaving import (
    NS,
    Cut,
    Delay,
    Flip,
    Forward,
    Garble,
    HangUp,
    Ignore,
    Order,
    Refuse,
    Request,
    Shorten,
    Stall,
    Swap,
    sharing,
)

CONTENTS = {"/b/one": bytes(range(200)), "/b/two": bytes(reversed(range(200)))}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorEndpoint]:
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def proxy(server: EmulatorEndpoint) -> Iterator[FaultyProxy]:
    server.arm(EmulatorSettings(buckets=("b",)))
    with FaultyProxy(server.host, server.port) as proxy:
        for path, body in CONTENTS.items():
            assert ask(proxy, "PUT", path, body) == (200, b"")
        yield proxy


def ask(proxy: FaultyProxy, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    client = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
    try:
        client.request(method, path, body)
        answer = client.getresponse()
        return answer.status, answer.read()
    finally:
        client.close()


def always(proxy: FaultyProxy, order: Order) -> None:
    proxy.obey(sharing([(1.0, order)]))


def test_an_honest_proxy_changes_nothing_and_counts_everything(proxy: FaultyProxy) -> None:
    assert ask(proxy, "GET", "/b/one") == (200, CONTENTS["/b/one"])
    assert ask(proxy, "HEAD", "/b/one") == (200, b"")
    assert ask(proxy, "GET", "/b/nowhere")[0] == 404
    put, *_ = proxy.ledger.of("PUT")
    assert (put.status, put.bytes_up, put.bytes_down, put.was_right) == (200, 200, 0, True)
    right, wrong = proxy.ledger.of("GET", Forward)
    assert (right.status, right.bytes_down, right.was_right) == (200, 200, True)
    assert (wrong.status, wrong.was_right) == (404, False)
    assert put.answered_ns >= put.arrived_ns
    assert proxy.ledger.connections == 5


def test_a_refusal_reaches_nobody_behind(proxy: FaultyProxy) -> None:
    always(proxy, Refuse(status=503, code="SlowDown", delay_s=0.01))
    status, body = ask(proxy, "GET", "/b/nowhere")
    assert (status, b"<Code>SlowDown</Code>" in body) == (503, True)
    (exchange,) = proxy.ledger.of("GET")
    assert exchange.answered_ns - exchange.arrived_ns >= 0.01 * NS
    assert (exchange.bytes_down, exchange.was_right) == (len(body), False)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (Flip(share=0.5), bytes([*range(100), 101, *range(101, 200)])),
        (Shorten(share=0.25), CONTENTS["/b/one"][:50]),
        (Delay(delay_s=0.01), CONTENTS["/b/one"]),
        (HangUp(), CONTENTS["/b/one"]),
    ],
)
def test_a_body_is_what_was_ordered(proxy: FaultyProxy, order: Order, expected: bytes) -> None:
    always(proxy, order)
    assert ask(proxy, "GET", "/b/one") == (200, expected)
    (exchange,) = proxy.ledger.of("GET", type(order))
    assert exchange.was_right is isinstance(order, Delay | HangUp)


def test_bodies_are_swapped_as_soon_as_there_are_two(proxy: FaultyProxy) -> None:
    always(proxy, Swap())
    assert ask(proxy, "GET", "/b/one") == (200, CONTENTS["/b/one"])
    assert ask(proxy, "GET", "/b/two") == (200, CONTENTS["/b/one"])
    assert ask(proxy, "GET", "/b/one") == (200, CONTENTS["/b/two"])
    assert [each.was_right for each in proxy.ledger.of("GET")] == [True, False, False]


def test_a_cut_body_ends_early(proxy: FaultyProxy) -> None:
    always(proxy, Cut(share=0.3))
    with pytest.raises(http.client.IncompleteRead) as cut:
        ask(proxy, "GET", "/b/one")
    assert cut.value.partial == CONTENTS["/b/one"][:60]
    always(proxy, Cut(share=0.3, by_reset=True))
    with pytest.raises((ConnectionResetError, http.client.IncompleteRead)):
        ask(proxy, "GET", "/b/one")
    (exchange,) = proxy.ledger.of("GET", Cut)
    assert (exchange.bytes_down, exchange.was_right) == (60, False)


def test_no_answer_and_no_http_are_told_apart(proxy: FaultyProxy) -> None:
    always(proxy, Ignore())
    with pytest.raises(http.client.RemoteDisconnected):
        ask(proxy, "GET", "/b/one")
    assert [each.status for each in proxy.ledger.of("GET")] == [0]
    always(proxy, Garble())
    with pytest.raises(http.client.BadStatusLine):
        ask(proxy, "GET", "/b/one")


def test_hanging_up_is_not_announced(proxy: FaultyProxy) -> None:
    always(proxy, HangUp())
    client = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
    client.request("GET", "/b/one")
    answer = client.getresponse()
    assert (answer.will_close, answer.read()) == (False, CONTENTS["/b/one"])
    assert client.sock.recv(1) == b""
    client.close()


def test_shares_are_even_and_fall_on_the_ordered_method_alone() -> None:
    plan = sharing([(0.3, Refuse()), (0.1, Flip())])
    asked = [Request(number=number, method="GET", path="/b/k", query="") for number in range(1000)]
    orders = [type(plan(request)) for request in asked]
    assert [orders.count(each) for each in (Refuse, Flip, Forward)] == [300, 99, 601]
    assert type(plan(Request(number=1, method="PUT", path="/b/k", query=""))) is Forward
    assert type(plan(Request(number=1, method="GET", path="/b", query="list-type=2"))) is Forward


def test_a_stall_is_the_middle_of_every_period() -> None:
    stall = Stall(every_s=10, length_s=2)
    waits = [stall.wait_ns(round(passed_s * NS)) / NS for passed_s in (0, 3.9, 4, 5.5, 6, 14.5)]
    assert waits == [0, 0, 2, 0.5, 0, 1.5]
