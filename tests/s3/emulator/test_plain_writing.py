"""Small, plain writes take a shorter way: their replies, and what they store, are those of the long way."""

import base64
import hashlib

import pytest

from s3bench.s3.emulator.handler import Emulator
from s3bench.s3.emulator.plain_writing import is_plain_write
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.protocol.checksums import digest_of
from s3bench.s3.protocol.exchange import Reply, RequestBody
from s3bench.s3.protocol.http import RequestHead, parse_head
from tests.s3.emulator.asking import BUCKET, DATE_LINE, NOON_S, Asker, answer_of

BODY = bytes(range(256)) * 16
SHA256 = hashlib.sha256(BODY).hexdigest()
VERSIONED = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
ALGORITHMS = ("crc32", "crc32c", "crc64nvme", "sha1", "sha256")

Fields = dict[str, str]


def checksum(algorithm: str, body: bytes = BODY) -> Fields:
    digest = digest_of(algorithm, (body,))
    return {f"x-amz-checksum-{algorithm}": base64.b64encode(digest).decode()}


PLAIN: tuple[Fields, ...] = (
    {},
    {"content-type": "text/plain; charset=utf-8"},
    {"x-amz-api-version": "2006-03-01"},
    {"x-amz-content-sha256": "UNSIGNED-PAYLOAD", "user-agent": "a client"},
    {"x-amz-content-sha256": SHA256},
    {"x-amz-content-sha256": SHA256, **checksum("sha256")},
    {"x-amz-sdk-checksum-algorithm": "CRC32", **checksum("crc32")},
    *(checksum(algorithm) for algorithm in ALGORITHMS),
)
WRONG: tuple[Fields, ...] = (
    {"content-type": "text/\x01plain"},
    {"x-amz-content-sha256": SHA256[::-1]},
    {"x-amz-content-sha256": SHA256.upper()},
    {"x-amz-content-sha256": "g" * 64, **checksum("crc32")},
    {"x-amz-checksum-crc32": "AAAA"},
    {"x-amz-checksum-crc32": "not base64"},
    {"x-amz-sdk-checksum-algorithm": "CRC32"},
    {"x-amz-sdk-checksum-algorithm": "SHA1", **checksum("crc32")},
    {"x-amz-sdk-checksum-algorithm": "CRC17", **checksum("crc32")},
    *(checksum(algorithm, b"other") for algorithm in ALGORITHMS),
)
MORE: tuple[Fields, ...] = (
    {**checksum("crc32"), **checksum("sha1")},
    {"content-md5": base64.b64encode(hashlib.md5(BODY).digest()).decode()},
    {"content-encoding": "gzip"},
    {"if-none-match": "*"},
    {"origin": "https://example.com"},
    {"x-amz-acl": "public-read"},
    {"x-amz-checksum-crc17": "AAAA"},
    {"x-amz-meta-colour": "blue"},
    {"x-amz-server-side-encryption": "aws:kms"},
    {"x-amz-tagging": "a=b"},
    {"x-amz-trailer": "x-amz-checksum-crc32"},
)


def head_of(fields: Fields, target: str = f"/{BUCKET}/a/key", body: bytes = BODY) -> RequestHead:
    fields = {"host": "h", "content-length": str(len(body)), **fields}
    lines = [f"PUT {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return parse_head("\r\n".join(lines).encode())


def put(s3: Asker, fields: Fields, *, target: str = f"/{BUCKET}/a/key", body: bytes = BODY) -> Reply:
    """Write `body`, which comes in two pieces."""
    head = head_of(fields, target, body)
    sink = s3.emulator.begin(head)
    assert sink is not None
    for piece in (memoryview(body)[:1000], memoryview(body)[1000:]):
        sink.update(piece)
    return s3.emulator.finish(head, RequestBody(len(body), len(body), {}, sink), DATE_LINE)


def both_ways(fields: Fields, *, target: str = f"/{BUCKET}/a/key", **settings: object) -> Reply:
    """Write with an emulator as it is, and with one whose client waits for 100 Continue: that is the long way.

    Gives the reply, which both have, and leaves nothing different behind.
    """
    replies, reads = [], []
    for more in ({}, {"expect": "100-continue"}):
        s3 = Asker(**settings)
        assert not is_plain_write(head_of({**fields, "expect": "100-continue"}, target))
        replies.append(put(s3, {**fields, **more}, target=target))
        read = s3.ask("GET", "a/key", headers={"x-amz-checksum-mode": "ENABLED"})
        reads.append((read, s3.emulator.held_bytes, s3.emulator.objects))
    short, long = replies
    assert (short.data, short.facts) == (long.data, long.facts)
    assert reads[0] == reads[1]
    return short


@pytest.mark.parametrize("discard", [False, True])
@pytest.mark.parametrize("fields", PLAIN, ids=str)
def test_a_plain_write_is_stored_as_any_other(fields: Fields, discard: bool) -> None:
    assert is_plain_write(head_of(fields))
    reply = both_ways(fields, discard=discard)
    answer = answer_of(reply)
    assert (answer.status, answer.headers["etag"]) == (200, f'"{hashlib.md5(BODY).hexdigest()}"')
    declared = {name.removeprefix("x-amz-checksum-") for name in fields if name.startswith("x-amz-checksum-")}
    if fields.get("x-amz-content-sha256") == SHA256:
        declared.add("content-sha256")
    assert reply.facts[1] == dict.fromkeys(declared, True)


@pytest.mark.parametrize("fields", WRONG, ids=str)
def test_a_plain_write_that_is_wrong_is_refused_as_any_other(fields: Fields) -> None:
    assert is_plain_write(head_of(fields))
    reply = both_ways(fields)
    assert answer_of(reply).status == (200 if fields == {"x-amz-content-sha256": SHA256.upper()} else 400)


@pytest.mark.parametrize("fields", MORE, ids=str)
def test_a_write_that_asks_for_more_is_not_plain(fields: Fields) -> None:
    assert not is_plain_write(head_of(fields))
    both_ways(fields)


@pytest.mark.parametrize("target", ["/", f"/{BUCKET}", f"/{BUCKET}/", "/nowhere/key", f"/{BUCKET}/{'k' * 1025}"])
def test_a_target_that_is_no_object_is_answered_as_ever(target: str) -> None:
    assert answer_of(both_ways({}, target=target)).status >= 400


def test_virtual_hosts_and_presigned_urls_are_plain() -> None:
    s3 = Asker()
    signature = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=0"
    for fields, target in (({"host": f"{BUCKET}.localhost:1"}, "/a/key"), ({}, f"/{BUCKET}/a/key?{signature}")):
        assert is_plain_write(head_of(fields, target))
        assert put(s3, fields, target=target).facts[0] == 200
        assert s3.ask("GET", "a/key").body == BODY
        assert s3.ask("DELETE", "a/key").status == 204
    assert not is_plain_write(head_of({}, f"/{BUCKET}/a/key?tagging"))


def test_what_a_bucket_asks_of_its_objects_is_done() -> None:
    s3 = Asker()
    assert s3.ask("PUT", query={"versioning": ""}, body=VERSIONED).status == 200
    versions = {answer_of(put(s3, {})).headers["x-amz-version-id"] for _ in range(2)}
    assert len(versions) == 2
    s3 = Asker()
    rule = (
        b"<ApplyServerSideEncryptionByDefault><SSEAlgorithm>aws:kms</SSEAlgorithm></ApplyServerSideEncryptionByDefault>"
    )
    document = b"<ServerSideEncryptionConfiguration><Rule>%b</Rule></ServerSideEncryptionConfiguration>" % rule
    assert s3.ask("PUT", query={"encryption": ""}, body=document).status == 200
    assert answer_of(put(s3, {})).headers["x-amz-server-side-encryption"] == "aws:kms"


def test_a_bucket_that_is_deleted_while_a_body_comes_is_missed() -> None:
    s3 = Asker()
    pending = s3.begin("PUT", "a/key", body=BODY)
    assert s3.ask("DELETE").status == 204
    assert pending.finish().code == "NoSuchBucket"


def test_a_plain_write_needs_room_and_a_signature() -> None:
    crowded = Asker(memory_limit_bytes=5000)
    assert answer_of(put(crowded, {})).status == 507
    assert (crowded.emulator.held_bytes, crowded.emulator.objects) == (0, 0)
    locked = Emulator(EmulatorSettings(buckets=(BUCKET,), access_key="key", secret_key="secret"), now=lambda: NOON_S)
    head = head_of({})
    sink = locked.begin(head)
    assert answer_of(locked.finish(head, RequestBody(len(BODY), len(BODY), {}, sink), DATE_LINE)).code == "AccessDenied"
