"""Lines of the request log: readable, one line each, and without secrets."""

import json
import re
from typing import Any

import pytest

from s3bench.cli.serve.request_log import LogFormat, json_line, redact_target, remark_line, text_line
from s3bench.s3.wirelog import InjectedFault, TransferEngine, WireRequest

EPOCH_NS = 1_700_000_000 * 10**9
SECRETS = ("5ecre7", "AKIDEXAMPLE", "T0ken")
PRESIGNED = (
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20260101%2Fus-east-1%2Fs3%2Faws4_request"
    "&X-Amz-Expires=60&X-Amz-Security-Token=T0ken%2F%3D&x-amz-signature=5ecre7&partNumber=3"
)


def request(**changes: Any) -> WireRequest:
    facts: dict[str, Any] = {
        "method": "GET",
        "path": "/bucket/key",
        "query": "",
        "byte_range": "",
        "connection": 2,
        "attempt": 1,
        "engine": TransferEngine.PYTHON,
        "started_ns": 5_000_000,
        "body_ended_ns": 5_100_000,
        "response_started_ns": 5_250_000,
        "ended_ns": 6_500_000,
        "status": 206,
        "body_bytes": 0,
        "wire_bytes": 0,
        "response_bytes": 4096,
        "checksums": {},
        "file": "",
        "served_start": 0,
        "served_end": 0,
        "complete": True,
        "error": "",
    }
    return WireRequest(**facts | changes)


def test_a_line_for_people_tells_time_status_bytes_duration_and_engine() -> None:
    line = text_line(request(query="partNumber=3", byte_range="bytes=0-4095"), epoch_ns=EPOCH_NS)
    assert re.fullmatch(
        r"\d\d:\d\d:20\.005 206 GET    in 0 B       out 4\.00 KiB  1\.50 ms  python "
        r"/bucket/key\?partNumber=3 \[bytes=0-4095\]",
        line,
    )


def test_a_line_in_json_has_the_same_in_seconds_and_bytes() -> None:
    line = json.loads(json_line(request(query="a=b", byte_range="bytes=0-4095"), epoch_ns=EPOCH_NS))
    assert line == {
        "event": "request",
        "time": "2023-11-14T22:13:20.005Z",
        "method": "GET",
        "path": "/bucket/key",
        "query": "a=b",
        "range": "bytes=0-4095",
        "status": 206,
        "bytes_received": 0,
        "bytes_sent": 4096,
        "duration_s": 0.0015,
        "first_byte_s": 0.00025,
        "connection": 2,
        "attempt": 1,
        "engine": "python",
        "checksums": {},
        "complete": True,
        "error": "",
        "fault": "",
    }


def test_what_the_network_model_did_is_reported_beside_what_came_of_it() -> None:
    line = text_line(request(fault=InjectedFault.RESET, error="cut"), epoch_ns=EPOCH_NS)
    assert line.endswith("  ! network model, reset: cut")
    assert json.loads(json_line(request(fault=InjectedFault.STALL), epoch_ns=EPOCH_NS))["fault"] == "stall"


@pytest.mark.parametrize("render", [text_line, json_line])
def test_a_presigned_url_keeps_its_secrets_out_of_the_log(render: Any) -> None:
    error = f"the connection failed (Broken pipe): GET /bucket/key?{PRESIGNED}, 0 bytes of its response sent"
    line = render(request(query=PRESIGNED, error=error, complete=False), epoch_ns=EPOCH_NS)
    assert not [secret for secret in SECRETS if secret in line]
    assert line.count("X-Amz-Expires=60") == line.count("partNumber=3") == 2
    assert "0 bytes of its response sent" in line


@pytest.mark.parametrize(
    "text",
    [
        "/k?X%2DAmz%2DSignature=5ecre7",
        "/k?AWSAccessKeyId=AKIDEXAMPLE&Expires=1&Signature=5ecre7%3D",
        "inside a request head: b'GET /k?X-Amz-Security-Token=T0ken&a'",
        "b'PUT / HTTP/1.1\\r\\nX-Amz-Security-Token: T0ken\\r\\n'",
        "b'PUT / HTTP/1.1\\r\\nAuthorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/x, Signature=5ecre7'",
        "b'PUT / HTTP/1.1\\r\\nAuthorization: Bearer 5ecre7'",
        "not a header line: 'x-amz-server-side-encryption-customer-key: 5ecre7'",
        "/k?X-Amz-S3session-Token=T0ken%2F&a",
        "/k?X-Amz-Server-Side-Encryption-Customer-Key=5ecre7/+%3D&a",
        "/k?x-amz-copy-source-server-side-encryption-customer-key=5ecre7",
        "not a header line: 'x-amz-s3session-token: T0ken'",
        "not a header line: 'x-amz-s3session-token : T0ken'",
        "not a header line: 'X-Amz-Security-Token\t: T0ken'",
        "not a header line: 'x-amz-copy-source-server-side-encryption-customer-key : 5ecre7'",
        "not a header line: 'authorization : AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/x, Signature=5ecre7'",
        'not a header line: \'"x-amz-security-token": "T0ken"\'',
    ],
)
def test_secrets_are_found_wherever_a_fault_quotes_them(text: str) -> None:
    for form in LogFormat:
        line = remark_line(form, "fault", text)
        assert not [secret for secret in SECRETS if secret in line]
        assert "***" in line


def test_what_is_no_secret_stays() -> None:
    text = "/b?list-type=2&continuation-token=abc&prefix=Signature/of&signature-version=4"
    assert redact_target(text) == text
    digest = (
        "/b/k?x-amz-server-side-encryption-customer-key-MD5=abc&x-amz-server-side-encryption-customer-algorithm=AES256"
    )
    assert redact_target(digest) == digest


def test_a_key_cannot_break_the_line_or_reach_the_terminal() -> None:
    line = text_line(request(path="/b/a b\n\x1b[31mü\x7f", error="bad \r"), epoch_ns=EPOCH_NS)
    assert line.isprintable()
    assert "/b/a%20b%0A%1B[31mü%7F" in line
    assert json.loads(json_line(request(path="/b/\n"), epoch_ns=EPOCH_NS))["path"] == "/b/\n"


def test_a_request_without_response_has_no_status() -> None:
    assert " --- GET " in text_line(request(status=0), epoch_ns=EPOCH_NS)


def test_remarks_name_their_kind() -> None:
    assert remark_line(LogFormat.TEXT, "leftover", "responses[0]: unused") == "s3bench: leftover: responses[0]: unused"
    assert json.loads(remark_line(LogFormat.JSON, "fault", "x")) == {"event": "fault", "text": "x"}
