"""Handles every request of the emulator: checks it, does its operation, and makes the reply.

In this order: signature, operation, length, checksums, then the operation itself. Small, plain reads and writes take a
shorter way to the same reply.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from s3bench.s3.emulator.addressing import BucketAddressing, Scheme
from s3bench.s3.emulator.buckets import BucketOperations
from s3bench.s3.emulator.call import Call, Headers
from s3bench.s3.emulator.conditions import check_taken
from s3bench.s3.emulator.configuration import ConfigurationOperations
from s3bench.s3.emulator.content import noise_block
from s3bench.s3.emulator.copying import CopyOperation
from s3bench.s3.emulator.default_encryption import DefaultEncryptionOperations
from s3bench.s3.emulator.deleting import DeleteOperations
from s3bench.s3.emulator.describing import check_declared_checksums, describe
from s3bench.s3.emulator.directory_bucket import (
    SESSION_TOKEN,
    check_general_purpose,
    check_supported,
    is_directory_bucket,
)
from s3bench.s3.emulator.encryption import check_part
from s3bench.s3.emulator.lists import ListOperations
from s3bench.s3.emulator.loading import Loaded, Loader
from s3bench.s3.emulator.locking import LockOperations
from s3bench.s3.emulator.lookup import check_key_length, find_bucket
from s3bench.s3.emulator.members import TRANSPORT, check_members
from s3bench.s3.emulator.memory import Memory
from s3bench.s3.emulator.operation import (
    WRITES_DATA,
    Operation,
    RequestedOperation,
    not_implemented,
    only_signed,
    operation_of,
    parse_query,
)
from s3bench.s3.emulator.plain_writing import CollectedBody, PlainWrites, is_plain_write
from s3bench.s3.emulator.posting import FormUpload, PostOperation
from s3bench.s3.emulator.reading import ReadOperations
from s3bench.s3.emulator.receiving import (
    DEFAULT_ALGORITHM,
    REPLY_KEPT_BYTES_MAX,
    SMALL_BYTES,
    Intentions,
    Receiver,
    XmlDocument,
)
from s3bench.s3.emulator.renaming import RenameOperation
from s3bench.s3.emulator.sessions import SessionOperations, Sessions, check_session
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.emulator.sharing import SharingOperations
from s3bench.s3.emulator.store import ObjectStore
from s3bench.s3.emulator.tagging import TagOperations
from s3bench.s3.emulator.uploads import PART_BYTES_MAX, UploadOperations, find_upload, parse_part_number, too_large
from s3bench.s3.emulator.writing import WriteOperations
from s3bench.s3.protocol.checksums import PAYLOAD_HASH_PARAMETER, load_algorithms
from s3bench.s3.protocol.decimals import parse_decimal
from s3bench.s3.protocol.exchange import Reply, RequestBody, Sink, Unwanted
from s3bench.s3.protocol.framing import ChunkCheck
from s3bench.s3.protocol.http import RequestHead
from s3bench.s3.protocol.s3_error import S3Error, s3_error_reply
from s3bench.s3.signing.authentication import Authenticator, Signature
from s3bench.s3.signing.signature_parameters import invalid_payload_hash
from s3bench.s3.signing.sigv4 import EMPTY_SHA256, EXPRESS_SERVICE, SERVICE, UNSIGNED_PAYLOAD

_NO_PAYLOAD = frozenset({UNSIGNED_PAYLOAD, EMPTY_SHA256})
_UNENCRYPTED = (
    "nothing is encrypted: the emulator checks, keeps and returns what requests say about encryption, no more"
)


class Emulator:
    """The `exchange.Handler` that is an S3; raises `BadInput` when its data directory cannot be read.

    `now` gives seconds since 1970. `before` is what an emulator of the same settings had `loaded`; it is used up.
    `scheme` is that of the URLs at which clients reach it.
    """

    def __init__(
        self,
        settings: EmulatorSettings,
        now: Callable[[], float] = time.time,
        *,
        before: dict[Path, Loaded] | None = None,
        scheme: Scheme = "http",
    ) -> None:
        self._settings = settings
        self._now = now
        self._memory = Memory(settings.memory_limit_bytes)
        noise = noise_block(settings.seed) if settings.discard else None
        self._intentions = Intentions(self._memory, noise=noise, md5_always=settings.md5_always)
        self._store = ObjectStore(settings.seed, settings.region)
        self._authenticator: Authenticator | None = None
        if settings.access_key is not None and settings.secret_key is not None:
            self._authenticator = Authenticator(settings.access_key, settings.secret_key, settings.region, now)
        self._sessions = Sessions(f"{settings.seed} {settings.secret_key or ''}")
        self._addressing = BucketAddressing(settings.domain, scheme)
        self._bucket_of = self._addressing.bucket_of
        self._said_unencrypted = False
        self._read_only = settings.data_dir is not None
        self._reads = ReadOperations(self._store, faithful=self._intentions.faithful)
        self._sharing = SharingOperations(self._store, self._memory)
        self._writes = WriteOperations(self._store, self._intentions)
        self._plain_writes = PlainWrites(self._intentions, self._writes)
        self._posts = PostOperation(
            self._store, self._intentions, self._writes, self._addressing, self._authenticator, now
        )
        self._operations = self._table()
        load_algorithms()
        for name in settings.buckets:
            self._store.make(name, now())
        self._loader = Loader(self._store, self._intentions, now, before=before or {})
        if settings.data_dir is not None:
            self._loader.load_directory(Path(settings.data_dir))

    @property
    def objects(self) -> int:
        """How many object versions are stored."""
        return self._store.objects

    @property
    def held_bytes(self) -> int:
        """What they and what is kept about them take of the memory limit."""
        return self._memory.held_bytes

    @property
    def loaded(self) -> dict[Path, Loaded]:
        """The files that it was loaded with, for the next emulator."""
        return self._loader.loaded

    @property
    def warnings(self) -> tuple[str, ...]:
        """What of its data directory it does not serve, in words."""
        return tuple(self._loader.warnings)

    def drain_warnings(self) -> tuple[str, ...]:
        """What users should know about their requests since the last call, in words; each thing once."""
        if self._store.asked_to_encrypt and not self._said_unencrypted:
            self._said_unencrypted = True
            return (_UNENCRYPTED,)
        return ()

    def load(self, bucket: str, key: str, file: Path) -> None:
        """Store the content of `file` as `key`, before the first request; `bucket` is made where it is missing.

        Raises `OSError` when the file cannot be read, `S3Error` when it does not fit into the memory limit.
        """
        self._loader.load(bucket, key, file)

    # What the server calls.

    def begin(self, head: RequestHead) -> Sink:
        """Where the body of `head` goes, or that it is not wanted."""
        if is_plain_write(head):
            return CollectedBody()
        try:
            return self._admit(head)
        except S3Error as error:
            return Unwanted(error)

    def finish(self, head: RequestHead, body: RequestBody, date_line: bytes) -> Reply:
        """Make the reply to a whole request."""
        try:
            if (
                head.method == "GET"
                and not head.garbled
                and body.sink is None
                and TRANSPORT.issuperset(head.fields)
                and _is_without_payload(head)
            ):
                reply = self._plain_read(head, date_line)
                if reply is not None:
                    return reply
            if isinstance(body.sink, CollectedBody):
                reply = self._plain_write(head, body.sink.data, date_line)
                if reply is not None:
                    return reply
            if head.method == "OPTIONS" and not head.garbled:  # browsers do not sign it
                bucket, key = self._target(head)
                call = Call(head=head, bucket=bucket, key=key, query={}, now_s=self._now(), date_line=date_line)
                return self._sharing.preflight(call)
            return self._answer(head, body, date_line)
        except S3Error as error:
            error.headers = (*error.headers, *self._cross_origin(head))
            return s3_error_reply(head, error, date_line)

    def _cross_origin(self, head: RequestHead) -> Headers:
        """Give the headers that a browser needs to show the reply to a page; none for others."""
        if "origin" not in head.fields or head.garbled or head.method == "OPTIONS":
            return ()
        bucket = self._bucket_of(head.fields.get("host", "")) or head.path.removeprefix("/").partition("/")[0]
        return self._sharing.headers_for(head, bucket)

    def _plain_read(self, head: RequestHead, date_line: bytes) -> Reply | None:
        """Give the reply to a GET of a whole current object, where there is one. Raises `S3Error`."""
        if self._bucket_of(head.fields.get("host", "")):
            return None
        name, _, key = head.path[1:].partition("/")
        bucket = self._store.buckets.get(name)
        version = None if bucket is None or not key else bucket.current(key)
        if bucket is None or version is None:
            return None
        self._authenticate(head, name)
        if version.reply_date is not date_line:
            call = Call(head=head, bucket=name, key=key, query={}, now_s=0.0, date_line=date_line)
            reply = self._reads.plain(call, bucket, version)
            if REPLY_KEPT_BYTES_MAX < version.size_bytes <= SMALL_BYTES:
                return reply
            version.reply = reply
            version.reply_date = date_line
        return version.reply

    def _plain_write(self, head: RequestHead, data: bytes, date_line: bytes) -> Reply | None:
        """Store a small object, if there is no more to it, and give the reply. Raises `S3Error`."""
        name, key = self._target(head)
        bucket = self._store.buckets.get(name)
        if bucket is None or bucket.is_directory or not key or self._read_only:
            return None
        self._authenticate(head, name)
        return self._plain_writes.put(head, bucket, key, data, now_s=self._now(), date_line=date_line)

    def _admit(self, head: RequestHead) -> Receiver | FormUpload | XmlDocument:
        """Find out what is asked for, and make ready for the body. Raises `S3Error` where it may not be done."""
        if head.garbled:
            raise S3Error(status=400, code="InvalidURI", message="Couldn't parse the specified URI.")
        bucket = self._bucket_of(head.fields.get("host", "")) or head.path.removeprefix("/").partition("/")[0]
        is_form = head.method == "POST" and only_signed(head.query)  # no sub-resource; its signature is in the form
        signature = None if is_form else self._authenticate(head, bucket)
        bucket, key = self._target(head)
        query = parse_query(head.query)
        operation = operation_of(head.method, bucket, key, query, head.fields)
        is_streaming = head.has_body and head.fields.get("x-amz-content-sha256", "").startswith("STREAMING-")
        if is_streaming and operation not in WRITES_DATA:
            raise invalid_payload_hash()  # nothing would check the signatures of the chunks
        if operation is not Operation.POST_OBJECT:
            check_members(operation, head.fields, query)
        self._check_bucket_type(operation, bucket, head, query)
        asked = RequestedOperation(operation, bucket, key, query)
        if self._read_only and head.method not in {"GET", "HEAD"}:
            raise S3Error(status=403, code="AccessDenied", message="This endpoint serves a directory, read-only.")
        if operation is Operation.POST_OBJECT:
            return self._posts.receive(head, bucket)
        if operation in WRITES_DATA:
            return self._receiver(head, asked, None if signature is None else signature.chunk_check())
        if head.has_body and operation is not Operation.COMPLETE_MULTIPART_UPLOAD:
            check_declared_checksums(head)
        return XmlDocument(head, asked, self._memory)

    def _authenticate(self, head: RequestHead, bucket: str) -> Signature | None:
        """Check session and signature of a request to `bucket`; `None` without keys. Raises `S3Error`."""
        if not is_directory_bucket(bucket):
            if SESSION_TOKEN in head.fields:
                raise not_implemented(SESSION_TOKEN, header=SESSION_TOKEN)
            if self._authenticator is None:
                return None
            return self._authenticator.check(head, service=SERVICE if bucket else None)
        session = self._sessions.session_of(head, bucket, self._now())
        if self._authenticator is None:
            return None
        if session is None:
            return self._authenticator.check(head, service=EXPRESS_SERVICE)
        # The CRT of the AWS CLI signs for s3 here, so S3 takes that as well.
        return self._authenticator.check(head, service=None, credentials=(session.access_key, session.keys))

    def _check_bucket_type(self, operation: Operation, name: str, head: RequestHead, query: Mapping[str, str]) -> None:
        """Reject what buckets of the type that `name` says do not have. Raises `S3Error`."""
        if is_directory_bucket(name):
            check_session(operation, head)
            bucket = self._store.buckets.get(name)
            check_supported(operation, head.fields, query, None if bucket is None else bucket.encryption)
        elif name:
            check_general_purpose(operation, head.fields)

    def _answer(self, head: RequestHead, body: RequestBody, date_line: bytes) -> Reply:
        sink = body.sink
        if isinstance(sink, Unwanted):
            raise sink.error
        if sink is None or isinstance(sink, CollectedBody):
            collected, sink = sink, self._admit(head)
            if collected is not None:
                sink.update(memoryview(collected.data))
        assert isinstance(sink, Receiver | FormUpload | XmlDocument)
        checksums, error = sink.outcome(body.trailers)
        if error is not None:
            error.headers = (*error.headers, *self._cross_origin(head))
            return s3_error_reply(head, error, date_line, checksums=checksums, error=error.message)
        cross_origin = self._cross_origin(head)
        if isinstance(sink, FormUpload):
            head, sink = sink.head, sink.receiver
        operation, bucket, key, query = sink.asked
        call = Call(
            head=head,
            bucket=bucket,
            key=key,
            query=query,
            now_s=self._now(),
            date_line=date_line,
            sink=sink,
            checksums=checksums,
            cross_origin=cross_origin,
        )
        return self._operations[operation](call)

    # How it does that.

    def _table(self) -> dict[Operation, Callable[[Call], Reply]]:
        buckets = BucketOperations(self._store, self._settings.region)
        configurations = ConfigurationOperations(self._store)
        encryptions = DefaultEncryptionOperations(self._store)
        locks = LockOperations(self._store)
        lists = ListOperations(self._store)
        reads, writes = self._reads, self._writes
        tags = TagOperations(self._store, writes)
        copies = CopyOperation(self._store, self._intentions, writes)
        deletes = DeleteOperations(self._store, writes)
        uploads = UploadOperations(self._store, self._intentions, writes, self._addressing)
        return {
            Operation.LIST_BUCKETS: buckets.list_buckets,
            Operation.CREATE_BUCKET: buckets.create,
            Operation.LIST_DIRECTORY_BUCKETS: buckets.list_directory_buckets,
            Operation.HEAD_BUCKET: buckets.head,
            Operation.CREATE_SESSION: SessionOperations(self._store, self._sessions).create,
            Operation.DELETE_BUCKET: buckets.delete,
            Operation.GET_BUCKET_LOCATION: buckets.location,
            Operation.GET_BUCKET_VERSIONING: buckets.versioning,
            Operation.PUT_BUCKET_VERSIONING: buckets.set_versioning,
            Operation.GET_BUCKET_TAGGING: buckets.tagging,
            Operation.PUT_BUCKET_TAGGING: buckets.set_tagging,
            Operation.DELETE_BUCKET_TAGGING: buckets.delete_tagging,
            Operation.PUT_BUCKET_ACL: configurations.set_acl,
            **configurations.bucket_reads(),
            Operation.GET_BUCKET_CORS: self._sharing.rules,
            Operation.PUT_BUCKET_CORS: self._sharing.set_rules,
            Operation.DELETE_BUCKET_CORS: self._sharing.delete_rules,
            Operation.GET_BUCKET_ENCRYPTION: encryptions.default,
            Operation.PUT_BUCKET_ENCRYPTION: encryptions.set_default,
            Operation.DELETE_BUCKET_ENCRYPTION: encryptions.delete_default,
            Operation.GET_OBJECT_LOCK_CONFIGURATION: locks.configuration,
            Operation.PUT_OBJECT_LOCK_CONFIGURATION: locks.set_configuration,
            Operation.GET_OBJECT_RETENTION: locks.retention,
            Operation.PUT_OBJECT_RETENTION: locks.set_retention,
            Operation.GET_OBJECT_LEGAL_HOLD: locks.legal_hold,
            Operation.PUT_OBJECT_LEGAL_HOLD: locks.set_legal_hold,
            Operation.LIST_OBJECTS: lists.objects,
            Operation.LIST_OBJECTS_V2: lists.objects_v2,
            Operation.LIST_OBJECT_VERSIONS: lists.versions,
            Operation.LIST_MULTIPART_UPLOADS: lists.uploads,
            Operation.DELETE_OBJECTS: deletes.delete_many,
            Operation.PUT_OBJECT: writes.put,
            Operation.POST_OBJECT: self._posts.post,
            Operation.COPY_OBJECT: copies.copy,
            Operation.RENAME_OBJECT: RenameOperation(self._store).rename,
            Operation.GET_OBJECT: reads.get,
            Operation.HEAD_OBJECT: reads.get,
            Operation.DELETE_OBJECT: deletes.delete,
            Operation.GET_OBJECT_ATTRIBUTES: reads.attributes,
            Operation.GET_OBJECT_TAGGING: tags.tagging,
            Operation.PUT_OBJECT_TAGGING: tags.set_tagging,
            Operation.DELETE_OBJECT_TAGGING: tags.delete_tagging,
            Operation.GET_OBJECT_ACL: configurations.object_acl,
            Operation.PUT_OBJECT_ACL: configurations.set_acl,
            Operation.CREATE_MULTIPART_UPLOAD: uploads.create,
            Operation.UPLOAD_PART: uploads.put_part,
            Operation.UPLOAD_PART_COPY: uploads.copy_part,
            Operation.LIST_PARTS: uploads.list_parts,
            Operation.COMPLETE_MULTIPART_UPLOAD: uploads.complete,
            Operation.ABORT_MULTIPART_UPLOAD: uploads.abort,
        }

    def _target(self, head: RequestHead) -> tuple[str, str]:
        """Give the bucket and the key that a request names, by its path or by its Host header. Raises `S3Error`."""
        place = head.path.removeprefix("/")
        bucket = self._bucket_of(head.fields.get("host", ""))
        if bucket:
            key = place
        else:
            bucket, _, key = place.partition("/")
        check_key_length(key)
        return bucket, key

    def _receiver(self, head: RequestHead, asked: RequestedOperation, chunk_check: ChunkCheck | None) -> Receiver:
        """Make ready for object data. Raises `S3Error` where it cannot be taken."""
        size_bytes = _declared_size(head)
        if size_bytes > PART_BYTES_MAX:
            raise too_large(size_bytes)
        check_declared_checksums(head)
        bucket = find_bucket(self._store, asked.bucket)
        algorithm = None
        in_parts = asked.operation is Operation.UPLOAD_PART
        if in_parts:
            parse_part_number(asked.query)
            upload = find_upload(bucket, asked.key, asked.query.get("uploadId", ""))
            algorithm = upload.algorithm or DEFAULT_ALGORITHM
            description = upload.description
            check_part(head.fields, description.encryption)
        else:  # what the headers alone decide is rejected before the body comes
            description = describe(head.fields, bucket)
            check_taken(head.fields)
        return self._intentions.receive(
            head,
            asked,
            size_bytes,
            algorithm=algorithm,
            description=description,
            in_parts=in_parts,
            chunk_check=chunk_check,
        )


def _is_without_payload(head: RequestHead) -> bool:
    """Whether a request without a body says nothing else about its payload, and its query nothing but a signature."""
    query = head.query
    return head.fields.get("x-amz-content-sha256", UNSIGNED_PAYLOAD) in _NO_PAYLOAD and (
        not query or (only_signed(query) and PAYLOAD_HASH_PARAMETER not in query)
    )


def _declared_size(head: RequestHead) -> int:
    """Give the size of the object data that follows. Raises `S3Error` where the request does not say."""
    decoded = head.fields.get("x-amz-decoded-content-length")
    decoded_bytes = None if decoded is None else parse_decimal(decoded)
    if decoded_bytes is not None:
        return decoded_bytes
    streaming = head.fields.get("x-amz-content-sha256", "").startswith("STREAMING-")
    if "content-length" in head.fields and not streaming:
        return head.length
    if head.chunked and not streaming:
        message = "A header you provided implies functionality that is not implemented: Transfer-Encoding"
        raise S3Error(status=501, code="NotImplemented", message=message)
    message = "You must provide the Content-Length HTTP header."
    raise S3Error(status=411, code="MissingContentLength", message=message)
