"""s5cmd's command line: a transfer and the config's blocks `s3` and `s5cmd`, translated. Pure.

The block `s5cmd` is ours: s5cmd reads no AWS config.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from s3bench.clients.awsconfig import block_settings
from s3bench.clients.client import FoundClient
from s3bench.clients.environment import EndpointFacts
from s3bench.clients.launch import ClientLaunch, Invocation
from s3bench.clients.transfer_settings import transfer_settings
from s3bench.errors import BadInput
from s3bench.spec.awsconfig_value import count_of, size_of
from s3bench.spec.command import S3, Local, Transfer, TransferDirection

CONFIG_KEYS = frozenset({"concurrency", "numworkers", "part_size"})
"""The keys of the block."""

_MIB = 1 << 20
# S3's smallest part of an upload, and so s5cmd's smallest --part-size for one.
_PART_MIB_MIN = 5


def invoke_s5cmd(launch: ClientLaunch) -> Invocation:
    """Run the transfer with the flags that the config's blocks come to."""
    argv = s5cmd_command(
        launch.found,
        launch.portable_transfer,
        launch.endpoint,
        transfer_settings(block_settings(launch.config, "s3")),
        own=s5cmd_settings(block_settings(launch.config, "s5cmd")),
    )
    return Invocation(argv=argv, env=launch.env, config_text=launch.config)


@dataclass(frozen=True, slots=True, kw_only=True)
class S5cmdSettings:
    """s5cmd's own options `--numworkers`, `--concurrency` and `--part-size`; `None` where they are not asked for."""

    numworkers: int | None = None
    concurrency: int | None = None
    part_size_mib: int | None = None


NOTHING_OWN = S5cmdSettings()


def s5cmd_settings(block: Mapping[str, str]) -> S5cmdSettings:
    """Parse the config's `s5cmd` block. Raises `BadInput` for a key or a value that s5cmd has no option for."""
    if unknown := block.keys() - CONFIG_KEYS:
        raise BadInput(
            f"config: `{min(unknown)}` is not a setting of the block `s5cmd`",
            fix="it knows numworkers, concurrency and part_size",
        )
    counts = {key: count_of(key, block[key]) for key in ("numworkers", "concurrency") if key in block}
    part = _part_mib(block["part_size"]) if "part_size" in block else None
    return S5cmdSettings(numworkers=counts.get("numworkers"), concurrency=counts.get("concurrency"), part_size_mib=part)


def _part_mib(text: str) -> int:
    part, rest = divmod(size_of("part_size", text), _MIB)
    if rest:
        raise BadInput(f"config: s5cmd cannot take `part_size = {text}`", "its parts are whole MiB", "write 64MB, say")
    return part


def s5cmd_command(
    found: FoundClient,
    transfer: Transfer,
    endpoint: EndpointFacts,
    settings: dict[str, int | str],
    *,
    own: S5cmdSettings = NOTHING_OWN,
) -> tuple[str, ...]:
    """Make the s5cmd command line that does what `transfer` says; raises `BadInput` for what s5cmd cannot do.

    What `own` has wins over what the `s3` settings come to.
    """
    if any(rule.include for rule in transfer.filters):
        raise BadInput("s5cmd's `--include` does not mean what aws-cli's does", fix="measure it on other `--client`s")
    for place in (transfer.source, transfer.destination):
        path = place.path if isinstance(place, Local) else place.key if place else ""
        if "*" in path or "?" in path:
            raise BadInput(
                f"s5cmd takes `*` and `?` in {path!r} for wildcards, which aws-cli does not",
                fix="use names without them, or measure it on other `--client`s",
            )
    argv = [str(found.executable), "--endpoint-url", endpoint.url, "--log", "error"]
    workers = own.numworkers or settings.get("max_concurrent_requests")
    if workers:
        argv += ["--numworkers", str(workers)]
    argv.append(str(transfer.verb))
    if transfer.direction in {TransferDirection.UPLOAD, TransferDirection.DOWNLOAD}:
        argv += _part_options(transfer, settings, own)
    if transfer.delete:
        argv.append("--delete")
    for rule in transfer.filters:
        argv += ["--exclude", rule.pattern]
    argv.append(_source(transfer))
    if transfer.destination is not None:
        argv.append(_destination(transfer, transfer.destination))
    return tuple(argv)


def _part_options(transfer: Transfer, settings: dict[str, int | str], own: S5cmdSettings) -> list[str]:
    options = []
    part, chunk = own.part_size_mib, settings.get("multipart_chunksize")
    if part is None and isinstance(chunk, int):
        part = max(_PART_MIB_MIN, -(-chunk // _MIB))
    if part is not None and part < _PART_MIB_MIN and transfer.direction is TransferDirection.UPLOAD:
        raise BadInput(
            f"config: s5cmd cannot upload parts of {part} MiB",
            f"the minimum of S3 is {_PART_MIB_MIN} MiB",
            f"use {_PART_MIB_MIN} MiB or more",
        )
    if part is not None:
        options += ["--part-size", str(part)]
    # s5cmd has workers, each with its own concurrent parts; one file keeps one worker busy.
    derived = None if transfer.recursive else settings.get("max_concurrent_requests")
    if concurrency := own.concurrency or derived:
        options += ["--concurrency", str(concurrency)]
    return options


def _source(transfer: Transfer) -> str:
    source = transfer.source
    if isinstance(source, Local):
        return _folder(source.path) if transfer.recursive else source.path
    url = f"s3://{source.bucket}/{source.key}"
    return f"{_folder(url)}*" if transfer.recursive else url


def _destination(transfer: Transfer, destination: Local | S3) -> str:
    if isinstance(destination, Local):
        return _folder(destination.path) if transfer.recursive else destination.path
    url = f"s3://{destination.bucket}/{destination.key}"
    return _folder(url) if transfer.recursive else url


def _folder(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"
