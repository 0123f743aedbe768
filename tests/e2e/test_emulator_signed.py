"""An emulator with keys: every client's own signature is right, a wrong secret is not, and presigned URLs expire."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from s3bench.clients.environment import Credentials
from s3bench.s3.emulator.settings import EmulatorSettings
from tests.e2e.conftest import MIB, Emulators
from tests.e2e.programs import Bench, rclones
from tests.schemes import HTTP, HTTPS, over

KEYS = Credentials(access_key="AKIDSIGNEDSIGNEDSIGN", secret_key="right/secret+0123456789012345678901234567")
WRONG = Credentials(access_key=KEYS.access_key, secret_key="wrong/secret+0123456789012345678901234567")
SIZE_BYTES = 6 * MIB + 1  # two parts for those that split at 5 MiB, and several signed chunks
LIMIT_S = 60.0


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
def test_aws_cli_signs_rightly_and_a_wrong_secret_is_refused(
    signed: Bench, wrong: Bench, file: Path, kind: str
) -> None:
    target = "s3://bucket/a b/ü+~"
    signed.aws(kind, "s3", "cp", str(file), target)
    signed.aws(kind, "s3", "cp", target, "landed")
    assert (signed.work / "landed").read_bytes() == file.read_bytes()
    if kind != "cli-crt":
        wrong.aws(kind, "s3", "ls", "s3://bucket", code=254 if kind == "cli-classic" else 255)


@pytest.mark.parametrize(
    ("places", "kind"),
    [
        over(HTTP, "boto3-classic"),
        over(HTTPS, "boto3-crt"),
        over(HTTP, "crt-python"),
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
@pytest.mark.usefixtures("aws_cli")
def test_a_presigned_url_expires(signed: Bench, file: Path) -> None:
    signed.drive("boto3-classic", "s3", "cp", str(file), "s3://bucket/key")
    url = signed.aws("cli-classic", "s3", "presign", "s3://bucket/key", "--expires-in", "1").decode().strip()
    deadline = time.monotonic() + LIMIT_S
    while signed.curl(url)[0] == 200:
        assert time.monotonic() < deadline, "it never expired"
    status, body = signed.curl(url)
    assert (status, b"Request has expired" in body) == (403, True)
