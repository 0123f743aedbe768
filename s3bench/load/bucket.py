"""The bucket that a load run uses: whether it can be used, what is in it, and the removal of what a run wrote.

Owns the manners: everything of a run lies under `s3bench/RUN/`, and only what is named as a run names its objects is
removed there. Requests are boto3's, since none of them is measured.
"""

import re
import secrets
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from s3bench.clients.environment import Credentials
from s3bench.errors import BadInput, S3BenchError

ROOT = "s3bench/"

_RUN = re.compile(r"[0-9a-f]{12}")
_OURS = re.compile(r"(?:[0-9a-f]{8}/)?(?:w[0-9]+/)?[0-9]{8,18}")
_DELETE_KEYS_MAX = 1000  # of one DeleteObjects request
_CONNECT_S = 5
_READ_S = 10  # of a server that hangs; a run has ended then, and its user waits
_TRIES = 2
_NO_UPLOADS = frozenset({"NoSuchUpload", "NotImplemented"})
"""What servers answer instead of an empty list: `rclone serve s3`, and those that have no multipart uploads."""


def new_run() -> str:
    """Make up the name of a run."""
    return secrets.token_hex(6)


def root_of(run: str) -> str:
    """What every key of a run begins with. Raises `BadInput` for what is no name of a run."""
    if not _RUN.fullmatch(run):
        raise BadInput(f"{run!r} is no run", "a run is named by 12 hexadecimal digits", "take it from the run's output")
    return f"{ROOT}{run}/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What cleaning up removed, and what it left because it is not named as ours."""

    objects: int = 0
    uploads: int = 0
    strangers: tuple[str, ...] = ()

    def __str__(self) -> str:
        """In words."""
        told = f"removed {self.objects:,} objects"
        if self.uploads:
            told += f" and {self.uploads:,} unfinished uploads"
        if self.strangers:
            told += f"; left {len(self.strangers):,} objects that no run of ours wrote, such as {self.strangers[0]}"
        return told


class Bucket:
    """One bucket at an endpoint, seen through boto3."""

    def __init__(self, client: Any, name: str) -> None:
        self._client = client
        self.name = name

    @classmethod
    def at(
        cls,
        url: str,
        name: str,
        *,
        credentials: Credentials | None,
        virtual_hosts: bool = False,
        tls_verify: bool = True,
        ca_bundle: str | None = None,
    ) -> Self:
        """The bucket `name` at `url`; nothing is asked of it yet."""
        import boto3  # noqa: PLC0415 (a fifth of a second, for load runs alone)
        from botocore import UNSIGNED  # noqa: PLC0415 (as above)
        from botocore.config import Config  # noqa: PLC0415 (as above)
        from urllib3.exceptions import InsecureRequestWarning  # noqa: PLC0415 (as above)

        keys: dict[str, Any] = {"region_name": "us-east-1"}
        if credentials is not None:
            keys = {
                "region_name": credentials.region,
                "aws_access_key_id": credentials.access_key,
                "aws_secret_access_key": credentials.secret_key,
                "aws_session_token": credentials.token,
            }
        config = Config(
            s3={"addressing_style": "virtual" if virtual_hosts else "path"},
            connect_timeout=_CONNECT_S,
            read_timeout=_READ_S,
            proxies={},  # none stands between the workers and the endpoint either
            retries={"mode": "standard", "total_max_attempts": _TRIES},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            **({} if credentials is not None else {"signature_version": UNSIGNED}),
        )
        if not tls_verify:
            # The user has said so; urllib3 would say it again with every request.
            warnings.filterwarnings("ignore", category=InsecureRequestWarning)
        verify: bool | str = ca_bundle or tls_verify
        return cls(boto3.client("s3", endpoint_url=url, verify=verify, config=config, **keys), name)

    def check(self) -> None:
        """Raises `BadInput` when the bucket cannot be used."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 (as above)

        try:
            self._client.head_bucket(Bucket=self.name)
        except (BotoCoreError, ClientError, ValueError) as error:
            fix = "check the endpoint, the credentials and the bucket's name; buckets are not made by s3bench"
            raise BadInput(f"bucket {self.name!r} cannot be used", str(error), fix) from error

    def write_key_file(self, prefix: str, path: Path, *, keys_max: int) -> int:
        """List what is under `prefix` into a key file (a key and its size a line); how many there are."""
        count = 0
        with path.open("w", encoding="utf-8") as file:
            for item in self._objects(prefix):
                if count >= keys_max or "\t" in item["Key"] or "\n" in item["Key"]:
                    continue
                file.write(f"{item['Key']}\t{item['Size']}\n")
                count += 1
        return count

    def gapless(self, root: str) -> int:
        """How many objects there are below `root` that are numbered from 0 without a gap."""
        strangers: list[str] = []
        numbers = {_number_of(item["Key"]) for item in self._objects(root) if _is_ours(item["Key"], root, strangers)}
        count = 0
        while count in numbers:
            count += 1
        return count

    def remove_run(self, run: str, *, first_number: int = 0) -> Removed:
        """Remove the objects of a run, those from `first_number` on, and abort its uploads.

        Raises `S3BenchError` where the server refuses.
        """
        root = root_of(run)
        objects = uploads = 0
        strangers: list[str] = []
        ours = (
            item["Key"]
            for item in self._objects(root)
            if _is_ours(item["Key"], root, strangers) and _number_of(item["Key"]) >= first_number
        )
        for keys in _batches(ours):
            self._delete(keys)
            objects += len(keys)
        for upload in self._uploads(root):
            if _is_ours(upload["Key"], root, strangers):
                self._client.abort_multipart_upload(Bucket=self.name, **upload)
                uploads += 1
        return Removed(objects=objects, uploads=uploads, strangers=tuple(strangers))

    def _delete(self, keys: Sequence[str]) -> None:
        wanted = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
        refused = self._client.delete_objects(Bucket=self.name, Delete=wanted).get("Errors")
        if refused:
            raise S3BenchError(
                f"{len(refused)} objects could not be deleted, such as {refused[0].get('Key')}",
                f"{refused[0].get('Code')}: {refused[0].get('Message')}",
                "run the clean-up again, with credentials that may delete",
            )

    def _objects(self, prefix: str) -> Iterator[Any]:
        for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix):
            yield from page.get("Contents", ())

    def _uploads(self, prefix: str) -> Iterator[dict[str, str]]:
        from botocore.exceptions import ClientError  # noqa: PLC0415 (as above)

        pages = self._client.get_paginator("list_multipart_uploads").paginate(Bucket=self.name, Prefix=prefix)
        try:
            for page in pages:
                for item in page.get("Uploads", ()):
                    yield {"Key": item["Key"], "UploadId": item["UploadId"]}
        except ClientError as error:
            if error.response["Error"].get("Code") not in _NO_UPLOADS:
                raise


def _is_ours(key: str, root: str, strangers: list[str]) -> bool:
    if _OURS.fullmatch(key.removeprefix(root)):
        return True
    strangers.append(key)
    return False


def _number_of(key: str) -> int:
    return int(key.rpartition("/")[2])


def _batches(keys: Iterator[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for key in keys:
        batch.append(key)
        if len(batch) == _DELETE_KEYS_MAX:
            yield batch
            batch = []
    if batch:
        yield batch
