"""Reads of what cannot be set here: access control lists and configurations, as a new bucket of S3 has them.

Since April 2023 a new bucket has access control lists disabled and blocks public access
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/create-bucket-faq.html). Tools read these before anything else.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from s3bench.s3.emulator.call import Call
from s3bench.s3.emulator.describing import acls_are_disabled
from s3bench.s3.emulator.documents import document, element, group
from s3bench.s3.emulator.lookup import find_bucket, find_version
from s3bench.s3.emulator.operation import Operation
from s3bench.s3.emulator.store import OWNER, ObjectStore
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.s3_error import S3Error

_GRANTEE = '<Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser">{}</Grantee>'
_ACL = document(
    "AccessControlPolicy",
    group("Owner", element("ID", OWNER)),
    group(
        "AccessControlList",
        group("Grant", _GRANTEE.format(element("ID", OWNER)), element("Permission", "FULL_CONTROL")),
    ),
)
_BLOCKED = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")

DEFAULTS = {
    Operation.GET_BUCKET_ACL: _ACL,
    Operation.GET_BUCKET_OWNERSHIP_CONTROLS: document(
        "OwnershipControls", group("Rule", element("ObjectOwnership", "BucketOwnerEnforced"))
    ),
    Operation.GET_PUBLIC_ACCESS_BLOCK: document(
        "PublicAccessBlockConfiguration", *(element(name, "true") for name in _BLOCKED)
    ),
}
"""The settings of a new bucket, by the operation that reads them."""


class Missing(NamedTuple):
    """The error for a configuration that is not set."""

    code: str
    message: str


UNSET = {
    Operation.GET_BUCKET_POLICY: Missing("NoSuchBucketPolicy", "The bucket policy does not exist"),
    Operation.GET_BUCKET_LIFECYCLE_CONFIGURATION: Missing(
        "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist"
    ),
    Operation.GET_BUCKET_WEBSITE: Missing(
        "NoSuchWebsiteConfiguration", "The specified bucket does not have a website configuration"
    ),
    Operation.GET_BUCKET_REPLICATION: Missing(
        "ReplicationConfigurationNotFoundError", "The replication configuration was not found"
    ),
}
"""The errors for configurations that are not set, by the operation that reads them."""


class ConfigurationOperations:
    """What can be read of a bucket's and an object's configuration."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def bucket_reads(self) -> dict[Operation, Callable[[Call], Reply]]:
        """What reads the configurations of a bucket; each raises `S3Error` where there is no such bucket."""
        return {
            **{operation: partial(self._default, body) for operation, body in DEFAULTS.items()},
            **{operation: partial(self._unset, missing) for operation, missing in UNSET.items()},
        }

    def _default(self, body: bytes, call: Call) -> Reply:
        find_bucket(self._store, call.bucket)
        return call.reply(200, (), body)

    def _unset(self, missing: Missing, call: Call) -> Reply:
        find_bucket(self._store, call.bucket)
        details = (("BucketName", call.bucket),)
        raise S3Error(status=404, code=missing.code, message=missing.message, details=details)

    def object_acl(self, call: Call) -> Reply:
        """Give the access control list that every object has."""
        find_version(find_bucket(self._store, call.bucket), call.key, call.query.get("versionId"))
        return call.reply(200, (), _ACL)

    def set_acl(self, call: Call) -> Reply:
        """Reject any access control list, as a bucket does that has them disabled."""
        bucket = find_bucket(self._store, call.bucket)
        if call.key:
            find_version(bucket, call.key, call.query.get("versionId"))
        raise acls_are_disabled()
