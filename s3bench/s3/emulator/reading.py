"""Operations that read objects: GetObject, HeadObject, GetObjectAttributes."""

from s3bench.s3.emulator.call import Call, http_time
from s3bench.s3.emulator.conditions import Condition, check_read
from s3bench.s3.emulator.describing import checksum_headers, overridden, shown
from s3bench.s3.emulator.documents import document, element, group
from s3bench.s3.emulator.encryption import check_key
from s3bench.s3.emulator.lookup import check_restored, find_bucket, find_version, state_of, version_headers
from s3bench.s3.emulator.store import Bucket, ObjectStore, StoredPart, Version
from s3bench.s3.emulator.uploads import parse_part_number
from s3bench.s3.protocol.decimals import parse_decimal
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.ranges import Unsatisfiable, parse_range
from s3bench.s3.protocol.s3_error import S3Error

_OF_NOT_MODIFIED = frozenset({"Cache-Control", "Expires"})  # RFC 9110 15.4.5
_PARTS_MAX = 1000


class ReadOperations:
    """What can be read of objects; checksums are reported only where reads are `faithful`."""

    def __init__(self, store: ObjectStore, *, faithful: bool) -> None:
        self._store = store
        self._faithful = faithful

    def get(self, call: Call) -> Reply:
        """Read an object, a range of it, or one of its parts; or only its headers."""
        bucket = find_bucket(self._store, call.bucket)
        version = find_version(bucket, call.key, call.query.get("versionId"), method=call.head.method)
        check_key(call.fields, version.description.encryption)
        if check_read(call.fields, state_of(version), call.now_s) is Condition.NOT_MODIFIED:
            return call.reply_not_modified(self._validators(version))
        return self._read(call, bucket, version)

    def plain(self, call: Call, bucket: Bucket, version: Version) -> Reply:
        """Read a current version whole, without any condition."""
        if version.description.encryption is not None:
            check_key(call.fields, version.description.encryption)
        return self._read(call, bucket, version)

    def _read(self, call: Call, bucket: Bucket, version: Version) -> Reply:
        if call.head.method == "GET":
            check_restored(version)
        content = version.content
        assert content is not None
        start, end, part = 0, content.size_bytes, None
        ranged = False
        if "range" in call.fields and _fits(call.fields.get("if-range"), version):
            try:
                found = parse_range(call.fields["range"], content.size_bytes)
            except Unsatisfiable:
                raise _bad_range(call.fields["range"], content.size_bytes) from None
            if found is not None:
                start, end, ranged = found.start, found.end, True
        if "partNumber" in call.query:
            if ranged:
                message = "Cannot specify both Range header and partNumber query parameter"
                raise S3Error(status=400, code="InvalidRequest", message=message)
            start, end, part = self._part(call, version)
            ranged = True
        mode = "x-amz-checksum-mode"
        asked = call.fields.get(mode, call.query.get(mode, "")).upper() == "ENABLED" and self._faithful
        whole = part is None and (start, end) == (0, content.size_bytes)
        headers = shown(version, with_checksum=asked and whole)
        headers += version_headers(bucket, version)
        if part is not None and asked and _has_own_checksum(version):
            headers += checksum_headers(part.checksum, kind=version.checksum.kind if version.checksum else "")
        if "partNumber" in call.query and version.parts:
            headers.append(("x-amz-mp-parts-count", str(len(version.parts))))
        if ranged and end > start:
            headers.append(("Content-Range", f"bytes {start}-{end - 1}/{content.size_bytes}"))
        status = 206 if ranged and end > start else 200
        body = (b"", ()) if call.head.method == "HEAD" else content.part(start, end)
        return call.reply_with_bytes(status, overridden(headers, call.query), end - start, body)

    @staticmethod
    def _part(call: Call, version: Version) -> tuple[int, int, StoredPart | None]:
        """Give the range of the part that is asked for; an object that came in one piece has one part."""
        number = parse_part_number(call.query)
        if not version.parts and number == 1:
            return 0, version.size_bytes, None
        start = 0
        for position, part in enumerate(version.parts, 1):
            if position == number:
                return start, start + part.content.size_bytes, part
            start += part.content.size_bytes
        message = "The requested partnumber is not satisfiable"
        details = (("PartNumberRequested", str(number)), ("ActualPartCount", str(max(1, len(version.parts)))))
        raise S3Error(status=416, code="InvalidPartNumber", message=message, details=details)

    @staticmethod
    def _validators(version: Version) -> list[tuple[str, str]]:
        headers = [header for header in version.description.headers if header[0] in _OF_NOT_MODIFIED]
        return [("ETag", f'"{version.etag}"'), ("Last-Modified", http_time(version.modified_s)), *headers]

    def attributes(self, call: Call) -> Reply:
        """GetObjectAttributes: what is known of an object without reading it."""
        bucket = find_bucket(self._store, call.bucket)
        version = find_version(bucket, call.key, call.query.get("versionId"))
        check_key(call.fields, version.description.encryption)
        wanted = {name.strip() for name in call.fields.get("x-amz-object-attributes", "").split(",") if name.strip()}
        unknown = wanted - {"ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"}
        if unknown or not wanted:
            code, message = "InvalidArgument", "Invalid attribute name specified."
            if not wanted:
                code = "InvalidRequest"
                message = (
                    "The x-amz-object-attributes header specifying the attributes to be retrieved is either missing "
                    "or empty"
                )
            raise S3Error(status=400, code=code, message=message)
        children = []
        if "ETag" in wanted:
            children.append(element("ETag", version.etag))
        if "Checksum" in wanted and version.checksum is not None:
            value = version.checksum.value.partition("-")[0]
            kind = element("ChecksumType", version.checksum.kind)
            children.append(group("Checksum", element(version.checksum.element, value), kind))
        if "ObjectParts" in wanted and version.parts:
            children.append(group("ObjectParts", *_attribute_parts(call, version)))
        if "StorageClass" in wanted:
            children.append(element("StorageClass", version.description.storage_class))
        if "ObjectSize" in wanted:
            children.append(element("ObjectSize", version.size_bytes))
        headers = [("Last-Modified", http_time(version.modified_s)), *version_headers(bucket, version)]
        return call.reply(200, headers, document("GetObjectAttributesResponse", *children))


def _has_own_checksum(version: Version) -> bool:
    """Whether reads of a part of `version` report its checksum: parts have their own, or the part is the whole."""
    return version.checksum is not None and (version.checksum.composite or len(version.parts) == 1)


def _fits(if_range: str | None, version: Version) -> bool:
    """Whether a Range is to be honoured (If-Range, RFC 9110 13.1.5)."""
    return if_range is None or if_range.strip().strip('"') == version.etag or if_range == http_time(version.modified_s)


def _bad_range(header: str, size_bytes: int) -> S3Error:
    return S3Error(
        status=416,
        code="InvalidRange",
        message="The requested range is not satisfiable",
        details=(("RangeRequested", header), ("ActualObjectSize", str(size_bytes))),
        headers=(("Content-Range", f"bytes */{size_bytes}"),),
    )


def _attribute_parts(call: Call, version: Version) -> list[str]:
    """Render the parts of a multipart object, in pages; each one only where parts have checksums of their own."""
    limit = min(_number(call, "x-amz-max-parts", _PARTS_MAX), _PARTS_MAX)
    after = _number(call, "x-amz-part-number-marker", 0)
    numbered = [(number, part) for number, part in enumerate(version.parts, 1) if number > after]
    chosen = numbered[:limit]
    children = [
        element("PartsCount", len(version.parts)),
        element("PartNumberMarker", after),
        element("NextPartNumberMarker", chosen[-1][0] if chosen else 0),
        element("MaxParts", limit),
        element("IsTruncated", "true" if len(numbered) > limit else "false"),
    ]
    if version.checksum is None or not version.checksum.composite:
        return children[:1]
    for number, part in chosen:
        children.append(
            group(
                "Part",
                element("PartNumber", number),
                element("Size", part.content.size_bytes),
                element(part.checksum.element, part.checksum.value),
            )
        )
    return children


def _number(call: Call, name: str, default: int) -> int:
    """Give the number in a header. Raises `S3Error` where it is none."""
    text = call.fields.get(name, str(default))
    number = parse_decimal(text)
    if number is None:
        details = (("ArgumentName", name), ("ArgumentValue", text))
        raise S3Error(status=400, code="InvalidArgument", message=f"Provided {name} is not a number", details=details)
    return number
