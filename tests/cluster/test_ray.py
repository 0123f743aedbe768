"""Real Ray, two nodes on one machine: what they did is what the server saw, and nothing outlasts its driver."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from s3bench.errors import ExitCode
from s3bench.load.session.inventory import FAR
from s3bench.results.document import Document, parse_document
from s3bench.results.histogram import Histogram
from s3bench.results.load import Load
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.s3.wirelog import WireRequest
from tests.cluster.raylab import BUCKET, CLIENT, RayLab, Unavailable, own_network, ray_lab

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(180)]

NODES = 2
WAIT_S = 60.0
SKEW_S_MAX = 0.010


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RayLab, EmulatorEndpoint]]:
    pytest.importorskip("ray", reason="needs Ray: pip install 's3bench[cluster]'")
    with ExitStack() as stack:
        try:
            stack.enter_context(own_network())
            lab = stack.enter_context(ray_lab(NODES))
        except Unavailable as error:
            pytest.skip(str(error))
        yield lab, stack.enter_context(EmulatorEndpoint(directory=tmp_path_factory.mktemp("server")))


class Run:
    """`s3bench load` on the cluster, against the emulator."""

    def __init__(
        self, lab: RayLab, server: EmulatorEndpoint, output: Path, *arguments: str, cluster: str = "auto"
    ) -> None:
        self._output = output
        self._server = server
        server.arm(EmulatorSettings(buckets=(BUCKET,)))
        self.process = lab.load("--endpoint-url", server.url, "-o", str(output), *arguments, cluster=cluster)

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
        return parse_document(self._output.read_bytes(), source="output")

    @property
    def cluster(self) -> dict[str, Any]:
        reported: dict[str, Any] = json.loads(self._output.read_bytes())["options"]["cluster"]
        return reported

    def wait_for_load(self, requests_min: int = 200) -> list[WireRequest]:
        """Wait until the server is under load; the requests that it had until then."""
        seen: list[WireRequest] = []
        until_s = time.monotonic() + WAIT_S
        while len(seen) < requests_min:
            assert time.monotonic() < until_s, "no load came"
            assert self.process.poll() is None, self.ended()
            time.sleep(0.02)
            seen += self._server.drain(requests_max=100_000).requests
        return seen

    def last_request_s(self) -> float:
        """When the last request began, by this machine's monotonic clock, once there were none for two seconds."""
        last_ns, quiet_since_s = 0, time.monotonic()
        while time.monotonic() < quiet_since_s + 2.0:
            requests = self._server.drain(requests_max=1_000_000).requests
            if requests:
                last_ns, quiet_since_s = max(each.started_ns for each in requests), time.monotonic()
            time.sleep(0.02)
        return last_ns / 1e9


Start = Callable[..., Run]


@pytest.fixture
def run(lab: tuple[RayLab, EmulatorEndpoint], tmp_path: Path) -> Iterator[Start]:
    started: list[Run] = []

    def begin(*arguments: str, cluster: str = "auto") -> Run:
        started.append(Run(*lab, tmp_path / f"{len(started)}.json", *arguments, cluster=cluster))
        return started[-1]

    yield begin
    for each in started:
        each.process.kill()
        each.process.communicate()


CLUSTERS = ("auto", CLIENT)
PUTS = ("--operation", "put", "--size", "4KiB", "-t", "8", "--workers-per-node", "1")


def loads(document: Document, loop: int = 0) -> tuple[Load, list[Load]]:
    """The load of all nodes together in a loop, and that of each."""
    by_node = {
        "".join(dimension.get("node", "") for dimension in result.dimensions): result.measurements[loop].load
        for result in document.results
    }
    found = {node: load for node, load in by_node.items() if load is not None}
    return found.pop(""), [found[node] for node in sorted(found)]


def number_of(request: WireRequest) -> int:
    """The number of the object that a request is about."""
    return int(request.path.rpartition("/")[2])


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_totals_are_the_sum_of_the_nodes_and_of_the_servers_log_and_all_begin_at_once(
    run: Start, lab: tuple[RayLab, EmulatorEndpoint], cluster: str
) -> None:
    running = run(*PUTS, "--operations", "3000", "--loops", "3", "--nodes", "2", "--keep", cluster=cluster)
    code, said = running.ended()
    assert code == ExitCode.DONE, said
    skews_s = []
    requests = sorted((each for each in lab[1].collect().requests if each.method == "PUT"), key=number_of)
    for loop, (_, group) in enumerate(groupby(requests, key=lambda each: number_of(each) // FAR)):
        whole, nodes = loads(running.document, loop)
        seen = list(group)
        assert whole.operations == sum(each.operations for each in nodes) == len(seen) == 3000
        assert whole.bytes_up == sum(each.bytes_up for each in nodes) == sum(each.body_bytes for each in seen)
        joined = Histogram.merged(each.bins for each in nodes)
        assert joined.bins() == whole.bins
        assert whole.latency.p99 == (joined.percentile_ns(99) or 0) / 1e9
        skews_s.append(_skew_s(seen))
    assert len(skews_s) == 3
    assert median(skews_s) < SKEW_S_MAX
    phases = running.cluster["phases"]
    assert median(phase["start_skew"] for phase in phases) < SKEW_S_MAX
    assert all(phase["start_skew_uncertainty"] <= SKEW_S_MAX for phase in phases)
    assert all(abs(node["clock"]["clock_offset"]) < SKEW_S_MAX for node in running.cluster["nodes"])


def _skew_s(requests: list[WireRequest]) -> float:
    """Between the first requests of the two nodes, whose workers write even and odd numbers."""
    first = [min(each.started_ns for each in requests if number_of(each) % NODES == node) for node in range(NODES)]
    return (max(first) - min(first)) / 1e9


def test_ctrl_c_reaches_every_node_within_a_second_and_the_results_are_kept(run: Start) -> None:
    running = run(*PUTS, "-d", "60s")
    running.wait_for_load()
    running.process.send_signal(signal.SIGINT)
    code, said = running.ended()
    assert code == ExitCode.INTERRUPTED, said
    assert "removed" in said
    whole, nodes = loads(running.document)
    assert whole.operations == sum(each.operations for each in nodes) > 0
    assert (running.cluster["phases"][0]["span"] or 0) < 60


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_driver_that_is_killed_leaves_no_load_a_second_later(run: Start, cluster: str) -> None:
    running = run(*PUTS, "-d", "60s", cluster=cluster)
    running.wait_for_load()
    os.kill(running.process.pid, signal.SIGKILL)
    killed_s = time.monotonic()
    assert running.last_request_s() - killed_s < 1.0


def test_a_driver_that_is_stopped_leaves_no_load_a_second_later_either(run: Start) -> None:
    running = run(*PUTS, "-d", "60s")
    running.wait_for_load()
    os.kill(running.process.pid, signal.SIGSTOP)  # its connections stay: only its lease tells
    stopped_s = time.monotonic()
    assert running.last_request_s() - stopped_s < 1.2
    os.kill(running.process.pid, signal.SIGCONT)
    code, said = running.ended()
    assert code == ExitCode.CLIENT_FAILED, said
    assert "the driver did not call for 0.9 s" in said


def test_a_node_that_is_lost_between_two_phases_is_recorded(run: Start, lab: tuple[RayLab, EmulatorEndpoint]) -> None:
    running = run(*PUTS, "-d", "3s", "--loops", "2")
    until_s = time.monotonic() + WAIT_S
    while not running.has_results:
        assert time.monotonic() < until_s, running.ended()
    os.kill(running.process.pid, signal.SIGSTOP)
    lab[0].nodes[1].kill_actor()
    os.kill(running.process.pid, signal.SIGCONT)
    code, said = running.ended()
    assert code == ExitCode.CLIENT_FAILED, said
    [result, *_] = running.document.results
    [error] = result.errors
    assert error.what.startswith("nothing was measured: node-")
    assert "(before the start)" in error.what
    assert len(result.measurements) == 1, "of the first loop"


def test_a_run_right_after_another_finds_all_nodes_again(run: Start) -> None:
    for _ in range(2):
        running = run(*PUTS, "--operations", "200")
        code, said = running.ended()
        assert code == ExitCode.DONE, said
        assert len(running.cluster["nodes"]) == NODES


def test_more_nodes_than_there_are_are_refused(run: Start) -> None:
    code, said = run(*PUTS, "-d", "1s", "--nodes", "3").ended()
    assert code == ExitCode.BAD_INPUT
    assert "the cluster has 2 nodes" in said


def test_a_node_that_is_lost_is_an_error_and_the_other_ones_data_are_whole(
    run: Start, lab: tuple[RayLab, EmulatorEndpoint]
) -> None:
    running = run(*PUTS, "-d", "6s")
    running.wait_for_load()
    time.sleep(1.5)  # some seconds are reported
    with lab[0].node_lost(1):
        code, said = running.ended()
        refused, why = run(*PUTS, "-d", "1s", "--nodes", "2").ended()
    assert refused == ExitCode.BAD_INPUT
    assert "--nodes 2 is too many: the cluster has 1 node with a free core" in why
    assert "Ray lost 1 other node" in why
    assert code == ExitCode.CLIENT_FAILED, said
    document = running.document
    [error] = document.results[0].errors
    assert "was lost: " in error.what
    assert "the figures are without it" in error.what
    whole, nodes = loads(document)
    assert whole.operations == sum(each.operations for each in nodes)
    assert min(each.operations for each in nodes) > 0
    assert len(whole.seconds) == 6
