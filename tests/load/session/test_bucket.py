from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from s3bench.clients.environment import FAKE_CREDENTIALS
from s3bench.errors import BadInput, ExitCode, S3BenchError
from s3bench.load.session.bucket import LiveBucket, new_run, root_of
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint

RUN = "0123456789ab"
ROOT = f"s3bench/{RUN}/00c0ffee/"
OURS = (f"{ROOT}00000000", f"{ROOT}w1/00000007", f"{ROOT}123456789")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorEndpoint]:
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def bucket(server: EmulatorEndpoint) -> LiveBucket:
    server.arm(EmulatorSettings(buckets=("mine",)))
    return LiveBucket.at(server.url, "mine", credentials=FAKE_CREDENTIALS)


@pytest.fixture
def client(server: EmulatorEndpoint) -> "boto3.client":
    keys = FAKE_CREDENTIALS
    return boto3.client(
        "s3",
        endpoint_url=server.url,
        region_name=keys.region,
        aws_access_key_id=keys.access_key,
        aws_secret_access_key=keys.secret_key,
    )


def keys_of(client: "boto3.client") -> list[str]:
    return [item["Key"] for item in client.list_objects_v2(Bucket="mine").get("Contents", ())]


def test_a_bucket_that_is_there_can_be_used_and_another_cannot(bucket: LiveBucket, server: EmulatorEndpoint) -> None:
    bucket.check()
    with pytest.raises(BadInput, match="bucket 'absent' cannot be used"):
        LiveBucket.at(server.url, "absent", credentials=FAKE_CREDENTIALS).check()


def test_an_endpoint_without_a_connection_is_no_bad_input(server: EmulatorEndpoint, tmp_path: Path) -> None:
    with EmulatorEndpoint(directory=tmp_path) as gone:
        refusing = gone.url
    plain = server.url.replace("http://", "https://")
    for url in (refusing, plain):
        with pytest.raises(S3BenchError, match=f"bucket 'mine' cannot be used at {url}") as caught:
            LiveBucket.at(url, "mine", credentials=FAKE_CREDENTIALS).check()
        assert caught.value.exit_code == ExitCode.CLIENT_FAILED
        assert "check that the server runs" in caught.value.fix


def test_a_certificate_that_is_not_trusted_is_bad_input(tmp_path: Path) -> None:
    with EmulatorEndpoint(directory=tmp_path, tls=True) as server:
        server.arm(EmulatorSettings(buckets=("mine",)))
        with pytest.raises(BadInput, match="cannot be used") as caught:
            LiveBucket.at(server.url, "mine", credentials=FAKE_CREDENTIALS).check()
    assert "certificate" in caught.value.why


def test_a_run_is_removed_with_its_uploads_and_nothing_else(bucket: LiveBucket, client: "boto3.client") -> None:
    others = (f"s3bench/{RUN}/readme.txt", "s3bench/ffffffffffff/00000000", "s3bench-data", "mine/too")
    for key in (*OURS, *others):
        client.put_object(Bucket="mine", Key=key, Body=b"x")
    for key in (OURS[0], others[0], "mine/upload"):
        client.create_multipart_upload(Bucket="mine", Key=key)
    removed = bucket.remove_run(RUN)
    assert (removed.objects, removed.uploads) == (3, 1)
    assert removed.foreign == (others[0], others[0])
    assert sorted(keys_of(client)) == sorted(others)
    uploads = [upload["Key"] for upload in client.list_multipart_uploads(Bucket="mine")["Uploads"]]
    assert sorted(uploads) == sorted((others[0], "mine/upload"))
    assert "left 2 objects" in str(removed)


def test_more_objects_than_one_request_can_delete_are_removed(
    bucket: LiveBucket, client: "boto3.client", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("s3bench.run.prefix.DELETE_KEYS_MAX", 10)
    for number in range(25):
        client.put_object(Bucket="mine", Key=f"{ROOT}{number:08d}", Body=b"")
    assert bucket.remove_run(RUN).objects == 25
    assert keys_of(client) == []


def test_existing_objects_become_a_key_file(bucket: LiveBucket, client: "boto3.client", tmp_path: Path) -> None:
    for key, body in (("data/a", b"one"), ("data/é b", b"three"), ("data/tab\there", b""), ("other", b"")):
        client.put_object(Bucket="mine", Key=key, Body=body)
    assert bucket.write_key_file("data/", tmp_path / "keys", keys_max=10) == 2
    assert (tmp_path / "keys").read_text(encoding="utf-8") == "data/a\t3\ndata/é b\t5\n"
    assert bucket.write_key_file("data/", tmp_path / "keys", keys_max=1) == 1


@pytest.mark.parametrize("run", ["", "..", "0123456789a", "0123456789abc", "0123456789aB", "../../../../"])
def test_only_the_name_of_a_run_is_taken_for_one(run: str) -> None:
    with pytest.raises(BadInput, match="not a run ID"):
        root_of(run)


def test_runs_have_names_of_their_own() -> None:
    assert new_run() != new_run()
    assert root_of(new_run()).startswith("s3bench/")


def test_a_data_set_is_as_long_as_it_has_no_gap(bucket: LiveBucket, client: "boto3.client") -> None:
    for name in ("00000000", "w1/00000001", "00000002", "00000004", "note"):
        client.put_object(Bucket="mine", Key=ROOT + name, Body=b"")
    assert bucket.gapless(ROOT) == 3
    assert bucket.gapless("s3bench/none/") == 0
