"""The requests of the recorded scenarios of Object Lock."""

from datetime import UTC, datetime, timedelta
from typing import Any

from conformance.recorded import Player, Scenario

_BYPASS = {"BypassGovernanceRetention": True}
_PAST = datetime(2020, 1, 1, tzinfo=UTC)


def _in(days: int) -> datetime:
    return datetime.now(UTC) + timedelta(days=days)


def _retain(days: int, mode: str = "GOVERNANCE") -> dict[str, Any]:
    return {"Retention": {"Mode": mode, "RetainUntilDate": _in(days)}}


def _locked(days: int = 1) -> dict[str, Any]:
    return {"ObjectLockMode": "GOVERNANCE", "ObjectLockRetainUntilDate": _in(days)}


def _hold(status: str) -> dict[str, Any]:
    return {"LegalHold": {"Status": status}}


def _enable(play: Player) -> None:
    """Let the scenario's bucket have locks."""
    play.call("put_bucket_versioning", VersioningConfiguration={"Status": "Enabled"})
    play.call("put_object_lock_configuration", **_configuration())


def _configuration(**retention: Any) -> dict[str, Any]:
    rule = {"Rule": {"DefaultRetention": retention}} if retention else {}
    return {"ObjectLockConfiguration": {"ObjectLockEnabled": "Enabled", **rule}}


def _retention_errors(play: Player) -> None:
    regular = f"{play.bucket}-regular"
    play.call("create_bucket", Bucket=regular)
    play.call("put_object", Bucket=regular, Key="k")
    _enable(play)
    play.step("put-object-retention-no-bucket", "put_object_retention", Bucket="no-such-one", Key="k", **_retain(1))
    play.step("put-object-retention-no-key", "put_object_retention", Key="non-existing-key", **_retain(1))
    play.call("put_object", Key="k", Body=b"test")
    play.step("get-object-retention-never-set", "get_object_retention", Key="k")
    only_date = {"Retention": {"RetainUntilDate": _in(1)}}
    play.step("put-object-missing-retention-fields", "put_object_retention", Key="k", **only_date)
    play.call("put_object_retention", Key="k", **_retain(2))
    play.step("update-retention-no-bypass", "put_object_retention", Key="k", **_retain(1))
    past = {"Retention": {"Mode": "GOVERNANCE", "RetainUntilDate": _PAST}}
    play.step("update-retention-past-date", "put_object_retention", Key="k", **past, **_BYPASS)
    play.step("update-retention-bad-value", "put_object_retention", Key="k", **_retain(1, "BAD-VALUE"), **_BYPASS)
    play.step("put-object-retention-regular-bucket", "put_object_retention", Bucket=regular, Key="k", **_retain(1))
    play.step("get-object-retention-regular-bucket", "get_object_retention", Bucket=regular, Key="k")


def _copy_of_locked(play: Player, *, locked: dict[str, Any], steps: tuple[str, str, str]) -> None:
    _enable(play)
    put, head, copy = steps
    play.step(put, "put_object", Key="source", Body=b"test-source-lock", masked=("ETag", "ChecksumCRC32"), **locked)
    play.step(head, "head_object", Key="source", masked=("ETag",))
    source = {"CopySource": {"Bucket": play.bucket, "Key": "source"}}
    play.step(copy, "copy_object", Key="dest", masked=("ETag", "ChecksumCRC32"), **source)
    play.step("head-dest-key", "head_object", Key="dest", masked=("ETag",))


def _copy_retention(play: Player) -> None:
    _copy_of_locked(play, locked=_locked(), steps=("put-source-object", "head-source-object", "copy-lock"))


def _copy_legal_hold(play: Player) -> None:
    steps = ("put-object", "head-object", "copy-legal-hold")
    _copy_of_locked(play, locked={"ObjectLockLegalHoldStatus": "ON"}, steps=steps)


def _retention(play: Player) -> None:
    _enable(play)
    one, two = {"Key": "1"}, {"Key": "2"}
    first = play.step("put-obj-locked-1", "put_object", **one, Body=b"test")["VersionId"]
    play.step("put-object-retention-on-key-1", "put_object_retention", **one, **_retain(1))
    play.step("get-object-retention-on-key-1", "get_object_retention", **one)
    play.step("head-object-locked", "head_object", **one)
    play.step("delete-obj-locked", "delete_object", **one, VersionId=first)
    play.step("delete-obj-locked-bypass", "delete_object", **one, VersionId=first, **_BYPASS)
    play.step("put-obj-locked-2", "put_object", **two, Body=b"test", **_locked(2))
    play.step("update-retention-locked-object", "put_object_retention", **two, **_retain(1))
    play.step("put-object-empty-retention", "put_object_retention", **two, Retention={}, **_BYPASS)
    play.step("update-retention-object", "put_object_retention", **two, **_retain(1))


def _default_retention(play: Player) -> None:
    play.call("put_bucket_versioning", VersioningConfiguration={"Status": "Enabled"})
    default = _configuration(Mode="GOVERNANCE", Days=1)
    play.step("put-lock-config", "put_object_lock_configuration", **default)
    mask = ("ETag", "ChecksumCRC32")
    head: dict[str, Any] = {"Key": "k", "masked": (*mask, "ContentLength")}
    play.step("put-object-default", "put_object", Key="k", Body=b"test-default-lock", masked=mask)
    play.step("head-object-default", "head_object", **head)
    play.step("put-object-with-lock", "put_object", Key="k", Body=b"test-with-lock-param", masked=mask, **_locked(2))
    play.step("head-object-with-lock", "head_object", **head)
    play.step("put-object-with-lock-no-date", "put_object", Key="k", ObjectLockMode="GOVERNANCE")


def _delete_markers(play: Player) -> None:
    _enable(play)
    mask = ("ETag", "ChecksumCRC32")
    play.step("put-object-with-lock", "put_object", Key="k", Body=b"test-with-lock-param", masked=mask, **_locked())
    play.step("head-object-with-lock", "head_object", Key="k", masked=mask)
    marker = {"Key": "k", "VersionId": play.step("put-delete-marker", "delete_object", Key="k")["VersionId"]}
    play.step("put-object-retention-delete-marker", "put_object_retention", **marker, **_retain(1))
    play.step("get-object-retention-delete-marker", "get_object_retention", **marker)
    play.step("head-object-locked-delete-marker", "head_object", **marker)


def _extend(play: Player) -> None:
    _enable(play)
    mask = ("ETag", "ChecksumCRC32")
    play.step("put-object-with-lock", "put_object", Key="k", Body=b"test-with-lock-param", masked=mask, **_locked())
    play.step("head-object-with-lock", "head_object", Key="k", masked=mask)
    play.step("put-object-retention-extend", "put_object_retention", Key="k", **_retain(3))
    play.step("head-object-with-lock-extended", "head_object", Key="k", masked=mask)
    play.step("put-object-retention-reduce", "put_object_retention", Key="k", **_retain(2))


def _legal_hold(play: Player) -> None:
    _enable(play)
    play.step("put-obj", "put_object", Key="k", Body=b"test")
    play.step("get-legal-hold-unset", "get_object_legal_hold", Key="k")
    play.step("put-object-legal-hold", "put_object_legal_hold", Key="k", **_hold("ON"))
    play.step("head-object-with-legal-hold", "head_object", Key="k")
    play.step("get-legal-hold-set", "get_object_legal_hold", Key="k")
    play.step("put-object-legal-hold-off", "put_object_legal_hold", Key="k", **_hold("OFF"))


def _legal_hold_errors(play: Player) -> None:
    regular = {"Bucket": f"{play.bucket}-regular", "Key": "k"}
    play.call("create_bucket", Bucket=regular["Bucket"])
    play.call("put_object", **regular)
    _enable(play)
    on = _hold("ON")
    play.step("put-object-legal-hold-no-bucket", "put_object_legal_hold", Bucket="no-such-one", Key="k", **on)
    play.step("put-object-legal-hold-no-key", "put_object_legal_hold", Key="non-existing-key", **on)
    play.step("put-object-retention-regular-bucket", "put_object_legal_hold", **regular, **on)
    play.call("put_object", Key="k")
    play.step("put-object-retention-empty", "put_object_legal_hold", Key="k", LegalHold={})
    play.step("get-object-retention-regular-bucket", "get_object_legal_hold", **regular)


def _delete_locked(play: Player) -> None:
    _enable(play)
    place = {"Key": "test-delete-locked"}
    version = play.step("put-obj", "put_object", **place, Body=b"test")["VersionId"]
    named = {**place, "VersionId": version}
    play.step("put-object-legal-hold", "put_object_legal_hold", **place, **_hold("ON"))
    play.step("delete-object-locked", "delete_object", **named)
    play.step("delete-objects-locked", "delete_objects", Delete={"Objects": [named]})
    play.step("put-object-legal-hold-off", "put_object_legal_hold", **place, **_hold("OFF"))


def _legal_hold_with_put(play: Player) -> None:
    _enable(play)
    play.step("put-obj", "put_object", Key="k", Body=b"test", ObjectLockLegalHoldStatus="ON")
    play.step("head-object-with-legal-hold", "head_object", Key="k")
    play.step("put-object-legal-hold-off", "put_object_legal_hold", Key="k", **_hold("OFF"))


def _mode_validation(play: Player) -> None:
    _enable(play)
    step = "put-obj-locked-error-no-retain-date"
    play.step(step, "put_object", Key="k", Body=b"x", ObjectLockMode="GOVERNANCE")
    play.step("put-obj-locked-error-no-mode", "put_object", Key="k", Body=b"x", ObjectLockRetainUntilDate=_in(1))
    bad = {"Key": "k", "ObjectLockMode": "BAD-VALUE", "ObjectLockRetainUntilDate": _in(1)}
    play.step("put-obj-locked-bad-value", "put_object", **bad)
    play.step("create-mpu-locked-bad-value", "create_multipart_upload", **bad)


def _configuration_of_existing(play: Player) -> None:
    enabled = _configuration()
    play.step("get-object-lock-existing-bucket-no-config", "get_object_lock_configuration")
    play.step("put-object-lock-existing-bucket-no-versioning", "put_object_lock_configuration", **enabled)
    play.step("suspended-versioning", "put_bucket_versioning", VersioningConfiguration={"Status": "Suspended"})
    play.step("put-object-lock-existing-bucket-versioning-disabled", "put_object_lock_configuration", **enabled)
    play.step("enabled-versioning", "put_bucket_versioning", VersioningConfiguration={"Status": "Enabled"})
    play.step("put-object-lock-existing-bucket-enabled", "put_object_lock_configuration", **enabled)
    play.step("get-object-lock-existing-bucket-enabled", "get_object_lock_configuration")


def _configuration_set(play: Player) -> None:
    _enable(play)
    play.step("get-lock-config-start", "get_object_lock_configuration")
    default = _configuration(Mode="GOVERNANCE", Days=1)
    play.step("put-lock-config", "put_object_lock_configuration", **default)
    play.step("get-lock-config", "get_object_lock_configuration")
    play.step("put-lock-config-enabled", "put_object_lock_configuration", **_configuration())
    play.step("get-lock-config-only-enabled", "get_object_lock_configuration")


def _configuration_errors(play: Player) -> None:
    _enable(play)

    def put(step: str, configuration: dict[str, Any]) -> None:
        play.step(f"put-lock-config-{step}", "put_object_lock_configuration", ObjectLockConfiguration=configuration)

    put("no-enabled", {"Rule": {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 1}}})
    put("empty", {})
    put("empty-rule", {"ObjectLockEnabled": "Enabled", "Rule": {}})
    put("empty-retention", {"ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": {}}})
    put("no-days", _configuration(Mode="GOVERNANCE")["ObjectLockConfiguration"])
    put("bad-mode", _configuration(Mode="BAD-VALUE", Days=1)["ObjectLockConfiguration"])
    put("both-days-years", _configuration(Mode="GOVERNANCE", Days=1, Years=1)["ObjectLockConfiguration"])


def _versioning_of_locking(play: Player) -> None:
    _enable(play)
    suspended = {"VersioningConfiguration": {"Status": "Suspended"}}
    play.step("disable-versioning-on-locked-bucket", "put_bucket_versioning", **suspended)
    enabled = {"VersioningConfiguration": {"Status": "Enabled"}}
    play.step("enable-versioning-again-on-locked-bucket", "put_bucket_versioning", **enabled)


def _delete_without_locks(play: Player) -> None:
    play.call("put_object", Key="k")
    bypass = "delete-object-bypass-no-lock"
    play.step(bypass, "delete_object", Key="k", BypassGovernanceRetention=True)
    play.step(f"{bypass}-false", "delete_object", Key="k", BypassGovernanceRetention=False)
    several = {"Delete": {"Objects": [{"Key": "k"}]}}
    play.step("delete-objects-bypass-no-lock", "delete_objects", **several, BypassGovernanceRetention=True)


LOCK_SCENARIOS: dict[str, Scenario] = {
    "TestS3ObjectLockRetention::test_s3_object_retention_exc": _retention_errors,
    "TestS3ObjectLockRetention::test_s3_copy_object_retention_lock": _copy_retention,
    "TestS3ObjectLockRetention::test_s3_object_retention": _retention,
    "TestS3ObjectLockRetention::test_bucket_config_default_retention": _default_retention,
    "TestS3ObjectLockRetention::test_object_lock_delete_markers": _delete_markers,
    "TestS3ObjectLockRetention::test_object_lock_extend_duration": _extend,
    "TestS3ObjectLockRetention::test_s3_object_lock_mode_validation": _mode_validation,
    "TestS3ObjectLockLegalHold::test_put_get_object_legal_hold": _legal_hold,
    "TestS3ObjectLockLegalHold::test_put_object_legal_hold_exc": _legal_hold_errors,
    "TestS3ObjectLockLegalHold::test_delete_locked_object": _delete_locked,
    "TestS3ObjectLockLegalHold::test_s3_copy_object_legal_hold": _copy_legal_hold,
    "TestS3ObjectLockLegalHold::test_put_object_with_legal_hold": _legal_hold_with_put,
    "TestS3ObjectLock::test_put_object_lock_configuration_on_existing_bucket": _configuration_of_existing,
    "TestS3ObjectLock::test_get_put_object_lock_configuration": _configuration_set,
    "TestS3ObjectLock::test_put_object_lock_configuration_exc": _configuration_errors,
    "TestS3ObjectLock::test_disable_versioning_on_locked_bucket": _versioning_of_locking,
    "TestS3ObjectLock::test_delete_object_with_no_locking": _delete_without_locks,
}
"""The scenarios that can be played, by their names in the recordings."""
