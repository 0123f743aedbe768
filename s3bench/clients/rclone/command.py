"""rclone's command line: a transfer and the config's blocks `s3` and `rclone`, translated. Pure.

The block `rclone` is ours: its keys are rclone's own flags, with underscores. To do the same work as the other clients,
rclone neither looks uploaded objects up again (`--s3-no-head`) nor reads the time of each object that it downloads
(`--use-server-modtime`), and makes no bucket.
"""

import posixpath
from collections.abc import Collection, Iterator, Mapping

from s3bench.clients.awsconfig import block_settings
from s3bench.clients.client import FoundClient
from s3bench.clients.environment import EndpointFacts
from s3bench.clients.launch import ClientLaunch, Invocation
from s3bench.clients.transfer_settings import transfer_settings
from s3bench.errors import BadInput
from s3bench.spec.awsconfig_value import count_of, size_of
from s3bench.spec.command import S3, Local, Transfer, TransferDirection, Verb

MIB = 1 << 20
UPLOAD_CHUNK, DOWNLOAD_CHUNK = "s3_chunk_size", "multi_thread_chunk_size"
UPLOAD_STREAMS, DOWNLOAD_STREAMS = "s3_upload_concurrency", "multi_thread_streams"
TRANSFERS = "transfers"
DEFAULTS = {UPLOAD_CHUNK: 5 * MIB, DOWNLOAD_CHUNK: 64 * MIB, UPLOAD_STREAMS: 4, DOWNLOAD_STREAMS: 4, TRANSFERS: 4}
CONFIG_KEYS = frozenset(DEFAULTS)
"""The keys of the block."""

_SIZES = frozenset({UPLOAD_CHUNK, DOWNLOAD_CHUNK})
_FIXED = (
    *("--config=", "--log-level", "ERROR", "--s3-provider", "Other", "--s3-env-auth", "--s3-list-version", "2"),
    *("--s3-no-check-bucket", "--s3-no-head", "--use-server-modtime"),
)


def invoke_rclone(launch: ClientLaunch) -> Invocation:
    """Run the transfer with the flags that the config's blocks come to."""
    transfer = launch.portable_transfer
    values = own_settings(block_settings(launch.config, "rclone"))
    settings = transfer_settings(block_settings(launch.config, "s3"))
    values = {**_derived(transfer, settings), **values}
    argv = rclone_command(launch.found, transfer, launch.endpoint, values, directories=launch.directories)
    # The certificate authority is passed by a flag; older versions of rclone fail when this variable is set.
    env = {name: value for name, value in launch.env.items() if name != "AWS_CA_BUNDLE"}
    return Invocation(argv=argv, env=env, config_text=launch.config)


def own_settings(block: Mapping[str, str]) -> dict[str, int]:
    """Parse the block `rclone`. Raises `BadInput` for a key or a value that it does not have."""
    if unknown := block.keys() - CONFIG_KEYS:
        raise BadInput(
            f"config: `{min(unknown)}` is not a setting of the block `rclone`",
            fix=f"it knows {', '.join(sorted(CONFIG_KEYS))}",
        )
    return {key: size_of(key, text) if key in _SIZES else count_of(key, text) for key, text in block.items()}


def _derived(transfer: Transfer, settings: Mapping[str, int | str]) -> dict[str, int]:
    """What the `s3` settings come to: requests at once are files at once where there are several files."""
    chunk, requests = settings.get("multipart_chunksize"), settings.get("max_concurrent_requests")
    streams = (TRANSFERS,) if transfer.recursive else (UPLOAD_STREAMS, DOWNLOAD_STREAMS)
    values = dict.fromkeys((UPLOAD_CHUNK, DOWNLOAD_CHUNK), chunk) | dict.fromkeys(streams, requests)
    return {name: value for name, value in values.items() if isinstance(value, int)}


def rclone_command(
    found: FoundClient,
    transfer: Transfer,
    endpoint: EndpointFacts,
    values: Mapping[str, int],
    *,
    directories: Collection[str] = (),
) -> tuple[str, ...]:
    """Make the rclone command line that does what `transfer` says; raises `BadInput` for what rclone cannot do.

    `directories` are those that exist before the command runs.
    """
    if transfer.filters:
        raise BadInput("rclone's patterns do not mean what aws-cli's do", fix="measure it on other `--client`s")
    argv = [str(found.executable), *_words(transfer, directories), *_FIXED, "--s3-endpoint", endpoint.url]
    if endpoint.ca_bundle:
        argv += ["--ca-cert", str(endpoint.ca_bundle)]
    if transfer.direction in {TransferDirection.UPLOAD, TransferDirection.DOWNLOAD}:
        is_upload = transfer.direction is TransferDirection.UPLOAD
        argv += flags(values, is_upload=is_upload, is_recursive=transfer.recursive)
    return tuple(argv)


def flags(values: Mapping[str, int], *, is_upload: bool, is_recursive: bool) -> tuple[str, ...]:
    """The flags of values; with parts asked for, files are in parts from the size of one part on."""
    chunk, streams = (UPLOAD_CHUNK, UPLOAD_STREAMS) if is_upload else (DOWNLOAD_CHUNK, DOWNLOAD_STREAMS)
    wanted = {name: values[name] for name in (TRANSFERS, chunk, streams) if name in values}
    if not is_recursive:
        wanted.pop(TRANSFERS, None)
    argv = [word for name, value in wanted.items() for word in (f"--{name.replace('_', '-')}", _text(name, value))]
    if wanted.keys() & {chunk, streams}:
        argv += ["--multi-thread-cutoff", size_text(cutoff_of(values, is_upload=is_upload))]
        argv += ["--s3-upload-cutoff", size_text(cutoff_of(values, is_upload=is_upload))] if is_upload else []
    return tuple(argv)


def cutoff_of(values: Mapping[str, int], *, is_upload: bool) -> int:
    """From which size files are in parts: by rclone's defaults, or where parts are asked for, from one part on."""
    chunk, streams = (UPLOAD_CHUNK, UPLOAD_STREAMS) if is_upload else (DOWNLOAD_CHUNK, DOWNLOAD_STREAMS)
    if values.keys() & {chunk, streams}:
        return values.get(chunk, DEFAULTS[chunk])
    return (200 if is_upload else 256) * MIB


def _text(name: str, value: int) -> str:
    return size_text(value) if name in _SIZES else str(value)


def size_text(size_bytes: int) -> str:
    """A size as rclone takes it: `8Mi`, or bytes."""
    return f"{size_bytes}B" if size_bytes % MIB else f"{size_bytes // MIB}Mi"


def _words(transfer: Transfer, directories: Collection[str]) -> Iterator[str]:
    yield _command(transfer, directories)
    if transfer.verb is Verb.SYNC:
        yield "--update"  # as aws-cli: what is newer at the destination stays
    elif transfer.verb is not Verb.RM:
        yield "--no-check-dest"  # `cp` neither looks at what is there nor spares it
    for location in (transfer.source, transfer.destination):
        if location is not None:
            # Without the slash rclone asks whether a file has the directory's name.
            yield _folder(_place(location)) if transfer.recursive else _place(location)


def _folder(place: str) -> str:
    return place if place.endswith("/") else f"{place}/"


def _command(transfer: Transfer, directories: Collection[str]) -> str:
    if transfer.verb is Verb.RM:
        return "delete" if transfer.recursive else "deletefile"
    if transfer.verb is Verb.SYNC:
        return "sync" if transfer.delete else "copy"
    into = transfer.recursive or (transfer.destination is not None and _is_folder(transfer.destination, directories))
    return {Verb.CP: "copy", Verb.MV: "move"}[transfer.verb] + ("" if into else "to")


def _is_folder(location: Local | S3, directories: Collection[str]) -> bool:
    """Whether a single file keeps its name there, by the rules of aws-cli."""
    if isinstance(location, S3):
        return _place(location).endswith("/")
    if posixpath.basename(location.path) in {"", "."}:
        return True
    return posixpath.normpath(location.path) in map(posixpath.normpath, directories)


def _place(location: Local | S3) -> str:
    if isinstance(location, Local):
        return location.path if location.path.startswith(("/", "./", "../")) else f"./{location.path}"
    return f":s3:{location.bucket}/{location.key}"
