"""An emulator with keys: every client's own signature is right, a wrong secret is not, and presigned URLs expire."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from boto3.s3.transfer import TransferConfig
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials as BotocoreCredentials

from s3bench.clients.environment import Credentials
from s3bench.s3.emulator.settings import EmulatorSettings
from tests.e2e.conftest import MIB, Emulators, contents
from tests.e2e.programs import Bench, rclones
from tests.schemes import HTTP, HTTPS, over

KEYS = Credentials(access_key="AKIDSIGNEDSIGNEDSIGN", secret_key="right/secret+0123456789012345678901234567")
WRONG = Credentials(access_key=KEYS.access_key, secret_key="wrong/secret+0123456789012345678901234567")
SIZE_BYTES = 6 * MIB + 1  # two parts for those that split at 5 MiB, and several signed chunks


@pytest.fixture
def places(emulators: Emulators, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Bench, Bench]]:
    """All clients with the right secret, and with a wrong one."""
    settings = EmulatorSettings(buckets=("bucket",), access_key=KEYS.access_key, secret_key=KEYS.secret_key)
    with emulators.armed(tls=getattr(request, "param", False), settings=settings) as emulator:
        yield Bench(emulator, tmp_path / "right", KEYS), Bench(emulator, tmp_path / "wrong", WRONG)


@pytest.fixture
def signed(places: tuple[Bench, Bench]) -> Bench:
    return places[0]


@pytest.fixture
def wrong(places: tuple[Bench, Bench]) -> Bench:
    return places[1]


@pytest.fixture
def file(signed: Bench) -> Path:
    path = signed.work / "file with ünusual name+"
    path.write_bytes(bytes(range(256)) * (SIZE_BYTES // 256) + b"x")
    return path


both = pytest.mark.parametrize("places", [False, True], indirect=True, ids=["http", "https"])
over_http = pytest.mark.parametrize("places", [False], indirect=True, ids=["http"])


def sdk(bench: Bench) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=bench.endpoint.url,
        region_name="us-east-1",
        verify=str(bench.endpoint.ca_bundle) if bench.endpoint.ca_bundle else None,
        aws_access_key_id=bench.credentials.access_key,
        aws_secret_access_key=bench.credentials.secret_key,
        config=Config(proxies={}, s3={"addressing_style": "path"}, signature_version="s3v4"),
    )


@over_http
@pytest.mark.usefixtures("aws_cli")
@pytest.mark.parametrize(
    "kind",
    [
        "cli-classic",
        pytest.param("cli-crt", marks=pytest.mark.campaign),  # test_express.py has the signature of its CRT
        pytest.param("v1", marks=pytest.mark.campaign),
    ],
)
def test_aws_cli_signs_a_sync_of_a_tree_rightly(signed: Bench, tree: Path, kind: str) -> None:
    signed.aws(kind, "s3", "sync", str(tree), "s3://bucket/a b/ü+~", "--only-show-errors")
    signed.aws(kind, "s3", "sync", "s3://bucket/a b/ü+~", "landed", "--only-show-errors")
    assert contents(signed.work / "landed") == contents(tree)


@pytest.mark.campaign  # by boto3, the CRT and s5cmd below
@over_http
@pytest.mark.usefixtures("aws_cli")
@pytest.mark.parametrize(("kind", "code"), [("cli-classic", 254), ("v1", 255)])
def test_a_wrong_secret_of_aws_cli_is_refused(wrong: Bench, kind: str, code: int) -> None:
    wrong.aws(kind, "s3", "ls", "s3://bucket", code=code)


@over_http
def test_boto3_signs_rightly(signed: Bench, file: Path) -> None:
    client, landed = sdk(signed), signed.work / "landed"
    client.upload_file(str(file), "bucket", "a b/ü+~", Config=TransferConfig(multipart_threshold=5 * MIB))
    client.download_file("bucket", "a b/ü+~", str(landed), Config=TransferConfig(multipart_threshold=5 * MIB))
    assert landed.read_bytes() == file.read_bytes()
    client.close()


@pytest.mark.parametrize(
    ("places", "kind"),
    [
        over(HTTP, "crt-python"),
        over(HTTPS, "boto3-crt", also=True),  # test_express.py has its signature
        over(HTTP, "boto3-classic", also=True),  # the test above has its signature
        over(HTTPS, "boto3-classic", also=True),
        over(HTTP, "boto3-crt", also=True),
        over(HTTPS, "crt-python", also=True),
    ],
    indirect=["places"],
)
def test_boto3_and_awscrt_sign_rightly_and_a_wrong_secret_is_refused(
    signed: Bench, wrong: Bench, file: Path, kind: str
) -> None:
    target = "s3://bucket/a b/ü+~"
    signed.drive(kind, "s3", "cp", str(file), target)
    signed.drive(kind, "s3", "cp", target, "landed")
    assert (signed.work / "landed").read_bytes() == file.read_bytes()
    wrong.drive(kind, "s3", "cp", str(file), target, code=1)


@both
def test_s5cmd_signs_rightly_and_a_wrong_secret_is_refused(signed: Bench, wrong: Bench, file: Path) -> None:
    signed.s5cmd("cp", "--part-size", "5", str(file), "s3://bucket/a b/ü+~")
    assert signed.s5cmd("cat", "s3://bucket/a b/ü+~") == file.read_bytes()
    wrong.s5cmd("ls", "s3://bucket", code=1)


@both
@pytest.mark.parametrize("position", [0, 1], ids=["first-rclone", "second-rclone"])
def test_rclone_signs_rightly(signed: Bench, file: Path, position: int) -> None:
    found = rclones()
    if position >= len(found):
        pytest.skip("needs rclone: apt-get install rclone, or go install github.com/rclone/rclone@latest")
    signed.rclone(found[position], "Other", "copyto", str(file), ":s3:bucket/a b/ü+~")
    assert signed.rclone(found[position], "Other", "cat", ":s3:bucket/a b/ü+~") == file.read_bytes()


@over_http
def test_a_wrong_secret_is_told_by_name(wrong: Bench) -> None:
    client = sdk(wrong)
    with pytest.raises(client.exceptions.ClientError) as caught:
        client.list_objects_v2(Bucket="bucket")
    assert caught.value.response["Error"]["Code"] == "SignatureDoesNotMatch"
    with pytest.raises(client.exceptions.ClientError) as caught:
        client.put_object(Bucket="bucket", Key="key", Body=b"body")
    assert caught.value.response["Error"]["Code"] == "SignatureDoesNotMatch"
    client.close()


@both
def test_presigned_urls_work_for_reading_and_writing(signed: Bench) -> None:
    client = sdk(signed)
    put = client.generate_presigned_url("put_object", Params={"Bucket": "bucket", "Key": "a b/ü+~"}, ExpiresIn=60)
    assert signed.fetch(put.partition(f":{signed.endpoint.url.rpartition(':')[2]}")[2], "PUT", b"presigned")[0] == 200
    get = client.generate_presigned_url("get_object", Params={"Bucket": "bucket", "Key": "a b/ü+~"}, ExpiresIn=60)
    assert signed.curl(get) == (200, b"presigned")
    assert signed.curl(get.replace("%C3%BC", "u"))[0] == 403
    assert signed.curl(get + "0")[0] == 403
    client.close()


@over_http
def test_a_presigned_url_expires(signed: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    an_hour_ago = datetime.now(UTC) - timedelta(hours=1)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: an_hour_ago)
    keys = BotocoreCredentials(KEYS.access_key, KEYS.secret_key)
    for expires_s, expected, part in ((7200, 200, b"<ListBucketResult"), (60, 403, b"Request has expired")):
        request = AWSRequest("GET", f"{signed.endpoint.url}/bucket")
        S3SigV4QueryAuth(keys, "s3", "us-east-1", expires=expires_s).add_auth(request)
        status, body = signed.curl(request.url)
        assert (status, part in body) == (expected, True)
