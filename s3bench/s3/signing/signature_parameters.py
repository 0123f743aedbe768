"""Signature parameters: what a request declares about its signature, in its Authorization header, query or POST form.

Reads all three (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-auth-using-authorization-header.html,
https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html and
https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-UsingHTTPPOST.html) and rejects what is
malformed, in S3's words. Pure; `authentication` checks the signature.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache

import msgspec

from s3bench.s3.protocol.dates import parse_date
from s3bench.s3.protocol.decimals import parse_decimal
from s3bench.s3.protocol.http import RequestHead
from s3bench.s3.protocol.s3_error import S3Error
from s3bench.s3.signing.sigv4 import (
    ALGORITHM,
    EXPRESS_SERVICE,
    SERVICE,
    TERMINAL,
    UNSIGNED_PAYLOAD,
    canonical_query,
    decode,
)

EXPIRES_S_MAX = 7 * 24 * 3600
"""Longest life of a presigned URL."""

_CREDENTIAL_PARTS = 5
_PARAMETERS = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Signature",
    "X-Amz-Date",
    "X-Amz-SignedHeaders",
    "X-Amz-Expires",
)

_USUAL = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^,/ ]+)/([0-9]{8})/([^,/ ]+)/(s3|s3express)/aws4_request, ?"
    r"SignedHeaders=([a-z0-9;_.-]+), ?Signature=([0-9a-f]{64})"
)
_DATE = re.compile(r"[0-9]{8}")
_TIMESTAMP = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})Z")


class SignatureParameters(msgspec.Struct, frozen=True):
    """One request's signature and what it is said to cover.

    `timestamp` is like 20130524T000000Z and `signed_s` the same in seconds since 1970; `signed` are the lower-case
    names of the signed headers; `query` is canonical. `expires_s` is `None` for the header form. `payload` is the
    value of x-amz-content-sha256, empty where there is none.
    """

    access_key: str
    date: str
    region: str
    signed: tuple[str, ...]
    signature: str
    timestamp: str
    signed_s: int
    query: str
    payload: str
    expires_s: int | None
    service: str = SERVICE


class FormSignature(msgspec.Struct, frozen=True):
    """The signature of a POST form; `policy` is what it covers, in base64 as it came.

    Signature Version 2, which boto3 uses by default, has neither a `date` nor a `region`: they are empty.
    """

    access_key: str
    signature: str
    policy: str
    date: str = ""
    region: str = ""


class _Credential(msgspec.Struct, frozen=True):
    access_key: str
    date: str
    region: str
    service: str


Fault = Callable[[str], S3Error]


def parameters_in_header(head: RequestHead, authorization: str) -> SignatureParameters:
    """Read the header form; raises `S3Error`."""
    fields = head.fields
    usual = _USUAL.fullmatch(authorization)
    parts = usual.groups() if usual is not None else _parts_of(authorization)
    access_key, date, region, service, names, signature = parts
    written = fields.get("x-amz-date") or fields.get("date", "")
    at = timestamp_of(written)
    if at is None:
        message = "AWS authentication requires a valid Date or x-amz-date header"
        raise S3Error(status=403, code="AccessDenied", message=message)
    timestamp, signed_s = at
    if not timestamp.startswith(date):
        raise header_fault(_date_differs(date, timestamp))
    return SignatureParameters(
        access_key,
        date,
        region,
        _names_of(names),
        signature,
        timestamp,
        signed_s,
        canonical_query(head.query),
        fields.get("x-amz-content-sha256", ""),
        None,
        service,
    )


def parameters_in_query(head: RequestHead) -> SignatureParameters:
    """Read the query form; raises `S3Error`."""
    given = {}
    for piece in head.query.split("&"):
        name, _, value = piece.partition("=")
        if name.startswith("X-Amz-"):
            given[name] = decode(value)
    _check_algorithm(given.get("X-Amz-Algorithm", ALGORITHM))
    if not all(given.get(name) for name in _PARAMETERS):
        raise _parameters(
            "Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, "
            "X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters."
        )
    if given["X-Amz-Algorithm"] != ALGORITHM:
        raise _parameters(f'X-Amz-Algorithm only supports "{ALGORITHM}"')
    credential = _parse_credential(given["X-Amz-Credential"], query_fault)
    at = timestamp_of(given["X-Amz-Date"])
    if at is None or at[0] != given["X-Amz-Date"]:
        raise _parameters("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"")
    timestamp, signed_s = at
    if not timestamp.startswith(credential.date):
        raise _parameters(_date_differs(credential.date, timestamp))
    payload = given.get("X-Amz-Content-Sha256", "")
    if payload.startswith("STREAMING-"):  # a body is framed only where the header says so
        raise invalid_payload_hash()
    return SignatureParameters(
        credential.access_key,
        credential.date,
        credential.region,
        _names_of(given["X-Amz-SignedHeaders"]),
        given["X-Amz-Signature"],
        timestamp,
        signed_s,
        canonical_query(head.query, without="X-Amz-Signature"),
        head.fields.get("x-amz-content-sha256") or payload or UNSIGNED_PAYLOAD,
        _parse_expires(given["X-Amz-Expires"]),
        credential.service,
    )


FORM_SIGNATURE_FIELDS = frozenset({"x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature"})
"""The fields of a POST form that say how it is signed by Signature Version 4, in lower case."""

_FORM_FIELDS = ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Signature", "policy")
_OLD_FORM_FIELDS = ("AWSAccessKeyId", "Signature", "policy")


def parameters_in_form(fields: Mapping[str, str]) -> FormSignature:
    """Read the fields of a POST form, whose names are in lower case; raises `S3Error`."""
    old = FORM_SIGNATURE_FIELDS.isdisjoint(fields)
    if old and {"awsaccesskeyid", "signature"}.isdisjoint(fields):
        raise S3Error(status=403, code="AccessDenied", message="Access Denied")
    for name in _OLD_FORM_FIELDS if old else _FORM_FIELDS:
        if not fields.get(name.lower()):
            raise missing_field(name)
    if old:
        return FormSignature(fields["awsaccesskeyid"], fields["signature"], fields["policy"])
    algorithm = fields["x-amz-algorithm"]
    _check_algorithm(algorithm)
    if algorithm != ALGORITHM:
        raise _parameters(f'X-Amz-Algorithm only supports "{ALGORITHM}"')
    credential = _parse_credential(fields["x-amz-credential"], query_fault)
    at = timestamp_of(fields["x-amz-date"])
    if at is None or at[0] != fields["x-amz-date"]:
        raise _parameters("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"")
    if not at[0].startswith(credential.date):
        raise _parameters(_date_differs(credential.date, at[0]))
    return FormSignature(
        credential.access_key, fields["x-amz-signature"], fields["policy"], credential.date, credential.region
    )


def missing_field(name: str) -> S3Error:
    """The error for a POST form without a field that it needs."""
    message = (
        f"Bucket POST must contain a field named '{name}'.  If it is specified, please check the order of the fields."
    )
    details = (("ArgumentName", name), ("ArgumentValue", ""))
    return S3Error(status=400, code="InvalidArgument", message=message, details=details)


def header_fault(why: str, details: tuple[tuple[str, str], ...] = ()) -> S3Error:
    """The error for a wrong Authorization header."""
    return S3Error(
        status=400,
        code="AuthorizationHeaderMalformed",
        message=f"The authorization header is malformed; {why}",
        details=details,
    )


def query_fault(why: str, details: tuple[tuple[str, str], ...] = ()) -> S3Error:
    """The error for a wrong credential in the query."""
    return _parameters(f"Error parsing the X-Amz-Credential parameter; {why}", details)


def _parameters(message: str, details: tuple[tuple[str, str], ...] = ()) -> S3Error:
    return S3Error(status=400, code="AuthorizationQueryParametersError", message=message, details=details)


def incorrect_service(service: str, expected: str, fault: Fault) -> S3Error:
    """The error for a signature for another service."""
    return fault(f'incorrect service "{service}". This endpoint belongs to "{expected}".')


def invalid_payload_hash() -> S3Error:
    """The error for a `STREAMING-` payload hash where no signatures of chunks are checked."""
    message = "The value of x-amz-content-sha256 header is invalid."
    return S3Error(status=400, code="InvalidRequest", message=message)


def unsupported_mechanism() -> S3Error:
    """The error for Signature Version 2, in its header and in its query form."""
    return S3Error(
        status=400,
        code="InvalidRequest",
        message="The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.",
    )


@lru_cache(maxsize=64)
def timestamp_of(text: str) -> tuple[str, int] | None:
    """Give the timestamp as it is signed, and its seconds since 1970, or `None` for what is no time.

    Clients write x-amz-date in the signed form, but may leave it out beside an HTTP date.
    """
    match = _TIMESTAMP.fullmatch(text)
    try:
        if match is not None:
            year, month, day, hour, minute, second = map(int, match.groups())
            at = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        else:
            at = parse_date(text)
    except (ValueError, OverflowError):
        return None
    return at.strftime("%Y%m%dT%H%M%SZ"), int(at.timestamp())


@lru_cache(maxsize=256)
def _names_of(text: str) -> tuple[str, ...]:
    return tuple(text.lower().split(";"))


def _check_algorithm(algorithm: str) -> None:
    if algorithm.startswith("AWS4-ECDSA-P256-SHA256"):
        message = "Signature Version 4A is not supported; use AWS4-HMAC-SHA256"
        raise S3Error(status=501, code="NotImplemented", message=message)


def _parts_of(authorization: str) -> tuple[str, str, str, str, str, str]:
    """Take apart an Authorization header that is written in an unusual way, or say what is wrong with it."""
    algorithm, _, rest = authorization.partition(" ")
    _check_algorithm(algorithm)
    if algorithm == "AWS":
        raise unsupported_mechanism()
    if algorithm != ALGORITHM:
        raise S3Error(
            status=400,
            code="InvalidArgument",
            message="Unsupported Authorization Type",
            details=(("ArgumentName", "Authorization"), ("ArgumentValue", authorization)),
        )
    parts: dict[str, str] = {}
    for component in filter(None, rest.replace(" ", "").split(",")):
        name, equals, value = component.partition("=")
        if not equals or not value:
            raise header_fault(f'the authorization component "{component}" is malformed.')
        parts[name] = value
    for name in ("Credential", "SignedHeaders", "Signature"):
        if name not in parts:
            raise header_fault(f"missing {name}.")
    credential = _parse_credential(parts["Credential"], header_fault)
    return (
        credential.access_key,
        credential.date,
        credential.region,
        credential.service,
        parts["SignedHeaders"],
        parts["Signature"],
    )


def _parse_credential(text: str, fault: Fault) -> _Credential:
    parts = text.rsplit("/", _CREDENTIAL_PARTS - 1)
    if len(parts) != _CREDENTIAL_PARTS or not parts[0]:
        raise fault('the Credential is mal-formed; expecting "<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request".')
    access_key, date, region, service, terminal = parts
    if terminal != TERMINAL:
        raise fault(f'incorrect terminal "{terminal}". This endpoint uses "{TERMINAL}".')
    if service not in {SERVICE, EXPRESS_SERVICE}:
        raise incorrect_service(service, SERVICE, fault)
    if _DATE.fullmatch(date) is None:
        raise fault(f'incorrect date format "{date}". This date in the credential must be in the format "yyyyMMdd".')
    return _Credential(access_key, date, region, service)


def _date_differs(date: str, timestamp: str) -> str:
    return f'Invalid credential date "{date}". This date is not the same as X-Amz-Date: "{timestamp[:8]}".'


def _parse_expires(text: str) -> int:
    digits = text.removeprefix("-")
    expires_s = parse_decimal(digits)
    if expires_s is None:
        raise _parameters("X-Amz-Expires should be a number")
    if digits != text or expires_s == 0:
        raise _parameters("X-Amz-Expires must be positive")
    if expires_s > EXPIRES_S_MAX:
        raise _parameters(
            "X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be less than "
            f"{EXPIRES_S_MAX} seconds"
        )
    return expires_s
