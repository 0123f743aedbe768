"""The life of the server's process: it starts, it ends with us, and its death is told."""

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from s3bench.errors import BadInput, MachineError, S3BenchError
from s3bench.s3.control import StoredFile
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint, ServerProcess, StubEndpoint, reachable
from s3bench.s3.network.model import parse_network
from s3bench.spec.definition import FileBody, RequestMatch, Response
from tests.processes import await_end

LIMIT_S = 60.0


def test_the_server_lives_as_long_as_its_context(tmp_path: Path) -> None:
    with StubEndpoint(directory=tmp_path) as stub:
        assert stub.url.startswith("http://127.0.0.1:")
        assert stub.ca_bundle is None
        os.kill(stub.pid, 0)
    await_end(stub.pid)


def test_requests_wait_until_the_stub_has_its_responses(tmp_path: Path) -> None:
    with StubEndpoint(directory=tmp_path) as stub:
        address = stub.url.removeprefix("http://").split(":")
        with socket.create_connection((address[0], int(address[1])), LIMIT_S) as early:
            early.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            stub.arm((Response(body="here", instances=None),), workspace=tmp_path, verify=False)
            assert early.recv(1000).startswith(b"HTTP/1.1 200 ")


def test_the_server_ends_when_its_harness_is_killed(tmp_path: Path) -> None:
    program = (
        "import signal, sys; from pathlib import Path; from s3bench.s3.endpoint import StubEndpoint\n"
        "with StubEndpoint(directory=Path(sys.argv[1])) as stub: print(stub.pid, flush=True); signal.pause()"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as harness:
        assert harness.stdout is not None
        pid = int(harness.stdout.readline())
        harness.send_signal(signal.SIGKILL)
    await_end(pid)


def test_the_server_ends_though_somebody_holds_its_control_channel_open(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from s3bench.s3.endpoint import StubEndpoint\n"
        "with StubEndpoint(directory=Path(sys.argv[1])) as stub:\n"
        "    holder = os.fork() or signal.alarm(20) or signal.pause()\n"
        "    print(stub.pid, holder, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as harness:
        assert harness.stdout is not None
        pid, holder = map(int, harness.stdout.readline().split())
        harness.wait(LIMIT_S)
        try:
            await_end(pid)
        finally:
            os.kill(holder, signal.SIGKILL)


def test_a_server_that_died_is_the_machines_error_whatever_it_is_asked(tmp_path: Path) -> None:
    with StubEndpoint(directory=tmp_path) as stub:
        os.kill(stub.pid, signal.SIGKILL)
        await_end(stub.pid)
        for ask in (stub.collect, partial(stub.arm, (), workspace=tmp_path, verify=False)):
            with pytest.raises(MachineError, match="exit code -9"):
                ask()


def test_a_server_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = (sys.executable, "-c", "raise SystemExit('no luck')")
    monkeypatch.setattr("s3bench.s3.endpoint.module_command", lambda *_: command)
    with pytest.raises(MachineError) as raised, StubEndpoint(directory=tmp_path):
        pass
    assert "no luck" in raised.value.why


def test_a_missing_file_is_told_and_the_server_goes_on(wire: Any) -> None:
    with pytest.raises(S3BenchError, match=r"responses\[1\].*'gone'"):
        wire.arm(Response(), Response(body=FileBody(file="gone")))
    wire.arm(Response(body=FileBody(file="small")))
    assert wire.collect().leftover == ("responses[0]: unused",)


def test_interrupting_the_terminal_leaves_the_server(stub: StubEndpoint) -> None:
    assert os.getpgid(stub.pid) != os.getpgid(0)


def test_the_server_is_quiet(wire: Any, stub: StubEndpoint) -> None:
    wire.arm()
    wire.collect()
    assert (Path(stub._directory) / "server-stderr.txt").read_bytes() == b""
    Path(f"/proc/{stub.pid}").stat()


def test_files_are_closed_after_each_iteration(wire: Any, stub: StubEndpoint) -> None:
    open_before = len(list(Path(f"/proc/{stub.pid}/fd").iterdir()))
    for _ in range(5):
        wire.arm(wire.any_file("small"), wire.any_file("large"))
        with wire.connect() as client:
            client.send(wire.request("GET", "/b/k"))
            client.response()
        wire.collect()
    assert len(list(Path(f"/proc/{stub.pid}/fd").iterdir())) <= open_before


class TestListening:
    def test_a_port_that_is_taken_is_bad_input(self, tmp_path: Path, stub: StubEndpoint) -> None:
        with (
            pytest.raises(BadInput, match=f"port {stub.port}") as raised,
            ServerProcess(directory=tmp_path, port=stub.port),
        ):
            pass
        assert "another program listens there" in raised.value.why
        assert "--port" in raised.value.fix

    def test_an_address_of_another_machine_is_bad_input(self, tmp_path: Path) -> None:
        # 192.0.2.0/24 is for documentation alone (RFC 5737), so no machine has it.
        with (
            pytest.raises(BadInput, match=r"192\.0\.2\.1") as raised,
            ServerProcess(directory=tmp_path, host="192.0.2.1"),
        ):
            pass
        assert "not an address of this machine" in raised.value.why

    @pytest.mark.skipif(not socket.has_ipv6, reason="this machine speaks no IPv6")
    def test_an_ipv6_address_stands_in_brackets(self, tmp_path: Path) -> None:
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            pytest.skip("this machine has no ::1")
        with StubEndpoint(directory=tmp_path, host="::1") as stub:
            assert stub.url == f"http://[::1]:{stub.port}"
            stub.arm((Response(),), workspace=tmp_path, verify=False)
            with socket.create_connection(("::1", stub.port), timeout=LIMIT_S) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                assert client.recv(100).startswith(b"HTTP/1.1 200")

    def test_a_wildcard_address_is_reached_by_loopback(self) -> None:
        assert [reachable(host) for host in ("0.0.0.0", "::", "10.0.0.1")] == ["127.0.0.1", "[::1]", "10.0.0.1"]

    def test_the_certificate_is_good_for_further_names(self, tmp_path: Path) -> None:
        with StubEndpoint(directory=tmp_path, tls=True, names=("s3.test", "*.s3.test")) as server:
            server.arm((), workspace=tmp_path, verify=False)
            context = ssl.create_default_context(cafile=str(server.ca_bundle))
            for name in ("127.0.0.1", "localhost", "s3.test", "bucket.s3.test"):
                with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S) as plain:
                    context.wrap_socket(plain, server_hostname=name).close()
            with (
                socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S) as plain,
                pytest.raises(ssl.SSLCertVerificationError),
            ):
                context.wrap_socket(plain, server_hostname="elsewhere.test")

    def test_a_certificate_that_cannot_be_written_is_the_machines_error(self, tmp_path: Path) -> None:
        with pytest.raises(MachineError, match="certificate"), ServerProcess(directory=tmp_path / "none", tls=True):
            pass


class TestDraining:
    def test_requests_are_given_once_in_the_order_of_their_end_while_the_connection_lives(self, wire: Any) -> None:
        wire.arm(Response(match=RequestMatch(), instances=None, body="four"))
        with wire.connect() as client:
            for key in "abc":
                client.send(wire.request("PUT", f"/b/{key}", b"xx"))
                client.response()
            first = wire.stub.drain(requests_max=2)
            assert [request.path for request in first.requests] == ["/b/a", "/b/b"]
            assert first.pending == 1
            client.send(wire.request("GET", "/b/d"))
            client.response()
            second = wire.stub.drain(requests_max=500)
            assert [request.path for request in second.requests] == ["/b/c", "/b/d"]
            assert second.pending == 0
            counters = second.counters
            assert (counters.requests, counters.bytes_received, counters.bytes_sent) == (4, 6, 16)
            assert (counters.connections, counters.connections_open, counters.in_flight) == (1, 1, 0)
            assert counters.server_cpu_s > 0
        assert wire.stub.drain(requests_max=500).requests == ()
        log = wire.collect()
        assert log.requests == ()
        assert log.connections == 1

    def test_requests_that_nobody_wants_are_counted_and_forgotten(self, wire: Any) -> None:
        wire.arm(Response(match=RequestMatch(), instances=None))
        with wire.connect() as client:
            for _ in range(3):
                client.send(wire.request("GET", "/b/k"))
                client.response()
            drained = wire.stub.drain(requests_max=0)
        assert (drained.requests, drained.pending, drained.counters.requests) == ((), 0, 3)
        assert wire.collect().requests == ()

    def test_a_request_that_is_on_is_in_flight_and_still_recorded_later(self, wire: Any) -> None:
        wire.arm(Response())
        with wire.connect() as client:
            client.send(b"PUT /b/k HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab")
            deadline_s = time.monotonic() + LIMIT_S
            while not wire.stub.drain(requests_max=9).counters.in_flight:
                assert time.monotonic() < deadline_s
            client.send(b"cd")
            client.response()
            assert [request.body_bytes for request in wire.stub.drain(requests_max=9).requests] == [4]

    def test_faults_are_given_once(self, wire: Any) -> None:
        wire.arm()
        with wire.connect() as client:
            client.send(b"nonsense\r\n\r\n")
            client.status_or_close()
            assert "not an HTTP request line" in str(wire.stub.drain(requests_max=9).faults)
            assert wire.stub.drain(requests_max=9).faults == ()
        assert wire.collect().faults == ()

    def test_draining_for_long_keeps_the_server_small(self, wire: Any, stub: StubEndpoint) -> None:
        wire.arm(Response(match=RequestMatch(), instances=None))

        def rss_pages() -> int:
            return int(Path(f"/proc/{stub.pid}/statm").read_text().split()[1])

        with wire.connect() as client:
            for round_number in range(20):
                client.send(wire.request("GET", "/b/k") * 500)
                for _ in range(500):
                    client.response()
                wire.stub.drain(requests_max=0)
                if round_number == 4:
                    before = rss_pages()
        # 7,500 records that were kept would be 1,000 pages and more.
        assert rss_pages() - before < 200


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorEndpoint]:
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("emulator")) as endpoint:
        yield endpoint


class TestEmulator:
    @staticmethod
    def ask(emulator: EmulatorEndpoint, wire: Any, method: str, target: str, body: bytes = b"") -> tuple[int, bytes]:
        with socket.create_connection(("127.0.0.1", emulator.port), timeout=LIMIT_S) as client:
            client.sendall(wire.request(method, target, body, Connection="close"))
            answer = b""
            while piece := client.recv(65536):
                answer += piece
        head, _, content = answer.partition(b"\r\n\r\n")
        return int(head.split(b" ")[1]), content

    def test_it_holds_what_it_was_given_and_counts_it(
        self, emulator: EmulatorEndpoint, wire: Any, workspace: Path
    ) -> None:
        emulator.arm(
            EmulatorSettings(buckets=("empty-one",)), objects=[StoredFile("bucket", "a/k", str(workspace / "small"))]
        )
        assert self.ask(emulator, wire, "GET", "/bucket/a/k") == (200, (workspace / "small").read_bytes())
        assert self.ask(emulator, wire, "HEAD", "/empty-one")[0] == 200
        assert self.ask(emulator, wire, "PUT", "/empty-one/k", b"1234")[0] == 200
        counters = emulator.drain(requests_max=10).counters
        assert counters.objects == 2
        assert counters.held_bytes >= 260
        assert emulator.collect().leftover == ()

    def test_its_log_says_that_it_verifies(self, emulator: EmulatorEndpoint) -> None:
        emulator.arm(EmulatorSettings())
        assert emulator.collect().verified

    def test_every_arming_begins_a_new_one(self, emulator: EmulatorEndpoint, wire: Any) -> None:
        emulator.arm(EmulatorSettings(buckets=("one",)))
        assert self.ask(emulator, wire, "PUT", "/one/k", b"1234")[0] == 200
        emulator.arm(EmulatorSettings(buckets=("one",)))
        assert self.ask(emulator, wire, "GET", "/one/k")[0] == 404
        assert emulator.drain(requests_max=10).counters.objects == 0

    def test_objects_of_the_last_iteration_are_there_again_whatever_became_of_them(
        self, emulator: EmulatorEndpoint, wire: Any, workspace: Path
    ) -> None:
        objects = [StoredFile("bucket", name, str(workspace / name)) for name in ("large", "small")]
        for _ in range(3):
            emulator.arm(EmulatorSettings(), objects=objects)
            assert self.ask(emulator, wire, "GET", "/bucket/large") == (200, (workspace / "large").read_bytes())
            assert self.ask(emulator, wire, "DELETE", "/bucket/large")[0] == 204
            assert self.ask(emulator, wire, "PUT", "/bucket/small", b"other")[0] == 200
            emulator.collect()

    def test_objects_are_in_memory_once_and_only_as_long_as_they_are_asked_for(
        self, emulator: EmulatorEndpoint, workspace: Path
    ) -> None:
        size_bytes = (workspace / "large").stat().st_size
        for _ in range(3):
            emulator.arm(EmulatorSettings(), objects=[StoredFile("bucket", "k", str(workspace / "large"))])
            emulator.collect()
            assert size_bytes <= self.object_bytes(emulator) < size_bytes + 5000
        emulator.arm(EmulatorSettings())
        assert self.object_bytes(emulator) == 0

    @staticmethod
    def object_bytes(emulator: EmulatorEndpoint) -> int:
        """The pages of the anonymous files that hold the server's objects."""
        open_files = Path(f"/proc/{emulator.pid}/fd").iterdir()
        return sum(file.stat().st_blocks * 512 for file in open_files if "s3bench-objects" in str(file.readlink()))

    def test_an_object_that_does_not_fit_or_is_not_there_is_told(
        self, emulator: EmulatorEndpoint, wire: Any, workspace: Path
    ) -> None:
        with pytest.raises(S3BenchError, match=r"cannot hold .*large as bucket/k"):
            emulator.arm(
                EmulatorSettings(memory_limit_bytes=100_000),
                objects=[StoredFile("bucket", "k", str(workspace / "large"))],
            )
        with pytest.raises(S3BenchError, match=r"cannot hold .*gone as bucket/k"):
            emulator.arm(EmulatorSettings(), objects=[StoredFile("bucket", "k", str(workspace / "gone"))])
        emulator.arm(EmulatorSettings(buckets=("one",)))
        assert self.ask(emulator, wire, "HEAD", "/one")[0] == 200

    def test_a_data_directory_that_is_none_is_bad_input(self, emulator: EmulatorEndpoint, workspace: Path) -> None:
        with pytest.raises(BadInput, match="not a directory"):
            emulator.arm(EmulatorSettings(data_dir=str(workspace / "small")))

    def test_a_network_model_is_imposed_and_its_faults_recorded(self, emulator: EmulatorEndpoint, wire: Any) -> None:
        emulator.arm(EmulatorSettings(buckets=("one",)), network=parse_network("ttfb=30ms,errors=1"))
        assert self.ask(emulator, wire, "HEAD", "/one")[0] == 500
        (request,) = emulator.collect().requests
        assert request.fault == "error"
        assert request.response_started_ns - request.body_ended_ns >= 30_000_000
