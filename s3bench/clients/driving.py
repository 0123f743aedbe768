"""What our drivers and s5cmd are asked to do: a transfer and the config's blocks `s3` and `s5cmd`, translated for each.

Owns the meaning of the `s3` settings (https://docs.aws.amazon.com/cli/latest/topic/s3-config.html), the block `s5cmd`,
which is ours, and s5cmd's command line. Pure.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from s3bench.clients.client import FoundClient
from s3bench.clients.environment import EndpointFacts
from s3bench.errors import BadInput
from s3bench.spec.command import S3, Local, Transfer, TransferDirection

DRIVER = Path(__file__).parent / "probes" / "s3bench_driver.py"
"""The program that runs boto3 and awscrt."""

_MIB = 1 << 20
_SIZES = frozenset({"multipart_threshold", "multipart_chunksize", "io_chunksize"})
_RATES = frozenset({"max_bandwidth", "target_bandwidth"})
_COUNTS = frozenset({"max_concurrent_requests", "numworkers", "concurrency"})
_SIZE = re.compile(r"(\d+)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_RATE = re.compile(r"(\d+)\s*([KMGT]?)(?:(B|b)/s)?")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
# S3's smallest part of an upload, and so s5cmd's smallest --part-size for one.
_S5CMD_PART_MIB_MIN = 5


def transfer_settings(block: dict[str, str]) -> dict[str, int | str]:
    """Parse the `s3` settings that transfers know: sizes in bytes, rates in bytes per second, counts.

    As aws-cli reads them, a `KB` is 1,024 bytes. Raises `BadInput` for what it would refuse.
    """
    settings: dict[str, int | str] = {}
    for key, text in block.items():
        if key in _SIZES or key == "max_concurrent_requests":
            settings[key] = _size(key, text)
        elif key in _RATES:
            settings[key] = _rate(key, text)
        elif key == "addressing_style":
            settings[key] = text
    return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class S5cmdSettings:
    """s5cmd's own options `--numworkers`, `--concurrency` and `--part-size`; `None` where they are not asked for."""

    numworkers: int | None = None
    concurrency: int | None = None
    part_size_mib: int | None = None


NOTHING_OWN = S5cmdSettings()


def s5cmd_settings(block: Mapping[str, str]) -> S5cmdSettings:
    """Parse the config's `s5cmd` block. Raises `BadInput` for a key or a value that s5cmd has no option for."""
    if unknown := block.keys() - {"numworkers", "concurrency", "part_size"}:
        raise BadInput(
            f"config: `{min(unknown)}` is no setting of the block `s5cmd`",
            fix="it knows numworkers, concurrency and part_size",
        )
    counts = {key: _size(key, block[key]) for key in ("numworkers", "concurrency") if key in block}
    part = _part_mib(block["part_size"]) if "part_size" in block else None
    return S5cmdSettings(numworkers=counts.get("numworkers"), concurrency=counts.get("concurrency"), part_size_mib=part)


def _part_mib(text: str) -> int:
    part, rest = divmod(_size("part_size", text), _MIB)
    if rest:
        raise BadInput(f"config: s5cmd cannot take `part_size = {text}`", "its parts are whole MiB", "write 64MB, say")
    return part


def _size(key: str, text: str) -> int:
    found = _SIZE.fullmatch(text)
    if found is None or int(found[1]) == 0 or (key in _COUNTS and not text.isdigit()):
        fix = "write a number above 0" if key in _COUNTS else "write bytes, or a size such as 8MB"
        raise BadInput(f"config: `{key} = {text}` cannot be read", fix=fix)
    return int(found[1]) << (10 * _POWERS[found[2].upper()])


def _rate(key: str, text: str) -> int:
    found = _RATE.fullmatch(text)
    if found is None or int(found[1]) == 0:
        raise BadInput(f"config: `{key} = {text}` cannot be read", fix="write a rate such as 100MB/s or 800Mb/s")
    value = int(found[1]) << (10 * _POWERS[found[2]])
    return value // 8 if found[3] == "b" else value


def driver_command(
    found: FoundClient, transfer: Transfer, endpoint: EndpointFacts, settings: dict[str, int | str], *, region: str
) -> tuple[str, ...]:
    """Make the command line of our driver, which runs boto3 or awscrt."""
    request = {
        "kind": str(found.kind),
        "endpoint_url": endpoint.url,
        "ca_bundle": str(endpoint.ca_bundle) if endpoint.ca_bundle else None,
        "region": region,
        "site": str(found.site) if found.site else None,
        "settings": settings,
        "command": {
            "verb": str(transfer.verb),
            "direction": str(transfer.direction),
            "recursive": transfer.recursive,
            "delete": transfer.delete,
            "filters": [[rule.include, rule.pattern] for rule in transfer.filters],
            "source": _place(transfer.source),
            "destination": _place(transfer.destination),
        },
    }
    return str(found.executable), str(DRIVER), json.dumps(request, separators=(",", ":"))


def _place(location: Local | S3 | None) -> dict[str, str] | None:
    if location is None:
        return None
    return {"path": location.path} if isinstance(location, Local) else {"bucket": location.bucket, "key": location.key}


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
    argv.append(_s5cmd_source(transfer))
    if transfer.destination is not None:
        argv.append(_s5cmd_destination(transfer, transfer.destination))
    return tuple(argv)


def _part_options(transfer: Transfer, settings: dict[str, int | str], own: S5cmdSettings) -> list[str]:
    options = []
    part, chunk = own.part_size_mib, settings.get("multipart_chunksize")
    if part is None and isinstance(chunk, int):
        part = max(_S5CMD_PART_MIB_MIN, -(-chunk // _MIB))
    if part is not None and part < _S5CMD_PART_MIB_MIN and transfer.direction is TransferDirection.UPLOAD:
        raise BadInput(
            f"config: s5cmd uploads no parts of {part} MiB",
            f"S3 takes {_S5CMD_PART_MIB_MIN} MiB at the least",
            "raise it",
        )
    if part is not None:
        options += ["--part-size", str(part)]
    # s5cmd has workers, each with its own concurrent parts; one file keeps one worker busy.
    derived = None if transfer.recursive else settings.get("max_concurrent_requests")
    if concurrency := own.concurrency or derived:
        options += ["--concurrency", str(concurrency)]
    return options


def _s5cmd_source(transfer: Transfer) -> str:
    source = transfer.source
    if isinstance(source, Local):
        return _folder(source.path) if transfer.recursive else source.path
    url = f"s3://{source.bucket}/{source.key}"
    return f"{_folder(url)}*" if transfer.recursive else url


def _s5cmd_destination(transfer: Transfer, destination: Local | S3) -> str:
    if isinstance(destination, Local):
        return _folder(destination.path) if transfer.recursive else destination.path
    url = f"s3://{destination.bucket}/{destination.key}"
    return _folder(url) if transfer.recursive else url


def _folder(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"
