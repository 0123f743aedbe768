"""The site of a load run: an S3 in memory started for it, or a live endpoint, with its bucket and request target.

On a live endpoint the user's own credentials are used, and nothing outside of the
run's prefix is touched.
"""

import ipaddress
import math
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from s3bench.clients.environment import FAKE_CREDENTIALS, Credentials, own_credentials
from s3bench.errors import BadInput
from s3bench.load.engine.message import RequestTarget
from s3bench.load.profile.placement import Addressing, Placement
from s3bench.load.session.bucket import LiveBucket
from s3bench.load.session.target import LookUp, addresses_of, find_target
from s3bench.s3.emulator.directory_bucket import is_directory_bucket, zone_of
from s3bench.s3.emulator.operation import DIRECTORY_BUCKET_SUFFIX
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.s3.network.model import NetworkModel

EMULATED_BUCKET = "s3bench"
EMULATED_DIRECTORY_BUCKET = f"s3bench--use1-az4{DIRECTORY_BUCKET_SUFFIX}"

_MBIT_BYTES_PER_S = 125_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """An endpoint in use. `every_second` must be called once a second; `is_emulated`: it was started for the run.

    `is_loaded_from_here` is false where the load comes from other machines.
    """

    urls: tuple[str, ...]
    target: RequestTarget
    bucket: LiveBucket
    is_emulated: bool = False
    is_loaded_from_here: bool = True
    every_second: Callable[[], object] = lambda: None

    @property
    def link_bytes_per_s(self) -> float | None:
        """The speed of the network interface towards the endpoint; infinite within this machine, `None` if unknown."""
        if not self.is_loaded_from_here:
            return None
        return _link_bytes_per_s(*self.target.addresses[0])


@contextmanager
def emulated_site(directory: Path, *, network: NetworkModel | None, express: bool = False) -> Iterator[Site]:
    """Start an S3 in memory in a process of its own, behind `network`; `directory` is private to it.

    `express`: with a directory bucket.
    """
    name = EMULATED_DIRECTORY_BUCKET if express else EMULATED_BUCKET
    with EmulatorEndpoint(directory=directory) as server:
        server.arm(EmulatorSettings(buckets=(name,)), network=network)
        urls = (server.url,)
        yield Site(
            urls=urls,
            target=find_target(urls, bucket=name, credentials=FAKE_CREDENTIALS, express=express),
            bucket=LiveBucket.at(server.url, name, credentials=FAKE_CREDENTIALS),
            is_emulated=True,
            every_second=lambda: server.drain(requests_max=0),  # else its wire log would grow with every request
        )


def live_site(placement: Placement, credentials: Credentials | None) -> Site:
    """Open a live endpoint. Raises `BadInput` if one of its URLs, or the bucket there, cannot be used.

    Without `credentials` the user's own are looked up.
    """
    if placement.bucket is None:
        raise BadInput("--endpoint-url needs --bucket", fix="pass --bucket; only keys below s3bench/ in it are touched")
    _check_bucket_type(placement.bucket, express=placement.express)
    keys = credentials or own_credentials()
    if placement.region:
        keys = Credentials(
            access_key=keys.access_key, secret_key=keys.secret_key, token=keys.token, region=placement.region
        )
    virtual_hosts = placement.addressing is Addressing.VIRTUAL
    target = find_target(
        placement.endpoint_urls,
        bucket=placement.bucket,
        credentials=keys,
        virtual_hosts=virtual_hosts,
        tls_verify=not placement.tls_no_verify,
        ca_bundle=placement.ca_bundle,
        express=placement.express,
    )
    buckets = [
        LiveBucket.at(
            url,
            placement.bucket,
            credentials=keys,
            virtual_hosts=virtual_hosts,
            tls_verify=not placement.tls_no_verify,
            ca_bundle=placement.ca_bundle,
        )
        for url in placement.endpoint_urls
    ]
    for bucket in buckets:
        bucket.check()
    return Site(urls=placement.endpoint_urls, target=target, bucket=buckets[0])


def _check_bucket_type(bucket: str, *, express: bool) -> None:
    if express and zone_of(bucket) is None:
        raise BadInput(
            f"--express needs a directory bucket; {bucket!r} is not one",
            f"directory buckets are named BASE--ZONE-ID{DIRECTORY_BUCKET_SUFFIX}",
            f"pass a name such as logs--use1-az4{DIRECTORY_BUCKET_SUFFIX}, or remove --express",
        )
    if is_directory_bucket(bucket) and not express:
        raise BadInput(f"{bucket!r} is a directory bucket", "its requests are signed in a session", "pass --express")


def is_on_this_machine(urls: Sequence[str], *, look_up: LookUp = addresses_of) -> bool:
    """Whether any of `urls` has an address of this machine; false where that cannot be told."""
    for url in urls:
        try:
            where = urlsplit(url)
            port = where.port or 80
            found = look_up(where.hostname or "", port)
        except (ValueError, OSError):
            continue
        if any(_is_own(address, _source_address(address, port)) for address in found):
            return True
    return False


def _is_own(address: str, source: str | None) -> bool:
    """Whether an address, towards which `source` is our own, is one of this machine."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    return parsed.is_loopback or parsed.is_unspecified or source == address


def _source_address(address: str, port: int) -> str | None:
    """Our own address towards another one, which is the same if that is our own; `None` without a route."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, port))  # a datagram socket sends nothing then
            return str(probe.getsockname()[0])
    except OSError:
        return None


def _link_bytes_per_s(address: str, port: int) -> float | None:
    ours = _source_address(address, port)
    if _is_own(address, ours):
        return math.inf
    speeds = psutil.net_if_stats()
    for name, addresses in psutil.net_if_addrs().items():
        if any(each.address.partition("%")[0] == ours for each in addresses) and name in speeds:
            return speeds[name].speed * _MBIT_BYTES_PER_S or None
    return None
