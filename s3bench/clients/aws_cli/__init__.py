"""aws-cli, v1 and v2, with the transfer client that its config chooses, Classic or the CRT."""

import shlex
from functools import partial

from s3bench.clients.aws_cli.command import invoke_aws_cli
from s3bench.clients.aws_cli.finding import find_aws_cli, find_with_crt
from s3bench.clients.aws_cli.package import AwsCliPackage
from s3bench.clients.aws_cli.tuning import CRT_TUNING, classic_tuning
from s3bench.clients.descriptor import ClientDescriptor
from s3bench.clients.environment import ServerAddress
from s3bench.s3.wirelog import TransferEngine

_LIBRARIES = (
    *("awscli", "botocore", "s3transfer", "awscrt", "_awscrt", "urllib3", "jmespath", "dateutil"),
    *("colorama", "docutils", "prompt_toolkit", "rsa", "ruamel", "yaml"),
)


def _pointing(server: ServerAddress) -> str:
    bundle = f" --ca-bundle {shlex.quote(str(server.ca_bundle))}" if server.ca_bundle else ""
    return f"aws --endpoint-url {server.url}{bundle} s3 ls"


_PACKAGE = AwsCliPackage(
    name="aws-cli",
    index_name="awscli",
    requirement="awscli=={}",
    program="aws",
    is_in_own_environment=False,
    is_fetched_on_first_use=True,
    pointing=_pointing,
)

CLIENTS = (
    ClientDescriptor(
        name="cli",
        runs_any_command=True,
        is_default=True,
        package=_PACKAGE,
        find=find_aws_cli,
        invoke=partial(invoke_aws_cli, transfer_client=""),
        engine=None,
        tuning=classic_tuning("", is_tried_by_default=False),
        libraries=_LIBRARIES,
        is_stubbed_in_process=True,
        self_test_rank=3,
        instructions_repeat=True,
    ),
    ClientDescriptor(
        name="cli-classic",
        runs_any_command=True,
        transfer_words=frozenset({"classic", "default"}),  # the second is aws-cli's word before 2.13
        package=_PACKAGE,
        find=find_aws_cli,
        invoke=partial(invoke_aws_cli, transfer_client="classic"),
        engine=TransferEngine.PYTHON,
        tuning=classic_tuning("classic", is_tried_by_default=True),
        libraries=_LIBRARIES,
        is_stubbed_in_process=True,
        self_test_rank=2,
        instructions_repeat=True,
    ),
    ClientDescriptor(
        name="cli-crt",
        runs_any_command=True,
        transfer_words=frozenset({"crt"}),
        package=_PACKAGE,
        find=find_with_crt,
        invoke=partial(invoke_aws_cli, transfer_client="crt"),
        engine=TransferEngine.CRT,
        tuning=CRT_TUNING,
        libraries=_LIBRARIES,
        self_test_rank=4,
        instructions_repeat=True,
    ),
)
