"""Directory buckets of S3 Express One Zone: sessions, appends, renames, lists, and what they reject."""

import base64
import os
import socket
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from s3bench.s3.emulator.memory import Hold
from s3bench.s3.emulator.receiving import Intentions
from s3bench.s3.emulator.sessions import SESSION_S
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from tests.s3.emulator.asking import NOON_S, Answer, Asker
from tests.s3.emulator.real_clients import boto3_client

BUCKET = "logs--use1-az4--x-s3"
OTHER = "other--use1-az4--x-s3"
PLAIN = "bucket"
TOKEN = "x-amz-s3session-token"
OFFSET = "x-amz-write-offset-bytes"
SOURCE = "x-amz-rename-source"


class Express(Asker):
    """An emulator with two directory buckets and a general purpose one; requests go to the first."""

    def __init__(self, **settings: object) -> None:
        super().__init__(buckets=(BUCKET, OTHER, PLAIN), **settings)

    def ask(self, method: str, key: str = "", **more: Any) -> Answer:
        """Send a whole request."""
        return super().ask(method, key, **{"bucket": BUCKET, **more})

    def token(self, **more: Any) -> str:
        """Begin a session."""
        [token] = self.ask("GET", query={"session": ""}, **more).texts("Credentials/SessionToken")
        return token

    def listed(self, **query: str) -> list[str]:
        """Give the keys of one page, in the order they came."""
        return self.ask("GET", query={"list-type": "2", **query}).texts("Contents/Key")

    def append(self, key: str, body: bytes, offset: int | str, **headers: str) -> Answer:
        """Write at an offset."""
        return self.ask("PUT", key, headers={OFFSET: str(offset), **headers}, body=body)

    def rename(self, source: str, key: str, **headers: str) -> Answer:
        """Give an object another key; underscores in names of headers stand for hyphens."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("PUT", key, query={"renameObject": ""}, headers={SOURCE: source, **named})


@pytest.fixture
def s3() -> Express:
    return Express()


# Sessions


def test_a_session_is_good_for_five_minutes(s3: Express) -> None:
    reply = s3.ask("GET", query={"session": ""})
    [expires], [token] = reply.texts("Credentials/Expiration"), reply.texts("Credentials/SessionToken")
    assert datetime.fromisoformat(expires) == datetime.fromtimestamp(NOON_S + 300, UTC)
    assert s3.ask("PUT", "k", headers={TOKEN: token}, body=b"x").status == 200
    s3.now_s += SESSION_S - 1
    assert s3.ask("GET", "k", headers={TOKEN: token}).body == b"x"
    s3.now_s += 1
    for method in ("GET", "PUT", "DELETE"):
        reply = s3.ask(method, "k", headers={TOKEN: token})
        assert (reply.status, reply.code) == (400, "ExpiredToken")
    assert s3.ask("GET", "k", headers={TOKEN: s3.token()}).body == b"x"


@pytest.mark.parametrize("wrong", ["", "unknown", "AAAA"])
def test_an_unknown_token_is_rejected(s3: Express, wrong: str) -> None:
    s3.ask("PUT", "k", body=b"x")
    for token in (wrong, wrong + s3.token()[len(wrong) or 4 :]):
        reply = s3.ask("GET", "k", headers={TOKEN: token})
        assert (reply.status, reply.code) == (400, "InvalidToken")


def test_a_session_is_for_one_bucket(s3: Express) -> None:
    token = s3.token()
    assert s3.ask("PUT", "k", headers={TOKEN: token}, body=b"x", bucket=OTHER).code == "AccessDenied"
    assert s3.ask("PUT", "k", headers={TOKEN: token}, body=b"x", bucket=PLAIN).code == "NotImplemented"
    assert s3.ask("GET", query={"session": ""}, bucket=PLAIN).code == "NotImplemented"
    assert s3.ask("GET", query={"session": ""}, bucket="none--use1-az4--x-s3").code == "NoSuchBucket"


def test_a_read_only_session_does_not_write(s3: Express) -> None:
    s3.ask("PUT", "k", body=b"x")
    token = s3.token(headers={"x-amz-create-session-mode": "ReadOnly"})
    assert s3.ask("GET", "k", headers={TOKEN: token}).body == b"x"
    assert s3.ask("GET", query={"list-type": "2"}, headers={TOKEN: token}).status == 200
    assert s3.ask("PUT", "k", headers={TOKEN: token}, body=b"y").code == "AccessDenied"
    assert s3.ask("DELETE", "k", headers={TOKEN: token}).code == "AccessDenied"
    assert s3.ask("GET", "k").body == b"x"


@pytest.mark.parametrize("source", [BUCKET, OTHER, PLAIN])
def test_a_session_copies_nothing(s3: Express, source: str) -> None:
    s3.ask("PUT", "k", body=b"secret", bucket=source)
    upload = {"uploadId": s3.ask("POST", "c", query={"uploads": ""}).texts("UploadId")[0], "partNumber": "1"}
    copying, token = {"x-amz-copy-source": f"{source}/k"}, s3.token()
    for query in ({}, upload):
        in_header = s3.ask("PUT", "c", query=query, headers={**copying, TOKEN: token})
        in_query = s3.ask("PUT", "c", query={**query, "X-Amz-S3session-Token": token}, headers=copying)
        assert (in_header.code, in_query.code) == ("AccessDenied", "AccessDenied")
    assert s3.ask("GET", "c").code == "NoSuchKey"
    assert s3.ask("PUT", "c", headers=copying).status == 200
    assert s3.ask("PUT", "c", query=upload, headers=copying).status == 200


@pytest.mark.parametrize("mode", ["ReadOnly", "ReadWrite"])
def test_a_session_begins_no_other(s3: Express, mode: str) -> None:
    token = s3.token(headers={"x-amz-create-session-mode": mode})
    assert s3.ask("GET", query={"session": ""}, headers={TOKEN: token}).code == "AccessDenied"
    assert s3.ask("GET", query={"session": "", "X-Amz-S3session-Token": token}).code == "AccessDenied"


def test_sessions_of_other_keys_are_unknown() -> None:
    token = Express().token()
    other = Express(seed=1)
    assert other.ask("GET", query={"list-type": "2"}, headers={TOKEN: token}).code == "InvalidToken"


def test_sessions_of_virtual_hosts_are_those_of_the_bucket(s3: Express) -> None:
    host = {"host": f"{BUCKET}.s3express-use1-az4.localhost"}
    [token] = s3.ask("GET", bucket="", query={"session": ""}, headers=host).texts("Credentials/SessionToken")
    hosted = {**host, TOKEN: token}
    assert s3.ask("PUT", bucket="dir", key="k", headers=hosted, body=b"x").status == 200
    assert s3.ask("GET", bucket="dir", key="k", headers=hosted).body == b"x"
    assert s3.ask("GET", "dir/k", headers={TOKEN: token}).body == b"x"
    assert s3.ask("GET", "dir/k", headers={TOKEN: token}, bucket=OTHER).code == "AccessDenied"


def test_a_session_that_names_no_bucket_is_for_all_directory_buckets(s3: Express) -> None:
    [token] = s3.ask("GET", bucket="", query={"session": ""}).texts("Credentials/SessionToken")
    for bucket in (BUCKET, OTHER):
        assert s3.ask("PUT", "k", headers={TOKEN: token}, body=b"x", bucket=bucket).status == 200


# Appends


def test_an_append_needs_the_size_of_the_object_as_offset(s3: Express) -> None:
    assert s3.append("log", b"one", 1).code == "InvalidWriteOffset"
    first = s3.append("log", b"one", 0)
    assert (first.status, first.headers["x-amz-object-size"]) == (200, "3")
    for offset in (0, 2, 4):
        assert s3.append("log", b"two", offset).code == "InvalidWriteOffset"
    second = s3.append("log", b"two", 3)
    assert (second.status, second.headers["x-amz-object-size"]) == (200, "6")
    assert second.headers["etag"] != first.headers["etag"]
    assert s3.ask("GET", "log").body == b"onetwo"
    assert s3.append("log", b"x", "six").code == "InvalidArgument"


def test_an_append_keeps_what_was_said_about_the_object_and_its_checksum_is_that_of_the_whole(s3: Express) -> None:
    def crc32(body: bytes) -> str:
        return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()

    headers = {"x-amz-meta-a": "b", "content-type": "text/plain", "x-amz-checksum-crc32": crc32(b"one")}
    s3.ask("PUT", "log", body=b"one", headers=headers)
    reply = s3.append("log", b"two", 3, **{"x-amz-checksum-crc32": crc32(b"two")})
    assert reply.headers["x-amz-checksum-crc32"] == crc32(b"onetwo")
    found = s3.ask("HEAD", "log", headers={"x-amz-checksum-mode": "ENABLED"}).headers
    assert (found["x-amz-meta-a"], found["content-type"], found["content-length"]) == ("b", "text/plain", "6")
    assert found["x-amz-checksum-crc32"] == crc32(b"onetwo")
    assert s3.append("log", b"three", 6).code == "InvalidRequest"  # its CRC-64 is another algorithm
    assert s3.append("log", b"x", 6, **{"x-amz-checksum-crc32": crc32(b"y")}).code == "BadDigest"
    assert s3.ask("GET", "log").body == b"onetwo"


def test_appends_to_large_objects_share_their_bytes(s3: Express) -> None:
    pieces = [os.urandom(size) for size in (40_000, 1, 70_000, 30_000)]
    for number, piece in enumerate(pieces):
        assert s3.append("log", piece, sum(map(len, pieces[:number]))).status == 200
    assert s3.ask("GET", "log").body == b"".join(pieces)
    part = s3.ask("GET", "log", query={"partNumber": "3"})
    assert (part.status, part.body, part.headers["x-amz-mp-parts-count"]) == (206, pieces[2], "4")


def test_an_append_takes_memory_for_its_own_part_alone(s3: Express, monkeypatch: pytest.MonkeyPatch) -> None:
    holds: list[Hold] = []
    real = Intentions.hold_part

    def counted(intentions: Intentions) -> Hold:
        holds.append(real(intentions))
        return holds[-1]

    monkeypatch.setattr(Intentions, "hold_part", counted)
    counts = []
    for number in range(4):
        assert s3.append("log", b"x", number).status == 200
        counts.append(len(holds))
    assert counts == [0, 2, 3, 4]  # what was in one piece becomes a part with the second append


def test_general_purpose_buckets_do_not_append(s3: Express) -> None:
    reply = s3.ask("PUT", "k", headers={OFFSET: "0"}, body=b"x", bucket=PLAIN)
    assert (reply.status, reply.code) == (501, "NotImplemented")


# Renames


def test_a_renamed_object_stays_the_same(s3: Express) -> None:
    put = s3.ask("PUT", "a b", body=b"x", headers={"x-amz-meta-a": "b"})
    before = s3.ask("HEAD", "a b").headers
    s3.now_s += 60
    assert s3.rename("a%20b", "c").status == 200
    after = s3.ask("HEAD", "c").headers
    for name in ("etag", "last-modified", "x-amz-meta-a", "content-length"):
        assert after[name] == before[name]
    assert after["etag"] == put.headers["etag"]
    assert s3.ask("GET", "a b").code == "NoSuchKey"
    assert s3.rename(f"/{BUCKET}/c", "d/e").status == 200
    assert s3.ask("GET", "d/e").body == b"x"
    assert s3.ask("GET", "d/e").body == b"x"


def test_the_conditions_of_a_rename_are_for_source_and_destination(s3: Express) -> None:
    etag = s3.ask("PUT", "a", body=b"a").headers["etag"]
    there = s3.ask("PUT", "b", body=b"b").headers["etag"]
    for headers in (
        {"if_none_match": "*"},
        {"if_match": etag},
        {"x_amz_rename_source_if_match": there},
        {"x_amz_rename_source_if_none_match": etag},
        {"if_unmodified_since": "Mon, 13 Nov 2023 22:13:20 GMT"},
        {"x_amz_rename_source_if_unmodified_since": "Mon, 13 Nov 2023 22:13:20 GMT"},
    ):
        reply = s3.rename("a", "b", **headers)
        assert (reply.status, reply.code) == (412, "PreconditionFailed"), headers
    assert s3.ask("GET", "b").body == b"b"
    assert s3.rename("a", "b", if_match=there, x_amz_rename_source_if_match=etag).status == 200
    assert s3.ask("GET", "b").body == b"a"
    assert s3.rename("b", "c", if_none_match="*").status == 200


def test_a_client_token_makes_a_rename_idempotent(s3: Express) -> None:
    s3.ask("PUT", "a", body=b"a")
    assert s3.rename("a", "b", x_amz_client_token="once").status == 200
    assert s3.rename("a", "b", x_amz_client_token="once").status == 200
    assert s3.rename("a", "c", x_amz_client_token="once").code == "IdempotencyParameterMismatch"
    assert s3.rename("a", "b").code == "NoSuchKey"


def test_a_rename_that_failed_may_be_tried_again_with_its_client_token(s3: Express) -> None:
    assert s3.rename("a", "b", x_amz_client_token="once").code == "NoSuchKey"
    s3.ask("PUT", "a", body=b"a")
    assert s3.rename("a", "b", x_amz_client_token="once").status == 200
    assert s3.ask("GET", "b").body == b"a"


def test_what_cannot_be_renamed_is_rejected(s3: Express) -> None:
    s3.ask("PUT", "dir/", body=b"")
    s3.ask("PUT", "a", body=b"")
    assert s3.rename("dir/", "b").code == "InvalidRequest"
    assert s3.rename("a", "b/").code == "InvalidRequest"
    assert s3.rename("", "b").code == "InvalidArgument"
    assert s3.ask("PUT", "k", query={"renameObject": ""}, headers={SOURCE: "a"}, bucket=PLAIN).code == "NotImplemented"


# Lists


def test_a_list_has_every_key_once_and_not_in_order(s3: Express) -> None:
    keys = {f"{directory}/{number}" for directory in "abc" for number in range(5)} | {"top"}
    for key in keys:
        s3.ask("PUT", key, body=b"")
    found, token = [], ""
    while True:
        page = s3.ask(
            "GET", query={"list-type": "2", "max-keys": "4", **({"continuation-token": token} if token else {})}
        )
        found += page.texts("Contents/Key")
        if page.texts("IsTruncated") == ["false"]:
            break
        [token] = page.texts("NextContinuationToken")
    assert sorted(found) == sorted(keys)
    assert found != sorted(keys)
    assert set(s3.listed(prefix="b/")) == {f"b/{number}" for number in range(5)}


def test_common_prefixes_are_listed_once_with_those_of_uploads(s3: Express) -> None:
    for key in ("a/1", "a/2", "b/1", "top"):
        s3.ask("PUT", key, body=b"")
    for key in ("a/3", "u/1", "under"):
        s3.ask("POST", key, query={"uploads": ""})
    found, token = [], ""
    while True:
        query = {"list-type": "2", "delimiter": "/", "max-keys": "1"}
        page = s3.ask("GET", query={**query, **({"continuation-token": token} if token else {})})
        found += page.texts("Contents/Key") + page.texts("CommonPrefixes/Prefix")
        if page.texts("IsTruncated") == ["false"]:
            break
        [token] = page.texts("NextContinuationToken")
    assert sorted(found) == ["a/", "b/", "top", "u/"]
    whole = s3.ask("GET", query={"list-type": "2", "delimiter": "/", "max-keys": "100"})
    assert sorted(whole.texts("Contents/Key") + whole.texts("CommonPrefixes/Prefix")) == sorted(found)
    assert "u/" not in s3.listed()


def test_uploads_are_listed_by_a_marker_that_is_no_key(s3: Express) -> None:
    for key in ("a", "b", "c"):
        s3.ask("POST", key, query={"uploads": ""})
    found, marker = [], ""
    while True:
        query = {"uploads": "", "max-uploads": "1", **({"key-marker": marker} if marker else {})}
        page = s3.ask("GET", query=query)
        found += page.texts("Upload/Key")
        if page.texts("IsTruncated") == ["false"]:
            break
        [marker] = page.texts("NextKeyMarker")
        assert marker not in {"a", "b", "c"}
    assert found == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({"list-type": "2", "delimiter": "-"}, 400, "InvalidRequest"),
        ({"list-type": "2", "prefix": "a"}, 400, "InvalidRequest"),
        ({"list-type": "2", "start-after": "a"}, 501, "NotImplemented"),
        ({"uploads": "", "prefix": "a"}, 400, "InvalidRequest"),
        ({"uploads": "", "key-marker": "a", "upload-id-marker": "b"}, 501, "NotImplemented"),
        ({}, 400, "NotSupported"),
        ({"versions": ""}, 501, "NotImplemented"),
    ],
)
def test_lists_of_other_kinds_are_rejected(s3: Express, query: dict[str, str], status: int, code: str) -> None:
    reply = s3.ask("GET", query=query)
    assert (reply.status, reply.code) == (status, code)


# What they reject


@pytest.mark.parametrize("name", ["versioning", "tagging", "cors"])
def test_configurations_are_taken_for_a_wrong_createbucket(s3: Express, name: str) -> None:
    reply = s3.ask("PUT", query={name: ""}, body=b"<x/>")
    assert (reply.status, reply.code) == (400, "InvalidArgument")
    assert "expected CreateBucketConfiguration" in reply.texts("Message")[0]


@pytest.mark.parametrize(
    ("method", "key", "query"),
    [
        ("GET", "", "versioning"),
        ("GET", "", "acl"),
        ("PUT", "", "acl"),
        ("GET", "", "object-lock"),
        ("PUT", "", "object-lock"),
        ("GET", "", "website"),
        ("GET", "", "location"),
        ("POST", "", ""),
        ("GET", "k", "tagging"),
        ("PUT", "k", "tagging"),
        ("DELETE", "k", "tagging"),
        ("GET", "k", "acl"),
        ("PUT", "k", "acl"),
        ("PUT", "k", "retention"),
        ("PUT", "k", "legal-hold"),
        ("POST", "k", "select"),
        ("POST", "k", "restore"),
        ("GET", "k", "torrent"),
    ],
)
def test_what_directory_buckets_lack_is_not_implemented(s3: Express, method: str, key: str, query: str) -> None:
    s3.ask("PUT", "k", body=b"x")
    reply = s3.ask(method, key, query={query: ""} if query else {})
    assert (reply.status, reply.code) == (501, "NotImplemented")


@pytest.mark.parametrize(
    ("name", "value", "status", "code"),
    [
        ("x-amz-acl", "private", 501, "NotImplemented"),
        ("x-amz-grant-read", "id=1", 501, "NotImplemented"),
        ("x-amz-tagging", "a=b", 501, "NotImplemented"),
        ("x-amz-object-lock-legal-hold", "ON", 501, "NotImplemented"),
        ("x-amz-website-redirect-location", "/a", 501, "NotImplemented"),
        ("x-amz-server-side-encryption-customer-algorithm", "AES256", 501, "NotImplemented"),
        ("x-amz-server-side-encryption", "aws:kms", 400, "InvalidRequest"),
        ("x-amz-server-side-encryption", "aws:kms:dsse", 400, "InvalidRequest"),
        ("x-amz-storage-class", "STANDARD", 400, "InvalidStorageClass"),
        ("content-md5", base64.b64encode(bytes(16)).decode(), 400, "InvalidRequest"),
    ],
)
def test_headers_that_directory_buckets_lack_are_rejected(
    s3: Express, name: str, value: str, status: int, code: str
) -> None:
    reply = s3.ask("PUT", "k", headers={name: value}, body=b"x")
    assert (reply.status, reply.code) == (status, code)
    assert s3.ask("GET", "k").code == "NoSuchKey"


def test_objects_have_their_storage_class_and_an_etag_that_is_no_md5(s3: Express) -> None:
    first, second = (s3.ask("PUT", "k", body=b"x").headers["etag"] for _ in range(2))
    md5 = s3.ask("PUT", "k", body=b"x", bucket=PLAIN).headers["etag"]
    assert len({first, second, md5}) == 3
    assert s3.ask("PUT", "k", body=b"x", headers={"x-amz-storage-class": "EXPRESS_ONEZONE"}).status == 200
    assert s3.ask("HEAD", "k").headers["x-amz-storage-class"] == "EXPRESS_ONEZONE"
    wrong = s3.ask("PUT", "k", body=b"x", headers={"x-amz-storage-class": "EXPRESS_ONEZONE"}, bucket=PLAIN)
    assert wrong.code == "InvalidStorageClass"


def test_a_write_may_repeat_the_default_encryption_of_the_bucket(s3: Express) -> None:
    assert s3.ask("PUT", "k", body=b"x", headers={"x-amz-server-side-encryption": "AES256"}).status == 200
    assert set_default(s3, "aws:kms", "alias/mine").status == 200
    assert s3.ask("PUT", "k", body=b"x", headers={"x-amz-server-side-encryption": "AES256"}).code == "InvalidRequest"
    assert s3.ask("PUT", "k", body=b"x").headers["x-amz-server-side-encryption"] == "aws:kms"
    assert s3.ask("GET", query={"session": ""}).headers["x-amz-server-side-encryption"] == "aws:kms"


@pytest.mark.parametrize(
    ("method", "key"), [("aws:kms:dsse", "alias/mine"), ("aws:kms", ""), ("aws:kms", "alias/aws/s3")]
)
def test_the_default_encryption_is_not_of_another_kind(s3: Express, method: str, key: str) -> None:
    assert set_default(s3, method, key).code == "InvalidRequest"


def test_the_default_encryption_keeps_its_key_and_has_a_bucket_key(s3: Express) -> None:
    assert set_default(s3, "aws:kms", "alias/mine").status == 200
    found = s3.ask("GET", query={"encryption": ""})
    assert found.texts("Rule/BucketKeyEnabled") == ["true"]
    assert s3.ask("DELETE", query={"encryption": ""}).status == 204
    assert set_default(s3, "aws:kms", "alias/other").code == "InvalidRequest"
    assert set_default(s3, "aws:kms", "alias/mine").status == 200


def test_a_session_returns_the_arn_of_the_default_key(s3: Express) -> None:
    assert set_default(s3, "aws:kms", "alias/mine").status == 200
    key = "x-amz-server-side-encryption-aws-kms-key-id"
    session, written = s3.ask("GET", query={"session": ""}), s3.ask("PUT", "k", body=b"x")
    assert session.headers[key] == written.headers[key]
    assert session.headers[key].startswith("arn:aws:kms:us-east-1:")


@pytest.mark.parametrize("key", ["no key", "ключ", "a&#13;&#10;b"])
def test_no_session_begins_where_the_default_key_cannot_be(s3: Express, key: str) -> None:
    assert set_default(s3, "aws:kms", key).status == 200
    for answer in (s3.ask("GET", query={"session": ""}), s3.ask("PUT", "k", body=b"x")):
        assert (answer.status, answer.code) == (400, "KMS.NotFoundException")


def set_default(s3: Express, method: str, key: str) -> Answer:
    named = f"<KMSMasterKeyID>{key}</KMSMasterKeyID>" if key else ""
    rule = (
        f"<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>{method}"
        f"</SSEAlgorithm>{named}</ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>"
    )
    return s3.ask("PUT", query={"encryption": ""}, body=rule.encode())


def test_parts_have_consecutive_numbers(s3: Express) -> None:
    [upload] = s3.ask("POST", "k", query={"uploads": ""}).texts("UploadId")
    etag = s3.ask("PUT", "k", query={"partNumber": "2", "uploadId": upload}, body=b"x").headers["etag"]
    named = f"<Part><PartNumber>2</PartNumber><ETag>{etag}</ETag></Part>"
    body = f"<CompleteMultipartUpload>{named}</CompleteMultipartUpload>".encode()
    assert s3.ask("POST", "k", query={"uploadId": upload}, body=body).code == "InvalidPartOrder"
    assert s3.ask("DELETE").code == "BucketNotEmpty"
    assert s3.ask("DELETE", "k", query={"uploadId": upload}).status == 204
    assert s3.ask("DELETE").status == 204


# Buckets


def created(
    s3: Express, name: str, *, zone: str = "use1-az5", kind: str = "Directory", place: str = "AvailabilityZone"
) -> Answer:
    body = (
        f"<CreateBucketConfiguration><Location><Type>{place}</Type><Name>{zone}</Name></Location>"
        f"<Bucket><DataRedundancy>Single{place}</DataRedundancy><Type>{kind}</Type></Bucket>"
        "</CreateBucketConfiguration>"
    )
    return s3.ask("PUT", bucket=name, body=body.encode())


def test_a_directory_bucket_is_made_in_the_zone_of_its_name(s3: Express) -> None:
    name = "new--use1-az5--x-s3"
    assert created(s3, name).headers["x-amz-bucket-arn"] == f"arn:aws:s3express:us-east-1:000000000000:bucket/{name}"
    found = s3.ask("HEAD", bucket=name).headers
    assert found["x-amz-bucket-location-name"] == "use1-az5"
    assert found["x-amz-bucket-location-type"] == "AvailabilityZone"
    assert created(s3, "new--usw2-lax1-az1--x-s3", zone="usw2-lax1-az1", place="LocalZone").status == 200
    assert s3.ask("HEAD", bucket="new--usw2-lax1-az1--x-s3").headers["x-amz-bucket-location-type"] == "LocalZone"
    for wrong in ("--use1-az5--x-s3", "new--x-s3", "new.1--use1-az5--x-s3", f"{'n' * 50}--use1-az5--x-s3"):
        assert created(s3, wrong).code == "InvalidBucketName", wrong
    assert created(s3, "newer--use1-az5--x-s3", zone="use1-az4").code == "InvalidBucketName"
    assert created(s3, "newer--use1-az5--x-s3", kind="Other").code == "MalformedXML"
    assert s3.ask("PUT", bucket="newer--use1-az5--x-s3").code == "MalformedXML"
    assert created(s3, "general").code == "NotImplemented"


# Real requests of boto3


def client_of(endpoint: EmulatorEndpoint, **more: Any) -> Any:
    keys = {"aws_access_key_id": "AKIDEXPRESS", "aws_secret_access_key": "secret/of+express", **more}
    config = Config(retries={"total_max_attempts": 1}, proxies={})
    return boto3.client("s3", endpoint_url=endpoint.url, region_name="us-east-1", config=config, **keys)


SIGNED = EmulatorSettings(buckets=(BUCKET, PLAIN), access_key="AKIDEXPRESS", secret_key="secret/of+express")


@pytest.fixture
def signed(endpoint: EmulatorEndpoint) -> Iterator[Any]:
    endpoint.arm(SIGNED)
    client = client_of(endpoint)
    yield client
    client.close()
    endpoint.collect()


def test_boto3_signs_with_the_keys_of_a_session(signed: Any, endpoint: EmulatorEndpoint) -> None:
    signed.put_object(Bucket=BUCKET, Key="a b/ü+~", Body=b"x")
    assert signed.get_object(Bucket=BUCKET, Key="a b/ü+~")["Body"].read() == b"x"
    signed.put_object(Bucket=PLAIN, Key="k", Body=b"y")
    assert signed.head_bucket(Bucket=BUCKET)["BucketLocationName"] == "use1-az4"
    wrong = client_of(endpoint, aws_secret_access_key="wrong")
    with pytest.raises(ClientError, match=r"SignatureDoesNotMatch.*CreateSession"):
        wrong.get_object(Bucket=BUCKET, Key="a b/ü+~")
    wrong.close()
    requests = endpoint.drain(requests_max=100).requests
    assert sum(request.query == "session" for request in requests) >= 1


def test_boto3_without_sessions_signs_every_request_for_s3express(
    endpoint: EmulatorEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_S3_DISABLE_EXPRESS_SESSION_AUTH", "true")
    endpoint.arm(SIGNED)
    client = client_of(endpoint)
    location = {"Type": "AvailabilityZone", "Name": "use1-az5"}
    kind = {"Type": "Directory", "DataRedundancy": "SingleAvailabilityZone"}
    name = "made--use1-az5--x-s3"
    client.create_bucket(Bucket=name, CreateBucketConfiguration={"Location": location, "Bucket": kind})
    client.put_object(Bucket=name, Key="k", Body=b"x")
    assert client.get_object(Bucket=name, Key="k")["Body"].read() == b"x"
    assert {bucket["Name"] for bucket in client.list_directory_buckets()["Buckets"]} == {BUCKET, name}
    assert {bucket["Name"] for bucket in client.list_buckets()["Buckets"]} == {PLAIN}
    client.close()
    endpoint.collect()


def test_boto3_appends_renames_and_lists(signed: Any) -> None:
    signed.put_object(Bucket=BUCKET, Key="log", Body=b"one")
    assert signed.put_object(Bucket=BUCKET, Key="log", Body=b"two", WriteOffsetBytes=3)["Size"] == 6
    with pytest.raises(signed.exceptions.InvalidWriteOffset):
        signed.put_object(Bucket=BUCKET, Key="log", Body=b"two", WriteOffsetBytes=3)
    signed.rename_object(Bucket=BUCKET, Key="dir/a+b ü", RenameSource="log")
    with pytest.raises(ClientError, match="PreconditionFailed"):
        signed.rename_object(Bucket=BUCKET, Key="other", RenameSource="dir/a%2Bb%20%C3%BC", SourceIfMatch='"none"')
    signed.rename_object(Bucket=BUCKET, Key="other", RenameSource="dir/a%2Bb%20%C3%BC", DestinationIfNoneMatch="*")
    assert [entry["Key"] for entry in signed.list_objects_v2(Bucket=BUCKET)["Contents"]] == ["other"]
    signed.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": "other"}]})
    assert signed.list_objects_v2(Bucket=BUCKET)["KeyCount"] == 0


def test_boto3_sends_large_files_in_parts(signed: Any, tmp_path: Any) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(range(256)) * (9 * 4096))
    signed.upload_file(str(file), BUCKET, "big")
    signed.download_file(BUCKET, "big", str(tmp_path / "landed"))
    assert (tmp_path / "landed").read_bytes() == file.read_bytes()
    signed.copy_object(Bucket=BUCKET, Key="copy", CopySource={"Bucket": BUCKET, "Key": "big"})
    assert signed.head_object(Bucket=BUCKET, Key="copy")["ContentLength"] == file.stat().st_size
    signed.copy({"Bucket": BUCKET, "Key": "big"}, BUCKET, "copied in parts")
    assert signed.head_object(Bucket=BUCKET, Key="copied in parts")["ContentLength"] == file.stat().st_size


def test_boto3_makes_presigned_urls_with_a_session(signed: Any) -> None:
    signed.put_object(Bucket=BUCKET, Key="k", Body=b"presigned")
    url = signed.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "k"})
    assert "X-Amz-S3session-Token" in url
    assert fetched(url) == (200, b"presigned")
    assert fetched(url.replace("X-Amz-S3session-Token=", "X-Amz-S3session-Token=x"))[0] == 400


def fetched(url: str) -> tuple[int, bytes]:
    """Get a URL without a client that would change it."""
    place, _, target = url.removeprefix("http://").partition("/")
    host, _, port = place.partition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"GET /{target} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n".encode())
        reply = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = reply.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def test_boto3_without_keys_of_the_emulator_works_as_well(endpoint: EmulatorEndpoint) -> None:
    endpoint.arm(EmulatorSettings(buckets=(BUCKET,)))
    client = boto3_client(endpoint)
    client.put_object(Bucket=BUCKET, Key="k", Body=b"x")
    assert client.get_object(Bucket=BUCKET, Key="k")["Body"].read() == b"x"
    with pytest.raises(ClientError, match="NotImplemented"):
        client.get_object_tagging(Bucket=BUCKET, Key="k")
    client.close()
    endpoint.collect()
