"""Object Lock: boto3 on every call, and what a lock keeps for how long.

Recorded: TestS3ObjectLockRetention, TestS3ObjectLockLegalHold and TestS3ObjectLock, at the commit of
docs/s3-behaviour.md; `benchmarks/s3_conformance.py --recorded` plays them step by step.
"""

import base64
import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from tests.s3.emulator.asking import BUCKET, NOON_S, Answer, Asker
from tests.s3.emulator.real_clients import boto3_client

LOCKING = "locking"
LATER = datetime(2999, 1, 1, tzinfo=UTC)
PROTECTED = "Access Denied because object protected by object lock."
HOUR_S = 3600
MODE, UNTIL = "x-amz-object-lock-mode", "x-amz-object-lock-retain-until-date"


@pytest.fixture(params=[False, True], ids=["stored", "discarded"])
def s3(endpoint: EmulatorEndpoint, request: pytest.FixtureRequest) -> Iterator[Any]:
    endpoint.arm(EmulatorSettings(buckets=(BUCKET,), discard=request.param))
    client = boto3_client(endpoint)
    client.create_bucket(Bucket=LOCKING, ObjectLockEnabledForBucket=True)
    yield client
    endpoint.collect()


@pytest.fixture
def asker() -> Asker:
    asker = Asker()
    assert asker.ask("PUT", bucket=LOCKING, headers={"x-amz-bucket-object-lock-enabled": "true"}).status == 200
    return asker


def test_boto3_sets_the_configuration_of_a_bucket(s3: Any) -> None:
    assert s3.get_bucket_versioning(Bucket=LOCKING)["Status"] == "Enabled"
    bare = {"ObjectLockEnabled": "Enabled"}
    assert s3.get_object_lock_configuration(Bucket=LOCKING)["ObjectLockConfiguration"] == bare
    for retention in ({"Mode": "GOVERNANCE", "Days": 2}, {"Mode": "COMPLIANCE", "Years": 1}):
        asked = {**bare, "Rule": {"DefaultRetention": retention}}
        s3.put_object_lock_configuration(Bucket=LOCKING, ObjectLockConfiguration=asked)
        assert s3.get_object_lock_configuration(Bucket=LOCKING)["ObjectLockConfiguration"] == asked
    with pytest.raises(ClientError, match="ObjectLockConfigurationNotFoundError"):
        s3.get_object_lock_configuration(Bucket=BUCKET)


def test_boto3_locks_objects_as_it_writes_them(s3: Any) -> None:
    lock = {"ObjectLockMode": "COMPLIANCE", "ObjectLockRetainUntilDate": LATER, "ObjectLockLegalHoldStatus": "ON"}
    place = {"Bucket": LOCKING, "Key": "k"}
    s3.put_object(**place, Body=b"x", **lock)
    s3.copy_object(Bucket=LOCKING, Key="copy", CopySource=place, **lock)
    upload = s3.create_multipart_upload(Bucket=LOCKING, Key="parts", **lock)
    named = {"Bucket": LOCKING, "Key": "parts", "UploadId": upload["UploadId"]}
    part = s3.upload_part(**named, PartNumber=1, Body=b"x")
    parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    s3.complete_multipart_upload(**named, MultipartUpload=parts)
    for key in ("k", "copy", "parts"):
        for read in (s3.get_object, s3.head_object):
            head = read(Bucket=LOCKING, Key=key)
            assert {name: head[name] for name in lock} == lock


def test_boto3_sets_retention_and_legal_hold_of_a_version(s3: Any) -> None:
    version = s3.put_object(Bucket=LOCKING, Key="k", Body=b"x")["VersionId"]
    place = {"Bucket": LOCKING, "Key": "k", "VersionId": version}
    assert "ObjectLockMode" not in s3.get_object(Bucket=LOCKING, Key="k")
    retention = {"Mode": "GOVERNANCE", "RetainUntilDate": LATER}
    s3.put_object_retention(**place, Retention=retention)
    assert s3.get_object_retention(**place)["Retention"] == retention
    assert s3.get_object(Bucket=LOCKING, Key="k")["ObjectLockMode"] == "GOVERNANCE"
    s3.put_object_legal_hold(**place, LegalHold={"Status": "ON"})
    assert s3.get_object_legal_hold(**place)["LegalHold"] == {"Status": "ON"}
    for bypass in ({}, {"BypassGovernanceRetention": True}):
        with pytest.raises(ClientError, match=PROTECTED):
            s3.delete_object(**place, **bypass)
        doomed = {"Objects": [{"Key": "k", "VersionId": version}]}
        [error] = s3.delete_objects(Bucket=LOCKING, Delete=doomed, **bypass)["Errors"]
        assert (error["Code"], error["Message"]) == ("AccessDenied", PROTECTED)
    s3.put_object_legal_hold(**place, LegalHold={"Status": "OFF"})
    with pytest.raises(ClientError, match=PROTECTED):
        s3.delete_object(**place)
    assert s3.delete_object(Bucket=LOCKING, Key="k")["DeleteMarker"]
    s3.delete_object(**place, BypassGovernanceRetention=True)
    with pytest.raises(ClientError, match="NoSuchVersion"):
        s3.get_object(**place)


# Time, by an emulator whose clock stands still.


def iso(offset_s: float) -> str:
    return datetime.fromtimestamp(NOON_S + offset_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def put(asker: Asker, **headers: str) -> Answer:
    md5 = base64.b64encode(hashlib.md5(b"x").digest()).decode()
    return asker.ask("PUT", "k", bucket=LOCKING, body=b"x", headers={"content-md5": md5, **headers})


def retain(asker: Asker, mode: str, offset_s: float, **headers: str) -> Answer:
    body = f"<Retention><Mode>{mode}</Mode><RetainUntilDate>{iso(offset_s)}</RetainUntilDate></Retention>"
    return asker.ask("PUT", "k", bucket=LOCKING, query={"retention": ""}, body=body.encode(), headers=headers)


def delete(asker: Asker, version_id: str, **headers: str) -> Answer:
    return asker.ask("DELETE", "k", bucket=LOCKING, query={"versionId": version_id}, headers=headers)


BYPASS = {"x-amz-bypass-governance-retention": "true"}


@pytest.mark.parametrize(("mode", "bypassed"), [("GOVERNANCE", 204), ("COMPLIANCE", 403)])
def test_a_version_is_kept_until_its_retention_ends(asker: Asker, mode: str, bypassed: int) -> None:
    version = put(asker, **{MODE: mode, UNTIL: iso(HOUR_S)}).headers["x-amz-version-id"]
    assert delete(asker, version).status == 403
    asker.now_s = NOON_S + HOUR_S - 1
    assert delete(asker, version).status == 403
    assert delete(asker, version, **BYPASS).status == bypassed
    asker.now_s = NOON_S + HOUR_S
    assert delete(asker, version).status == 204


def test_the_default_retention_counts_from_the_making_of_an_object(asker: Asker) -> None:
    default = "<DefaultRetention><Mode>GOVERNANCE</Mode><Days>1</Days></DefaultRetention>"
    body = f"<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule>{default}</Rule>"
    body += "</ObjectLockConfiguration>"
    assert asker.ask("PUT", bucket=LOCKING, query={"object-lock": ""}, body=body.encode()).status == 200
    asker.now_s = NOON_S + HOUR_S
    assert put(asker).status == 200
    assert asker.ask("HEAD", "k", bucket=LOCKING).headers[UNTIL] == iso(25 * HOUR_S).replace("Z", ".000Z")
    assert put(asker, **{MODE: "COMPLIANCE", UNTIL: iso(2 * HOUR_S)}).status == 200
    assert asker.ask("HEAD", "k", bucket=LOCKING).headers[MODE] == "COMPLIANCE"


@pytest.mark.parametrize(
    ("old", "new", "offset_s", "plain", "bypassed"),
    [
        ("GOVERNANCE", "GOVERNANCE", 2 * HOUR_S, 200, 200),
        ("GOVERNANCE", "COMPLIANCE", 2 * HOUR_S, 200, 200),
        ("GOVERNANCE", "GOVERNANCE", HOUR_S, 200, 200),
        ("GOVERNANCE", "GOVERNANCE", HOUR_S / 2, 403, 200),
        ("COMPLIANCE", "COMPLIANCE", HOUR_S, 200, 200),
        ("COMPLIANCE", "COMPLIANCE", 2 * HOUR_S, 200, 200),
        ("COMPLIANCE", "COMPLIANCE", HOUR_S / 2, 403, 403),
        ("COMPLIANCE", "GOVERNANCE", 2 * HOUR_S, 403, 403),
    ],
)
def test_a_retention_can_be_made_stronger_and_not_weaker(
    asker: Asker, old: str, new: str, offset_s: float, plain: int, bypassed: int
) -> None:
    for headers, status in (({}, plain), (BYPASS, bypassed)):
        put(asker, **{MODE: old, UNTIL: iso(HOUR_S)})
        assert retain(asker, new, offset_s, **headers).status == status


@pytest.mark.parametrize(
    ("headers", "code", "message"),
    [
        ({MODE: "GOVERNANCE", UNTIL: iso(0)}, "InvalidArgument", "The retain until date must be in the future!"),
        (
            {MODE: "GOVERNANCE", UNTIL: "tomorrow"},
            "InvalidArgument",
            "The retain until date must be provided in ISO 8601 format",
        ),
        ({"x-amz-object-lock-legal-hold": "MAYBE"}, "InvalidArgument", "Legal Hold must be either of 'ON' or 'OFF'"),
    ],
)
def test_a_write_with_a_lock_that_cannot_be_is_rejected(
    asker: Asker, headers: dict[str, str], code: str, message: str
) -> None:
    answer = put(asker, **headers)
    assert (answer.status, answer.code, answer.texts("Message")) == (400, code, [message])
    assert asker.ask("HEAD", "k", bucket=LOCKING).status == 404


def test_a_lock_needs_a_bucket_that_locks_and_a_checksum(asker: Asker) -> None:
    lock = {MODE: "GOVERNANCE", UNTIL: iso(HOUR_S)}
    elsewhere = asker.ask("PUT", "k", headers=lock)
    assert elsewhere.texts("Message") == ["Bucket is missing Object Lock Configuration"]
    unchecked = asker.ask("PUT", "k", bucket=LOCKING, headers=lock)
    assert (unchecked.status, unchecked.code) == (400, "InvalidRequest")
    assert "Content-MD5 OR x-amz-checksum-" in unchecked.texts("Message")[0]


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2024-13-01", "", "∞"])
def test_a_time_at_the_end_of_time_is_an_error_and_no_failure(asker: Asker, time: str) -> None:
    put(asker)
    body = f"<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>{time}</RetainUntilDate></Retention>"
    answer = asker.ask("PUT", "k", bucket=LOCKING, query={"retention": ""}, body=body.encode())
    assert answer.status == 400
