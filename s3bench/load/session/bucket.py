"""The bucket of a load run: checks it, lists it, and removes what a run wrote.

All objects of a run are under `s3bench/RUN/`, and only keys of the form that a run gives its objects are removed there.
Requests are boto3's, since none of them is measured; `s3bench.run.prefix` checks the answers.
"""

import re
import secrets
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from s3bench.clients.environment import Credentials
from s3bench.errors import BadInput, S3BenchError
from s3bench.run.prefix import Prefix

ROOT = "s3bench/"

_RUN = re.compile(r"[0-9a-f]{12}")
_OF_A_DATA_SET = re.compile(r"(?:w[0-9]+/)?([0-9]{8}|[1-9][0-9]{8,18})")  # below a data set's root, as `objects` names
_OF_A_RUN = re.compile(r"[0-9a-f]{8}/" + _OF_A_DATA_SET.pattern)  # below a run's root, as `DataSet.of` names
_CONNECT_S = 5
_READ_S = 10  # of a server that hangs; a run has ended then, and its user waits
_TRIES = 2
_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"  # the server answers; the user's --ca-bundle does not have its authority


def new_run() -> str:
    """Make a random run ID."""
    return secrets.token_hex(6)


def root_of(run: str) -> str:
    """The prefix of all keys of a run. Raises `BadInput` for an invalid run ID."""
    if not _RUN.fullmatch(run):
        raise BadInput(
            f"{run!r} is not a run ID", "a run ID has 12 hexadecimal digits", "copy it from the output of the run"
        )
    return f"{ROOT}{run}/"


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUpResult:
    """What cleaning up removed, and the keys that it left because they are not named as those of a run."""

    objects: int = 0
    uploads: int = 0
    foreign: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Describe it in a sentence."""
        words = f"removed {self.objects:,} objects"
        if self.uploads:
            words += f" and {self.uploads:,} unfinished uploads"
        if self.foreign:
            words += f"; left {len(self.foreign):,} objects that s3bench did not write, for example {self.foreign[0]}"
        return words


class LiveBucket:
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
        """Raises `BadInput` when the bucket cannot be used, and `S3BenchError` when the endpoint does not answer."""
        from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError  # noqa: PLC0415 (as above)
        from botocore.exceptions import ConnectionError as NoConnection  # noqa: PLC0415 (as above)

        what = f"bucket {self.name!r} cannot be used at {self._client.meta.endpoint_url}"
        try:
            self._client.head_bucket(Bucket=self.name)
        except (BotoCoreError, ClientError, ValueError) as error:
            why = str(error)
            if isinstance(error, NoConnection | HTTPClientError) and _UNTRUSTED not in why:
                fix = "check that the server runs, its port, and whether it has http:// or https://"
                raise S3BenchError(what, why, fix) from error
            fix = "check the endpoint, the credentials and the bucket's name; buckets are not made by s3bench"
            raise BadInput(what, why, fix) from error

    def write_key_file(self, prefix: str, path: Path, *, keys_max: int) -> int:
        """List what is under `prefix` into a key file (a key and its size per line); returns their number."""
        count = 0
        with path.open("w", encoding="utf-8") as file:
            for item in self._below(prefix).objects():
                if "\t" in item.key or "\n" in item.key:
                    continue
                file.write(f"{item.key}\t{item.size_bytes}\n")
                count += 1
                if count == keys_max:
                    break
        return count

    def gapless(self, root: str) -> int:
        """The number of objects below `root` that are numbered from 0 without a gap."""
        numbers = {_number_of(item.key, root, _OF_A_DATA_SET) for item in self._below(root).objects()}
        count = 0
        while count in numbers:
            count += 1
        return count

    def remove_run(self, run: str) -> CleanUpResult:
        """Remove the objects of a run, and abort its uploads.

        Raises `S3BenchError` if the server rejects a request, or if its responses cannot be right.
        """
        root = root_of(run)
        below = self._below(root)
        foreign: list[str] = []

        def ours() -> Iterator[str]:
            for item in below.objects():
                if _number_of(item.key, root, _OF_A_RUN) is None:
                    foreign.append(item.key)
                else:
                    yield item.key

        objects = below.delete(ours())
        uploads = 0
        for upload in below.uploads():
            if _number_of(upload.key, root, _OF_A_RUN) is None:
                foreign.append(upload.key)
            else:
                below.abort(upload)
                uploads += 1
        return CleanUpResult(objects=objects, uploads=uploads, foreign=tuple(foreign))

    def _below(self, prefix: str) -> Prefix:
        return Prefix(self._client, self.name, prefix)


def _number_of(key: str, root: str, form: re.Pattern[str]) -> int | None:
    """The number of an object of a run; `None` for a key that does not begin with `root` or has another form."""
    if not key.startswith(root):
        return None
    match = form.fullmatch(key, len(root))
    return int(match[1]) if match else None
