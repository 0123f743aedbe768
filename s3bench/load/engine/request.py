"""Renders and signs S3 requests (SigV4), ready for a socket.

Signing keys are derived once a day (`s3bench.s3.signing.sigv4`); what all requests
of one kind have in common is rendered once per date. The date is renewed only every `DATE_S` seconds, so that the
same bytes serve the same request meanwhile; a server accepts 15 minutes of difference
(https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html). Paths arrive encoded
(`objects.Objects.path`).
"""

import hashlib
import time
from collections.abc import Callable
from urllib.parse import quote

from s3bench.load.engine.message import Keys, RequestTarget
from s3bench.load.engine.objects import ObjectBody
from s3bench.load.profile.profile import Manner
from s3bench.s3.signing.sigv4 import (
    ALGORITHM,
    EMPTY_SHA256,
    EXPRESS_SERVICE,
    SERVICE,
    UNSIGNED_PAYLOAD,
    SigningKey,
    SigningKeys,
    canonical_path,
    head_to_sign,
)

DATE_S = 5.0
"""How old the date of a request may be when it is sent for the first time."""

_HASH, _CRC32 = "\1", "\2"  # what stands for the checksums of a body in what is rendered once; no field may hold it

_sha256 = hashlib.sha256  # a global is looked up faster than a module's attribute


class Requests:
    """Renders the requests to one Host field. `wall_s` is the time of day, in seconds since 1970.

    `session_keys` gives the keys of a session with a directory bucket, which are asked for whenever the date is new.
    """

    __slots__ = (
        "_account", "_anonymous", "_base", "_bodiless", "_body_parts", "_checksum", "_credential", "_due_s", "_end",
        "_fields", "_host", "_is_express", "_key", "_keys", "_service", "_session_keys", "_signs_payload", "_stamp",
        "_to_sign", "_token_field",
    )  # fmt: skip

    def __init__(
        self,
        target: RequestTarget,
        manner: Manner,
        host: str,
        *,
        wall_s: float,
        session_keys: Callable[[], Keys] | None = None,
    ) -> None:
        keys = target.keys
        bucket = canonical_path(target.bucket)
        self._host = f"{bucket}.{host}" if target.virtual_hosts else host
        self._base = "" if target.virtual_hosts else f"/{bucket}"
        self._signs_payload = manner.signs_payload
        self._checksum = manner.checksum
        self._anonymous = not keys.access_key
        self._credential: Keys = keys
        self._session_keys = session_keys
        self._account = None if session_keys is None else Requests(target, manner, host, wall_s=wall_s)
        self._token_field = "x-amz-security-token" if session_keys is None else "x-amz-s3session-token"
        self._is_express = target.express
        self._service = EXPRESS_SERVICE if target.express else SERVICE
        self._keys = SigningKeys(keys.secret_key)
        closing = "" if manner.keep_alive else "Connection: close\r\n"
        self._end = f"\r\n{closing}\r\n"
        self._due_s = 0.0
        self.renew(wall_s)

    def renew(self, wall_s: float) -> bool:
        """Take a new date where the last one is `DATE_S` old; whether it was, and what is older is to be forgotten."""
        if self._due_s - 2 * DATE_S < wall_s < self._due_s:
            return False
        self._due_s = wall_s + DATE_S
        if self._account is not None:
            self._account.renew(wall_s)
        self._stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(wall_s))
        if self._session_keys is not None and self._credential is not (keys := self._session_keys()):
            self._credential, self._keys = keys, SigningKeys(keys.secret_key)
        self._key: SigningKey = self._keys.key(self._stamp[:8], self._credential.region, self._service)
        self._to_sign = head_to_sign(self._stamp, self._key.scope)
        self._bodiless = self._parts(EMPTY_SHA256)
        self._body_parts = self._parts(
            _HASH if self._signs_payload else UNSIGNED_PAYLOAD, crc32=_CRC32 if self._checksum else ""
        )
        return True

    def get(self, path: str) -> bytes:
        """GetObject."""
        return self._render("GET", path, self._bodiless)

    def get_range(self, path: str, start: int, end: int) -> bytes:
        """GetObject of the bytes from `start` to before `end`; the Range field is not signed, nor need it be."""
        return self._render("GET", path, self._bodiless, fields=f"\r\nRange: bytes={start}-{end - 1}")

    def head(self, path: str) -> bytes:
        """HeadObject."""
        return self._render("HEAD", path, self._bodiless)

    def delete(self, path: str) -> bytes:
        """DeleteObject."""
        return self._render("DELETE", path, self._bodiless)

    def put(self, path: str, body: ObjectBody) -> bytes:
        """PutObject: what goes before `body`."""
        return self._with_body(path, "", body)

    def copy(self, path: str, source: str) -> bytes:
        """CopyObject from `source`, which is a bucket and a key, encoded; never in a session, which cannot copy."""
        if self._account is not None:
            return self._account.copy(path, source)
        parts = self._parts(EMPTY_SHA256, source=source)
        return self._render("PUT", path, parts, fields="\r\nContent-Length: 0")

    def create_session(self) -> bytes:
        """CreateSession."""
        return self._render("GET", "" if self._base else "/", self._bodiless, query="session=")

    def list_objects(self, prefix: str, *, after: str, keys_max: int) -> bytes:
        """ListObjectsV2 of at most `keys_max` keys that begin with `prefix` and come after `after`.

        Directory buckets have no order and nothing after a key: there it is always the first page.
        """
        query = f"list-type=2&max-keys={keys_max}&prefix={quote(prefix, safe='')}"
        if after and not self._is_express:
            query += f"&start-after={quote(after, safe='')}"
        return self._render("GET", "" if self._base else "/", self._bodiless, query=query)

    def create_upload(self, path: str) -> bytes:
        """CreateMultipartUpload."""
        parts = self._parts(EMPTY_SHA256, algorithm="CRC32" if self._checksum else "")
        return self._render("POST", path, parts, query="uploads=", fields="\r\nContent-Length: 0")

    def upload_part(self, path: str, upload: str, number: int, body: ObjectBody) -> bytes:
        """UploadPart `number`, from 1: what goes before `body`."""
        return self._with_body(path, f"partNumber={number}&uploadId={quote(upload, safe='')}", body)

    def complete_upload(self, path: str, upload: str, parts: list[tuple[str, str]]) -> tuple[bytes, bytes]:
        """CompleteMultipartUpload of parts, each its ETag and CRC-32 in base64 (or nothing): head and body."""
        listed = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag>"
            + (f"<ChecksumCRC32>{crc32}</ChecksumCRC32>" if crc32 else "")
            + "</Part>"
            for number, (etag, crc32) in enumerate(parts, 1)
        )
        body = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
        head = self._render(
            "POST",
            path,
            self._parts(_sha256(body).hexdigest()),
            query=f"uploadId={quote(upload, safe='')}",
            fields=f"\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}",
        )
        return head, body

    def abort_upload(self, path: str, upload: str) -> bytes:
        """AbortMultipartUpload."""
        return self._render("DELETE", path, self._bodiless, query=f"uploadId={quote(upload, safe='')}")

    def _with_body(self, path: str, query: str, body: ObjectBody) -> bytes:
        signed, lines = self._body_parts
        if self._signs_payload:
            payload_hash = body.sha256()
            signed, lines = signed.replace(_HASH, payload_hash), lines.replace(_HASH, payload_hash)
        if self._checksum:
            crc32 = body.base64_crc32()
            signed, lines = signed.replace(_CRC32, crc32), lines.replace(_CRC32, crc32)
        fields = f"\r\nContent-Length: {body.size_bytes}"
        return self._render("PUT", path, (signed, lines), query=query, fields=fields)

    def _render(self, method: str, path: str, parts: tuple[str, str], *, query: str = "", fields: str = "") -> bytes:
        """Render a request with what `_parts` gave, and `fields` that are not signed."""
        signed, lines = parts
        path = self._base + path
        target = f"{path}?{query}" if query else path
        if self._anonymous:
            return f"{method} {target} HTTP/1.1\r\n{lines}{fields}{self._end}".encode()
        signature = self._key.sign_request(self._to_sign, f"{method}\n{path}\n{query}\n{signed}".encode())
        return f"{method} {target} HTTP/1.1\r\n{lines}{signature}{fields}{self._end}".encode()

    def _parts(self, payload_hash: str, *, algorithm: str = "", crc32: str = "", source: str = "") -> tuple[str, str]:
        """What requests alike have in common: the end of the canonical request, and the lines up to the signature.

        Signed are Host and every x-amz- field, as S3 asks, in the order of their names.
        """
        signed = [("x-amz-checksum-algorithm", algorithm), ("x-amz-checksum-crc32", crc32)]
        if not self._anonymous:
            signed.append(("x-amz-content-sha256", payload_hash))
        signed.append(("x-amz-copy-source", source))
        if not self._anonymous:
            signed += [("x-amz-date", self._stamp), (self._token_field, self._credential.token or "")]
        fields = [("host", self._host), *((name, value) for name, value in signed if value)]
        lines = "\r\n".join(f"{name}: {value}" for name, value in fields) + "\r\nuser-agent: s3bench"
        if self._anonymous:
            return "", lines
        names = ";".join(name for name, _ in fields)
        canonical = "".join(f"{name}:{value}\n" for name, value in fields) + f"\n{names}\n{payload_hash}"
        who = f"{self._credential.access_key}/{self._key.scope}"
        return canonical, f"{lines}\r\nauthorization: {ALGORITHM} Credential={who}, SignedHeaders={names}, Signature="
