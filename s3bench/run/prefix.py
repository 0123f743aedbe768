"""One prefix of a live bucket: lists it, uploads and deletes below it, aborts its uploads, checks every answer.

All clean-up in a live bucket goes through here. A server or proxy may ignore the prefix, encode keys in its own way,
repeat pages for ever, or answer with a web page. A listing is therefore checked page by page before anything of it is
used, and any doubt ends the work with an error: what belongs to somebody else must never be deleted.
"""

from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree  # noqa: ICN001 (boto3 parses the same bytes with it)

from s3bench.errors import S3BenchError

DELETE_KEYS_MAX = 1000
"""Keys of one DeleteObjects request
(https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html)."""

PAGES_MAX = 1_000_000
"""Pages of one listing, a billion keys: a server that never ends its listing is given up there."""

EMPTY_PAGES_MAX = 1000
"""Pages without any key in a row. S3 may send some, for example among many deleted versions."""

_WHY_LENGTH_MAX = 500
_KEY_LENGTH_MAX = 200
_ROOTS = {
    "ListObjectsV2": "ListBucketResult",
    "ListMultipartUploads": "ListMultipartUploadsResult",
    "DeleteObjects": "DeleteResult",
}
"""The root element of each answer (https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_S3.html)."""

_NO_UPLOADS = frozenset({"NoSuchUpload", "NotImplemented"})
"""What servers answer instead of an empty list: `rclone serve s3`, and those that have no multipart uploads."""

_CHECK = "check the server and any proxy in front of it; clean up by other means, or after it is mended"


class ListedObject(NamedTuple):
    """An object as a listing shows it."""

    key: str
    size_bytes: int
    etag: str


class ListedUpload(NamedTuple):
    """A multipart upload that is not complete."""

    key: str
    id: str


class Prefix:
    """What begins with `prefix` in `bucket`, through the boto3 client `client`.

    Every method raises `S3BenchError` when the server refuses, breaks off, or gives an answer that cannot be right.
    """

    def __init__(self, client: Any, bucket: str, prefix: str) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = prefix
        for operation in _ROOTS:
            client.meta.events.register(
                f"before-parse.s3.{operation}", _check_root, unique_id=f"s3bench-root-{operation}"
            )

    def objects(self) -> Iterator[ListedObject]:
        """List the objects. A page with a key outside the prefix yields nothing."""
        for page in self._pages("list_objects_v2", ("ContinuationToken",), "Contents"):
            yield from [
                ListedObject(self._checked(item), _size_of(item), item.get("ETag", ""))
                for item in page.get("Contents", ())
            ]

    def uploads(self) -> Iterator[ListedUpload]:
        """List the uploads that are not complete. A page with a key outside the prefix yields nothing."""
        for page in self._pages("list_multipart_uploads", ("KeyMarker", "UploadIdMarker"), "Uploads"):
            uploads = [ListedUpload(self._checked(item), item.get("UploadId", "")) for item in page.get("Uploads", ())]
            if not all(upload.id for upload in uploads):
                raise _wrong("the server lists a multipart upload without its id")
            yield from uploads

    def delete(self, keys: Iterable[str]) -> int:
        """Delete the objects `keys`; returns how many. Each deletion has to be confirmed by the server."""
        count = 0
        for batch in _batches(keys):
            assert all(key.startswith(self._prefix) for key in batch), "only what was listed here is deleted"
            self._delete(batch)
            count += len(batch)
        return count

    def upload(self, file: Path, key: str) -> None:
        """Upload a file as the object `key`."""
        assert key.startswith(self._prefix), "only what is below the prefix is written"
        self._ask("upload an object", "upload_file", Filename=str(file), Key=key)

    def abort(self, upload: ListedUpload) -> None:
        """Abort an upload."""
        assert upload.key.startswith(self._prefix), "only what was listed here is aborted"
        self._ask("abort an upload", "abort_multipart_upload", Key=upload.key, UploadId=upload.id)

    def _delete(self, batch: list[str]) -> None:
        answer = self._ask("delete objects", "delete_objects", Delete={"Objects": [{"Key": key} for key in batch]})
        refused = answer.get("Errors")
        if refused:
            raise S3BenchError(
                f"{len(refused):,} objects could not be deleted, for example {_shown(refused[0].get('Key'))}",
                f"{refused[0].get('Code')}: {refused[0].get('Message')}"[:_WHY_LENGTH_MAX],
                "clean up again, with credentials that may delete",
            )
        deleted = {item.get("Key") for item in answer.get("Deleted", ())}
        foreign = deleted - set(batch)
        if foreign:
            raise _wrong(f"the server reports that it deleted {_shown(foreign.pop())}, which was not requested")
        missing = set(batch) - deleted
        if missing:
            raise _wrong(f"the server does not confirm {len(missing):,} of {len(batch):,} deletions")

    def _pages(self, operation: str, markers: tuple[str, ...], content: str) -> Iterator[dict[str, Any]]:
        """Yield the pages of a listing; `markers` name the parameters that ask for the next one."""
        seen: set[tuple[str, ...]] = set()
        given: dict[str, str] = {}
        empty = 0
        for _ in range(PAGES_MAX):
            page = self._listing(operation, given)
            if page is None:
                return
            if "IsTruncated" not in page:
                raise _wrong(f"the server's answer does not say whether the listing of {self._where} is complete")
            items = page.get(content, ())
            empty = 0 if items else empty + 1
            begins = (("first", items[0].get("Key", ""), items[0].get("UploadId", "")),) if items else ()
            given = {name: page[f"Next{name}"] for name in markers if page.get(f"Next{name}")}
            signs = (*begins, *((("next", *given.values()),) if given and page["IsTruncated"] else ()))
            if empty > EMPTY_PAGES_MAX or not seen.isdisjoint(signs):
                raise _wrong(f"the server's listing of {self._where} never ends: it repeats itself")
            seen.update(signs)
            yield page
            if not page["IsTruncated"]:
                return
            if not given:
                raise _wrong(f"the server truncated the listing of {self._where} without a continuation token")
        raise _wrong(f"the server's listing of {self._where} has more than {PAGES_MAX:,} pages")

    def _listing(self, operation: str, given: dict[str, str]) -> dict[str, Any] | None:
        """Ask for one page; `None` of a server that has no multipart uploads."""
        from botocore.exceptions import ClientError  # noqa: PLC0415 (loaded with boto3, which the caller has made)

        try:
            return self._ask("list", operation, Prefix=self._prefix, **given)
        except S3BenchError as error:
            refusal = error.__cause__
            is_none = isinstance(refusal, ClientError) and refusal.response["Error"].get("Code") in _NO_UPLOADS
            if operation == "list_multipart_uploads" and is_none:
                return None
            raise

    def _ask(self, what: str, operation: str, **given: Any) -> dict[str, Any]:
        from boto3.exceptions import S3UploadFailedError  # noqa: PLC0415 (as above)
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 (as above)
        from botocore.parsers import ResponseParserError  # noqa: PLC0415 (as above)

        try:
            answer: dict[str, Any] = getattr(self._client, operation)(Bucket=self._bucket, **given)
        except ClientError as error:
            if error.response["Error"].get("Code", "").isdecimal():  # boto3 puts the status where S3 said nothing
                raise S3BenchError(
                    f"the server did not answer as S3 does when asked to {what} under {self._where}",
                    f"the answer was not XML, or an error without a code: {error}"[:_WHY_LENGTH_MAX],
                    _CHECK,
                ) from error
            raise self._refused(what, error) from error
        except S3UploadFailedError as error:
            raise self._refused(what, error) from error
        except (ResponseParserError, ValueError, OverflowError) as error:
            raise S3BenchError(
                f"the server's answer cannot be read: asked to {what} under {self._where}",
                str(error)[:_WHY_LENGTH_MAX],
                _CHECK,
            ) from error
        except BotoCoreError as error:
            raise S3BenchError(
                f"the server did not answer when asked to {what} under {self._where}",
                str(error)[:_WHY_LENGTH_MAX],
                "check that the endpoint can be reached, then try again",
            ) from error
        return answer

    def _refused(self, what: str, error: Exception) -> S3BenchError:
        return S3BenchError(
            f"the server refused to {what} under {self._where}",
            str(error)[:_WHY_LENGTH_MAX],
            "check the credentials and what they may do, then try again",
        )

    def _checked(self, item: dict[str, Any]) -> str:
        """The key of a listed item, which must lie below the prefix."""
        key: str = item.get("Key") or ""
        if not key:
            raise _wrong(f"the server lists something without a key under {self._where}")
        if not key.startswith(self._prefix):
            raise _wrong(f"the server was asked for keys that begin with {self._prefix!r} and lists {_shown(key)}")
        return key

    @property
    def _where(self) -> str:
        return f"{self._prefix!r} in bucket {self._bucket!r}"


def _check_root(operation_model: Any, response_dict: dict[str, Any], **_: object) -> None:
    """Refuse a success that is no answer of S3's: boto3 takes any other document for an empty list."""
    if response_dict["status_code"] >= 300:  # noqa: PLR2004 (success ends there)
        return
    expected = _ROOTS[operation_model.name]
    try:
        document = ElementTree.iterparse(BytesIO(response_dict["body"]), events=("start",))  # noqa: S314 (boto3 reads the same, and expat bounds entities)
        found = next(element.tag.rpartition("}")[2] for _, element in document)
    except (ElementTree.ParseError, StopIteration, ValueError, LookupError):
        found = ""
    if found != expected:
        what = f"a document <{found[:_KEY_LENGTH_MAX]}>" if found else "no XML document"
        raise _wrong(f"the server answers {operation_model.name} with {what}, not <{expected}>")


def _size_of(item: dict[str, Any]) -> int:
    size_bytes = item.get("Size")
    if not isinstance(size_bytes, int) or size_bytes < 0:
        raise _wrong(f"the server lists {_shown(item.get('Key'))} without its size")
    return size_bytes


def _wrong(what: str) -> S3BenchError:
    return S3BenchError(what, "a server that answers so cannot be cleaned up safely, and the work stopped here", _CHECK)


def _shown(key: str | None) -> str:
    """A key of the server's in quotes, cut where it is long."""
    return repr(key if key is None or len(key) <= _KEY_LENGTH_MAX else f"{key[:_KEY_LENGTH_MAX]}...")


def _batches(keys: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for key in keys:
        batch.append(key)
        if len(batch) == DELETE_KEYS_MAX:
            yield batch
            batch = []
    if batch:
        yield batch
