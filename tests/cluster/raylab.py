"""A Ray cluster of several nodes on one machine, in a network of its own with nothing but loopback.

Owns the namespace, Ray's processes and their end. Ray's driver looks for the machine's outward address; in here there
is none. `Unavailable` says why it cannot be made.
"""

import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

from s3bench.clients.environment import FAKE_CREDENTIALS

BUCKET = "data"

_CLONE_NEWNET = 0x40000000
_S3BENCH = "from s3bench.cli.main import main; main()"
_PORT = 6379
_START_S = 60.0
_STOP_S = 15.0
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",  # whatever tokens this user has
    "RAY_ADDRESS": f"127.0.0.1:{_PORT}",
    "AWS_ACCESS_KEY_ID": FAKE_CREDENTIALS.access_key,
    "AWS_SECRET_ACCESS_KEY": FAKE_CREDENTIALS.secret_key,
}


class Unavailable(Exception):
    """There can be no such cluster here."""


@contextmanager
def own_network() -> Iterator[None]:
    """Let this thread, and what it starts, see nothing but a loopback interface of their own."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open("rb") as before:
        if not hasattr(libc, "unshare") or libc.unshare(_CLONE_NEWNET):
            raise Unavailable(f"no network namespace: {os.strerror(ctypes.get_errno())}")
        try:
            if shutil.which("ip") is None:
                raise Unavailable("no `ip` to bring loopback up")
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            yield
        finally:
            assert libc.setns(before.fileno(), _CLONE_NEWNET) == 0


class RayNode:
    """The processes of one node: `ray start --block` and what it started."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=2", *arguments]
        command += ["--disable-usage-stats", "--object-store-memory=80000000"]
        environment = {**os.environ, **_ENVIRONMENT}
        environment.pop("RAY_ADDRESS")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )

    def kill_raylet(self) -> None:
        """End it as a crash of the machine's Ray would."""
        for process in psutil.Process(self._process.pid).children(recursive=True):
            if process.name() == "raylet":
                process.kill()

    def stop(self) -> None:
        """End all of it."""
        with suppress(psutil.NoSuchProcess):
            processes = psutil.Process(self._process.pid).children(recursive=True)
            self._process.send_signal(signal.SIGTERM)
            _, alive = psutil.wait_procs([*processes, psutil.Process(self._process.pid)], timeout=_STOP_S)
            for process in alive:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        self._process.wait(_STOP_S)


class RayLab:
    """A cluster, and s3bench on it."""

    def __init__(self, directory: Path, nodes: int, stack: ExitStack) -> None:
        self._directory = directory
        self._stack = stack
        self.nodes: list[RayNode] = []
        self._add("--head", f"--port={_PORT}", "--include-dashboard=false", f"--temp-dir={directory}")
        _wait((directory / "ray_current_cluster").exists)  # Ray writes it when others can join
        for _ in range(nodes - 1):
            self._add(f"--address=127.0.0.1:{_PORT}")
        _wait(lambda: _alive() == nodes)

    def add_node(self) -> None:
        """Start one more node, in the place of one that was ended."""
        self._add(f"--address=127.0.0.1:{_PORT}")
        _wait(lambda: _alive() == len(self.nodes))

    def _add(self, *arguments: str) -> None:
        self.nodes.append(RayNode(*arguments))
        self._stack.callback(self.nodes[-1].stop)

    def load(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start `s3bench load --cluster auto`; whoever starts it waits for it."""
        return self.start("load", "--cluster", "auto", "-b", BUCKET, *arguments)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start `s3bench`; whoever starts it waits for it."""
        return subprocess.Popen(
            [sys.executable, "-c", _S3BENCH, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **_ENVIRONMENT},
        )


@contextmanager
def ray_lab(nodes: int) -> Iterator[RayLab]:
    """A cluster of so many nodes, in the network of this thread."""
    if importlib.util.find_spec("ray") is None:
        raise Unavailable("Ray is not installed")
    with ExitStack() as stack:
        directory = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # sockets' paths are short (unix(7))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        yield RayLab(directory, nodes, stack)


def _wait(is_there: Callable[[], bool]) -> None:
    until_s = time.monotonic() + _START_S
    while not is_there():
        if time.monotonic() > until_s:
            raise Unavailable(f"Ray did not start within {_START_S:g} s")
        time.sleep(0.05)


def _alive() -> int:
    """How many nodes have joined."""
    from ray._raylet import GcsClient  # noqa: PLC0415 (where Ray is installed)

    nodes = GcsClient(address=f"127.0.0.1:{_PORT}").get_all_node_info()
    return sum(node.state == 0 for node in nodes.values())
