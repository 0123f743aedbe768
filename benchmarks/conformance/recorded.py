"""Recorded answers of Amazon S3 as a witness: scenarios played on the emulator, step by step, beside what S3 said.

Owns how recordings are read, what of an answer they leave open, and which scenarios cannot be compared. The recordings
are the snapshot files of LocalStack's tests that were validated against AWS; the requests that led to them are not
recorded, so each scenario's are written here (conformance.scenarios), and a scenario without them is not played.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import botocore.client
import botocore.exceptions
import botocore.session

from conformance.servers import ACCESS_KEY, SECRET_KEY, Server
from conformance.session import REGION, Answer

_FILES = ("test_s3", "test_s3_api", "test_s3_cors", "test_s3_list_operations", "test_s3_preconditions")
_PLACEHOLDER = re.compile(r".*<[^<>]+>.*|datetime|(copy-)?etag|display-name|i-d|bucket", re.DOTALL)
"""What the recorder puts in place of names, ids, times, and ETags that differ from run to run."""

_NOT_RECORDED = frozenset({"Resource", "RequestId", "HostId", "UploadId"})
"""Elements of errors that the recorder leaves out."""

Recording = Mapping[str, Any]
Scenario = Callable[["Player"], None]

NOT_COMPARABLE = {
    "*PresignedPost*": "the emulator has no browser-based uploads",
    "*website*": "the emulator has no website endpoint",
    "*[Ll]ifecycle*": "the emulator has no lifecycle configuration",
    "*lifecycle*": "the emulator has no lifecycle configuration",
    "*transition_default*": "the emulator has no lifecycle configuration",
    "*BucketLogging*": "the emulator has no bucket logging",
    "*Replication*": "the emulator has no replication",
    "*analytics*": "the emulator has no analytics configurations",
    "*intelligent_tier_config*": "the emulator has no intelligent-tiering configurations",
    "*inventory*": "the emulator has no inventory configurations",
    "*Metrics*": "the emulator has no metrics configurations",
    "*otification*": "the emulator has no event notifications",
    "*Accelerate*": "the emulator has no transfer acceleration",
    "*[Pp]olicy*": "the emulator has no bucket policies",
    "*_acl*": "the buckets have access control lists enabled; those of the emulator have them disabled",
    "*OwnershipControls*": "the emulator reads ownership controls, and does not set them",
    "*PublicAccessBlock*": "the emulator reads the public access block, and does not set it",
    "*lambda*": "needs AWS Lambda",
    "*kms_key_state*": "needs AWS KMS: the emulator has no keys that could be disabled",
    "*validate_kms_key*": "needs AWS KMS: for the emulator every well-formed key exists",
    "*anon_credentials*": "the emulator has one account, and no public access",
    "*different_user*": "the emulator has one account",
    "*between_regions*": "the emulator is one region",
    "*DeepArchive*": "the emulator has no restore",
    "*request_payer*": "the emulator has no requester-pays buckets",
    "*outposts*": "the emulator has no outposts",
}
"""Scenarios that say nothing about what the emulator has, by patterns of their names; the first that fits is why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """What came of the comparison: answers of both sides by `scenario: step`, and what was not played.

    `skipped` is by reason; `unwritten` are scenarios whose requests nobody has written yet.
    """

    ours: dict[str, Answer] = field(default_factory=dict)
    recorded: dict[str, Answer] = field(default_factory=dict)
    played: list[str] = field(default_factory=list)
    skipped: dict[str, list[str]] = field(default_factory=dict)
    unwritten: list[str] = field(default_factory=list)


class Player:
    """Plays one scenario: makes calls, and notes the answers of the steps that were recorded."""

    def __init__(self, client: Any, name: str, bucket: str, recording: Recording, witness: Witness) -> None:
        self.client = client
        self.bucket = bucket
        self._name = name
        self._recording = recording
        self._witness = witness

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Make a call that is not compared; gives its response, also where that is an error."""
        if operation != "list_buckets":
            parameters.setdefault("Bucket", self.bucket)
        response: dict[str, Any]
        try:
            response = getattr(self.client, operation)(**parameters)
        except botocore.exceptions.ClientError as error:
            response = dict(error.response)
        if "Body" in response:
            response["Body"] = response["Body"].read().decode()
        return response

    def step(self, step: str, operation: str, *, masked: tuple[str, ...] = (), **parameters: Any) -> dict[str, Any]:
        """Make a call and note its answer beside the recorded one; values called as in `masked` differ every time."""
        response = self.call(operation, **parameters)
        recorded = self._recording[step]
        if recorded.get("ServerSideEncryption", "AES256") != "AES256" or "SSECustomerAlgorithm" in recorded:
            masked = (*masked, "ETag")
        name = f"{self._name}: {step}"
        self._witness.ours[name] = _answer(_blinded(response, recorded, masked))
        self._witness.recorded[name] = _answer(recorded)
        return response


def witness(server: Server, directory: Path, scenarios: Mapping[str, Scenario]) -> Witness:
    """Play every scenario, each in a bucket of its own. Raises `OSError` where a recording cannot be read."""
    found = Witness()
    client = botocore.session.Session().create_client(
        "s3",
        region_name=REGION,
        endpoint_url=server.url,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        config=botocore.client.Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
    )
    for number, (name, recording) in enumerate(read_recordings(directory).items()):
        reason = why_not(name)
        if name in scenarios:
            bucket = f"recorded-{number}"
            client.create_bucket(Bucket=bucket)
            scenarios[name](Player(client, name, bucket, recording, found))
            found.played.append(name)
        elif reason:
            found.skipped.setdefault(reason, []).append(name)
        else:
            found.unwritten.append(name)
    return found


def read_recordings(directory: Path) -> dict[str, Recording]:
    """Read the recordings by `class::test`. Raises `OSError`."""
    recordings = {}
    for file in _FILES:
        for path, entry in json.loads((directory / f"{file}.snapshot.json").read_text()).items():
            content = entry["recorded-content"]
            if content:
                recordings[path.partition("::")[2]] = content
    return recordings


def why_not(name: str) -> str:
    """Give the reason why a scenario cannot be compared; empty where it can."""
    return next((reason for pattern, reason in NOT_COMPARABLE.items() if fnmatchcase(name, pattern)), "")


def _answer(response: Mapping[str, Any]) -> Answer:
    body = {name: value for name, value in response.items() if name != "ResponseMetadata"}
    error = {name: value for name, value in body.pop("Error", {}).items() if name not in _NOT_RECORDED}
    if error:
        body["Error"] = error
    return Answer(status=response["ResponseMetadata"]["HTTPStatusCode"], code=error.get("Code", ""), body=body)


def _blinded(ours: Any, recorded: Any, masked: tuple[str, ...], name: str = "") -> Any:
    """Give our value with the recorded one in place of whatever a recording leaves open."""
    if isinstance(ours, dict) and isinstance(recorded, dict):
        return {key: _blinded(value, recorded.get(key), masked, key) for key, value in ours.items()}
    if isinstance(ours, list) and isinstance(recorded, list) and len(ours) == len(recorded):
        return [_blinded(one, other, masked, name) for one, other in zip(ours, recorded, strict=True)]
    is_open = isinstance(recorded, str) and (_PLACEHOLDER.fullmatch(recorded) or name in masked)
    return recorded if is_open else ours
