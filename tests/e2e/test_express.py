"""Directory buckets by real clients, as they address them at our endpoint: aws-cli, boto3 with the CRT, s5cmd."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from s3bench.clients.environment import Credentials
from s3bench.load.session.bucket import LiveBucket
from s3bench.s3.emulator.settings import EmulatorSettings
from tests.e2e.conftest import MIB, Emulators, Finished
from tests.e2e.programs import Bench

KEYS = Credentials(access_key="AKIDSIGNEDSIGNEDSIGN", secret_key="right/secret+0123456789012345678901234567")
BUCKET = "logs--use1-az4--x-s3"
TARGET = f"s3://{BUCKET}/a b/ü+~"


@pytest.fixture
def signed(emulators: Emulators, tmp_path: Path) -> Iterator[Bench]:
    settings = EmulatorSettings(buckets=(BUCKET,), access_key=KEYS.access_key, secret_key=KEYS.secret_key)
    with emulators.armed(tls=False, settings=settings) as emulator:
        yield Bench(emulator, tmp_path, KEYS)


@pytest.fixture
def file(signed: Bench) -> Path:
    path = signed.work / "file"
    path.write_bytes(bytes(range(256)) * (9 * MIB // 256) + b"x")
    return path


@pytest.mark.usefixtures("aws_cli")
@pytest.mark.parametrize(
    ("up", "down"),
    [
        ("cli-crt", "boto3-crt"),
        pytest.param("boto3-crt", "cli-crt", marks=pytest.mark.campaign),
        pytest.param("cli-classic", "cli-classic", marks=pytest.mark.campaign),
    ],
)
def test_aws_cli_and_boto3_transfer_with_a_session(signed: Bench, file: Path, up: str, down: str) -> None:
    if up.startswith("cli"):
        signed.aws(up, "s3", "cp", str(file), TARGET, "--checksum-algorithm", "SHA256")
    else:
        signed.drive(up, "s3", "cp", str(file), TARGET)
    if down.startswith("cli"):
        signed.aws(down, "s3", "cp", TARGET, "landed", "--checksum-mode", "ENABLED")
    else:
        signed.drive(down, "s3", "cp", TARGET, "landed")
    assert (signed.work / "landed").read_bytes() == file.read_bytes()


def test_s5cmd_has_no_sessions_and_is_told_so(signed: Bench, emulators: Emulators) -> None:
    signed.s5cmd("ls", f"s3://{BUCKET}", code=1)
    [request, *_] = emulators.at(tls=False).drain(requests_max=10).requests
    assert (request.method, request.path, request.status) == ("GET", f"/{BUCKET}", 400)


def test_s5cmd_reads_where_no_signature_is_checked(emulators: Emulators, tmp_path: Path) -> None:
    with emulators.armed(tls=False, settings=EmulatorSettings(buckets=(BUCKET,))) as emulator:
        bench = Bench(emulator, tmp_path)
        (bench.work / "file").write_bytes(b"x")
        assert bench.fetch(f"/{BUCKET}/k", "PUT", b"x")[0] == 200
        assert bench.s5cmd("cat", f"s3://{BUCKET}/k") == b"x"
        assert bench.s5cmd("ls", f"s3://{BUCKET}").split()[-1] == b"k"
        bench.s5cmd("cp", "file", f"s3://{BUCKET}/l", code=1)  # it sends Content-MD5, which such buckets reject


def test_a_load_runs_in_a_session_and_leaves_nothing(
    emulators: Emulators, load: Callable[..., Finished], tmp_path: Path
) -> None:
    settings = EmulatorSettings(buckets=(BUCKET,), access_key=KEYS.access_key, secret_key=KEYS.secret_key)
    mix = "get=2,put=4,delete=3,list=1,head=2,copy=1,range=1,multipart=1"
    with emulators.armed(tls=True, settings=settings) as emulator:
        keys = ("-a", KEYS.access_key, "-s", KEYS.secret_key, "-b", BUCKET, "-u", emulator.url)
        trust = ("--ca-bundle", str(emulator.ca_bundle))
        work = f"--mix {mix} --objects 20 --size 4KiB --range 1KiB -t 2 --workers 1 --operations 150".split()
        done = load("--express", *keys, *trust, *work)
        assert done.code == 0, done.err
        requests = emulator.drain(requests_max=10_000).requests
        bucket = LiveBucket.at(emulator.url, BUCKET, credentials=KEYS, ca_bundle=str(emulator.ca_bundle))
        left = bucket.write_key_file("", tmp_path / "left", keys_max=10)
        refused = load(*keys, *trust, *work)
        wrong = load("--express", "-u", emulator.url, "-b", "plain")
        half = load("--express", *keys, "--operation", "get", "--list-existing", "logs")
    assert done.document["results"]
    assert left == 0
    assert {request.status for request in requests} <= {200, 204, 206}
    assert {request.method for request in requests} >= {"GET", "PUT", "POST", "DELETE", "HEAD"}
    assert "directory bucket" in refused.err
    assert "needs a directory bucket" in wrong.err
    assert "pass --list-existing logs/" in half.err
