"""A real S3 as endpoint: prepares the objects a benchmark needs, and removes what the run made.

Everything happens under one prefix of our own, `s3bench/RUN/`, in the given bucket; nothing else there is listed, read
or deleted. Objects that a command only reads stay there for the next iteration, as long as
the listing shows them as they were uploaded.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from s3bench.clients.environment import EndpointFacts, own_credentials
from s3bench.errors import BadInput
from s3bench.run.prefix import Prefix
from s3bench.s3.network.model import NetworkModel
from s3bench.s3.wirelog import WireLog
from s3bench.spec.command import TransferDirection, Verb, parse_transfer
from s3bench.spec.definition import Definition, Response
from s3bench.spec.remote import RemoteObject, moved_under, remote_objects

_READING = frozenset({Verb.CP, Verb.SYNC})


class _Shown(NamedTuple):
    """What a listing tells of an object; every upload of other bytes changes it."""

    size_bytes: int
    etag: str


class _Stamp(NamedTuple):
    """Equal as long as a fixture is the same file."""

    path: str
    inode: int
    size_bytes: int
    modified_ns: int

    @classmethod
    def of(cls, file: Path) -> "_Stamp":
        facts = file.stat()
        return cls(str(file), facts.st_ino, facts.st_size, facts.st_mtime_ns)


class LiveEndpoint:
    """The S3 at `url`, used under a prefix of our own in `bucket`; a context manager that cleans up behind itself."""

    def __init__(self, url: str, *, bucket: str) -> None:
        self.script: Path | None = None
        self.network: NetworkModel | None = None
        self.facts = EndpointFacts(url=url, live=True)
        self.prefix = f"s3bench/{secrets.token_hex(6)}"
        self._bucket = bucket
        self._client: Any = None
        self._objects: tuple[RemoteObject, ...] = ()
        self._only_reads = False
        self._known: dict[str, tuple[_Stamp, _Shown]] = {}  # objects that we uploaded, by key
        self.secrets: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        """Connect. Raises `BadInput` when the bucket cannot be used with the user's own credentials."""
        self.connect()
        return self

    def connect(self) -> None:
        """Check that the bucket can be used. Raises `BadInput`."""
        import boto3  # noqa: PLC0415 (a fifth of a second, for live endpoints alone)
        from botocore.config import Config  # noqa: PLC0415 (as above)
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 (as above)

        keys = own_credentials()
        self.secrets = tuple(filter(None, (keys.access_key, keys.secret_key, keys.token)))
        try:
            self._client = boto3.client(
                "s3",
                endpoint_url=self.facts.url,
                region_name=keys.region,
                aws_access_key_id=keys.access_key,
                aws_secret_access_key=keys.secret_key,
                aws_session_token=keys.token,
                config=Config(s3={"addressing_style": "path"}),
            )
            self._client.head_bucket(Bucket=self._bucket)
        except (BotoCoreError, ClientError, ValueError) as error:
            raise BadInput(
                f"bucket {self._bucket!r} at {self.facts.url} cannot be used",
                str(error),
                "check --endpoint-url and --bucket",
            ) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove(dict(self._listing()))

    def adapted(self, definition: Definition) -> Definition:
        """The definition under our prefix. Raises `BadInput` for a command that would act outside it."""
        transfer = parse_transfer(definition.command)
        if transfer is None:
            raise BadInput(
                f"`{' '.join(definition.command)}` is not run on a live endpoint",
                "only `s3 cp`, `mv`, `sync` and `rm` stay under s3bench's own prefix",
                "run it against the stub",
            )
        self._objects = remote_objects(definition)
        self._only_reads = transfer.direction is TransferDirection.DOWNLOAD and transfer.verb in _READING
        return moved_under(definition, bucket=self._bucket, prefix=self.prefix)

    def arm(self, responses: tuple[Response, ...], *, workspace: Path, verify: bool) -> None:
        """Make the bucket as the benchmark expects it: its own objects there, nothing else under the prefix.

        Objects of the last iteration stay where the command can only have read them, the fixtures behind them are the
        same files, and the listing shows them with the size and the ETag that they had when they were uploaded.
        """
        del responses, verify  # a real S3 answers by itself
        files = {f"{self.prefix}/{item.key}": workspace / item.file for item in self._objects}
        stamps = {key: _Stamp.of(file) for key, file in files.items()}
        listed = dict(self._listing())
        known = self._known if self._only_reads else {}
        whole = {key for key, stamp in stamps.items() if key in known and known[key] == (stamp, listed.get(key))}
        self._remove(listed.keys() - whole)
        for key in [key for key in files if key not in whole]:
            self._below().upload(files[key], key)
        if self._only_reads and files.keys() != whole:
            self._known = {key: (stamps[key], shown) for key, shown in self._listing() if key in stamps}

    def collect(self, meanwhile: Callable[[], object]) -> WireLog | None:
        """Nobody looked."""
        meanwhile()
        return None

    def served(self) -> dict[str, str]:
        """The objects that were there to be downloaded: path to fixture file."""
        return {f"/{self._bucket}/{self.prefix}/{item.key}": item.file for item in self._objects}

    def _remove(self, keys: Iterable[str]) -> None:
        """Remove `keys` and the parts of every upload that was not finished."""
        below = self._below()
        below.delete(keys)
        for upload in below.uploads():
            below.abort(upload)

    def _listing(self) -> Iterator[tuple[str, _Shown]]:
        """Everything under our prefix."""
        for item in self._below().objects():
            yield item.key, _Shown(item.size_bytes, item.etag)

    def _below(self) -> Prefix:
        return Prefix(self._client, self._bucket, f"{self.prefix}/")
