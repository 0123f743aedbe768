"""What somebody wrote about a load run, whatever the notation: the profile, where it is to run, and doubts about it.

Owns the nouns between the notations (`profilefile`, `stress`, the command line) and those who run a profile.
"""

from dataclasses import dataclass
from enum import StrEnum

from s3bench.clients.environment import check_endpoint_url
from s3bench.load.profile.profile import Profile


class Addressing(StrEnum):
    """Where a request names its bucket: at the beginning of the path, or of the host name."""

    PATH = "path"
    VIRTUAL = "virtual"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Where a profile is to run, and by how many processes; `None` and empty tuples where nothing was said."""

    endpoint_urls: tuple[str, ...] = ()
    bucket: str | None = None
    region: str | None = None
    addressing: Addressing = Addressing.PATH
    tls_verify: bool = True
    ca_bundle: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        """Raises `BadInput` for a URL that holds a password."""
        for url in self.endpoint_urls:
            check_endpoint_url(url)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A profile as written, with its wishes; `warnings` are for whoever reads the results."""

    profile: Profile
    wishes: Wishes = Wishes()
    warnings: tuple[str, ...] = ()
