"""The description of an object: system headers, user metadata, tags, storage class and checksums.

Read from requests, where headers that ask for what the emulator lacks are rejected, and rendered into responses.
"""

import base64
import binascii
import functools
import quopri
import re
from collections.abc import Iterator, Mapping

from s3bench.s3.emulator.call import http_time
from s3bench.s3.emulator.directory_bucket import STORAGE_CLASS
from s3bench.s3.emulator.documents import parse_tag_header
from s3bench.s3.emulator.encryption import read_headers, requested_encryption
from s3bench.s3.emulator.members import TRANSPORT
from s3bench.s3.emulator.object_lock import Lock, missing_configuration, requested_lock
from s3bench.s3.emulator.receiving import CHECKSUM_ALGORITHMS
from s3bench.s3.emulator.store import Bucket, Checksum, Description, Version
from s3bench.s3.protocol.http import RequestHead
from s3bench.s3.protocol.s3_error import S3Error

REDIRECT = "x-amz-website-redirect-location"
_SYSTEM = {
    "cache-control": "Cache-Control",
    "content-disposition": "Content-Disposition",
    "content-encoding": "Content-Encoding",
    "content-language": "Content-Language",
    "content-type": "Content-Type",
    "expires": "Expires",
    REDIRECT: REDIRECT,
}
_AWS_CHUNKED = re.compile(r"(?:^|,)[ \t]*aws-chunked[ \t]*(?=,|$)", re.IGNORECASE)
_DEFAULT_TYPE = "binary/octet-stream"
_METADATA = "x-amz-meta-"
_METADATA_BYTES_MAX = 2048
_ENCODED_WORD = re.compile(r"(?<!\S)=\?([^?\s]+)\?([BbQq])\?([^?\s]*)\?=(?!\S)")
_CHARSETS = frozenset({
    "us-ascii", "utf-8", "utf-16", "utf-16be", "utf-16le",
    *(f"iso-8859-{part}" for part in (*range(1, 12), *range(13, 17))),
    *(f"windows-{page}" for page in range(1250, 1259)),
})  # fmt: skip
"""Those of encoded words that are decoded: none of them has surrogates, which no header could bring back."""

_Q_FORM = {byte: chr(byte) for byte in range(0x21, 0x7F) if chr(byte) not in "=?_"} | {0x20: "_"}
_STORAGE_CLASSES = (
    "STANDARD", "REDUCED_REDUNDANCY", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER", "DEEP_ARCHIVE",
    "GLACIER_IR",
)  # fmt: skip
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
_OWNER_ACLS = frozenset({"private", "bucket-owner-full-control"})


_FIELD_OF = {algorithm: _CHECKSUM + algorithm for algorithm in CHECKSUM_ALGORITHMS}
_CHECKSUM_FIELDS = frozenset({"content-md5", "x-amz-sdk-checksum-algorithm", "x-amz-trailer", *_FIELD_OF.values()})

_SILENT = TRANSPORT | _CHECKSUM_FIELDS | {"content-type"}
"""Headers of a write that say nothing about the object but its type; most writes have no others."""


def describe(fields: Mapping[str, str], bucket: Bucket) -> Description:
    """Read what a write says about its object, which goes into `bucket`. Raises `S3Error`."""
    if bucket.encryption is None and _SILENT.issuperset(fields):
        return _description_of_type(fields.get("content-type") or _DEFAULT_TYPE, default_storage_class(bucket))
    if any(name.startswith("x-amz-grant-") for name in fields) or fields.get("x-amz-acl", "private") not in _OWNER_ACLS:
        raise acls_are_disabled()
    storage_classes = _storage_classes(bucket)
    storage_class = fields.get("x-amz-storage-class", storage_classes[0])
    if storage_class not in storage_classes:
        message = "The storage class you specified is not valid"
        details = (("StorageClassRequested", storage_class),)
        raise S3Error(status=400, code="InvalidStorageClass", message=message, details=details)
    return Description(
        headers=tuple(_system_headers(fields)),
        metadata=_metadata(fields),
        tags=parse_tag_header(fields.get("x-amz-tagging", "")),
        storage_class=storage_class,
        encryption=requested_encryption(fields, bucket.region, bucket.encryption),
        lock=_lock(fields, bucket),
    )


@functools.lru_cache(maxsize=64)
def _description_of_type(content_type: str, storage_class: str) -> Description:
    """Give what describes every object of which only its type is known. Raises `S3Error`."""
    headers = (("Content-Type", _header_value("content-type", content_type)),)
    return Description(headers=headers, storage_class=storage_class)


def default_storage_class(bucket: Bucket) -> str:
    """Give the storage class of an object in `bucket` that is written without one."""
    return _storage_classes(bucket)[0]


def _storage_classes(bucket: Bucket) -> tuple[str, ...]:
    """Give the storage classes of objects in `bucket`, the default first."""
    return (STORAGE_CLASS,) if bucket.is_directory else _STORAGE_CLASSES


def _lock(fields: Mapping[str, str], bucket: Bucket) -> Lock | None:
    lock = requested_lock(fields)
    if lock is not None and not bucket.is_locking:
        raise missing_configuration()
    return lock


def shown(version: Version, *, with_checksum: bool) -> list[tuple[str, str]]:
    """Give the headers of a read of `version`, without those of its length and range."""
    description = version.description
    headers = [
        ("ETag", f'"{version.etag}"'),
        ("Last-Modified", http_time(version.modified_s)),
        ("Accept-Ranges", "bytes"),
        *read_headers(description.encryption),
        *description.headers,
        *((_METADATA + name, _mail_safe(value)) for name, value in description.metadata),
    ]
    if description.storage_class != "STANDARD":
        headers.append(("x-amz-storage-class", description.storage_class))
    if version.lock is not None:
        headers += version.lock.headers()
    if description.tags:
        headers.append(("x-amz-tagging-count", str(len(description.tags))))
    if with_checksum and version.checksum is not None:
        headers += checksum_headers(version.checksum)
    return headers


def checksum_headers(checksum: Checksum, *, kind: str = "") -> list[tuple[str, str]]:
    """Give the headers of a checksum; `kind` is that of the whole where it is a part's."""
    return [(_CHECKSUM + checksum.algorithm, checksum.value), ("x-amz-checksum-type", kind or checksum.kind)]


def overridden(headers: list[tuple[str, str]], query: Mapping[str, str]) -> list[tuple[str, str]]:
    """Give `headers` with those replaced that the query (`response-content-type` and the like) sets.

    Raises `S3Error` for a value that no header can have.
    """
    for parameter, name in _RESPONSE_OVERRIDES.items():
        if parameter in query:
            headers = [header for header in headers if header[0] != name]
            headers.append((name, _header_value(parameter, query[parameter])))
    return headers


def _header_value(name: str, value: str) -> str:
    """Give `value` of the argument `name`, where a header can have it (RFC 9110 5.5). Raises `S3Error`."""
    if _NO_HEADER_VALUE.search(value) is not None:
        message = "Header value cannot be represented using ISO-8859-1."
        details = (("ArgumentName", name), ("ArgumentValue", value))
        raise S3Error(status=400, code="InvalidArgument", message=message, details=details)
    return value


def check_declared_checksums(head: RequestHead) -> None:
    """Reject checksum headers that contradict themselves or cannot be read. Raises `S3Error`.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html
    """
    fields = head.fields
    if _CHECKSUM_FIELDS.isdisjoint(fields):
        return
    md5 = fields.get("content-md5")
    if md5 is not None and not _is_base64(md5, 16):
        message, details = "The Content-MD5 you specified was invalid.", (("Content-MD5", md5),)
        raise S3Error(status=400, code="InvalidDigest", message=message, details=details)
    values = _declared_values(fields)
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


def _declared_values(fields: Mapping[str, str]) -> dict[str, str | None]:
    """Give the checksum that a request declares, by its algorithm; the value of a trailer is not known yet."""
    values: dict[str, str | None] = {}
    if "x-amz-trailer" in fields:
        for trailer in fields["x-amz-trailer"].lower().split(","):
            name = trailer.strip()
            if name.startswith(_CHECKSUM):
                values[name.removeprefix(_CHECKSUM)] = fields.get(name)
    for algorithm, field in _FIELD_OF.items():
        if field in fields:
            values[algorithm] = fields[field]
    if len(values) > 1:
        raise _bad("Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.")
    for name, value in values.items():
        if name not in CHECKSUM_ALGORITHMS:
            raise _bad("The value specified in the x-amz-trailer header is not supported")
        if value is not None and not _is_base64(value, _DIGEST_BYTES[name]):
            raise _bad(f"Value for {_CHECKSUM}{name} header is invalid.")
    return values


def unsupported_algorithm() -> S3Error:
    """The error for a checksum that S3 does not know."""
    return _bad(
        "Checksum algorithm provided is unsupported. Please try again with any of the valid types: "
        "[CRC32, CRC32C, CRC64NVME, SHA1, SHA256]"
    )


def base64_of(digest: bytes) -> str:
    """Give a digest as S3 writes it."""
    return binascii.b2a_base64(digest, newline=False).decode()


def _system_headers(fields: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield "Content-Type", _header_value("content-type", fields.get("content-type") or _DEFAULT_TYPE)
    for field, name in _SYSTEM.items():
        if field not in fields or field == "content-type":
            continue
        value = fields[field]
        if field == "content-encoding":  # aws-chunked belongs to the request, not to the object
            value = _AWS_CHUNKED.sub("", value).strip(", ")
        if field == REDIRECT:
            _check_redirect(value)
        if value:
            yield name, _header_value(field, value)


def _check_redirect(location: str) -> None:
    """Reject a redirect that goes neither to a page of the bucket nor to a URL. Raises `S3Error`."""
    if location and not location.startswith(("http://", "https://", "/")):
        message = "The website redirect location must have a prefix of 'http://' or 'https://' or '/'."
        raise S3Error(status=400, code="InvalidRedirectLocation", message=message)


def _metadata(fields: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    metadata = tuple(
        (name.removeprefix(_METADATA), _ENCODED_WORD.sub(_decoded_word, value))
        for name, value in sorted(fields.items())
        if name.startswith(_METADATA)
    )
    check_metadata_size(sum(len(name) + len(value) for name, value in metadata))
    return metadata


def check_metadata_size(size_bytes: int) -> None:
    """Reject more user metadata than an object can have. Raises `S3Error`."""
    if size_bytes > _METADATA_BYTES_MAX:
        message = "Your metadata headers exceed the maximum allowed metadata size"
        details = (("Size", str(size_bytes)), ("MaxSizeAllowed", str(_METADATA_BYTES_MAX)))
        raise S3Error(status=400, code="MetadataTooLarge", message=message, details=details)


def _decoded_word(found: re.Match[str]) -> str:
    """Decode an encoded word of RFC 2047, as S3 does on arrival; one that cannot be decoded stays as it is."""
    charset, encoding, text = found.groups()
    if charset.lower() not in _CHARSETS:
        return found[0]
    if encoding in "Qq":
        data = quopri.decodestring(text.encode("latin-1"), header=True)
    else:
        try:
            data = base64.b64decode(text + "==")
        except ValueError:  # it is no base64, or not even ASCII
            return found[0]
    return data.decode(charset, "replace")


def _mail_safe(value: str) -> str:
    """Give a value of metadata as S3 sends it back: as it is, or as an encoded word of RFC 2047.

    S3 takes the bytes of a header for ISO 8859-1, as the server does, and encodes the characters in UTF-8
    (https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html). Recorded responses of S3 show the Q form
    where most characters are plain ASCII, and the B form elsewhere.
    """
    plain = sum(" " <= character <= "~" or character == "\t" for character in value)
    if plain == len(value):
        return value
    if plain <= len(value) - plain:
        return f"=?UTF-8?B?{base64_of(value.encode())}?="
    return f"=?UTF-8?Q?{''.join(_Q_FORM.get(byte, f'={byte:02X}') for byte in value.encode())}?="


def _is_base64(text: str, size_bytes: int) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == size_bytes
    except (ValueError, binascii.Error):
        return False


def _bad(message: str) -> S3Error:
    return S3Error(status=400, code="InvalidRequest", message=message)


def acls_are_disabled() -> S3Error:
    """The error for an access control list."""
    return S3Error(status=400, code="AccessControlListNotSupported", message="The bucket does not allow ACLs")
