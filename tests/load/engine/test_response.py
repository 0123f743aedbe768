"""Responses, however their bytes are cut: where they end, what they say, and what is none."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.load.engine.response import (
    HEAD_BYTES_MAX,
    HEAD_END,
    BadResponse,
    ResponseParser,
    error_code,
    is_error,
    quick_length,
    upload_id,
)

Seen = tuple[int, int | None, bytes, bool, bool]
"""Status, Content-Length, body, whether it ended, and whether the connection is of no use any more."""


def read(pieces: list[bytes], *, head_only: bool = False, wants_text: bool = False, closed: bool = False) -> Seen:
    answer = ResponseParser()
    answer.begin(head_only=head_only, wants_text=wants_text)
    body = b"".join(bytes(part) for piece in pieces for part in answer.feed(piece))
    if closed:
        answer.close()
    assert answer.body_bytes == len(body)
    return answer.status, answer.length, body, answer.ended, answer.closing


def split(data: bytes, places: list[int]) -> list[bytes]:
    cuts = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(cuts)]


ANSWERS = [
    b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: "x"\r\n\r\nhello',
    b"HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n",
    b"HTTP/1.1 206 Partial Content\r\nCONTENT-LENGTH: 3 \r\nConnection: close\r\n\r\nabc",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;ext=1\r\nwiki\r\nA\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\nX: y\r\n\r\n",
    b"HTTP/1.1 503 Slow Down\r\nContent-Length: 27\r\n\r\n<Error><Code>SlowDown</Code>",
    b"HTTP/1.1 200 OK\r\n\r\nuntil the end",
    b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
]


@pytest.mark.parametrize("data", ANSWERS)
@given(places=st.lists(st.integers(0, 500), max_size=12), wants_text=st.booleans())
def test_any_split_of_the_bytes_gives_the_same_answer(data: bytes, places: list[int], wants_text: bool) -> None:
    whole = read([data], wants_text=wants_text, closed=True)
    assert read(split(data, places), wants_text=wants_text, closed=True) == whole
    assert read([data[at : at + 1] for at in range(len(data))], closed=True) == whole


def test_content_length_ends_a_body() -> None:
    assert read([ANSWERS[0]]) == (200, 5, b"hello", True, False)
    assert read([ANSWERS[0][:-1]]) == (200, 5, b"hell", False, False)


def test_what_follows_a_response_makes_the_connection_useless() -> None:
    assert read([ANSWERS[0] + b"HTTP/1.1 200"]) == (200, 5, b"hello", True, True)


def test_chunks_are_joined_and_trailers_passed_over() -> None:
    assert read([ANSWERS[4]]) == (200, None, b"wiki0123456789", True, False)


def test_chunks_end_a_body_whatever_coding_is_within_them() -> None:
    chunks = b"\r\n\r\n2\r\nab\r\n0\r\n\r\n"
    for fields in (b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked"):
        assert read([b"HTTP/1.1 200 OK\r\n" + fields + chunks]) == (200, None, b"ab", True, False)
    other = read([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\nab"])
    assert other[2:4] == (b"ab", False), "only the end of the connection ends it"


def test_without_a_framing_the_end_of_the_connection_is_the_end() -> None:
    assert read([ANSWERS[7]]) == (200, None, b"until the end", False, False)
    assert read([ANSWERS[7]], closed=True) == (200, None, b"until the end", True, True)


def test_a_body_cut_short_has_not_ended() -> None:
    assert read([ANSWERS[0][:-2]], closed=True)[3] is False
    assert read([ANSWERS[4][:-4]], closed=True)[3] is False


def test_continue_is_passed_over() -> None:
    assert read([ANSWERS[3]]) == (200, 2, b"ok", True, False)


@pytest.mark.parametrize(
    ("data", "head_only"), [(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", True), (ANSWERS[5], False)]
)
def test_answers_to_head_and_204_have_no_body(data: bytes, head_only: bool) -> None:
    assert read([data], head_only=head_only)[3] is True


@pytest.mark.parametrize(
    ("fields", "closing"),
    [
        (b"HTTP/1.1 200 OK\r\nConnection: Close\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: foo, close\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n", False),
        (b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nConnection: close\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nConnection: keep-alive\r\n", True),
        (b"HTTP/1.0 200 OK\r\n", True),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", True),
    ],
)
def test_the_connection_is_used_again_where_the_server_lets_us(fields: bytes, closing: bool) -> None:
    assert (
        read([fields + b"Content-Length: 0\r\n\r\n0\r\n\r\n"[: 21 if b"chunked" not in fields else 99]])[4] is closing
    )


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * (HEAD_BYTES_MAX + 10),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * 20_000,
    ],
)
def test_what_is_no_response_is_refused(data: bytes) -> None:
    with pytest.raises(BadResponse):
        read([data])


@given(st.binary(max_size=300))
def test_noise_is_refused_or_waited_for_and_nothing_else(data: bytes) -> None:
    for start in (b"", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"HTTP/1.1 200 OK\r\n"):
        try:
            read([start + data])
        except BadResponse:
            continue


def test_the_caller_may_read_bodies_itself() -> None:
    answer = ResponseParser()
    answer.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n12")
    assert answer.direct_bytes == 98
    answer.skip(90)
    assert (answer.direct_bytes, answer.ended) == (8, False)
    answer.skip(8)
    assert (answer.body_bytes, answer.ended) == (100, True)


def test_bodies_whose_text_is_wanted_are_not_read_past_us() -> None:
    answer = ResponseParser()
    answer.feed(b"HTTP/1.1 500 Oh\r\nContent-Length: 100\r\n\r\n<Code>InternalError</Code>")
    assert answer.direct_bytes == 0
    assert error_code(answer.text) == "InternalError"


NAMES = st.sampled_from(["Content-Length", "content-length", "Connection", "Transfer-Encoding", "ETag", "X-Connection"])
VALUES = st.sampled_from(["0", "4096", " 12 ", "close", "keep-alive", "Keep-Alive", "chunked", "x", "1, 1", "", "+5"])


@given(st.lists(st.tuples(NAMES, VALUES), max_size=5), st.sampled_from([b"HTTP/1.1 200 ", b"HTTP/1.1 206 "]))
def test_what_is_recognised_quickly_is_what_a_full_reading_finds(fields: list[tuple[str, str]], start: bytes) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields).encode()
    data = b"HTTP/1.1 200 OK\r\n" + lines + b"\r\n"
    length = quick_length(data, data.find(HEAD_END), start)
    if length >= 0:
        answer = ResponseParser()
        answer.feed(data)
        assert (answer.status, answer.length, answer.closing) == (200, length, False)
        assert answer.direct_bytes == length


def test_the_usual_answers_are_recognised_quickly() -> None:
    for data in (ANSWERS[0], b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\ncontent-length: 7\r\n\r\n"):
        assert quick_length(data, data.find(HEAD_END), b"HTTP/1.1 200 ") in {5, 7}


@pytest.mark.parametrize(
    "lines",
    [
        b"Connection: close\r\nContent-Length: 1",
        b"Content-Length: 1\r\nConnection: Close",
        b"Connection: keep-alive\r\nContent-Length: 1\r\nconnection: close",
        b"Content-Length: 1\r\nTransfer-Encoding: chunked",
        b"Content-Length: 1\r\ncontent-length: 2",
        b"Content-Length: x",
        b"X-Content-Length: 1",
    ],
)
def test_the_unusual_ones_are_not(lines: bytes) -> None:
    data = b"HTTP/1.1 200 OK\r\n" + lines + HEAD_END
    assert quick_length(data, data.find(HEAD_END), b"HTTP/1.1 200 ") == -1


def test_codes_and_ids_are_found_in_xml() -> None:
    assert error_code(b"<Error><Code>NoSuchKey</Code></Error>") == "NoSuchKey"
    assert error_code(b"<html>") == ""
    assert is_error(b'<?xml version="1.0"?>\n  <Error><Code>InternalError</Code></Error>')
    assert not is_error(b"<CompleteMultipartUploadResult/>")
    assert upload_id(b"<UploadId>abc.DEF_1-</UploadId>") == "abc.DEF_1-"
    assert upload_id(b"nothing") == ""
