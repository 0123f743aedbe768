"""Each format by the lines of its documentation."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.errors import BadInput
from s3bench.load.access_log import cloudtrail, ibm, minio, nginx, s3_server, trace, warp
from s3bench.load.access_log.broken_line import BrokenLine
from s3bench.load.access_log.log_format import FORMATS, AccessLogFormat, detect, make_parser
from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.load.engine.trace import COLUMNS, Trace
from s3bench.load.operation import OperationKind
from tests.load.access_log import examples


def test_a_line_of_an_s3_server_access_log_is_a_request() -> None:
    parse = s3_server.parser()
    assert [parse(line).kind for line in examples.S3_SERVER] == [None, None, None, None, OperationKind.PUT]
    assert parse(examples.S3_SERVER[4]) == LoggedRequest(
        at_s=1549411317.0,
        kind=OperationKind.PUT,
        operation="REST.PUT.OBJECT",
        bucket="amzn-s3-demo-bucket1",
        key="s3-dg.pdf",
        object_bytes=4406583,
        body_bytes=4406583,
        status=200,
        elapsed_s=41.754,
    )
    refused = parse(examples.S3_SERVER[2])
    assert (refused.operation, refused.key, refused.status, refused.succeeded) == (
        *("REST.GET.BUCKETPOLICY", "", 404, False),
    )


def test_a_partial_get_of_an_s3_server_access_log_is_a_range_without_its_start() -> None:
    request = s3_server.parser()(examples.s3_line("REST.GET.OBJECT", "a%2Bb", status=206, sent=100, size=4096))
    assert request.kind is OperationKind.RANGE
    assert (request.key, request.body_bytes, request.object_bytes, request.range_start) == ("a%2Bb", 100, 4096, None)


def test_an_s3_server_access_log_has_the_ids_of_uploads_and_the_numbers_of_parts() -> None:
    parse = s3_server.parser()
    part = parse(examples.s3_line("REST.PUT.PART", "k", size=7, query="?partNumber=3&uploadId=a.b_c-"))
    assert (part.upload_id, part.part_number) == ("a.b_c-", 3)
    complete = parse(examples.s3_line("REST.POST.UPLOAD", "k", size=7, query="?uploadId=a.b_c-"))
    assert (complete.upload_id, complete.part_number) == ("a.b_c-", None)
    created = parse(examples.s3_line("REST.POST.UPLOADS", "k", query="?uploads"))
    assert (created.upload_id, created.part_number) == ("", None)


def test_a_delete_of_a_version_is_no_delete_of_the_object() -> None:
    s3, trail, audit, trace, combined = map(
        make_parser,
        (AccessLogFormat.S3, AccessLogFormat.CLOUDTRAIL, *[AccessLogFormat.MINIO] * 2, AccessLogFormat.NGINX),
    )
    event = examples.CLOUDTRAIL_GET | {"eventName": "DeleteObject"}
    asked = {"bucketName": "logs", "key": "k"}
    entry, short = json.loads(examples.MINIO_AUDIT), json.loads(examples.MINIO_TRACE) | {"api": "s3.DeleteObject"}
    entry["api"]["name"] = "DeleteObject"
    batch = examples.s3_line("BATCH.DELETE.OBJECT", "k").replace('"DELETE /bucket/k HTTP/1.1"', "-")
    versions = (
        s3(examples.s3_line("REST.DELETE.OBJECT", "k", query="?x=1&versionId=A")),
        s3(batch.replace(" - id=", " A id=")),
        trail(json.dumps(event | {"requestParameters": asked | {"versionId": "A"}})),
        audit(json.dumps(entry | {"requestQuery": {"versionId": "A"}})),
        trace(json.dumps(short | {"query": "versionId=A"})),
        combined(examples.NGINX[2].replace("/bucket/a", "/bucket/a?versionId=A")),
    )
    assert {(each and each.kind, each and each.operation) for each in versions} == {(None, "delete of a version")}
    objects = (
        s3(examples.s3_line("REST.DELETE.OBJECT", "k")),
        s3(batch),
        trail(json.dumps(event | {"requestParameters": asked})),
        audit(json.dumps(entry)),
        trace(json.dumps(short)),
        combined(examples.NGINX[2]),
    )
    assert {each and each.kind for each in objects} == {OperationKind.DELETE}


def test_a_read_of_a_version_is_a_read_of_the_object() -> None:
    line = examples.s3_line("REST.GET.OBJECT", "k", sent=5, size=5, query="?versionId=A")
    assert s3_server.parser()(line).kind is OperationKind.GET


def test_an_event_of_cloudtrail_is_a_request() -> None:
    parse = cloudtrail.parser()
    assert parse(json.dumps(examples.CLOUDTRAIL_GET)) == LoggedRequest(
        at_s=1709474426.0,
        kind=OperationKind.GET,
        operation="GetObject",
        bucket="logs",
        key="2024/03/03/events.json.gz",
        object_bytes=7759,
        body_bytes=7759,
    )
    put = parse(json.dumps(examples.CLOUDTRAIL_PUT))
    assert (put.kind, put.object_bytes, put.body_bytes) == (OperationKind.PUT, 2048, 2048)
    assert parse(json.dumps(examples.CLOUDTRAIL_DENIED)).status == 403
    management = parse(json.dumps(examples.CLOUDTRAIL_MANAGEMENT))
    assert (management.kind, management.operation, management.key) == (None, "ListBuckets", "")
    other = examples.CLOUDTRAIL_GET | {"eventSource": "sts.amazonaws.com", "eventName": "AssumeRole"}
    assert parse(json.dumps(other)).operation == "AssumeRole of sts.amazonaws.com"


def test_a_part_of_cloudtrail_has_its_upload_and_its_number() -> None:
    asked = {"bucketName": "logs", "key": "new", "uploadId": "abc", "partNumber": "2"}
    part = cloudtrail.parser()(
        json.dumps(examples.CLOUDTRAIL_PUT | {"eventName": "UploadPart", "requestParameters": asked})
    )
    assert (part.kind, part.upload_id, part.part_number) == (OperationKind.MULTIPART_PART, "abc", 2)


def test_a_part_of_minio_has_its_upload_and_its_number() -> None:
    audit, short = json.loads(examples.MINIO_AUDIT), json.loads(examples.MINIO_TRACE)
    audit["api"]["name"] = "PutObjectPart"
    audit["requestQuery"] = {"uploadId": "abc=", "partNumber": "2"}
    short |= {"api": "s3.PutObjectPart", "query": "partNumber=2&uploadId=abc%3D"}
    verbose = short | {"query": "", "request": {"rawQuery": short["query"]}}
    for entry in (audit, short, verbose):
        part = minio.parser()(json.dumps(entry))
        assert (part.kind, part.upload_id, part.part_number) == (OperationKind.MULTIPART_PART, "abc=", 2)


def test_an_audit_entry_of_minio_begins_before_it_is_written() -> None:
    request = minio.parser()(examples.MINIO_AUDIT)
    assert request.at_s == pytest.approx(1565645677.187817748 - 0.016438202, abs=1e-6)
    assert request.elapsed_s == pytest.approx(0.016438202)
    assert (request.kind, request.bucket, request.key) == (OperationKind.PUT, "testbucket", "hosts")
    assert (request.object_bytes, request.body_bytes, request.status) == (512, 512, 200)


def test_an_audit_entry_of_minio_in_whole_seconds_begins_in_whole_seconds() -> None:
    entry = json.loads(examples.MINIO_AUDIT) | {"time": "2019-08-12T21:34:37Z"}
    assert minio.parser()(json.dumps(entry)).at_s == 1565645677.0


def test_a_range_of_minio_has_start_and_whole_size() -> None:
    entry = json.loads(examples.MINIO_AUDIT)
    entry["api"] |= {"name": "GetObject", "statusCode": 206}
    entry["responseHeader"] = {"Content-Length": "100", "Content-Range": "bytes 50-149/4096"}
    request = minio.parser()(json.dumps(entry))
    assert (request.kind, request.range_start, request.body_bytes, request.object_bytes) == (
        *(OperationKind.RANGE, 50, 100, 4096),
    )


def test_a_trace_of_minio_is_a_request() -> None:
    request = minio.parser()(examples.MINIO_TRACE)
    assert (request.at_s, request.kind, request.bucket, request.key, request.elapsed_s) == (
        *(1714557600.5, OperationKind.GET, "testbucket", "a/b", 0.0015),
    )


def test_the_combined_format_of_nginx_is_the_default() -> None:
    parse = nginx.parser()
    whole, listing, deletion = map(parse, examples.NGINX)
    assert (whole.at_s, whole.kind, whole.bucket, whole.key, whole.body_bytes) == (
        *(1549411238.0, OperationKind.GET, "bucket", "a/b c", 4096),
    )
    assert (listing.at_s, listing.kind, listing.key) == (1549411239.0, OperationKind.LIST, "")
    assert (deletion.kind, deletion.status) == (OperationKind.DELETE, 204)


def test_a_declared_format_of_nginx_gives_times_sizes_and_ranges() -> None:
    parse = nginx.parser(
        '$msec ${request_method} "$request_uri" $status sent=$body_bytes_sent got=$content_length '
        'took=$request_time "$sent_http_content_range"'
    )
    put = parse('1549411238.250 PUT "/b/k" 200 sent=0 got=1234 took=0.250 "-"')
    assert (put.at_s, put.kind, put.object_bytes, put.elapsed_s) == (1549411238.0, OperationKind.PUT, 1234, 0.25)
    part = parse('1549411238.250 GET "/b/k" 206 sent=10 got=- took=0.000 "bytes 90-99/100"')
    assert (part.kind, part.range_start, part.body_bytes, part.object_bytes) == (OperationKind.RANGE, 90, 10, 100)
    begun = parse('1549411238.250 POST "/b/k?uploads" 200 sent=10 got=- took=0.000 "-"')
    assert begun.kind is OperationKind.MULTIPART_CREATE
    upload = parse('1549411238.250 PUT "/b/k?partNumber=3&uploadId=a%2Fb" 200 sent=0 got=9 took=0.000 "-"')
    assert (upload.kind, upload.upload_id, upload.part_number) == (OperationKind.MULTIPART_PART, "a/b", 3)


@pytest.mark.parametrize(
    ("variable", "time"),
    [("$time_local", "06/Feb/2019:00:00:38 +0000"), ("$time_iso8601", "2019-02-06T00:00:38+00:00")],
)
def test_a_clock_of_nginx_in_whole_seconds_gives_starts_in_whole_seconds(variable: str, time: str) -> None:
    parse = nginx.parser(f'[{variable}] "$request" $status $request_time')
    starts_s = [parse(f'[{time}] "GET /b/k HTTP/1.1" 200 {took}').at_s for took in ("0.000", "0.020", "3.900")]
    assert starts_s == [1549411238.0, 1549411238.0, 1549411235.0]


@pytest.mark.parametrize(
    ("log_format", "why"),
    [
        ("$remote_addr $request", "lacks a time and \\$status"),
        ("$time_local $status", "lacks the request"),
        ("$msec$status $request", "nothing|without anything"),
    ],
)
def test_a_format_of_nginx_that_lacks_what_is_needed_is_refused(log_format: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        nginx.parser(log_format)


def test_what_warp_recorded_are_requests() -> None:
    parse = warp.parser()
    header, put, get, stat, several, comment = map(parse, examples.WARP)
    assert header is None
    assert comment is None
    assert put is not None
    assert get is not None
    assert stat is not None
    assert several is not None
    assert (put.at_s, put.kind, put.key, put.object_bytes, put.elapsed_s) == (
        *(1714557600.25, OperationKind.PUT, "p/1.rnd", 10485760, 0.25),
    )
    assert get.at_s == pytest.approx(1714557601.123456789, abs=1e-6)
    assert get.kind is OperationKind.GET
    assert (stat.kind, stat.succeeded) == (OperationKind.HEAD, False)
    assert (several.kind, several.operation) == (None, "DELETE of several objects")


def test_a_trace_of_ours_is_read_as_it_was_planned(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    with Trace(str(path), worker=0) as written:
        written.begin("writing 10 objects", 0)
        written.note((5, 5, 6, 7, "put", 0, "s3bench/r/0", 3, "200", 1, 0))
        written.begin('get, "warm"', 1_000_000_000)
        written.note((1_500_000_000, 1_600_000_000, 0, 1_700_000_000, "get", 1, 'a,"b', 4096, "200", 1, 0))
        written.note((1_600_000_000, 1_600_000_000, 0, 1_700_000_000, "get", 1, "a", 0, "timeout", 1, 0))
        written.note((1_600_000_000, 1_600_000_000, 0, 1_700_000_000, "get", 1, "a", 0, "503 SlowDown", 1, 0))
    parse = trace.parser()
    header, prepared, get, silent, slow = map(parse, path.read_text().splitlines())
    assert header is None
    assert prepared is None, "the data set is expected, and no part of the workload"
    assert get is not None
    assert silent is not None
    assert slow is not None
    assert (get.at_s, get.kind, get.key, get.object_bytes, get.status) == (0.5, OperationKind.GET, 'a,"b', 4096, 200)
    assert (silent.kind, silent.operation) == (None, "get without a response")
    assert slow.status == 503


def test_a_line_of_ibms_traces_is_a_request() -> None:
    parse = ibm.parser()
    put, head, _, get, *_ = map(parse, examples.IBM)
    assert put == LoggedRequest(
        at_s=1219.008,
        kind=OperationKind.PUT,
        operation="REST.PUT.OBJECT",
        key="8d4fcda3d675bac9",
        object_bytes=1056,
        body_bytes=1056,
    )
    assert (head.kind, head.object_bytes, head.body_bytes) == (OperationKind.HEAD, 528, 0)
    assert (get.kind, get.object_bytes, get.body_bytes) == (OperationKind.GET, 1168, 1168)
    part = parse("1232488 REST.GET.OBJECT 95d363d3fbdc0b03 1168 100 1167")
    assert (part.kind, part.range_start, part.body_bytes, part.object_bytes) == (OperationKind.RANGE, 100, 1068, 1168)


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (examples.S3_SERVER, AccessLogFormat.S3),
        ((json.dumps(examples.CLOUDTRAIL_GET),), AccessLogFormat.CLOUDTRAIL),
        ((examples.MINIO_AUDIT, examples.MINIO_TRACE), AccessLogFormat.MINIO),
        (examples.NGINX, AccessLogFormat.NGINX),
        (examples.WARP, AccessLogFormat.WARP),
        ((",".join(COLUMNS), "0,get,1,2,3,4,get,0,k,3,200,1,0"), AccessLogFormat.TRACE),
        (examples.IBM, AccessLogFormat.IBM),
        (("", "nothing", "of this"), None),
    ],
)
def test_the_format_is_found_by_the_first_lines(lines: tuple[str, ...], found: AccessLogFormat | None) -> None:
    assert detect(lines) is found
    assert detect(("garbage", *lines)) is found


@given(name=st.sampled_from(AccessLogFormat), line=st.text(alphabet=st.characters(codec=None), max_size=200))
def test_any_line_is_a_request_or_broken(name: AccessLogFormat, line: str) -> None:
    _check(name, line)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (AccessLogFormat.IBM, "999999999999999999 REST.GET.OBJECT k 100"),
        (AccessLogFormat.IBM, "1 REST.GET.OBJECT k 999999999999999999"),
        (AccessLogFormat.TRACE, "0,get,1,2,3,1,get,0,k,3,200,1,0"),
        (AccessLogFormat.CLOUDTRAIL, '{"eventTime":' + "[" * 200_000),
        (AccessLogFormat.CLOUDTRAIL, json.dumps(examples.CLOUDTRAIL_GET).replace("7759", "1e300")),
        (AccessLogFormat.MINIO, examples.MINIO_AUDIT.replace("16438202ns", "9" * 400 + "s")),
        (AccessLogFormat.MINIO, examples.MINIO_TRACE.replace("4581", "-4581")),
        (AccessLogFormat.S3, examples.s3_line("REST.GET.OBJECT", "k", time="06/Feb/9999:00:00:38 +0000", sent=1)),
        (AccessLogFormat.WARP, examples.WARP[1].replace("2024-05-01T10:00:00.25Z", "0001-01-01T00:00:00Z")),
    ],
)
def test_numbers_that_no_request_has_and_deep_nesting_break_a_line(name: AccessLogFormat, line: str) -> None:
    with pytest.raises(BrokenLine):
        make_parser(name)(line)


_LINES = {
    AccessLogFormat.S3: examples.s3_line("REST.GET.OBJECT", "k", sent=5, size=5),
    AccessLogFormat.CLOUDTRAIL: json.dumps(examples.CLOUDTRAIL_GET),
    AccessLogFormat.MINIO: examples.MINIO_AUDIT,
    AccessLogFormat.NGINX: examples.NGINX[0],
    AccessLogFormat.WARP: examples.WARP[2],
    AccessLogFormat.TRACE: "0,get,1,2,3,4,get,0,k,3,200,1,0",
    AccessLogFormat.IBM: examples.IBM[3],
}


@given(name=st.sampled_from(AccessLogFormat), data=st.data())
def test_a_damaged_line_is_a_request_or_broken(name: AccessLogFormat, data: st.DataObject) -> None:
    line = _LINES[name]
    start = data.draw(st.integers(0, len(line)))
    end = data.draw(st.integers(start, min(len(line), start + 8)))
    _check(name, line[:start] + data.draw(st.text(max_size=4)) + line[end:])


def _check(name: AccessLogFormat, line: str) -> None:
    try:
        request = make_parser(name)(line)
    except BrokenLine:
        return
    if request is not None:
        assert all(size is None or size >= 0 for size in (request.object_bytes, request.body_bytes))
        assert request.range_start is None or request.kind is OperationKind.RANGE


def test_every_format_has_an_example_that_it_is_found_by_name() -> None:
    assert set(FORMATS) == set(AccessLogFormat)
    assert all(row.title and row.example for row in FORMATS.values())
