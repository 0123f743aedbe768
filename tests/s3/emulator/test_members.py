"""Every member of a supported operation's input, by botocore's model of S3: read, listed with a reason, or refused."""

import base64
import hashlib
import http.client
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlencode

import botocore.session
import pytest
from botocore.model import OperationModel, StructureShape

from s3bench.s3.emulator.configuration import UNSET
from s3bench.s3.emulator.describing import base64_of
from s3bench.s3.emulator.encryption import ACCOUNT_ID
from s3bench.s3.emulator.members import ELEMENTS, HONOURED, NO_EFFECT
from s3bench.s3.emulator.operation import Operation
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.s3.protocol.checksums import digest_of

MODEL = botocore.session.get_session().get_service_model("s3")
OPERATIONS = sorted(set(Operation) - {Operation.POST_OBJECT}, key=lambda operation: operation.value)
"""All but PostObject, which browsers send and botocore does not know: test_post_policy."""
COPIES = {Operation.COPY_OBJECT, Operation.UPLOAD_PART_COPY}
BODIES = {
    Operation.CREATE_BUCKET: "<CreateBucketConfiguration>{}</CreateBucketConfiguration>",
    Operation.PUT_BUCKET_VERSIONING: "<VersioningConfiguration><Status>Enabled</Status>{}</VersioningConfiguration>",
    Operation.PUT_BUCKET_ENCRYPTION: (
        "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault>"
        "<SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule>{}"
        "</ServerSideEncryptionConfiguration>"
    ),
    Operation.PUT_OBJECT_LOCK_CONFIGURATION: (
        "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>{}</ObjectLockConfiguration>"
    ),
    Operation.PUT_OBJECT_RETENTION: (
        "<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>2999-01-01T00:00:00Z</RetainUntilDate>{}</Retention>"
    ),
    Operation.PUT_OBJECT_LEGAL_HOLD: "<LegalHold><Status>OFF</Status>{}</LegalHold>",
    Operation.PUT_BUCKET_CORS: (
        "<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin></CORSRule>{}"
        "</CORSConfiguration>"
    ),
    Operation.PUT_BUCKET_TAGGING: "<Tagging><TagSet/>{}</Tagging>",
    Operation.PUT_OBJECT_TAGGING: "<Tagging><TagSet/>{}</Tagging>",
    Operation.DELETE_OBJECTS: "<Delete><Object><Key>none</Key></Object>{}</Delete>",
    Operation.COMPLETE_MULTIPART_UPLOAD: (
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>9dd4e461268c8034f5c8564e155c67a6</ETag></Part>"
        "{}</CompleteMultipartUpload>"
    ),
}
DIRECTORY = "bucket--use1-az4--x-s3"
EXPRESS = {Operation.CREATE_SESSION, Operation.RENAME_OBJECT}
LOCKS = {
    Operation.GET_OBJECT_LOCK_CONFIGURATION, Operation.PUT_OBJECT_LOCK_CONFIGURATION,
    Operation.GET_OBJECT_RETENTION, Operation.PUT_OBJECT_RETENTION,
    Operation.GET_OBJECT_LEGAL_HOLD, Operation.PUT_OBJECT_LEGAL_HOLD,
}  # fmt: skip
TAGGED = b"<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>"
VALUES = {"x-amz-acl": "public-read", "x-amz-server-side-encryption": "aws:kms"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    body: bytes

    def text(self, name: str) -> str:
        return ET.fromstring(self.body).findtext(name) or ""


@dataclass(slots=True, kw_only=True)
class Wire:
    """Sends a request that would succeed, changed by one member."""

    endpoint: EmulatorEndpoint
    uploads: dict[str, str] = field(default_factory=dict)

    def arm(self) -> None:
        self.endpoint.arm(EmulatorSettings(buckets=("bucket", "empty", DIRECTORY)))
        assert self.send("PUT", "/bucket/k", body=b"x").status == 200
        assert self.send("PUT", f"/{DIRECTORY}/k").status == 200
        assert self.send("PUT", "/bucket?tagging", body=TAGGED).status == 204
        upload_id = self.send("POST", "/bucket/k?uploads").text("{*}UploadId")
        assert self.send("PUT", f"/bucket/k?uploadId={upload_id}&partNumber=1", body=b"x").status == 200
        locking = {"x-amz-bucket-object-lock-enabled": "true"}
        assert self.send("PUT", "/locking", headers=locking).status == 200
        assert self.send("PUT", "/locking/k").status == 200
        assert self.ask(Operation.PUT_BUCKET_CORS).status == 200
        assert self.ask(Operation.PUT_OBJECT_RETENTION).status == 200
        assert self.ask(Operation.PUT_OBJECT_LEGAL_HOLD).status == 200
        self.uploads = {"uploadId": upload_id}

    def send(self, method: str, target: str, *, headers: dict[str, str] | None = None, body: bytes = b"") -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.endpoint.port, timeout=60)
        try:
            connection.request(method, target, body=body, headers=headers or {})
            answer = connection.getresponse()
            return Answer(status=answer.status, body=answer.read())
        finally:
            connection.close()

    def ask(
        self,
        operation: Operation,
        *,
        headers: dict[str, str] | None = None,
        query: dict[str, str] | None = None,
        element: str = "",
    ) -> Answer:
        model = MODEL.operation_model(operation.value)
        path, _, fixed = model.http["requestUri"].partition("?")
        bucket = {Operation.CREATE_BUCKET: "new-bucket", Operation.DELETE_BUCKET: "empty"}.get(operation, "bucket")
        if operation in LOCKS:
            bucket = "locking"
        if operation in EXPRESS:
            bucket = DIRECTORY
        path = path.replace("{Bucket}", bucket).replace("{Key+}", "k")
        needed = {name: self.uploads["uploadId"] for name in ("uploadId",) if name in wire_names(model)}
        if operation in {Operation.UPLOAD_PART, Operation.UPLOAD_PART_COPY}:
            needed["partNumber"] = "1"
        said = "&".join(part for part in (fixed, urlencode({**needed, **(query or {})})) if part)
        body = BODIES[operation].format(element).encode() if operation in BODIES else b""
        fields = {"x-amz-copy-source": "bucket/k"} if operation in COPIES else {}
        if operation is Operation.COPY_OBJECT:
            fields["x-amz-metadata-directive"] = "REPLACE"
        if operation is Operation.GET_OBJECT_ATTRIBUTES:
            fields["x-amz-object-attributes"] = "ETag"
        if operation is Operation.RENAME_OBJECT:
            fields["x-amz-rename-source"] = "k"
        if operation is Operation.DELETE_OBJECTS:
            fields["content-md5"] = base64.b64encode(hashlib.md5(body).digest()).decode()
        return self.send(model.http["method"], f"{path}?{said}", headers=fields | (headers or {}), body=body)


def is_done(operation: Operation, answer: Answer) -> bool:
    """Whether the operation itself was reached, which may have nothing to give."""
    if operation in UNSET:
        return answer.text("Code") == UNSET[operation].code
    if operation in {Operation.PUT_BUCKET_ACL, Operation.PUT_OBJECT_ACL}:
        return answer.text("Code") == "AccessControlListNotSupported"
    return answer.status < 300


def wire_names(model: OperationModel) -> dict[str, str]:
    """The members that are headers or in the query, by their names on the wire: which of both."""
    found = {}
    members = model.input_shape.members if model.input_shape is not None else {}
    for name, shape in members.items():
        place = shape.serialization.get("location")
        if place in {"header", "headers", "querystring"}:
            wire = shape.serialization.get("name", name)
            found[wire if place == "querystring" else wire.lower()] = place
    return found


def elements(model: OperationModel) -> Iterator[str]:
    """The paths of all elements below the root of the operation's document."""
    payload = model.input_shape.serialization.get("payload") if model.input_shape is not None else None
    shape = model.input_shape.members[payload] if payload else None
    if isinstance(shape, StructureShape):
        yield from below(shape, "")


def below(shape: StructureShape, above: str) -> Iterator[str]:
    for name, member in shape.members.items():
        path = above + member.serialization.get("name", name)
        inner = member
        if member.type_name == "list":
            yield path
            inner = member.member
            if not member.serialization.get("flattened"):
                path += f"/{inner.serialization['name']}"
        yield path
        if isinstance(inner, StructureShape):
            yield from below(inner, f"{path}/")


@pytest.fixture
def wire(endpoint: EmulatorEndpoint) -> Iterator[Wire]:
    sender = Wire(endpoint=endpoint)
    sender.arm()
    yield sender
    endpoint.collect()


def test_the_table_has_every_operation() -> None:
    assert set(HONOURED) == set(Operation)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.value)
def test_what_is_not_read_is_refused_by_its_name(wire: Wire, operation: Operation) -> None:
    for name, place in wire_names(MODEL.operation_model(operation.value)).items():
        if name in HONOURED[operation] or name in NO_EFFECT:
            continue
        sent = {name: VALUES.get(name, "1")}
        answer = wire.ask(operation, headers=sent) if place == "header" else wire.ask(operation, query=sent)
        assert answer.status in {400, 501}, f"{name} is neither read nor refused"
        if MODEL.operation_model(operation.value).http["method"] != "HEAD":
            assert name in answer.text("Message"), name
            assert name in {answer.text("Header"), answer.text("ArgumentName")}
    assert is_done(operation, wire.ask(operation)), "the request as such is refused, so the refusals show nothing"


@pytest.mark.parametrize("operation", BODIES, ids=lambda operation: operation.value)
def test_elements_that_are_not_read_are_refused_by_their_names(wire: Wire, operation: Operation) -> None:
    root = BODIES[operation][1:].partition(">")[0]
    for path in elements(MODEL.operation_model(operation.value)):
        if path in ELEMENTS[root]:
            continue
        opened = "".join(f"<{name}>" for name in path.split("/"))
        closed = "".join(f"</{name}>" for name in reversed(path.split("/")))
        answer = wire.ask(operation, element=f"{opened}1{closed}")
        assert answer.status == 501, f"{path} is neither read nor refused"
        assert path.split("/")[0] in answer.text("Message")
    assert wire.ask(operation, element="<Unheard/>").text("Code") == "MalformedXML"
    assert wire.ask(operation).status < 300


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.value)
def test_the_table_names_nothing_that_the_operation_does_not_have(operation: Operation) -> None:
    by_trait = {name for name in HONOURED[operation] if name == "content-md5" or name.startswith("x-amz-checksum-")}
    assert HONOURED[operation] - by_trait <= wire_names(MODEL.operation_model(operation.value)).keys()


@pytest.mark.parametrize("operation", BODIES, ids=lambda operation: operation.value)
def test_the_table_names_no_element_that_the_document_does_not_have(operation: Operation) -> None:
    root = BODIES[operation][1:].partition(">")[0]
    assert ELEMENTS[root] <= set(elements(MODEL.operation_model(operation.value)))


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.value)
@pytest.mark.parametrize("name", ["x-amz-expected-bucket-owner", "x-amz-source-expected-bucket-owner"])
def test_the_expected_owner_of_a_bucket_is_the_one_account(wire: Wire, operation: Operation, name: str) -> None:
    if name not in HONOURED[operation]:
        return
    # The codes and the message are those of TestS3::test_delete_bucket_policy_expected_bucket_owner.
    other = wire.ask(operation, headers={name: "111122223333"})
    wrong = wire.ask(operation, headers={name: "abcd"})
    assert (other.status, wrong.status) == (403, 400)
    if other.body:
        assert (other.text("Code"), wrong.text("Code")) == ("AccessDenied", "InvalidBucketOwnerAWSAccountID")
    assert is_done(operation, wire.ask(operation, headers={name: ACCOUNT_ID}))


def test_what_has_no_effect_does_not_disturb(wire: Wire) -> None:
    for name in NO_EFFECT:
        assert wire.ask(Operation.GET_OBJECT, headers={name + "x" * name.endswith("-"): "requester"}).status == 200


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.value)
def test_headers_that_sdks_add_to_every_request_ask_for_nothing(wire: Wire, operation: Operation) -> None:
    """AWS's SDKs for C++ and .NET send the version of the API; that for Java a TE header of its own with GetObject."""
    headers = {"x-amz-api-version": "2006-03-01", "x-amz-te": "append-md5"}
    assert is_done(operation, wire.ask(operation, headers=headers))


@pytest.mark.parametrize("value", ["AQEBAQ==", "nonsense"])
@pytest.mark.parametrize("algorithm", ["crc32", "crc64nvme", "sha256", "xxhash128"])
def test_the_checksum_of_no_body_is_not_looked_at(wire: Wire, algorithm: str, value: str) -> None:
    headers = {f"x-amz-checksum-{algorithm}": value}
    for method, status in (("GET", 200), ("HEAD", 200), ("DELETE", 204)):
        assert wire.send(method, "/bucket/k", headers=headers).status == status
    assert wire.send("GET", "/bucket?list-type=2", headers=headers).status == 200
    assert wire.send("PUT", "/bucket/k", headers=headers).status >= 400


def test_a_checksum_that_an_operation_does_not_read_is_refused_by_its_name(wire: Wire) -> None:
    answer = wire.ask(Operation.COPY_OBJECT, headers={"x-amz-checksum-crc32": "AAAAAA=="})
    assert (answer.status, answer.text("Header")) == (501, "x-amz-checksum-crc32")


def test_a_put_may_say_that_its_checksum_is_of_the_full_object(wire: Wire) -> None:
    """As minio-go does, and so warp and mc, with CRC64NVME."""
    declared = {
        "x-amz-checksum-type": "FULL_OBJECT",
        "x-amz-checksum-crc64nvme": base64_of(digest_of("crc64nvme", [b"other"])),
    }
    assert wire.send("PUT", "/bucket/other", body=b"other", headers=declared).status == 200
    assert wire.send("PUT", "/bucket/other", body=b"wrong", headers=declared).text("Code") == "BadDigest"


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"x-amz-acl": "public-read"}, 400, "AccessControlListNotSupported"),
        ({"x-amz-grant-read": "id=1"}, 400, "AccessControlListNotSupported"),
        ({"x-amz-server-side-encryption": "aws:fsx"}, 501, "NotImplemented"),
        ({"x-amz-server-side-encryption": "rot13"}, 400, "InvalidEncryptionAlgorithmError"),
        ({"x-amz-checksum-sha512": "1"}, 501, "NotImplemented"),
        ({"x-amz-checksum-md4": "1"}, 400, "InvalidRequest"),
        ({"x-amz-sdk-checksum-algorithm": "SHA512"}, 400, "InvalidRequest"),
        ({"x-amz-header-of-tomorrow": "1"}, 501, "NotImplemented"),
        ({"x-amz-write-offset-bytes": "1"}, 501, "NotImplemented"),
    ],
)
def test_a_refused_put_changes_nothing(wire: Wire, headers: dict[str, str], status: int, code: str) -> None:
    answer = wire.send("PUT", "/bucket/k", body=b"other", headers=headers)
    assert (answer.status, answer.text("Code")) == (status, code)
    assert wire.send("GET", "/bucket/k").body == b"x"


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"x-amz-acl": "public-read"}, 400, "InvalidBucketAclWithObjectOwnership"),
        ({"x-amz-grant-write": "id=1"}, 400, "InvalidBucketAclWithObjectOwnership"),
        ({"x-amz-object-ownership": "ObjectWriter"}, 501, "NotImplemented"),
        ({"x-amz-bucket-object-lock-enabled": "true"}, 200, ""),
        ({"x-amz-acl": "private", "x-amz-object-ownership": "BucketOwnerEnforced"}, 200, ""),
    ],
)
def test_a_new_bucket_is_what_was_asked_for_or_refused(
    wire: Wire, headers: dict[str, str], status: int, code: str
) -> None:
    answer = wire.ask(Operation.CREATE_BUCKET, headers=headers)
    assert answer.status == status
    assert (answer.text("Code") if answer.body else "") == code


@pytest.mark.parametrize("name", ["x-amz-meta-a", "X-Amz-Acl", "x-amz-checksum-crc32"])
def test_headers_in_the_query_are_refused(wire: Wire, name: str) -> None:
    answer = wire.send("PUT", f"/bucket/new?X-Amz-Date=20260101T000000Z&{name}=1", body=b"x")
    assert (answer.status, answer.text("Code")) == (501, "NotImplemented")


# ListDirectoryBuckets is ListBuckets at another host; WriteGetObjectResponse has a host and a path of its own;
# GetBucketLifecycle is the former name of GetBucketLifecycleConfiguration.
UNSUPPORTED = sorted(
    set(MODEL.operation_names)
    - {operation.value for operation in Operation}
    - {"GetBucketLifecycle", "ListDirectoryBuckets", "WriteGetObjectResponse"}
)


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_an_operation_that_is_not_supported_is_not_taken_for_another(wire: Wire, name: str) -> None:
    model = MODEL.operation_model(name)
    target = model.http["requestUri"].replace("{Bucket}", "bucket").replace("{Key+}", "k")
    assert wire.send(model.http["method"], target).status == 501
    assert wire.send("GET", "/bucket/k").body == b"x"
