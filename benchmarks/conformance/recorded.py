"""Recorded answers of Amazon S3 as a witness: scenarios played on the emulator, step by step, beside what S3 said.

Owns how recordings are read, what of an answer they leave open, and which scenarios cannot be compared. The recordings
are the snapshot files of LocalStack's tests that were validated against AWS; the requests that led to them are not
recorded, so each scenario's are written here (scenarios.toml, which conformance.written plays; conformance.scenarios
and lock_scenarios where they are code), and a scenario without them is not played. A placeholder such as
`<version-id:1>` stands for the same value everywhere in its scenario, which is compared as well.
"""

import functools
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
from conformance.session import REGION, Answer, as_document

_FILES = ("test_s3", "test_s3_api", "test_s3_cors", "test_s3_list_operations", "test_s3_preconditions")
_PLACEHOLDER = re.compile(
    r".*<[^<>]+>.*|date(time)?|(copy-)?etag|display-name|i-d|bucket|owner-id|(next-)?continuation-token", re.DOTALL
)
"""What the recorder puts in place of names, ids, times, and ETags that differ from run to run."""

_NUMBERED = re.compile(r"<(version-id|upload-id|key|next-continuation-token|delete-marker-version-id):[0-9]+>")
"""Those that stand for one value of ours, wherever they are."""

_NOT_RECORDED = frozenset({"Resource", "RequestId", "HostId", "UploadId"})
"""Elements of errors that the recorder leaves out."""

_COMPARED = re.compile(r"access-control-.*|vary|etag|accept-ranges|x-amz-(?!id-2$|request-id$).*")
"""The headers that are compared where a recording has any."""

Recording = Mapping[str, Any]
Scenario = Callable[["Player"], None]

NOT_COMPARABLE = {
    "TestS3PresignedPost*": "",
    "TestS3PresignedUrl*[[]s3]": "the emulator has Signature Version 2 in forms alone",
    "TestS3PresignedUrl*[[]s3-*": "the emulator has Signature Version 2 in forms alone",
    "TestS3PresignedUrl*_with_sig_s3[[]*": "the emulator has Signature Version 2 in forms alone",
    "TestS3PresignedUrl*_with_sig_s3": "the emulator has Signature Version 2 in forms alone",
    "*aws_global[[]us-west-1]": "the emulator is one region",
    "*[[]eu-west-1-bar]": "the emulator is one region",
    "*eu_location_constraint*": "the emulator is one region",
    "*different_location_constraint*": "the emulator is one region",
    "*create_bucket_with_existing_name*": "the emulator is one region",
    "*region_header_exists_outside_us_east_1*": "the emulator is one region",
    "*create_bucket_aws_global*": "needs the region aws-global of AWS",
    "*batch_delete_public_objects*": "the emulator has one account, and no public access",
    "*test_s3_get_object_headers": "the recording has the status or the error of each response alone",
    "*url*_expired[[]s3v4*": "the recording waits until a URL expires; test_authentication.py turns the clock by hand",
    "*x_amz_in_qs": "the emulator rejects headers in the query of a presigned request",
    "*compliance_mode*": "the recording waits until a lock ends; test_object_lock.py turns the clock by hand",
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
"""Scenarios that say nothing about what the emulator has, by patterns of their names; the first that fits is why, and
an empty reason means that they are comparable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """What came of the comparison: answers of both sides by `scenario: step`, and what was not played.

    `skipped` is by reason; `unwritten` are scenarios whose requests nobody has written yet, and `left` are such steps
    of scenarios that are played.
    """

    ours: dict[str, Answer] = field(default_factory=dict)
    recorded: dict[str, Answer] = field(default_factory=dict)
    played: list[str] = field(default_factory=list)
    skipped: dict[str, list[str]] = field(default_factory=dict)
    unwritten: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


class Player:
    """Plays one scenario: makes calls, and notes the answers of the steps that were recorded."""

    def __init__(self, client: Any, name: str, bucket: str, recording: Recording, witness: Witness) -> None:
        self.client = client
        self.bucket = bucket
        self._name = name
        self._recording = recording
        self._witness = witness
        self.known: dict[str, str] = {}
        """Our values by the placeholders that stand for them."""

    def presigner(self, signature_version: str) -> Any:
        """Give a client that presigns by `signature_version`."""
        return _client(self.client.meta.endpoint_url, signature_version)

    def recorded(self, step: str) -> Recording | None:
        """Give the recorded response of a step; `None` where there is none."""
        found = self._recording.get(step)
        return found if isinstance(found, dict) and "ResponseMetadata" in found else None

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
        self._witness.ours[name] = _answer(self._blinded(response, recorded, masked))
        self._witness.recorded[name] = _answer(recorded)
        return response

    def exchange(
        self, step: str, response: tuple[int, Mapping[str, str], bytes], *, masked: tuple[str, ...] = ()
    ) -> None:
        """Note the response to a request that was made without botocore, where it was recorded as such.

        It has a status, headers and a body.
        """
        status, headers, body = response
        recorded = self._recording.get(step)
        if not isinstance(recorded, dict):
            return
        theirs = {name: value for name, value in recorded.items() if name not in {"Headers", "StatusCode"}}
        document = as_document(body)
        ours: Any = document
        if "Body" in recorded:
            ours = {"Body": document if isinstance(recorded["Body"], dict) else body.decode()}
        given = {name.lower(): value for name, value in headers.items()}
        if "LocationHeader" in recorded:
            ours["LocationHeader"] = given.get("location")
        told = {name.lower(): value for name, value in recorded.get("Headers", {}).items()}
        name = f"{self._name}: {step}"
        for answers, status_code, fields, content in (
            (self._witness.ours, status, given, self._blinded(ours, theirs, masked)),
            (self._witness.recorded, recorded.get("StatusCode", status), told, theirs),
        ):
            answers[name] = Answer(
                status=status_code,
                headers={field: fields[field] for field in sorted(fields) if _COMPARED.fullmatch(field)}
                if told
                else {},
                body=_without_ids(content),
            )

    def _blinded(self, ours: Any, recorded: Any, masked: tuple[str, ...], name: str = "") -> Any:
        """Give our value with the recorded one in place of whatever a recording leaves open."""
        if isinstance(ours, dict) and isinstance(recorded, dict):
            if recorded.get("Body") == "" and recorded.get("ContentLength"):  # the recorder did not read it
                masked = (*masked, "Body")
            return {
                key: self._blinded(value, recorded.get(key), masked, key)
                for key, value in ours.items()
                if key in recorded or key not in masked
            }
        if isinstance(ours, list) and isinstance(recorded, list) and len(ours) == len(recorded):
            return [self._blinded(one, other, masked, name) for one, other in zip(ours, recorded, strict=True)]
        if name in masked and recorded is not None:
            return recorded
        if name == "Body" and isinstance(recorded, dict):  # the recorder parses JSON
            return json.loads(ours)
        if not isinstance(recorded, str) or _PLACEHOLDER.fullmatch(recorded) is None:
            return ours
        if _NUMBERED.fullmatch(recorded) is None or self.known.setdefault(recorded, ours) == ours:
            return recorded
        return f"{ours}, and not {self.known[recorded]} as before"


def witness(server: Server, directory: Path, scenarios: Mapping[str, Scenario]) -> Witness:
    """Play every scenario, each in a bucket of its own. Raises `OSError` where a recording cannot be read."""
    found = Witness()
    client = _client(server.url)
    for number, (name, recording) in enumerate(read_recordings(directory).items()):
        reason = why_not(name)
        if name in scenarios:
            bucket = f"recorded-{number}"
            client.create_bucket(Bucket=bucket)
            scenarios[name](Player(client, name, bucket, recording, found))
            found.played.append(name)
            found.left.extend(f"{name}: {step}" for step in recording if f"{name}: {step}" not in found.ours)
        elif reason:
            found.skipped.setdefault(reason, []).append(name)
        else:
            found.unwritten.append(name)
    return found


@functools.cache
def _client(url: str, signature_version: str | None = None) -> Any:
    return botocore.session.Session().create_client(
        "s3",
        region_name=REGION,
        endpoint_url=url,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        config=botocore.client.Config(
            retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}, signature_version=signature_version
        ),
    )


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


def _without_ids(content: Any) -> Any:
    """Give a document without what the recorder leaves out of errors; an empty element is an empty text."""
    if isinstance(content, dict):
        return {name: _without_ids(value) for name, value in content.items() if name not in {*_NOT_RECORDED, "@xmlns"}}
    return "" if content is None else content
