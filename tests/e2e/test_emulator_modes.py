"""An emulator that throws data away, and one that serves a directory."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from tests.e2e.conftest import AWKWARD, MIB, Emulators, contents
from tests.e2e.programs import Bench

GIB = 1 << 30
TIB = 1 << 40


def client_of(endpoint: EmulatorEndpoint) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=endpoint.url,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
        config=Config(proxies={}, s3={"addressing_style": "path"}, retries={"max_attempts": 0}),
    )


@pytest.fixture
def discarding(emulators: Emulators) -> Iterator[EmulatorEndpoint]:
    settings = EmulatorSettings(buckets=("bucket",), discard=True, memory_limit_bytes=64 * MIB)
    with emulators.armed(tls=False, settings=settings) as emulator:
        yield emulator


@pytest.fixture
def s3(discarding: EmulatorEndpoint) -> Iterator[Any]:
    client = client_of(discarding)
    yield client
    client.close()


def read(s3: Any, key: str, **asked: Any) -> bytes:
    body: bytes = s3.get_object(Bucket="bucket", Key=key, **asked)["Body"].read()
    return body


def copied(s3: Any, source: str, key: str, times: int) -> int:
    """Make an object of so many copies of another one, without moving a byte; its size."""
    place = {"Bucket": "bucket", "Key": key}
    upload = {**place, "UploadId": s3.create_multipart_upload(**place)["UploadId"]}
    parts = [
        {
            "PartNumber": number,
            "ETag": s3.upload_part_copy(**upload, PartNumber=number, CopySource=f"bucket/{source}")["CopyPartResult"][
                "ETag"
            ],
        }
        for number in range(1, times + 1)
    ]
    s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
    size_bytes: int = s3.head_object(**place)["ContentLength"]
    return size_bytes


def test_discarded_data_keeps_its_size_and_its_checksum_and_reads_the_same_every_time(
    discarding: EmulatorEndpoint, s3: Any
) -> None:
    body = bytes(range(256)) * 4 * 5 * 1024 + b"x"
    put = s3.put_object(Bucket="bucket", Key="key", Body=body, ChecksumAlgorithm="SHA256")
    first = read(s3, "key")
    assert (len(first), first == body) == (len(body), False)
    assert read(s3, "key") == first
    assert read(s3, "key", Range="bytes=1000000-1000999") == first[1_000_000:1_001_000]
    listed = s3.list_objects_v2(Bucket="bucket")["Contents"][0]
    assert (listed["Size"], listed["ETag"]) == (len(body), put["ETag"])
    told = s3.get_object_attributes(Bucket="bucket", Key="key", ObjectAttributes=["Checksum"])["Checksum"]
    assert told["ChecksumSHA256"] == put["ChecksumSHA256"]
    discarding.arm(EmulatorSettings(buckets=("bucket",), discard=True))
    s3.put_object(Bucket="bucket", Key="elsewhere", Body=body, ChecksumAlgorithm="SHA256")
    assert read(s3, "elsewhere") == first


def test_discarded_data_is_verified_all_the_same(s3: Any) -> None:
    with pytest.raises(ClientError) as caught:
        s3.put_object(Bucket="bucket", Key="key", Body=b"body" * 10_000, ChecksumCRC32="AAAAAA==")
    assert caught.value.response["Error"]["Code"] in {"BadDigest", "InvalidRequest"}


def test_a_copied_range_of_discarded_data_reads_as_the_range_does(s3: Any) -> None:
    s3.put_object(Bucket="bucket", Key="source", Body=bytes(20 * MIB))
    place = {"Bucket": "bucket", "Key": "copy"}
    upload = {**place, "UploadId": s3.create_multipart_upload(**place)["UploadId"]}
    span = "bytes=3000001-20000000"
    part = s3.upload_part_copy(**upload, PartNumber=1, CopySource="bucket/source", CopySourceRange=span)
    parts = [{"PartNumber": 1, "ETag": part["CopyPartResult"]["ETag"]}]
    s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
    assert read(s3, "copy") == read(s3, "source", Range=span)


def test_a_terabyte_is_stored_and_read_by_ranges(discarding: EmulatorEndpoint, s3: Any) -> None:
    s3.put_object(Bucket="bucket", Key="64-mib", Body=bytes(64 * MIB))
    assert copied(s3, "64-mib", "5-gib", 80) == 5 * GIB
    assert copied(s3, "5-gib", "1-tib", 205) == 205 * 5 * GIB > TIB
    start = TIB - 12_345
    first = read(s3, "1-tib", Range=f"bytes={start}-{start + 20 * MIB - 1}")
    assert len(first) == 20 * MIB
    assert read(s3, "1-tib", Range=f"bytes={start + MIB}-{start + 2 * MIB - 1}") == first[MIB : 2 * MIB]
    assert read(s3, "1-tib", Range="bytes=-10") == read(s3, "64-mib", Range="bytes=-10")
    assert discarding.drain(requests_max=0).counters.held_bytes < 8 * MIB


@pytest.fixture
def directory(tree: Path, emulators: Emulators, tmp_path: Path) -> Iterator[Bench]:
    """The tree as the bucket `tree`."""
    root = tmp_path / "root"
    shutil.copytree(tree, root / "tree", copy_function=os.link)
    with emulators.armed(tls=False, settings=EmulatorSettings(data_dir=str(root))) as emulator:
        yield Bench(emulator, tmp_path)


def test_a_directory_is_listed_and_read_by_clients(directory: Bench, emulators: Emulators, tree: Path) -> None:
    directory.s5cmd("cp", "s3://tree/*", "landed/")
    assert contents(directory.work / "landed") == contents(tree)
    s3 = client_of(emulators.at(tls=False))
    listed = s3.list_objects_v2(Bucket="tree")["Contents"]
    assert {item["Key"]: item["Size"] for item in listed} == {key: len(body) for key, body in contents(tree).items()}
    s3.download_file("tree", "large", str(directory.work / "large"))
    assert (directory.work / "large").read_bytes() == (tree / "large").read_bytes()
    s3.close()
    for name in AWKWARD:
        assert directory.stored("tree", f"small/{name}") == (tree / "small" / name).read_bytes()


def test_a_directory_is_read_by_ranges_and_never_written(directory: Bench, emulators: Emulators, tree: Path) -> None:
    s3 = client_of(emulators.at(tls=False))
    large = (tree / "large").read_bytes()
    assert (
        s3.get_object(Bucket="tree", Key="large", Range="bytes=5000000-5000999")["Body"].read()
        == large[5000000:5001000]
    )
    before = contents(tree)
    place = {"Bucket": "tree", "Key": "small/plain"}
    refused: list[tuple[Any, dict[str, Any]]] = [
        (s3.put_object, {**place, "Body": b"new"}),
        (s3.put_object, {"Bucket": "tree", "Key": "new", "Body": bytes(MIB)}),
        (s3.delete_object, place),
        (s3.delete_objects, {"Bucket": "tree", "Delete": {"Objects": [{"Key": "one"}]}}),
        (s3.copy_object, {**place, "CopySource": "tree/one"}),
        (s3.create_multipart_upload, place),
        (s3.put_object_tagging, {**place, "Tagging": {"TagSet": []}}),
        (s3.create_bucket, {"Bucket": "other"}),
        (s3.delete_bucket, {"Bucket": "tree"}),
    ]
    for call, arguments in refused:
        with pytest.raises(ClientError) as caught:
            call(**arguments)
        assert caught.value.response["Error"]["Code"] == "AccessDenied", call
    assert contents(tree) == before
    s3.close()
