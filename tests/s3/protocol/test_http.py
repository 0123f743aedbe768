"""Request heads by RFC 9110 and RFC 9112."""

import contextlib
import email.utils

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from s3bench.s3.protocol.http import BadRequest, RequestHead, check_beginning, parse_head, render_date, render_head


def parse(*lines: str) -> RequestHead:
    return parse_head("\r\n".join(lines).encode("latin-1"))


def test_a_request_head_is_taken_apart() -> None:
    head = parse("PUT /bucket/a%20key%2Bb?partNumber=1&uploadId=x HTTP/1.1", "Host: h", "X-Amz-Date:  today \t")
    assert (head.method, head.path, head.query) == ("PUT", "/bucket/a key+b", "partNumber=1&uploadId=x")
    assert head.fields == {"host": "h", "x-amz-date": "today"}
    assert (head.length, head.chunked, head.closing, head.has_body) == (0, False, False, False)
    assert head.target == "/bucket/a key+b?partNumber=1&uploadId=x"


def test_a_path_in_utf8_is_decoded_with_and_without_percent_signs() -> None:
    raw = "GET /b/h%C3%A9/é HTTP/1.1\r\nHost: h".encode()
    assert parse_head(raw).path == "/b/hé/é"


@pytest.mark.parametrize(
    ("target", "path"), [("http://host:9/b/k", "/b/k"), ("HTTPS://host", "/"), ("*", "*"), ("/a://b", "/a://b")]
)
def test_targets_in_other_forms_have_a_path(target: str, path: str) -> None:
    assert parse(f"OPTIONS {target} HTTP/1.1", "Host: h").path == path


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
@pytest.mark.parametrize(
    ("target", "host", "path", "query"),
    [
        ("http://data.localhost/a%20b?c=d", "data.localhost", "/a b", "c=d"),
        ("http://data.localhost:9000", "data.localhost:9000", "/", ""),
        ("https://data.localhost?c", "data.localhost", "/", "c"),
        ("http://data.localhost//a", "data.localhost", "//a", ""),
        ("http://data.localhost/http://other/a", "data.localhost", "/http://other/a", ""),
    ],
)
def test_the_authority_of_a_target_replaces_host(method: str, target: str, host: str, path: str, query: str) -> None:
    head = parse(f"{method} {target} HTTP/1.1", "A: b", "Host: localhost")
    assert (head.path, head.query, head.fields) == (path, query, {"a": "b", "host": host})
    assert parse(f"{method} {target} HTTP/1.0").fields == {"host": host}


@pytest.mark.parametrize(
    "lines",
    [
        ("GET http:///a HTTP/1.1", "Host: h"),
        ("GET http://user:word@h/a HTTP/1.1", "Host: h"),
        ("GET ftp://h/a HTTP/1.1", "Host: h"),
        ("GET *?a HTTP/1.1", "Host: h"),
        ("GET http://h/a HTTP/1.1",),
        ("GET http://h/a HTTP/1.1", "Host: h", "Host: h"),
    ],
)
def test_a_target_in_absolute_form_excuses_nothing(lines: tuple[str, ...]) -> None:
    with pytest.raises(BadRequest):
        parse(*lines)


def test_repeated_fields_are_joined_with_commas() -> None:
    assert parse("GET / HTTP/1.1", "Host: h", "A: 1", "a: 2").fields["a"] == "1,2"


def test_content_length_and_chunked_frame_a_body() -> None:
    assert parse("PUT / HTTP/1.1", "Host: h", "Content-Length: 42").length == 42
    assert parse("PUT / HTTP/1.1", "Host: h", "Transfer-Encoding: Chunked").chunked


@pytest.mark.parametrize(
    ("lines", "closing"),
    [
        (("GET / HTTP/1.1", "Host: h"), False),
        (("GET / HTTP/1.1", "Host: h", "Connection: Keep-Alive"), False),
        (("GET / HTTP/1.1", "Host: h", "Connection: foo, Close"), True),
        (("GET / HTTP/1.0",), True),
    ],
)
def test_the_connection_goes_on_unless_the_request_says_otherwise(lines: tuple[str, ...], closing: bool) -> None:
    assert parse(*lines).closing is closing


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (("",), 400),
        (("GET /",), 400),
        (("GET  / HTTP/1.1", "Host: h"), 400),
        (("GET  HTTP/1.1", "Host: h"), 400),
        (("G@T / HTTP/1.1", "Host: h"), 400),
        (("GET bucket/key HTTP/1.1", "Host: h"), 400),
        (("GET / HTTP/1.1",), 400),
        (("GET / HTTP/1.1", "Host: h", "Host: h"), 400),
        (("GET / HTTP/2.0", "Host: h"), 505),
        (("GET / SPDY/1", "Host: h"), 400),
        (("GET / HTTP/1.1", "Host: h", "no colon"), 400),
        (("GET / HTTP/1.1", "Host: h", "range: x", "range"), 400),
        (("GET / HTTP/1.1", "Host"), 400),
        (("GET / HTTP/1.1", "Host: h", "A : spaced"), 400),
        (("GET / HTTP/1.1", "Host: h", " folded: line"), 400),
        (("GET / HTTP/1.1", "Host: h", "A: bare\rCR"), 400),
        (("GET / HTTP/1.1", "Host: h", "A: bare\nLF"), 400),
        (("GET / HTTP/1.1", "Host: h", "A: nul\0"), 400),
        (("PUT / HTTP/1.1", "Host: h", "Content-Length: -1"), 400),
        (("PUT / HTTP/1.1", "Host: h", "Content-Length: +1"), 400),
        (("PUT / HTTP/1.1", "Host: h", "Content-Length: 1_0"), 400),
        (("PUT / HTTP/1.1", "Host: h", "Content-Length: \xb2"), 400),
        (("PUT / HTTP/1.1", "Host: h", "Content-Length:"), 400),
        (("PUT / HTTP/1.1", "Host: h", "Content-Length: 5", "Content-Length: 6"), 400),
        (("PUT / HTTP/1.1", "Host: h", "Content-Length: 9223372036854775808"), 400),
        (("PUT / HTTP/1.1", "Host: h", f"Content-Length: {'9' * 5000}"), 400),
        (("PUT / HTTP/1.1", "Host: h", "Content-Length: 5", "Transfer-Encoding: chunked"), 400),
        (("PUT / HTTP/1.0", "Transfer-Encoding: chunked"), 400),
        (("PUT / HTTP/1.1", "Host: h", "Transfer-Encoding: gzip, chunked"), 501),
    ],
)
def test_what_breaks_the_protocol_is_refused(lines: tuple[str, ...], status: int) -> None:
    with pytest.raises(BadRequest) as refused:
        parse(*lines)
    assert refused.value.status == status


def test_a_length_with_many_leading_zeros_is_a_number() -> None:
    assert parse("PUT / HTTP/1.1", "Host: h", f"Content-Length: {'0' * 50}7").length == 7


@given(st.binary(max_size=300))
@example(b"GET / HTTP/1.1\r\nHost: h\r\n")
def test_any_bytes_are_a_head_or_a_bad_request(raw: bytes) -> None:
    with contextlib.suppress(BadRequest):
        assert parse_head(raw).length >= 0


@pytest.mark.parametrize(
    "line", [b"PUT /bucket/key HTTP/1.1", b"GET http://host/key?a HTTP/1.0", b"OPTIONS * HTTP/1.1"]
)
def test_a_good_head_may_come_in_any_pieces(line: bytes) -> None:
    head = line + b"\r\nA: b\r\nHost: h\r\n\r"
    for at in range(1, len(head) + 1):
        check_beginning(head[:at])


_NAMES = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_!", min_size=1, max_size=12)
_VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=255, exclude_characters="\x7f"), max_size=30)
_RESERVED = {"host", "content-length", "transfer-encoding", "connection"}


@given(st.dictionaries(_NAMES.filter(lambda name: name.lower() not in _RESERVED), _VALUES, max_size=8))
def test_any_valid_fields_come_back(fields: dict[str, str]) -> None:
    expected: dict[str, str] = {}
    for name, value in fields.items():
        expected[name.lower()] = f"{expected[name.lower()]},{value}" if name.lower() in expected else value
    head = parse("GET / HTTP/1.1", "Host: h", *(f"{name}: {value}" for name, value in fields.items()))
    assert head.fields == {"host": "h", **expected}


@pytest.mark.parametrize(
    ("path", "garbled"),
    [("/b/%ff", True), ("/b/%C3", True), ("/b/%EF%BF%BD", False), ("/b/%C3%A9", False), ("/b/k", False)],
)
def test_a_path_that_is_not_utf8_is_known_as_such(path: str, garbled: bool) -> None:
    for more in ((), ("Content-Length: 1",)):
        assert parse(f"PUT {path} HTTP/1.1", "Host: h", *more).garbled is garbled


@given(value=_VALUES)
def test_a_value_goes_out_with_the_bytes_it_came_in_with(value: str) -> None:
    head = parse("GET / HTTP/1.1", "Host: h", f"A: {value}")
    assert render_head(200, [("A", head.fields["a"])]).split(b"\r\n")[1] == f"A: {value}".encode("latin-1")


def test_a_response_head_has_its_status_line_and_headers() -> None:
    assert render_head(206, [("ETag", '"e"')]) == b'HTTP/1.1 206 Partial Content\r\nETag: "e"\r\n'
    assert render_head(599, []) == b"HTTP/1.1 599 Stubbed\r\n"


@pytest.mark.parametrize("header", [("a b", "c"), ("a", "b\r\nc: d"), ("a", "b\n"), ("", "b")])
def test_a_header_cannot_break_out_of_its_line(header: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="cannot be sent"):
        render_head(200, [header])


@given(st.integers(min_value=0, max_value=2**33))
def test_dates_are_http_dates(now_s: int) -> None:
    assert render_date(now_s) == email.utils.formatdate(now_s, usegmt=True)


def test_http_1_0_expects_nothing() -> None:
    lines = "\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue"
    assert parse_head(f"PUT /b/k HTTP/1.1{lines}".encode()).expects_continue
    assert not parse_head(f"PUT /b/k HTTP/1.0{lines}".encode()).expects_continue
