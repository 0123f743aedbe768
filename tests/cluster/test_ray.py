"""Real Ray, two nodes on one machine: what they did is what the server saw, and nothing outlasts its driver."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count, groupby
from pathlib import Path
from statistics import median

import pytest

from s3bench.errors import ExitCode
from s3bench.load.session.inventory import FAR
from s3bench.results.document import Document
from s3bench.results.histogram import Histogram
from s3bench.results.load import Load
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.s3.wirelog import WireRequest
from tests.cluster.raylab import BUCKET, CLIENT, WAIT_S, ClusterRun, RayLab, lab_or_skip, load_workers

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(180)]

NODES = 2
SKEW_S_MAX = 0.010
TOLD_NS = 2_500_000_000  # by then every node has reported of a second


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RayLab, EmulatorEndpoint]]:
    with lab_or_skip(NODES) as lab, EmulatorEndpoint(directory=tmp_path_factory.mktemp("server")) as server:
        yield lab, server


class Run(ClusterRun):
    """`s3bench load` on the cluster, against the emulator."""

    def __init__(
        self, lab: RayLab, server: EmulatorEndpoint, output: Path, *arguments: str, cluster: str = "auto"
    ) -> None:
        self._server = server
        server.arm(EmulatorSettings(buckets=(BUCKET,)))
        where = ("--endpoint-url", server.url, "-o", str(output))
        super().__init__(lab.load(*where, *arguments, cluster=cluster), output)

    def wait_for_load(self, requests_min: int = 200) -> list[WireRequest]:
        """Wait until the server is under load; the requests that it had until then."""
        seen: list[WireRequest] = []

        def is_loaded() -> bool:
            seen.extend(self._server.drain(requests_max=100_000).requests)
            return len(seen) >= requests_min

        self.wait_until(is_loaded, "no load came")
        return seen

    def wait_for_reports(self) -> list[WireRequest]:
        """Wait until every node has reported of a second; the requests that the server had until then."""
        seen = self.wait_for_load()
        begun_ns = min(each.started_ns for each in seen if each.method == "PUT")
        while seen[-1].started_ns < begun_ns + TOLD_NS:
            seen += self.wait_for_load()
        return seen

    def last_request_s(self) -> float:
        """When the last request began, by this machine's monotonic clock, once no worker is left to make one."""
        last_ns, until_s = 0, time.monotonic() + WAIT_S
        while True:
            workers = load_workers()
            requests = self._server.drain(requests_max=1_000_000).requests
            last_ns = max([last_ns, *(each.started_ns for each in requests)])
            if not workers:
                return last_ns / 1e9
            assert time.monotonic() < until_s, "workers are left"


Start = Callable[..., Run]


@pytest.fixture
def run(lab: tuple[RayLab, EmulatorEndpoint], tmp_path: Path) -> Iterator[Start]:
    numbers = count()
    with ExitStack() as stack:

        def begin(*arguments: str, cluster: str = "auto") -> Run:
            return stack.enter_context(Run(*lab, tmp_path / f"{next(numbers)}.json", *arguments, cluster=cluster))

        yield begin


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
    running.wait_until(lambda: running.has_results, "no phase ended")
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
    running.wait_for_reports()
    with lab[0].node_lost(1):
        code, said = running.ended()
        refused, why = run(*PUTS, "-d", "1s", "--nodes", "2").ended()
    assert refused == ExitCode.BAD_INPUT
    assert "--nodes 2 is too many: the cluster has 1 node with a core" in why
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
