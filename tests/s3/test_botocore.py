"""The real botocore against the server: every checksum, over HTTP as headers and over HTTPS as trailers."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.config
import botocore.exceptions
import botocore.session
import pytest

from s3bench.s3.endpoint import StubEndpoint
from s3bench.s3.wirelog import TransferEngine
from s3bench.spec.definition import FileBody, RequestMatch, Response

BODY = bytes(range(256)) * 8000


@pytest.fixture(scope="module")
def session() -> botocore.session.Session:
    session = botocore.session.Session()
    session.set_config_variable("config_file", "/nowhere")
    return session


@pytest.fixture(params=["http", "https"])
def endpoint(request: pytest.FixtureRequest, stub: StubEndpoint, tls_stub: StubEndpoint) -> StubEndpoint:
    return stub if request.param == "http" else tls_stub


@pytest.fixture
def client(session: botocore.session.Session, endpoint: StubEndpoint) -> Iterator[Any]:
    config = botocore.config.Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1})
    client = session.create_client(
        "s3",
        region_name="us-west-2",
        endpoint_url=endpoint.url,
        aws_access_key_id="id",
        aws_secret_access_key="secret",
        verify=str(endpoint.ca_bundle) if endpoint.ca_bundle else None,
        config=config,
    )
    yield client
    client.close()


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
@pytest.mark.parametrize("streamed", [False, True])
def test_uploads_are_verified(
    endpoint: StubEndpoint, client: Any, tmp_path: Path, algorithm: str, streamed: bool
) -> None:
    endpoint.arm(
        (Response(match=RequestMatch(method="PUT", path="/b/k"), instances=2),), workspace=tmp_path, verify=True
    )
    client.put_object(Bucket="b", Key="k", Body=io.BytesIO(BODY) if streamed else BODY, ChecksumAlgorithm=algorithm)
    client.put_object(Bucket="b", Key="k", Body=b"", ChecksumAlgorithm=algorithm)
    log = endpoint.collect()
    assert log.faults == log.leftover == ()
    for request, size_bytes in zip(log.requests, (len(BODY), 0), strict=True):
        assert (request.engine, request.error, request.body_bytes) == (TransferEngine.PYTHON, "", size_bytes)
        assert request.checksums[algorithm.lower()]
        assert all(request.checksums.values())
    trailing = log.requests[0].wire_bytes > len(BODY)
    assert trailing is (endpoint.ca_bundle is not None)


def test_a_wrong_checksum_is_an_error_at_the_client(endpoint: StubEndpoint, client: Any, tmp_path: Path) -> None:
    endpoint.arm((Response(),), workspace=tmp_path, verify=True)
    with pytest.raises(botocore.exceptions.ClientError, match="BadDigest"):
        client.put_object(Bucket="b", Key="k", Body=BODY, ChecksumCRC32="AAAAAA==")
    log = endpoint.collect()
    assert [request.checksums["crc32"] for request in log.requests] == [False]


def test_downloads_come_whole_and_by_range(endpoint: StubEndpoint, client: Any, tmp_path: Path) -> None:
    (tmp_path / "object").write_bytes(BODY)
    response = Response(match=RequestMatch(path="/b/*"), body=FileBody(file="*"), instances=None)
    endpoint.arm((response,), workspace=tmp_path, verify=True)
    assert client.head_object(Bucket="b", Key="object")["ContentLength"] == len(BODY)
    assert client.get_object(Bucket="b", Key="object")["Body"].read() == BODY
    part = client.get_object(Bucket="b", Key="object", Range="bytes=1000-1999")
    assert (part["Body"].read(), part["ContentRange"]) == (BODY[1000:2000], f"bytes 1000-1999/{len(BODY)}")
    with pytest.raises(client.exceptions.ClientError, match="NoSuchKey"):
        client.get_object(Bucket="b", Key="other")
    assert [request.status for request in endpoint.collect().requests] == [200, 200, 206, 404]


def test_a_request_with_no_response_left_is_not_retried(endpoint: StubEndpoint, client: Any, tmp_path: Path) -> None:
    endpoint.arm((), workspace=tmp_path, verify=False)
    with pytest.raises(botocore.exceptions.ClientError, match="no response left for GET /b"):
        client.list_objects_v2(Bucket="b")
    (request,) = endpoint.collect().requests
    assert request.error.startswith("no response left for GET /b?list-type=2")


def test_uploading_a_part_gives_an_etag(endpoint: StubEndpoint, client: Any, tmp_path: Path) -> None:
    endpoint.arm((Response(),), workspace=tmp_path, verify=True)
    part = client.upload_part(Bucket="b", Key="k", UploadId="u", PartNumber=1, Body=BODY)
    assert part["ETag"]
    endpoint.collect()
