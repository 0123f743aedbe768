"""The endpoints that a bench can be opened with, each as a function of the directory that it may write to."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from s3bench.run.endpoint import Emulated, Endpoint, InProcess, Stubbed
from s3bench.run.live import LiveEndpoint
from s3bench.s3.endpoint import EmulatorEndpoint, StubEndpoint
from s3bench.s3.network.model import NetworkModel

EndpointOpener = Callable[[Path], AbstractContextManager[Endpoint]]


def stub_server(*, tls: bool = False) -> EndpointOpener:
    """Scripted responses from a server of ours."""

    @contextmanager
    def opened(directory: Path) -> Iterator[Endpoint]:
        with StubEndpoint(tls=tls, directory=directory) as stub:
            yield Stubbed(stub)

    return opened


def stub_in_process() -> EndpointOpener:
    """Scripted responses inside the client's process."""

    @contextmanager
    def opened(directory: Path) -> Iterator[Endpoint]:
        yield InProcess(directory)

    return opened


def emulator(
    network: NetworkModel | None,
    *,
    tls: bool = False,
    memory_limit_bytes: int | None = None,
    discard_uploads: bool = False,
) -> EndpointOpener:
    """An S3 in memory behind a network model; see `s3bench.run.endpoint.Emulated`."""

    @contextmanager
    def opened(directory: Path) -> Iterator[Endpoint]:
        with EmulatorEndpoint(tls=tls, directory=directory) as server:
            yield Emulated(
                server, network=network, memory_limit_bytes=memory_limit_bytes, discard_uploads=discard_uploads
            )

    return opened


def live(url: str, *, bucket: str) -> EndpointOpener:
    """The S3 at `url`, under a prefix of our own in `bucket`."""

    @contextmanager
    def opened(_directory: Path) -> Iterator[Endpoint]:
        with LiveEndpoint(url, bucket=bucket) as endpoint:
            yield endpoint

    return opened


def check_live(url: str, *, bucket: str) -> None:
    """Check that the bucket can be used, before anything is installed for it. Raises `BadInput`."""
    LiveEndpoint(url, bucket=bucket).connect()
