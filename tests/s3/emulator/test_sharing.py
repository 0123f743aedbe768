"""CORS as browsers see it, and its configuration by boto3.

Recorded: TestS3Cors, at the commit of docs/s3-behaviour.md.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from tests.s3.emulator.asking import BUCKET, Answer, Asker
from tests.s3.emulator.real_clients import boto3_client

PAGE = "https://localhost:4200"
RULE = {
    "ID": "pages",
    "AllowedHeaders": ["x-amz-expected-bucket-owner", "x-AMZ-server-SIDE-encryption"],
    "AllowedMethods": ["GET", "PUT"],
    "AllowedOrigins": [PAGE, "http://*.origin.com"],
    "ExposeHeaders": ["x-amz-id-2", "x-amz-request-id"],
    "MaxAgeSeconds": 3000,
}
VARY = "Origin, Access-Control-Request-Headers, Access-Control-Request-Method"


@pytest.fixture
def s3(endpoint: EmulatorEndpoint) -> Iterator[Any]:
    endpoint.arm(EmulatorSettings(buckets=(BUCKET,)))
    yield boto3_client(endpoint)
    endpoint.collect()


def configured(*rules: str, **settings: Any) -> Asker:
    asker = Asker(**settings)
    body = "".join(f"<CORSRule>{rule}</CORSRule>" for rule in rules)
    document = f"<CORSConfiguration>{body}</CORSConfiguration>".encode()
    assert asker.ask("PUT", query={"cors": ""}, body=document).status == 200
    asker.ask("PUT", "k", body=b"test-cors")
    return asker


def pages(*methods: str, origin: str = PAGE, more: str = "") -> str:
    allowed = "".join(f"<AllowedMethod>{method}</AllowedMethod>" for method in methods)
    return f"{allowed}<AllowedOrigin>{origin}</AllowedOrigin>{more}"


def preflight(asker: Asker, method: str = "GET", *, origin: str = PAGE, headers: str = "", key: str = "k") -> Answer:
    fields = {"origin": origin, "access-control-request-method": method, "access-control-request-headers": headers}
    return asker.ask("OPTIONS", key, headers={name: value for name, value in fields.items() if value})


def told(answer: Answer) -> dict[str, str]:
    """The headers for browsers, by the ends of their names."""
    start = "access-control-"
    return {name.removeprefix(start): value for name, value in answer.headers.items() if name.startswith(start)}


def test_boto3_sets_the_rules_of_a_bucket(s3: Any) -> None:
    for _ in range(2):
        with pytest.raises(ClientError, match="NoSuchCORSConfiguration"):
            s3.get_bucket_cors(Bucket=BUCKET)
        s3.put_bucket_cors(Bucket=BUCKET, CORSConfiguration={"CORSRules": [RULE]})
        assert s3.get_bucket_cors(Bucket=BUCKET)["CORSRules"] == [RULE]
        s3.delete_bucket_cors(Bucket=BUCKET)


def test_a_preflight_says_what_the_rule_allows() -> None:
    # test_cors_match_origins, test_cors_match_headers, test_cors_expose_headers, test_put_cors_default_values
    more = (
        "<AllowedHeader>x-AMZ-a</AllowedHeader><ExposeHeader>x-amz-id-2</ExposeHeader>"
        "<ExposeHeader>ETag</ExposeHeader><MaxAgeSeconds>3000</MaxAgeSeconds>"
    )
    answer = preflight(configured(pages("GET", "PUT", more=more)), headers="X-Amz-A")
    assert (answer.status, answer.body, answer.headers["vary"]) == (200, b"", VARY)
    assert told(answer) == {
        "allow-origin": PAGE, "allow-methods": "GET, PUT", "allow-headers": "x-amz-a",
        "expose-headers": "x-amz-id-2, ETag", "max-age": "3000", "allow-credentials": "true",
    }  # fmt: skip
    anybody = preflight(configured(pages("GET", origin="*")))
    assert told(anybody) == {"allow-origin": "*", "allow-methods": "GET"}


@pytest.mark.parametrize(
    ("method", "origin", "headers", "allowed"),
    [
        ("GET", PAGE, "", True),
        ("PUT", PAGE, "", False),
        ("GET", "https://localhost:4201", "", False),
        ("GET", PAGE, "x-amz-other", False),
        ("GET", "http://test.origin.com", "", True),
        ("GET", "http://origin.com", "", False),
        ("GET", "http://test.origin.com.example", "", False),
    ],
)
def test_what_no_rule_allows_is_forbidden(method: str, origin: str, headers: str, *, allowed: bool) -> None:
    # test_cors_match_methods, test_cors_options_match_partial_origin, test_cors_options_fails_partial_origin
    asker = configured(pages("GET"), pages("GET", origin="http://*.origin.com"))
    answer = preflight(asker, method, origin=origin, headers=headers)
    assert answer.status == (200 if allowed else 403)
    if not allowed:
        assert (answer.code, answer.texts("Method"), answer.texts("ResourceType")) == (
            "AccessForbidden", [method], ["OBJECT"],
        )  # fmt: skip
        assert answer.texts("Message")[0].startswith("CORSResponse: This CORS request is not allowed.")


def test_a_preflight_that_nothing_answers_says_why() -> None:
    # test_cors_http_options_no_config, test_cors_http_options_non_existent_bucket
    asker = Asker()
    no_origin = preflight(asker, origin="")
    assert (no_origin.status, no_origin.code) == (400, "BadRequest")
    assert no_origin.texts("Message") == ["Insufficient information. Origin request header needed."]
    assert preflight(asker).texts("Message") == ["CORSResponse: CORS is not enabled for this bucket."]
    missing = asker.ask("OPTIONS", bucket="missing", headers={"origin": PAGE})
    assert (missing.status, missing.code) == (403, "AccessForbidden")
    assert missing.texts("Message") == ["CORSResponse: Bucket not found"]
    assert (missing.texts("Method"), missing.texts("ResourceType")) == (["OPTIONS"], ["BUCKET"])


def test_replies_to_pages_have_the_headers_and_others_have_not() -> None:
    # test_cors_match_origins, test_cors_match_methods
    asker = configured(pages("GET"))
    for key, status in (("k", 200), ("missing", 404)):
        answer = asker.ask("GET", key, headers={"origin": PAGE})
        assert (answer.status, answer.headers["vary"]) == (status, VARY)
        assert told(answer) == {"allow-origin": PAGE, "allow-methods": "GET", "allow-credentials": "true"}
    for method, headers in (("GET", {}), ("GET", {"origin": "https://other"}), ("PUT", {"origin": PAGE})):
        answer = asker.ask(method, "k", headers=headers)
        assert (answer.status, told(answer)) == (200, {})
        assert "vary" not in answer.headers


def test_a_preflight_needs_no_signature() -> None:
    signing = Asker(access_key="key", secret_key="secret")
    assert preflight(signing).code == "AccessForbidden"
    assert signing.ask("GET", "k").code == "AccessDenied"


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ("", "MalformedXML"),
        ("<CORSRule/>", "MalformedXML"),
        (f"<CORSRule>{pages('GET', more='<MaxAgeSeconds>x</MaxAgeSeconds>')}</CORSRule>", "MalformedXML"),
        (f"<CORSRule>{pages('GET')}</CORSRule>" * 101, "MalformedXML"),
        (f"<CORSRule>{pages('MYMETHOD')}</CORSRule>", "InvalidRequest"),
        (f"<CORSRule>{pages('GET', origin='*.*')}</CORSRule>", "InvalidRequest"),
        (f"<CORSRule>{pages('GET', more='<ExposeHeader>a&#13;&#10;b: c</ExposeHeader>')}</CORSRule>", "InvalidRequest"),
        (f"<CORSRule>{pages('GET', more='<ExposeHeader>日本</ExposeHeader>')}</CORSRule>", "InvalidRequest"),
    ],
    ids=["none", "empty", "age", "many", "method", "wildcards", "line", "text"],
)
def test_rules_that_s3_does_not_take_are_rejected(rules: str, code: str) -> None:
    # test_put_cors_invalid_rules
    body = f"<CORSConfiguration>{rules}</CORSConfiguration>".encode()
    answer = Asker().ask("PUT", query={"cors": ""}, body=body)
    assert (answer.status, answer.code) == (400, code)


def test_a_configuration_has_64_kib_at_most_and_takes_memory() -> None:
    asker = configured(pages("GET"))
    before = asker.emulator.held_bytes
    start, end = "<CORSConfiguration>", "</CORSConfiguration>"
    room = 64 * 1024 - len(start + f"<CORSRule>{pages('GET')}<ID></ID></CORSRule>" + end)
    for length, code in ((room, ""), (room + 1, "MaxMessageLengthExceeded")):
        document = f"{start}<CORSRule>{pages('GET')}<ID>{'x' * length}</ID></CORSRule>{end}".encode()
        assert asker.ask("PUT", query={"cors": ""}, body=document).code == code
        assert asker.emulator.held_bytes > before + 64 * 1024
    asker.ask("DELETE", query={"cors": ""})
    assert asker.emulator.held_bytes < before
