"""How to point each client at a server of ours: lines to copy into a shell or a program.

Owns those lines. Pure. What a client under test gets is `environment`'s; this is for people with a client of their own.
"""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from s3bench.clients.environment import FAKE_CREDENTIALS, REGION

SECRET_VARIABLE = "S3BENCH_SECRET_KEY"  # noqa: S105 (the name of a variable)
"""The environment variable that holds the secret key of a server which verifies signatures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """A server as clients have to know it. Without an `access_key` it takes any credentials."""

    url: str
    region: str = REGION
    access_key: str | None = None
    ca_bundle: Path | None = None


def pointing_lines(target: ServerAddress) -> tuple[tuple[str, str], ...]:
    """What to point, and the line that does it; every other line takes its keys from the first, the environment.

    The secret key is never among them, only the variable that is to hold it.
    """
    url, bundle = target.url, target.ca_bundle
    file = shlex.quote(str(bundle))
    # Older rclones stop where AWS_CA_BUNDLE is set, since their HTTP client has another way to be told.
    alone = "env -u AWS_CA_BUNDLE " if bundle else ""
    rclone = f"{alone}rclone lsd :s3: --s3-provider Other --s3-env-auth --s3-endpoint {url}"
    return (
        ("environment", f"export {' '.join(_variables(target))}"),
        ("aws-cli", f"aws --endpoint-url {url}{f' --ca-bundle {file}' if bundle else ''} s3 ls"),
        ("boto3", f'boto3.client("s3", endpoint_url="{url}"{f", verify={json.dumps(str(bundle))}" if bundle else ""})'),
        ("s5cmd", f"{f'SSL_CERT_FILE={file} ' if bundle else ''}s5cmd --endpoint-url {url} ls"),
        ("rclone", f"{rclone}{f' --ca-cert {file}' if bundle else ''}"),
    )


def _variables(target: ServerAddress) -> list[str]:
    secret = shlex.quote(FAKE_CREDENTIALS.secret_key) if target.access_key is None else f'"${SECRET_VARIABLE}"'
    variables = [
        f"AWS_ENDPOINT_URL={target.url}",
        f"AWS_REGION={target.region}",
        f"AWS_ACCESS_KEY_ID={shlex.quote(target.access_key or FAKE_CREDENTIALS.access_key)}",
        f"AWS_SECRET_ACCESS_KEY={secret}",
        "AWS_EC2_METADATA_DISABLED=true",
    ]
    if target.ca_bundle:
        file = shlex.quote(str(target.ca_bundle))
        # botocore, aws-cli and older SDKs read the first, programs in Go and OpenSSL's users the second.
        variables += [f"AWS_CA_BUNDLE={file}", f"SSL_CERT_FILE={file}"]
    return variables
