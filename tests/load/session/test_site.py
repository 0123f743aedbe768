"""Where a run takes place: the S3 in memory, or a live endpoint, and what is known of the way there."""

import math
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import psutil
import pytest

from s3bench.clients.environment import FAKE_CREDENTIALS, Credentials
from s3bench.errors import BadInput, S3BenchError
from s3bench.load.engine.message import RequestTarget
from s3bench.load.profile.placement import Placement
from s3bench.load.session.bucket import LiveBucket
from s3bench.load.session.site import EMULATED_BUCKET, Site, emulated_site, is_on_this_machine, live_site
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from tests.load.fakepool import Named


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorEndpoint]:
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("server")) as server:
        server.arm(EmulatorSettings(buckets=("data",)))
        yield server


def test_the_emulated_site_is_there_as_long_as_it_is_used(tmp_path: Path) -> None:
    with emulated_site(tmp_path, network=None) as site:
        assert site.is_emulated
        assert site.bucket.name == site.target.bucket == EMULATED_BUCKET
        site.bucket.check()
        site.every_second()
        assert site.link_bytes_per_s == math.inf
    with pytest.raises(S3BenchError, match="cannot be used"):
        site.bucket.check()


def test_a_live_site_is_signed_for_with_the_keys_given_and_the_region_wished(server: EmulatorEndpoint) -> None:
    keys = Credentials(access_key="key", secret_key="secret", token="token", region="us-east-1")
    site = live_site(Placement(endpoint_urls=(server.url,), bucket="data", region="eu-west-1"), keys)
    assert not site.is_emulated
    assert site.urls == (server.url,)
    told = site.target.keys
    assert (told.access_key, told.secret_key, told.token, told.region) == ("key", "secret", "token", "eu-west-1")
    site.every_second()


def test_without_keys_the_users_own_are_taken(server: EmulatorEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s3bench.load.session.site.own_credentials", lambda: FAKE_CREDENTIALS)
    site = live_site(Placement(endpoint_urls=(server.url,), bucket="data"), None)
    assert site.target.keys.access_key == FAKE_CREDENTIALS.access_key


def test_a_live_site_needs_a_bucket_that_is_there(server: EmulatorEndpoint) -> None:
    with pytest.raises(BadInput, match="--endpoint-url needs --bucket"):
        live_site(Placement(endpoint_urls=(server.url,)), FAKE_CREDENTIALS)
    with pytest.raises(BadInput, match="bucket 'absent' cannot be used"):
        live_site(Placement(endpoint_urls=(server.url,), bucket="absent"), FAKE_CREDENTIALS)


def site_at(address: str) -> Site:
    target = RequestTarget(addresses=((address, 80),), hosts=(address,), bucket="data")
    return Site(urls=(), target=target, bucket=LiveBucket(None, "data"))


def with_interface(monkeypatch: pytest.MonkeyPatch, *, ours: str, speed_mbit: int) -> None:
    """Make the kernel's routes lead out by the address `ours`, of an interface of that speed."""

    class Probe:
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def connect(self, _: Any) -> None:
            if not ours:
                raise OSError("no route")

        def getsockname(self) -> tuple[str, int]:
            return ours, 1

    monkeypatch.setattr(socket, "socket", lambda *_: Probe())
    monkeypatch.setattr(
        psutil, "net_if_addrs", lambda: {"lo": [Named(address="127.0.0.1")], "nic": [Named(address="10.0.0.2")]}
    )
    monkeypatch.setattr(psutil, "net_if_stats", lambda: {"nic": Named(speed=speed_mbit)})


@pytest.mark.parametrize(
    ("ours", "speed_mbit", "expected"),
    [("10.0.0.2", 1000, 125_000_000.0), ("10.0.0.2", 0, None), ("10.0.0.9", 1000, None), ("", 1000, None)],
)
def test_the_link_is_as_fast_as_the_interface_towards_the_endpoint(
    monkeypatch: pytest.MonkeyPatch, ours: str, speed_mbit: int, expected: float | None
) -> None:
    with_interface(monkeypatch, ours=ours, speed_mbit=speed_mbit)
    assert site_at("192.0.2.1").link_bytes_per_s == expected


def test_the_link_of_a_load_from_other_machines_is_not_known() -> None:
    assert replace(site_at("127.0.0.1"), is_loaded_from_here=False).link_bytes_per_s is None


def test_an_address_of_this_machine_has_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with_interface(monkeypatch, ours="10.0.0.2", speed_mbit=1000)
    assert site_at("10.0.0.2").link_bytes_per_s == math.inf


def test_loopback_has_no_limit() -> None:
    assert site_at("127.0.0.1").link_bytes_per_s == site_at("::1").link_bytes_per_s == math.inf


BOOK = {
    "own.test": ("192.0.2.1", "10.0.0.2"),
    "other.test": ("10.0.0.3",),
    "localhost": ("127.0.0.5",),
    "any.test": ("0.0.0.0",),
}


def look_up(name: str, port: int) -> tuple[str, ...]:
    del port
    if name not in BOOK:
        raise socket.gaierror("unknown name")
    return BOOK[name]


@pytest.mark.parametrize(
    ("urls", "expected"),
    [
        (["http://localhost:9000"], True),
        (["http://any.test:9000"], True),
        (["https://own.test"], True),
        (["https://other.test", "https://own.test"], True),
        (["https://other.test"], False),
        (["http://nowhere.test", "http://[", "http://other.test:99999999"], False),
    ],
)
def test_a_server_is_on_this_machine_if_an_address_of_it_is_our_own(
    monkeypatch: pytest.MonkeyPatch, urls: list[str], expected: bool
) -> None:
    with_interface(monkeypatch, ours="10.0.0.2", speed_mbit=1000)
    assert is_on_this_machine(urls, look_up=look_up) is expected


def test_every_url_is_checked_at_the_start(server: EmulatorEndpoint, tmp_path: Path) -> None:
    with EmulatorEndpoint(directory=tmp_path) as gone:
        dead = gone.url
    both = live_site(Placement(endpoint_urls=(server.url, server.url), bucket="data"), FAKE_CREDENTIALS)
    assert both.urls == (server.url, server.url)
    with pytest.raises(S3BenchError, match=f"bucket 'data' cannot be used at {dead}"):
        live_site(Placement(endpoint_urls=(server.url, dead), bucket="data"), FAKE_CREDENTIALS)
