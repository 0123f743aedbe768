"""Which requests may come in: what real clients sign, and nothing else."""

import calendar
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.crt.auth import CrtS3SigV4Auth, CrtS3SigV4QueryAuth
from hypothesis import given, settings
from hypothesis import strategies as st

from s3bench.s3.protocol.http import RequestHead, parse_head
from s3bench.s3.protocol.s3_error import S3Error, s3_error_reply
from s3bench.s3.signing.authentication import Authenticator, Signature
from s3bench.s3.signing.sigv4 import EMPTY_SHA256, SigningKey, canonical_path, canonical_request, string_to_sign

ACCESS_KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
AT_S = float(calendar.timegm((2013, 5, 24, 0, 0, 0)))
SCOPE = "20130524/us-east-1/s3/aws4_request"


def check(head: RequestHead, *, at_s: float = AT_S, region: str = "us-east-1") -> Signature:
    return Authenticator(ACCESS_KEY, SECRET, region, lambda: at_s).check(head)


def refusal(head: RequestHead, *, at_s: float = AT_S, region: str = "us-east-1") -> S3Error:
    with pytest.raises(S3Error) as refused:
        check(head, at_s=at_s, region=region)
    return refused.value


def head_of(method: str, target: str, headers: dict[str, str]) -> RequestHead:
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return parse_head("\r\n".join(lines).encode())


# AWS's own examples: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html

GET = {
    "Host": "examplebucket.s3.amazonaws.com",
    "Range": "bytes=0-9",
    "x-amz-content-sha256": EMPTY_SHA256,
    "x-amz-date": "20130524T000000Z",
}
GET_NAMES = "host;range;x-amz-content-sha256;x-amz-date"
GET_SIGNATURE = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"


def authorization(
    credential: str = f"{ACCESS_KEY}/{SCOPE}", names: str = GET_NAMES, signature: str = GET_SIGNATURE
) -> str:
    return f"AWS4-HMAC-SHA256 Credential={credential},SignedHeaders={names},Signature={signature}"


def documented_get(target: str = "/test.txt", method: str = "GET", **changed: str) -> RequestHead:
    headers = {**GET, "Authorization": authorization()}
    headers |= {name.replace("_", "-"): value for name, value in changed.items()}
    return head_of(method, target, {name: value for name, value in headers.items() if value != "absent"})


def test_the_documented_get_comes_in() -> None:
    signature = check(documented_get())
    assert (signature.access_key, signature.payload) == (ACCESS_KEY, EMPTY_SHA256)
    assert (signature.seed, signature.timestamp) == (GET_SIGNATURE, "20130524T000000Z")
    assert signature.chunk_check() is None


def test_the_documented_put_comes_in_with_its_dollar_sign_unencoded() -> None:
    payload_hash = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
    headers = {
        "Host": "examplebucket.s3.amazonaws.com",
        "Date": "Fri, 24 May 2013 00:00:00 GMT",
        "x-amz-content-sha256": payload_hash,
        "x-amz-date": "20130524T000000Z",
        "x-amz-storage-class": "REDUCED_REDUNDANCY",
        "Authorization": authorization(
            names="date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
            signature="98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
    }
    assert check(head_of("PUT", "/test$file.text", headers)).payload == payload_hash


# https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html

PRESIGNED = {
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": f"{ACCESS_KEY}/{SCOPE}",
    "X-Amz-Date": "20130524T000000Z",
    "X-Amz-Expires": "86400",
    "X-Amz-SignedHeaders": "host",
    "X-Amz-Signature": "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404",
}


def presigned(headers: dict[str, str] | None = None, **changed: str) -> RequestHead:
    given = PRESIGNED | {f"X-Amz-{name}": value for name, value in changed.items()}
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in given.items() if value != "absent")
    return head_of("GET", f"/test.txt?{query}", {"Host": "examplebucket.s3.amazonaws.com", **(headers or {})})


def test_the_documented_presigned_url_comes_in_until_it_expires() -> None:
    assert check(presigned()).payload == "UNSIGNED-PAYLOAD"
    assert check(presigned(), at_s=AT_S + 86400).access_key == ACCESS_KEY
    assert check(presigned(), at_s=AT_S - 900).access_key == ACCESS_KEY


# Botocore and the CRT as oracles.

Signer = Callable[..., Any]
CREDENTIALS = Credentials(ACCESS_KEY, SECRET)

ODD = " +%/.~é漢😀&=?#;:@!$'()*,[]\\^`{|}\"<>-_aZ0"
keys = st.text(st.sampled_from(ODD) | st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20)
values = st.text(st.sampled_from(ODD), max_size=8)
queries = st.lists(st.tuples(st.text(st.sampled_from(ODD), min_size=1, max_size=4), values), max_size=5)
header_values = st.lists(st.text(st.sampled_from("ab,;=é漢"), min_size=1, max_size=4), max_size=4)
blanks = st.sampled_from([" ", "  ", "\t", " \t "])
headers = st.dictionaries(
    st.sampled_from(["x-amz-meta-a", "X-Amz-Meta-B", "x-amz-tagging", "Content-Type", "Range", "X-Other"]),
    st.tuples(header_values, blanks).map(lambda pair: pair[1].join(pair[0])),
    max_size=4,
)


def head_signed_by(
    signer: Any, method: str, key: str, query: list[tuple[str, str]], extra: dict[str, str]
) -> RequestHead:
    """Give what arrives of a request that an SDK's own signer has signed."""
    url = f"http://localhost:9000/bucket/{quote(key, safe='/~')}"
    if query:
        url += "?" + "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query)
    request = AWSRequest(method=method, url=url, headers=extra, data=b"")
    signer.add_auth(request)
    parts = urlsplit(request.url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    sent = {name: value for name, value in request.headers.items() if name.lower() != "host"}
    return head_of(method, target, {"Host": parts.netloc, **sent})


@given(st.sampled_from(["GET", "PUT", "DELETE", "HEAD", "POST"]), keys, queries, headers)
def test_what_botocore_signs_comes_in(
    method: str, key: str, query: list[tuple[str, str]], extra: dict[str, str]
) -> None:
    head = head_signed_by(S3SigV4Auth(CREDENTIALS, "s3", "eu-west-1"), method, key, query, extra)
    assert check(head, at_s=time.time(), region="eu-west-1").access_key == ACCESS_KEY


# Botocore keeps one value of each name when it presigns.
single_queries = st.dictionaries(st.text(st.sampled_from(ODD), min_size=1, max_size=4), values, max_size=4).map(
    lambda query: list(query.items())
)


@given(st.sampled_from(["GET", "PUT"]), keys, single_queries, headers, st.integers(1, 604800))
def test_what_botocore_presigns_comes_in(
    method: str, key: str, query: list[tuple[str, str]], extra: dict[str, str], expires_s: int
) -> None:
    signer = S3SigV4QueryAuth(CREDENTIALS, "s3", "eu-west-1", expires=expires_s)
    head = head_signed_by(signer, method, key, query, extra)
    assert check(head, at_s=time.time() - 1, region="eu-west-1").payload == "UNSIGNED-PAYLOAD"


@settings(max_examples=50)
@given(st.booleans(), keys, single_queries)
def test_what_the_crt_signs_comes_in(presign: bool, key: str, query: list[tuple[str, str]]) -> None:
    make: Signer = CrtS3SigV4QueryAuth if presign else CrtS3SigV4Auth
    signer = make(CREDENTIALS, "s3", "eu-west-1")
    head = head_signed_by(signer, "GET", key, query, {"x-amz-meta-a": "b"})
    assert check(head, at_s=time.time(), region="eu-west-1").access_key == ACCESS_KEY


@given(keys, queries, st.data())
def test_a_request_that_was_changed_on_its_way_is_refused(
    key: str, query: list[tuple[str, str]], data: st.DataObject
) -> None:
    signer = S3SigV4Auth(CREDENTIALS, "s3", "us-east-1")
    head = head_signed_by(signer, "PUT", key, query, {"x-amz-meta-a": "b"})
    names = ("host", "x-amz-date", "x-amz-meta-a", "x-amz-content-sha256")
    what = data.draw(st.sampled_from(["method", "path", "query", *names]))
    fields = dict(head.fields)
    if what == "x-amz-date":
        fields[what] = fields[what][:-2] + ("0Z" if fields[what][-2] != "0" else "1Z")
    elif what in names:
        fields[what] = "0" * 64
    changed = RequestHead(
        "GET" if what == "method" else head.method,
        head.path + "x" if what == "path" else head.path,
        head.query + "&x=" if what == "query" else head.query,
        fields,
        head.length,
        head.chunked,
        head.closing,
    )
    assert refusal(changed, at_s=time.time()).code == "SignatureDoesNotMatch"


# Requests that encode in ways of their own.


def signed_head(method: str, target: str, *, path: str, query: str, names: str = "host;x-amz-date") -> RequestHead:
    """Sign `path` and canonical `query`, and send `target`."""
    fields = {"host": "h", "x-amz-date": "20130524T000000Z", "x-amz-content-sha256": "UNSIGNED-PAYLOAD"}
    signed = [*names.split(";"), "x-amz-content-sha256"]
    request = canonical_request(method, canonical_path(path), query, fields, signed, "UNSIGNED-PAYLOAD")
    signature = SigningKey(SECRET, "20130524", "us-east-1").sign(string_to_sign("20130524T000000Z", SCOPE, request))
    sent = {"authorization": authorization(names=";".join(signed), signature=signature)}
    return head_of(method, target, fields | sent)


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/b/%c3%a9%41", "/b/éA", ""),
        ("/b/é", "/b/é", ""),
        ("/b/(a)+b", "/b/(a)+b", ""),
        ("http://h/b/k?x=1", "/b/k", "x=1"),
        ("/b?prefix=a+b%2fc", "/b", "prefix=a%20b%2Fc"),
        ("/b?uploads", "/b", "uploads="),
        ("/b?z=1&a=%7e", "/b", "a=~&z=1"),
    ],
)
def test_a_signature_covers_what_is_meant_and_not_how_it_was_encoded(target: str, path: str, query: str) -> None:
    assert check(signed_head("GET", target, path=path, query=query)).access_key == ACCESS_KEY


def test_a_date_header_will_do_where_there_is_no_x_amz_date() -> None:
    date = "Fri, 24 May 2013 00:00:00 GMT"
    fields = {"host": "h", "date": date, "x-amz-content-sha256": "UNSIGNED-PAYLOAD"}
    request = canonical_request("GET", "/", "", fields, sorted(fields), "UNSIGNED-PAYLOAD")
    signature = SigningKey(SECRET, "20130524", "us-east-1").sign(string_to_sign("20130524T000000Z", SCOPE, request))
    header = authorization(names=";".join(sorted(fields)), signature=signature)
    assert check(head_of("GET", "/", fields | {"authorization": header})).timestamp == "20130524T000000Z"


# Refusals.

FORBIDDEN, BAD, NOT_IMPLEMENTED = 403, 400, 501


@pytest.mark.parametrize(
    ("head", "status", "code", "message"),
    [
        (documented_get(Authorization="absent"), FORBIDDEN, "AccessDenied", "Access Denied"),
        (documented_get(Authorization=authorization(f"AKIAOTHER/{SCOPE}")), FORBIDDEN, "InvalidAccessKeyId", "exist"),
        (documented_get(Authorization=authorization(signature="0" * 64)), FORBIDDEN, "SignatureDoesNotMatch", "match"),
        (documented_get(Authorization=authorization(signature="é")), FORBIDDEN, "SignatureDoesNotMatch", "match"),
        (documented_get("/other.txt"), FORBIDDEN, "SignatureDoesNotMatch", "match"),
        (documented_get(Authorization=f"AWS {ACCESS_KEY}:abc="), BAD, "InvalidRequest", "Please use AWS4-HMAC-SHA256."),
        (
            documented_get("/test.txt?AWSAccessKeyId=a&Signature=b&Expires=1", Authorization="absent"),
            BAD,
            "InvalidRequest",
            "Please use AWS4-HMAC-SHA256.",
        ),
        (documented_get(x_amz_content_sha256="absent"), BAD, "InvalidRequest", "x-amz-content-sha256"),
        (documented_get(x_amz_content_sha256="abc"), BAD, "InvalidArgument", "valid sha256"),
        (
            documented_get(x_amz_content_sha256="STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER"),
            NOT_IMPLEMENTED,
            "NotImplemented",
            "not supported",
        ),
        (documented_get(x_amz_date="absent"), FORBIDDEN, "AccessDenied", "valid Date or x-amz-date"),
        (documented_get(x_amz_date="20130532T000000Z"), FORBIDDEN, "AccessDenied", "valid Date or x-amz-date"),
        (documented_get(x_amz_date="20130525T000000Z"), BAD, "AuthorizationHeaderMalformed", '"20130524"'),
        (documented_get(x_amz_acl="private"), FORBIDDEN, "AccessDenied", "not signed"),
        (documented_get("/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"), BAD, "InvalidArgument", "Only one auth"),
        (presigned(Signature="0" * 64), FORBIDDEN, "SignatureDoesNotMatch", "match"),
        (presigned({"x-amz-acl": "private"}), FORBIDDEN, "AccessDenied", "not signed"),
        (presigned(SignedHeaders="range"), FORBIDDEN, "AccessDenied", "not signed"),
        (presigned(SignedHeaders="host;€"), FORBIDDEN, "SignatureDoesNotMatch", "match"),
        (presigned(Credential=f"AKIAOTHER/{SCOPE}"), FORBIDDEN, "InvalidAccessKeyId", "exist"),
    ],
)
def test_each_wrong_request_is_refused_with_its_code(head: RequestHead, status: int, code: str, message: str) -> None:
    refused = refusal(head)
    assert (refused.status, refused.code) == (status, code)
    assert message in refused.message
    assert SECRET not in repr((refused.message, refused.details))


def test_a_signature_that_does_not_match_is_answered_with_what_we_would_have_signed() -> None:
    details = dict(refusal(documented_get("/other.txt")).details)
    assert details["AWSAccessKeyId"] == ACCESS_KEY
    assert details["SignatureProvided"] == GET_SIGNATURE
    assert details["StringToSign"].startswith(f"AWS4-HMAC-SHA256\n20130524T000000Z\n{SCOPE}\n")
    assert details["CanonicalRequest"].startswith(
        "GET\n/other.txt\n\nhost:examplebucket.s3.amazonaws.com\nrange:bytes="
    )
    assert bytes.fromhex(details["StringToSignBytes"]).decode() == details["StringToSign"]
    assert bytes.fromhex(details["CanonicalRequestBytes"]).decode() == details["CanonicalRequest"]


def test_a_refusal_is_rendered_with_its_details_in_lines() -> None:
    head = documented_get("/other.txt")
    reply = s3_error_reply(head, refusal(head), b"Date: now\r\n")
    assert reply.facts[0] == FORBIDDEN
    assert b"<Code>SignatureDoesNotMatch</Code>" in reply.data
    assert b"<CanonicalRequest>GET\n/other.txt\n\nhost:" in reply.data
    assert b"<Resource>/other.txt</Resource>" in reply.data


@pytest.mark.parametrize(("offset_s", "right"), [(900, True), (-900, True), (901, False), (-901, False)])
def test_a_clock_may_be_fifteen_minutes_off(offset_s: int, right: bool) -> None:
    if right:
        assert check(documented_get(), at_s=AT_S + offset_s).seed == GET_SIGNATURE
        return
    refused = refusal(documented_get(), at_s=AT_S + offset_s)
    assert (refused.status, refused.code) == (FORBIDDEN, "RequestTimeTooSkewed")
    details = dict(refused.details)
    assert details["RequestTime"] == "20130524T000000Z"
    assert details["ServerTime"] == ("2013-05-24T00:15:01Z" if offset_s > 0 else "2013-05-23T23:44:59Z")
    assert details["MaxAllowedSkewMilliseconds"] == "900000"


def test_a_presigned_url_has_its_time() -> None:
    expired = refusal(presigned(), at_s=AT_S + 86401)
    assert (expired.status, expired.code, expired.message) == (FORBIDDEN, "AccessDenied", "Request has expired")
    assert dict(expired.details) == {
        "X-Amz-Expires": "86400",
        "Expires": "2013-05-25T00:00:00Z",
        "ServerTime": "2013-05-25T00:00:01Z",
    }
    early = refusal(presigned(), at_s=AT_S - 901)
    assert (early.status, early.code, early.message) == (FORBIDDEN, "AccessDenied", "Request is not valid yet")


def test_another_region_is_refused_with_the_right_one() -> None:
    by_header = refusal(documented_get(), region="eu-west-1")
    assert by_header.code == "AuthorizationHeaderMalformed"
    assert by_header.message == (
        "The authorization header is malformed; the region 'us-east-1' is wrong; expecting 'eu-west-1'"
    )
    by_query = refusal(presigned(), region="eu-west-1")
    assert by_query.code == "AuthorizationQueryParametersError"
    assert by_header.details == by_query.details == (("Region", "eu-west-1"),)


def test_unsigned_headers_are_named() -> None:
    refused = refusal(documented_get(x_amz_acl="private", x_amz_meta_a="b"))
    assert refused.details == (("HeadersNotSigned", "x-amz-acl, x-amz-meta-a"),)
    refused = refusal(presigned({"x-amz-acl": "private"}, SignedHeaders="range"))
    assert refused.details == (("HeadersNotSigned", "host, x-amz-acl"),)
    assert check(documented_get(X_Amzn_Trace_Id="Root=1")).seed == GET_SIGNATURE


def test_the_payload_of_a_presigned_request_is_what_its_header_or_parameter_says() -> None:
    assert refusal(presigned({"x-amz-content-sha256": "abc"})).code == "InvalidArgument"
    assert "\nUNSIGNED-PAYLOAD" in dict(refusal(presigned(Date="20130524T000001Z")).details)["CanonicalRequest"]
    parameter = {"Content-Sha256": EMPTY_SHA256}
    assert dict(refusal(presigned(None, **parameter)).details)["CanonicalRequest"].endswith(EMPTY_SHA256)


@given(st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=40), st.booleans())
def test_any_text_is_refused_and_never_more(text: str, as_query: bool) -> None:
    fields = dict(documented_get().fields)
    query = "X-Amz-Signature=1&X-Amz-Credential=" + text.replace(" ", "") if as_query else ""
    if as_query:
        del fields["authorization"]
    else:
        fields["authorization"] = "AWS4-HMAC-SHA256 " + text
    assert refusal(RequestHead("GET", "/", query, fields, 0, False, False)).status in {400, 403, 501}


def test_chunks_are_not_announced_in_the_query_of_a_presigned_url() -> None:
    error = refusal(presigned(**{"Content-Sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}))
    assert (error.status, error.code) == (400, "InvalidRequest")
