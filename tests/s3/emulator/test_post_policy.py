"""Browser-based uploads: forms by boto3's `generate_presigned_post`, and forms of every kind without a server.

Recorded: TestS3PresignedPost, at the commit of docs/s3-behaviour.md.
"""

import base64
import hashlib
import http.client
import json
import tracemalloc
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.s3.emulator.addressing import Scheme
from s3bench.s3.emulator.form import FileReader
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from tests.s3.emulator.asking import BUCKET, Answer, Asker, Pending
from tests.s3.emulator.real_clients import boto3_client

BOUNDARY = "----form-0123"
LATER, EARLIER = "2023-11-14T23:00:00Z", "2023-11-14T22:00:00.000Z"
MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your key and signing method."
)
MISSING = "Bucket POST must contain a field named '{}'.  If it is specified, please check the order of the fields."
PAGE = "http://localhost.test/random"


def form_of(
    fields: Sequence[tuple[str, str]] | Mapping[str, str],
    file: bytes = b"abcdef",
    *,
    name: str | None = "report.csv",
    after: str = "",
) -> bytes:
    """A form as a browser sends it; `name` is that of the file, `after` comes behind the file's part."""
    pairs = fields.items() if isinstance(fields, Mapping) else fields
    parts = [f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n' for key, value in pairs]
    named = "" if name is None else f'; filename="{name}"\r\nContent-Type: text/csv'
    parts.append(f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"{named}\r\n\r\n')
    return "".join(parts).encode() + file + f"\r\n--{BOUNDARY}{after or '--'}\r\n".encode()


def post(s3: Asker, body: bytes, *, kind: str = f"multipart/form-data; boundary={BOUNDARY}", **asked: Any) -> Answer:
    headers = {"content-type": kind, **asked.pop("headers", {})}
    return s3.ask("POST", headers={name: value for name, value in headers.items() if value}, body=body, **asked)


def policy_of(*conditions: object, expiration: str = LATER) -> str:
    document = {"expiration": expiration, "conditions": [{"bucket": BUCKET}, *conditions]}
    return base64.b64encode(json.dumps(document).encode()).decode()


def under(*conditions: object, file: bytes = b"abcdef", expiration: str = LATER, **fields: str) -> Answer:
    """Post a form under a policy that allows any key, and `conditions`."""
    policy = policy_of(["starts-with", "$key", ""], *conditions, expiration=expiration)
    named = {name.replace("_", "-") if "amz" in name else name: value for name, value in fields.items()}
    return post(Asker(), form_of({"key": "k", "policy": policy, **named}, file))


def refusal(answer: Answer) -> tuple[int, str, str]:
    return answer.status, answer.code, answer.texts("Message")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """Posts what boto3 signs."""

    client: Any

    def sign(self, key: str, **more: Any) -> dict[str, Any]:
        signed: dict[str, Any] = self.client.generate_presigned_post(BUCKET, key, **more)
        return signed

    def post(self, signed: Mapping[str, Any], file: bytes = b"abcdef", **changed: str) -> tuple[int, Any, bytes]:
        place = urlsplit(signed["url"])
        connection = http.client.HTTPConnection(place.netloc, timeout=60)
        try:
            fields = {name: value for name, value in {**signed["fields"], **changed}.items() if value}
            kind = {"Content-Type": f'multipart/form-data; boundary="{BOUNDARY}"'}
            connection.request("POST", place.path or "/", form_of(fields, file), kind)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def refused(self, signed: Mapping[str, Any], file: bytes = b"abcdef", **changed: str) -> tuple[int, str, str]:
        status, _, body = self.post(signed, file, **changed)
        error = ET.fromstring(body)
        return status, error.findtext("Code") or "", error.findtext("Message") or ""


@pytest.fixture
def browser(endpoint: EmulatorEndpoint) -> Iterator[Browser]:
    endpoint.arm(EmulatorSettings(buckets=(BUCKET,), access_key="test", secret_key="test"))
    yield Browser(client=boto3_client(endpoint, signature_version="s3v4"))
    endpoint.collect()


def test_a_form_that_boto3_signed_is_stored(browser: Browser) -> None:
    fields = {"acl": "private", "x-amz-meta-Test-1": "test-meta-1", "Content-Type": "text/plain"}
    conditions = [{name: value} for name, value in fields.items()]
    signed = browser.sign("in/${filename}", Fields=fields, Conditions=[*conditions, ["content-length-range", 5, 10]])
    assert "x-amz-signature" in signed["fields"]
    status, headers, body = browser.post(signed)
    etag = f'"{hashlib.md5(b"abcdef").hexdigest()}"'
    assert (status, body, headers["ETag"]) == (204, b"", etag)
    assert headers["Location"].endswith(f"/{BUCKET}/in%2Freport.csv")
    read = browser.client.get_object(Bucket=BUCKET, Key="in/report.csv", ChecksumMode="ENABLED")
    assert (read["Body"].read(), read["ContentType"], read["Metadata"]) == (
        b"abcdef", "text/plain", {"test-1": "test-meta-1"},
    )  # fmt: skip
    assert (read["ETag"], read["ChecksumCRC64NVME"]) == (etag, "Pact6XRTYyA=")  # as recorded


def test_a_form_that_boto3_signed_by_default_is_stored(browser: Browser, endpoint: EmulatorEndpoint) -> None:
    old = Browser(client=boto3_client(endpoint))
    signed = old.sign("k", Fields={"tagging": "<Tagging/>"}, Conditions=[{"tagging": "<Tagging/>"}])
    assert "signature" in signed["fields"]
    assert old.post(signed)[0] == 204
    assert old.refused(signed, policy="e30=")[1] == "SignatureDoesNotMatch"
    assert old.refused(signed, AWSAccessKeyId="other")[1] == "InvalidAccessKeyId"
    assert old.refused(signed, AWSAccessKeyId="")[2] == MISSING.format("AWSAccessKeyId")
    assert old.refused(signed, signature="")[2] == MISSING.format("Signature")


def test_a_large_file_is_stored_as_it_arrives(browser: Browser) -> None:
    piece = bytes(range(256)) * 4096 + b"\r\n--" + BOUNDARY[:-1].encode() + b"\r\r\n-"
    file = piece * 3
    status, headers, _ = browser.post(browser.sign("large"), file)
    assert (status, headers["ETag"][-3:]) == (204, '-1"')
    assert browser.client.get_object(Bucket=BUCKET, Key="large")["Body"].read() == file


def test_a_form_that_is_not_signed_right_is_refused(browser: Browser) -> None:
    # test_post_request_malformed_policy, test_post_request_missing_signature, test_post_request_missing_fields
    signed = browser.sign("k")
    wrong = base64.b64encode(b'{"expiration": "2999-01-01T00:00:00Z", "conditions": []}').decode()
    assert browser.refused(signed, policy=wrong) == (
        403, "SignatureDoesNotMatch", MISMATCH,
    )  # fmt: skip
    for name in ("x-amz-algorithm", "x-amz-signature", "policy"):
        shown = "-".join(word.capitalize() for word in name.split("-")) if "-" in name else name
        assert browser.refused(signed, **{name: ""}) == (
            400, "InvalidArgument", MISSING.format(shown),
        )  # fmt: skip
    names = ("x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature")
    unsigned = dict.fromkeys(names, "")
    assert browser.refused(signed, **unsigned) == (403, "AccessDenied", "Access Denied")
    other = signed["fields"]["x-amz-credential"].replace("test/", "other/")
    assert browser.refused(signed, **{"x-amz-credential": other})[:2] == (403, "InvalidAccessKeyId")
    elsewhere = signed["fields"]["x-amz-credential"].replace("us-east-1", "eu-west-1")
    assert browser.refused(signed, **{"x-amz-credential": elsewhere})[1] == "AuthorizationQueryParametersError"
    assert "Contents" not in browser.client.list_objects_v2(Bucket=BUCKET)


def test_fields_that_the_policy_does_not_cover_are_refused(browser: Browser) -> None:
    signed = browser.sign("k")
    assert browser.refused(signed, **{"x-amz-meta-a": "1"}) == (
        403, "AccessDenied", "Invalid according to Policy: Extra input fields: x-amz-meta-a",
    )  # fmt: skip
    assert browser.refused(signed, key="other")[:2] == (403, "AccessDenied")
    assert browser.post(signed, **{"x-ignore-me": "1"})[0] == 204


def test_the_size_of_the_file_is_what_the_policy_allows(browser: Browser) -> None:
    # test_post_object_policy_validation_size
    signed = browser.sign("k", Conditions=[["content-length-range", 5, 10]])
    status, _, body = browser.post(signed, b"a" * 12)
    error = ET.fromstring(body)
    assert (status, error.findtext("Code"), error.findtext("MaxSizeAllowed"), error.findtext("ProposedSize")) == (
        400, "EntityTooLarge", "10", "12",
    )  # fmt: skip
    assert error.findtext("Message") == "Your proposed upload exceeds the maximum allowed size"
    status, _, body = browser.post(signed, b"a")
    error = ET.fromstring(body)
    assert (status, error.findtext("Code"), error.findtext("MinSizeAllowed"), error.findtext("ProposedSize")) == (
        400, "EntityTooSmall", "5", "1",
    )  # fmt: skip
    assert browser.post(signed, b"a" * 10)[0] == 204
    assert browser.client.head_object(Bucket=BUCKET, Key="k")["ContentLength"] == 10


def test_a_policy_is_for_its_time_only() -> None:
    # test_post_request_expires
    assert under().status == 204
    assert refusal(under(expiration=EARLIER)) == (403, "AccessDenied", "Invalid according to Policy: Policy expired.")


@pytest.mark.parametrize(
    ("condition", "failed"),
    [
        (["eq", "$success_action_redirect", PAGE], None),
        ({"SUCCESS_action_redirect": PAGE}, None),
        (["StArTs-WiTh", "$success_action_redirect", "http://localhost"], None),
        (["starts-with", "$success_action_redirect", ""], None),
        (["eq", "$success_action_redirect", "http://localhost.test"], ["eq", "$success_action_redirect"]),
        (["eq", "$success_action_redirect", PAGE.upper()], ["eq", "$success_action_redirect"]),
        (["eq", "success_action_redirect", PAGE], ["eq", "success_action_redirect"]),
        (["starts-with", "$success_action_redirect", "HTTP"], ["starts-with", "$success_action_redirect"]),
        (["starts-with", "$content-type", ""], ["starts-with", "$content-type"]),
        (["content-length-range", "test", "10"], ["content-length-range", "test"]),
    ],
)
def test_conditions_are_compared_with_the_fields(condition: Any, failed: list[str] | None) -> None:
    # test_post_object_policy_conditions_validation_eq, ..._starts_with, ..._validation_size
    answer = under(condition, success_action_redirect=PAGE)
    if failed is None:
        assert answer.status == 303
    else:
        shown = json.dumps([*failed, condition[2]])
        message = f"Invalid according to Policy: Policy Condition failed: {shown}"
        assert refusal(answer) == (403, "AccessDenied", message)


def test_each_type_of_a_list_must_begin_as_the_policy_says() -> None:
    images = ["starts-with", "$Content-Type", "image/"]
    assert under(images, **{"Content-Type": "image/png, image/gif"}).status == 204
    assert under(images, **{"Content-Type": "image/png,text/html"}).code == "AccessDenied"


def test_a_dollar_sign_may_be_escaped_in_a_policy() -> None:
    text = json.dumps({"expiration": LATER, "conditions": [{"bucket": BUCKET}, {"key": "PRICE"}]})
    policy = base64.b64encode(text.replace("PRICE", "\\$5 \\\\").encode()).decode()
    s3 = Asker()
    assert post(s3, form_of({"key": "$5 \\", "policy": policy})).status == 204
    assert s3.ask("GET", "$5 \\").body == b"abcdef"


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("no base64!", "Invalid JSON."),
        ("[]", "Invalid JSON."),
        ('{"conditions": []}', "Policy missing expiration."),
        (f'{{"expiration": "{LATER}"}}', "Policy missing conditions."),
        ('{"expiration": "tomorrow", "conditions": []}', "Invalid 'expiration' value: 'tomorrow'"),
        (
            f'{{"expiration": "{LATER}", "conditions": [{{"key": "k", "acl": "private"}}]}}',
            "Invalid Simple-Condition: Simple-Conditions must have exactly one property specified.",
        ),
        (f'{{"expiration": "{LATER}", "conditions": [["ends-with", "$key", "k"]]}}', "unknown operation 'ends-with'"),
        (f'{{"expiration": "{LATER}", "conditions": [["eq", "$key"]]}}', "'eq' needs two arguments"),
        (f'{{"expiration": "{LATER}", "conditions": [["eq", "$key", 1]]}}', "wrong type"),
        (f'{{"expiration": "{LATER}", "conditions": [{{"key": 1}}]}}', "value must be a string"),
        (f'{{"expiration": "{LATER}", "conditions": [1]}}', "Invalid Condition"),
        (f'{{"expiration": "{LATER}", "conditions": 1}}', "it must be a list"),
    ],
)
def test_a_policy_that_is_none_is_refused(policy: str, message: str) -> None:
    encoded = policy if " base64" in policy else base64.b64encode(policy.encode()).decode()
    status, code, said = refusal(post(Asker(), form_of({"key": "k", "policy": encoded})))
    assert (status, code) == (400, "InvalidPolicyDocument")
    assert said.startswith("Invalid Policy: ")
    assert message in said


@pytest.mark.parametrize(("asked", "status"), [("200", 200), ("201", 201), ("204", 204), ("999", 204), ("", 204)])
def test_the_form_chooses_the_status_of_the_reply(asked: str, status: int) -> None:
    # The document is that of test_post_object_with_unicode_metadata.
    s3 = Asker()
    answer = post(s3, form_of({"key": "a/${filename}", "success_action_status": asked}, name="test_unicode—_file.pdf"))
    location = f"http://h/{BUCKET}/a%2Ftest_unicode%E2%80%94_file.pdf"
    etag = f'"{hashlib.md5(b"abcdef").hexdigest()}"'
    assert (answer.status, answer.headers["etag"], answer.headers["location"]) == (status, etag, location)
    if status == 201:
        said = {node.tag: node.text for node in ET.fromstring(answer.body)}
        assert said == {"Location": location, "Bucket": BUCKET, "Key": "a/test_unicode—_file.pdf", "ETag": etag}
    else:
        assert answer.body == b""


def test_a_form_may_redirect_to_a_page_or_to_a_url() -> None:
    s3, name = Asker(), "x-amz-website-redirect-location"
    assert refusal(post(s3, form_of({"key": "k", name: "page"})))[:2] == (400, "InvalidRedirectLocation")
    assert post(s3, form_of({"key": "k", name: "/page"})).status == 204
    assert s3.ask("HEAD", "k").headers[name] == "/page"


@pytest.mark.parametrize(
    ("host", "target", "place"),
    [("h", f"/{BUCKET}", f"h/{BUCKET}"), (f"{BUCKET}.localhost:81", "/", f"{BUCKET}.localhost:81")],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_location_of_a_form_names_the_bucket_once(host: str, target: str, place: str, scheme: Scheme) -> None:
    s3, body = Asker(scheme=scheme), form_of({"key": "a/b", "success_action_status": "201"})
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    head = f"POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}"
    answer = Pending(s3.emulator, head.encode(), body).finish()
    assert answer.headers["location"] == answer.texts("Location")[0] == f"{scheme}://{place}/a%2Fb"


def test_the_form_chooses_where_the_browser_goes_next() -> None:
    told = f"bucket={BUCKET}&key=a%20b&etag=%22{hashlib.md5(b'abcdef').hexdigest()}%22"
    for field_name in ("success_action_redirect", "redirect"):
        for url, joint in ((PAGE, "?"), (f"{PAGE}?a=b", "&")):
            answer = post(Asker(), form_of({"key": "a b", field_name: url, "success_action_status": "201"}))
            assert (answer.status, answer.headers["location"]) == (303, f"{url}{joint}{told}")
    for url in ("javascript:alert(1)", "http://a\r\nx: y", "//elsewhere"):
        assert post(Asker(), form_of({"key": "k", "success_action_redirect": url})).status == 204


@pytest.mark.parametrize(
    ("name", "key"),
    [("r.csv", "in/r.csv"), ("C:\\dir\\r.csv", "in/r.csv"), ("/home/r.csv", "in/r.csv"), ("", "in/"),
     (None, "in/${filename}")],
)  # fmt: skip
def test_the_key_may_have_the_name_of_the_file(name: str | None, key: str) -> None:
    # The last is test_post_object_with_file_as_string.
    s3 = Asker()
    assert post(s3, form_of({"key": "in/${filename}"}, name=name)).status == 204
    assert s3.ask("GET", query={"list-type": "2"}).texts("Contents/Key") == [key]


def test_what_the_form_says_of_its_object_is_kept() -> None:
    # test_post_object_with_storage_class, test_post_object_with_unicode_metadata
    s3 = Asker()
    fields = {
        "key": "k", "Cache-Control": "no-cache", "Content-Disposition": "filename=—a", "Content-Encoding": "gzip",
        "Expires": "never", "Content-Type": "text/plain", "x-amz-storage-class": "STANDARD_IA",
        "x-amz-website-redirect-location": "/other", "x-amz-meta-b-encoded": "=?UTF-8?B?YWJj?=",
        "x-amz-meta-nonascii": "ÄMÄZÕÑ S3", "x-amz-meta-utf-8": "\0\1\2\3\4", "tagging": "",
    }  # fmt: skip
    assert post(s3, form_of(fields)).status == 204
    kept = s3.ask("HEAD", "k").headers
    assert {name: kept[name] for name in kept if name.startswith(("cache", "content-", "expires", "x-amz-"))} == {
        "cache-control": "no-cache", "content-disposition": "filename= a", "content-encoding": "gzip",
        "expires": "never", "content-type": "text/plain", "content-length": "6",
        "x-amz-request-id": "S3BENCH000000001", "x-amz-server-side-encryption": "AES256",
        "x-amz-storage-class": "STANDARD_IA", "x-amz-website-redirect-location": "/other",
        "x-amz-meta-b-encoded": "=?UTF-8?B?YWJj?=", "x-amz-meta-nonascii": "=?UTF-8?Q?=C3=84M=C3=84Z=C3=95=C3=91_S3?=",
        "x-amz-meta-utf-8": "=?UTF-8?B?AAECAwQ=?=",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>", ["a"]),
        ("<Other/>", []),
        ("no-xml", None),
    ],
)
def test_the_form_can_have_tags(text: str, tags: list[str] | None) -> None:
    # test_post_object_with_tags
    s3 = Asker()
    answer = post(s3, form_of({"key": "k", "tagging": text}))
    if tags is None:
        assert (answer.status, answer.code) == (400, "MalformedXML")
    else:
        assert s3.ask("GET", "k", query={"tagging": ""}).texts("TagSet/Tag/Key") == tags


def test_the_form_can_ask_for_encryption() -> None:
    s3 = Asker()
    key = b"1" * 32
    start = "x-amz-server-side-encryption"
    answer = post(s3, form_of({"key": "kms", start: "aws:kms", f"{start}-aws-kms-key-id": "alias/a"}))
    assert (answer.status, answer.headers[start]) == (204, "aws:kms")
    assert s3.ask("HEAD", "kms").headers[start] == "aws:kms"
    with_key = {
        f"{start}-customer-algorithm": "AES256", f"{start}-customer-key": base64.b64encode(key).decode(),
        f"{start}-customer-key-MD5": base64.b64encode(hashlib.md5(key).digest()).decode(),
    }  # fmt: skip
    assert post(s3, form_of({"key": "own", **with_key})).status == 204
    assert (s3.ask("GET", "own").status, s3.ask("GET", "own", headers=with_key).body) == (400, b"abcdef")
    assert post(s3, form_of({"key": "k", start: "none"})).code == "InvalidEncryptionAlgorithmError"


def test_checksums_in_the_form_are_those_of_the_file() -> None:
    sums = {"Content-MD5": hashlib.md5(b"abcdef"), "x-amz-checksum-sha256": hashlib.sha256(b"abcdef")}
    for name, digest in sums.items():
        value = base64.b64encode(digest.digest()).decode()
        s3 = Asker()
        assert post(s3, form_of({"key": "k", name: value})).status == 204
        assert post(s3, form_of({"key": "k2", name: value}, b"other")).code == "BadDigest"
        assert s3.ask("GET", "k2").status == 404


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({}, 400, "InvalidArgument"),
        ({"key": ""}, 400, "InvalidArgument"),
        ({"key": "k" * 1025}, 400, "KeyTooLongError"),
        ({"key": "k", "acl": "public-read"}, 400, "AccessControlListNotSupported"),
        ({"key": "k", "x-amz-storage-class": "FakeClass"}, 400, "InvalidStorageClass"),
        ({"key": "k", "x-amz-meta-a": "x" * 2048}, 400, "MetadataTooLarge"),
        ({"key": "k", "x-amz-meta-a b": "x"}, 400, "InvalidArgument"),
        ({"key": "k", "x-amz-acl": "private"}, 501, "NotImplemented"),
        ({"key": "k", "x-amz-unheard": "x"}, 501, "NotImplemented"),
        ({"key": "k", "x-ignore-a": "x" * 20_480}, 400, "MaxPostPreDataLengthExceeded"),
    ],
)
def test_fields_that_s3_does_not_take_are_refused(fields: dict[str, str], status: int, code: str) -> None:
    s3 = Asker()
    answer = post(s3, form_of(fields))
    assert (answer.status, answer.code) == (status, code)
    assert s3.ask("GET").texts("Contents/Key") == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "MalformedPOSTRequest"),
        (b"no form", "MalformedPOSTRequest"),
        (form_of({"key": "k"})[:-30], "MalformedPOSTRequest"),
        (f"--{BOUNDARY}\r\n\r\n\r\n--{BOUNDARY}--".encode(), "MalformedPOSTRequest"),
        (f"--{BOUNDARY}x\r\n".encode(), "MalformedPOSTRequest"),
        (
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="key"\r\n\r\nk\r\n--{BOUNDARY}--\r\n'.encode(),
            "IncorrectNumberOfFilesInPostRequest",
        ),
    ],
    ids=["nothing", "text", "cut", "unnamed", "line", "no file"],
)
def test_a_body_that_is_no_form_is_refused(body: bytes, code: str) -> None:
    answer = post(Asker(), body)
    assert (answer.status, answer.code) == (400, code)


def test_only_forms_may_be_posted_to_buckets() -> None:
    # test_post_object_with_wrong_content_type
    for kind in ("", "text/html; charset=UTF-8", "multipart/form-database; boundary=a"):
        answer = post(Asker(), form_of({"key": "k"}), kind=kind)
        assert (answer.status, answer.code) == (412, "PreconditionFailed")
        assert answer.texts("Condition") == ["Bucket POST must be of the enclosure-type multipart/form-data"]
    assert post(Asker(), form_of({"key": "k"}), kind="multipart/form-data").code == "MalformedPOSTRequest"
    assert post(Asker(), form_of({"key": "k"}), bucket="missing").code == "NoSuchBucket"
    assert post(Asker(), form_of({"key": "k"}), key="k").code == "MethodNotAllowed"
    assert post(Asker(), form_of({"key": "k"}), headers={"x-amz-acl": "private"}).code == "NotImplemented"
    head = f"POST /{BUCKET} HTTP/1.1\r\nhost: h\r\ncontent-type: multipart/form-data; boundary={BOUNDARY}"
    chunked = Pending(Asker().emulator, f"{head}\r\ntransfer-encoding: chunked".encode(), form_of({"key": "k"}))
    assert chunked.finish().code == "MissingContentLength"


def test_what_comes_after_the_file_is_ignored() -> None:
    s3 = Asker()
    after = '\r\nContent-Disposition: form-data; name="submit"\r\n\r\nUpload\r\n--' + BOUNDARY + "--"
    assert post(s3, form_of({"key": "k"}, b"abc", after=after)).status == 204
    assert s3.ask("GET", "k").body == b"abc"


def test_a_form_without_a_signature_needs_none_where_no_keys_are_set() -> None:
    assert post(Asker(), form_of({"key": "k"})).status == 204
    assert post(Asker(access_key="a", secret_key="b"), form_of({"key": "k"})).code == "AccessDenied"


def test_pages_of_other_origins_see_the_reply_where_the_bucket_allows_it() -> None:
    s3 = Asker()
    rule = "<CORSRule><AllowedMethod>POST</AllowedMethod><AllowedOrigin>*</AllowedOrigin></CORSRule>"
    assert (
        s3.ask("PUT", query={"cors": ""}, body=f"<CORSConfiguration>{rule}</CORSConfiguration>".encode()).status == 200
    )
    for fields, status in (({"key": "k"}, 204), ({}, 400)):
        answer = post(s3, form_of(fields), headers={"origin": "http://page"})
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (status, "*")


def test_a_refused_file_takes_no_memory() -> None:
    s3 = Asker(memory_limit_bytes=1 << 20)
    before = s3.emulator.held_bytes
    file = bytes(2 << 20)
    assert post(s3, form_of({"key": "k"}, file)).code == "InsufficientStorage"
    limited = {"key": "k", "policy": policy_of({"key": "k"}, ["content-length-range", 0, 100])}
    assert post(s3, form_of(limited, file)).texts("ProposedSize") == [str(2 << 20)]
    assert s3.emulator.held_bytes == before
    assert post(s3, form_of({"key": "k"}, bytes(900_000))).status == 204


def test_a_file_is_not_held_twice() -> None:
    s3 = Asker()
    size, piece = 8 << 20, 64 << 10
    body = form_of({"key": "k"}, bytes(size))
    pending = s3.begin("POST", headers={"content-type": f"multipart/form-data; boundary={BOUNDARY}"}, body=body)
    tracemalloc.start()
    try:
        while pending.left:
            pending.feed(piece)
            assert s3.emulator.held_bytes < size + piece  # of the memory that objects are in
        assert pending.finish().status == 204
        assert tracemalloc.get_traced_memory()[1] < 8 * piece  # at its peak, beside that memory
    finally:
        tracemalloc.stop()
    assert size <= s3.emulator.held_bytes < size + piece


def test_a_form_may_come_in_pieces_of_any_size() -> None:
    file = b"\r\n--" + BOUNDARY.encode()[:-1] + b"\r\n-\r\r\n" + bytes(40_000)
    for size in (1, 2, 7, 1000):
        s3 = Asker()
        body = form_of({"key": "k", "x-amz-meta-a": "b"}, file)
        pending = s3.begin("POST", headers={"content-type": f"multipart/form-data; boundary={BOUNDARY}"}, body=body)
        while pending.left:
            pending.feed(size)
        assert pending.finish().status == 204
        assert s3.ask("GET", "k").body == file


@given(
    file=st.lists(st.sampled_from([b"\r", b"\n", b"-", b"--", b"a", b"\r\n--a", b"\r\n--ab"])).map(b"".join),
    cuts=st.lists(st.integers(1, 9), min_size=1),
)
def test_the_end_of_a_file_is_found_wherever_pieces_are_cut(file: bytes, cuts: list[int]) -> None:
    delimiter = b"\r\n--abc"
    wire = file + delimiter + b"--\r\n"
    reader, found, at = FileReader(b"abc"), b"", 0
    while at < len(wire):
        size = cuts[at % len(cuts)]
        found += b"".join(bytes(part) for part in reader.feed(memoryview(wire)[at : at + size]))
        at += size
    assert (found, reader.ended) == (wire[: wire.index(delimiter)], True)


def test_a_field_with_a_blank_before_what_it_must_begin_with_is_refused() -> None:
    policy = policy_of(["starts-with", "$key", "user/"])
    assert post(Asker(), form_of({"key": "user/k", "policy": policy})).status == 204
    for blank in (" ", "\t", "\xa0"):
        answer = post(Asker(), form_of({"key": f"{blank}user/k", "policy": policy}))
        assert (answer.status, answer.code) == (403, "AccessDenied")


def test_each_type_in_a_list_must_begin_as_the_policy_says() -> None:
    condition = ["starts-with", "$Content-Type", "image/"]
    assert under(condition, **{"Content-Type": "image/png, image/gif"}).status == 204
    assert under(condition, **{"Content-Type": "image/png, text/html"}).code == "AccessDenied"
