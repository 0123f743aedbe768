"""What requests say about their signatures, and how malformed ones are refused."""

import pytest

from s3bench.s3.protocol.http import RequestHead
from s3bench.s3.protocol.s3_error import S3Error
from s3bench.s3.signing.signature_parameters import (
    SignatureParameters,
    parameters_in_header,
    parameters_in_query,
    timestamp_of,
)

SCOPE = "20130524/us-east-1/s3/aws4_request"
SIGNATURE = "f" * 64
TIMESTAMP = "20130524T000000Z"
AT_S = 1369353600

EXPECTED = SignatureParameters(
    "AKIA", "20130524", "us-east-1", ("host", "range"), SIGNATURE, TIMESTAMP, AT_S, "a=1&b=", "hash", None
)


def header(authorization: str) -> SignatureParameters:
    fields = {"x-amz-date": TIMESTAMP, "x-amz-content-sha256": "hash", "host": "h"}
    return parameters_in_header(RequestHead("GET", "/", "b&a=1", fields, 0, False, False), authorization)


def query(**changed: str) -> SignatureParameters:
    given = {
        "Algorithm": "AWS4-HMAC-SHA256",
        "Credential": f"AKIA/{SCOPE}".replace("/", "%2F"),
        "Date": TIMESTAMP,
        "Expires": "60",
        "SignedHeaders": "host%3Brange",
        "Signature": SIGNATURE,
    } | changed
    text = "&".join(f"X-Amz-{name}={value}" for name, value in given.items() if value != "absent")
    return parameters_in_query(RequestHead("GET", "/", f"b&{text}&a=1", {"host": "h"}, 0, False, False))


@pytest.mark.parametrize(
    "authorization",
    [
        f"AWS4-HMAC-SHA256 Credential=AKIA/{SCOPE}, SignedHeaders=host;range, Signature={SIGNATURE}",
        f"AWS4-HMAC-SHA256 Credential=AKIA/{SCOPE},SignedHeaders=host;range,Signature={SIGNATURE}",
        f"AWS4-HMAC-SHA256  Signature={SIGNATURE} , Credential=AKIA/{SCOPE},  SignedHeaders=Host;Range,",
    ],
)
def test_a_header_is_read_however_its_parts_are_set(authorization: str) -> None:
    assert header(authorization) == EXPECTED


def test_an_access_key_may_hold_slashes() -> None:
    claim = header(f"AWS4-HMAC-SHA256 Credential=a/b/{SCOPE}, SignedHeaders=host, Signature={SIGNATURE}")
    assert claim.access_key == "a/b"


def test_a_query_is_read_and_its_signature_is_not_signed() -> None:
    claim = query()
    assert (claim.access_key, claim.date, claim.region, claim.signed) == (
        "AKIA",
        "20130524",
        "us-east-1",
        ("host", "range"),
    )
    assert (claim.signature, claim.timestamp, claim.signed_s) == (SIGNATURE, TIMESTAMP, AT_S)
    assert (claim.payload, claim.expires_s) == ("UNSIGNED-PAYLOAD", 60)
    assert "X-Amz-Signature" not in claim.query
    assert claim.query.startswith("X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIA%2F20130524%2F")
    assert claim.query.endswith("&a=1&b=")


MAL_FORMED = 'the Credential is mal-formed; expecting "<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request".'
MALFORMED = "AuthorizationHeaderMalformed"


@pytest.mark.parametrize(
    ("authorization", "status", "code", "message"),
    [
        ("Basic abc", 400, "InvalidArgument", "Unsupported Authorization Type"),
        ("", 400, "InvalidArgument", "Unsupported Authorization Type"),
        ("AWS AKIA:abc=", 400, "InvalidRequest", "Please use AWS4-HMAC-SHA256."),
        ("AWS4-ECDSA-P256-SHA256 Credential=x", 501, "NotImplemented", "4A is not supported; use AWS4-HMAC-SHA256"),
        ("AWS4-HMAC-SHA256", 400, MALFORMED, "missing Credential."),
        ("AWS4-HMAC-SHA256 Credential", 400, MALFORMED, 'the authorization component "Credential" is malformed.'),
        (f"AWS4-HMAC-SHA256 Credential=AKIA/{SCOPE}", 400, MALFORMED, "missing SignedHeaders."),
        (f"AWS4-HMAC-SHA256 Credential=AKIA/{SCOPE},SignedHeaders=host", 400, MALFORMED, "missing Signature."),
    ],
)
def test_a_malformed_header_is_refused(authorization: str, status: int, code: str, message: str) -> None:
    with pytest.raises(S3Error) as refused:
        header(authorization)
    assert (refused.value.status, refused.value.code) == (status, code)
    assert refused.value.message.endswith(message)


@pytest.mark.parametrize(
    ("credential", "message"),
    [
        ("AKIA/us-east-1/s3/aws4_request", MAL_FORMED),
        (f"/{SCOPE}", MAL_FORMED),
        ("AKIA/20130524/us-east-1/ec2/aws4_request", 'incorrect service "ec2". This endpoint belongs to "s3".'),
        ("AKIA/20130524/us-east-1/s3/aws4", 'incorrect terminal "aws4". This endpoint uses "aws4_request".'),
        ("AKIA/2013/us-east-1/s3/aws4_request", 'This date in the credential must be in the format "yyyyMMdd".'),
        ("AKIA/20130525/us-east-1/s3/aws4_request", 'This date is not the same as X-Amz-Date: "20130524".'),
    ],
)
def test_a_malformed_credential_is_refused_in_both_forms(credential: str, message: str) -> None:
    with pytest.raises(S3Error) as by_header:
        header(f"AWS4-HMAC-SHA256 Credential={credential},SignedHeaders=host,Signature={SIGNATURE}")
    with pytest.raises(S3Error) as by_query:
        query(Credential=credential)
    assert (by_header.value.status, by_header.value.code) == (400, MALFORMED)
    assert (by_query.value.status, by_query.value.code) == (400, "AuthorizationQueryParametersError")
    assert by_header.value.message.endswith(message)
    assert by_query.value.message.endswith(message)


@pytest.mark.parametrize("name", ["Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature"])
def test_all_six_parameters_are_needed(name: str) -> None:
    with pytest.raises(S3Error) as refused:
        query(**{name: "absent"})
    assert (refused.value.status, refused.value.code) == (400, "AuthorizationQueryParametersError")
    assert "requires the X-Amz-Algorithm" in refused.value.message


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"Algorithm": "AWS4-HMAC-SHA1"}, 'X-Amz-Algorithm only supports "AWS4-HMAC-SHA256"'),
        ({"Date": "2013-05-24"}, "ISO8601 Long Format"),
        ({"Date": "Fri, 24 May 2013 00:00:00 GMT"}, "ISO8601 Long Format"),
        ({"Expires": "soon"}, "should be a number"),
        ({"Expires": "1.5"}, "should be a number"),
        ({"Expires": "0"}, "must be positive"),
        ({"Expires": "-1"}, "must be positive"),
        ({"Expires": "604801"}, "less than a week"),
        ({"Expires": "9" * 5000}, "less than a week"),
    ],
)
def test_wrong_parameters_are_refused(changed: dict[str, str], message: str) -> None:
    with pytest.raises(S3Error) as refused:
        query(**changed)
    assert (refused.value.status, refused.value.code) == (400, "AuthorizationQueryParametersError")
    assert message in refused.value.message


@pytest.mark.parametrize(("text", "expires_s"), [("1", 1), ("604800", 604800), ("000060", 60)])
def test_a_presigned_url_lives_up_to_a_week(text: str, expires_s: int) -> None:
    assert query(Expires=text).expires_s == expires_s


def test_a_presigned_request_may_name_its_payload() -> None:
    assert query(**{"Content-Sha256": "abc"}).payload == "abc"


def test_signature_4a_is_not_implemented_in_a_query() -> None:
    with pytest.raises(S3Error) as refused:
        query(Algorithm="AWS4-ECDSA-P256-SHA256", **{"Region-Set": "us-east-1"})
    assert (refused.value.status, refused.value.code) == (501, "NotImplemented")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TIMESTAMP, (TIMESTAMP, AT_S)),
        ("Fri, 24 May 2013 00:00:00 GMT", (TIMESTAMP, AT_S)),
        ("Fri, 24 May 2013 02:00:00 +0200", (TIMESTAMP, AT_S)),
        ("20130532T000000Z", None),
        ("00000101T000000Z", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_times_are_read_in_both_forms(text: str, expected: tuple[str, int] | None) -> None:
    assert timestamp_of(text) == expected


@pytest.mark.usefixtures("in_new_york")
def test_a_time_without_a_zone_is_in_utc() -> None:
    timestamp_of.cache_clear()
    assert timestamp_of("Fri May 24 00:00:00 2013") == (TIMESTAMP, AT_S)
