import socket
from collections.abc import Sequence

import pytest

from s3bench.clients.environment import Credentials
from s3bench.errors import BadInput
from s3bench.load.session.target import addresses_of, find_target

CREDENTIALS = Credentials(access_key="A", secret_key="S", token="T", region="eu-west-1")
BOOK = {"one.test": ("10.0.0.1", "10.0.0.2"), "two.test": ("10.0.0.3",), "b.one.test": ("10.0.0.9",), "::1": ("::1",)}


def look_up(name: str, port: int) -> Sequence[str]:
    del port
    if name not in BOOK:
        raise socket.gaierror("unknown name")
    return BOOK[name]


def test_every_address_of_every_endpoint_is_used_with_its_host() -> None:
    target = find_target(
        ("https://one.test", "https://two.test:9443"), bucket="b", credentials=CREDENTIALS, look_up=look_up
    )
    assert target.addresses == (("10.0.0.1", 443), ("10.0.0.2", 443), ("10.0.0.3", 9443))
    assert target.hosts == ("one.test", "one.test", "two.test:9443")
    assert target.tls
    assert (target.keys.access_key, target.keys.region) == ("A", "eu-west-1")


def test_a_port_that_is_the_schemes_own_is_left_out_of_the_host() -> None:
    assert find_target(("http://one.test:80",), bucket="b", credentials=None, look_up=look_up).hosts[0] == "one.test"


def test_virtual_hosts_are_looked_up_with_their_bucket() -> None:
    target = find_target(("http://one.test",), bucket="b", credentials=None, virtual_hosts=True, look_up=look_up)
    assert target.addresses == (("10.0.0.9", 80),)
    assert target.hosts == ("one.test",)


def test_an_ipv6_address_keeps_its_brackets_in_the_host() -> None:
    target = find_target(("http://[::1]:9000",), bucket="b", credentials=None, look_up=look_up)
    assert (target.addresses, target.hosts) == ((("::1", 9000),), ("[::1]:9000",))


def test_without_credentials_requests_are_anonymous() -> None:
    assert not find_target(("http://one.test",), bucket="b", credentials=None, look_up=look_up).keys.access_key


@pytest.mark.parametrize(
    "urls",
    [
        ("one.test",),
        ("ftp://one.test",),
        ("http://one.test", "https://two.test"),
        ("http://",),
        ("http://one.test/path",),
        ("http://user@one.test",),
        ("http://one.test:99999",),
        ("http://nowhere.test",),
    ],
)
def test_what_is_no_endpoint_is_refused_by_name(urls: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match=urls[0].partition("//")[2][:8] or "endpoint"):
        find_target(urls, bucket="b", credentials=None, look_up=look_up)


def test_the_real_resolver_knows_loopback() -> None:
    assert addresses_of("127.0.0.1", 80) == ("127.0.0.1",)
