"""The requests of the recorded scenarios, as far as they are written: encryption and CORS.

A recording has the answers only. What was asked follows from the names of its steps and from the answers.
"""

import base64
import hashlib
from functools import partial
from typing import Any

from conformance.recorded import Player, Scenario

_KEY, _OTHER = b"1" * 32, b"2" * 32
_KMS_KEY = "11111111-2222-3333-4444-555555555555"
_MIB = 1 << 20


def _customer(key: bytes = _KEY, *, prefix: str = "SSECustomer", **changed: str) -> dict[str, Any]:
    """Give the parameters of a customer's key as they are on the wire, so that botocore changes none of them."""
    members = {
        "Algorithm": "AES256",
        "Key": base64.b64encode(key).decode(),
        "KeyMD5": base64.b64encode(hashlib.md5(key, usedforsecurity=False).digest()).decode(),
        **changed,
    }
    return {f"{prefix}{name}": value for name, value in members.items() if value}


# The MD5 of the key that the recordings were made with; ours is another one, and differs every time for them.
_MD5 = ("SSECustomerKeyMD5",)


def _put_validation_sse_c(play: Player) -> None:
    def put(step: str, **parameters: Any) -> None:
        play.step(step, "put_object", Key="k", Body=b"test_data", **parameters)

    put("put-obj-sse-c-both-encryption", ServerSideEncryption="AES256", **_customer())
    put("put-obj-sse-c-wrong-algo", **_customer(Algorithm="KMS"))
    put("put-obj-sse-c-no-algo", **_customer(Algorithm=""))
    put("put-obj-sse-c-no-key", **_customer(Key=""))
    put("put-obj-sse-c-wrong-key-size", **_customer(b"1" * 31))
    put("put-obj-sse-c-bad-md5", **_customer(KeyMD5=_customer(_OTHER)["SSECustomerKeyMD5"]))


def _retrieval_sse_c(play: Player) -> None:
    play.step("put-obj-sse-c", "put_object", masked=_MD5, Key="k", Body=b"test_data", **_customer())
    play.step("get-obj-no-sse-c", "get_object", Key="k")
    play.step("get-obj-sse-c-wrong-key", "get_object", Key="k", **_customer(_OTHER))
    wrong = _customer(Algorithm="KMS")
    play.step("get-obj-sse-c-wrong-algo", "get_object", Key="k", **wrong)
    play.step("head-obj-sse-c-wrong-algo", "head_object", Key="k", **wrong)
    play.step("get-obj-attrs-sse-c-wrong-algo", "get_object_attributes", Key="k", ObjectAttributes=["ETag"], **wrong)
    play.step("get-obj-sse-c-wrong-key-size", "get_object", Key="k", **_customer(b"1" * 31))
    mixed = _customer(KeyMD5=_customer(_OTHER)["SSECustomerKeyMD5"])
    play.step("get-obj-sse-c-bad-md5", "get_object", Key="k", **mixed)


def _copy_sse_c(play: Player) -> None:
    play.step("put-obj-sse-c", "put_object", masked=_MD5, Key="k", Body=b"test_data", **_customer())
    source = {"Bucket": play.bucket, "Key": "k"}
    own = _customer(prefix="CopySourceSSECustomer")

    def copy(step: str, **parameters: Any) -> None:
        play.step(step, "copy_object", masked=_MD5, Key="copy", CopySource=source, **parameters)

    copy("copy-obj-sse-c-target-no-sse-c", **own)
    copy("copy-obj-sse-c", **own, **_customer())
    play.step("get-obj-no-sse-c-param", "get_object", Key="copy")
    copy("copy-obj-no-src-sse-c", **_customer())
    copy("copy-obj-wrong-src-sse-c-algo", **_customer(prefix="CopySourceSSECustomer", Algorithm="KMS"))
    copy("copy-obj-wrong-target-sse-c-algo", **own, **_customer(Algorithm="KMS"))
    copy("copy-obj-target-double-encryption", **own, **_customer(), ServerSideEncryption="AES256")


def _multipart_sse_c(play: Player) -> None:
    key = {"Key": "test-sse-c-multipart"}
    upload = play.step("create-mpu-sse-c", "create_multipart_upload", masked=_MD5, **key, **_customer())
    named = {**key, "UploadId": upload["UploadId"]}
    parts = []
    for number in range(3):
        body = b"a" * (5 * _MIB + 1)
        masked = (*_MD5, "ChecksumCRC32")
        part = play.step(
            f"upload-part-{number}", "upload_part", masked=masked, **named, PartNumber=number + 1, Body=body,
            **_customer(),
        )  # fmt: skip
        parts.append({"PartNumber": number + 1, "ETag": part["ETag"]})
    play.step("list-parts", "list_parts", masked=("ETag",), **named)
    done = {"MultipartUpload": {"Parts": parts}}
    play.step("complete-multipart-checksum", "complete_multipart_upload", masked=("ETag",), **named, **done)
    play.step("get-obj-no-sse-c-param", "get_object", **key)
    play.step("get-obj-sse-c", "get_object", masked=(*_MD5, "Body"), **key, **_customer())


def _multipart_sse_c_validation(play: Player) -> None:
    key = {"Key": "test-sse-c-multipart"}
    plain = play.step("create-mpu-no-sse-c", "create_multipart_upload", **key)
    part = {**key, "PartNumber": 1, "Body": b"x"}
    with_key = {**part, "UploadId": plain["UploadId"], **_customer()}
    play.step("mpu-no-sse-c-upload-part-with-sse-c", "upload_part", **with_key)
    upload = play.step("create-mpu-sse-c", "create_multipart_upload", masked=_MD5, **key, **_customer())
    part["UploadId"] = upload["UploadId"]
    play.step("mpu-sse-c-upload-part-no-sse-c", "upload_part", **part)
    play.step("mpu-sse-c-upload-part-wrong-sse-c", "upload_part", **part, **_customer(_OTHER))


def _lifecycle_sse_c(play: Player) -> None:
    play.step("put-obj-sse-c", "put_object", masked=_MD5, Key="k", Body=b"test_data", **_customer())
    play.step("head-obj-sse-c", "head_object", masked=_MD5, Key="k", **_customer())
    play.step("get-obj-sse-c", "get_object", masked=_MD5, Key="k", ChecksumMode="ENABLED", **_customer())
    wanted = {"ObjectAttributes": ["ETag", "ObjectSize"]}
    play.step("get-obj-attrs-sse-c", "get_object_attributes", masked=("ETag",), Key="k", **wanted, **_customer())
    play.step("del-obj-sse-c", "delete_object", Key="k")


def _versions_sse_c(play: Player) -> None:
    play.call("put_bucket_versioning", VersioningConfiguration={"Status": "Enabled"})
    first = {"masked": _MD5, "Key": "k", "Body": b"version1", **_customer()}
    version = play.step("put-obj-sse-c-version-1", "put_object", **first)["VersionId"]
    last = {"masked": _MD5, "Key": "k", "Body": b"version2", **_customer(_OTHER)}
    newest = play.step("put-obj-sse-c-version-2", "put_object", **last)["VersionId"]
    read: dict[str, Any] = {"masked": _MD5, "Key": "k", "ChecksumMode": "ENABLED"}
    play.step("get-obj-sse-c-last-version", "get_object", **read, **_customer(_OTHER))
    play.step("get-obj-sse-c-version-2", "get_object", **read, VersionId=newest, **_customer(_OTHER))
    play.step("get-obj-sse-c-last-version-wrong-key", "get_object", **read, **_customer())
    play.step("get-obj-sse-c-version-1", "get_object", **read, VersionId=version, **_customer())


def _multipart_kms(play: Player) -> None:
    place = {"Key": "test-sse-field-multipart"}
    kms = {"ServerSideEncryption": "aws:kms", "BucketKeyEnabled": True}
    upload = play.step("multi-sse-create-multipart", "create_multipart_upload", **place, **kms)
    named = {**place, "UploadId": upload["UploadId"]}
    part = play.step("multi-sse-upload-part", "upload_part", **named, PartNumber=1, Body=b"test-sse")
    parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    play.step("multi-sse-compete-multipart", "complete_multipart_upload", **named, MultipartUpload=parts)
    play.step("get-obj", "get_object", **place, ChecksumMode="ENABLED")


def _copy_in_place_with_encryption(play: Player) -> None:
    place = {"Key": "k"}
    kms = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": _KMS_KEY}
    play.step("put-object-with-kms-encryption", "put_object", **place, Body=b"test", **kms, BucketKeyEnabled=True)
    play.step("head-object", "head_object", **place)
    source = {**place, "CopySource": {"Bucket": play.bucket, **place}}
    play.step("copy-object-in-place-with-sse", "copy_object", **source, ServerSideEncryption="aws:kms")
    play.step("head-copy-with-sse", "head_object", **place)
    plain = {**source, "StorageClass": "STANDARD"}
    play.step("copy-object-in-place-without-kms-sse", "copy_object", **plain)
    play.step("head-copy-without-kms-sse", "head_object", **place)
    play.step("copy-object-in-place-with-aes", "copy_object", **source, ServerSideEncryption="AES256")
    play.step("head-copy-with-aes", "head_object", **place)


def _copy_kms(play: Player) -> None:
    play.call("put_object", Key="k", Body=b"hello world")
    play.step("get-object", "get_object", Key="k", ChecksumMode="ENABLED")
    kms = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": _KMS_KEY, "BucketKeyEnabled": True}
    source = {"CopySource": {"Bucket": play.bucket, "Key": "k"}}
    play.step("copy-object", "copy_object", Key="copy", **source, **kms)
    play.step("get-copied-object", "get_object", Key="copy", ChecksumMode="ENABLED")


def _rule(method: str, *, bucket_key: bool, key: str = "") -> dict[str, Any]:
    default = {"SSEAlgorithm": method, **({"KMSMasterKeyID": key} if key else {})}
    rule = {"ApplyServerSideEncryptionByDefault": default, "BucketKeyEnabled": bucket_key}
    return {"ServerSideEncryptionConfiguration": {"Rules": [rule]}}


def _bucket_key_default(play: Player) -> None:
    plain = {"Key": "before", "Body": b"test-sse"}
    play.step("put-obj-default-before-setting", "put_object", **plain)
    play.step("get-obj-default-before-setting", "get_object", Key="before", ChecksumMode="ENABLED")
    rule = _rule("aws:kms", bucket_key=True, key=_KMS_KEY)
    play.step("put-bucket-encryption", "put_bucket_encryption", **rule)
    play.step("get-bucket-encryption", "get_bucket_encryption")
    play.step("get-obj-default-after-setting", "get_object", Key="before", ChecksumMode="ENABLED")
    play.step("put-obj-after-setting", "put_object", Key="after", Body=b"test-sse")
    play.step("get-obj-after-setting", "get_object", Key="after", ChecksumMode="ENABLED")


def _bucket_encryption_errors(play: Player) -> None:
    missing = {"Bucket": f"{play.bucket}-missing"}
    rule = _rule("AES256", bucket_key=False)
    play.step("get-bucket-enc-no-bucket", "get_bucket_encryption", **missing)
    play.step("delete-bucket-enc-no-bucket", "delete_bucket_encryption", **missing)
    play.step("put-bucket-enc-no-bucket", "put_bucket_encryption", **missing, **rule)
    for step, count in (("no-rules", 0), ("two-rules", 2)):
        rules = {"Rules": rule["ServerSideEncryptionConfiguration"]["Rules"] * count}
        name = f"put-bucket-encryption-{step}"
        play.step(name, "put_bucket_encryption", ServerSideEncryptionConfiguration=rules)
    named = _rule("AES256", bucket_key=False, key=_KMS_KEY)
    play.step("put-bucket-encryption-kms-with-aes", "put_bucket_encryption", **named)


def _bucket_encryption_default(play: Player) -> None:
    play.step("default-bucket-encryption", "get_bucket_encryption")
    play.step("delete-bucket-encryption", "delete_bucket_encryption")
    play.step("delete-bucket-encryption-idempotent", "delete_bucket_encryption")
    play.step("get-bucket-no-encryption", "get_bucket_encryption")


def _bucket_encryption(play: Player, *, method: str, key: str, managed: bool) -> None:
    bucket_key = method == "aws:kms"
    play.step("put-bucket-enc", "put_bucket_encryption", **_rule(method, bucket_key=bucket_key, key=key))
    if bucket_key:
        play.step("get-bucket-enc", "get_bucket_encryption")
    put: dict[str, Any] = {"Key": "k", "Body": b"test-encrypted"}
    play.step("put-object-encrypted", "put_object", **put)
    play.step("head-object-encrypted", "head_object", Key="k")
    play.step("get-object-encrypted", "get_object", Key="k", ChecksumMode="ENABLED")
    if bucket_key and not managed:
        disabled = _rule(method, bucket_key=False, key=key)
        play.step("put-bucket-enc-bucket-key-disabled", "put_bucket_encryption", **disabled)
        play.step("put-object-encrypted-bucket-key-disabled", "put_object", **put)


def _cors(*methods: str, origins: tuple[str, ...] = ("*",), **more: Any) -> dict[str, Any]:
    rule = {"AllowedMethods": list(methods), "AllowedOrigins": list(origins), **more}
    return {"CORSConfiguration": {"CORSRules": [rule]}}


def _get_cors(play: Player) -> None:
    play.step("get-cors-no-set", "get_bucket_cors")
    play.call("put_bucket_cors", **_cors("GET"))
    play.step("get-cors-after-set", "get_bucket_cors")


def _put_cors(play: Player) -> None:
    origins = ("https://test.com", "https://app.test.com", "http://test.com:80")
    headers = ["x-amz-expected-bucket-owner", "x-amz-server-side-encryption-customer-algorithm"]
    rules = _cors("GET", "PUT", "HEAD", origins=origins, AllowedHeaders=headers, MaxAgeSeconds=3000)
    play.step("put-cors", "put_bucket_cors", **rules)
    play.step("get-cors", "get_bucket_cors")


def _put_cors_errors(play: Player) -> None:
    play.step("put-cors-exc", "put_bucket_cors", **_cors("MYMETHOD"))
    play.step("put-cors-exc-empty", "put_bucket_cors", CORSConfiguration={"CORSRules": []})


def _put_cors_empty_origin(play: Player) -> None:
    play.call("put_bucket_cors", **_cors("GET", "PUT", "HEAD", origins=("",)))
    play.step("get-cors-empty", "get_bucket_cors")


def _delete_cors(play: Player) -> None:
    play.step("delete-cors-before-set", "delete_bucket_cors")
    play.step("put-cors", "put_bucket_cors", **_cors("GET"))
    play.step("get-cors", "get_bucket_cors")
    play.step("delete-cors", "delete_bucket_cors")
    play.step("get-cors-deleted", "get_bucket_cors")


SCENARIOS: dict[str, Scenario] = {
    "TestS3SSECEncryption::test_put_object_validation_sse_c": _put_validation_sse_c,
    "TestS3SSECEncryption::test_object_retrieval_sse_c": _retrieval_sse_c,
    "TestS3SSECEncryption::test_copy_object_with_sse_c": _copy_sse_c,
    "TestS3SSECEncryption::test_multipart_upload_sse_c": _multipart_sse_c,
    "TestS3SSECEncryption::test_multipart_upload_sse_c_validation": _multipart_sse_c_validation,
    "TestS3SSECEncryption::test_put_object_lifecycle_with_sse_c": _lifecycle_sse_c,
    "TestS3SSECEncryption::test_sse_c_with_versioning": _versions_sse_c,
    "TestS3::test_s3_multipart_upload_sse": _multipart_kms,
    "TestS3::test_s3_copy_object_in_place_with_encryption": _copy_in_place_with_encryption,
    "TestS3::test_copy_object_kms": _copy_kms,
    "TestS3::test_s3_sse_bucket_key_default": _bucket_key_default,
    "TestS3BucketEncryption::test_s3_default_bucket_encryption": _bucket_encryption_default,
    "TestS3BucketEncryption::test_s3_default_bucket_encryption_exc": _bucket_encryption_errors,
    "TestS3BucketEncryption::test_s3_bucket_encryption_sse_s3": partial(
        _bucket_encryption, method="AES256", key="", managed=True
    ),
    "TestS3BucketEncryption::test_s3_bucket_encryption_sse_kms_aws_managed_key": partial(
        _bucket_encryption, method="aws:kms", key="", managed=True
    ),
    "TestS3BucketEncryption::test_s3_bucket_encryption_sse_kms": partial(
        _bucket_encryption, method="aws:kms", key=_KMS_KEY, managed=False
    ),
    "TestS3Cors::test_get_cors": _get_cors,
    "TestS3Cors::test_put_cors": _put_cors,
    "TestS3Cors::test_put_cors_invalid_rules": _put_cors_errors,
    "TestS3Cors::test_put_cors_empty_origin": _put_cors_empty_origin,
    "TestS3Cors::test_delete_cors": _delete_cors,
}
"""The scenarios that can be played, by their names in the recordings."""
