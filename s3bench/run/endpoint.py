"""The endpoint of a benchmark: stub or emulator in a process of its own, a stub in the client's, or a live S3.

All have one interface: armed before an iteration, collected after it. The live one is in `live`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from s3bench.clients.environment import EndpointFacts
from s3bench.clients.inprocess import URL, log_of, read_log, write_script
from s3bench.errors import BadInput
from s3bench.s3.control import StoredFile
from s3bench.s3.emulator.settings import MEMORY_LIMIT_BYTES, EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint, StubEndpoint
from s3bench.s3.network.model import NetworkModel
from s3bench.s3.wirelog import WireLog
from s3bench.spec.command import TransferDirection, parse_transfer
from s3bench.spec.definition import Definition, Response
from s3bench.spec.stored import StoredObject, buckets_of, stored_objects

_S3_COMMANDS = frozenset({"s3", "s3api"})


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

    @property
    def network(self) -> NetworkModel | None:
        """The network model that it imposes."""
        ...

    def adapted(self, definition: Definition) -> Definition:
        """The definition as it has to be for this endpoint; raises `BadInput` where it cannot run there."""
        ...

    def arm(self, responses: tuple[Response, ...], *, workspace: Path, verify: bool) -> None:
        """Make ready for one iteration; file bodies are read from `workspace`."""
        ...

    def collect(self, meanwhile: Callable[[], object]) -> WireLog | None:
        """End the iteration: what the server saw, or `None` where nobody could look.

        `meanwhile` is called once, best while a server writes its log.
        """
        ...

    def served(self) -> dict[str, str]:
        """Where no log tells it: which workspace file stands behind which path."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys of this endpoint that must not be kept; empty where they are fake."""
        ...


@dataclass(frozen=True, slots=True)
class Stubbed:
    """Scripted responses from the stub server."""

    stub: StubEndpoint
    script: Path | None = None
    network: NetworkModel | None = None
    secrets: tuple[str, ...] = ()

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

    def collect(self, meanwhile: Callable[[], object]) -> WireLog | None:
        """The server's own record."""
        return self.stub.collect(meanwhile)

    def served(self) -> dict[str, str]:
        """The log tells."""
        return {}


class Emulated:
    """A new S3 in memory for every iteration, with what the definition's command needs in it.

    It holds `memory_limit_bytes` at the most, objects to be downloaded included. With `discard_uploads` it verifies
    what is uploaded and keeps only its size and checksums, so that any size can be uploaded; downloads get real bytes.
    """

    def __init__(
        self,
        emulator: EmulatorEndpoint,
        *,
        network: NetworkModel | None,
        memory_limit_bytes: int | None = None,
        discard_uploads: bool = False,
    ) -> None:
        self.script: Path | None = None
        self.secrets: tuple[str, ...] = ()
        self.facts = EndpointFacts(url=emulator.url, ca_bundle=emulator.ca_bundle)
        self._emulator = emulator
        self.network: NetworkModel | None = network
        self._memory_limit_bytes = memory_limit_bytes or MEMORY_LIMIT_BYTES
        self._discard_uploads = discard_uploads
        self._is_upload = False
        self._buckets: tuple[str, ...] = ()
        self._objects: tuple[StoredObject, ...] = ()

    def adapted(self, definition: Definition) -> Definition:
        """The definition without its responses: they only tell which objects there are."""
        service = definition.command[0]
        if service not in _S3_COMMANDS and not service.startswith("-"):
            raise BadInput(
                f"`{' '.join(definition.command)}` is not run on the emulator",
                "it is an S3, and knows no other service",
                "run it against the stub",
            )
        transfer = parse_transfer(definition.command)
        self._is_upload = transfer is not None and transfer.direction is TransferDirection.UPLOAD
        self._buckets = buckets_of(definition)
        self._objects = stored_objects(definition)
        return replace(definition, responses=None)

    def arm(self, responses: tuple[Response, ...], *, workspace: Path, verify: bool) -> None:
        """Have an emulator that is as the benchmark expects it. It verifies checksums as S3 does."""
        del responses, verify
        self._emulator.arm(
            EmulatorSettings(
                buckets=self._buckets,
                memory_limit_bytes=self._memory_limit_bytes,
                discard=self._discard_uploads and self._is_upload,
            ),
            network=self.network,
            objects=tuple(StoredFile(item.bucket, item.key, str(workspace / item.file)) for item in self._objects),
        )

    def collect(self, meanwhile: Callable[[], object]) -> WireLog | None:
        """The server's own record."""
        return self._emulator.collect(meanwhile)

    def served(self) -> dict[str, str]:
        """The objects that were there to be downloaded: path to fixture file."""
        return {item.path: item.file for item in self._objects}


class InProcess:
    """Scripted responses inside a Classic client's own process: no sockets, and no wire that proves anything."""

    def __init__(self, directory: Path) -> None:
        self.facts = EndpointFacts(url=URL)
        self.network: NetworkModel | None = None
        self.secrets: tuple[str, ...] = ()
        self.script: Path | None = directory / "script.json"
        self._log = log_of(self.script)
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

    def collect(self, meanwhile: Callable[[], object]) -> WireLog | None:
        """What the probe wrote down."""
        meanwhile()
        return read_log(self._log, self._responses)

    def served(self) -> dict[str, str]:
        """The log tells."""
        return {}
