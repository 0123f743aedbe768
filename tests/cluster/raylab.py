"""A Ray cluster of several nodes on one machine, in networks of its own, which nothing leaves.

Owns the namespaces, Ray's processes and their end, and commands that run there. Ray's driver looks for the machine's
outward address; in here there is none. `Unavailable` says why it cannot be made; tests are skipped then.
"""

import ctypes
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil
import pytest

from s3bench.clients.environment import FAKE_CREDENTIALS
from s3bench.results.document import Document, parse_document

BUCKET = "data"
LOOPBACK = "127.0.0.1"
NEAR, FAR = "10.99.0.1", "10.99.0.2"

_CLONE_NEWNET = 0x40000000
_S3BENCH = "from s3bench.cli.main import main; main()"
_PORT = 6379
_CLIENT_PORT = 10001
CLIENT = f"ray://{LOOPBACK}:{_CLIENT_PORT}"
_WITH_US = ("setpriv", "--pdeathsig", "TERM") if shutil.which("setpriv") else ()  # a test that is killed leaves nothing
_START_S = 60.0
WAIT_S = 60.0
_STOP_S = 15.0
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",  # whatever tokens this user has
    "GRPC_ENABLE_FORK_SUPPORT": "0",  # Ray's client server forks, and gRPC's care for that ends or hangs the child
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
            _ip("link", "set", "lo", "up")
            yield
        finally:
            assert libc.setns(before.fileno(), _CLONE_NEWNET) == 0


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a node is: its address, and how a command is started there."""

    address: str = LOOPBACK
    prefix: tuple[str, ...] = ()


class FarNetwork:
    """A second namespace, behind a cable to this one, whose ends are `NEAR` and `FAR`."""

    def __init__(self, holder: int) -> None:
        self._holder = holder
        self.near = Place(address=NEAR)
        self.far = Place(address=FAR, prefix=("nsenter", "--net", "--target", str(holder)))
        _ip("link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(holder))
        for place, name in ((self.near, "near"), (self.far, "far")):
            _ip("address", "add", f"{place.address}/24", "dev", name, place=place)
            _ip("link", "set", name, "up", place=place)
        _ip("link", "set", "lo", "up", place=self.far)

    def cut(self) -> None:
        """Unplug the cable; nobody is told."""
        _ip("link", "set", "near", "down")

    def workers(self) -> list[int]:
        """The load generator's workers over there, by their processes."""
        return load_workers(str(self._holder))


def load_workers(whose: str = "thread-self") -> list[int]:
    """The load generator's workers in the network of a process, or of this thread, by their processes."""
    there = _network(whose)
    return [
        process.pid
        for process in psutil.process_iter()
        if _network(str(process.pid)) == there and any("s3bench.load.engine.worker" in word for word in _words(process))
    ]


def _network(whose: str) -> str | None:
    with suppress(OSError):
        return str(Path(f"/proc/{whose}/ns/net").readlink())
    return None


@contextmanager
def far_network() -> Iterator[FarNetwork]:
    """A namespace beside this thread's, and a cable to it."""
    if shutil.which("nsenter") is None or shutil.which("unshare") is None:
        raise Unavailable("no `nsenter` and `unshare`")
    holder = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        holder.stdin.write(b"!")
        holder.stdin.flush()
        holder.stdout.read(1)  # it is in its namespace
        yield FarNetwork(holder.pid)
    finally:
        holder.communicate()


class RayNode:
    """The processes of one node: `ray start --block` and what it started."""

    def __init__(self, place: Place, *arguments: str) -> None:
        command = [
            *_WITH_US,
            *place.prefix,
            sys.executable,
            "-m",
            "ray.scripts.scripts",
            "start",
            "--block",
            "--num-cpus=2",
        ]
        command += [*arguments, f"--node-ip-address={place.address}"]
        command += ["--disable-usage-stats", "--object-store-memory=80000000"]
        self._command = command
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        self._children: list[psutil.Process] = []
        return subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ENVIRONMENT},
            start_new_session=True,
        )

    def restart(self) -> None:
        """Stop what is left of it and start it again."""
        self.stop()
        self._process = self._started()

    def kill_raylet(self) -> None:
        """End it as a crash of the machine's Ray would."""
        self._children = psutil.Process(self._process.pid).children(recursive=True)  # who survives it is an orphan
        for process in self._children:
            if process.name() == "raylet":
                process.kill()

    def kill_actor(self) -> None:
        """End the process of s3bench's node there; Ray goes on."""
        for process in psutil.Process(self._process.pid).children(recursive=True):
            if any("ray::WorkerNode" in word for word in _words(process)):
                process.kill()

    def stop(self) -> None:
        """End all of it."""
        children = {*self._children}
        with suppress(psutil.NoSuchProcess):
            children |= set(psutil.Process(self._process.pid).children(recursive=True))
            self._process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_S)
        self._process.kill()
        self._process.wait()
        for process in psutil.wait_procs(children, timeout=1.0)[1]:
            with suppress(psutil.NoSuchProcess):
                process.kill()


class RayLab:
    """A cluster, and s3bench on it."""

    def __init__(self, directory: Path, places: Sequence[Place], stack: ExitStack) -> None:
        self._directory = directory
        self._stack = stack
        self._head = f"{places[0].address}:{_PORT}"
        self.nodes: list[RayNode] = []
        ports = f"--port={_PORT}", f"--ray-client-server-port={_CLIENT_PORT}"
        self._add(places[0], "--head", *ports, "--include-dashboard=false", f"--temp-dir={directory}")
        _wait((directory / "ray_current_cluster").exists)  # Ray writes it when others can join
        for place in places[1:]:  # one after the other: they choose ports on the same machine
            self._add(place, f"--address={self._head}")
            _wait(lambda: _alive(self._head) == len(self.nodes))

    def _add(self, place: Place, *arguments: str) -> None:
        self.nodes.append(RayNode(place, *arguments))
        self._stack.callback(self.nodes[-1].stop)

    @contextmanager
    def node_lost(self, index: int) -> Iterator[None]:
        """Kill the raylet of a node; start it again when the context ends, so that later tests find all nodes."""
        self.nodes[index].kill_raylet()
        try:
            yield
        finally:
            _wait(lambda: _alive(self._head) == len(self.nodes) - 1)
            self.nodes[index].restart()
            _wait(lambda: _alive(self._head) == len(self.nodes))

    def load(self, *arguments: str, cluster: str = "auto") -> subprocess.Popen[bytes]:
        """Start `s3bench load --cluster`; whoever starts it waits for it."""
        return self.start("load", "--cluster", cluster, "-b", BUCKET, *arguments)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start `s3bench`; whoever starts it waits for it."""
        return subprocess.Popen(
            [*_WITH_US, sys.executable, "-c", _S3BENCH, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **_ENVIRONMENT, "RAY_ADDRESS": self._head},
        )


@contextmanager
def ray_lab(nodes: int | Sequence[Place]) -> Iterator[RayLab]:
    """A cluster of so many nodes on loopback, or of one in each place, seen from the network of this thread."""
    if importlib.util.find_spec("ray") is None:
        raise Unavailable("Ray is not installed")
    with ExitStack() as stack:
        directory = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # sockets' paths are short (unix(7))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        yield RayLab(directory, [Place()] * nodes if isinstance(nodes, int) else nodes, stack)


@contextmanager
def or_skip() -> Iterator[None]:
    """Skip the test where there can be no cluster."""
    pytest.importorskip("ray", reason="needs Ray: pip install 's3bench[cluster]'")
    try:
        yield
    except Unavailable as error:
        pytest.skip(str(error))


@contextmanager
def lab_or_skip(nodes: int) -> Iterator[RayLab]:
    """A cluster of so many nodes in a network of its own."""
    with or_skip(), own_network(), ray_lab(nodes) as lab:
        yield lab


class ClusterRun:
    """A command on the cluster that writes its results to `output`; it is killed when the context ends."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self.process = process
        self._output = output

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def ended(self) -> tuple[int, str]:
        """Its exit code, and what it said."""
        _, said = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, said.decode()

    @property
    def has_results(self) -> bool:
        """Whether the results of a phase are stored."""
        return self._output.exists()

    @property
    def document(self) -> Document:
        """Its results."""
        return parse_document(self._output.read_bytes(), source="output")

    @property
    def cluster(self) -> dict[str, Any]:
        """What they tell about the cluster."""
        reported: dict[str, Any] = json.loads(self._output.read_bytes())["options"]["cluster"]
        return reported

    def wait_until(self, is_so: Callable[[], bool], otherwise: str) -> None:
        """Wait while the command runs; it must not end before."""
        until_s = time.monotonic() + WAIT_S
        while not is_so():
            assert time.monotonic() < until_s, otherwise
            assert self.process.poll() is None, self.ended()
            time.sleep(0.01)


def _ip(*arguments: str, place: Place = Place()) -> None:
    subprocess.run([*place.prefix, "ip", *arguments], check=True)


def _words(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline()
    return []


def _wait(is_there: Callable[[], bool]) -> None:
    until_s = time.monotonic() + _START_S
    while not is_there():
        if time.monotonic() > until_s:
            raise Unavailable(f"Ray did not start within {_START_S:g} s")
        time.sleep(0.05)


def _alive(head: str) -> int:
    """How many nodes have joined."""
    from ray._raylet import GcsClient  # noqa: PLC0415 (where Ray is installed)

    nodes = GcsClient(address=head).get_all_node_info()
    return sum(node.state == 0 for node in nodes.values())
