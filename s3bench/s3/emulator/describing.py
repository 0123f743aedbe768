"""What requests say about an object beside its bytes, and how it is said back.

Owns which headers belong to an object: system headers, user metadata, tags, storage class, checksums; and which of
S3's headers ask for something that the emulator has not.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping

from s3bench.s3.emulator.call import http_time
from s3bench.s3.emulator.documents import parse_tag_header
from s3bench.s3.emulator.operation import not_implemented
from s3bench.s3.emulator.receiving import CHECKSUM_ALGORITHMS
from s3bench.s3.emulator.store import Checksum, Description, Version
from s3bench.s3.http import RequestHead
from s3bench.s3.refusal import S3Refusal

_SYSTEM = {
    "cache-control": "Cache-Control",
    "content-disposition": "Content-Disposition",
    "content-encoding": "Content-Encoding",
    "content-language": "Content-Language",
    "content-type": "Content-Type",
    "expires": "Expires",
    "x-amz-website-redirect-location": "x-amz-website-redirect-location",
}
_DEFAULT_TYPE = "binary/octet-stream"
_METADATA = "x-amz-meta-"
_METADATA_BYTES_MAX = 2048
_STORAGE_CLASSES = frozenset({
    "STANDARD", "REDUCED_REDUNDANCY", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER", "DEEP_ARCHIVE",
    "GLACIER_IR",
})  # fmt: skip
_RESPONSE_OVERRIDES = {
    "response-cache-control": "Cache-Control",
    "response-content-disposition": "Content-Disposition",
    "response-content-encoding": "Content-Encoding",
    "response-content-language": "Content-Language",
    "response-content-type": "Content-Type",
    "response-expires": "Expires",
}
_NO_HEADER_VALUE = re.compile(r"[^\t -~\x80-\xff]")
_CHECKSUM = "x-amz-checksum-"
_DIGEST_BYTES = {"crc32": 4, "crc32c": 4, "crc64nvme": 8, "sha1": 20, "sha256": 32}
_NO_CHECKSUMS = frozenset({"algorithm", "mode", "type"})
_KMS = frozenset({"aws:kms", "aws:kms:dsse", "aws:fsx"})
_OWNER_ACLS = frozenset({"private", "bucket-owner-full-control"})


# Headers that say nothing about the object; most writes have no others.
_SILENT = frozenset({
    "accept", "accept-encoding", "amz-sdk-invocation-id", "amz-sdk-request", "authorization", "connection",
    "content-length", "content-md5", "content-type", "date", "expect", "host", "transfer-encoding", "user-agent",
    "x-amz-content-sha256", "x-amz-date", "x-amz-decoded-content-length", "x-amz-sdk-checksum-algorithm",
    "x-amz-security-token", "x-amz-trailer", "x-amz-user-agent",
    *(_CHECKSUM + algorithm for algorithm in CHECKSUM_ALGORITHMS),
})  # fmt: skip


def check_supported(fields: Mapping[str, str]) -> None:
    """Refuse what the headers of a write ask for that is not built here. Raises `S3Refusal`."""
    for name in fields:
        if name.startswith("x-amz-server-side-encryption-customer-"):
            raise not_implemented("encryption with keys of the customer")
        if name.startswith("x-amz-object-lock-"):
            raise not_implemented("object lock")
        if name.startswith("x-amz-grant-"):
            raise _no_lists()
    encryption = fields.get("x-amz-server-side-encryption", "AES256")
    if encryption in _KMS:
        raise not_implemented("encryption with KMS")
    if encryption != "AES256":
        message = "The encryption request you specified is not valid. The valid value is AES256."
        raise S3Refusal(status=400, code="InvalidEncryptionAlgorithmError", message=message)
    if fields.get("x-amz-acl", "private") not in _OWNER_ACLS:
        raise _no_lists()


def describe(fields: Mapping[str, str]) -> Description:
    """Read what a write says about its object. Raises `S3Refusal`."""
    if fields.keys() <= _SILENT:
        content_type = _header_value("content-type", fields.get("content-type") or _DEFAULT_TYPE)
        return Description(headers=(("Content-Type", content_type),))
    check_supported(fields)
    storage_class = fields.get("x-amz-storage-class", "STANDARD")
    if storage_class not in _STORAGE_CLASSES:
        message = "The storage class you specified is not valid"
        details = (("StorageClassRequested", storage_class),)
        raise S3Refusal(status=400, code="InvalidStorageClass", message=message, details=details)
    return Description(
        headers=tuple(_system_headers(fields)),
        metadata=_metadata(fields),
        tags=parse_tag_header(fields.get("x-amz-tagging", "")),
        storage_class=storage_class,
    )


def shown(version: Version, *, with_checksum: bool) -> list[tuple[str, str]]:
    """Give the headers of a read of `version`, without those of its length and range."""
    description = version.description
    headers = [
        ("ETag", f'"{version.etag}"'),
        ("Last-Modified", http_time(version.modified_s)),
        ("Accept-Ranges", "bytes"),
        ("x-amz-server-side-encryption", "AES256"),
        *description.headers,
        *((_METADATA + name, _mail_safe(value)) for name, value in description.metadata),
    ]
    if description.storage_class != "STANDARD":
        headers.append(("x-amz-storage-class", description.storage_class))
    if description.tags:
        headers.append(("x-amz-tagging-count", str(len(description.tags))))
    if with_checksum and version.checksum is not None:
        headers += checksum_headers(version.checksum)
    return headers


def checksum_headers(checksum: Checksum) -> list[tuple[str, str]]:
    """Give the headers that tell a checksum."""
    return [(_CHECKSUM + checksum.algorithm, checksum.value), ("x-amz-checksum-type", checksum.kind)]


def overridden(headers: list[tuple[str, str]], query: Mapping[str, str]) -> list[tuple[str, str]]:
    """Give `headers` with those replaced that the query (`response-content-type` and the like) sets.

    Raises `S3Refusal` for a value that no header can have.
    """
    for parameter, name in _RESPONSE_OVERRIDES.items():
        if parameter in query:
            headers = [header for header in headers if header[0] != name]
            headers.append((name, _header_value(parameter, query[parameter])))
    return headers


def _header_value(name: str, value: str) -> str:
    """Give `value` of the argument `name`, where a header can have it (RFC 9110 5.5). Raises `S3Refusal`."""
    if _NO_HEADER_VALUE.search(value) is not None:
        message = "Header value cannot be represented using ISO-8859-1."
        details = (("ArgumentName", name), ("ArgumentValue", value))
        raise S3Refusal(status=400, code="InvalidArgument", message=message, details=details)
    return value


def check_checksum_claims(head: RequestHead) -> None:
    """Refuse checksum headers that contradict themselves or cannot be read. Raises `S3Refusal`.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html
    """
    fields = head.fields
    md5 = fields.get("content-md5")
    if md5 is not None and not _is_base64(md5, 16):
        message, details = "The Content-MD5 you specified is not valid.", (("Content-MD5", md5),)
        raise S3Refusal(status=400, code="InvalidDigest", message=message, details=details)
    values = _claimed_values(fields)
    asked = fields.get("x-amz-sdk-checksum-algorithm")
    if asked is None:
        return
    if asked.lower() not in CHECKSUM_ALGORITHMS:
        raise unsupported_algorithm()
    if not values and head.has_body:
        raise _bad(
            "x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer headers "
            "were found."
        )
    if values and asked.lower() not in values:
        raise _bad("Value for x-amz-sdk-checksum-algorithm header is invalid.")


def _claimed_values(fields: Mapping[str, str]) -> dict[str, str | None]:
    """Give the checksum that a request declares, by its algorithm; the value of a trailer is not known yet."""
    trailers = [name.strip() for name in fields.get("x-amz-trailer", "").lower().split(",") if name.strip()]
    values = {name.removeprefix(_CHECKSUM): fields.get(name) for name in trailers if name.startswith(_CHECKSUM)}
    for field, sent in fields.items():
        name = field.removeprefix(_CHECKSUM)
        if name != field and name not in _NO_CHECKSUMS:
            if name not in CHECKSUM_ALGORITHMS:
                raise _bad("The algorithm type you specified in x-amz-checksum- header is invalid.")
            values[name] = sent
    if len(values) > 1:
        raise _bad("Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.")
    for name, value in values.items():
        if name not in CHECKSUM_ALGORITHMS:
            raise _bad("The value specified in the x-amz-trailer header is not supported")
        if value is not None and not _is_base64(value, _DIGEST_BYTES[name]):
            raise _bad(f"Value for {_CHECKSUM}{name} header is invalid.")
    return values


def unsupported_algorithm() -> S3Refusal:
    """How S3 refuses a checksum that it does not know."""
    return _bad(
        "Checksum algorithm provided is unsupported. Please try again with any of the valid types: "
        "[CRC32, CRC32C, CRC64NVME, SHA1, SHA256]"
    )


def base64_of(digest: bytes) -> str:
    """Give a digest as S3 writes it."""
    return base64.b64encode(digest).decode()


def _system_headers(fields: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield "Content-Type", _header_value("content-type", fields.get("content-type") or _DEFAULT_TYPE)
    for field, name in _SYSTEM.items():
        if field not in fields or field == "content-type":
            continue
        value = fields[field]
        if field == "content-encoding":  # aws-chunked belongs to the request, not to the object
            value = ",".join(part.strip() for part in value.split(",") if part.strip().lower() != "aws-chunked")
        if value:
            yield name, _header_value(field, value)


def _metadata(fields: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    metadata = tuple(
        (name.removeprefix(_METADATA), value) for name, value in sorted(fields.items()) if name.startswith(_METADATA)
    )
    size_bytes = sum(len(name) + len(value) for name, value in metadata)
    if size_bytes > _METADATA_BYTES_MAX:
        message = "Your metadata headers exceed the maximum allowed metadata size"
        details = (("Size", str(size_bytes)), ("MaxSizeAllowed", str(_METADATA_BYTES_MAX)))
        raise S3Refusal(status=400, code="MetadataTooLarge", message=message, details=details)
    return metadata


def _mail_safe(value: str) -> str:
    """Give a value of metadata as S3 sends it back: what is not printable ASCII encoded by RFC 2047.

    S3 takes the bytes of a header for ISO 8859-1, as the server does, and encodes the characters in UTF-8
    (https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html).
    """
    plain = value.isascii() and _NO_HEADER_VALUE.search(value) is None
    return value if plain else f"=?UTF-8?B?{base64_of(value.encode())}?="


def _is_base64(text: str, size_bytes: int) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == size_bytes
    except (ValueError, binascii.Error):
        return False


def _bad(message: str) -> S3Refusal:
    return S3Refusal(status=400, code="InvalidRequest", message=message)


def _no_lists() -> S3Refusal:
    return S3Refusal(status=400, code="AccessControlListNotSupported", message="The bucket does not allow ACLs")
