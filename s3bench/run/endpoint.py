"""What the client under test talks to: the stub, or a live S3.

Owns the one interface behind which they are alike to the bench: armed before an iteration, collected after it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from s3bench.clients.environment import EndpointFacts
from s3bench.s3.endpoint import StubEndpoint
from s3bench.s3.wirelog import WireLog
from s3bench.spec.definition import Response


class Endpoint(Protocol):
    """Armed before an iteration, collected after it."""

    @property
    def facts(self) -> EndpointFacts:
        """What a client has to know to reach it."""
        ...

    def arm(self, responses: tuple[Response, ...], *, workspace: Path, verify: bool) -> None:
        """Make ready for one iteration; file bodies are read from `workspace`."""
        ...

    def collect(self) -> WireLog | None:
        """End the iteration: what the server saw, or `None` where nobody could look."""
        ...


@dataclass(frozen=True, slots=True)
class Stubbed:
    """Scripted responses from the stub server."""

    stub: StubEndpoint

    @property
    def facts(self) -> EndpointFacts:
        """Our own URL and certificate authority."""
        return EndpointFacts(url=self.stub.url, ca_bundle=self.stub.ca_bundle)

    def arm(self, responses: tuple[Response, ...], *, workspace: Path, verify: bool) -> None:
        """Hand the script to the server."""
        self.stub.arm(responses, workspace=workspace, verify=verify)

    def collect(self) -> WireLog | None:
        """The server's own record."""
        return self.stub.collect()


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A real S3 at `url`; nobody scripts it and nobody sees its wire."""

    url: str

    @property
    def facts(self) -> EndpointFacts:
        """The URL, to be reached with the user's own credentials."""
        return EndpointFacts(url=self.url, live=True)

    def arm(self, responses: tuple[Response, ...], *, workspace: Path, verify: bool) -> None:
        """Leave the endpoint as it is."""

    def collect(self) -> WireLog | None:
        """Nobody looked."""
        return None
