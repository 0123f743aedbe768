"""Calculates Signature Version 4: the canonical request, the string to sign and the signing key, as S3 wants them.

See https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html. Pure, and the same for signing and
verifying; the chunks of a body are in `streaming`.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Protocol
from urllib.parse import quote, unquote_to_bytes

from s3bench.system.portable import extension

ALGORITHM = "AWS4-HMAC-SHA256"
SERVICE = "s3"
EXPRESS_SERVICE = "s3express"
"""What requests to directory buckets are signed for (botocore's endpoint rules, `signingName`)."""
TERMINAL = "aws4_request"
UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD"
EMPTY_SHA256 = hashlib.sha256().hexdigest()

_KEYS_MAX = 32  # dates and regions one secret signs for at the same time; presigned URLs reach back seven days
_HMAC_BLOCK_BYTES = 64
_INNER_PAD = bytes(byte ^ 0x36 for byte in range(256))  # RFC 2104 2, as tables for bytes.translate
_OUTER_PAD = bytes(byte ^ 0x5C for byte in range(256))

_PLAIN_PATH = re.compile(r"[A-Za-z0-9\-._~/]*", re.ASCII)
# A name or value whose encoding is canonical: RFC 3986 2.3's unreserved characters, all others as upper-case %XX.
_ENCODED = r"(?:[A-Za-z0-9\-._~]++|%(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF]))*+"  # fmt: skip
_ENCODED_PAIR = rf"{_ENCODED}(?:={_ENCODED})?"
_ENCODED_QUERY = re.compile(rf"{_ENCODED_PAIR}(?:&{_ENCODED_PAIR})*")
_BLANKS = re.compile(r"[ \t]+")


class _Signature(Protocol):
    """`signature.c`."""

    def sign(self, key: bytes, head: str, request: bytes, /) -> str:
        """Do what `SigningKey.sign_request` does, with the signing key."""


in_c: _Signature | None = extension("s3bench.s3.signing._signature")


def canonical_path(path: str) -> str:
    """Encode a decoded path as S3 does: once, its slashes and dot segments left as they are."""
    return path if _PLAIN_PATH.fullmatch(path) else quote(path, safe="/")


def canonical_query(query: str, *, without: str = "") -> str:
    """Sort and encode a raw query, leaving out the parameter `without`; a plus sign stands for a space, as in forms."""
    if not query:
        return ""
    encoded = _ENCODED_QUERY.fullmatch(query) is not None
    pairs = []
    for piece in query.split("&"):
        if piece:
            name, _, value = piece.partition("=")
            pairs.append((name, value) if encoded else (_encode(name), _encode(value)))
    if len(pairs) > 1:
        pairs.sort()  # by name, then by value; of the encoded text, as AWS asks
    return "&".join([f"{name}={value}" for name, value in pairs if name != without])


def decode(text: str) -> str:
    """Undo the encoding of a name or value in a raw query; characters stand for bytes (latin-1), as in a head."""
    return _decode_to_bytes(text).decode("latin-1") if "%" in text or "+" in text else text


def _encode(text: str) -> str:
    return quote(_decode_to_bytes(text), safe="")


def _decode_to_bytes(text: str) -> bytes:
    return unquote_to_bytes(text.replace("+", " ").encode("latin-1"))


def canonical_request(
    method: str, path: str, query: str, fields: Mapping[str, str], signed: Sequence[str], payload_hash: str
) -> str:
    """Give the request as it is signed: `path` and `query` canonical already, of `fields` those named in `signed`.

    Fields are looked up by their lower-case name; one that is absent counts as empty. Their characters stand for bytes
    (latin-1), as on the wire.
    """
    headers = "".join([f"{name}:{_trim(fields.get(name, ''))}\n" for name in signed])
    return f"{method}\n{path}\n{query}\n{headers}\n{';'.join(signed)}\n{payload_hash}"


def _trim(value: str) -> str:
    """`value` without blanks around it, and with runs of blanks inside as one space."""
    if "  " in value or "\t" in value:
        value = _BLANKS.sub(" ", value)
    return value.strip(" ")


def head_to_sign(timestamp: str, scope: str) -> str:
    """Give what stands before the hash of the canonical request in the string to sign."""
    return f"{ALGORITHM}\n{timestamp}\n{scope}\n"


def string_to_sign(timestamp: str, scope: str, request: str) -> str:
    """Give what the signature of the canonical `request` is calculated from; `timestamp` is like 20130524T000000Z."""
    return head_to_sign(timestamp, scope) + hashlib.sha256(request.encode("latin-1")).hexdigest()


def sign_old(secret_key: str, text: str) -> str:
    """Give the signature of `text` by Signature Version 2, in base64, as POST forms may have it.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/HTTPPOSTForms.html
    """
    return base64.b64encode(hmac.digest(secret_key.encode(), text.encode(), "sha1")).decode()


class SigningKey:
    """The key derived from a secret for one date (like 20130524), region and service; `scope` is what is signed of it.

    HMAC-SHA256 (RFC 2104) with both pads hashed once: half the time of a fresh HMAC for every signature.
    """

    __slots__ = ("_inner", "_key", "_outer", "scope")

    def __init__(self, secret_key: str, date: str, region: str, service: str = SERVICE) -> None:
        key = f"AWS4{secret_key}".encode()
        for part in (date, region, service, TERMINAL):
            inner, outer = _padded(key)
            inner.update(part.encode())
            outer.update(inner.digest())
            key = outer.digest()
        self._key = key
        self._inner, self._outer = _padded(key)
        self.scope = f"{date}/{region}/{service}/{TERMINAL}"

    def sign_request(self, head: str, request: bytes) -> str:
        """Give the signature of a canonical request, in hexadecimal digits; `head` is what `head_to_sign` gives."""
        if in_c is not None:
            return in_c.sign(self._key, head, request)
        return self.sign(head + hashlib.sha256(request).hexdigest())

    def sign(self, text: str) -> str:
        """Give the signature of a string to sign, in hexadecimal digits."""
        inner = self._inner.copy()
        inner.update(text.encode())
        outer = self._outer.copy()
        outer.update(inner.digest())
        return outer.hexdigest()


def _padded(key: bytes) -> "tuple[hashlib._Hash, hashlib._Hash]":
    if len(key) > _HMAC_BLOCK_BYTES:
        key = hashlib.sha256(key).digest()
    block = key.ljust(_HMAC_BLOCK_BYTES, b"\0")
    return hashlib.sha256(block.translate(_INNER_PAD)), hashlib.sha256(block.translate(_OUTER_PAD))


class SigningKeys:
    """The signing keys of one secret, each derived once while it is in use."""

    __slots__ = ("_keys", "_secret_key")

    def __init__(self, secret_key: str) -> None:
        self._secret_key = secret_key
        self._keys: dict[tuple[str, str, str], SigningKey] = {}

    def key(self, date: str, region: str, service: str = SERVICE) -> SigningKey:
        """Give the key for `date`, `region` and `service`."""
        found = self._keys.get((date, region, service))
        if found is None:
            if len(self._keys) >= _KEYS_MAX:
                self._keys.clear()
            found = self._keys[date, region, service] = SigningKey(self._secret_key, date, region, service)
        return found
