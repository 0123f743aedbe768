"""Requests that are signed as S3 wants them: proven by our own verifying server's rules and by botocore's signer."""

import calendar
import time
from collections.abc import Iterator

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from s3bench.load.engine.message import Keys, RequestTarget
from s3bench.load.engine.objects import ObjectBody, Objects
from s3bench.load.engine.request import DATE_S, Requests
from s3bench.load.profile.profile import DataSet, Manner
from s3bench.load.profile.sizes import fixed
from s3bench.s3.protocol.http import RequestHead, parse_head
from s3bench.s3.signing.authentication import Authenticator
from s3bench.s3.signing.sigv4 import UNSIGNED_PAYLOAD, canonical_path

AT_S = float(calendar.timegm((2026, 11, 21, 13, 0, 0)))
ACCESS_KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
HOST = "127.0.0.1:9000"
DATA = DataSet(run="0123456789ab", root="s3bench/0123456789ab/")
MANNER = Manner()
OBJECTS = Objects(DATA, fixed(1000), bucket="bucket", workers=1, signs_payload=True, checksum=False)
CHUNKS = st.text(st.sampled_from("aZ09 /+=&?%#~._-!'()*,;:@$é漢\"<>\\^`{|}[]"), min_size=1, max_size=30)


def requests(
    manner: Manner = MANNER, *, virtual: bool = False, token: str | None = None, anonymous: bool = False
) -> Requests:
    keys = Keys() if anonymous else Keys(access_key=ACCESS_KEY, secret_key=SECRET, token=token)
    target = RequestTarget(
        addresses=(("127.0.0.1", 9000),), hosts=(HOST,), virtual_hosts=virtual, bucket="bucket", keys=keys
    )
    return Requests(target, manner, HOST, wall_s=AT_S)


def parsed(data: bytes) -> RequestHead:
    assert data.endswith(b"\r\n\r\n")
    return parse_head(data[:-4])


def checked(data: bytes, *, at_s: float = AT_S) -> RequestHead:
    """The head, its signature found right."""
    head = parsed(data)
    Authenticator(ACCESS_KEY, SECRET, "us-east-1", lambda: at_s).check(head)
    return head


def every_kind(made: Requests, path: str, body: ObjectBody) -> Iterator[bytes]:
    yield made.get(path)
    yield made.get_range(path, 5, 10)
    yield made.head(path)
    yield made.delete(path)
    yield made.put(path, body)
    yield made.copy(path, f"bucket{path}")
    yield made.list_objects("s3bench/a b&c/", after="s3bench/ü", keys_max=10)
    yield made.create_upload(path)
    yield made.upload_part(path, "id/with+odd=signs", 3, body)
    yield made.complete_upload(path, "id", [('"etag"', "AAAAAA==")])[0]
    yield made.abort_upload(path, "id")


@pytest.mark.parametrize("virtual", [False, True])
@pytest.mark.parametrize("token", [None, "session/token=="])
@pytest.mark.parametrize("manner", [Manner(), Manner(signs_payload=True), Manner(checksum=True, keep_alive=False)])
def test_every_kind_of_request_is_signed_right(virtual: bool, token: str | None, manner: Manner) -> None:
    made = requests(manner, virtual=virtual, token=token)
    body = OBJECTS.body(3)
    for data in every_kind(made, OBJECTS.path(3), body):
        head = checked(data)
        assert head.fields["host"] == (f"bucket.{HOST}" if virtual else HOST)
        assert head.fields.get("x-amz-security-token") == token
        assert (head.fields.get("connection") == "close") is not manner.keep_alive


@given(CHUNKS)
def test_keys_with_awkward_characters_are_signed_right(key: str) -> None:
    path = canonical_path("/" + key)
    for data in every_kind(requests(), path, OBJECTS.body(0)):
        checked(data)


@given(CHUNKS, st.sampled_from(["GET", "HEAD", "DELETE"]))
def test_botocore_signs_the_same(key: str, method: str) -> None:
    made = requests(token="a-token")
    path = canonical_path("/" + key)
    data = {"GET": made.get, "HEAD": made.head, "DELETE": made.delete}[method](path)
    head = parsed(data)
    theirs = AWSRequest(
        method,
        f"http://{HOST}/bucket{path}",
        headers={name: head.fields[name] for name in ("x-amz-content-sha256", "x-amz-security-token")},
    )
    theirs.context["timestamp"] = head.fields["x-amz-date"]
    signer = S3SigV4Auth(Credentials(ACCESS_KEY, SECRET, "a-token"), "s3", "us-east-1")
    theirs.headers["X-Amz-Date"] = head.fields["x-amz-date"]
    canonical = signer.canonical_request(theirs)
    signature = signer.signature(signer.string_to_sign(theirs, canonical), theirs)
    assert head.fields["authorization"].endswith(f"Signature={signature}")


def test_a_request_that_was_tampered_with_is_refused() -> None:
    data = requests().get("/key")
    for old, new in ((b"/key", b"/kez"), (b"GET", b"HEAD"), (b"T130000Z", b"T130001Z"), (HOST.encode(), b"elsewhere")):
        with pytest.raises(Exception, match=r"SignatureDoesNotMatch|AccessDenied|signature"):
            checked(data.replace(old, new, 1))


def test_payloads_are_hashed_into_the_signature_where_asked() -> None:
    body = OBJECTS.body(7)
    signed = checked(requests(Manner(signs_payload=True)).put("/key", body))
    unsigned = checked(requests().put("/key", body))
    assert signed.fields["x-amz-content-sha256"] == body.sha256()
    assert unsigned.fields["x-amz-content-sha256"] == UNSIGNED_PAYLOAD
    assert signed.fields["content-length"] == "1000"


def test_a_checksum_goes_with_a_put_where_asked() -> None:
    body = OBJECTS.body(7)
    head = checked(requests(Manner(checksum=True)).put("/key", body))
    assert head.fields["x-amz-checksum-crc32"] == body.base64_crc32()
    assert "x-amz-checksum-crc32" not in checked(requests().put("/key", body)).fields


def test_without_an_access_key_nothing_is_signed() -> None:
    for data in every_kind(requests(anonymous=True), "/key", OBJECTS.body(0)):
        fields = parsed(data).fields
        assert "authorization" not in fields
        assert "x-amz-date" not in fields


def test_a_range_names_its_last_byte() -> None:
    assert parsed(requests().get_range("/key", 5, 10)).fields["range"] == "bytes=5-9"


def test_a_list_names_prefix_and_place() -> None:
    line = requests().list_objects("a b/", after="a b/1", keys_max=7).split(b"\r\n")[0]
    assert line == b"GET /bucket?list-type=2&max-keys=7&prefix=a%20b%2F&start-after=a%20b%2F1 HTTP/1.1"


def test_the_parts_of_an_upload_are_named_in_order() -> None:
    _, body = requests().complete_upload("/key", "id", [('"a"', ""), ('"b"', "AAAAAA==")])
    assert body == (
        b'<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>"a"</ETag></Part>'
        b'<Part><PartNumber>2</PartNumber><ETag>"b"</ETag><ChecksumCRC32>AAAAAA==</ChecksumCRC32></Part>'
        b"</CompleteMultipartUpload>"
    )


def test_the_date_is_renewed_when_it_is_old_and_not_before() -> None:
    made = requests()
    before = made.get("/key")
    assert not made.renew(AT_S + DATE_S - 0.1)
    assert made.get("/key") == before
    assert made.renew(AT_S + DATE_S)
    later = checked(made.get("/key"), at_s=AT_S + DATE_S)
    assert later.fields["x-amz-date"] == time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(AT_S + DATE_S))
    assert made.renew(AT_S - 3600), "a clock that was set back"


def test_a_new_day_has_a_new_key() -> None:
    made = requests()
    made.renew(AT_S + 24 * 3600)
    checked(made.get("/key"), at_s=AT_S + 24 * 3600)
