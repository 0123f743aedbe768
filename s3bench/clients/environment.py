"""Builds the environment of a client under test from scratch, so that no setting of the user's leaks in.

Sets every variable. Credentials are obviously fake unless the endpoint is live; then the user's own are read into
memory and put into the client's environment only: they are written nowhere.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from s3bench.errors import BadInput

REGION = "us-east-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointFacts:
    """What a client needs to know about an endpoint.

    `ca_bundle` is the certificate authority of our own TLS endpoints, `None` for the system's. `live` means that the
    endpoint is not ours: the user's own credentials are sent there.
    """

    url: str
    ca_bundle: Path | None = None
    live: bool = False


def check_no_password(url: str) -> None:
    """Raise `BadInput` for a URL with a user name or password, without repeating it."""
    if "@" in url:
        raise BadInput(
            "the endpoint's URL holds a user name or a password",
            "S3 signs requests with keys, and URLs are shown in results and messages",
            "take them out of the URL; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead",
        )


def check_endpoint_url(url: str) -> None:
    """Raise `BadInput` for a URL with a user name or password, and for one of no server."""
    check_no_password(url)
    try:
        parts = urlsplit(url)
        is_server = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_server = False
    if not is_server or any(character.isspace() for character in url):
        raise BadInput(
            f"{url!r} is not the URL of an endpoint",
            "it needs http:// or https://, a host, and a port if it is not the usual one",
            "write it like http://localhost:9000",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """A server as clients need to know it. Without an `access_key` it accepts any credentials."""

    url: str
    region: str = REGION
    access_key: str | None = None
    ca_bundle: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """The places one iteration may use.

    `home` is the client's HOME with its config file, `temporary` its TMPDIR, `work` the current directory with the
    fixtures. Probes append milestones to `probe_file`; `None` runs the client without any probe of ours. `stub_script`
    makes the probe respond to requests inside the client's process, as that file specifies.
    """

    home: Path
    temporary: Path
    work: Path
    probe_file: Path | None = None
    stub_script: Path | None = None

    @property
    def config_file(self) -> Path:
        """Where the AWS config file belongs."""
        return self.home / ".aws" / "config"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """The keys that requests are signed with. Never printed."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    region: str = REGION


FAKE_CREDENTIALS = Credentials(access_key="AKIAFAKEFAKEFAKEFAKE", secret_key="fake/s3bench/no/secret/at/all/0000000000")  # noqa: S106 (made up)


def own_credentials() -> Credentials:
    """Look up the user's own credentials and region as `find_credentials` does; raises `BadInput` if there are none."""
    keys = find_credentials()
    if keys is None:
        raise BadInput(
            "a live endpoint needs credentials, and none were found",
            fix="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure`",
        )
    return keys


def find_credentials(profile: str = "") -> Credentials | None:
    """Look up the user's credentials and region as every AWS program does: AWS_* variables, then ~/.aws.

    Those of `profile` if one is given. Raises `BadInput` for some that cannot be used.
    """
    import botocore.session  # noqa: PLC0415 (a tenth of a second, for live endpoints alone)
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 (as above)

    try:
        session = botocore.session.Session(profile=profile or None)
        found = session.get_credentials()
        if found is None:
            return None
        keys = found.get_frozen_credentials()
        region = session.get_config_variable("region") or REGION
    except (BotoCoreError, ClientError) as error:
        raise BadInput(
            "your credentials cannot be used", str(error), "correct --profile and AWS_PROFILE, or run `aws configure`"
        ) from error
    return Credentials(access_key=keys.access_key, secret_key=keys.secret_key, token=keys.token, region=region)


def sealed_environment(
    sandbox: Sandbox, endpoint: EndpointFacts, credentials: Credentials = FAKE_CREDENTIALS
) -> dict[str, str]:
    """All variables of the client's process, and no others."""
    variables = {
        "PATH": os.defpath,
        "HOME": str(sandbox.home),
        "TMPDIR": str(sandbox.temporary),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "NO_PROXY": "*",
        "no_proxy": "*",
        "PYTHONNOUSERSITE": "1",
        "AWS_CONFIG_FILE": str(sandbox.config_file),
        "AWS_SHARED_CREDENTIALS_FILE": str(sandbox.home / ".aws" / "no-credentials"),
        "AWS_ACCESS_KEY_ID": credentials.access_key,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_key,
        "AWS_REGION": credentials.region,
        "AWS_DEFAULT_REGION": credentials.region,
        "AWS_ENDPOINT_URL": endpoint.url,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_PAGER": "",
    }
    if credentials.token:
        variables["AWS_SESSION_TOKEN"] = credentials.token
    if endpoint.ca_bundle:
        # botocore and aws-cli read the first, programs in Go and OpenSSL's users the second.
        variables |= {"AWS_CA_BUNDLE": str(endpoint.ca_bundle), "SSL_CERT_FILE": str(endpoint.ca_bundle)}
    return variables | _probe_variables(sandbox)


def _probe_variables(sandbox: Sandbox) -> dict[str, str]:
    variables = {}
    if sandbox.probe_file:
        variables["S3BENCH_PROBE_FILE"] = str(sandbox.probe_file)
    if sandbox.stub_script:
        variables["S3BENCH_STUB_SCRIPT"] = str(sandbox.stub_script)
    return variables
