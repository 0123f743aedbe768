"""The fast path in C gives what Python gives, and leaves to Python what is not simple."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.s3.protocol.http import BadRequest, RequestHead, parse_head
from s3bench.s3.server import fast_path as fast_path_module
from s3bench.s3.server.fast_path import FastPath, fast_path
from s3bench.system.portable import IS_PORTABLE

SIGNED = (
    b"Host: 127.0.0.1:9000\r\nAccept-Encoding: identity\r\nRange: bytes=0-8388607\r\nUser-Agent: aws-cli/2.30\r\n"
    b"X-Amz-Date: 20260101T000000Z\r\nX-Amz-Content-SHA256: UNSIGNED-PAYLOAD\r\namz-sdk-request: attempt=1\r\n"
    b"Authorization: AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/s3/aws4_request, Signature=abc"
)
PART = b"PUT /bucket/key?partNumber=1&uploadId=a%2Fb HTTP/1.1\r\nContent-Length: 8388608\r\nExpect: 100-continue\r\n"
HEADS = (
    b"GET /bucket/key HTTP/1.1\r\n" + SIGNED,
    PART + SIGNED,
    b"HEAD /? HTTP/1.1\r\nHost:h",
    b"DELETE /b?versionId=\xe9 HTTP/1.1\r\nHOST:\t h \r\nx-amz-meta-a:\xe9 b\r\nContent-Length: 0",
)
OTHERS = (
    b"POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: h",
    b"GET /b HTTP/1.1\r\nHost: h\r\nConnection: keep-alive",
    b"GET /b HTTP/1.1\r\nUser-Agent: a",
)
SPLICES = (
    b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b"%41", b"\xe9", b"?", b"*", b"http://h/", b"\r\n\r\n", b"1",
    b"\r\nHost: other", b"\r\nConnection: close", b"\r\nTransfer-Encoding: chunked", b"\r\nContent-Length: 5",
    b"\r\n fold", b"\r\nExpect: 100-continue", b"HTTP/1.0", b"HTTP/1.1", b"GET", b"PATCH", b"\r\nNew-Name: 1", b"-1",
    b"99999999999999999999", b"\r\nContent-Length:", b"\r\nContent-Length: 007",
)  # fmt: skip


@pytest.fixture(scope="module", name="fast")
def _fast() -> FastPath:
    if fast_path is None:
        pytest.skip("the fast path was not compiled: that needs Linux, a C compiler and Python's headers")
    return fast_path


def in_python(raw: bytes) -> RequestHead | None:
    """The head, or `None` where it is refused."""
    try:
        return parse_head(raw)
    except BadRequest:
        return None


def test_it_is_used_where_it_is_compiled() -> None:
    compiled = Path(fast_path_module.__file__).with_name("_fast_path.abi3.so").exists()
    assert (fast_path is not None) == (compiled and not IS_PORTABLE and "t" not in sys.abiflags)


@pytest.mark.parametrize("raw", HEADS)
def test_simple_heads_are_parsed_in_c(fast: FastPath, raw: bytes) -> None:
    expected = parse_head(raw)  # after which their field names are known
    head = fast.parse_head(raw)
    assert head == expected
    assert isinstance(head, RequestHead)
    assert list(head.fields) == list(expected.fields)


@pytest.mark.parametrize("raw", OTHERS)
def test_other_heads_are_left_to_python(fast: FastPath, raw: bytes) -> None:
    in_python(raw)  # after which their field names are known
    assert fast.parse_head(raw) is None


@given(
    raw=st.sampled_from(HEADS),
    edits=st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 30), st.sampled_from(SPLICES) | st.binary(max_size=3))
    ),
)
def test_an_edited_head_is_parsed_as_python_does_or_left_to_python(
    fast: FastPath, raw: bytes, edits: list[tuple[int, int, bytes]]
) -> None:
    for at, dropped, spliced in edits:
        raw = raw[:at] + spliced + raw[at + dropped :]
    head = fast.parse_head(raw)
    assert head is None or head == in_python(raw)


@pytest.mark.parametrize("at", range(0, 60, 7))
@pytest.mark.parametrize("spliced", SPLICES)
def test_each_splice_is_read_as_python_reads_it(fast: FastPath, at: int, spliced: bytes) -> None:
    for whole in HEADS:
        for raw in (
            whole[:at] + spliced + whole[at:],
            whole[:at] + spliced + whole[at + len(spliced) :],
            whole + spliced,
        ):
            head = fast.parse_head(raw)
            assert head is None or head == in_python(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r",
        b"\r\n",
        b" ",
        b"GET",
        b"GET ",
        b"GET /",
        b"GET / HTTP/1.1",
        b"GET / HTTP/1.1\r\n",
        b" HTTP/1.1",
        b"\0" * 99,
    ],
)
def test_the_shortest_heads_are_left_to_python(fast: FastPath, raw: bytes) -> None:
    assert fast.parse_head(raw) is None


def test_parsing_keeps_no_memory(fast: FastPath) -> None:
    refused = (
        b"GET /b/k HTTP/1.1\r\nHost: first\r\nHost: second",
        b"GET /b/k HTTP/1.1\r\nHost: h\r\nContent-Length: x",
        b"GET /b/k HTTP/1.1\r\nHost: h" + b"\r\nContent-Length: 999999999999999999" * 2,
        HEADS[1][:-90],
    )

    def parse() -> None:
        for raw in HEADS + refused:
            fast.parse_head(raw)

    parse()
    references = [sys.getrefcount(shared) for shared in (None, False, 0, "", RequestHead)]
    before = sys.getallocatedblocks()
    for _ in range(1000):
        parse()
    assert sys.getallocatedblocks() - before < 500
    assert (
        max(abs(sys.getrefcount(o) - n) for o, n in zip((None, False, 0, "", RequestHead), references, strict=True))
        < 100
    )
