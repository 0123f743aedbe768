"""aws-cli's commands one by one, checksums by boto3, and buckets named in the host."""

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import boto3
import pytest
from botocore.config import Config

from tests.e2e.conftest import MIB
from tests.e2e.programs import Bench

pytestmark = pytest.mark.usefixtures("aws_cli")
BODY = b"0123456789" * 1000


@pytest.mark.campaign  # streams and moves by s5cmd: test_emulator_transfers.py; CRC64NVME by boto3 is below
@pytest.mark.parametrize("bench", [True], indirect=True, ids=["https"])
def test_aws_cli_uploads_a_stream_and_moves_an_object(bench: Bench) -> None:
    aws = partial(bench.aws, "cli-classic", "s3")
    aws("cp", "-", "s3://bucket/a b/ü", "--checksum-algorithm", "CRC64NVME", stdin=BODY)
    aws("mv", "s3://bucket/a b/ü", "s3://bucket/a b/moved")
    assert bench.stored("bucket", "a b/moved") == BODY
    assert bench.fetch("/bucket?list-type=2")[2].count(b"<Key>") == 1


@pytest.mark.campaign  # the same requests by boto3 and s5cmd are in other tests
@pytest.mark.parametrize("bench", [True], indirect=True, ids=["https"])
def test_the_other_s3_commands_of_aws_cli(bench: Bench) -> None:
    aws = partial(bench.aws, "cli-classic", "s3")
    assert bench.fetch(f"/bucket/{quote('a b/ü')}", "PUT", BODY)[0] == 200
    assert aws("cp", "s3://bucket/a b/ü", "-") == BODY
    listed = aws("ls", "s3://bucket/", "--recursive").decode()
    assert listed.split()[2:] == [str(len(BODY)), "a", "b/ü"]
    assert b"PRE a b/" in aws("ls", "s3://bucket")
    url = aws("presign", "s3://bucket/a b/ü").decode().strip()
    assert bench.curl(url) == (200, BODY)
    aws("rm", "s3://bucket", "--recursive")
    assert bench.fetch("/bucket?list-type=2")[2].count(b"<Key>") == 0
    aws("rb", "s3://bucket")
    assert bench.fetch("/bucket")[0] == 404


@pytest.mark.parametrize("bench", [False], indirect=True, ids=["http"])
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("cli-crt", marks=pytest.mark.campaign),  # test_express.py has one with its checksum
        "v1",
    ],
)
def test_one_large_file_by_aws_cli(bench: Bench, tree: Path, kind: str) -> None:
    checksum = ("--checksum-algorithm", "SHA256")
    bench.aws(kind, "s3", "mv", str(_copy(tree / "large", bench.work / "mine")), "s3://bucket/large", *checksum)
    assert bench.stored("bucket", "large") == (tree / "large").read_bytes()
    assert not (bench.work / "mine").exists()
    bench.aws(kind, "s3", "cp", "s3://bucket/large", "landed", "--checksum-mode", "ENABLED")
    assert (bench.work / "landed").read_bytes() == (tree / "large").read_bytes()


def _copy(source: Path, target: Path) -> Path:
    target.write_bytes(source.read_bytes())
    return target


class Api:
    """`aws s3api` on one bucket."""

    def __init__(self, bench: Bench, kind: str, bucket: str) -> None:
        self.bench = bench
        self.kind = kind
        self.bucket = bucket
        self.json = partial(bench.aws_json, kind)

    def __call__(self, operation: str, *arguments: str, key: str | None = None) -> dict[str, Any]:
        place = ["--bucket", self.bucket, *(["--key", key] if key is not None else [])]
        return self.json("s3api", operation, *place, *arguments)

    def file(self, name: str, data: bytes = BODY) -> str:
        path = self.bench.work / f"{self.bucket}-{name}"
        path.write_bytes(data)
        return str(path)


def objects(api: Api) -> None:
    api("create-bucket")
    assert api.json("s3api", "list-buckets", "--prefix", api.bucket)["Buckets"][0]["Name"] == api.bucket
    assert api("head-bucket")["BucketRegion"] == "us-east-1"
    assert api("get-bucket-location")["LocationConstraint"] is None
    put = api("put-object", "--body", api.file("body"), "--metadata", "a=b", "--tagging", "c=d", key="x y")
    assert put["ETag"] == f'"{hashlib.md5(BODY).hexdigest()}"'
    ranged = api("get-object", "--range", "bytes=5-24", str(api.bench.work / "part"), key="x y")
    assert (ranged["ContentRange"], (api.bench.work / "part").read_bytes()) == ("bytes 5-24/10000", BODY[5:25])
    head = api("head-object", "--checksum-mode", "ENABLED", key="x y")
    assert (head["ContentLength"], head["Metadata"], head["ChecksumType"]) == (10000, {"a": "b"}, "FULL_OBJECT")
    assert api("get-object-tagging", key="x y")["TagSet"] == [{"Key": "c", "Value": "d"}]
    api("put-object-tagging", "--tagging", "TagSet=[{Key=e,Value=f}]", key="x y")
    api("delete-object-tagging", key="x y")
    attributes = api("get-object-attributes", "--object-attributes", "ETag", "ObjectSize", key="x y")
    assert attributes["ObjectSize"] == 10000
    api("copy-object", "--copy-source", f"{api.bucket}/x y", key="copy")
    both = [item["Key"] for item in api("list-objects-v2")["Contents"]]
    assert both == [item["Key"] for item in api("list-objects")["Contents"]] == ["copy", "x y"]
    doomed = api("delete-objects", "--delete", "Objects=[{Key=copy},{Key=x y},{Key=never}]")["Deleted"]
    assert len(doomed) == 3
    api("delete-bucket")


def uploads_and_versions(api: Api) -> None:
    api("create-bucket")
    api("put-bucket-versioning", "--versioning-configuration", "Status=Enabled")
    assert api("get-bucket-versioning")["Status"] == "Enabled"
    first, last = b"a" * (5 * MIB), b"the end"
    source = api("put-object", "--body", api.file("source", first), key="source")
    upload = ("--upload-id", api("create-multipart-upload", "--checksum-algorithm", "CRC32", key="big")["UploadId"])
    copied = api(
        "upload-part-copy", *upload, "--part-number", "1", "--copy-source",
        f"{api.bucket}/source?versionId={source['VersionId']}", key="big",
    )  # fmt: skip
    part = api(
        "upload-part",
        *upload,
        "--part-number",
        "2",
        "--body",
        api.file("last", last),
        "--checksum-algorithm",
        "CRC32",
        key="big",
    )
    assert copied["CopyPartResult"]["ETag"] != part["ETag"]
    assert len(api("list-multipart-uploads")["Uploads"]) == 1
    named = [
        {name: item[name] for name in ("PartNumber", "ETag", "ChecksumCRC32")}
        for item in api("list-parts", *upload, key="big")["Parts"]
    ]
    done = api("complete-multipart-upload", *upload, "--multipart-upload", json.dumps({"Parts": named}), key="big")
    assert done["ETag"].endswith('-2"')
    api("get-object", "--part-number", "2", str(api.bench.work / "second"), key="big")
    assert (api.bench.work / "second").read_bytes() == last
    assert api.bench.stored(api.bucket, "big") == first + last
    aborted = api("create-multipart-upload", key="other")["UploadId"]
    api("abort-multipart-upload", "--upload-id", aborted, key="other")
    marker = api("delete-object", key="big")
    assert marker["DeleteMarker"]
    listed = api("list-object-versions", "--prefix", "big")
    assert (len(listed["Versions"]), len(listed["DeleteMarkers"])) == (1, 1)
    api("delete-object", "--version-id", marker["VersionId"], key="big")
    assert api.bench.stored(api.bucket, "big") == first + last
    api("put-bucket-tagging", "--tagging", "TagSet=[{Key=a,Value=b}]")
    assert api("get-bucket-tagging")["TagSet"] == [{"Key": "a", "Value": "b"}]
    api("delete-bucket-tagging")


@pytest.mark.parametrize("bench", [False], indirect=True, ids=["http"])
@pytest.mark.campaign  # forty starts of an aws-cli; botocore itself is in tests/s3/test_botocore.py
@pytest.mark.parametrize("kind", ["cli-classic", "v1"])
def test_every_operation_by_s3api(bench: Bench, kind: str) -> None:
    bench.aws(kind, "--version")  # writes the config file that both halves read
    halves: tuple[Callable[[Api], None], ...] = (objects, uploads_and_versions)
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(half, Api(bench, kind, f"half-{number}")) for number, half in enumerate(halves)]
        for half in running:
            half.result()


@pytest.fixture
def sdk(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    client = boto3.client(
        "s3",
        endpoint_url=bench.endpoint.url,
        verify=str(bench.endpoint.ca_bundle) if bench.endpoint.ca_bundle else None,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
        config=Config(proxies={}, s3={"addressing_style": "path"}),
    )
    yield client
    client.close()


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_boto3_sends_and_verifies_every_checksum(sdk: Any, bench: Bench, tree: Path, algorithm: str) -> None:
    large = tree / "part-and-one"
    sdk.upload_file(
        str(large), "bucket", "parts", ExtraArgs={"ChecksumAlgorithm": algorithm},
        Config=boto3.s3.transfer.TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB),
    )  # fmt: skip
    sdk.put_object(Bucket="bucket", Key="one", Body=BODY, ChecksumAlgorithm=algorithm)
    for key, body in (("parts", large.read_bytes()), ("one", BODY)):
        answer = sdk.get_object(Bucket="bucket", Key=key, ChecksumMode="ENABLED")
        assert f"Checksum{algorithm}" in answer
        assert answer["Body"].read() == bench.stored("bucket", key) == body


@pytest.mark.parametrize("bench", [False], indirect=True, ids=["http"])
def test_boto3_moves_an_object_with_the_key_of_a_customer_up_and_down(sdk: Any, bench: Bench, tree: Path) -> None:
    key = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": "1" * 32}
    sdk.upload_file(str(tree / "large"), "bucket", "k", ExtraArgs=key)  # in two parts
    assert bench.fetch("/bucket/k")[0] == 400
    sdk.download_file("bucket", "k", str(bench.work / "down"), ExtraArgs=key)
    assert (bench.work / "down").read_bytes() == (tree / "large").read_bytes()


@pytest.mark.parametrize("bench", [False], indirect=True, ids=["http"])
def test_a_bucket_may_be_named_in_the_host(bench: Bench) -> None:
    # Nobody resolves that name here; asked as a proxy, the emulator gets the request as a server of that name would.
    client = boto3.client(
        "s3",
        endpoint_url=bench.virtual_url,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
        config=Config(proxies={"http": bench.endpoint.url}, s3={"addressing_style": "virtual"}),
    )
    client.put_object(Bucket="bucket", Key="a b/ü", Body=BODY)
    assert client.get_object(Bucket="bucket", Key="a b/ü")["Body"].read() == BODY
    assert [item["Key"] for item in client.list_objects_v2(Bucket="bucket")["Contents"]] == ["a b/ü"]
    assert bench.stored("bucket", "a b/ü") == BODY
    client.close()
