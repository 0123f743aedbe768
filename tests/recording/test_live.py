"""The command that is recorded, as a process."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest

from s3bench.errors import BadInput, ClientFailed
from s3bench.recording.command import parse_command
from s3bench.recording.definition import Recording
from s3bench.recording.live import Behind, record_command
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from tests.processes import await_end

SLEEP = ("sleep", "60")


def test_a_command_that_is_interrupted_while_it_starts_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, argv: tuple[str, ...], **options: Any) -> None:
            super().__init__(argv, **options)
            if argv == SLEEP:
                started.append(self)
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        record(SLEEP, tmp_path)
    assert started[0].poll() == -signal.SIGTERM


def record(argv: tuple[str, ...], folder: Path) -> None:
    record_command(
        parse_command(argv, stands_for="s3 ls", folder=folder),
        behind=Behind(url=None, buckets=(), data_dir=None),
        tls=False,
        with_contents=False,
        folder=folder,
        variables=dict(os.environ),
    )


STUBBORN = """
import os, signal, sys
is_parent = os.fork() > 0
if not is_parent:
    os.setsid()
if sys.argv[1] == "all" or not is_parent:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open("ready", "w") as ready:
    print(os.getpid(), file=ready, flush=True)
while True:
    signal.pause()
"""


def fifo(path: Path) -> TextIO:
    """A pipe with a name, which stays open between two writers."""
    os.mkfifo(path)
    return os.fdopen(os.open(path, os.O_RDWR))


@pytest.mark.parametrize(("stubborn", "interrupts"), [("child", 1), ("all", 2)])
def test_an_interrupted_command_leaves_no_process_that_ignores_signals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stubborn: str, interrupts: int
) -> None:
    argv = (sys.executable, "-c", STUBBORN, stubborn)
    pids: list[int] = []
    left = [KeyboardInterrupt()] * interrupts

    class Interrupted(subprocess.Popen[bytes]):
        def wait(self, timeout: float | None = None) -> int:
            if self.args == argv:
                pids[:] = pids or (int(ready.readline()), int(ready.readline()))
                if left:
                    raise left.pop()
            return super().wait(timeout)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with fifo(tmp_path / "ready") as ready, pytest.raises(KeyboardInterrupt):
        record(argv, tmp_path)
    assert not left
    await_end(*pids)


def test_a_command_ended_by_a_signal_without_a_name_is_told(tmp_path: Path) -> None:
    with pytest.raises(ClientFailed, match="the command was ended by signal 40"):
        record(("/bin/sh", "-c", "kill -40 $$"), tmp_path)


PUT = f"""#!{sys.executable}
import http.client, os, sys, urllib.parse
url = urllib.parse.urlsplit(os.environ["AWS_ENDPOINT_URL"])
signed = {{
    "Authorization": "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/aws4_request, Signature=x",
    "x-amz-content-sha256": "UNSIGNED-PAYLOAD",
}}
client = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
client.request("PUT", "/bucket/key", b"x", {{}} if "--no-sign-request" in sys.argv else signed)
sys.exit(client.getresponse().status != 200)
"""
"""A program that stands for aws-cli and uploads an object."""

CREDENTIALS = """
[default]
aws_access_key_id = default-key
aws_secret_access_key = default-secret
[prod]
aws_access_key_id = prod-key
aws_secret_access_key = prod-secret
"""


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `aws` in a folder with a file, for a user whose credentials are in a file."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    (tmp_path / "credentials").write_text(CREDENTIALS)
    (tmp_path / "file").write_text("x")
    program = tmp_path / "aws"
    program.write_text(PUT)
    program.chmod(0o700)
    return program


@pytest.fixture
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorEndpoint]:
    """An endpoint that accepts the keys of the profile `prod` alone."""
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("live")) as endpoint:
        endpoint.arm(EmulatorSettings(buckets=("bucket",), access_key="prod-key", secret_key="prod-secret"))
        yield endpoint


def upload(aws: Path, url: str, *options: str) -> Recording:
    folder = aws.parent
    return record_command(
        parse_command((str(aws), *options, "s3", "cp", "file", "s3://bucket/key"), stands_for=None, folder=folder),
        behind=Behind(url=url),
        tls=False,
        with_contents=False,
        folder=folder,
        variables=dict(os.environ),
    )


def test_requests_to_a_live_endpoint_are_signed_with_the_profile_that_the_command_names(
    aws: Path, live: EmulatorEndpoint
) -> None:
    [exchange] = upload(aws, live.url, "--profile", "prod").exchanges
    assert exchange.status == 200
    with pytest.raises(ClientFailed, match="the command exited 1"):
        upload(aws, live.url)


def test_a_profile_that_is_missing_is_bad_input(aws: Path, live: EmulatorEndpoint) -> None:
    with pytest.raises(BadInput, match="your credentials cannot be used") as bad:
        upload(aws, live.url, "--profile", "prud")
    assert "prud" in bad.value.why


def test_the_host_is_signed_as_it_is_sent(aws: Path, live: EmulatorEndpoint) -> None:
    [exchange] = upload(aws, live.url.replace("127.0.0.1", "LOCALHOST"), "--profile", "prod").exchanges
    assert exchange.status == 200


def test_a_live_endpoint_without_signatures_needs_no_credentials(aws: Path, live: EmulatorEndpoint) -> None:
    (aws.parent / "credentials").unlink()
    live.arm(EmulatorSettings(buckets=("bucket",)))
    assert upload(aws, live.url, "--no-sign-request").exchanges[0].status == 200


def test_the_users_own_authority_is_trusted(
    aws: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("tls"), tls=True) as endpoint:
        endpoint.arm(EmulatorSettings(buckets=("bucket",)))
        monkeypatch.setenv("AWS_CA_BUNDLE", str(endpoint.ca_bundle))
        assert upload(aws, endpoint.url).exchanges[0].status == 200


def test_authorities_that_cannot_be_read_are_bad_input(aws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", str(aws.parent / "missing.pem"))
    with pytest.raises(BadInput, match=r"AWS_CA_BUNDLE .*missing\.pem cannot be used"):
        upload(aws, "https://127.0.0.1:1")
