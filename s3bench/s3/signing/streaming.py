"""Checks the signatures of a body's chunks: each covers a chunk and the signature before it.

The first one follows the request's (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html), and trailers
have their own (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming-trailers.html). `framing` separates the
chunks.
"""

import hashlib
import hmac
from collections.abc import Mapping

from s3bench.s3.protocol.http import BadRequest
from s3bench.s3.signing.sigv4 import EMPTY_SHA256, SigningKey

STREAMING = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
STREAMING_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
STREAMING_UNSIGNED_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
STREAMING_PAYLOADS = frozenset({STREAMING, STREAMING_TRAILER, STREAMING_UNSIGNED_TRAILER})
"""The payload hashes that say that a body is in chunks."""

TRAILER_SIGNATURE = "x-amz-trailer-signature"

_EXTENSION = b"chunk-signature="
_BLANKS = " \t"


class ChunkSigner:
    """Calculates the signatures of one body, in order; `seed` is the signature of its request."""

    __slots__ = ("_key", "_previous", "_timestamp")

    def __init__(self, key: SigningKey, *, timestamp: str, seed: str) -> None:
        self._key = key
        self._timestamp = timestamp
        self._previous = seed

    def sign_chunk(self, payload_sha256: str) -> str:
        """Give the signature of the next chunk; the last one is empty."""
        return self._sign("AWS4-HMAC-SHA256-PAYLOAD", f"{EMPTY_SHA256}\n{payload_sha256}")

    def sign_trailer(self, trailers: Mapping[str, str]) -> str:
        """Give the signature of the trailer fields (names in lower case) that follow the last chunk."""
        text = "".join(f"{name}:{value.strip(_BLANKS)}\n" for name, value in sorted(trailers.items()))
        return self._sign("AWS4-HMAC-SHA256-TRAILER", hashlib.sha256(text.encode("latin-1")).hexdigest())

    def _sign(self, algorithm: str, hashes: str) -> str:
        self._previous = self._key.sign(
            f"{algorithm}\n{self._timestamp}\n{self._key.scope}\n{self._previous}\n{hashes}"
        )
        return self._previous


class ChunkVerifier:
    """The `framing.ChunkCheck` of one body; raises `BadRequest` where the chain breaks."""

    __slots__ = ("_given", "_hash", "_signer", "_with_trailer")

    def __init__(self, signer: ChunkSigner, *, with_trailer: bool) -> None:
        self._signer = signer
        self._with_trailer = with_trailer
        self._hash = hashlib.sha256()
        self._given = b""

    def chunk_begins(self, extension: bytes) -> None:
        """Take the signature that the chunk is to have."""
        if not extension.startswith(_EXTENSION):
            raise BadRequest("a chunk of a signed body has no chunk-signature", code="IncompleteBody")
        self._given = extension.removeprefix(_EXTENSION)
        self._hash = hashlib.sha256()

    def update(self, piece: memoryview) -> None:
        """Take the next bytes of the chunk."""
        self._hash.update(piece)

    def chunk_ends(self) -> None:
        """Hold the chunk against its signature."""
        self._compare(self._signer.sign_chunk(self._hash.hexdigest()), self._given, "a chunk's signature")

    def body_ends(self, trailers: Mapping[str, str]) -> None:
        """Hold the trailer fields against theirs."""
        if not self._with_trailer:
            if trailers:
                raise BadRequest("trailers follow a body that announced none", code="MalformedTrailerError")
            return
        fields = {name: value for name, value in trailers.items() if name != TRAILER_SIGNATURE}
        given = trailers.get(TRAILER_SIGNATURE)
        if given is None:
            raise BadRequest(f"the trailer has no {TRAILER_SIGNATURE}", code="MalformedTrailerError")
        self._compare(self._signer.sign_trailer(fields), given.encode("latin-1"), "the trailer's signature")

    @staticmethod
    def _compare(signature: str, given: bytes, what: str) -> None:
        if not hmac.compare_digest(signature.encode(), given):
            raise BadRequest(
                f"{what} is not the one we calculated. Check your key and signing method.",
                status=403,
                code="SignatureDoesNotMatch",
            )
