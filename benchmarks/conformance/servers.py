"""The servers that are compared, each started on a free port and stopped again.

Owns how each is started and what is said where one is missing. All have the same keys, and are empty.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ACCESS_KEY = "conformance"
SECRET_KEY = "conformance-secret-0123456789"  # noqa: S105 (of servers that live for seconds)
DOMAIN = "localhost"

_START_S = 30.0
_STOP_S = 10.0
_PLACES = (str(Path.home() / "go" / "bin"), str(Path(sys.executable).parent))


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that answers at `url`."""

    name: str
    url: str


class Missing(Exception):
    """The server's program is not there."""


@contextmanager
def emulator(*more: str) -> Iterator[Server]:
    """Start the emulator, by `s3bench serve` with `more` options."""
    port = _free_port()
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
    with _started("emulator", command, port, keys) as server:
        yield server


@contextmanager
def versitygw(program: str | None) -> Iterator[Server]:
    """Start versitygw over an empty directory."""
    port = _free_port()
    advice = "go install github.com/versity/versitygw/cmd/versitygw@latest, or name it with --versitygw"
    found = _program("versitygw", program, advice)
    keys = {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
    with tempfile.TemporaryDirectory(prefix="conformance-") as directory:
        data, versions = Path(directory) / "data", Path(directory) / "versions"
        data.mkdir()
        versions.mkdir()
        command = [found, "--port", f"127.0.0.1:{port}", "--keep-alive", "--virtual-domain", f"{DOMAIN}:{port}"]
        with _started("versitygw", [*command, "posix", "--versioning-dir", versions, data], port, keys) as server:
            yield server


@contextmanager
def moto(program: str | None) -> Iterator[Server]:
    """Start moto's server."""
    port = _free_port()
    advice = "install moto[server] into a virtual environment of its own and name its moto_server with --moto"
    with _started("moto", [_program("moto_server", program, advice), "-p", str(port)], port, {}) as server:
        yield server


def _program(name: str, named: str | None, advice: str) -> str:
    found = shutil.which(named or name, path=os.pathsep.join((os.environ.get("PATH", ""), *_PLACES)))
    if found is None:
        raise Missing(f"{named or name} is not there: {advice}")
    return found


@contextmanager
def _started(name: str, command: list[str | Path], port: int, environment: dict[str, str]) -> Iterator[Server]:
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            [str(word) for word in command], env={**os.environ, **environment}, stdout=log, stderr=log
        ) as process,
    ):
        try:
            _wait_for(process, name, port)
            yield Server(name=name, url=f"http://127.0.0.1:{port}")
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_for(process: subprocess.Popen[bytes], name: str, port: int) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if process.poll() is not None:
                raise Missing(f"{name} ended with {process.returncode} before it took a connection") from None
            if time.monotonic() > deadline:
                raise Missing(f"{name} took no connection within {_START_S:.0f} s") from None
            time.sleep(0.05)
        else:
            return


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
