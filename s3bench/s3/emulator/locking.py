"""Operations of Object Lock: the configuration of a bucket, retention and legal hold of a version."""

from dataclasses import replace

from s3bench.s3.emulator.call import Call
from s3bench.s3.emulator.documents import document, element, group
from s3bench.s3.emulator.lookup import find_bucket, find_version
from s3bench.s3.emulator.members import parse_known
from s3bench.s3.emulator.object_lock import (
    Lock,
    bypasses,
    check_change,
    check_future,
    missing_configuration,
    parse_configuration,
    parse_legal_hold,
    parse_retention,
)
from s3bench.s3.emulator.store import Bucket, ObjectStore, Version, Versioning
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.s3_error import S3Error


class LockOperations:
    """What can be done to locks."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def configuration(self, call: Call) -> Reply:
        """Give the configuration of a bucket. Raises `S3Error` where it has none."""
        bucket = find_bucket(self._store, call.bucket)
        if not bucket.is_locking:
            message, details = (
                "Object Lock configuration does not exist for this bucket",
                (("BucketName", bucket.name),),
            )
            raise S3Error(status=404, code="ObjectLockConfigurationNotFoundError", message=message, details=details)
        rules = []
        if (default := bucket.default_retention) is not None:
            period = element("Mode", default.mode), element(default.unit, default.count)
            rules.append(group("Rule", group("DefaultRetention", *period)))
        return call.reply(200, (), document("ObjectLockConfiguration", element("ObjectLockEnabled", "Enabled"), *rules))

    def set_configuration(self, call: Call) -> Reply:
        """Enable locks in a bucket, and set or remove its default retention."""
        bucket = find_bucket(self._store, call.bucket)
        default = parse_configuration(parse_known(call.body, "ObjectLockConfiguration"))
        if bucket.versioning is not Versioning.ENABLED:
            message = "Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration"
            raise S3Error(status=409, code="InvalidBucketState", message=message)
        bucket.is_locking, bucket.default_retention = True, default
        return call.reply(200)

    def retention(self, call: Call) -> Reply:
        """Give the retention of a version. Raises `S3Error` where it has none."""
        retention = self._lock_of(call).retention
        if retention is None:
            raise _never_set()
        children = element("Mode", retention.mode), element("RetainUntilDate", retention.until)
        return call.reply(200, (), document("Retention", *children))

    def set_retention(self, call: Call) -> Reply:
        """Replace the retention of a version by one that is not weaker, or, with the right to, by any."""
        bucket, version = self._lockable(call)
        retention = parse_retention(parse_known(call.body, "Retention"))
        check_future(Lock(retention=retention), call.now_s, name="RetainUntilDate")
        bypass = bypasses(call.fields, is_locking=bucket.is_locking)
        check_change(version.lock, retention, call.now_s, bypass=bypass)
        return self._set(call, version, replace(version.lock or Lock(), retention=retention))

    def legal_hold(self, call: Call) -> Reply:
        """Give the legal hold of a version. Raises `S3Error` where it never had one."""
        status = self._lock_of(call).legal_hold
        if not status:
            raise _never_set()
        return call.reply(200, (), document("LegalHold", element("Status", status)))

    def set_legal_hold(self, call: Call) -> Reply:
        """Put a legal hold on a version, or end it."""
        _, version = self._lockable(call)
        status = parse_legal_hold(parse_known(call.body, "LegalHold"))
        return self._set(call, version, replace(version.lock or Lock(), legal_hold=status))

    @staticmethod
    def _set(call: Call, version: Version, lock: Lock) -> Reply:
        version.lock = lock
        version.reply = version.reply_date = None
        return call.reply(200)

    def _lock_of(self, call: Call) -> Lock:
        return self._lockable(call)[1].lock or Lock()

    def _lockable(self, call: Call) -> tuple[Bucket, Version]:
        bucket = find_bucket(self._store, call.bucket)
        if not bucket.is_locking:
            raise missing_configuration()
        return bucket, find_version(bucket, call.key, call.query.get("versionId"), method=call.head.method)


def _never_set() -> S3Error:
    message = "The specified object does not have a ObjectLock configuration"
    return S3Error(status=404, code="NoSuchObjectLockConfiguration", message=message)
