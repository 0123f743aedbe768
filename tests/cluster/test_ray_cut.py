"""Real Ray with a node behind a cable that is cut: the others' data are whole, and nobody waits for it or loads on."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from s3bench.errors import ExitCode
from s3bench.s3.endpoint import EmulatorEndpoint
from tests.cluster.raylab import NEAR, FarNetwork, RayLab, far_network, or_skip, own_network, ray_lab
from tests.cluster.test_ray import PUTS, Run, loads, number_of

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(180)]

SECONDS = 10
GONE_S_MAX = 1.5  # the lease, and what it takes to see that


@pytest.fixture
def cable() -> Iterator[tuple[FarNetwork, RayLab]]:
    with or_skip(), own_network(), far_network() as network, ray_lab([network.near, network.far]) as lab:
        yield network, lab


def test_a_node_whose_network_is_cut_is_an_error_and_its_load_ends_while_the_others_go_on(
    cable: tuple[FarNetwork, RayLab], tmp_path: Path
) -> None:
    network, lab = cable
    with (
        EmulatorEndpoint(directory=tmp_path, host=NEAR) as server,
        Run(lab, server, tmp_path / "results.json", *PUTS, "-d", f"{SECONDS}s") as running,
    ):
        seen = running.wait_for_reports()
        assert len(network.workers()) == 1
        network.cut()
        cut_s = time.monotonic()
        while network.workers():
            assert time.monotonic() < cut_s + GONE_S_MAX, "the load of a node that is cut off goes on"
            time.sleep(0.02)
        code, said = running.ended()
        seen += server.drain(requests_max=1_000_000).requests
        left = server.drain(requests_max=0).counters.objects
    assert code == ExitCode.CLIENT_FAILED, said
    assert "removed" in said
    assert left == 0, "what the run wrote is removed, the lost node's part too"
    document = running.document
    [error] = document.results[0].errors
    assert "was lost: it did not respond for 3 s; from second" in error.what
    whole, nodes = loads(document)
    assert len(whole.seconds) == SECONDS
    assert whole.operations == sum(each.operations for each in nodes)
    lost = int(error.what[len("node-")]) - 1  # Ray places nodes as it likes
    puts = [sum(each.method == "PUT" and number_of(each) % 2 == node for each in seen) for node in range(2)]
    assert 0 < nodes[lost].operations <= puts[lost]
    there = nodes[1 - lost].operations
    assert there <= puts[1 - lost] <= there + whole.unfinished
