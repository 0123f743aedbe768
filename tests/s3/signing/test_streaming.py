"""Chunk and trailer signatures, held against the figures of AWS's own pages."""

import hashlib
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.s3.protocol.framing import framing_of
from s3bench.s3.protocol.http import BadRequest, RequestHead, parse_head
from s3bench.s3.signing.authentication import Authenticator
from s3bench.s3.signing.sigv4 import SigningKey
from s3bench.s3.signing.streaming import ChunkSigner

ACCESS_KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
TIMESTAMP = "20130524T000000Z"
AT_S = 1369353600.0

CHUNKS = (b"a" * 65536, b"a" * 1024, b"")

# https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html: the request's signature, and those of its chunks
SEED = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
SIGNATURES = (
    "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
    "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
    "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
)
# https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming-trailers.html
TRAILER_SEED = "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e"
TRAILER_SIGNATURES = (
    "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
    "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
    "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
)
CHECKSUM = "x-amz-checksum-crc32c"
CHECKSUM_VALUE = "sOO8/Q=="
TRAILER_SIGNATURE = "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435"


def documented_head(*, seed: str, trailer: bool, length: int = 66824) -> RequestHead:
    names = (
        "content-encoding;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class;x-amz-trailer"
        if trailer
        else "content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;"
        "x-amz-storage-class"
    )
    scope = "20130524/us-east-1/s3/aws4_request"
    authorization = f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope},SignedHeaders={names},Signature={seed}"
    lines = [
        "PUT /examplebucket/chunkObject.txt HTTP/1.1",
        "Host: s3.amazonaws.com",
        f"x-amz-date: {TIMESTAMP}",
        "x-amz-storage-class: REDUCED_REDUNDANCY",
        f"Authorization: {authorization}",
        "x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD" + ("-TRAILER" if trailer else ""),
        "Content-Encoding: aws-chunked",
        "x-amz-decoded-content-length: 66560",
        f"Content-Length: {length}",
    ]
    if trailer:
        lines.append(f"x-amz-trailer: {CHECKSUM}")
    return parse_head("\r\n".join(lines).encode())


def encoded(chunks: Iterable[bytes], signatures: Iterable[str], end: bytes = b"\r\n") -> bytes:
    stream = b""
    for chunk, signature in zip(chunks, signatures, strict=True):
        stream += b"%x;chunk-signature=%b\r\n%b" % (len(chunk), signature.encode(), chunk + b"\r\n" if chunk else b"")
    return stream + end


SIGNED_TRAILER = f"{CHECKSUM}:{CHECKSUM_VALUE}\r\nx-amz-trailer-signature:{TRAILER_SIGNATURE}\r\n\r\n".encode()


def receive(head: RequestHead, stream: bytes, *, step: int = 10_000) -> tuple[bytes, dict[str, str]]:
    """Authenticate `head` and read its body; payload and trailers."""
    check = Authenticator(ACCESS_KEY, SECRET, "us-east-1", lambda: AT_S).check(head).chunk_check()
    assert check is not None
    framing = framing_of(head, check)
    payload = b""
    for at in range(0, len(stream), step):
        assert framing.payload_ahead() == 0  # nothing may be dropped unseen
        pieces, _ = framing.feed(memoryview(stream)[at : at + step])
        payload += b"".join(pieces)
    assert framing.ended
    return payload, framing.trailers


def receive_with_trailer(end: bytes, signatures: tuple[str, ...] = TRAILER_SIGNATURES) -> dict[str, str]:
    stream = encoded(CHUNKS, signatures, end)
    payload, trailers = receive(documented_head(seed=TRAILER_SEED, trailer=True, length=len(stream)), stream)
    assert payload == b"".join(CHUNKS)
    return trailers


def test_the_documented_chunks_have_the_documented_signatures() -> None:
    signer = ChunkSigner(SigningKey(SECRET, "20130524", "us-east-1"), timestamp=TIMESTAMP, seed=SEED)
    assert tuple(signer.sign_chunk(hashlib.sha256(chunk).hexdigest()) for chunk in CHUNKS) == SIGNATURES


def test_the_documented_trailer_has_the_documented_signature() -> None:
    signer = ChunkSigner(SigningKey(SECRET, "20130524", "us-east-1"), timestamp=TIMESTAMP, seed=TRAILER_SEED)
    assert tuple(signer.sign_chunk(hashlib.sha256(chunk).hexdigest()) for chunk in CHUNKS) == TRAILER_SIGNATURES
    assert signer.sign_trailer({CHECKSUM: CHECKSUM_VALUE}) == TRAILER_SIGNATURE


@pytest.mark.parametrize("step", [70_000, 4096, 997, 65_619, 86])
def test_the_documented_body_is_received_however_it_is_cut(step: int) -> None:
    stream = encoded(CHUNKS, SIGNATURES)
    assert len(stream) == 66824
    payload, trailers = receive(documented_head(seed=SEED, trailer=False), stream, step=step)
    assert (payload, trailers) == (b"".join(CHUNKS), {})


@pytest.mark.parametrize("separator", [b"\r\n", b"\n\r\n"])
def test_a_signed_trailer_is_received_as_sdks_send_it_and_as_the_page_shows_it(separator: bytes) -> None:
    end = SIGNED_TRAILER.replace(b"\r\n", separator, 1)
    assert receive_with_trailer(end) == {CHECKSUM: CHECKSUM_VALUE, "x-amz-trailer-signature": TRAILER_SIGNATURE}


def test_chunks_in_a_chunked_body_are_verified_as_well() -> None:
    stream = encoded(CHUNKS, TRAILER_SIGNATURES, SIGNED_TRAILER)
    sized = documented_head(seed=TRAILER_SEED, trailer=True)
    fields = {name: value for name, value in sized.fields.items() if name != "content-length"}
    head = RequestHead(sized.method, sized.path, sized.query, fields, 0, True, False)
    outer = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (stream[:999], stream[999:]))
    assert receive(head, outer + b"0\r\n\r\n")[0] == b"".join(CHUNKS)


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_wrong_chunk_signature_is_refused_in_each_chunk_also_the_empty_last(position: int) -> None:
    signatures = [*SIGNATURES]
    signatures[position] = "0" * 64
    with pytest.raises(BadRequest) as refused:
        receive(documented_head(seed=SEED, trailer=False), encoded(CHUNKS, signatures))
    assert (refused.value.status, refused.value.code) == (403, "SignatureDoesNotMatch")


def test_chunks_in_another_order_are_refused() -> None:
    stream = encoded((CHUNKS[1], CHUNKS[0], b""), (SIGNATURES[1], SIGNATURES[0], SIGNATURES[2]))
    with pytest.raises(BadRequest, match="signature"):
        receive(documented_head(seed=SEED, trailer=False), stream)


@given(st.integers(0, 66559), st.integers(1, 255))
def test_any_changed_payload_byte_is_noticed(at: int, difference: int) -> None:
    payload = bytearray(b"".join(CHUNKS))
    payload[at] ^= difference
    chunks = (bytes(payload[:65536]), bytes(payload[65536:]), b"")
    with pytest.raises(BadRequest) as refused:
        receive(documented_head(seed=SEED, trailer=False), encoded(chunks, SIGNATURES))
    assert refused.value.code == "SignatureDoesNotMatch"


@pytest.mark.parametrize("line", [b"10000\r\n", b"10000;other=1\r\n", b"10000;\r\n"])
def test_a_chunk_without_a_signature_is_refused(line: bytes) -> None:
    with pytest.raises(BadRequest) as refused:
        receive(documented_head(seed=SEED, trailer=False), line + CHUNKS[0])
    assert (refused.value.status, refused.value.code) == (400, "IncompleteBody")


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (SIGNED_TRAILER.replace(b"sOO8", b"sOO9"), "SignatureDoesNotMatch"),
        (SIGNED_TRAILER.replace(b"d81f", b"d81e"), "SignatureDoesNotMatch"),
        (b"x-amz-meta-a:b\r\n" + SIGNED_TRAILER, "SignatureDoesNotMatch"),
        (f"{CHECKSUM}:{CHECKSUM_VALUE}\r\n\r\n".encode(), "MalformedTrailerError"),
        (b"\r\n", "MalformedTrailerError"),
    ],
)
def test_a_trailer_that_was_changed_or_is_not_signed_is_refused(end: bytes, code: str) -> None:
    with pytest.raises(BadRequest) as refused:
        receive_with_trailer(end)
    assert refused.value.code == code


def test_a_trailer_that_was_not_announced_is_refused() -> None:
    stream = encoded(CHUNKS, SIGNATURES, b"x-amz-checksum-crc32c:sOO8/Q==\r\n\r\n")
    head = documented_head(seed=SEED, trailer=False)  # Content-Length is signed, so only what is parsed of it grows
    longer = RequestHead(head.method, head.path, head.query, head.fields, len(stream), False, False)
    with pytest.raises(BadRequest) as refused:
        receive(longer, stream)
    assert refused.value.code == "MalformedTrailerError"
