"""A live endpoint between iterations: what a command only read stays, everything else is made anew."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from s3bench.errors import BadInput, S3BenchError
from s3bench.run.live import LiveEndpoint
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.spec.definition import Definition, Environment, FileBody, FixtureFile, RequestMatch, Response
from tests.load.lyingserver import BUCKET, LyingServer, Query, Reply, objects_page, refusal, uploads_page

SIZE_BYTES = 1000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorEndpoint]:
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def live(server: EmulatorEndpoint, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveEndpoint]:
    """A live endpoint on a server that we can look into."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "key")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    server.arm(EmulatorSettings(buckets=("bucket",)))
    with LiveEndpoint(server.url, bucket="bucket") as endpoint:
        yield endpoint


@pytest.fixture
def client(live: LiveEndpoint) -> Iterator[Any]:
    """What else may happen to the bucket."""
    client = boto3.client("s3", endpoint_url=live.facts.url, region_name="us-east-1")
    yield client
    client.close()


@pytest.fixture
def fixtures(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(os.urandom(SIZE_BYTES))
    return tmp_path


def definition(*command: str) -> Definition:
    """A command that finds the objects `p/one` and `p/two`."""
    return Definition(
        name="x",
        command=("s3", *command),
        environment=Environment(files=tuple(FixtureFile(name=name, size_bytes=SIZE_BYTES) for name in ("one", "two"))),
        responses=tuple(
            Response(body=FileBody(file=name), match=RequestMatch(method="GET", path=f"/any/p/{name}"), instances=None)
            for name in ("one", "two")
        ),
    )


DOWNLOAD = definition("sync", "s3://any/p", "out")


def armed(live: LiveEndpoint, server: EmulatorEndpoint, fixtures: Path) -> Counter[str]:
    """Arm, and tell what the server was asked for that."""
    server.drain(requests_max=1000)
    live.arm((), workspace=fixtures, verify=True)
    return Counter(request.method for request in server.drain(requests_max=1000).requests)


def contents(client: Any, live: LiveEndpoint) -> dict[str, bytes]:
    listed = client.list_objects_v2(Bucket="bucket").get("Contents", ())
    keys = [item["Key"] for item in listed]
    return {
        key.removeprefix(f"{live.prefix}/"): client.get_object(Bucket="bucket", Key=key)["Body"].read() for key in keys
    }


def expected(fixtures: Path) -> dict[str, bytes]:
    return {f"p/{name}": (fixtures / name).read_bytes() for name in ("one", "two")}


@pytest.mark.parametrize("command", [("sync", "s3://any/p", "out"), ("cp", "s3://any/p", "out", "--recursive")])
def test_objects_that_a_download_reads_are_uploaded_once(
    live: LiveEndpoint, server: EmulatorEndpoint, client: Any, fixtures: Path, command: tuple[str, ...]
) -> None:
    live.adapted(definition(*command))
    assert armed(live, server, fixtures)["PUT"] == 2
    assert armed(live, server, fixtures) == {"GET": 2}  # one listing of objects, one of uploads under way
    assert contents(client, live) == expected(fixtures)


@pytest.mark.parametrize(
    "command", [("mv", "s3://any/p", "out", "--recursive"), ("cp", "s3://any/p", "s3://any/q", "--recursive")]
)
def test_objects_that_a_command_may_have_changed_are_uploaded_every_time(
    live: LiveEndpoint, server: EmulatorEndpoint, client: Any, fixtures: Path, command: tuple[str, ...]
) -> None:
    live.adapted(definition(*command))
    for _ in range(2):
        assert armed(live, server, fixtures)["PUT"] == 2
        assert contents(client, live) == expected(fixtures)


def test_an_object_that_the_listing_shows_otherwise_is_uploaded_again_and_strangers_are_removed(
    live: LiveEndpoint, server: EmulatorEndpoint, client: Any, fixtures: Path
) -> None:
    live.adapted(DOWNLOAD)
    armed(live, server, fixtures)
    client.put_object(Bucket="bucket", Key=f"{live.prefix}/p/one", Body=bytes(SIZE_BYTES))
    client.put_object(Bucket="bucket", Key=f"{live.prefix}/stranger", Body=b"x")
    assert armed(live, server, fixtures)["PUT"] == 1
    assert contents(client, live) == expected(fixtures)
    client.delete_object(Bucket="bucket", Key=f"{live.prefix}/p/two")
    assert armed(live, server, fixtures)["PUT"] == 1
    assert contents(client, live) == expected(fixtures)
    assert armed(live, server, fixtures)["PUT"] == 0


def test_a_fixture_that_is_another_file_is_uploaded_again(
    live: LiveEndpoint, server: EmulatorEndpoint, client: Any, fixtures: Path
) -> None:
    live.adapted(DOWNLOAD)
    armed(live, server, fixtures)
    (fixtures / "new").write_bytes(os.urandom(SIZE_BYTES))
    (fixtures / "new").replace(fixtures / "one")
    assert armed(live, server, fixtures)["PUT"] == 1
    assert contents(client, live) == expected(fixtures)


def test_after_another_definition_nothing_of_the_first_is_taken_for_granted(
    live: LiveEndpoint, server: EmulatorEndpoint, client: Any, fixtures: Path
) -> None:
    live.adapted(DOWNLOAD)
    armed(live, server, fixtures)
    live.adapted(Definition(name="x", command=("s3", "cp", "one", "s3://any/p/one")))
    armed(live, server, fixtures)
    assert contents(client, live) == {}
    live.adapted(DOWNLOAD)
    assert armed(live, server, fixtures)["PUT"] == 2
    assert contents(client, live) == expected(fixtures)


def test_an_upload_under_way_is_aborted_though_the_objects_stay(
    live: LiveEndpoint, server: EmulatorEndpoint, client: Any, fixtures: Path
) -> None:
    live.adapted(DOWNLOAD)
    armed(live, server, fixtures)
    client.create_multipart_upload(Bucket="bucket", Key=f"{live.prefix}/p/half")
    assert armed(live, server, fixtures)["PUT"] == 0
    assert client.list_multipart_uploads(Bucket="bucket").get("Uploads", []) == []


class _RefusingServer(LyingServer):
    """Refuses every upload."""

    def reply(self, method: str, path: str, query: Query, body: bytes) -> Reply:
        if method == "PUT":
            return refusal(403, "AccessDenied")
        return super().reply(method, path, query, body)


def test_an_upload_that_the_server_refuses_is_no_bug_of_ours(fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "key")
    with _RefusingServer() as refusing, LiveEndpoint(refusing.url, bucket=BUCKET) as live:
        live.adapted(DOWNLOAD)
        with pytest.raises(S3BenchError, match="the server refused to upload an object under") as caught:
            live.arm((), workspace=fixtures, verify=True)
        assert "AccessDenied" in caught.value.why


def test_a_server_that_ignores_the_prefix_loses_nothing(fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "key")
    with LyingServer(["20240101"], ["20240101"]) as lying:
        live = LiveEndpoint(lying.url, bucket=BUCKET)
        live.__enter__()
        live.adapted(DOWNLOAD)
        lying.list_objects = lambda server, _: objects_page(server.objects)
        with pytest.raises(S3BenchError, match="lists '20240101'"):
            live.arm((), workspace=fixtures, verify=True)
        with pytest.raises(S3BenchError, match="lists '20240101'"):
            live.__exit__(None, None, None)
        lying.list_objects, lying.list_uploads = None, lambda server, _: uploads_page(server.uploads)
        with pytest.raises(S3BenchError, match="lists '20240101'"):
            live.__exit__(None, None, None)
    assert lying.removed == []


def test_a_url_that_no_client_can_be_made_for_is_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "key")
    with pytest.raises(BadInput, match="bucket 'b' at localhost:9000 cannot be used"):
        LiveEndpoint("localhost:9000", bucket="b").connect()
