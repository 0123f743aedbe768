"""Bodies taken out of their framing, whatever pieces they arrive in."""

import itertools
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.s3.protocol.framing import (
    AWS_CHUNK_BYTES_MIN,
    LINE_BYTES_MAX,
    TRAILER_BYTES_MAX,
    Chunked,
    Framing,
    Nested,
    Sized,
    framing_of,
)
from s3bench.s3.protocol.http import BadRequest, RequestHead, parse_head

Outcome = tuple[bytes, dict[str, str], bytes] | str


def read(framing: Framing, pieces: list[bytes]) -> Outcome:
    """Payload, trailers and what followed the body; or how reading failed."""
    payload = bytearray()
    stream = b"".join(pieces)
    consumed = 0
    try:
        for piece in pieces:
            found, taken = framing.feed(memoryview(piece))
            payload += b"".join(found)
            consumed += taken
            if framing.ended:
                return bytes(payload), framing.trailers, stream[consumed:]
    except BadRequest:
        return "bad"
    return "unfinished"


def skip_and_read(framing: Framing, stream: bytes, step: int) -> tuple[int, dict[str, str], bytes] | str:
    """As `read`, but passing over all payload that is announced; how many payload bytes there were."""
    at = payload_bytes = 0
    try:
        while at < len(stream) and not framing.ended:
            ahead = min(framing.payload_ahead(), len(stream) - at)
            if ahead:
                framing.skip(ahead)
                at += ahead
                payload_bytes += ahead
            else:
                found, taken = framing.feed(memoryview(stream)[at : at + step])
                payload_bytes += sum(map(len, found))
                at += taken
    except BadRequest:
        return "bad"
    return (payload_bytes, framing.trailers, stream[at:]) if framing.ended else "unfinished"


def chunked(chunks: list[bytes], *, signed: bool = False, trailers: dict[str, str] | None = None) -> bytes:
    """Encode `chunks` by RFC 9112 7.1, or as AWS signs them."""
    extension = b";chunk-signature=" + b"0" * 64 if signed else b""
    lines = [b"%x%b\r\n%b\r\n" % (len(chunk), extension, chunk) for chunk in chunks if chunk]
    fields = b"".join(f"{name}:{value}\r\n".encode() for name, value in (trailers or {}).items())
    return b"".join(lines) + b"0" + extension + b"\r\n" + fields + b"\r\n"


def cut(stream: bytes, points: list[int]) -> list[bytes]:
    edges = [0, *sorted(point % (len(stream) + 1) for point in points), len(stream)]
    return [stream[start:end] for start, end in itertools.pairwise(edges)]


def nested(stream: bytes, outer: Framing, decoded_length: int | None = None) -> tuple[Framing, bytes]:
    return Nested(outer, Chunked(), decoded_length=decoded_length), stream


class Witness:
    """A `ChunkCheck` that remembers what it was shown, and refuses the chunk that holds `unwanted`."""

    def __init__(self, unwanted: bytes | None = None) -> None:
        self.chunks: list[tuple[bytes, bytes]] = []
        self.trailers: dict[str, str] | None = None
        self._unwanted = unwanted
        self._extension = b""
        self._payload = b""

    def chunk_begins(self, extension: bytes) -> None:
        self._extension = extension
        self._payload = b""

    def update(self, piece: memoryview) -> None:
        self._payload += piece

    def chunk_ends(self) -> None:
        self.chunks.append((self._extension, self._payload))
        if self._unwanted is not None and self._unwanted in self._payload:
            raise BadRequest("unwanted")

    def body_ends(self, trailers: Mapping[str, str]) -> None:
        self.trailers = dict(trailers)


TRAILERS = {"x-amz-checksum-crc32": "AAAAAA==", "x-amz-trailer-signature": "f" * 64}
chunk_lists = st.lists(st.binary(max_size=40), max_size=6)
aws_chunk_lists = chunk_lists.map(
    lambda chunks: [*(chunk.ljust(AWS_CHUNK_BYTES_MIN) for chunk in chunks[:-1]), *chunks[-1:]]
)
cuts = st.lists(st.integers(0, 2000), max_size=12)


@given(chunk_lists, st.booleans(), st.booleans(), cuts, st.binary(max_size=5))
def test_chunked_bodies_come_back_however_they_are_cut(
    chunks: list[bytes], signed: bool, with_trailers: bool, points: list[int], after: bytes
) -> None:
    trailers = TRAILERS if with_trailers else {}
    stream = chunked(chunks, signed=signed, trailers=trailers) + after
    outcome = read(Chunked(), cut(stream, points))
    assert not isinstance(outcome, str)
    assert outcome == (b"".join(chunks), trailers, after)


@given(chunk_lists, st.booleans(), st.integers(1, 64), st.booleans(), cuts)
def test_aws_chunked_bodies_come_back_inside_either_framing(
    chunks: list[bytes], signed: bool, outer_step: int, outer_chunked: bool, points: list[int]
) -> None:
    inner = chunked(chunks, signed=signed, trailers=TRAILERS)
    payload = b"".join(chunks)
    outer: Framing = Sized(len(inner))
    stream = inner
    if outer_chunked:
        outer = Chunked()
        stream = chunked([inner[at : at + outer_step] for at in range(0, len(inner), outer_step)])
    framing = Nested(outer, Chunked(), decoded_length=len(payload))
    assert read(framing, cut(stream, points)) == (payload, TRAILERS, b"")


FRAMINGS: list[Callable[[int], Framing]] = [
    lambda _: Chunked(),
    Sized,
    lambda length: Nested(Sized(length), Chunked(), decoded_length=None),
    lambda _: Nested(Chunked(), Chunked(), decoded_length=None),
]
chunkish = st.lists(
    st.sampled_from([b"0\r\n", b"\r\n", b"3\r\nabc", b"a:b\r\n", b"5;x=y\r\n", b"\n", b"\r", b"F", b"-1\r\n"])
    | st.binary(max_size=6),
    max_size=14,
).map(b"".join)


@given(st.sampled_from(FRAMINGS), chunkish, st.integers(1, 40), cuts)
def test_any_bytes_are_read_alike_however_they_are_cut(
    make: Callable[[int], Framing], stream: bytes, length: int, points: list[int]
) -> None:
    whole = read(make(length), [stream])
    by_pieces = read(make(length), cut(stream, points))
    by_bytes = read(make(length), [stream[at : at + 1] for at in range(len(stream))])
    # What follows the body is no part of it, and stays where it is.
    assert by_pieces[:2] == by_bytes[:2] == whole[:2]


@pytest.mark.parametrize(("decoded_length", "is_right"), [(100, True), (99, False), (101, False)])
def test_payload_that_is_passed_over_counts_for_the_decoded_length(decoded_length: int, is_right: bool) -> None:
    stream = chunked([b"x" * 60, b"y" * 40])
    framing = Nested(Sized(len(stream)), Chunked(), decoded_length=decoded_length)
    assert skip_and_read(framing, stream, 7) == ((100, {}, b"") if is_right else "bad")


@given(st.sampled_from(FRAMINGS), chunkish, st.integers(1, 40), st.integers(1, 20))
def test_payload_that_is_passed_over_is_counted_the_same(
    make: Callable[[int], Framing], stream: bytes, length: int, step: int
) -> None:
    seen = read(make(length), [stream[at : at + 1] for at in range(len(stream))])
    skipped = skip_and_read(make(length), stream, step)
    assert skipped[:2] == (seen[:2] if isinstance(seen, str) else (len(seen[0]), seen[1]))


@pytest.mark.parametrize(
    "stream",
    [
        b"x\r\n",
        b"\r\n",
        b"-5\r\n",
        b"0x5\r\n",
        b"5\nabcde",
        b"3\r\nabcd\r\n",
        b"10000000000000000\r\n",
        b"FFFFFFFFFFFFFFFF\r\n",
        b"0\r\nno colon\r\n\r\n",
        b"0\r\na: b\0\r\n\r\n",
        b"0\r\n" + b"a: b\r\n" * (TRAILER_BYTES_MAX // 4 + 1),
        b"1" + b";" * LINE_BYTES_MAX,
        b"3;a\rb\r\nabc\r\n0\r\n\r\n",
        b"3\r\nabc\r\n0;a=\0\r\n\r\n",
    ],
)
def test_a_broken_chunked_body_is_refused(stream: bytes) -> None:
    assert read(Chunked(), [stream]) == "bad"
    assert read(Chunked(), [stream[at : at + 1] for at in range(len(stream))]) == "bad"


@pytest.mark.parametrize("stream", [b"g", b"3\r\nabcx", b"\r"])
def test_a_wrong_chunk_is_refused_at_its_first_byte(stream: bytes) -> None:
    assert read(Chunked(), [stream]) == "bad"


def test_an_aws_chunked_body_must_end_with_its_framing_and_have_its_length() -> None:
    stream = chunked([b"abc"])
    assert read(Nested(Sized(len(stream) - 2), Chunked(), decoded_length=3), [stream[:-2]]) == "bad"
    assert read(Nested(Sized(len(stream) + 1), Chunked(), decoded_length=3), [stream + b"x"]) == "bad"
    assert read(Nested(Sized(len(stream)), Chunked(), decoded_length=4), [stream]) == "bad"
    assert read(Nested(Sized(len(stream)), Chunked(), decoded_length=3), [stream]) == (b"abc", {}, b"")


def head_with(*lines: str) -> RequestHead:
    return parse_head("\r\n".join(("PUT /b/k HTTP/1.1", "Host: h", *lines)).encode())


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (("Content-Length: 5",), Sized),
        (("Transfer-Encoding: chunked",), Chunked),
        (("Content-Length: 5", "Content-Encoding: gzip"), Sized),
        (("Content-Length: 5", "Content-Encoding: aws-chunked"), Nested),
        (("Content-Length: 5", "Content-Encoding: gzip, AWS-chunked"), Nested),
        (("Content-Length: 5", "x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD"), Nested),
        (("Content-Length: 5", "x-amz-content-sha256: UNSIGNED-PAYLOAD"), Sized),
    ],
)
def test_the_head_chooses_the_framing(lines: tuple[str, ...], kind: type) -> None:
    assert type(framing_of(head_with(*lines))) is kind


def test_a_decoded_length_that_is_no_number_is_refused() -> None:
    with pytest.raises(BadRequest):
        framing_of(head_with("Content-Length: 5", "Content-Encoding: aws-chunked", "x-amz-decoded-content-length: -5"))


@given(aws_chunk_lists, st.integers(64, 4000), st.booleans(), cuts)
def test_a_check_is_shown_each_chunk_with_its_extension_the_empty_last_one_too(
    chunks: list[bytes], outer_step: int, outer_chunked: bool, points: list[int]
) -> None:
    inner = chunked(chunks, signed=True, trailers=TRAILERS)
    lines = ["x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"]
    stream = inner
    if outer_chunked:
        stream = chunked([inner[at : at + outer_step] for at in range(0, len(inner), outer_step)])
        lines.append("Transfer-Encoding: chunked")
    else:
        lines.append(f"Content-Length: {len(inner)}")
    witness = Witness()
    framing = framing_of(head_with(*lines), witness)
    assert framing.payload_ahead() == 0
    assert read(framing, cut(stream, points)) == (b"".join(chunks), TRAILERS, b"")
    extension = b"chunk-signature=" + b"0" * 64
    assert witness.chunks == [(extension, chunk) for chunk in [*filter(None, chunks), b""]]
    assert witness.trailers == TRAILERS


def test_nothing_may_be_skipped_that_a_check_has_to_see() -> None:
    framing = Chunked(Witness())
    framing.feed(memoryview(b"5\r\nab"))
    assert framing.payload_ahead() == 0


def test_a_chunk_that_the_check_refuses_ends_the_body() -> None:
    stream = chunked([b"abc", b"def"])
    assert read(Chunked(Witness(b"z")), [stream]) == (b"abcdef", {}, b"")
    witness = Witness(b"e")
    assert read(Chunked(witness), [stream]) == "bad"
    assert witness.trailers is None


@pytest.mark.parametrize(
    "stream",
    [
        b"0\r\na: b\nc:d\n\r\n\r\n",
        b"0\r\na: b\n\r\nc:d\r\n\r\n",
        b"0\r\na: b\r\nc:d\r\n\r\n",
    ],
)
def test_trailer_fields_of_aws_chunked_may_end_with_lf_alone(stream: bytes) -> None:
    pieces = [stream[at : at + 1] for at in range(len(stream))]
    assert read(Chunked(aws=True), [stream + b"x"]) == (b"", {"a": "b", "c": "d"}, b"x")
    assert read(Chunked(aws=True), pieces) == (b"", {"a": "b", "c": "d"}, b"")


@pytest.mark.parametrize("stream", [b"0\r\na: b\nc:d\n\r\n\r\n", b"0\r\na: b\n\r\nc:d\r\n\r\n"])
def test_trailer_fields_of_http_itself_end_with_crlf(stream: bytes) -> None:
    assert read(Chunked(), [stream]) == "bad"
    assert read(Chunked(), [stream[at : at + 1] for at in range(len(stream))]) == "bad"


@pytest.mark.parametrize("stream", [b"0\r\n\n\r\n\r\n", b"0\r\na: b\n\n\r\n\r\n", b"0\r\na: b\r\n\n\r\n"])
def test_an_empty_trailer_line_ends_with_crlf(stream: bytes) -> None:
    assert read(Chunked(), [stream]) == "bad"


@pytest.mark.parametrize(
    ("sizes", "is_read"),
    [
        ((1,), True),
        ((8192, 1), True),
        ((8192, 8192), True),
        ((8191, 1), False),
        ((8192, 8191, 8192), False),
        ((1, 1), False),
    ],
)
@pytest.mark.parametrize(
    "line",
    [
        "x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        "x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        "Content-Encoding: aws-chunked",
    ],
)
def test_of_aws_chunks_only_the_last_one_may_be_small(line: str, sizes: tuple[int, ...], is_read: bool) -> None:
    chunks = [b"x" * size for size in sizes]
    stream = chunked(chunks)
    head = head_with(line, f"Content-Length: {len(stream)}")
    assert read(framing_of(head), [stream]) == ((b"".join(chunks), {}, b"") if is_read else "bad")
    if not is_read:
        with pytest.raises(BadRequest, match="less than 8192 bytes") as refused:
            framing_of(head).feed(memoryview(stream))
        assert (refused.value.status, refused.value.code) == (403, "InvalidChunkSizeError")
