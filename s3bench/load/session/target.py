"""Resolves endpoint URLs to a request target: addresses, host names and keys.

All addresses of a name are used in turn (DNS spreading).
"""

import socket
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from s3bench.clients.environment import Credentials
from s3bench.errors import BadInput
from s3bench.load.engine.message import Keys, RequestTarget

_PORTS = {"http": 80, "https": 443}

LookUp = Callable[[str, int], Sequence[str]]
"""Gives the IP addresses of a name; raises `OSError` when there are none."""


def addresses_of(name: str, port: int) -> tuple[str, ...]:
    """Look up a name's IP addresses, each once, in the resolver's order."""
    found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(where[0]) for *_, where in found))


def find_target(
    urls: Sequence[str],
    *,
    bucket: str,
    credentials: Credentials | None,
    virtual_hosts: bool = False,
    tls_verify: bool = True,
    ca_bundle: str | None = None,
    express: bool = False,
    look_up: LookUp = addresses_of,
) -> RequestTarget:
    """Resolve `urls`; anonymous without `credentials`.

    Raises `BadInput` for an invalid URL, one that cannot be resolved, or one that cannot be combined with the others.
    """
    assert urls
    schemes = {urlsplit(url).scheme.lower() for url in urls}
    if len(schemes) != 1 or not schemes <= _PORTS.keys():
        shown = ", ".join(urls)
        raise BadInput(
            f"endpoint {shown}: not all http:// or all https://", fix="write URLs like http://127.0.0.1:9000"
        )
    addresses: list[tuple[str, int]] = []
    hosts: list[str] = []
    for url in urls:
        name, port, host = parse_url(url)
        name = f"{bucket}.{name}" if virtual_hosts else name
        try:
            found = look_up(name, port)
        except OSError as error:
            raise BadInput(
                f"endpoint {url}: {name} cannot be resolved", str(error), _fix(virtual_hosts=virtual_hosts)
            ) from error
        addresses.extend((address, port) for address in found)
        hosts.extend(host for _ in found)
    keys = Keys()
    if credentials is not None:
        keys = Keys(
            access_key=credentials.access_key,
            secret_key=credentials.secret_key,
            token=credentials.token,
            region=credentials.region,
        )
    return RequestTarget(
        addresses=tuple(addresses),
        hosts=tuple(hosts),
        tls=schemes == {"https"},
        tls_verify=tls_verify,
        ca_bundle=ca_bundle,
        virtual_hosts=virtual_hosts,
        bucket=bucket,
        keys=keys,
        express=express,
    )


def parse_url(url: str) -> tuple[str, int, str]:
    """Take the http:// or https:// URL of an endpoint apart: name, port, and the Host field.

    That field leaves out a port that is the scheme's own. Raises `BadInput`.
    """
    try:
        parts = urlsplit(url)
        name, port = parts.hostname, parts.port
    except ValueError as error:
        raise BadInput(f"endpoint {url}: {error}", fix="write it like http://127.0.0.1:9000") from error
    if not name or parts.path not in {"", "/"} or parts.query or parts.fragment or parts.username:
        raise BadInput(
            f"endpoint {url} must be a URL with a host and nothing after it", fix="write it like http://127.0.0.1:9000"
        )
    usual = _PORTS[parts.scheme.lower()]
    shown = f"[{name}]" if ":" in name else name
    return name, port or usual, shown if port in {None, usual} else f"{shown}:{port}"


def _fix(*, virtual_hosts: bool) -> str:
    if virtual_hosts:
        return "check the name, or use --addressing path, which needs no name for the bucket"
    return "check the name, and that this machine can resolve it"
