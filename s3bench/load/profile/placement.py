"""Where a load profile runs: endpoint, bucket, TLS, and the number of worker processes."""

from enum import StrEnum

import msgspec

from s3bench.clients.environment import check_no_password
from s3bench.load.profile.profile import Profile


class Addressing(StrEnum):
    """Where a request names its bucket: at the beginning of the path, or of the host name."""

    PATH = "path"
    VIRTUAL = "virtual"


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where a profile runs, and by how many processes; `None` and empty tuples where nothing is given."""

    endpoint_urls: tuple[str, ...] = ()
    bucket: str | None = None
    region: str | None = None
    addressing: Addressing = Addressing.PATH
    express: bool = False
    tls_no_verify: bool = False
    ca_bundle: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        """Raises `BadInput` for a URL that holds a password."""
        for url in self.endpoint_urls:
            check_no_password(url)


class PlacedProfile(msgspec.Struct, frozen=True, kw_only=True):
    """A profile and where it runs; `warnings` are for readers of the results."""

    profile: Profile
    placement: Placement = Placement()
    warnings: tuple[str, ...] = ()
