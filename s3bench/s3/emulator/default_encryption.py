"""Operations on the default encryption of a bucket: that of objects whose writes do not ask for one.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-encryption.html
"""

from dataclasses import replace

from s3bench.s3.emulator.call import Call
from s3bench.s3.emulator.documents import XmlElement, document, element, group, malformed
from s3bench.s3.emulator.encryption import KMS_METHODS, Encryption
from s3bench.s3.emulator.lookup import find_bucket
from s3bench.s3.emulator.members import parse_known
from s3bench.s3.emulator.store import Bucket, ObjectStore
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.s3_error import S3Error

_AWS_KEYS = frozenset({"", "alias/aws/s3"})
"""How a default names the key that AWS manages."""


class DefaultEncryptionOperations:
    """What can be done to the default encryption of a bucket."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def default(self, call: Call) -> Reply:
        """Give the default encryption; SSE-S3 where none was set."""
        chosen = find_bucket(self._store, call.bucket).encryption or Encryption(method="AES256")
        key = (element("KMSMasterKeyID", chosen.kms_key),) if chosen.kms_key else ()
        rule = group(
            "Rule",
            group("ApplyServerSideEncryptionByDefault", element("SSEAlgorithm", chosen.method), *key),
            element("BucketKeyEnabled", "true" if chosen.bucket_key else "false"),
        )
        return call.reply(200, (), document("ServerSideEncryptionConfiguration", rule))

    def set_default(self, call: Call) -> Reply:
        """Set the default encryption; as in S3, a key is not looked up before a write needs it."""
        bucket = find_bucket(self._store, call.bucket)
        rules = list(parse_known(call.body, "ServerSideEncryptionConfiguration").all("Rule"))
        if len(rules) != 1:
            raise malformed(f"it has {len(rules)} rules")
        default = _default_of(rules[0])
        if bucket.is_directory and default is not None:
            default = _of_directory_bucket(bucket, default)
        bucket.encryption = default
        bucket.encryption_was_set = True
        return call.reply(200)

    def delete_default(self, call: Call) -> Reply:
        """Go back to SSE-S3."""
        bucket = find_bucket(self._store, call.bucket)
        bucket.encryption = None
        bucket.encryption_was_set = False
        return call.reply(204)


def _of_directory_bucket(bucket: Bucket, default: Encryption) -> Encryption:
    """Give SSE-KMS as a directory bucket has it: always with a bucket key. Raises `S3Error`.

    It has one customer managed key all its life
    (https://docs.aws.amazon.com/AmazonS3/latest/API/API_ServerSideEncryptionByDefault.html).
    """
    if default.method != "aws:kms" or default.kms_key in _AWS_KEYS:
        message = "Directory buckets support SSE-S3, and SSE-KMS with a customer managed key."
        raise S3Error(status=400, code="InvalidRequest", message=message)
    if bucket.kms_key not in {"", default.kms_key}:
        message = "The customer managed key of a directory bucket cannot be changed."
        raise S3Error(status=400, code="InvalidRequest", message=message)
    bucket.kms_key = default.kms_key
    return replace(default, bucket_key=True)


def _default_of(rule: XmlElement) -> Encryption | None:
    """Read a rule; `None` for SSE-S3. Raises `S3Error`."""
    bucket_key = rule.text("BucketKeyEnabled") or "false"
    if bucket_key not in {"true", "false"}:
        raise malformed("<BucketKeyEnabled> is neither true nor false")
    for default in rule.all("ApplyServerSideEncryptionByDefault"):
        method, key = default.need("SSEAlgorithm"), default.text("KMSMasterKeyID") or ""
        if method in KMS_METHODS:
            return Encryption(method=method, kms_key=key, bucket_key=bucket_key == "true")
        if method != "AES256":
            raise malformed("<SSEAlgorithm> is not known")
        if key:
            message = "a KMSMasterKeyID is not applicable if the default sse algorithm is not aws:kms or aws:kms:dsse"
            details = (("ArgumentName", "ApplyServerSideEncryptionByDefault"),)
            raise S3Error(status=400, code="InvalidArgument", message=message, details=details)
    return None
