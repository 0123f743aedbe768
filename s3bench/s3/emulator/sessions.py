"""Sessions of directory buckets: CreateSession, and the credentials that its reply has.

A session is for one bucket and ends after five minutes
(https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateSession.html). Its token says all about it and carries a
message authentication code, so nothing is kept about sessions.

The CRT asks the host of its requests for a session and leaves out the path. At an endpoint that is an IP address the
bucket is in the path, so there the request names none: such a session is for all directory buckets.
"""

import base64
import binascii
import hmac
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from s3bench.s3.emulator.call import Call
from s3bench.s3.emulator.directory_bucket import SESSION_MODE, SESSION_TOKEN
from s3bench.s3.emulator.documents import document, element, group, iso_time
from s3bench.s3.emulator.encryption import completed_headers, effective_default
from s3bench.s3.emulator.lookup import find_bucket
from s3bench.s3.emulator.operation import Operation, not_implemented
from s3bench.s3.emulator.store import ObjectStore
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.http import RequestHead
from s3bench.s3.protocol.s3_error import S3Error
from s3bench.s3.signing.sigv4 import SigningKeys, decode

SESSION_S = 300
"""How long a session lasts."""

_QUERY_TOKEN = "X-Amz-S3session-Token="  # noqa: S105 (the name of a query parameter)
_OF_THE_ACCOUNT = frozenset({Operation.CREATE_SESSION, Operation.COPY_OBJECT, Operation.UPLOAD_PART_COPY})
_DIGEST_BYTES = 32
_KNOWN_MAX = 1024


class _Claims(msgspec.Struct, frozen=True, array_like=True):
    """What a token says. `count` distinguishes sessions that begin in the same second."""

    bucket: str
    expires_s: int
    is_read_only: bool
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressSession:
    """Temporary credentials for `bucket` (empty: for all), good until `expires_s` (seconds since 1970)."""

    bucket: str
    access_key: str
    secret_key: str
    token: str
    expires_s: int
    is_read_only: bool
    keys: SigningKeys


class Sessions:
    """Makes and recognises sessions; those of the same `secret` are the same."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._count = 0
        self._read = lru_cache(maxsize=_KNOWN_MAX)(self._parse)

    def create(self, bucket: str, now_s: float, *, is_read_only: bool = False) -> ExpressSession:
        """Begin a session for `bucket`, or for all where it is empty."""
        self._count += 1
        claims = msgspec.json.encode(_Claims(bucket, int(now_s) + SESSION_S, is_read_only, self._count))
        token = base64.urlsafe_b64encode(self._digest(b"token", claims) + claims).decode()
        session = self._read(token)
        assert session is not None
        return session

    def session_of(self, head: RequestHead, bucket: str, now_s: float) -> ExpressSession | None:
        """Give the session that a request to the directory bucket `bucket` names; `None` where it names none.

        Raises `S3Error` for a token that is unknown or has expired, and for what the session does not allow.
        """
        token = _token_of(head)
        if token is None:
            return None
        session = self._read(token)
        if session is None:
            message = "The provided token is malformed or otherwise not valid."
            raise S3Error(status=400, code="InvalidToken", message=message)
        if now_s >= session.expires_s:
            raise S3Error(status=400, code="ExpiredToken", message="The provided token has expired.")
        if session.bucket not in {"", bucket} or (session.is_read_only and head.method not in {"GET", "HEAD"}):
            raise _access_denied()
        return session

    def _parse(self, token: str) -> ExpressSession | None:
        try:
            data = base64.urlsafe_b64decode(token.encode("ascii"))
        except (ValueError, binascii.Error):
            return None
        digest, claims = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
        if not hmac.compare_digest(digest, self._digest(b"token", claims)):
            return None
        said = msgspec.json.decode(claims, type=_Claims)
        secret_key = base64.b64encode(self._digest(b"secret key", claims)).decode()
        return ExpressSession(
            bucket=said.bucket,
            access_key=f"ASIA{base64.b32encode(self._digest(b'access key', claims)[:10]).decode()}",
            secret_key=secret_key,
            token=token,
            expires_s=said.expires_s,
            is_read_only=said.is_read_only,
            keys=SigningKeys(secret_key),
        )

    def _digest(self, purpose: bytes, claims: bytes) -> bytes:
        return hmac.digest(self._secret, purpose + b"\0" + claims, "sha256")


def check_session(operation: Operation, head: RequestHead) -> None:
    """Reject in a session what needs the credentials of the account. Raises `S3Error`.

    A session that began others would not end, and one for reading could write. The source of a copy could be in any
    other bucket. See https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateSession.html and
    https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPartCopy.html; AWS's SDKs send no token with them.
    """
    if operation in _OF_THE_ACCOUNT and _token_of(head) is not None:
        raise _access_denied()


def _token_of(head: RequestHead) -> str | None:
    """Give the token that a request has, in a header or in its query."""
    token = head.fields.get(SESSION_TOKEN)
    if token is not None:
        return token
    place = head.query.find(_QUERY_TOKEN)
    return None if place < 0 else decode(head.query[place + len(_QUERY_TOKEN) :].partition("&")[0])


def _access_denied() -> S3Error:
    return S3Error(status=403, code="AccessDenied", message="Access Denied")


class SessionOperations:
    """How sessions begin."""

    def __init__(self, store: ObjectStore, sessions: Sessions) -> None:
        self._store = store
        self._sessions = sessions

    def create(self, call: Call) -> Reply:
        """CreateSession."""
        encryption = None
        if call.bucket:
            bucket = find_bucket(self._store, call.bucket)
            if bucket.encryption is not None:
                encryption = effective_default(bucket.encryption, bucket.region)
        mode = call.fields.get(SESSION_MODE, "ReadWrite")
        if mode not in {"ReadOnly", "ReadWrite"}:
            raise not_implemented(f"the session mode {mode[:50]}", header=SESSION_MODE)
        session = self._sessions.create(call.bucket, call.now_s, is_read_only=mode == "ReadOnly")
        result = document(
            "CreateSessionResult",
            group(
                "Credentials",
                element("SessionToken", session.token),
                element("SecretAccessKey", session.secret_key),
                element("AccessKeyId", session.access_key),
                element("Expiration", iso_time(session.expires_s)),
            ),
        )
        return call.reply(200, completed_headers(encryption), result)
