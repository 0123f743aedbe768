"""The script: which response a request takes, what it looks like, what is left."""

import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.errors import S3BenchError
from s3bench.s3.files.file_cache import FileCache
from s3bench.s3.protocol.exchange import NO_BODY, Reply, RequestBody
from s3bench.s3.protocol.http import parse_head
from s3bench.s3.stub.script import Script
from s3bench.s3.wirelog import UploadDigest
from s3bench.spec.definition import FileBody, RequestMatch, Response

DATE = b"Date: Sat, 21 Nov 2026 04:24:00 GMT\r\n"


class Got:
    """A reply, taken apart."""

    def __init__(self, reply: Reply) -> None:
        self.head, self.body = reply.data[: reply.head_bytes], reply.data[reply.head_bytes :]
        self.status, self.checksums, self.error, *served, _delay_s, _fault = reply.facts
        self.served = tuple(served)
        self.segments = reply.segments


class Told:
    """A script with a workspace, asked by request lines."""

    def __init__(self, workspace: Path, *responses: Response, verify: bool = False) -> None:
        self.script = Script(responses, files=FileCache(workspace), verify=verify)

    def reply(self, method: str, target: str, *lines: str, body: bytes = b"") -> Got:
        head = parse_head("\r\n".join((f"{method} {target} HTTP/1.1", "Host: h", *lines)).encode())
        sink = self.script.begin(head) if head.has_body else None
        if sink is not None:
            sink.update(memoryview(body))
        read = NO_BODY if sink is None else RequestBody(len(body), len(body), {}, sink)
        return Got(self.script.finish(head, read, DATE))


def headers(reply: Got) -> dict[str, str]:
    lines = reply.head.decode().removesuffix("\r\n\r\n").split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


Tell = Callable[..., Told]


def taken(path: str, requested: str) -> str | None:
    """What the `*` of a response's path stood for in a request, or `None` where it did not fit."""
    served: list[str] = []

    class Recorder:
        def find(self, name: str) -> None:
            served.append(name)

    response = Response(match=RequestMatch(path=f"/{path}"), body=FileBody(file="*"))
    script = Script((response,), files=Recorder(), verify=False)
    script.finish(parse_head(f"GET /{requested} HTTP/1.1\r\nHost: h".encode()), NO_BODY, DATE)
    return served[0] if served else None


@pytest.fixture
def tell(workspace: Path) -> Tell:
    return lambda *responses, **options: Told(workspace, *responses, **options)


def test_responses_are_taken_in_order_each_as_often_as_it_says(tell: Tell) -> None:
    told = tell(Response(status_code=201, instances=2), Response(status_code=202))
    assert [told.reply("GET", "/").status for _ in range(4)] == [201, 201, 202, 400]


def test_a_request_takes_the_first_response_that_fits_and_is_left(tell: Tell) -> None:
    told = tell(
        Response(status_code=201, match=RequestMatch(method="PUT")),
        Response(status_code=202, match=RequestMatch(path="/b/*")),
        Response(status_code=203, match=RequestMatch(query=(("uploads", ""),)), instances=None),
        Response(status_code=204, match=RequestMatch(query=(("list-type", "2"),)), instances=None),
        Response(status_code=206),
    )
    assert told.reply("PUT", "/b/k").status == 201
    assert told.reply("PUT", "/b/k").status == 202
    assert told.reply("PUT", "/c/k?list-type=2&x").status == 204
    assert told.reply("PUT", "/c/k?uploads").status == 203
    assert told.reply("PUT", "/c/k?uploads=1").status == 203
    assert told.reply("GET", "/c/k?list-type=1").status == 206
    assert told.reply("GET", "/c/k?list-type=1").status == 400


@pytest.mark.parametrize("raw", ["é", "%C3%A9"])
def test_a_query_fits_encoded_or_not(tell: Tell, raw: str) -> None:
    told = tell(Response(status_code=201, match=RequestMatch(query=(("prefix", "é"),))))
    assert told.reply("GET", f"/b?prefix={raw}").status == 201


def test_a_query_that_is_not_utf_8_fits_nothing(tell: Tell) -> None:
    told = tell(Response(match=RequestMatch(query=(("prefix", "é"),))))
    assert told.reply("GET", "/b?prefix=%E9").status == 400


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("/b/k", "/b/k", True),
        ("/b/k", "/b/k2", False),
        ("/b/a b", "/b/a%20b", True),
        ("/b/*", "/b/", True),
        ("/b/*", "/b/x/y", True),
        ("/*/k", "/b/k", True),
        ("/b/*.bin", "/b/x.bin", True),
        ("/b/*.bin", "/b/xybin", False),
        ("/b/a+[x]", "/b/a+[x]", True),
        ("/b/*-*", "/b/1-2", True),
    ],
)
def test_paths_match_decoded_with_stars(tell: Tell, pattern: str, path: str, fits: bool) -> None:
    told = tell(Response(match=RequestMatch(path=pattern)))
    assert (told.reply("GET", path).status == 200) is fits


def test_a_request_with_no_response_left_is_named(tell: Tell) -> None:
    reply = tell().reply("GET", "/bucket/key?a=b&c")
    assert reply.status == 400
    assert reply.error == "no response left for GET /bucket/key?a=b&c"
    document = ET.fromstring(reply.body)
    assert document.findtext("Code") == "NoResponseLeft"
    assert document.findtext("Message") == "no response left for GET /bucket/key?a=b&c"
    assert headers(reply)["content-length"] == str(len(reply.body))


def test_an_error_document_is_xml_whatever_the_request_holds(tell: Tell) -> None:
    reply = tell().reply("GET", "/%00%1b<&>?<\"'>")
    assert ET.fromstring(reply.body).findtext("Resource") == "/??<&>"


def test_a_refused_head_request_has_no_body(tell: Tell) -> None:
    reply = tell().reply("HEAD", "/")
    assert (reply.status, reply.body) == (400, b"")


def test_leftovers_are_told_in_order_and_any_is_never_one(tell: Tell) -> None:
    told = tell(
        Response(instances=3, match=RequestMatch(method="PUT")),
        Response(instances=None, match=RequestMatch()),
        Response(match=RequestMatch(method="GET", path="/b/*", query=(("uploads", ""), ("a", "1")))),
        Response(),
        Response(instances=0),
    )
    told.reply("PUT", "/")
    assert told.script.leftover() == (
        "responses[0] (match PUT): 2 of 3 instances unused",
        "responses[2] (match GET /b/* ?uploads&a=1): unused",
        "responses[3]: unused",
    )


def test_headers_of_a_definition_are_sent_in_utf8(tell: Tell) -> None:
    told = tell(Response(headers=(("X-Name", "日本"),)))
    assert "\r\nX-Name: 日本\r\n".encode() in told.reply("GET", "/").head


def test_a_reply_carries_what_clients_need(tell: Tell) -> None:
    told = tell(Response(instances=9, body="hé"))
    put, get, post = (told.reply(method, "/b/k") for method in ("PUT", "GET", "POST"))
    assert get.body == "hé".encode()
    assert headers(get)["content-length"] == "3"
    assert headers(get)["date"] == "Sat, 21 Nov 2026 04:24:00 GMT"
    assert headers(get)["x-amz-request-id"]
    assert headers(get)["last-modified"].endswith("GMT")
    assert headers(get)["etag"] == headers(put)["etag"]
    assert headers(get)["etag"].endswith('-1"')
    assert "last-modified" not in headers(put)
    assert not {"etag", "last-modified"} & set(headers(post))


def test_declared_headers_win_over_ours(tell: Tell) -> None:
    declared = (("etag", '"mine"'), ("Date", "then"), ("X-Amz-Request-Id", "id"), ("last-modified", "once"))
    reply = tell(Response(headers=declared)).reply("GET", "/")
    assert reply.head.lower().count(b"etag:") == reply.head.lower().count(b"date:") == 1
    assert headers(reply) == {
        "etag": '"mine"', "date": "then", "x-amz-request-id": "id", "last-modified": "once", "content-length": "0"
    }  # fmt: skip


def test_failures_get_no_etag(tell: Tell) -> None:
    assert "etag" not in headers(tell(Response(status_code=404)).reply("GET", "/"))


def test_framing_headers_are_ours_alone(tell: Tell) -> None:
    declared = (("Transfer-Encoding", "chunked"), ("Content-Length", "77"))
    told = tell(Response(headers=declared, body="abc", instances=9))
    assert headers(told.reply("GET", "/"))["content-length"] == "3"
    assert "transfer-encoding" not in headers(told.reply("GET", "/"))


def test_a_head_reply_declares_a_length_and_sends_nothing(tell: Tell, workspace: Path) -> None:
    told = tell(
        Response(headers=(("content-length", "77"),)),
        Response(body="abc"),
        Response(body=FileBody(file="small")),
        Response(body=FileBody(file="small"), match=RequestMatch()),
    )
    replies = [told.reply("HEAD", "/") for _ in range(4)]
    assert [headers(reply)["content-length"] for reply in replies] == ["77", "3", "256", "256"]
    assert all(reply.body == b"" and not reply.segments for reply in replies)


@pytest.mark.parametrize(("status", "length"), [(204, None), (304, "5")])
def test_a_status_without_a_body_sends_none(tell: Tell, status: int, length: str | None) -> None:
    reply = tell(Response(status_code=status, headers=(("Content-Length", "5"),))).reply("GET", "/")
    assert reply.body == b""
    assert headers(reply).get("content-length") == length


@pytest.mark.parametrize(
    ("lines", "status", "content_range", "bytes_served"),
    [
        ((), 200, None, ("small", 0, 256)),
        (("Range: bytes=10-19",), 206, "bytes 10-19/256", ("small", 10, 20)),
        (("Range: bytes=250-999",), 206, "bytes 250-255/256", ("small", 250, 256)),
        (("Range: bytes=-6",), 206, "bytes 250-255/256", ("small", 250, 256)),
        (("Range: nonsense",), 200, None, ("small", 0, 256)),
        (("Range: bytes=256-",), 416, "bytes */256", ("", 0, 0)),
    ],
)
def test_a_matched_file_is_served_by_range(
    tell: Tell, lines: tuple[str, ...], status: int, content_range: str | None, bytes_served: tuple[str, int, int]
) -> None:
    told = tell(Response(match=RequestMatch(), body=FileBody(file="small"), headers=(("ETag", '"e"'),)))
    reply = told.reply("GET", "/b/k", *lines)
    assert (reply.status, headers(reply).get("content-range"), reply.served) == (status, content_range, bytes_served)
    if status != 416:
        assert headers(reply)["etag"] == '"e"'
        assert headers(reply)["accept-ranges"] == "bytes"
        assert headers(reply)["content-length"] == str(bytes_served[2] - bytes_served[1])


def test_a_range_outside_the_file_says_how_large_it_is(tell: Tell) -> None:
    told = tell(Response(match=RequestMatch(), body=FileBody(file="empty")))
    document = ET.fromstring(told.reply("GET", "/", "Range: bytes=0-9").body)
    assert document.findtext("Code") == "InvalidRange"
    assert document.findtext("ActualObjectSize") == "0"  # aws-c-s3 reads it


def test_part_number_one_is_the_whole_object(tell: Tell) -> None:
    told = tell(Response(match=RequestMatch(), body=FileBody(file="small"), instances=None))
    reply = told.reply("GET", "/b/k?partNumber=1")
    assert (reply.status, headers(reply)["content-range"]) == (206, "bytes 0-255/256")
    assert told.reply("GET", "/b/k?partNumber=2").status == 416
    assert told.reply("HEAD", "/b/k?partNumber=1").status == 206


def test_without_match_a_file_is_sent_whole_with_its_status(tell: Tell) -> None:
    told = tell(Response(status_code=203, body=FileBody(file="small")))
    reply = told.reply("GET", "/b/k", "Range: bytes=1-2")
    assert (reply.status, reply.served) == (203, ("small", 0, 256))


def test_a_star_in_the_file_stands_for_what_the_path_had(tell: Tell, workspace: Path) -> None:
    (workspace / "dir").mkdir()
    (workspace / "dir" / "a b").write_bytes(b"12345")
    told = tell(Response(match=RequestMatch(path="/b/pre/*"), body=FileBody(file="dir/*"), instances=None))
    reply = told.reply("GET", "/b/pre/a%20b", "Range: bytes=1-")
    assert (reply.status, reply.served) == (206, ("dir/a b", 1, 5))


@pytest.mark.parametrize("key", ["none", "..%2f..%2fetc/passwd", "", "%00", "../small"])
def test_a_star_that_names_no_workspace_file_is_not_found(tell: Tell, workspace: Path, key: str) -> None:
    (workspace / "dir").mkdir()
    told = tell(Response(match=RequestMatch(path="/b/*"), body=FileBody(file="dir/*"), instances=None))
    reply = told.reply("GET", f"/b/{key}")
    assert reply.status == 404
    assert "the workspace has no file" in reply.error


@pytest.mark.parametrize("key", ["link", "away/small", "pipe", "away/away/small"])
def test_a_star_that_names_a_link_or_a_pipe_is_not_found(tell: Tell, workspace: Path, key: str) -> None:
    (workspace / "dir").mkdir()
    (workspace / "dir" / "link").symlink_to(workspace / "small")
    (workspace / "dir" / "away").symlink_to(workspace)
    os.mkfifo(workspace / "dir" / "pipe")
    reply = tell(Response(match=RequestMatch(path="/b/*"), body=FileBody(file="dir/*"))).reply("GET", f"/b/{key}")
    assert reply.status == 404
    assert "the workspace has no file" in reply.error


def test_a_file_that_is_missing_at_the_start_is_an_error(workspace: Path) -> None:
    with pytest.raises(S3BenchError, match="no file 'gone'"):
        Told(workspace, Response(body=FileBody(file="gone")))
    (workspace / "pipe").mkdir()
    with pytest.raises(S3BenchError, match="no file 'pipe'"):
        Told(workspace, Response(body=FileBody(file="pipe")))


def test_a_wrong_checksum_is_refused_and_takes_no_response(tell: Tell) -> None:
    told = tell(Response(), verify=True)
    reply = told.reply("PUT", "/b/k", "x-amz-checksum-crc32: AAAAAA==", "Content-Length: 3", body=b"abc")
    assert reply.status == 400
    assert ET.fromstring(reply.body).findtext("Code") == "BadDigest"
    assert reply.checksums == {"crc32": False}
    assert reply.error.startswith("checksum mismatch for PUT /b/k: x-amz-checksum-crc32")
    assert told.script.leftover() == ("responses[0]: unused",)


def test_a_right_checksum_is_told_and_without_verify_none_is(workspace: Path) -> None:
    line = "x-amz-checksum-crc32: NSRBwg=="  # of b"abc"
    for verify, expected in ((True, {"crc32": True}), (False, {})):
        reply = Told(workspace, Response(), verify=verify).reply("PUT", "/b/k", line, "Content-Length: 3", body=b"abc")
        assert (reply.status, reply.checksums) == (200, expected)


CRC32_OF_ABC, CRC32C_OF_ABC = bytes.fromhex("352441c2"), bytes.fromhex("364b3fb7")
MD5_OF_ABC = bytes.fromhex("900150983cd24fb0d6963f7d28e17f72")
MD5_LINE = "Content-MD5: kAFQmDzST7DWlj99KOF/cg=="


@pytest.mark.parametrize(
    ("lines", "algorithm", "value"),
    [
        ((), "crc32", CRC32_OF_ABC),
        ((MD5_LINE,), "md5", MD5_OF_ABC),
        ((MD5_LINE, "x-amz-checksum-crc32c: Nks/tw=="), "crc32c", CRC32C_OF_ABC),
    ],
)
def test_each_upload_has_a_checksum_that_its_request_declared_or_crc_32(
    tell: Tell, lines: tuple[str, ...], algorithm: str, value: bytes
) -> None:
    told = tell(Response(), verify=True)
    assert told.reply("PUT", "/b/k?partNumber=1", *lines, "Content-Length: 3", body=b"abc").status == 200
    assert told.script.digests() == (UploadDigest("/b/k", "partNumber=1", algorithm, value),)


def test_an_upload_that_is_sent_again_has_the_crc_of_its_last_success(tell: Tell) -> None:
    told = tell(Response(instances=2), Response(status_code=503), verify=True)
    for body in (b"xyz", b"abc", b"xyz"):
        told.reply("PUT", "/b/k", "Content-Length: 3", body=body)
    assert [digest.value for digest in told.script.digests()] == [CRC32_OF_ABC]


def test_an_empty_upload_has_a_crc(tell: Tell) -> None:
    told = tell(Response(), verify=True)
    told.reply("PUT", "/b/k")
    assert [digest.value for digest in told.script.digests()] == [bytes(4)]


def test_without_verifying_bodies_may_be_dropped_and_other_methods_have_no_crc(tell: Tell) -> None:
    for method, verify in (("PUT", False), ("POST", True)):
        told = tell(Response(), verify=verify)
        told.reply(method, "/b/k", "Content-Length: 3", body=b"abc")
        assert told.script.digests() == ()


@given(path=st.text("ab*", max_size=12), requested=st.text("ab", max_size=12))
def test_stars_match_as_in_a_regular_expression_and_the_first_takes_as_much_as_it_can(
    path: str, requested: str
) -> None:
    found = re.fullmatch("(.*)".join(map(re.escape, path.split("*"))), requested)
    expected = None if found is None else found[1] if "*" in path else ""
    assert taken(path, requested) == expected


@pytest.mark.timeout(5)
def test_many_stars_take_no_longer_than_few() -> None:
    assert taken("*a" * 9 + "*b", "a" * 200) is None
    assert taken("*" + "a" * 1500 + "b*" + "a" * 1500 + "*c", "a" * 4000) is None


def test_a_new_date_is_sent_when_time_has_passed(workspace: Path) -> None:
    script = Script((Response(instances=None, match=RequestMatch()),), files=FileCache(workspace), verify=False)
    head = parse_head(b"GET / HTTP/1.1\r\nHost: h")
    assert b"Date: one" in script.finish(head, NO_BODY, b"Date: one\r\n").data
    assert b"Date: two" in script.finish(head, NO_BODY, b"Date: two\r\n").data
