"""Browser-based uploads: an HTML form, posted to a bucket, whose last field is the file (PostObject).

The signature covers the policy in the form, and the policy says what the other fields may be
(https://docs.aws.amazon.com/AmazonS3/latest/API/RESTObjectPOST.html). Once the fields have come, the request is either
rejected, and the file is dropped as it arrives, or the file is stored as it arrives, like the body of PutObject.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from s3bench.s3.emulator.addressing import BucketAddressing
from s3bench.s3.emulator.call import Call
from s3bench.s3.emulator.describing import check_declared_checksums, check_metadata_size, describe
from s3bench.s3.emulator.documents import element, form_document, root_of
from s3bench.s3.emulator.encryption import written_headers
from s3bench.s3.emulator.form import FIELDS_BYTES_MAX, FieldReader, FileReader, boundary_of, malformed_form
from s3bench.s3.emulator.lookup import check_key_length, find_bucket
from s3bench.s3.emulator.members import HONOURED, TRANSPORT, check_members, parse_tagging
from s3bench.s3.emulator.operation import Operation, RequestedOperation, not_implemented
from s3bench.s3.emulator.post_policy import check_size, parse_policy
from s3bench.s3.emulator.receiving import Intentions, Receiver
from s3bench.s3.emulator.store import ObjectStore, Tags
from s3bench.s3.emulator.uploads import PART_BYTES_MAX, too_large
from s3bench.s3.emulator.writing import WriteOperations, made_version_headers
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.http import RequestHead
from s3bench.s3.protocol.s3_error import S3Error
from s3bench.s3.signing.authentication import Authenticator
from s3bench.s3.signing.signature_parameters import FORM_SIGNATURE_FIELDS, missing_field

_FILE_NAME = "${filename}"
_METADATA = "x-amz-meta-"
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")  # RFC 9110 5.6.2
_NOT_LATIN = re.compile(r"[^\x00-\xff]")
_LINK = re.compile(r"https?://[!-~]+", re.IGNORECASE)
_STATUSES = {"200": 200, "201": 201}


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """The file of a form whose fields were accepted: where it goes, and how large its policy wants it.

    `head` is that of the request, with the fields of the form in place of its own.
    """

    head: RequestHead
    receiver: Receiver
    size_ranges: tuple[tuple[int, int], ...]


class FormUpload:
    """Takes a posted form; an `exchange.Sink`.

    `begin_file` gets the fields, and the most bytes that the file can have; it raises `S3Error` to reject the form.
    """

    __slots__ = ("_begin_file", "_error", "_fields", "_file", "_hold", "_length", "_reader", "_size_bytes")

    chunk_check = None

    def __init__(
        self,
        boundary: bytes,
        length: int,
        begin_file: Callable[[FieldReader, int], _File],
        hold: object,
    ) -> None:
        self._fields = FieldReader(boundary)
        self._reader = FileReader(boundary)
        self._length = length  # what of the body is still to come
        self._begin_file = begin_file
        self._hold = hold
        self._file: _File | None = None
        self._error: S3Error | None = None
        self._size_bytes = 0

    def update(self, piece: memoryview, /) -> None:
        """Read fields, or store the next bytes of the file."""
        if self._error is not None:
            return
        if self._file is None:
            try:
                begun = self._read_fields(piece)
            except S3Error as error:
                self._error = error.with_traceback(None)  # whose frames would hold this upload
                return
            if begun is None:
                return
            piece = begun
        assert self._file is not None
        for part in self._reader.feed(piece):
            self._size_bytes += len(part)
            self._file.receiver.update(part)

    def _read_fields(self, piece: memoryview) -> memoryview | None:
        self._length -= len(piece)
        begun = self._fields.feed(piece)
        if begun is not None:
            room_bytes = max(0, self._length + len(begun) - self._reader.framing_bytes)
            self._file = self._begin_file(self._fields, room_bytes)
        return begun

    def outcome(self, trailers: dict[str, str]) -> tuple[dict[str, bool], S3Error | None]:
        """Which declared checksums were right, and the error that rejects the form."""
        if self._error is not None:
            return {}, self._error
        if self._file is None or not self._reader.ended:
            return {}, malformed_form()
        try:
            check_size(self._file.size_ranges, self._size_bytes)
        except S3Error as error:
            return {}, error.with_traceback(None)
        self._file.receiver.end()
        return self._file.receiver.outcome(trailers)

    @property
    def head(self) -> RequestHead:
        """The head of the request, with the fields of the form in place of its own."""
        assert self._file is not None
        return self._file.head

    @property
    def receiver(self) -> Receiver:
        """The data of the file."""
        assert self._file is not None
        return self._file.receiver


class PostOperation:
    """PostObject; `now` gives seconds since 1970. Without an `authenticator`, signatures are not looked at."""

    def __init__(
        self,
        store: ObjectStore,
        intentions: Intentions,
        writes: WriteOperations,
        addressing: BucketAddressing,
        authenticator: Authenticator | None,
        now: Callable[[], float],
    ) -> None:
        self._store = store
        self._intentions = intentions
        self._writes = writes
        self._addressing = addressing
        self._authenticator = authenticator
        self._now = now

    def receive(self, head: RequestHead, bucket: str) -> FormUpload:
        """Make ready for a form that is posted to `bucket`. Raises `S3Error`."""
        for name in head.fields:
            if name.startswith("x-amz-") and name not in TRANSPORT:
                raise not_implemented(name, header=name)
        boundary = boundary_of(head.fields.get("content-type", ""))
        if head.chunked:
            message = "You must provide the Content-Length HTTP header."
            raise S3Error(status=411, code="MissingContentLength", message=message)
        find_bucket(self._store, bucket)

        def begin_file(fields: FieldReader, room_bytes: int) -> _File:
            return self._begin_file(head, bucket, fields, room_bytes)

        hold = self._intentions.memory.hold(FIELDS_BYTES_MAX, reserve=True)
        return FormUpload(boundary, head.length, begin_file, hold)

    def post(self, call: Call) -> Reply:
        """Store the file; reply as the form asks."""
        bucket, version = self._writes.store_received(call)
        headers = [("ETag", f'"{version.etag}"'), *written_headers(version.description.encryption)]
        headers += made_version_headers(bucket, version)
        redirect = _redirect(call, version.etag)
        if redirect:
            return call.reply(303, [*headers, ("Location", redirect)])
        location = self._addressing.url_of(call.fields["host"], call.bucket, call.key)
        headers.append(("Location", location))
        status = _STATUSES.get(call.fields.get("success_action_status", ""), 204)
        if status != 201:  # noqa: PLR2004 (201 Created, which has a document)
            return call.reply(status, headers)
        response = form_document(
            "PostResponse",
            element("Location", location),
            element("Bucket", call.bucket),
            element("Key", call.key),
            element("ETag", f'"{version.etag}"'),
        )
        return call.reply(status, headers, response)

    def _begin_file(self, head: RequestHead, bucket_name: str, reader: FieldReader, room_bytes: int) -> _File:
        """Check the fields, and make ready for at most `room_bytes` of the file. Raises `S3Error`."""
        fields = _expanded(reader)
        if self._authenticator is not None:
            self._authenticator.check_form(fields)
        size_ranges: tuple[tuple[int, int], ...] = ()
        if "policy" in fields:
            policy = parse_policy(fields["policy"])
            policy.check({**fields, "bucket": bucket_name}, self._now())
            size_ranges = policy.size_ranges
        key = _key(fields)
        bucket = find_bucket(self._store, bucket_name)
        said = _said(fields)
        head = msgspec.structs.replace(head, fields={**said, "host": head.fields.get("host", "")})
        check_declared_checksums(head)
        description = replace(
            describe(head.fields, bucket), metadata=_metadata(fields), tags=_tags(fields.get("tagging", ""))
        )
        room_bytes = min([room_bytes, *(most for _, most in size_ranges)])
        if room_bytes > PART_BYTES_MAX:
            raise too_large(room_bytes)
        receiver = self._intentions.receive(
            head,
            RequestedOperation(Operation.POST_OBJECT, bucket_name, key, {}),
            room_bytes,
            algorithm=None,
            description=description,
            in_parts=False,
            chunk_check=None,
        )
        return _File(head=head, receiver=receiver, size_ranges=size_ranges)


def _expanded(reader: FieldReader) -> dict[str, str]:
    """Give the fields with the name of the file in place of its variable, where the form names it."""
    name = reader.file_name
    if name is None:
        return reader.fields
    return {field: value.replace(_FILE_NAME, name) for field, value in reader.fields.items()}


def _key(fields: Mapping[str, str]) -> str:
    key = fields.get("key")
    if key is None:
        raise missing_field("key")
    if not key:
        message, details = "User key must have a length greater than 0.", (("ArgumentName", "key"),)
        raise S3Error(status=400, code="InvalidArgument", message=message, details=details)
    check_key_length(key)
    return key


def _said(fields: Mapping[str, str]) -> dict[str, str]:
    """Give what the form says of its object and of the reply, as headers of PutObject would; not the user metadata.

    Raises `S3Error`.
    """
    said = {}
    for name, value in fields.items():
        if name in TRANSPORT or name in FORM_SIGNATURE_FIELDS:
            continue
        if name in HONOURED[Operation.POST_OBJECT] or (name.startswith("x-amz-") and not name.startswith(_METADATA)):
            said[name] = _NOT_LATIN.sub(" ", value)
    check_members(Operation.POST_OBJECT, said, {})
    if "acl" in said:
        said["x-amz-acl"] = said.pop("acl")
    return said


def _metadata(fields: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Read the user metadata, which is UTF-8 in a form and never an encoded word. Raises `S3Error`."""
    metadata = [(name.removeprefix(_METADATA), value) for name, value in fields.items() if name.startswith(_METADATA)]
    for name, _ in metadata:
        if _HEADER_NAME.fullmatch(name) is None:
            message, details = "The name of the metadata is no name of a header.", (("ArgumentName", name),)
            raise S3Error(status=400, code="InvalidArgument", message=message, details=details)
    check_metadata_size(sum(len(name.encode()) + len(value.encode()) for name, value in metadata))
    return tuple(sorted(metadata))


def _tags(text: str) -> Tags:
    """Read the field `tagging`; as recorded, a document of another kind has no tags. Raises `S3Error`."""
    if not text:
        return ()
    data = text.encode()
    return parse_tagging(data, "object") if root_of(data) == "Tagging" else ()


def _redirect(call: Call, etag: str) -> str:
    """Give the URL that the form wants the browser to go to; empty where it has none, or none that is one."""
    url = call.fields.get("success_action_redirect") or call.fields.get("redirect", "")
    if _LINK.fullmatch(url) is None:
        return ""
    try:
        query = urlsplit(url).query
    except ValueError:
        return ""
    told = urlencode({"bucket": call.bucket, "key": call.key, "etag": f'"{etag}"'}, quote_via=quote)
    return f"{url}{'&' if query else '?'}{told}"
