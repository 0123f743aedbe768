"""Operations of multipart uploads.

An upload has 1 to 10,000 parts of 5 MiB to 5 GiB, the last one of any size
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html).
"""

import hashlib
import re
from collections.abc import Mapping
from itertools import pairwise

from s3bench.s3.emulator.addressing import BucketAddressing
from s3bench.s3.emulator.call import Call
from s3bench.s3.emulator.conditions import check_read, check_write
from s3bench.s3.emulator.content import Content, Stretch, Stretches, pieces_of
from s3bench.s3.emulator.copying import check_copied_size, copied_digest, copy_source
from s3bench.s3.emulator.describing import base64_of, describe, unsupported_algorithm
from s3bench.s3.emulator.documents import XmlElement, document, element, group, iso_time, malformed
from s3bench.s3.emulator.encryption import check_key, check_part, completed_headers, read_headers, written_headers
from s3bench.s3.emulator.lookup import current_state, find_bucket, find_source, state_of
from s3bench.s3.emulator.members import parse_known
from s3bench.s3.emulator.object_lock import check_future
from s3bench.s3.emulator.receiving import CHECKSUM_ALGORITHMS, DEFAULT_ALGORITHM, Intentions
from s3bench.s3.emulator.store import (
    NULL_VERSION,
    OWNER,
    PARTS_MAX,
    Bucket,
    Checksum,
    ObjectStore,
    StoredPart,
    Upload,
    Version,
)
from s3bench.s3.emulator.writing import WriteOperations, made_version_headers
from s3bench.s3.protocol.checksums import CRC_BYTES, combined, digest_of
from s3bench.s3.protocol.decimals import parse_decimal
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.s3_error import S3Error

PART_BYTES_MIN = 5 * 1024**2
PART_BYTES_MAX = 5 * 1024**3
_PARTS_LISTED_MAX = 1000
_COPIED_RANGE = re.compile(r"bytes=([0-9]{1,19})-([0-9]{1,19})")


def find_upload(bucket: Bucket, key: str, upload_id: str) -> Upload:
    """Give the upload. Raises `S3Error` where there is none, or it is another key's."""
    upload = bucket.uploads.get((key, upload_id))
    if upload is None:
        raise _no_such_upload(upload_id)
    return upload


class UploadOperations:
    """What can be done to multipart uploads."""

    def __init__(
        self, store: ObjectStore, intentions: Intentions, writes: WriteOperations, addressing: BucketAddressing
    ) -> None:
        self._store = store
        self._intentions = intentions
        self._writes = writes
        self._addressing = addressing

    def create(self, call: Call) -> Reply:
        """Begin an upload."""
        bucket = find_bucket(self._store, call.bucket)
        algorithm, composite = _checksum_asked(call)
        description = describe(call.fields, bucket)
        check_future(description.lock, call.now_s)
        upload = Upload(
            key=call.key,
            upload_id=bucket.next_upload_id(call.key),
            started_s=call.now_s,
            description=description,
            algorithm=algorithm,
            composite=composite,
            hold=self._writes.hold(call.key, description, readable=False),
        )
        self._store.note_encryption(call.fields, upload.description)
        bucket.uploads[call.key, upload.upload_id] = upload
        headers = written_headers(upload.description.encryption)
        if algorithm:
            headers.append(("x-amz-checksum-algorithm", algorithm.upper()))
            headers.append(("x-amz-checksum-type", "COMPOSITE" if composite else "FULL_OBJECT"))
        result = document(
            "InitiateMultipartUploadResult",
            element("Bucket", call.bucket),
            element("Key", call.key),
            element("UploadId", upload.upload_id),
        )
        return call.reply(200, headers, result)

    def put_part(self, call: Call) -> Reply:
        """UploadPart."""
        upload = self._upload(call)
        number = parse_part_number(call.query)
        received = call.received
        declared = _declared(call)
        _check_algorithm(upload, declared)
        etag = received.etag()
        checksum = Checksum(algorithm=received.algorithm, value=base64_of(received.digest()))
        self._keep(upload, call, number, received.content(), etag, received.digest(), checksum)
        checksums = [(f"x-amz-checksum-{name}", base64_of(received.digest(name))) for name in sorted(declared)]
        return call.reply(200, [("ETag", f'"{etag}"'), *read_headers(upload.description.encryption), *checksums])

    def copy_part(self, call: Call) -> Reply:
        """UploadPartCopy: a part that is a range of another object."""
        upload = self._upload(call)
        number = parse_part_number(call.query)
        check_part(call.fields, upload.description.encryption)
        bucket, key, version_id = copy_source(call.fields["x-amz-copy-source"])
        source = find_source(self._store, bucket, key, version_id)
        check_key(call.fields, source.description.encryption, of_source=True)
        check_read(call.fields, state_of(source), call.now_s, prefix="x-amz-copy-source-")
        assert source.content is not None
        start, end = _copied_range(call.fields.get("x-amz-copy-source-range"), source.content.size_bytes)
        check_copied_size(end - start)
        algorithm = upload.algorithm or DEFAULT_ALGORITHM
        digest = copied_digest(source, start, end, algorithm, faithful=self._intentions.faithful)
        content = Stretches(self._cut(source.content, start, end))
        etag = self._intentions.etag_of(content, algorithm, digest, upload.description.encryption)
        checksum = Checksum(algorithm=algorithm, value=base64_of(digest))
        part = self._keep(upload, call, number, content, etag, digest, checksum)
        headers = read_headers(upload.description.encryption)
        if source.version_id != NULL_VERSION:
            headers.append(("x-amz-copy-source-version-id", source.version_id))
        checksum_element = (element(checksum.element, checksum.value),) if upload.algorithm else ()
        result = document(
            "CopyPartResult",
            element("LastModified", iso_time(part.modified_s)),
            element("ETag", f'"{etag}"'),
            *checksum_element,
        )
        return call.reply(200, headers, result)

    def list_parts(self, call: Call) -> Reply:
        """ListParts."""
        upload = self._upload(call)
        check_part(call.fields, upload.description.encryption, needed=False)
        limit = min(call.number("max-parts", _PARTS_LISTED_MAX), _PARTS_LISTED_MAX)
        after = call.number("part-number-marker", 0)
        numbers = sorted(number for number in upload.parts if number > after)
        parts = [upload.parts[number] for number in numbers[:limit]]
        checksum: tuple[str, ...] = ()
        if upload.algorithm:
            kind = "COMPOSITE" if upload.composite else "FULL_OBJECT"
            checksum = (element("ChecksumAlgorithm", upload.algorithm.upper()), element("ChecksumType", kind))
        result = document(
            "ListPartsResult",
            element("Bucket", call.bucket),
            element("Key", call.key),
            element("UploadId", upload.upload_id),
            group("Initiator", element("ID", OWNER), element("DisplayName", OWNER)),
            group("Owner", element("ID", OWNER), element("DisplayName", OWNER)),
            element("StorageClass", upload.description.storage_class),
            *checksum,
            element("PartNumberMarker", after),
            element("NextPartNumberMarker", parts[-1].number if parts else 0),
            element("MaxParts", limit),
            element("IsTruncated", "true" if 0 < limit < len(numbers) else "false"),
            *(_listed(part, with_checksum=bool(upload.algorithm)) for part in parts),
        )
        return call.reply(200, (), result)

    def abort(self, call: Call) -> Reply:
        """Forget an upload and its parts."""
        upload = self._upload(call)
        del find_bucket(self._store, call.bucket).uploads[call.key, upload.upload_id]
        return call.reply(204)

    def complete(self, call: Call) -> Reply:
        """Make the object out of the parts that the client names."""
        bucket = find_bucket(self._store, call.bucket)
        upload_id = call.query.get("uploadId", "")
        made = None if (call.key, upload_id) in bucket.uploads else _made(bucket, call.key, upload_id)
        upload = self._upload(call) if made is None else None
        if not call.body:
            raise _invalid_request("You must specify at least one part")
        named = parse_known(call.body, "CompleteMultipartUpload")
        if upload is None:
            assert made is not None
            if not _same_parts(made, named):
                raise _no_such_upload(made.upload_id)
            return self._completion(call, bucket, made)
        parts = _chosen(upload, named)
        if bucket.is_directory or upload.composite:
            _check_consecutive(upload, parts)
        check_part(call.fields, upload.description.encryption, needed=False)
        size_bytes = sum(part.content.size_bytes for part in parts)
        _check_size(call, size_bytes)
        current = current_state(bucket, call.key)
        check_write(call.fields, call.key, current, overtaken=upload.overtaken)
        checksum = _whole_checksum(upload, parts)
        _check_whole(call, upload, checksum)
        encryption = upload.description.encryption
        # Recorded: S3 computes no checksum of its own of parts that came with a customer's key.
        has_checksum = upload.algorithm or encryption is None or not encryption.customer_key_md5
        version = self._writes.keep(
            bucket,
            call,
            description=upload.description,
            content=Stretches(_joined(parts)),
            etag=_whole_etag(parts),
            checksum=checksum if has_checksum else None,
            parts=parts,
            upload_id=upload.upload_id,
        )
        version.checksum_asked = bool(upload.algorithm)
        del bucket.uploads[call.key, upload.upload_id]
        return self._completion(call, bucket, version)

    def _completion(self, call: Call, bucket: Bucket, version: Version) -> Reply:
        summed = _completed_checksum(version)
        result = document(
            "CompleteMultipartUploadResult",
            element("Location", self._addressing.url_of(call.fields.get("host", ""), call.bucket, call.key)),
            element("Bucket", call.bucket),
            element("Key", call.key),
            element("ETag", f'"{version.etag}"'),
            *summed,
        )
        headers = (*completed_headers(version.description.encryption), *made_version_headers(bucket, version))
        return call.reply(200, headers, result)

    def _upload(self, call: Call) -> Upload:
        return find_upload(find_bucket(self._store, call.bucket), call.key, call.query.get("uploadId", ""))

    def _keep(
        self, upload: Upload, call: Call, number: int, content: Content, etag: str, digest: bytes, checksum: Checksum
    ) -> StoredPart:
        part = StoredPart(
            number=number,
            content=content,
            etag=etag,
            digest=digest,
            checksum=checksum,
            modified_s=call.now_s,
            hold=self._intentions.hold_part(),
        )
        upload.parts[number] = part
        return part

    def _cut(self, content: Content, start: int, end: int) -> tuple[Stretch, ...]:
        """Give a range of `content` as stretches: shared where it lies in memory, else written there."""
        if start == end:
            return ()
        if isinstance(content, Stretches):
            return content.cut(start, end)
        return self._intentions.written(pieces_of(content, start, end), end - start)


def parse_part_number(query: Mapping[str, str]) -> int:
    """Give the number of the part that a request names. Raises `S3Error`."""
    text = query.get("partNumber", "")
    number = parse_decimal(text)
    if number is None or not 1 <= number <= PARTS_MAX:
        message = f"Part number must be an integer between 1 and {PARTS_MAX}, inclusive"
        details = (("ArgumentName", "partNumber"), ("ArgumentValue", text))
        raise S3Error(status=400, code="InvalidArgument", message=message, details=details)
    return number


def too_large(size_bytes: int) -> S3Error:
    """The error for more than 5 GiB in one piece."""
    message = "Your proposed upload exceeds the maximum allowed size"
    details = (("ProposedSize", str(size_bytes)), ("MaxSizeAllowed", str(PART_BYTES_MAX)))
    return S3Error(status=400, code="EntityTooLarge", message=message, details=details)


def _checksum_asked(call: Call) -> tuple[str, bool]:
    """Give the algorithm of a new upload (empty for none), and whether its checksum will be composite."""
    algorithm = call.fields.get("x-amz-checksum-algorithm", "").lower()
    kind = call.fields.get("x-amz-checksum-type", "").upper()
    if not algorithm:
        if kind:
            message = "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header."
            raise _invalid_request(message)
        return "", False
    if algorithm not in CHECKSUM_ALGORITHMS:
        raise unsupported_algorithm()
    if not kind:
        return algorithm, algorithm != DEFAULT_ALGORITHM
    if kind not in {"COMPOSITE", "FULL_OBJECT"}:
        raise _invalid_request("Value for x-amz-checksum-type header is invalid.")
    composite = kind == "COMPOSITE"
    if (composite and algorithm == DEFAULT_ALGORITHM) or (not composite and algorithm not in CRC_BYTES):
        raise _invalid_request(f"The {kind} checksum type cannot be used with the {algorithm} checksum algorithm.")
    return algorithm, composite


def _copied_range(header: str | None, size_bytes: int) -> tuple[int, int]:
    """Give start and end of what is copied. Unlike a read, a copy takes no range that reaches beyond the end."""
    if header is None:
        return 0, size_bytes
    found = _COPIED_RANGE.fullmatch(header)
    first, last = (-1, -1) if found is None else (int(found[1]), int(found[2]))
    if found is None or first > last:
        message = (
            "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the "
            "zero-based offsets of the first and last bytes to copy"
        )
        raise _invalid_range(message, header)
    if first >= size_bytes:
        raise _invalid_request("The specified copy range is invalid for the source object size")
    if last >= size_bytes:
        raise _invalid_range(f"Range specified is not valid for source object of size: {size_bytes}", header)
    return first, last + 1


def _invalid_range(message: str, header: str) -> S3Error:
    details = (("ArgumentName", "x-amz-copy-source-range"), ("ArgumentValue", header))
    return S3Error(status=400, code="InvalidArgument", message=message, details=details)


def _declared(call: Call) -> set[str]:
    """Give the checksums that came with a part, and were right."""
    return {name for name in call.checksums or () if name in CHECKSUM_ALGORITHMS}


def _check_algorithm(upload: Upload, declared: set[str]) -> None:
    """Reject a part whose checksum is not of its upload's algorithm; one is needed where the whole is composite.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPart.html
    """
    if not upload.algorithm or upload.algorithm in declared or not (declared or upload.composite):
        return
    actual = next(iter(declared), "null")
    message = (
        f"Checksum Type mismatch occurred, expected checksum Type: {upload.algorithm}, actual checksum Type: {actual}"
    )
    raise _invalid_request(message)


def _made(bucket: Bucket, key: str, upload_id: str) -> Version | None:
    """Give the object that was made of the upload already: S3 repeats the response where the first one was lost."""
    found = bucket.keys.get(key)
    if found is None or not upload_id:
        return None
    return next((version for version in found.versions if version.upload_id == upload_id), None)


def _same_parts(version: Version, named: XmlElement) -> bool:
    """Whether the document names the parts that `version` was made of."""
    return [(str(part.number), part.etag) for part in version.parts] == [
        ((item.text("PartNumber") or "").strip(), (item.text("ETag") or "").strip().strip('"'))
        for item in named.all("Part")
    ]


def _chosen(upload: Upload, node: XmlElement) -> tuple[StoredPart, ...]:
    """Give the parts that a CompleteMultipartUpload document names. Raises `S3Error`."""
    named = list(node.all("Part"))
    if not 0 < len(named) <= PARTS_MAX:
        raise malformed(f"it names {len(named)} parts")
    parts = [_named_part(upload, item) for item in named]
    if any(before.number >= after.number for before, after in pairwise(parts)):
        message = "The list of parts was not in ascending order. Parts must be ordered by part number."
        raise S3Error(status=400, code="InvalidPartOrder", message=message, details=(("UploadId", upload.upload_id),))
    for part in parts[:-1]:
        if part.content.size_bytes < PART_BYTES_MIN:
            message = "Your proposed upload is smaller than the minimum allowed size"
            details = (
                ("ProposedSize", str(part.content.size_bytes)),
                ("MinSizeAllowed", str(PART_BYTES_MIN)),
                ("PartNumber", str(part.number)),
                ("ETag", part.etag),
            )
            raise S3Error(status=400, code="EntityTooSmall", message=message, details=details)
    return tuple(parts)


def _check_consecutive(upload: Upload, parts: tuple[StoredPart, ...]) -> None:
    """Reject parts that are not numbered from 1 on without gaps. Raises `S3Error`.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompletedPart.html
    """
    if any(part.number != number for number, part in enumerate(parts, 1)):
        message = (
            "The part numbers must start at 1 and be consecutive in a directory bucket, and in an upload with a "
            "composite checksum."
        )
        raise S3Error(status=400, code="InvalidPartOrder", message=message, details=(("UploadId", upload.upload_id),))


def _named_part(upload: Upload, item: XmlElement) -> StoredPart:
    number, etag = item.need("PartNumber").strip(), item.need("ETag").strip().strip('"')
    place = parse_decimal(number)
    if place is None:
        raise malformed(f"{number[:20]!r} is not a part number")
    part = upload.parts.get(place)
    if part is None or part.etag != etag:
        raise _invalid_part(upload, number, etag)
    declared = {algorithm: item.text(f"Checksum{algorithm.upper()}") for algorithm in CHECKSUM_ALGORITHMS}
    for algorithm, value in declared.items():
        if value is not None and upload.algorithm not in {"", algorithm}:
            message = f"The {algorithm} you specified for part {number} did not match what we received."
            raise S3Error(status=400, code="BadDigest", message=message)
        if value is not None and (not upload.algorithm or value != part.checksum.value):
            raise _invalid_part(upload, number, etag)
    if upload.composite and declared[upload.algorithm] is None:
        message = (
            f"The upload was created using a {upload.algorithm} checksum. The complete request must include the "
            f"checksum for each part. It was missing for part {number} in the request."
        )
        raise _invalid_request(message)
    return part


def _invalid_part(upload: Upload, number: str, etag: str) -> S3Error:
    message = (
        "One or more of the specified parts could not be found.  The part may not have been uploaded, or the "
        "specified entity tag may not match the part's entity tag."
    )
    details = (("UploadId", upload.upload_id), ("PartNumber", number), ("ETag", etag))
    return S3Error(status=400, code="InvalidPart", message=message, details=details)


def _no_such_upload(upload_id: str) -> S3Error:
    message = (
        "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted "
        "or completed."
    )
    return S3Error(status=404, code="NoSuchUpload", message=message, details=(("UploadId", upload_id),))


def _check_size(call: Call, size_bytes: int) -> None:
    declared = call.fields.get("x-amz-mp-object-size")
    if declared is not None and declared != str(size_bytes):
        message = (
            f"The provided 'x-amz-mp-object-size' header value {declared} does not match what was computed: "
            f"{size_bytes}"
        )
        raise _invalid_request(message)


def _whole_checksum(upload: Upload, parts: tuple[StoredPart, ...]) -> Checksum:
    algorithm = upload.algorithm or DEFAULT_ALGORITHM
    if upload.composite:
        digest = digest_of(algorithm, [memoryview(b"".join(part.digest for part in parts))])
        return Checksum(algorithm=algorithm, value=f"{base64_of(digest)}-{len(parts)}", composite=True)
    digest = combined(algorithm, ((part.digest, part.content.size_bytes) for part in parts))
    return Checksum(algorithm=algorithm, value=base64_of(digest))


def _check_whole(call: Call, upload: Upload, checksum: Checksum) -> None:
    """Hold the checksum that the client has of the whole against ours. Raises `S3Error`."""
    kind, created = call.fields.get("x-amz-checksum-type", "").upper(), checksum.kind if upload.algorithm else "null"
    if kind and kind != created:
        message = (
            f"The upload was created using the {created} checksum mode. The complete request must use the same "
            "checksum mode."
        )
        raise _invalid_request(message)
    declared = {
        name: call.fields[field] for name in CHECKSUM_ALGORITHMS if (field := f"x-amz-checksum-{name}") in call.fields
    }
    if declared not in ({}, {checksum.algorithm: checksum.value}):
        message = f"The {checksum.algorithm} you specified did not match the calculated checksum."
        raise S3Error(status=400, code="BadDigest", message=message)


def _completed_checksum(version: Version) -> tuple[str, ...]:
    """Render the checksum of an object made of parts; recorded: not the one that S3 adds where a key encrypts."""
    checksum = version.checksum
    if checksum is None or (version.description.encryption is not None and not version.checksum_asked):
        return ()
    return element(checksum.element, checksum.value), element("ChecksumType", checksum.kind)


def _whole_etag(parts: tuple[StoredPart, ...]) -> str:
    """Give the MD5 of the parts' MD5s, and their number; of parts without an MD5 their opaque tag stands in."""
    digests = b"".join(bytes.fromhex(part.etag.partition("-")[0]) for part in parts)
    return f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(parts)}"


def _joined(parts: tuple[StoredPart, ...]) -> list[Stretch]:
    stretches: list[Stretch] = []
    for part in parts:
        assert isinstance(part.content, Stretches)
        stretches += part.content.cut(0, part.content.size_bytes)
    return stretches


def _listed(part: StoredPart, *, with_checksum: bool) -> str:
    return group(
        "Part",
        element("PartNumber", part.number),
        element("LastModified", iso_time(part.modified_s)),
        element("ETag", f'"{part.etag}"'),
        element("Size", part.content.size_bytes),
        *((element(part.checksum.element, part.checksum.value),) if with_checksum else ()),
    )


def _invalid_request(message: str) -> S3Error:
    return S3Error(status=400, code="InvalidRequest", message=message)
