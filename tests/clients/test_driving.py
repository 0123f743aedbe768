"""Translating a transfer: settings as aws-cli reads them, our driver's request, s5cmd's command line."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from s3bench.clients.client import FoundClient
from s3bench.clients.driver import DRIVER, driver_command
from s3bench.clients.environment import EndpointFacts
from s3bench.clients.s5cmd.command import S5cmdSettings, s5cmd_command, s5cmd_settings
from s3bench.clients.transfer_settings import transfer_settings
from s3bench.errors import BadInput
from s3bench.spec.command import Transfer, parse_transfer

ENDPOINT = EndpointFacts(url="http://127.0.0.1:9000", ca_bundle=Path("/ca.pem"))
S5CMD = FoundClient(kind="s5cmd", version="2.3.0", executable=Path("/s5cmd"))
BOTO3 = FoundClient(kind="boto3-crt", version="1.44.5", executable=Path("/python"), site=Path("/site"))


def transfer(*words: str) -> Transfer:
    parsed = parse_transfer(("s3", *words))
    assert parsed is not None
    return parsed


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("multipart_chunksize", "8388608", 8388608),
        ("multipart_chunksize", "8MB", 8 << 20),
        ("multipart_threshold", "16KB", 16 << 10),
        ("multipart_threshold", "1GiB", 1 << 30),
        ("max_concurrent_requests", "20", 20),
        ("max_bandwidth", "50MB/s", 50 << 20),
        ("multipart_threshold", "8 mb", 8 << 20),
        ("max_bandwidth", "80Mb/s", 10 << 20),
        ("max_bandwidth", "10MiB/s", 10 << 20),
        ("max_bandwidth", "1000B/s", 1000),
        ("target_bandwidth", "1000", 1000),
        ("addressing_style", "virtual", "virtual"),
    ],
)
def test_settings_are_read_as_aws_cli_reads_them(key: str, text: str, value: object) -> None:
    assert transfer_settings({key: text}) == {key: value}


def test_settings_that_no_driver_has_are_left_out() -> None:
    assert transfer_settings({"preferred_transfer_client": "crt", "max_queue_size": "1000"}) == {}


@pytest.mark.parametrize(
    ("key", "text"),
    [("multipart_chunksize", "8 apples"), ("max_concurrent_requests", "0"), ("max_concurrent_requests", "1KB"),
     ("max_bandwidth", "fast"), ("multipart_threshold", "0")],
)  # fmt: skip
def test_a_setting_that_aws_cli_would_refuse_is_refused(key: str, text: str) -> None:
    with pytest.raises(BadInput, match=key):
        transfer_settings({key: text})


def test_the_driver_is_told_everything_in_one_argument() -> None:
    sync = transfer("sync", "dir", "s3://bucket/prefix", "--delete", "--exclude", "*.tmp")
    python, driver, request = driver_command(
        BOTO3, sync, ENDPOINT, {"multipart_chunksize": 5}, region="us-east-1", backend=Path("/backend")
    )
    assert (python, driver) == ("/python", str(DRIVER))
    assert json.loads(request) == {
        "backend": "/backend",
        "kind": "boto3-crt",
        "endpoint_url": "http://127.0.0.1:9000",
        "ca_bundle": "/ca.pem",
        "region": "us-east-1",
        "site": "/site",
        "settings": {"multipart_chunksize": 5},
        "command": {
            "verb": "sync",
            "direction": "upload",
            "recursive": True,
            "delete": True,
            "filters": [[False, "*.tmp"]],
            "source": {"path": "dir"},
            "destination": {"bucket": "bucket", "key": "prefix"},
        },
    }


@pytest.mark.parametrize(("has_site", "places"), [(True, [True, False]), (False, [False, True])])
def test_the_packages_of_a_directory_are_not_mixed_with_those_of_the_interpreter(
    has_site: bool, places: list[bool], tmp_path: Path
) -> None:
    site, backend = tmp_path / "site", tmp_path / "backend"
    site.mkdir()
    backend.mkdir()
    (site / "given.py").touch()
    (backend / "s3bench_driver_backend.py").write_text(
        "import sys\nfrom importlib.util import find_spec\n"
        "sys.exit(repr([find_spec(name) is not None for name in ('given', 'botocore')]))\n"
    )
    found = replace(BOTO3, executable=Path(sys.executable), site=site if has_site else None)
    argv = driver_command(found, transfer("rm", "s3://b/k"), ENDPOINT, {}, region="us-east-1", backend=backend)
    done = subprocess.run(argv, env={}, capture_output=True, text=True, timeout=200, check=False)
    assert done.stderr.strip() == str(places)


def words(*command: str, own: S5cmdSettings | None = None, **settings: int) -> list[str]:
    program, *rest = s5cmd_command(S5CMD, transfer(*command), ENDPOINT, dict(settings), own=own or S5cmdSettings())
    assert [program, *rest[:4]] == ["/s5cmd", "--endpoint-url", "http://127.0.0.1:9000", "--log", "error"]
    return rest[4:]


@pytest.mark.parametrize(
    ("command", "s5cmd"),
    [
        ("cp file s3://b/k", "cp file s3://b/k"),
        ("cp s3://b/k file", "cp s3://b/k file"),
        ("mv s3://b/k out/", "mv s3://b/k out/"),
        ("cp dir s3://b/p --recursive", "cp dir/ s3://b/p/"),
        ("cp s3://b/p dir --recursive", "cp s3://b/p/* dir/"),
        ("sync dir s3://b", "sync dir/ s3://b/"),
        ("sync s3://b/p/ dir --delete", "sync --delete s3://b/p/* dir/"),
        ("sync dir s3://b/p --exclude *.tmp", "sync --exclude *.tmp dir/ s3://b/p/"),
        ("rm s3://b/k --quiet", "rm s3://b/k"),
        ("rm s3://b/p --recursive", "rm s3://b/p/*"),
        ("cp s3://b/k s3://c/k", "cp s3://b/k s3://c/k"),
    ],
)
def test_s5cmd_is_asked_for_the_same_transfer(command: str, s5cmd: str) -> None:
    assert words(*command.split()) == s5cmd.split()


def test_s5cmd_gets_parts_and_concurrency_in_its_own_terms() -> None:
    assert words("cp", "file", "s3://b/k", multipart_chunksize=17 << 20, max_concurrent_requests=8) == [
        "--numworkers", "8", "cp", "--part-size", "17", "--concurrency", "8", "file", "s3://b/k"
    ]  # fmt: skip
    assert words("sync", "dir", "s3://b/k", multipart_chunksize=1, max_concurrent_requests=8) == [
        "--numworkers", "8", "sync", "--part-size", "5", "dir/", "s3://b/k/"
    ]  # fmt: skip


def test_the_s5cmd_block_is_read_in_s5cmds_own_units() -> None:
    assert s5cmd_settings({}) == S5cmdSettings()
    assert s5cmd_settings({"numworkers": "64", "concurrency": "20", "part_size": "64MB"}) == S5cmdSettings(
        numworkers=64, concurrency=20, part_size_mib=64
    )
    assert s5cmd_settings({"part_size": "1GB"}).part_size_mib == 1024
    assert s5cmd_settings({"part_size": str(16 << 20)}).part_size_mib == 16


@pytest.mark.parametrize(
    ("key", "text"),
    [("numworkers", "0"), ("concurrency", "many"), ("concurrency", "1KB"), ("part_size", "1500KB"), ("part_size", "1"),
     ("part-size", "64MB"), ("multipart_chunksize", "64MB")],
)  # fmt: skip
def test_what_s5cmd_has_no_option_for_is_refused_by_its_name(key: str, text: str) -> None:
    with pytest.raises(BadInput, match=key):
        s5cmd_settings({"numworkers": "2", key: text})


def test_s5cmds_own_settings_win_over_those_of_the_s3_block() -> None:
    own = S5cmdSettings(numworkers=64, concurrency=20, part_size_mib=32)
    derived = {"multipart_chunksize": 17 << 20, "max_concurrent_requests": 8}
    assert words("cp", "file", "s3://b/k", own=own, **derived) == [
        "--numworkers", "64", "cp", "--part-size", "32", "--concurrency", "20", "file", "s3://b/k"
    ]  # fmt: skip
    assert words("sync", "s3://b/p", "dir", own=own, **derived) == [
        "--numworkers", "64", "sync", "--part-size", "32", "--concurrency", "20", "s3://b/p/*", "dir/"
    ]  # fmt: skip
    assert words("rm", "s3://b/k", own=own) == ["--numworkers", "64", "rm", "s3://b/k"]
    assert words("cp", "file", "s3://b/k", own=S5cmdSettings(concurrency=3), **derived) == [
        "--numworkers", "8", "cp", "--part-size", "17", "--concurrency", "3", "file", "s3://b/k"
    ]  # fmt: skip


def test_parts_below_s3s_limit_are_refused_for_uploads_alone() -> None:
    small = S5cmdSettings(part_size_mib=4)
    with pytest.raises(BadInput, match="parts of 4 MiB"):
        words("cp", "file", "s3://b/k", own=small)
    assert words("cp", "s3://b/k", "file", own=small)[:3] == ["cp", "--part-size", "4"]


@pytest.mark.parametrize(
    "command",
    ["rm s3://b/data/*", "cp file? s3://b/k", "cp s3://b/k out*", "sync s3://b/p? dir", "cp s3://b/k* s3://c/k"],
)
def test_a_name_that_s5cmd_takes_for_a_wildcard_is_refused(command: str) -> None:
    with pytest.raises(BadInput, match="wildcards"):
        words(*command.split())


def test_a_filter_that_s5cmd_means_otherwise_is_refused() -> None:
    with pytest.raises(BadInput, match="--include"):
        words("cp", "dir", "s3://b/k", "--recursive", "--include", "*")
