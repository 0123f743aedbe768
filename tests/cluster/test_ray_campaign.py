"""Four Ray nodes on one machine: heavy, run by `scripts/test --all`."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from s3bench.errors import ExitCode
from s3bench.results.document import parse_document
from s3bench.results.histogram import Histogram
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from tests.cluster.raylab import BUCKET, RayLab, lab_or_skip
from tests.cluster.test_ray import PUTS, loads

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

NODES = 4
OPERATIONS = 4001


@pytest.fixture(scope="module")
def lab() -> Iterator[RayLab]:
    with lab_or_skip(NODES) as lab:
        yield lab


def test_four_nodes_add_up_to_what_the_server_saw(lab: RayLab, tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    with EmulatorEndpoint(directory=tmp_path) as server:
        server.arm(EmulatorSettings(buckets=(BUCKET,)))
        arguments = ("--endpoint-url", server.url, "-o", str(output), "--operations", str(OPERATIONS), "--keep")
        process: subprocess.Popen[bytes] = lab.load(*PUTS, *arguments)
        _, said = process.communicate(timeout=120)
        requests = [each for each in server.collect().requests if each.method == "PUT"]
    assert process.returncode == ExitCode.DONE, said
    whole, nodes = loads(parse_document(output.read_bytes(), source="output"))
    assert len(nodes) == NODES
    assert whole.operations == sum(each.operations for each in nodes) == len(requests) == OPERATIONS
    assert whole.bytes_up == sum(each.bytes_up for each in nodes) == sum(each.body_bytes for each in requests)
    assert whole.bins == Histogram.merged(each.bins for each in nodes).bins()
