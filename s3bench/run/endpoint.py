"""What the client under test talks to: the stub, in a process of its own or inside the client's, or a live S3.

Owns the one interface behind which they are alike to the bench: armed before an iteration, collected after it. The live
one is `live`'s.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from s3bench.clients.environment import EndpointFacts
from s3bench.clients.inprocess import URL, read_log, write_script
from s3bench.s3.endpoint import StubEndpoint
from s3bench.s3.wirelog import WireLog
from s3bench.spec.definition import Definition, Response


class Endpoint(Protocol):
    """Armed before an iteration, collected after it."""

    @property
    def facts(self) -> EndpointFacts:
        """What a client has to know to reach it."""
        ...

    @property
    def script(self) -> Path | None:
        """What a stub inside the client's process reads, where this is one."""
        ...

    def adapted(self, definition: Definition) -> Definition:
        """The definition as it has to be for this endpoint; raises `BadInput` where it cannot run there."""
        ...

    def arm(self, responses: tuple[Response, ...], *, workspace: Path, verify: bool) -> None:
        """Make ready for one iteration; file bodies are read from `workspace`."""
        ...

    def collect(self) -> WireLog | None:
        """End the iteration: what the server saw, or `None` where nobody could look."""
        ...

    def served(self) -> dict[str, str]:
        """Where no log tells: which workspace file stands behind which path."""
        ...

    def conceal(self, text: str) -> str:
        """Take this endpoint's secrets out of what a client wrote."""
        ...


@dataclass(frozen=True, slots=True)
class Stubbed:
    """Scripted responses from the stub server."""

    stub: StubEndpoint
    script: Path | None = None

    def adapted(self, definition: Definition) -> Definition:
        """The definition as it is."""
        return definition

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

    def served(self) -> dict[str, str]:
        """The log tells."""
        return {}

    def conceal(self, text: str) -> str:
        """There are no secrets here."""
        return text


class InProcess:
    """Scripted responses inside a Classic client's own process: no sockets, and no wire that proves anything."""

    def __init__(self, directory: Path) -> None:
        self.facts = EndpointFacts(url=URL)
        self.script: Path | None = directory / "script.json"
        self._log = directory / "requests.jsonl"
        self._responses: tuple[Response, ...] = ()

    def adapted(self, definition: Definition) -> Definition:
        """The definition as it is."""
        return definition

    def arm(self, responses: tuple[Response, ...], *, workspace: Path, verify: bool) -> None:
        """Write the script; checksums are not recomputed there."""
        del verify
        assert self.script is not None
        self._responses = responses
        write_script(self.script, responses, workspace=workspace, log=self._log)

    def collect(self) -> WireLog | None:
        """What the probe wrote down."""
        return read_log(self._log, self._responses)

    def served(self) -> dict[str, str]:
        """The log tells."""
        return {}

    def conceal(self, text: str) -> str:
        """There are no secrets here."""
        return text
