"""Encryption as clients see it: boto3 on every operation, and the errors that were recorded of S3.

Recorded: TestS3SSECEncryption, TestS3BucketEncryption and the tests of LocalStack's test_s3 that have sse, kms or
encryption in their names, at the commit of docs/s3-behaviour.md.
"""

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from tests.s3.emulator.asking import BUCKET, Answer, Asker
from tests.s3.emulator.real_clients import boto3_client

MIB = 1 << 20
KEY, OTHER = b"1" * 32, b"2" * 32
UUID = "11111111-2222-3333-4444-555555555555"
ARN = f"arn:aws:kms:us-east-1:111122223333:key/{UUID}"
OWN_ARN = f"arn:aws:kms:us-east-1:000000000000:key/{UUID}"
SSE = "x-amz-server-side-encryption"
KMS_NEEDED = (
    "Server Side Encryption with AWS KMS managed key requires HTTP header x-amz-server-side-encryption : aws:kms"
)
STORED = (
    "The object was stored using a form of Server Side Encryption. The correct parameters must be provided to retrieve "
    "the object."
)
MUST_PROVIDE = "Requests specifying Server Side Encryption with Customer provided keys must provide"
NOT_A_MAP = (
    f"The header '{SSE}-context' shall be Base64-encoded UTF-8 string holding JSON which represents a string-string map"
)
NOT_THE_MD5 = "The calculated MD5 hash of the key did not match the hash that was provided."


@pytest.fixture(params=[False, True], ids=["stored", "discarded"])
def s3(endpoint: EmulatorEndpoint, request: pytest.FixtureRequest) -> Iterator[Any]:
    endpoint.arm(EmulatorSettings(buckets=(BUCKET,), discard=request.param))
    yield boto3_client(endpoint)
    endpoint.collect()


@pytest.fixture
def asker() -> Asker:
    return Asker()


def md5_of(key: bytes) -> str:
    return base64.b64encode(hashlib.md5(key).digest()).decode()


def customer(key: bytes = KEY, *, prefix: str = "SSECustomer") -> dict[str, Any]:
    return {f"{prefix}Algorithm": "AES256", f"{prefix}Key": key}


def customer_headers(key: bytes = KEY, *, prefix: str = "x-amz-") -> dict[str, str]:
    name = f"{prefix}server-side-encryption-customer-"
    return {
        f"{name}algorithm": "AES256", f"{name}key": base64.b64encode(key).decode(), f"{name}key-md5": md5_of(key),
    }  # fmt: skip


def without(headers: dict[str, str], ending: str) -> dict[str, str]:
    return {name: value for name, value in headers.items() if not name.endswith(ending)}


def shown(answer: dict[str, Any]) -> dict[str, Any]:
    """What a response says about encryption."""
    names = ("ServerSideEncryption", "SSEKMSKeyId", "BucketKeyEnabled", "SSEKMSEncryptionContext")
    return {name: answer[name] for name in (*names, "SSECustomerAlgorithm", "SSECustomerKeyMD5") if name in answer}


def error_of(answer: Answer) -> tuple[int, str, str]:
    return answer.status, answer.code, answer.tree.findtext("Message") or ""


WITH_CUSTOMER_KEY = {"SSECustomerAlgorithm": "AES256", "SSECustomerKeyMD5": md5_of(KEY)}
CONTEXT = base64.b64encode(json.dumps({"team": "a"}).encode()).decode()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"ServerSideEncryption": "AES256"}, {"ServerSideEncryption": "AES256"}),
        (
            {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": ARN, "BucketKeyEnabled": True},
            {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": ARN, "BucketKeyEnabled": True},
        ),
        (
            {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": UUID, "BucketKeyEnabled": False},
            {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": OWN_ARN},
        ),
        (
            {"ServerSideEncryption": "aws:kms:dsse", "SSEKMSKeyId": ARN},
            {"ServerSideEncryption": "aws:kms:dsse", "SSEKMSKeyId": ARN},
        ),
    ],
    ids=["sse-s3", "sse-kms-bucket-key", "sse-kms-key-id", "dsse-kms"],
)
def test_boto3_gets_back_what_it_asked_for(s3: Any, asked: dict[str, Any], told: dict[str, Any]) -> None:
    place = {"Bucket": BUCKET, "Key": "k"}
    assert shown(s3.put_object(**place, Body=b"data", **asked)) == told
    assert shown(s3.get_object(**place)) == told
    assert shown(s3.head_object(**place)) == told
    copied = s3.copy_object(Bucket=BUCKET, Key="copy", CopySource=place, **asked)
    assert shown(copied) == told
    assert shown(s3.copy_object(Bucket=BUCKET, Key="plain", CopySource=place)) == {"ServerSideEncryption": "AES256"}
    upload = s3.create_multipart_upload(**place, **asked)
    assert shown(upload) == told
    named = {**place, "UploadId": upload["UploadId"]}
    etags = []
    part = s3.upload_part(**named, PartNumber=1, Body=b"x" * 5 * MIB)
    assert shown(part) == told
    etags.append(part["ETag"])
    part = s3.upload_part_copy(**named, PartNumber=2, CopySource={"Bucket": BUCKET, "Key": "plain"})
    assert shown(part) == told
    etags.append(part["CopyPartResult"]["ETag"])
    parts = [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(etags, 1)]
    assert shown(s3.complete_multipart_upload(**named, MultipartUpload={"Parts": parts})) == told
    assert shown(s3.head_object(**place)) == told


def test_boto3_repeats_the_key_of_a_customer_on_every_operation(s3: Any) -> None:
    place, source = {"Bucket": BUCKET, "Key": "k"}, {"Bucket": BUCKET, "Key": "k"}
    assert shown(s3.put_object(**place, Body=b"data", **customer())) == WITH_CUSTOMER_KEY
    assert shown(s3.get_object(**place, **customer())) == WITH_CUSTOMER_KEY
    assert shown(s3.head_object(**place, **customer())) == WITH_CUSTOMER_KEY
    # botocore encodes the key and adds its MD5 by itself, but not for these two operations
    encoded = {**WITH_CUSTOMER_KEY, "SSECustomerKey": base64.b64encode(KEY).decode()}
    attributes = s3.get_object_attributes(**place, **encoded, ObjectAttributes=["ObjectSize"])
    assert attributes["ObjectSize"] == 4
    with_source = {"CopySource": source, **customer(prefix="CopySourceSSECustomer")}
    assert shown(s3.copy_object(Bucket=BUCKET, Key="plain", **with_source)) == {"ServerSideEncryption": "AES256"}
    copied = s3.copy_object(Bucket=BUCKET, Key="other", **with_source, **customer(OTHER))
    assert shown(copied) == {"SSECustomerAlgorithm": "AES256", "SSECustomerKeyMD5": md5_of(OTHER)}
    assert s3.get_object(Bucket=BUCKET, Key="plain")["ContentLength"] == 4
    with pytest.raises(ClientError) as raised:
        s3.get_object(**place, **customer(OTHER))
    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    with pytest.raises(ClientError) as raised:
        s3.head_object(**place)
    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    upload = s3.create_multipart_upload(**place, **customer())
    assert shown(upload) == WITH_CUSTOMER_KEY
    named = {**place, "UploadId": upload["UploadId"]}
    first = s3.upload_part(**named, PartNumber=1, Body=b"x" * 5 * MIB, **customer())
    assert shown(first) == WITH_CUSTOMER_KEY
    second = s3.upload_part_copy(**named, PartNumber=2, **with_source, **customer())
    assert shown(second) == WITH_CUSTOMER_KEY
    assert [part["PartNumber"] for part in s3.list_parts(**named, **encoded)["Parts"]] == [1, 2]
    etags = [first["ETag"], second["CopyPartResult"]["ETag"]]
    parts = [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(etags, 1)]
    done = s3.complete_multipart_upload(**named, MultipartUpload={"Parts": parts}, **customer())
    assert shown(done) == {}
    assert "ChecksumCRC64NVME" not in done
    assert s3.get_object(**place, **customer())["ContentLength"] == 5 * MIB + 4


def test_boto3_sets_the_default_encryption_of_a_bucket(s3: Any) -> None:
    def default() -> dict[str, Any]:
        configuration = s3.get_bucket_encryption(Bucket=BUCKET)["ServerSideEncryptionConfiguration"]
        [rule] = configuration["Rules"]
        chosen: dict[str, Any] = rule
        return chosen

    def put(**more: Any) -> dict[str, Any]:
        return shown(s3.put_object(Bucket=BUCKET, Key="k", Body=b"test-sse", **more))

    plain = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}, "BucketKeyEnabled": False}
    assert default() == plain
    rule = {
        "ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": UUID},
        "BucketKeyEnabled": True,
    }
    s3.put_bucket_encryption(Bucket=BUCKET, ServerSideEncryptionConfiguration={"Rules": [rule]})
    assert default() == rule
    told = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": OWN_ARN, "BucketKeyEnabled": True}
    assert put() == told
    assert shown(s3.get_object(Bucket=BUCKET, Key="k")) == told
    assert shown(s3.create_multipart_upload(Bucket=BUCKET, Key="k")) == told
    assert put(BucketKeyEnabled=False) == {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": OWN_ARN}
    assert put(ServerSideEncryption="AES256") == {"ServerSideEncryption": "AES256"}
    assert put(**customer()) == WITH_CUSTOMER_KEY
    s3.delete_bucket_encryption(Bucket=BUCKET)
    assert default() == plain
    assert put() == {"ServerSideEncryption": "AES256"}


def test_the_encryption_context_is_returned_by_the_write_alone(asker: Asker) -> None:
    headers = {SSE: "aws:kms", f"{SSE}-context": CONTEXT}
    assert asker.ask("PUT", "k", headers=headers).headers[f"{SSE}-context"] == CONTEXT
    assert f"{SSE}-context" not in asker.ask("GET", "k").headers


def test_the_key_of_aws_stands_in_where_none_is_named_and_for_its_alias(asker: Asker) -> None:
    name = f"{SSE}-aws-kms-key-id"
    unnamed = asker.ask("PUT", "k", headers={SSE: "aws:kms"}).headers[name]
    assert unnamed.startswith("arn:aws:kms:us-east-1:000000000000:key/")
    by_alias = asker.ask("PUT", "k", headers={SSE: "aws:kms", name: "alias/aws/s3"}).headers[name]
    assert by_alias == unnamed
    other = asker.ask("PUT", "k", headers={SSE: "aws:kms", name: "alias/mine"}).headers[name]
    assert other != unnamed


@pytest.mark.parametrize("headers", [{SSE: "aws:kms"}, {SSE: "aws:kms:dsse"}, customer_headers()])
@pytest.mark.parametrize("md5_always", [False, True])
def test_an_etag_is_no_md5_where_a_key_encrypts(headers: dict[str, str], *, md5_always: bool) -> None:
    asker = Asker(md5_always=md5_always)
    etag = asker.ask("PUT", "k", body=b"test", headers=headers).headers["etag"].strip('"')
    assert len(etag) == 32
    assert etag != hashlib.md5(b"test").hexdigest()


def test_a_copy_without_a_key_has_the_md5_again(asker: Asker) -> None:
    # TestS3::test_s3_copy_object_in_place_with_encryption, TestS3SSECEncryption::test_copy_object_with_sse_c
    asker.ask("PUT", "k", body=b"test", headers=customer_headers())
    source = {"x-amz-copy-source": f"{BUCKET}/k", **customer_headers(prefix="x-amz-copy-source-")}
    assert asker.ask("PUT", "copy", headers=source).texts("ETag") == [f'"{hashlib.md5(b"test").hexdigest()}"']


def test_a_copy_onto_itself_may_change_the_encryption(asker: Asker) -> None:
    # TestS3::test_s3_copy_object_in_place_with_encryption
    asker.ask("PUT", "k", body=b"test")
    source = {"x-amz-copy-source": f"{BUCKET}/k"}
    assert asker.ask("PUT", "k", headers=source).code == "InvalidRequest"
    for headers in ({SSE: "aws:kms"}, {SSE: "AES256"}, customer_headers()):
        assert asker.ask("PUT", "k", headers={**source, **headers}).status == 200


def test_tags_leave_the_encryption_as_it_was(asker: Asker) -> None:
    asker.ask("PUT", "k", headers={SSE: "aws:kms"})
    tags = b"<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>"
    asker.ask("PUT", "k", query={"tagging": ""}, body=tags)
    assert asker.ask("GET", "k").headers[SSE] == "aws:kms"


def test_the_right_key_is_needed_after_a_read_with_it(asker: Asker) -> None:
    asker.ask("PUT", "k", body=b"x" * 10_000, headers=customer_headers())
    for _ in range(2):
        assert asker.ask("GET", "k", headers=customer_headers()).status == 200
        assert error_of(asker.ask("GET", "k")) == (400, "InvalidRequest", STORED)


@pytest.mark.parametrize("method", ["PUT", "GET"])
@pytest.mark.parametrize(
    ("headers", "code", "message"),
    [
        (
            customer_headers() | {f"{SSE}-customer-algorithm": "KMS"},
            "InvalidEncryptionAlgorithmError",
            "The Encryption request you specified is not valid. Supported value: AES256.",
        ),
        (
            without(customer_headers(), "algorithm"),
            "InvalidArgument",
            f"{MUST_PROVIDE} a valid encryption algorithm.",
        ),
        (without(customer_headers(), "key"), "InvalidArgument", f"{MUST_PROVIDE} an appropriate secret key."),
        (
            without(customer_headers(), "md5"),
            "InvalidArgument",
            f"{MUST_PROVIDE} the client calculated MD5 of the secret key.",
        ),
        (
            customer_headers(b"1" * 31),
            "InvalidArgument",
            "The secret key was invalid for the specified algorithm.",
        ),
        (customer_headers() | {f"{SSE}-customer-key-md5": md5_of(OTHER)}, "InvalidArgument", NOT_THE_MD5),
        (customer_headers() | {f"{SSE}-customer-key-md5": "x"}, "InvalidArgument", NOT_THE_MD5),
    ],
)  # fmt: skip
def test_the_headers_of_a_customers_key_are_checked(
    asker: Asker, method: str, headers: dict[str, str], code: str, message: str
) -> None:
    # TestS3SSECEncryption::test_put_object_validation_sse_c, test_object_retrieval_sse_c; a missing MD5 is open
    asker.ask("PUT", "k", headers=customer_headers())
    answer = asker.ask(method, "k", headers=headers)
    assert error_of(answer) == (400, code, message)
    assert answer.texts("ArgumentName") == [SSE]


@pytest.mark.parametrize(
    ("headers", "code", "message"),
    [
        (
            {**customer_headers(), SSE: "AES256"},
            "InvalidArgument",
            "Server Side Encryption with Customer provided key is incompatible with the encryption method specified",
        ),
        ({f"{SSE}-aws-kms-key-id": ARN}, "InvalidArgument", KMS_NEEDED),
        ({SSE: "AES256", f"{SSE}-aws-kms-key-id": ARN}, "InvalidArgument", KMS_NEEDED),
        ({**customer_headers(), f"{SSE}-context": CONTEXT}, "InvalidArgument", KMS_NEEDED),
        (
            {SSE: "aws:kms", f"{SSE}-bucket-key-enabled": "yes"},
            "InvalidArgument",
            f"The value of {SSE}-bucket-key-enabled is neither true nor false",
        ),
        (
            {SSE: "aws:kms", f"{SSE}-context": "e30"},
            "InvalidArgument",
            NOT_A_MAP,
        ),
        (
            {SSE: "aws:kms", f"{SSE}-aws-kms-key-id": "fake-key-id"},
            "KMS.NotFoundException",
            "Invalid keyId 'fake-key-id'",
        ),
        (
            {SSE: "aws:kms", f"{SSE}-aws-kms-key-id": ARN.replace("us-east-1", "eu-west-1")},
            "KMS.NotFoundException",
            "Invalid arn eu-west-1",
        ),
    ],
)
def test_contradictions_and_unknown_keys_are_rejected(
    asker: Asker, headers: dict[str, str], code: str, message: str
) -> None:
    # TestS3SSECEncryption::test_put_object_validation_sse_c, TestS3::test_s3_sse_validate_kms_key
    asker.ask("PUT", "source")
    copy = {"x-amz-copy-source": f"{BUCKET}/source"}
    for method, query, more in (("PUT", {}, {}), ("PUT", {}, copy), ("POST", {"uploads": ""}, {})):
        answer = asker.ask(method, "k", query=query, headers={**headers, **more})
        assert error_of(answer) == (400, code, message)
    assert asker.ask("GET", "k").status == 404


def test_a_read_needs_the_key_that_was_written_with(asker: Asker) -> None:
    # TestS3SSECEncryption::test_object_retrieval_sse_c
    asker.ask("PUT", "k", headers=customer_headers())
    asker.ask("PUT", "plain")
    assert error_of(asker.ask("GET", "k")) == (400, "InvalidRequest", STORED)
    wrong = asker.ask("GET", "k", headers=customer_headers(OTHER))
    assert error_of(wrong) == (403, "AccessDenied", f"{MUST_PROVIDE} the correct secret key.")
    unfit = asker.ask("GET", "plain", headers=customer_headers())
    assert error_of(unfit) == (400, "InvalidRequest", "The encryption parameters are not applicable to this object.")


def test_a_copy_needs_the_key_of_its_source(asker: Asker) -> None:
    # TestS3SSECEncryption::test_copy_object_with_sse_c
    asker.ask("PUT", "k", headers=customer_headers())
    source = {"x-amz-copy-source": f"{BUCKET}/k"}
    upload = asker.ask("POST", "m", query={"uploads": ""}).texts("UploadId")[0]
    for query in ({}, {"uploadId": upload, "partNumber": "1"}):
        assert error_of(asker.ask("PUT", "m", query=query, headers=source)) == (400, "InvalidRequest", STORED)
        wrong = {**source, **customer_headers(OTHER, prefix="x-amz-copy-source-")}
        assert asker.ask("PUT", "m", query=query, headers=wrong).status == 403


@pytest.mark.parametrize(
    ("begun_with", "part_with", "message"),
    [
        ({}, customer_headers(), "initiate"),
        (customer_headers(), {}, "initiate"),
        (customer_headers(), customer_headers(OTHER), "The provided encryption parameters did not match the ones used"),
    ],
)
def test_a_part_has_the_key_of_its_upload(
    asker: Asker, begun_with: dict[str, str], part_with: dict[str, str], message: str
) -> None:
    # TestS3SSECEncryption::test_multipart_upload_sse_c_validation
    asker.ask("PUT", "k")
    upload = asker.ask("POST", "m", query={"uploads": ""}, headers=begun_with).texts("UploadId")[0]
    query = {"uploadId": upload, "partNumber": "1"}
    for more in ({}, {"x-amz-copy-source": f"{BUCKET}/k"}):
        status, code, said = error_of(asker.ask("PUT", "m", query=query, headers={**part_with, **more}))
        assert (status, code) == (400, "InvalidRequest")
        assert message in said


@pytest.mark.parametrize(
    ("asked", "encryption", "is_shown"),
    [
        ({}, {}, True),
        ({}, {SSE: "aws:kms"}, False),
        ({"x-amz-checksum-algorithm": "CRC64NVME"}, {SSE: "aws:kms"}, True),
        ({"x-amz-checksum-algorithm": "CRC64NVME"}, {SSE: "aws:kms:dsse"}, True),
        ({"x-amz-checksum-algorithm": "CRC64NVME"}, customer_headers(), True),
    ],
)
def test_a_completed_upload_tells_the_checksum_that_it_was_asked_for(
    asker: Asker, asked: dict[str, str], encryption: dict[str, str], is_shown: bool
) -> None:
    key = {} if SSE in encryption else encryption
    upload = asker.ask("POST", "m", query={"uploads": ""}, headers={**asked, **encryption}).texts("UploadId")[0]
    query = {"uploadId": upload}
    etag = asker.ask("PUT", "m", query={**query, "partNumber": "1"}, body=b"x", headers=key).headers["etag"]
    parts = f"<Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>"
    document = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
    for _ in range(2):  # a repeated request gets the same response
        done = asker.ask("POST", "m", query=query, body=document, headers=key)
        assert (done.status, bool(done.texts("ChecksumCRC64NVME"))) == (200, is_shown)


def test_every_version_keeps_its_own_key(asker: Asker) -> None:
    # TestS3SSECEncryption::test_sse_c_with_versioning
    enabled = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
    asker.ask("PUT", query={"versioning": ""}, body=enabled)
    old = asker.ask("PUT", "k", body=b"1", headers=customer_headers()).headers["x-amz-version-id"]
    asker.ask("PUT", "k", body=b"2", headers=customer_headers(OTHER))
    assert asker.ask("GET", "k", headers=customer_headers(OTHER)).body == b"2"
    assert asker.ask("GET", "k", headers=customer_headers()).status == 403
    assert asker.ask("GET", "k", query={"versionId": old}, headers=customer_headers()).body == b"1"


def rule(*children: str) -> str:
    return f"<Rule>{''.join(children)}</Rule>"


def by_default(method: str, more: str = "") -> str:
    chosen = f"<SSEAlgorithm>{method}</SSEAlgorithm>{more}"
    return f"<ApplyServerSideEncryptionByDefault>{chosen}</ApplyServerSideEncryptionByDefault>"


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ("", "MalformedXML"),
        (rule(by_default("AES256")) * 2, "MalformedXML"),
        (rule(by_default("rot13")), "MalformedXML"),
        (rule(by_default("aws:kms"), "<BucketKeyEnabled>yes</BucketKeyEnabled>"), "MalformedXML"),
        (rule(by_default("AES256", "<KMSMasterKeyID>a</KMSMasterKeyID>")), "InvalidArgument"),
    ],
)
def test_a_default_that_s3_does_not_have_is_rejected(asker: Asker, rules: str, code: str) -> None:
    # TestS3BucketEncryption::test_s3_default_bucket_encryption_exc
    body = f"<ServerSideEncryptionConfiguration>{rules}</ServerSideEncryptionConfiguration>".encode()
    answer = asker.ask("PUT", query={"encryption": ""}, body=body)
    assert (answer.status, answer.code) == (400, code)


def test_the_log_says_once_that_nothing_is_encrypted(endpoint: EmulatorEndpoint, s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key="k", Body=b"x")
    assert endpoint.drain(requests_max=9).warnings == ()
    s3.put_object(Bucket=BUCKET, Key="k", Body=b"x", ServerSideEncryption="AES256")
    [warning] = endpoint.drain(requests_max=9).warnings
    assert warning.startswith("nothing is encrypted")
    s3.put_object(Bucket=BUCKET, Key="k", Body=b"x", **customer())
    assert endpoint.drain(requests_max=9).warnings == ()
