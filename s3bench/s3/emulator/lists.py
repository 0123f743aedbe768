"""Operations that list objects, versions and uploads of a bucket."""

import base64
import binascii
from collections.abc import Callable, Iterator
from heapq import merge
from operator import itemgetter

from s3bench.s3.emulator.call import Call
from s3bench.s3.emulator.documents import document, element, group, iso_time, url_encoded
from s3bench.s3.emulator.listing import Before, Page, page_of, unordered_page_of
from s3bench.s3.emulator.lookup import find_bucket
from s3bench.s3.emulator.store import OWNER, Bucket, ObjectStore, Upload, Version
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.s3_error import S3Error

_KEYS_MAX = 1000

_Write = Callable[[str], str]


class ListOperations:
    """What can be listed."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def objects(self, call: Call) -> Reply:
        """ListObjects, version 1: pages by marker."""
        bucket, write, limit = self._asked(call)
        marker, delimiter = call.query.get("marker", ""), call.query.get("delimiter", "")
        prefix = call.query.get("prefix", "")
        page = page_of(_objects_from(bucket), prefix=prefix, delimiter=delimiter, after=marker, limit=limit)
        # NextMarker comes only with a delimiter; otherwise the last key is the marker.
        following = (element("NextMarker", write(page.last)),) if page.truncated and delimiter else ()
        return call.reply(
            200,
            (),
            document(
                "ListBucketResult",
                element("Name", bucket.name),
                element("Prefix", write(prefix)),
                element("Marker", write(marker)),
                *following,
                *_echoed(call, write, limit, page),
                *(_object(version, write, owner=True) for version in page.entries),
                *_prefixes(page.prefixes, write),
            ),
        )

    def objects_v2(self, call: Call) -> Reply:
        """ListObjectsV2: pages by continuation token."""
        bucket, write, limit = self._asked(call)
        start, token = call.query.get("start-after", ""), call.query.get("continuation-token")
        prefix, delimiter = call.query.get("prefix", ""), call.query.get("delimiter", "")
        after = None if token is None else _decode_token(token)
        if bucket.is_directory:
            entries = _objects_before(bucket, with_uploads=bool(delimiter))
            page = unordered_page_of(entries, prefix=prefix, delimiter=delimiter, before=after, limit=limit)
        else:
            after = start if after is None else after
            page = page_of(_objects_from(bucket), prefix=prefix, delimiter=delimiter, after=after, limit=limit)
        owner = call.query.get("fetch-owner") == "true"
        return call.reply(
            200,
            (),
            document(
                "ListBucketResult",
                element("Name", bucket.name),
                element("Prefix", write(prefix)),
                *((element("StartAfter", write(start)),) if start and token is None else ()),
                *(() if token is None else (element("ContinuationToken", token),)),
                *((element("NextContinuationToken", _token(page.last)),) if page.truncated else ()),
                element("KeyCount", len(page)),
                *_echoed(call, write, limit, page),
                *(_object(version, write, owner=owner) for version in page.entries),
                *_prefixes(page.prefixes, write),
            ),
        )

    def versions(self, call: Call) -> Reply:
        """ListObjectVersions: every version and delete marker, newest first within a key."""
        if call.integer("max-keys", _KEYS_MAX) < 0:  # S3 has another message here than for other lists
            raise _invalid("max-keys cannot be negative", "max-keys")
        bucket, write, limit = self._asked(call)
        marker, id_marker = call.query.get("key-marker", ""), call.query.get("version-id-marker", "")
        if id_marker and not marker:
            raise _invalid(
                "A version-id marker cannot be specified without a key marker.", "version-id-marker", id_marker
            )
        prefix, delimiter = call.query.get("prefix", ""), call.query.get("delimiter", "")
        entries = _versions_from(bucket, marker, id_marker)
        page = page_of(entries, prefix=prefix, delimiter=delimiter, after=marker, limit=limit)
        return call.reply(
            200,
            (),
            document(
                "ListVersionsResult",
                element("Name", bucket.name),
                element("Prefix", write(prefix)),
                element("KeyMarker", write(marker)),
                element("VersionIdMarker", id_marker),
                *_following(page, write),
                *_echoed(call, write, limit, page),
                *(_version(version, write, bucket) for version in page.entries),
                *_prefixes(page.prefixes, write),
            ),
        )

    def uploads(self, call: Call) -> Reply:
        """ListMultipartUploads: uploads under way, by key and then by the time they began."""
        bucket = find_bucket(self._store, call.bucket)
        write, limit = _writer(call), min(call.number("max-uploads", _KEYS_MAX), _KEYS_MAX)
        marker, id_marker = call.query.get("key-marker", ""), call.query.get("upload-id-marker", "")
        prefix, delimiter = call.query.get("prefix", ""), call.query.get("delimiter", "")
        if bucket.is_directory:
            marker, _, id_marker = _decode_token(marker).rpartition("\0") if marker else ("", "", "")
        if (
            marker
            and (marker, id_marker) not in bucket.uploads
            and any(id_marker == name for _, name in bucket.uploads)
        ):
            raise _invalid("Invalid uploadId marker", "upload-id-marker", id_marker)
        entries = _uploads_from(bucket, marker, id_marker)
        page = page_of(entries, prefix=prefix, delimiter=delimiter, after=marker, limit=limit)
        # S3 has these on every page, also the last; of a page that ends with a common prefix they are empty.
        last = page.entries[-1] if page.entries and page.entries[-1].key == page.last else None
        if bucket.is_directory:
            following = _token(f"{page.last}\0{last.upload_id if last else ''}") if page.truncated else ""
            markers = [element("KeyMarker", call.query.get("key-marker", "")), element("NextKeyMarker", following)]
        else:
            markers = [
                element("KeyMarker", write(marker)),
                element("UploadIdMarker", id_marker if marker else ""),
                element("NextKeyMarker", write(page.last) if last else ""),
                element("NextUploadIdMarker", last.upload_id if last else ""),
            ]
        return call.reply(
            200,
            (),
            document(
                "ListMultipartUploadsResult",
                element("Bucket", bucket.name),
                *markers,
                *((element("Prefix", write(prefix)),) if prefix else ()),
                *((element("Delimiter", write(delimiter)),) if delimiter else ()),
                element("MaxUploads", limit),
                *((element("EncodingType", "url"),) if "encoding-type" in call.query else ()),
                element("IsTruncated", "true" if page.truncated else "false"),
                *(_upload(upload, write) for upload in page.entries),
                *_prefixes(page.prefixes, write),
            ),
        )

    def _asked(self, call: Call) -> tuple[Bucket, _Write, int]:
        bucket = find_bucket(self._store, call.bucket)
        return bucket, _writer(call), min(call.number("max-keys", _KEYS_MAX, argument="maxKeys"), _KEYS_MAX)


def _writer(call: Call) -> _Write:
    """How keys are written in the document that `call` asks for."""
    encoding = call.query.get("encoding-type")
    if encoding is None:
        return str
    if encoding != "url":
        raise _invalid("Invalid Encoding Method specified in Request", "encoding-type", encoding)
    return url_encoded


def _echoed(call: Call, write: _Write, limit: int, page: Page[Version]) -> Iterator[str]:
    """What every list of objects repeats of the request."""
    if call.query.get("delimiter"):
        yield element("Delimiter", write(call.query["delimiter"]))
    yield element("MaxKeys", limit)
    if "encoding-type" in call.query:
        yield element("EncodingType", "url")
    yield element("IsTruncated", "true" if page.truncated else "false")


def _following(page: Page[Version], write: _Write) -> tuple[str, ...]:
    """Where the next page begins: behind a common prefix, or behind one version of a key."""
    if not page.truncated:
        return ()
    key = element("NextKeyMarker", write(page.last))
    if page.entries and page.entries[-1].key == page.last:
        return key, element("NextVersionIdMarker", page.entries[-1].version_id)
    return (key,)


def _objects_from(bucket: Bucket) -> Callable[[str, bool], Iterator[tuple[str, Version]]]:
    def entries(start: str, inclusive: bool) -> Iterator[tuple[str, Version]]:  # noqa: FBT001 (listing.From)
        for key in bucket.keys.irange(minimum=start, inclusive=(inclusive, True)):
            version = bucket.keys[key].current
            if version is not None:
                yield key, version

    return entries


def _objects_before(bucket: Bucket, *, with_uploads: bool) -> Before[Version]:
    """Give the objects backwards, and where asked the keys of uploads under way, which only common prefixes show.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
    """

    def entries(start: str, end: str | None) -> Iterator[tuple[str, Version | None]]:
        keys = bucket.keys.irange(minimum=start, maximum=end, inclusive=(True, False), reverse=True)
        found: Iterator[tuple[str, Version | None]] = ((key, bucket.keys[key].current) for key in keys)
        if not with_uploads or not bucket.uploads:
            return found
        most = None if end is None else (end, "")
        places = bucket.uploads.irange(minimum=(start, ""), maximum=most, inclusive=(True, False), reverse=True)
        under_way: Iterator[tuple[str, Version | None]] = ((key, None) for key, _ in places)
        return merge(found, under_way, key=itemgetter(0), reverse=True)

    return entries


def _versions_from(bucket: Bucket, marker: str, id_marker: str) -> Callable[[str, bool], Iterator[tuple[str, Version]]]:
    def entries(start: str, inclusive: bool) -> Iterator[tuple[str, Version]]:  # noqa: FBT001 (listing.From)
        if id_marker and start == marker:
            yield from ((marker, version) for version in bucket.versions_before(marker, id_marker))
        for key in bucket.keys.irange(minimum=start, inclusive=(inclusive, True)):
            yield from ((key, version) for version in bucket.keys[key].versions)

    return entries


def _uploads_from(bucket: Bucket, marker: str, id_marker: str) -> Callable[[str, bool], Iterator[tuple[str, Upload]]]:
    def entries(start: str, inclusive: bool) -> Iterator[tuple[str, Upload]]:  # noqa: FBT001 (listing.From)
        if id_marker and start == marker:
            lowest, inclusive = (marker, id_marker), False
        else:
            lowest = (start, "") if inclusive else (f"{start}\0", "")
        for place in bucket.uploads.irange(minimum=lowest, inclusive=(inclusive, True)):
            yield place[0], bucket.uploads[place]

    return entries


def _checksum(version: Version) -> tuple[str, ...]:
    if version.checksum is None:
        return ()
    return (
        element("ChecksumAlgorithm", version.checksum.algorithm.upper()),
        element("ChecksumType", version.checksum.kind),
    )


def _object(version: Version, write: _Write, *, owner: bool) -> str:
    return group(
        "Contents",
        element("Key", write(version.key)),
        element("LastModified", iso_time(version.modified_s)),
        element("ETag", f'"{version.etag}"'),
        *_checksum(version),
        element("Size", version.size_bytes),
        *((_identity("Owner"),) if owner else ()),
        element("StorageClass", version.description.storage_class),
    )


def _version(version: Version, write: _Write, bucket: Bucket) -> str:
    latest = "true" if bucket.keys[version.key].versions[0] is version else "false"
    common = (
        element("Key", write(version.key)),
        element("VersionId", version.version_id),
        element("IsLatest", latest),
        element("LastModified", iso_time(version.modified_s)),
    )
    if version.deleted:
        return group("DeleteMarker", *common, _identity("Owner"))
    return group(
        "Version",
        *common,
        element("ETag", f'"{version.etag}"'),
        *_checksum(version),
        element("Size", version.size_bytes),
        _identity("Owner"),
        element("StorageClass", version.description.storage_class),
    )


def _upload(upload: Upload, write: _Write) -> str:
    checksum: tuple[str, ...] = ()
    if upload.algorithm:
        checksum = (
            element("ChecksumAlgorithm", upload.algorithm.upper()),
            element("ChecksumType", "COMPOSITE" if upload.composite else "FULL_OBJECT"),
        )
    return group(
        "Upload",
        element("Key", write(upload.key)),
        element("UploadId", upload.upload_id),
        _identity("Initiator"),
        _identity("Owner"),
        element("StorageClass", upload.description.storage_class),
        element("Initiated", iso_time(upload.started_s)),
        *checksum,
    )


def _prefixes(prefixes: list[str], write: _Write) -> Iterator[str]:
    return (group("CommonPrefixes", element("Prefix", write(prefix))) for prefix in prefixes)


def _identity(role: str) -> str:
    return group(role, element("ID", OWNER), element("DisplayName", OWNER))


def _token(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode("utf-8", "surrogatepass")).decode()


def _decode_token(token: str) -> str:
    try:
        key = base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True).decode("utf-8", "surrogatepass")
    except (ValueError, binascii.Error):
        key = ""
    if not key:
        raise _invalid("The continuation token provided is incorrect", "continuation-token")
    return key


def _invalid(message: str, name: str, value: str | None = None) -> S3Error:
    details = (("ArgumentName", name),) if value is None else (("ArgumentName", name), ("ArgumentValue", value))
    return S3Error(status=400, code="InvalidArgument", message=message, details=details)
