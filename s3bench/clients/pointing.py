"""Lines to copy into a shell or a program that point each client at a server of ours.

Each client declares its own line. They are for people who run a client themselves; `environment` configures clients
under test.
"""

import shlex

from s3bench.clients.environment import FAKE_CREDENTIALS, ServerAddress
from s3bench.clients.registry import known_clients

SECRET_VARIABLE = "S3BENCH_SECRET_KEY"  # noqa: S105 (the name of a variable)
"""The environment variable that holds the secret key of a server which verifies signatures."""


def pointing_lines(target: ServerAddress) -> tuple[tuple[str, str], ...]:
    """Each client's name and its line; the first line sets the environment, from which all others take their keys.

    No line contains the secret key, only the variable that holds it.
    """
    packages = dict.fromkeys(client.package for client in known_clients().values())
    lines = ((package.name, package.pointing(target)) for package in packages if package.pointing is not None)
    return (("environment", f"export {' '.join(_variables(target))}"), *lines)


def _variables(target: ServerAddress) -> list[str]:
    secret = shlex.quote(FAKE_CREDENTIALS.secret_key) if target.access_key is None else f'"${SECRET_VARIABLE}"'
    variables = [
        f"AWS_ENDPOINT_URL={target.url}",
        f"AWS_REGION={shlex.quote(target.region)}",
        f"AWS_ACCESS_KEY_ID={shlex.quote(target.access_key or FAKE_CREDENTIALS.access_key)}",
        f"AWS_SECRET_ACCESS_KEY={secret}",
        "AWS_EC2_METADATA_DISABLED=true",
    ]
    if target.ca_bundle:
        file = shlex.quote(str(target.ca_bundle))
        # botocore, aws-cli and older SDKs read the first, programs in Go and OpenSSL's users the second.
        variables += [f"AWS_CA_BUNDLE={file}", f"SSL_CERT_FILE={file}"]
    return variables
