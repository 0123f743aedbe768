"""Server-side encryption as clients see it: what they ask for, must repeat, and get back. Nothing is encrypted.

An object has one of four kinds: SSE-S3 (`AES256`), SSE-KMS (`aws:kms`), DSSE-KMS (`aws:kms:dsse`), or SSE-C, whose key
comes with every request (https://docs.aws.amazon.com/AmazonS3/latest/userguide/serv-side-encryption.html). Codes and
messages are those of recorded responses of S3, where there are any (docs/s3-behaviour.md). S3 rejects SSE-C without
TLS; the emulator accepts it, since a local endpoint mostly has none. There is no KMS: every key whose name is well
formed exists. Pure.
"""

import base64
import binascii
import hashlib
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace

from s3bench.s3.emulator.operation import not_implemented
from s3bench.s3.protocol.s3_error import S3Error

ACCOUNT_ID = "000000000000"
"""The AWS account that owns every bucket and every key that is named without an account."""

SSE = "x-amz-server-side-encryption"
KMS_KEY = f"{SSE}-aws-kms-key-id"
BUCKET_KEY = f"{SSE}-bucket-key-enabled"
CONTEXT = f"{SSE}-context"
_CUSTOMER = "server-side-encryption-customer-"
CUSTOMER_HEADERS = frozenset(f"x-amz-{_CUSTOMER}{part}" for part in ("algorithm", "key", "key-md5"))
SOURCE_HEADERS = frozenset(f"x-amz-copy-source-{_CUSTOMER}{part}" for part in ("algorithm", "key", "key-md5"))
WRITE_HEADERS = CUSTOMER_HEADERS | {SSE, KMS_KEY, BUCKET_KEY, CONTEXT}

KMS_METHODS = frozenset({"aws:kms", "aws:kms:dsse"})
_CUSTOMER_KEY_BYTES = 32  # AES-256
_MUST_PROVIDE = "Requests specifying Server Side Encryption with Customer provided keys must provide"
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_KEY_NAME = re.compile(rf"(?:{_UUID}|mrk-[0-9a-f]{{32}}|alias/[A-Za-z0-9/_-]{{1,250}})")
_KEY_ARN = re.compile(r"arn:(aws[a-z-]*):kms:([a-z0-9-]+):([0-9]{12}):(?:key/)?(.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Encryption:
    """How an object or an upload is encrypted, other than by SSE-S3, which is the default of S3.

    `method` is the value of `x-amz-server-side-encryption`, empty for SSE-C. `kms_key` is an ARN; in the default of a
    bucket it is what the client calls the key, or empty. `context` is as it was sent. `customer_key_md5` is the MD5 of
    the customer's key in base64; the key itself is not kept.
    """

    method: str = ""
    kms_key: str = ""
    bucket_key: bool = False
    context: str = ""
    customer_key_md5: str = ""


def requested_encryption(fields: Mapping[str, str], region: str, default: Encryption | None) -> Encryption | None:
    """Read what the headers of a write ask for; what they do not say is the bucket's `default`. Raises `S3Error`."""
    customer_key_md5 = _customer_key(fields, CUSTOMER_HEADERS, "x-amz-")
    method = fields.get(SSE)
    if customer_key_md5:
        if method is not None:
            message = (
                "Server Side Encryption with Customer provided key is incompatible with the encryption method specified"
            )
            raise _invalid(message, value=method)
        _reject_kms_headers(fields)
        return Encryption(customer_key_md5=customer_key_md5)
    bucket_key = _bucket_key(fields, default)
    if method in KMS_METHODS:
        return Encryption(
            method=method,
            kms_key=key_arn(fields.get(KMS_KEY, ""), region),
            bucket_key=bucket_key and method == "aws:kms",
            context=_context(fields.get(CONTEXT, "")),
        )
    if method == "aws:fsx":
        raise not_implemented("encryption by FSx", header=SSE)
    if method not in {None, "AES256"}:
        message = "The encryption request you specified is not valid. The valid value is AES256."
        raise S3Error(status=400, code="InvalidEncryptionAlgorithmError", message=message)
    _reject_kms_headers(fields)
    if method is not None or default is None:
        return None
    return replace(effective_default(default, region), bucket_key=bucket_key and default.method == "aws:kms")


def effective_default(default: Encryption, region: str) -> Encryption:
    """Give the `default` of a bucket as its objects have it: with the ARN of the key. Raises `S3Error`."""
    return replace(default, kms_key=key_arn(default.kms_key, region))


def key_arn(key: str, region: str) -> str:
    """Give the ARN of a KMS key by its id, alias or ARN; of AWS's own key for S3 where `key` is empty.

    Raises `S3Error` for what no key can be called.
    """
    if not key:
        key = "alias/aws/s3"
    found = _KEY_ARN.fullmatch(key)
    partition, account, name = "aws", ACCOUNT_ID, key
    if found is not None:
        partition, where, account, name = found.groups()
        if where != region:
            raise _not_found(f"Invalid arn {where}")
    if _KEY_NAME.fullmatch(name) is None:
        raise _not_found(f"Invalid keyId '{key}'")
    if name.startswith("alias/"):  # an alias stands for a key, whose ARN S3 returns
        name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{account}:{region}:{name}"))
    return f"arn:{partition}:kms:{region}:{account}:key/{name}"


def written_headers(encryption: Encryption | None) -> list[tuple[str, str]]:
    """Give the headers of the response to PutObject, CopyObject and CreateMultipartUpload."""
    headers = read_headers(encryption)
    if encryption is not None and encryption.context:
        headers.append((CONTEXT, encryption.context))
    return headers


def read_headers(encryption: Encryption | None) -> list[tuple[str, str]]:
    """Give the headers of a read, and of the response to a part."""
    if encryption is not None and encryption.customer_key_md5:
        return [
            (f"x-amz-{_CUSTOMER}algorithm", "AES256"),
            (f"x-amz-{_CUSTOMER}key-MD5", encryption.customer_key_md5),
        ]
    return completed_headers(encryption)


def completed_headers(encryption: Encryption | None) -> list[tuple[str, str]]:
    """Give the headers of the response to CompleteMultipartUpload, which has none of SSE-C."""
    if encryption is None:
        return [(SSE, "AES256")]
    if encryption.customer_key_md5:
        return []
    headers = [(SSE, encryption.method)]
    if encryption.kms_key:
        headers.append((KMS_KEY, encryption.kms_key))
    if encryption.bucket_key:
        headers.append((BUCKET_KEY, "true"))
    return headers


def hidden_etag(encryption: Encryption, seed: bytes) -> str:
    """Make the ETag of the bytes that `seed` stands for: it looks like an MD5, and is not theirs.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html
    """
    secret = f"{encryption.kms_key}\0{encryption.customer_key_md5}\0".encode()
    return hashlib.blake2b(secret + seed, digest_size=16).hexdigest()


def check_key(fields: Mapping[str, str], encryption: Encryption | None, *, of_source: bool = False) -> None:
    """Check that a read has the key of an object, which no other than one with SSE-C has. Raises `S3Error`.

    `of_source` for the source of a copy, whose key has headers of its own.
    """
    names, prefix = (SOURCE_HEADERS, "x-amz-copy-source-") if of_source else (CUSTOMER_HEADERS, "x-amz-")
    needed = "" if encryption is None else encryption.customer_key_md5
    given = _customer_key(fields, names, prefix)
    if needed and not given:
        message = (
            "The object was stored using a form of Server Side Encryption. The correct parameters must be provided "
            "to retrieve the object."
        )
        raise S3Error(status=400, code="InvalidRequest", message=message)
    if given and not needed:
        message = "The encryption parameters are not applicable to this object."
        raise S3Error(status=400, code="InvalidRequest", message=message)
    if given != needed:
        raise S3Error(status=403, code="AccessDenied", message=f"{_MUST_PROVIDE} the correct secret key.")


def check_part(fields: Mapping[str, str], encryption: Encryption | None, *, needed: bool = True) -> None:
    """Check that a part comes with the key of its upload, or with none. Raises `S3Error`.

    Where it is not `needed`, a request without one is fine.
    """
    asked = "" if encryption is None else encryption.customer_key_md5
    given = _customer_key(fields, CUSTOMER_HEADERS, "x-amz-")
    if given == asked or not (given or needed):
        return
    message = "The provided encryption parameters did not match the ones used originally."
    if not given or not asked:
        message = (
            "The multipart upload initiate requested encryption. Subsequent part requests must include the appropriate "
            "encryption parameters."
        )
    raise S3Error(status=400, code="InvalidRequest", message=message)


def _customer_key(fields: Mapping[str, str], names: frozenset[str], prefix: str) -> str:
    """Read the headers of SSE-C: the MD5 of the key in base64, empty where there are none. Raises `S3Error`."""
    if names.isdisjoint(fields):
        return ""
    prefix += _CUSTOMER
    algorithm, key, md5 = (fields.get(prefix + part) for part in ("algorithm", "key", "key-md5"))
    if algorithm is None:
        raise _invalid(f"{_MUST_PROVIDE} a valid encryption algorithm.")
    if algorithm != "AES256":
        message = "The Encryption request you specified is not valid. Supported value: AES256."
        raise _invalid(message, value=algorithm, code="InvalidEncryptionAlgorithmError")
    if key is None:
        raise _invalid(f"{_MUST_PROVIDE} an appropriate secret key.")
    decoded = _decoded(key)
    if len(decoded) != _CUSTOMER_KEY_BYTES:
        raise _invalid("The secret key was invalid for the specified algorithm.")
    if md5 is None:
        raise _invalid(f"{_MUST_PROVIDE} the client calculated MD5 of the secret key.")
    digest = hashlib.md5(decoded, usedforsecurity=False).digest()
    if _decoded(md5) != digest:
        raise _invalid("The calculated MD5 hash of the key did not match the hash that was provided.")
    return base64.b64encode(digest).decode()


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return b""


def _reject_kms_headers(fields: Mapping[str, str]) -> None:
    for name in (KMS_KEY, CONTEXT):
        if name in fields:
            message = (
                "Server Side Encryption with AWS KMS managed key requires HTTP header x-amz-server-side-encryption : "
                "aws:kms"
            )
            raise _invalid(message)


def _bucket_key(fields: Mapping[str, str], default: Encryption | None) -> bool:
    """Whether SSE-KMS shall use a bucket key: as the header says, else as the bucket does. Raises `S3Error`.

    Bucket keys are for SSE-KMS alone (https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingDSSEncryption.html).
    """
    value = fields.get(BUCKET_KEY)
    if value is None:
        return default is not None and default.bucket_key
    if value.lower() not in {"true", "false"}:
        message = f"The value of {BUCKET_KEY} is neither true nor false"
        details = (("ArgumentName", BUCKET_KEY), ("ArgumentValue", value))
        raise S3Error(status=400, code="InvalidArgument", message=message, details=details)
    return value.lower() == "true"


def _context(value: str) -> str:
    """Give an encryption context as it was sent: JSON of names and values, in base64. Raises `S3Error`."""
    if not value:
        return ""
    try:
        content = json.loads(_decoded(value))
    except (ValueError, RecursionError):  # a UnicodeDecodeError is a ValueError
        content = None
    if not isinstance(content, dict) or not all(isinstance(text, str) for text in content.values()):
        message = (
            f"The header '{CONTEXT}' shall be Base64-encoded UTF-8 string holding JSON which represents a "
            "string-string map"
        )
        raise S3Error(status=400, code="InvalidArgument", message=message, details=(("ArgumentName", CONTEXT),))
    return value


def _invalid(message: str, *, value: str = "", code: str = "InvalidArgument") -> S3Error:
    details = (("ArgumentName", SSE), ("ArgumentValue", value)) if value else (("ArgumentName", SSE),)
    return S3Error(status=400, code=code, message=message, details=details)


def _not_found(message: str) -> S3Error:
    return S3Error(status=400, code="KMS.NotFoundException", message=message)
