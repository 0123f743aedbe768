"""The servers that are compared, each started on a free port and stopped again.

Owns how each is started and what is said where one is missing. All have the same keys, and are empty.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from peers import ServerEnded, free_port, serving

ACCESS_KEY = "conformance"
SECRET_KEY = "conformance-secret-0123456789"  # noqa: S105 (of servers that live for seconds)
DOMAIN = "localhost"

_PLACES = (str(Path.home() / "go" / "bin"), str(Path(sys.executable).parent))


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that answers at `url`."""

    name: str
    url: str


class Missing(Exception):
    """The server's program is not there, or does not start."""


@contextmanager
def emulator(*more: str) -> Iterator[Server]:
    """Start the emulator, by `s3bench serve` with `more` options."""
    port = free_port()
    program = _program("s3bench", None, "install this project")
    keys = {"S3BENCH_SECRET_KEY": SECRET_KEY}
    command = [
        program,
        "serve",
        "--port",
        str(port),
        "--log",
        "none",
        "--access-key",
        ACCESS_KEY,
        "--domain",
        DOMAIN,
        *more,
    ]
    with serving(command, port, keys):
        yield Server(name="emulator", url=f"http://127.0.0.1:{port}")


@contextmanager
def versitygw(program: str | None) -> Iterator[Server]:
    """Start versitygw over an empty directory."""
    port = free_port()
    advice = "go install github.com/versity/versitygw/cmd/versitygw@latest, or name it with --versitygw"
    found = _program("versitygw", program, advice)
    keys = {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
    with tempfile.TemporaryDirectory(prefix="conformance-") as directory:
        data, versions = Path(directory) / "data", Path(directory) / "versions"
        data.mkdir()
        versions.mkdir()
        command = [found, "--port", f"127.0.0.1:{port}", "--keep-alive", "--virtual-domain", f"{DOMAIN}:{port}"]
        with _started([*command, "posix", "--versioning-dir", str(versions), str(data)], port, keys):
            yield Server(name="versitygw", url=f"http://127.0.0.1:{port}")


@contextmanager
def moto(program: str | None) -> Iterator[Server]:
    """Start moto's server."""
    port = free_port()
    advice = "install moto[server] into a virtual environment of its own and name its moto_server with --moto"
    with _started([_program("moto_server", program, advice), "-p", str(port)], port):
        yield Server(name="moto", url=f"http://127.0.0.1:{port}")


@contextmanager
def _started(command: list[str], port: int, environment: Mapping[str, str] | None = None) -> Iterator[None]:
    try:
        with serving(command, port, environment):
            yield
    except ServerEnded as error:
        raise Missing(str(error)) from error


def _program(name: str, named: str | None, advice: str) -> str:
    found = shutil.which(named or name, path=os.pathsep.join((os.environ.get("PATH", ""), *_PLACES)))
    if found is None:
        raise Missing(f"{named or name} is not there: {advice}")
    return found
