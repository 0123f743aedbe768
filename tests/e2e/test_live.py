"""A real S3 as endpoint: works, and leaves the bucket as it was."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import MIB, Finished, download, starting, upload
from tests.e2e.servers import BUILD_S, KEYS, LiveServer, versitygw

Run = Callable[..., Finished]
Define = Callable[..., Path]

pytestmark = pytest.mark.timeout(BUILD_S + 60)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with versitygw(tmp_path_factory.mktemp("server"), tls=False) as server:
        yield server


@pytest.fixture
def live(server: LiveServer, environment: dict[str, str]) -> LiveServer:
    environment.update(KEYS)
    return server


@pytest.mark.parametrize("client", ["s5cmd", pytest.param("boto3-classic", marks=pytest.mark.campaign)])
def test_transfers_run_under_our_prefix_and_the_bucket_stays_as_it_was(
    s3bench: Run, define: Define, live: LiveServer, client: str
) -> None:
    before = live.objects()
    definitions = define(upload(9 * MIB, clients=[client]), download(9 * MIB, clients=[client]))
    finished = s3bench("run", "-n", "2", *live.options, definitions)
    assert finished.code == 0, finished.err + finished.out
    assert [len(result["measurements"]) for result in finished.results] == [2, 2]
    assert live.objects() == before
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in finished.out + finished.err


@pytest.mark.parametrize("action", ["download", pytest.param("upload", marks=pytest.mark.campaign)])
def test_a_tuning_leaves_the_bucket_as_it_was_and_says_what_it_could_not_see(
    s3bench: Run, live: LiveServer, action: str
) -> None:
    before = live.objects()
    finished = s3bench(
        *("tune", action, "--size", "64KiB", "--files", "8", "--clients", "s5cmd", "--budget", "5s", "--json", "-q"),
        *live.options,
    )
    assert finished.code in {0, 3}, finished.err
    answer = finished.document
    assert answer["network"] is None
    assert answer["default"]["runs"] >= 1
    assert [(note["knob"], note["obedience"]) for note in answer["knobs"]] == [
        ("numworkers", "not visible on the wire")
    ]
    assert live.objects() == before
    assert live.uploads() == []


@pytest.mark.usefixtures("aws_cli")
def test_a_command_that_would_act_outside_our_prefix_is_not_run(s3bench: Run, define: Define, live: LiveServer) -> None:
    finished = s3bench("run", *live.options, define(starting()))
    assert finished.code == 4
    assert "is not run on a live endpoint" in finished.results[0]["errors"][0]["what"]


def test_a_bucket_that_is_not_there_is_bad_input(s3bench: Run, define: Define, live: LiveServer) -> None:
    definitions = define(upload(1, clients=["boto3-classic"]))
    finished = s3bench("run", "--endpoint-url", live.url, "--bucket", "nowhere", definitions)
    assert finished.code == 2
    assert "nowhere" in finished.err
