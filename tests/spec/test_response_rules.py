from typing import Any

import pytest

from s3bench.spec.definition import Environment, FileBody, FixtureDir, RequestMatch, Response
from s3bench.spec.file_sizes import SizeCounts
from s3bench.spec.fixture_rules import check_fixtures
from s3bench.spec.reader import Report
from s3bench.spec.response_rules import check_response

ENVIRONMENT = {
    "files": [{"name": "test_file", "size": 100}],
    "file_dirs": [
        {"name": "dir", "file_count": 12, "file_size": 4096},
        {"name": "empty", "file_count": 0, "file_size": 1},
    ],
    "file_literals": [{"name": "é.txt", "content": "é"}, {"name": "test_file", "content": "12345", "mode": "a"}],
}


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (
            {"headers": {"Content-Length": "5"}, "body": "héllo"},
            '.headers["Content-Length"]: is "5", but the body has 6 bytes; write "6", or remove it',
        ),
        (
            {"headers": {"content-length": "100"}, "body": {"file": "test_file"}},
            '.headers["content-length"]: is "100", but the body has 105 bytes; write "105", or remove it',
        ),
        (
            {"headers": {"Content-Length": "1"}, "body": {"file": "dir/file-000011"}},
            '.headers["Content-Length"]: is "1", but the body has 4096 bytes; write "4096", or remove it',
        ),
        (
            {"headers": {"Content-Length": "1"}, "body": {"file": "dir/*"}, "match": {"path": "/b/*"}},
            '.headers["Content-Length"]: is "1", but the body has 4096 bytes; write "4096", or remove it',
        ),
        (
            {"headers": {"Content-Length": "1"}, "body": {"file": "dir/*5"}, "match": {"path": "/b/*"}},
            '.headers["Content-Length"]: is "1", but the body has 4096 bytes; write "4096", or remove it',
        ),
        (
            {"body": {"file": "dir/*12"}, "match": {"path": "/b/*"}},
            '.body.file: is "dir/*12", which no fixture makes; add it under `environment`, or use an existing file',
        ),
        (
            {"headers": {"Content-Length": "9"}, "match": {"method": "GET"}},
            (
                '.headers["Content-Length"]: is "9", but the body is empty, which is allowed only for a response to '
                'HEAD; write the body, or "0", or remove the header'
            ),
        ),
        (
            {"headers": {"Content-Length": "9"}, "body": "1234", "match": {"method": "HEAD"}},
            '.headers["Content-Length"]: is "9", but the body has 4 bytes; write "4", or remove it',
        ),
        (
            {"headers": {"Content-Length": "4 bytes"}, "body": "1234"},
            (
                '.headers["Content-Length"]: is "4 bytes", not a number of bytes; write decimal digits, '
                'e.g. "32000000", or '
                "remove it"
            ),
        ),
        (
            {"headers": {"Content-Length": "1"}, "body": {"listing": "dir"}},
            '.headers["Content-Length"]: is set by s3bench itself for a listing; remove it',
        ),
        (
            {"headers": {"ETag": "a", "etag": "b"}},
            '.headers.etag: is the same header as "ETag": names have no case (RFC 9110, section 5.1); keep one of them',
        ),
        (
            {"body": {"file": "test_fil"}},
            '.body.file: is "test_fil", which no fixture makes; did you mean "test_file"?',
        ),
        (
            {"body": {"file": "dir/file-000012"}},
            '.body.file: is "dir/file-000012", which no fixture makes; did you mean "dir/file-000011"?',
        ),
        (
            {"body": {"file": "zzz"}},
            '.body.file: is "zzz", which no fixture makes; add it under `environment`, or use an existing file',
        ),
        (
            {"body": {"file": "dir"}},
            '.body.file: is "dir", which no fixture makes; add it under `environment`, or use an existing file',
        ),
        (
            {"body": {"file": "empty/*"}, "match": {"path": "/b/*"}},
            ('.body.file: is "empty/*", which no fixture makes; add it under `environment`, or use an existing file'),
        ),
        (
            {"body": {"file": "dir/*"}},
            (
                '.body.file: is "dir/*", but `match.path` has no `*`; it needs exactly one; add `match` '
                "with one `*` in its "
                'path, e.g. {"path": "/bucket/*"}'
            ),
        ),
        (
            {"body": {"file": "dir/*"}, "match": {"path": "/*/*"}},
            (
                '.body.file: is "dir/*", but `match.path` has 2 `*`; it needs exactly one; add `match` with '
                "one `*` in its "
                'path, e.g. {"path": "/bucket/*"}'
            ),
        ),
        (
            {"body": {"listing": "dri"}},
            '.body.listing: is "dri", which no `file_dirs` or `file_trees` makes; did you mean "dir"?',
        ),
        (
            {"body": {"listng": "dir"}},
            ".body.listng: is an unknown key; did you mean `listing`?",
        ),
        (
            {"instances": "any"},
            (
                '.instances: is "any" without `match`: no later response would ever be used; add '
                "`match`, or write the number of requests"
            ),
        ),
        ({"instances": 0}, ".instances: is 0, below the minimum of 1; write 1 or more"),
        ({"instances": "3"}, '.instances: is the string "3", not "any"; write it without quotes: 3'),
        ({"instances": True}, ".instances: is true, not a whole number; write a whole number, e.g. 1"),
        ({"status_code": 199}, ".status_code: is 199, below the minimum of 200; write 200 or more"),
        (
            {"status_code": 600},
            ".status_code: is 600, above the maximum of 599 (RFC 9110, section 15); write 599 or less",
        ),
        (
            {"status_code": 204, "body": "x"},
            (
                ".body: is not empty, but a response with status 204 has no body (RFC 9110); remove the body, or use "
                "another status, e.g. 200"
            ),
        ),
        (
            {"status_code": 304, "body": {"file": "test_file"}},
            (
                ".body: is not empty, but a response with status 304 has no body (RFC 9110); remove the body, or use "
                "another status, e.g. 200"
            ),
        ),
        ({"delay": -0.5}, ".delay: is -0.5 seconds; write a number of seconds at least 0"),
        ({"delay": 1e9}, ".delay: is 1000000000.0 seconds, longer than a day; write 86400 or less"),
        (
            {"delay": False},
            ".delay: is false, not a number of seconds; write a number of seconds, at least 0, e.g. 0.5",
        ),
        ({"match": {"method": "get"}}, '.match.method: is "get"; methods are upper-case; write "GET"'),
        (
            {"match": {"method": "GET IT"}},
            '.match.method: is "GET IT", which is not an HTTP method; write GET, HEAD, PUT, POST or DELETE',
        ),
        (
            {"match": {"path": "bucket/key"}},
            '.match.path: is "bucket/key", which matches no request\'s path; begin with `/` or `*`: "/bucket/key"',
        ),
        (
            {"match": {"path": "/bucket/key?uploads"}},
            (
                '.match.path: is "/bucket/key?uploads": it has a query; write "/bucket/key" and put the '
                "query under `query`, "
                'e.g. {"uploads": ""}'
            ),
        ),
        (
            {"match": {"query": {"uploads": None}}},
            (
                ".match.query.uploads: is null, not a string; write a string in double quotes, or omit "
                "the key if it is "
                "optional"
            ),
        ),
        (
            {"headers": {"X-Long": "a\r\nX-Injected: b"}},
            '.headers["X-Long"]: has a line break, which would begin another header; write the value in one line',
        ),
        (
            {"headers": {"X": "caf\u0142"}},
            (
                '.headers.X: has the character "\u0142", which a header value cannot contain; use visible '
                "ASCII and spaces "
                "(RFC 9110, section 5.5)"
            ),
        ),
        (
            {"headers": {"X": " a"}},
            '.headers.X: has spaces at its ends, which HTTP does not transmit; write "a"',
        ),
        (
            {"headers": {"": "a"}},
            '.headers[""]: "" is not a header name; use letters, digits and `-`, e.g. `ETag` (a token of RFC 9110)',
        ),
        ({"headers": {"ETag": 7}}, ".headers.ETag: is the number 7, not a string; write a string in double quotes"),
    ],
)
def test_a_response_that_contradicts_itself_is_reported(response: dict[str, Any], expected: str, problems: Any) -> None:
    assert problems(environment=ENVIRONMENT, responses=[response]) == [f"$[0].responses[0]{expected}"]


@pytest.mark.parametrize(
    "response",
    [
        {"headers": {"Content-Length": "6"}, "body": "héllo"},
        {"headers": {"Content-Length": "0"}},
        {"headers": {"Transfer-Encoding": "chunked"}, "body": "x"},
        {"headers": {"Content-Length": "10000000000", "ETag": "etag-1"}},
        {"headers": {"Content-Length": "105"}, "match": {"method": "HEAD"}},
        {"headers": {"Content-Length": "105"}, "body": {"file": "test_file"}, "match": {"method": "HEAD"}},
        {"headers": {"Content-Length": "9"}, "match": {"path": "/bucket/*"}},
        {"headers": {"Content-Length": "4096"}, "body": {"file": "dir/*"}, "match": {"path": "/b/*"}},
        {"headers": {"Content-Range": "0-8388608/10000000000", "Empty": ""}},
        {"body": {"file": "é.txt"}},
        {"body": {"file": "dir/file-000000"}},
        {"body": {"file": "dir/file-00000*"}, "match": {"path": "/b/*"}},
        {"body": {"file": "dir/file-*5"}, "match": {"path": "/b/*"}},
        {"body": {"file": "d*0007"}, "match": {"path": "/b/*"}},
        {"body": {"file": "*-000010"}, "match": {"path": "/b/*"}},
        {"body": {"listing": "empty"}},
        {"body": {"listing": "dir", "prefix": "a/b-"}},
        {"status_code": 204},
        {"status_code": 599, "body": "x", "instances": 1_000_000_000, "delay": 0},
        {"match": {}, "instances": "any"},
        {"match": {"path": "*", "method": "M-SEARCH", "query": {"é": ""}}},
    ],
)
def test_a_response_that_agrees_with_itself_is_right(response: dict[str, Any], problems: Any) -> None:
    assert problems(environment=ENVIRONMENT, responses=[response]) == []


@pytest.mark.parametrize("counts", [((4, 2), (9, 1)), ((4, 1), (9, 2))])
def test_a_body_of_files_that_differ_in_size_has_no_length_to_contradict(counts: SizeCounts) -> None:
    many = FixtureDir(name="d", file_count=3, file_size_bytes=9, sizes=counts)
    fixtures = check_fixtures(Environment(file_dirs=(many,)), (), Report())
    match = RequestMatch(path="/b/*")
    report = Report()
    for length in ("4", "9"):
        headers = (("Content-Length", length),)
        response = Response(headers=headers, body=FileBody(file="d/*"), match=match)
        check_response(response, (), fixtures, report)
    assert report.problems([]) == ()


@pytest.mark.parametrize(
    ("environment", "path"),
    [
        ({"files": [{"name": "/test_file", "size": 5}]}, "environment.files[0].name"),
        ({"files": [{"name": "test_file", "size": -5}]}, "environment.files[0].size"),
        ({"file_dirs": [{"name": "dir", "file_count": "3", "file_size": 5}]}, "environment.file_dirs[0].file_count"),
        ({"files": {}}, "environment.files"),
        ([], "environment"),
    ],
)
def test_what_depends_on_an_unreadable_fixture_is_not_blamed(environment: Any, path: str, problems: Any) -> None:
    responses = [
        {"body": {"file": "test_file"}, "headers": {"Content-Length": "9"}},
        {"body": {"file": "dir/file-000001"}},
        {"body": {"listing": "dir"}},
    ]
    found = problems(environment=environment, responses=responses)
    assert [problem.split(":")[0] for problem in found] == [f"$[0].{path}"]
