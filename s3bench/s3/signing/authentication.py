"""Checks that a request, or a POST form, was signed with the secret key and is allowed to arrive now.

The errors are S3's (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html); one access key is known.
`signature_parameters` reads what a request declares, `sigv4` calculates. Session tokens of STS are signed like every
header, but not looked at.
"""

import hmac
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import msgspec

from s3bench.s3.protocol.http import RequestHead
from s3bench.s3.protocol.s3_error import S3Error
from s3bench.s3.signing.signature_parameters import (
    SignatureParameters,
    header_fault,
    incorrect_service,
    parameters_in_form,
    parameters_in_header,
    parameters_in_query,
    query_fault,
    unsupported_mechanism,
)
from s3bench.s3.signing.sigv4 import (
    SERVICE,
    UNSIGNED_PAYLOAD,
    SigningKey,
    SigningKeys,
    canonical_path,
    canonical_request,
    head_to_sign,
    sign_old,
    string_to_sign,
)
from s3bench.s3.signing.streaming import STREAMING, STREAMING_PAYLOADS, STREAMING_TRAILER, ChunkSigner, ChunkVerifier

SKEW_S_MAX = 15 * 60
"""How far a request's clock may be from ours."""

_SPECIAL_PAYLOADS = STREAMING_PAYLOADS | {UNSIGNED_PAYLOAD}
_SHA256 = re.compile(r"[0-9A-Fa-f]{64}")


class Signature(msgspec.Struct, frozen=True):
    """A signature that was found right; `payload` is UNSIGNED-PAYLOAD or the value of x-amz-content-sha256."""

    access_key: str
    timestamp: str
    payload: str
    seed: str
    key: SigningKey

    def chunk_check(self) -> ChunkVerifier | None:
        """Make what verifies the chunks of the request's body, where they are signed."""
        if self.payload not in {STREAMING, STREAMING_TRAILER}:
            return None
        signer = ChunkSigner(self.key, timestamp=self.timestamp, seed=self.seed)
        return ChunkVerifier(signer, with_trailer=self.payload == STREAMING_TRAILER)


class Authenticator:
    """Checks requests against one pair of keys; `now` gives seconds since 1970."""

    __slots__ = ("_access_key", "_keys", "_now", "_region", "_secret_key")

    def __init__(self, access_key: str, secret_key: str, region: str, now: Callable[[], float]) -> None:
        self._access_key = access_key
        self._keys = SigningKeys(secret_key)
        self._secret_key = secret_key
        self._region = region
        self._now = now

    def check(
        self, head: RequestHead, *, service: str | None = SERVICE, credentials: tuple[str, SigningKeys] | None = None
    ) -> Signature:
        """Give the signature of a request that may come in; raises `S3Error` for any other.

        It is signed for `service` (`None`: for any), by the `credentials` of a session where it belongs to one.
        """
        access_key, keys = credentials or (self._access_key, self._keys)
        parameters = _parameters_of(head)
        presigned = parameters.expires_s is not None
        if service is not None and parameters.service != service:
            raise incorrect_service(parameters.service, service, query_fault if presigned else header_fault)
        self._check_credential(parameters.access_key, parameters.region, presigned=presigned, expected=access_key)
        _check_time(parameters, self._now())
        _check_payload(parameters.payload)
        _check_coverage(parameters, head)
        key = keys.key(parameters.date, parameters.region, parameters.service)
        path = canonical_path(head.path)
        request = canonical_request(
            head.method, path, parameters.query, head.fields, parameters.signed, parameters.payload
        )
        signature = key.sign_request(head_to_sign(parameters.timestamp, key.scope), request.encode("latin-1"))
        if not hmac.compare_digest(signature.encode(), parameters.signature.encode()):
            text = string_to_sign(parameters.timestamp, key.scope, request)
            raise _does_not_match(parameters.access_key, text, parameters.signature, request)
        return Signature(parameters.access_key, parameters.timestamp, parameters.payload, signature, key)

    def check_form(self, fields: Mapping[str, str]) -> None:
        """Check the signature of a POST form, which covers its policy alone; raises `S3Error`.

        `fields` are by lower-case names. How long the form may be used is up to the policy.
        """
        form = parameters_in_form(fields)
        self._check_credential(form.access_key, form.region or self._region, presigned=True, expected=self._access_key)
        if form.date:
            signature = self._keys.key(form.date, form.region).sign(form.policy)
        else:
            signature = sign_old(self._secret_key, form.policy)
        if not hmac.compare_digest(signature.encode(), form.signature.encode()):
            raise _does_not_match(form.access_key, form.policy, form.signature)

    def _check_credential(self, access_key: str, region: str, *, presigned: bool, expected: str) -> None:
        if region != self._region:
            fault = query_fault if presigned else header_fault
            raise fault(f"the region '{region}' is wrong; expecting '{self._region}'", (("Region", self._region),))
        if access_key != expected:
            raise S3Error(
                status=403,
                code="InvalidAccessKeyId",
                message="The AWS Access Key Id you provided does not exist in our records.",
                details=(("AWSAccessKeyId", access_key),),
            )


def _parameters_of(head: RequestHead) -> SignatureParameters:
    """Read the signature parameters in whichever form the request has."""
    authorization = head.fields.get("authorization")
    query = head.query
    presigned = "X-Amz-" in query and any(
        f"X-Amz-{name}=" in query for name in ("Algorithm", "Credential", "Signature")
    )
    if authorization is None:
        if presigned:
            return parameters_in_query(head)
        if "AWSAccessKeyId=" in query:
            raise unsupported_mechanism()
        raise S3Error(status=403, code="AccessDenied", message="Access Denied")
    if presigned:
        raise S3Error(
            status=400,
            code="InvalidArgument",
            message="Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string "
            "parameter or the Authorization header should be specified",
            details=(("ArgumentName", "Authorization"), ("ArgumentValue", authorization)),
        )
    return parameters_in_header(head, authorization)


def _check_time(parameters: SignatureParameters, now_s: float) -> None:
    if parameters.expires_s is None:
        if abs(now_s - parameters.signed_s) > SKEW_S_MAX:
            raise S3Error(
                status=403,
                code="RequestTimeTooSkewed",
                message="The difference between the request time and the current time is too large.",
                details=(
                    ("RequestTime", parameters.timestamp),
                    ("ServerTime", _iso(now_s)),
                    ("MaxAllowedSkewMilliseconds", str(SKEW_S_MAX * 1000)),
                ),
            )
    elif now_s > parameters.signed_s + parameters.expires_s:
        raise S3Error(
            status=403,
            code="AccessDenied",
            message="Request has expired",
            details=(
                ("X-Amz-Expires", str(parameters.expires_s)),
                ("Expires", _iso(parameters.signed_s + parameters.expires_s)),
                ("ServerTime", _iso(now_s)),
            ),
        )
    elif parameters.signed_s - now_s > SKEW_S_MAX:
        raise S3Error(status=403, code="AccessDenied", message="Request is not valid yet")


def _iso(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _check_payload(payload: str) -> None:
    if payload in _SPECIAL_PAYLOADS or _SHA256.fullmatch(payload) is not None:
        return
    if not payload:
        message = "Missing required header for this request: x-amz-content-sha256"
        raise S3Error(status=400, code="InvalidRequest", message=message)
    if payload.startswith("STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"):
        raise S3Error(status=501, code="NotImplemented", message=f"{payload} is not supported")
    raise S3Error(
        status=400,
        code="InvalidArgument",
        message="x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD, or a valid sha256 "
        "value.",
        details=(("ArgumentName", "x-amz-content-sha256"), ("ArgumentValue", payload)),
    )


def _check_coverage(parameters: SignatureParameters, head: RequestHead) -> None:
    """Reject a request with headers that matter and are not signed: host, and all that S3 acts upon."""
    signed = parameters.signed
    unsigned = [name for name in head.fields if name.startswith("x-amz-") and name not in signed]
    if unsigned or "host" not in signed:
        names = unsigned if "host" in signed else ["host", *unsigned]
        raise S3Error(
            status=403,
            code="AccessDenied",
            message="There were headers present in the request which were not signed",
            details=(("HeadersNotSigned", ", ".join(names)),),
        )


def _does_not_match(access_key: str, text: str, signature: str, request: str = "") -> S3Error:
    """The error for a wrong signature of `text`, made from the canonical `request` where there is one."""
    details = [
        ("AWSAccessKeyId", access_key),
        ("StringToSign", text),
        ("SignatureProvided", signature),
        ("StringToSignBytes", text.encode().hex(" ")),
    ]
    if request:
        request_bytes = request.encode("latin-1")
        details += [
            ("CanonicalRequest", request_bytes.decode("utf-8", "replace")),
            ("CanonicalRequestBytes", request_bytes.hex(" ")),
        ]
    return S3Error(
        status=403,
        code="SignatureDoesNotMatch",
        message="The request signature we calculated does not match the signature you provided. "
        "Check your key and signing method.",
        details=tuple(details),
    )
