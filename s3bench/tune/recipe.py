"""What to paste so that a setting holds: `aws configure set`, boto3's TransferConfig, s5cmd's flags.

Owns each client's way of being told. Pure.

A recipe makes of a client what was measured, and so says as well which transfer client is to run. Sources: the S3
configuration of the AWS CLI (https://docs.aws.amazon.com/cli/latest/topic/s3-config.html), `TransferConfig` of boto3,
`S3Client` of awscrt, `s5cmd cp --help`; and, for what they cannot say, how `s3bench.clients.probes` tells them.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import msgspec

from s3bench.clients.client import release_of, transfer_client_word
from s3bench.spec.definition import AWS_CLI_KINDS, ClientKind
from s3bench.tune.parameter import MIB
from s3bench.tune.setting import Setting, config_value, render_value

SHELL = "shell"
PYTHON = "Python"

_POOL = 10  # connections of a botocore client (`Config(max_pool_connections=)`)
_BITS_PER_GIGABIT = 10**9
_BOTO3_NAMES = MappingProxyType({"max_concurrent_requests": "max_concurrency"})
_CRT_NAMES = MappingProxyType({"multipart_chunksize": "part_size", "multipart_threshold": "multipart_upload_threshold"})
_S5CMD_GLOBAL = ("numworkers",)


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`lines` to be pasted as they stand into what `where` names (`shell`, `Python`), so that `setting` holds."""

    setting: Setting
    where: str
    lines: tuple[str, ...]


def recipes_of(setting: Setting) -> tuple[Recipe, ...]:
    """What makes `setting` hold. Knobs that keep their defaults are not written."""
    kind = setting.kind
    if kind in AWS_CLI_KINDS:
        return (Recipe(setting=setting, where=SHELL, lines=tuple(_aws_cli_lines(setting))),)
    if kind is ClientKind.S5CMD:
        return (Recipe(setting=setting, where=SHELL, lines=tuple(_s5cmd_lines(setting))),)
    lines = _crt_lines(setting) if kind is ClientKind.CRT_PYTHON else _boto3_lines(setting)
    return (Recipe(setting=setting, where=PYTHON, lines=tuple(lines)),)


def _aws_cli_lines(setting: Setting) -> Iterator[str]:
    """Comments have no character that a shell would act on: zsh takes a pasted `#` for a command."""
    engine = transfer_client_word(setting.kind, release_of(setting.client.partition("@")[2]))
    if engine:
        yield f"aws configure set default.s3.preferred_transfer_client {engine}"
    for name, value in setting.values:
        yield f"aws configure set default.s3.{name} {config_value(name, value)}"
    if setting.is_default:
        yield f"# nothing {'else ' if engine else ''}to set: all {'other ' if engine else ''}s3 settings keep defaults"


def _s5cmd_lines(setting: Setting) -> Iterator[str]:
    values = dict(setting.values)
    if "part_size" in values:  # whole MiB: s5cmd ran with nothing else
        values["part_size"] //= MIB
    flags = [f"--{name.replace('_', '-')} {values[name]}" for name in values if name not in _S5CMD_GLOBAL]
    general = [f"--{name} {values[name]}" for name in values if name in _S5CMD_GLOBAL]
    if setting.is_default:
        yield "# nothing to set: all flags keep their defaults"
    yield " ".join(("s5cmd", *general, "cp", *flags, "SOURCE", "DESTINATION"))


def _boto3_lines(setting: Setting) -> Iterator[str]:
    is_crt = setting.kind is ClientKind.BOTO3_CRT
    target = setting.get("target_bandwidth")
    pool = 0 if is_crt else setting.get("max_concurrent_requests") or 0
    values = {_BOTO3_NAMES.get(name, name): value for name, value in setting.values if name != "target_bandwidth"}
    engine = "crt" if is_crt else "classic"
    arguments = ", ".join((*_arguments(values), f'preferred_transfer_client="{engine}"'))
    yield "import boto3"
    if target:
        yield "import boto3.crt"
    yield "from boto3.s3.transfer import TransferConfig, create_transfer_manager"
    if pool > _POOL:
        yield "from botocore.config import Config"
    yield from _boto3_target_lines(target) if target else ()
    yield ""
    yield f'client = boto3.client("s3"{f", config=Config(max_pool_connections={pool})" if pool > _POOL else ""})'
    yield f"config = TransferConfig({arguments})"
    yield "# one file: client.upload_file(FILE, BUCKET, KEY, Config=config), download_file in the same way"
    yield "# many: with create_transfer_manager(client, config) as manager: manager.upload(FILE, BUCKET, KEY) for each"


def _boto3_target_lines(target: int) -> Iterator[str]:
    """The CRT's target throughput, which neither TransferConfig nor boto3's reading of the AWS config knows.

    boto3.crt makes one CRT client a process, without a target; our own driver replaces the same function.
    """
    yield "from s3transfer.crt import create_s3_crt_client"
    yield ""
    yield ""
    yield "def create_crt_client(session, config, region_name, credentials):"
    yield f"    target = {_python_number(target)}  # bytes per second: {render_value('target_bandwidth', target)}"
    yield "    return create_s3_crt_client("
    yield "        region=region_name, crt_credentials_provider=credentials, target_throughput=target"
    yield "    )"
    yield ""
    yield ""
    yield "boto3.crt._create_crt_client = create_crt_client  # no setting of boto3 does it; before the first transfer"


def _crt_lines(setting: Setting) -> Iterator[str]:
    target, concurrency = setting.get("target_bandwidth"), setting.get("max_concurrent_requests")
    values = {_CRT_NAMES[name]: value for name, value in setting.values if name in _CRT_NAMES}
    names = ("S3Client",) if target else ("S3Client", "get_recommended_throughput_target_gbps")
    gbps = repr(target * 8 / _BITS_PER_GIGABIT) if target else "get_recommended_throughput_target_gbps() or 10.0"
    yield "from awscrt.auth import AwsCredentialsProvider"
    yield f"from awscrt.s3 import {', '.join(names)}"
    yield ""
    yield "client = S3Client("
    yield '    region="us-east-1",  # the region of your bucket'
    yield "    credential_provider=AwsCredentialsProvider.new_default_chain(),"
    yield from (f"    {argument}," for argument in _arguments(values))
    yield f"    throughput_target_gbps={gbps},"
    yield ")"
    if concurrency:
        yield f'options = {{"max_active_connections_override": {concurrency}}}'
        yield "# for each request: client.make_request(..., **options)"


def _arguments(values: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(f"{name}={_python_number(value)}" for name, value in values.items())


def _python_number(value: int) -> str:
    """`16 * 1024**2` rather than `16777216`."""
    for power in (3, 2, 1):
        if value and value % 1024**power == 0:
            step = "1024" if power == 1 else f"1024**{power}"
            return f"{value // 1024**power} * {step}"
    return str(value)
