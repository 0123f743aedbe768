"""The emulator beside recorded answers of Amazon S3.

The figures are those of the snapshot files of LocalStack's tests that were validated against AWS
(github.com/localstack/localstack at 8b9a79f05, tests/aws/services/s3/*.snapshot.json, Apache License 2.0). Each test
names the snapshots that it takes its figures from; the requests are ours. Where an answer is known to differ on
purpose, docs/s3-behaviour.md says so.
"""

import base64
import hashlib
import zlib
from dataclasses import dataclass

import pytest

from s3bench.s3.protocol.http import render_date
from tests.s3.emulator.asking import Answer, Asker

MIB = 1 << 20
FOREIGN_ID = "HPniJFCxqTsMuIH9KX8K8wEjNUgmABCD"  # a version id that S3 gave to somebody else
COPY = {"x-amz-copy-source": "bucket/k"}
TOLD = {"x-amz-checksum-mode": "ENABLED"}


@pytest.fixture
def s3() -> Asker:
    return Asker()


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error as it was recorded: status, code, and the details beside the message."""

    status: int
    code: str
    details: tuple[tuple[str, str], ...] = ()


def refused(status: int, code: str, **details: str) -> Refusal:
    return Refusal(status, code, tuple(sorted(details.items())))


def refusal_of(answer: Answer) -> Refusal:
    left_out = {"Code", "Message", "Resource", "RequestId", "UploadId"}
    details = sorted((node.tag, node.text or "") for node in answer.tree if node.tag not in left_out)
    return Refusal(answer.status, answer.code, tuple(details))


def crc32(body: bytes) -> str:
    return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()


def xml(name: str, *children: str) -> str:
    return f"<{name}>{''.join(children)}</{name}>"


def test_a_list_of_versions_goes_on_behind_a_version_that_was_deleted(s3: Asker) -> None:
    # TestS3ListObjectVersions::test_list_objects_versions_with_prefix_only_and_pagination
    versioning(s3, "Enabled")
    ids = [s3.ask("PUT", "k").headers["x-amz-version-id"] for _ in range(5)][::-1]
    for version_id in ids[:3]:
        assert s3.ask("DELETE", "k", query={"versionId": version_id}).status == 204
    for marker, left in ((ids[2], ids[3:]), (ids[0], ids[3:]), (ids[3], ids[4:]), (ids[4], []), ("null", [])):
        query = {"versions": "", "key-marker": "k", "version-id-marker": marker}
        page = s3.ask("GET", query=query)
        assert page.texts("Version/VersionId") == left
        assert page.texts("Version/IsLatest") == [str(version_id == ids[3]).lower() for version_id in left]


def test_lists_repeat_what_s3_repeats(s3: Asker) -> None:
    # TestS3ListMultipartUploads::test_list_multiparts_next_marker, ..._with_prefix_and_delimiter
    # TestS3ListObjectsV2::test_list_objects_v2_continuation_start_after
    for query, prefix in (({"uploads": ""}, []), ({"uploads": "", "prefix": "a"}, ["a"])):
        assert s3.ask("GET", query=query).texts("Prefix") == prefix
    for key in "abc":
        s3.ask("PUT", key)
    first = s3.ask("GET", query={"list-type": "2", "max-keys": "1", "start-after": "a"})
    assert first.texts("StartAfter") == ["a"]
    token = first.texts("NextContinuationToken")[0]
    rest = s3.ask("GET", query={"list-type": "2", "start-after": "c", "continuation-token": token})
    assert (rest.texts("StartAfter"), rest.texts("Contents/Key")) == ([], ["c"])


def test_a_copy_in_place_may_change_nothing_where_the_bucket_has_a_chosen_encryption(s3: Asker) -> None:
    # TestS3::test_copy_in_place_with_bucket_encryption
    s3.ask("PUT", "k")
    rule = xml("Rule", xml("ApplyServerSideEncryptionByDefault", xml("SSEAlgorithm", "AES256")))
    body = xml("ServerSideEncryptionConfiguration", rule).encode()
    assert s3.ask("PUT", "k", headers=COPY).code == "InvalidRequest"
    assert s3.ask("PUT", query={"encryption": ""}, body=body).status == 200
    assert s3.ask("PUT", "k", headers=COPY).status == 200
    assert s3.ask("DELETE", query={"encryption": ""}).status == 204
    assert s3.ask("PUT", "k", headers=COPY).code == "InvalidRequest"


def test_a_list_of_all_buckets_has_their_arns(s3: Asker) -> None:
    # TestS3::test_delete_bucket_with_content, TestS3ListBuckets::test_list_buckets_with_max_buckets
    for query, regions in (({}, []), ({"max-buckets": "1"}, ["us-east-1"])):
        listed = s3.ask("GET", bucket="", query=query)
        assert listed.texts("Buckets/Bucket/BucketArn") == ["arn:aws:s3:::bucket"]
        assert listed.texts("Buckets/Bucket/BucketRegion") == regions


def test_a_new_bucket_cannot_have_a_system_tag(s3: Asker) -> None:
    # TestS3BucketObjectTagging::test_create_bucket_with_tags_exc
    tag = xml("Tags", xml("Tag", xml("Key", "aws:tag"), xml("Value", "v")))
    answer = s3.ask("PUT", bucket="tagged", body=xml("CreateBucketConfiguration", tag).encode())
    assert refusal_of(answer) == refused(400, "InvalidTag")
    assert answer.texts("Message")[0].startswith('User-defined tag keys can\'t start with "aws:".')


def test_of_several_conditions_that_s3_does_not_take_the_first_by_name_is_told(s3: Asker) -> None:
    # TestS3DeletePrecondition::test_delete_object_if_match_all_non_express
    headers = {"x-amz-if-match-size": "1", "x-amz-if-match-last-modified-time": "x", "if-match": "y"}
    told = refused(501, "NotImplemented", Header="x-amz-if-match-last-modified-time")
    assert refusal_of(s3.ask("DELETE", "k", headers=headers)) == told


def versioning(s3: Asker, status: str) -> Answer:
    body = xml("VersioningConfiguration", xml("Status", status)).encode()
    return s3.ask("PUT", query={"versioning": ""}, body=body)


def begin(s3: Asker, key: str = "m", **headers: str) -> str:
    named = {f"x-amz-{name.replace('_', '-')}": value for name, value in headers.items()}
    return s3.ask("POST", key, query={"uploads": ""}, headers=named).texts("UploadId")[0]


def part(s3: Asker, upload: str, body: bytes, number: int = 1, *, headers: dict[str, str] | None = None) -> Answer:
    return s3.ask("PUT", "m", query={"uploadId": upload, "partNumber": str(number)}, body=body, headers=headers)


def complete(
    s3: Asker, upload: str, *etags: str, headers: dict[str, str] | None = None, more: str = "", numbers: str = "123"
) -> Answer:
    named = (xml("PartNumber", number) + xml("ETag", etag) + more for number, etag in zip(numbers, etags, strict=False))
    body = xml("CompleteMultipartUpload", *(xml("Part", each) for each in named)).encode()
    return s3.ask("POST", "m", query={"uploadId": upload}, body=body, headers=headers)


def delete_many(s3: Asker, *objects: str) -> Answer:
    body = xml("Delete", *(xml("Object", each) for each in objects)).encode()
    md5 = base64.b64encode(hashlib.md5(body).digest()).decode()
    return s3.ask("POST", query={"delete": ""}, body=body, headers={"content-md5": md5})


def http_date(s3: Asker, offset_s: int) -> str:
    """The emulator's time and `offset_s` more."""
    return render_date(s3.now_s + offset_s)


# Conditions.


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("if-match", '"wrong"', 412),
        ("if-unmodified-since", -1, 412),
        ("if-none-match", '"8d777f385d3dfec8815d20f7496026dc"', 304),
        ("if-none-match", "8d777f385d3dfec8815d20f7496026dc", 304),
        ("if-modified-since", 60, 200),
        ("if-modified-since", 0, 304),
        ("if-unmodified-since", 0, 200),
    ],
)
def test_conditions_of_reads(s3: Asker, method: str, name: str, value: str | int, status: int) -> None:
    # TestS3::test_s3_get_object_preconditions[get_object], [head_object]
    s3.ask("PUT", "k", body=b"data")
    header = value if isinstance(value, str) else http_date(s3, value)
    assert s3.ask(method, "k", headers={name: header}).status == status


@pytest.mark.parametrize(
    ("name", "value", "condition"),
    [
        ("if-match", '"wrong"', "x-amz-copy-source-If-Match"),
        ("if-unmodified-since", -1, "x-amz-copy-source-If-Unmodified-Since"),
        ("if-none-match", "8d777f385d3dfec8815d20f7496026dc", "x-amz-copy-source-If-None-Match"),
        ("if-modified-since", 0, "x-amz-copy-source-If-Modified-Since"),
        ("if-modified-since", 60, ""),
    ],
)
def test_conditions_of_sources(s3: Asker, name: str, value: str | int, condition: str) -> None:
    # TestS3CopySourcePreconditions::test_s3_copy_object_preconditions, TestS3Multipart::test_upload_part_copy_with_*
    s3.ask("PUT", "k", body=b"data")
    header = value if isinstance(value, str) else http_date(s3, value)
    headers = {**COPY, f"x-amz-copy-source-{name}": header}
    for query in ({}, {"uploadId": begin(s3), "partNumber": "1"}):
        answer = s3.ask("PUT", "m", headers=headers, query=query)
        if condition:
            assert refusal_of(answer) == refused(412, "PreconditionFailed", Condition=condition)
        else:
            assert answer.status == 200


@pytest.mark.parametrize("source", [{}, COPY])
@pytest.mark.parametrize(
    ("headers", "name", "more"),
    [
        (
            {"if-none-match": '"e"'},
            "If-None-Match",
            "We don't accept the provided value of If-None-Match header for this API",
        ),
        ({"if-match": "*"}, "If-Match", "We don't accept the provided value of If-Match header for this API"),
        (
            {"if-match": '"e"', "if-none-match": "*"},
            "If-Match,If-None-Match",
            "Multiple conditional request headers present in the request",
        ),
    ],
)
def test_conditions_that_a_write_does_not_take(
    s3: Asker, headers: dict[str, str], name: str, more: str, source: dict[str, str]
) -> None:
    # TestS3ObjectWritePrecondition::test_put_object_if_none_match_validation, test_put_object_if_match_validation,
    # test_put_object_if_match_and_if_none_match_validation, test_copy_object_precondition_write_validation
    s3.ask("PUT", "k", body=b"x")
    answer = s3.ask("PUT", "new", headers={**headers, **source})
    assert refusal_of(answer) == refused(501, "NotImplemented", Header=name, additionalMessage=more)


def test_if_match_of_a_key_that_is_not_there(s3: Asker) -> None:
    # TestS3ObjectWritePrecondition::test_put_object_if_match_validation: put-obj-if-match-bad-value
    assert refusal_of(s3.ask("PUT", "k", headers={"if-match": "x"})) == refused(404, "NoSuchKey", Key="k")


def test_a_write_in_between_is_a_conflict_for_if_none_match(s3: Asker) -> None:
    # TestS3ObjectWritePrecondition::test_multipart_if_none_match_with_delete, test_multipart_if_none_match_with_put
    s3.ask("PUT", "m")
    upload = begin(s3)
    etag = part(s3, upload, b"x").headers["etag"]
    absent = {"if-none-match": "*"}
    failed = refused(412, "PreconditionFailed", Condition="If-None-Match")
    conflict = refused(409, "ConditionalRequestConflict", Condition="If-None-Match", Key="m")
    assert refusal_of(complete(s3, upload, etag, headers=absent)) == failed
    s3.ask("DELETE", "m")
    assert refusal_of(complete(s3, upload, etag, headers=absent)) == conflict
    upload = begin(s3)
    part(s3, upload, b"x")
    assert complete(s3, upload, etag, headers=absent).status == 200
    s3.ask("DELETE", "m")
    upload = begin(s3)
    part(s3, upload, b"x")
    s3.ask("PUT", "m")
    assert refusal_of(complete(s3, upload, etag, headers=absent)) == failed


@pytest.mark.parametrize("during", [b"other", b"test"])
def test_a_write_in_between_is_a_conflict_for_if_match(s3: Asker, during: bytes) -> None:
    # TestS3ObjectWritePrecondition::test_multipart_if_match_with_put, test_multipart_if_match_with_put_identical
    before = s3.ask("PUT", "m", body=b"test").headers["etag"]
    upload = begin(s3)
    etag = part(s3, upload, b"x").headers["etag"]
    now = s3.ask("PUT", "m", body=during).headers["etag"]
    if now != before:
        failed = complete(s3, upload, etag, headers={"if-match": before})
        assert refusal_of(failed) == refused(412, "PreconditionFailed", Condition="If-Match")
    conflict = refused(409, "ConditionalRequestConflict", Condition="If-Match", Key="m")
    assert refusal_of(complete(s3, upload, etag, headers={"if-match": now})) == conflict
    upload = begin(s3)
    part(s3, upload, b"x")
    assert complete(s3, upload, etag, headers={"if-match": now}).status == 200


def test_a_delete_in_between_is_no_such_key_and_then_a_conflict(s3: Asker) -> None:
    # TestS3ObjectWritePrecondition::test_multipart_if_match_with_delete
    held = {"if-match": s3.ask("PUT", "m", body=b"test").headers["etag"]}
    upload = begin(s3)
    etag = part(s3, upload, b"x").headers["etag"]
    s3.ask("DELETE", "m")
    assert refusal_of(complete(s3, upload, etag, headers=held)) == refused(404, "NoSuchKey", Key="m")
    s3.ask("PUT", "m", body=b"test")
    assert complete(s3, upload, etag, headers=held).code == "ConditionalRequestConflict"
    assert complete(s3, upload, etag).status == 200, "without a condition nothing is in conflict"


@pytest.mark.parametrize(
    ("header", "refusal"),
    [
        (
            "x-amz-if-match-last-modified-time",
            refused(501, "NotImplemented", Header="x-amz-if-match-last-modified-time"),
        ),
        ("x-amz-if-match-size", refused(501, "NotImplemented", Header="x-amz-if-match-size")),
        (
            "x-amz-bypass-governance-retention",
            refused(400, "InvalidArgument", ArgumentName="x-amz-bypass-governance-retention"),
        ),
    ],
)
def test_what_a_delete_does_not_take(s3: Asker, header: str, refusal: Refusal) -> None:
    # TestS3DeletePrecondition::test_delete_object_if_match_*_non_express,
    # TestS3ObjectLock::test_delete_object_with_no_locking
    assert refusal_of(s3.ask("DELETE", "k", headers={header: "1"})) == refusal


# Multipart uploads.


def test_an_unknown_upload_goes_before_what_the_request_lacks(s3: Asker) -> None:
    # TestS3::test_multipart_no_such_upload, test_multipart_complete_multipart_too_small: complete-exc-no-parts
    assert s3.ask("POST", "m", query={"uploadId": "fakeid"}).code == "NoSuchUpload"
    answer = s3.ask("POST", "m", query={"uploadId": begin(s3)})
    assert (answer.status, answer.code) == (400, "InvalidRequest")
    assert answer.texts("Message") == ["You must specify at least one part"]


def test_parts_that_are_not_there(s3: Asker) -> None:
    # TestS3::test_multipart_complete_multipart_wrong_part, test_multipart_complete_multipart_too_small,
    # test_complete_multipart_parts_order
    upload = begin(s3)
    etag = "8d777f385d3dfec8815d20f7496026dc"
    assert part(s3, upload, b"data").headers["etag"] == f'"{etag}"'
    part(s3, upload, b"data", 3)
    missing = complete(s3, upload, f'"{etag}"', numbers="2")
    assert refusal_of(missing) == refused(400, "InvalidPart", PartNumber="2", ETag=etag)
    wrong = complete(s3, upload, "d41d8cd98f00b204e9800998ecf8427e")
    assert refusal_of(wrong) == refused(400, "InvalidPart", PartNumber="1", ETag="d41d8cd98f00b204e9800998ecf8427e")
    small = complete(s3, upload, etag, etag, numbers="13")
    sizes = {"ProposedSize": "4", "MinSizeAllowed": "5242880", "PartNumber": "1", "ETag": etag}
    assert refusal_of(small) == refused(400, "EntityTooSmall", **sizes)
    assert complete(s3, upload, etag, etag, numbers="31").code == "InvalidPartOrder"


def test_a_part_tells_the_checksum_it_came_with_and_the_list_does_not(s3: Asker) -> None:
    # TestS3MultipartUploadChecksum::test_complete_multipart_parts_checksum_default
    upload = begin(s3)
    sent = {"x-amz-checksum-crc32c": "45fn2Q=="}
    answer = part(s3, upload, b"aaa", headers=sent)
    assert (answer.headers["etag"], answer.headers["x-amz-checksum-crc32c"]) == (
        '"47bce5c74f589f4867dbd57e9ca9f808"',
        "45fn2Q==",
    )
    listed = s3.ask("GET", "m", query={"uploadId": upload})
    assert (listed.texts("ChecksumAlgorithm"), listed.texts("Part/ChecksumCRC32C")) == ([], [])
    etag = "47bce5c74f589f4867dbd57e9ca9f808"
    claimed = complete(s3, upload, etag, more=xml("ChecksumCRC32C", "45fn2Q=="))
    assert refusal_of(claimed) == refused(400, "InvalidPart", PartNumber="1", ETag=etag)
    for kind in ("FULL_OBJECT", "COMPOSITE"):
        typed = complete(s3, upload, etag, headers={"x-amz-checksum-type": kind})
        assert typed.texts("Message") == [
            "The upload was created using the null checksum mode. The complete request must use the same checksum mode."
        ]
    made = complete(s3, upload, etag)
    assert made.texts("ETag") == ['"e2c3da976e66ec9e7dc128fbc782fc91-1"']
    assert (made.texts("ChecksumCRC64NVME"), made.texts("ChecksumType")) == (["Rnr2/5P7Gsk="], ["FULL_OBJECT"])


def test_checksums_of_other_algorithms_are_wrong(s3: Asker) -> None:
    # TestS3MultipartUploadChecksum::test_multipart_parts_checksum_exceptions_composite, ..._full_object
    composite = begin(s3, checksum_algorithm="CRC32", checksum_type="COMPOSITE")
    etag = part(s3, composite, b"abc", headers={"x-amz-checksum-crc32": "NSRBwg=="}).headers["etag"]
    other = complete(s3, composite, etag, more=xml("ChecksumSHA256", base64.b64encode(bytes(32)).decode()))
    assert (other.code, other.texts("Message")) == (
        "BadDigest",
        ["The sha256 you specified for part 1 did not match what we received."],
    )
    whole = begin(s3, checksum_algorithm="CRC32C", checksum_type="FULL_OBJECT")
    part(s3, whole, b"abc", headers={"x-amz-checksum-crc32c": "Nks/tw=="})
    for name, value in (("crc32c", "AAAAAA=="), ("crc32", "NSRBwg==")):
        bad = complete(s3, whole, etag, headers={f"x-amz-checksum-{name}": value})
        assert (bad.code, bad.texts("Message")) == (
            "BadDigest",
            ["The crc32c you specified did not match the calculated checksum."],
        )
    assert complete(s3, whole, etag, headers={"x-amz-checksum-crc32c": "Nks/tw=="}).status == 200


def test_reads_of_a_part_tell_its_checksum_and_the_type_of_the_whole(s3: Asker) -> None:
    # TestS3::test_get_object_part_checksum[COMPOSITE], [FULL_OBJECT]
    for kind in ("COMPOSITE", "FULL_OBJECT"):
        upload = begin(s3, checksum_algorithm="CRC32C", checksum_type=kind)
        sent = {"x-amz-checksum-crc32c": "fwuu0Q=="}
        etag = part(s3, upload, b"test content 123", headers=sent).headers["etag"]
        assert complete(s3, upload, etag, more=xml("ChecksumCRC32C", "fwuu0Q==")).status == 200
        read = s3.ask("GET", "m", query={"partNumber": "1"}, headers=TOLD)
        assert (read.status, read.headers["content-range"]) == (206, "bytes 0-15/16")
        assert (read.headers["x-amz-checksum-crc32c"], read.headers["x-amz-checksum-type"]) == ("fwuu0Q==", kind)


def test_part_1_of_a_plain_object_is_the_whole(s3: Asker) -> None:
    # TestS3::test_get_object_part: get-obj-no-multipart, part-no-multipart
    s3.ask("PUT", "k", body=b"test-123", headers={"x-amz-checksum-crc32": "MAPXAg=="})
    read = s3.ask("GET", "k", query={"partNumber": "1"}, headers=TOLD)
    assert (read.status, read.headers["content-range"]) == (206, "bytes 0-7/8")
    assert read.headers["x-amz-checksum-crc32"] == "MAPXAg=="
    counts = {"ActualPartCount": "1", "PartNumberRequested": "2"}
    assert refusal_of(s3.ask("GET", "k", query={"partNumber": "2"})) == refused(416, "InvalidPartNumber", **counts)


@pytest.mark.parametrize(
    ("header", "refusal"),
    [
        ("0-8", "InvalidArgument"),
        ("bytes=1-0", "InvalidArgument"),
        ("bytes=-1-", "InvalidArgument"),
        ("bytes=0--1", "InvalidArgument"),
        ("bytes=0-1,3-4,7-9", "InvalidArgument"),
        ("bytes=-", "InvalidArgument"),
        ("bytes=-0", "InvalidArgument"),
        ("bytes=0-100", "InvalidArgument"),
        ("bytes=100-200", "InvalidRequest"),
        ("bytes=20-100", "InvalidRequest"),
        (f"bytes=0-{'9' * 5000}", "InvalidArgument"),
        ("bytes=1-", "InvalidArgument"),
        ("bytes=-2", "InvalidArgument"),
        ("bytes=-15", "InvalidArgument"),
    ],
)
def test_ranges_of_copied_parts(s3: Asker, header: str, refusal: str) -> None:
    # TestS3Multipart::test_upload_part_copy_range
    s3.ask("PUT", "k", body=b"0123456789")
    query = {"uploadId": begin(s3), "partNumber": "1"}
    answer = s3.ask("PUT", "m", query=query, headers={**COPY, "x-amz-copy-source-range": header})
    assert (answer.status, answer.code) == (400, refusal)


def test_the_location_of_a_completed_upload_is_encoded(s3: Asker) -> None:
    # TestS3::test_multipart_with_unicode_character_location
    key = "test-unicode_\u2014_file"
    upload = begin(s3, key)
    etag = s3.ask("PUT", key, query={"uploadId": upload, "partNumber": "1"}, body=b"x").headers["etag"]
    document = xml("CompleteMultipartUpload", xml("Part", xml("PartNumber", "1"), xml("ETag", etag))).encode()
    made = s3.ask("POST", key, query={"uploadId": upload}, body=document)
    assert made.texts("Location")[0].endswith("/test-unicode_%E2%80%94_file")


# Lists.


def test_next_markers_of_uploads_are_on_every_page(s3: Asker) -> None:
    # TestS3ListMultipartUploads::test_list_multiparts_next_marker
    def page(**query: str) -> tuple[str, str, str, list[str]]:
        named = {name.replace("_", "-"): value for name, value in query.items()}
        answer = s3.ask("GET", query={"uploads": "", **named})
        (more,), (key,), (upload,) = (
            answer.texts(name) for name in ("IsTruncated", "NextKeyMarker", "NextUploadIdMarker")
        )
        return more, key, upload, answer.texts("Upload/UploadId")

    assert page() == ("false", "", "", [])
    first, second, third = (begin(s3, "a") for _ in range(3))
    middle, last = begin(s3, "b"), begin(s3, "c")
    assert page() == ("false", "c", last, [first, second, third, middle, last])
    assert page(max_uploads="1") == ("true", "a", first, [first])
    assert page(max_uploads="1", key_marker="a") == ("true", "b", middle, [middle])
    assert page(max_uploads="1", key_marker="c") == ("false", "", "", [])
    assert page(max_uploads="1", upload_id_marker=second) == ("true", "a", first, [first])
    assert page(max_uploads="1", key_marker="a", upload_id_marker=first) == ("true", "a", second, [second])
    assert page(max_uploads="1", key_marker="b", upload_id_marker=middle) == ("false", "c", last, [last])
    wrong = s3.ask("GET", query={"uploads": "", "key-marker": "a", "upload-id-marker": middle})
    argument = {"ArgumentName": "upload-id-marker", "ArgumentValue": middle}
    assert refusal_of(wrong) == refused(400, "InvalidArgument", **argument)


def test_a_page_of_uploads_that_ends_with_a_prefix_has_empty_markers(s3: Asker) -> None:
    # TestS3ListMultipartUploads::test_list_multipart_uploads_marker_common_prefixes
    for name in ("aSubfolder/subFile1", "aSubfolder/subFile2", "file1", "file2"):
        begin(s3, f"folder/{name}")
    query = {"uploads": "", "prefix": "folder/", "delimiter": "/", "max-uploads": "1"}
    first = s3.ask("GET", query=query)
    assert first.texts("CommonPrefixes/Prefix") == ["folder/aSubfolder/"]
    assert (first.texts("IsTruncated"), first.texts("NextKeyMarker"), first.texts("NextUploadIdMarker")) == (
        ["true"],
        [""],
        [""],
    )
    for marker in ("folder/aSubfolder/", "folder/aSubfolder/subFile1"):
        following = s3.ask("GET", query={**query, "key-marker": marker})
        assert (following.texts("Upload/Key"), following.texts("NextKeyMarker")) == (["folder/file1"], ["folder/file1"])


@pytest.mark.parametrize(
    ("query", "marker", "keys"),
    [({}, "marker", "Contents/Key"), ({"versions": ""}, "key-marker", "Version/Key")],
)
def test_a_marker_inside_a_group_skips_the_group(s3: Asker, query: dict[str, str], marker: str, keys: str) -> None:
    # TestS3ListObjects::test_list_objects_marker_common_prefixes: list-objects-manual-first-file,
    # TestS3ListObjectVersions::test_list_object_versions_pagination_common_prefixes
    for name in ("aSubfolder/subFile1", "aSubfolder/subFile2", "file1", "file2"):
        s3.ask("PUT", f"folder/{name}")
    asked = {**query, "prefix": "folder/", "delimiter": "/", "max-keys": "1", marker: "folder/aSubfolder/subFile1"}
    assert s3.ask("GET", query=asked).texts(keys) == ["folder/file1"]


@pytest.mark.parametrize("query", [{"list-type": "2"}, {}, {"versions": ""}, {"uploads": ""}])
@pytest.mark.parametrize("value", ["value", ""])
def test_the_one_encoding_is_url(s3: Asker, query: dict[str, str], value: str) -> None:
    # TestS3ListObjectsV2::test_list_ops_encoding_type_validation[*]
    answer = s3.ask("GET", query={**query, "encoding-type": value})
    expected = refused(400, "InvalidArgument", ArgumentName="encoding-type", ArgumentValue=value)
    assert refusal_of(answer) == expected


def test_a_version_marker_needs_a_key_marker(s3: Asker) -> None:
    # TestS3ListObjectVersions::test_list_objects_versions_markers: list-objects-next-version-only
    answer = s3.ask("GET", query={"versions": "", "version-id-marker": "x"})
    expected = refused(400, "InvalidArgument", ArgumentName="version-id-marker", ArgumentValue="x")
    assert refusal_of(answer) == expected


def test_part_markers_beyond_the_last_part(s3: Asker) -> None:
    # TestS3ListParts::test_list_parts_pagination, test_list_parts_via_object_attrs_pagination
    upload = begin(s3)
    sent = s3.ask("GET", "m", query={"uploadId": upload})
    assert sent.texts("NextPartNumberMarker") == ["0"]
    part(s3, upload, b"data")
    beyond = s3.ask("GET", "m", query={"uploadId": upload, "max-parts": "1", "part-number-marker": "10"})
    assert (beyond.texts("PartNumberMarker"), beyond.texts("NextPartNumberMarker")) == (["10"], ["0"])
    for name in ("part-number-marker", "max-parts"):  # TestS3ListParts::test_list_parts_empty_part_number_marker
        assert s3.ask("GET", "m", query={"uploadId": upload, name: ""}).texts("Part/Size") == ["4"]


def test_buckets_are_listed_with_arn_and_by_region() -> None:
    # TestS3ListBuckets::test_list_buckets_by_bucket_region, test_list_buckets_region_validation
    s3 = Asker(buckets=("a-bucket",))
    listed = s3.ask("GET", bucket="", query={"bucket-region": "us-east-1"})
    assert listed.texts("Buckets/Bucket/BucketArn") == ["arn:aws:s3:::a-bucket"]
    assert s3.ask("GET", bucket="", query={"bucket-region": "eu-west-1"}).texts("Buckets/Bucket/Name") == []
    wrong = s3.ask("GET", bucket="", query={"bucket-region": "not a region"})
    assert refusal_of(wrong) == refused(400, "InvalidArgument", ArgumentName="bucket-region")


# Versions.


def test_writes_under_suspended_versioning_tell_no_version_and_copies_do(s3: Asker) -> None:
    # TestS3ObjectCRUD::test_put_object_on_suspended_bucket, test_delete_object_on_suspended_bucket,
    # TestS3::test_s3_copy_object_in_place_suspended_only
    versioning(s3, "Enabled")
    assert "x-amz-version-id" in s3.ask("PUT", "k", body=b"x").headers
    versioning(s3, "Suspended")
    assert "x-amz-version-id" not in s3.ask("PUT", "k", body=b"x").headers
    assert s3.ask("GET", "k").headers["x-amz-version-id"] == "null"
    copied = s3.ask("PUT", "k", headers={**COPY, "x-amz-metadata-directive": "REPLACE"})
    assert copied.headers["x-amz-version-id"] == "null"
    assert "x-amz-copy-source-version-id" not in copied.headers
    deleted = s3.ask("DELETE", "k")
    assert (deleted.headers["x-amz-delete-marker"], deleted.headers["x-amz-version-id"]) == ("true", "null")


def test_a_bucket_without_versioning_knows_the_null_version_alone(s3: Asker) -> None:
    # TestS3ObjectCRUD::test_get_object_with_version_unversioned_bucket, test_delete_object, test_delete_objects
    s3.ask("PUT", "k", body=b"x")
    argument = {"ArgumentName": "versionId", "ArgumentValue": FOREIGN_ID}
    for method in ("GET", "DELETE"):
        answer = s3.ask(method, "k", query={"versionId": FOREIGN_ID})
        assert refusal_of(answer) == refused(400, "InvalidArgument", **argument)
    null = s3.ask("GET", "k", query={"versionId": "null"})
    assert (null.status, "x-amz-version-id" in null.headers) == (200, False)
    many = delete_many(s3, xml("Key", "k") + xml("VersionId", FOREIGN_ID))
    assert (many.texts("Error/Code"), many.texts("Error/VersionId")) == (["NoSuchVersion"], [FOREIGN_ID])


def test_versions_that_are_gone_or_of_somebody_else(s3: Asker) -> None:
    # TestS3ObjectCRUD::test_delete_object_versioned, test_delete_objects_versioned
    versioning(s3, "Enabled")
    version = s3.ask("PUT", "k", body=b"x").headers["x-amz-version-id"]
    marker = s3.ask("DELETE", "k").headers["x-amz-version-id"]
    named = s3.ask("GET", "k", query={"versionId": marker})
    assert refusal_of(named) == refused(405, "MethodNotAllowed", Method="GET", ResourceType="DeleteMarker")
    assert s3.ask("DELETE", "k", query={"versionId": version}).headers["x-amz-version-id"] == version
    gone = s3.ask("GET", "k", query={"versionId": version})
    assert refusal_of(gone) == refused(404, "NoSuchVersion", Key="k", VersionId=version)
    assert s3.ask("DELETE", "k", query={"versionId": FOREIGN_ID}).code == "InvalidArgument"
    many = delete_many(s3, *(xml("Key", key) + xml("VersionId", FOREIGN_ID) for key in ("k", "wrong-key")))
    assert many.texts("Error/Code") == ["NoSuchVersion", "NoSuchVersion"]


def test_a_versioning_document_without_a_status(s3: Asker) -> None:
    # TestS3BucketVersioning::test_bucket_versioning_crud
    empty = s3.ask("PUT", query={"versioning": ""}, body=b"<VersioningConfiguration/>")
    assert (empty.status, empty.code) == (400, "IllegalVersioningConfigurationException")
    assert [versioning(s3, status).code for status in ("enabled", "Disabled")] == ["MalformedXML", "MalformedXML"]


# Tags.


@pytest.mark.parametrize("body", ["<Tagging/>", "<Tagging><TagSet/></Tagging>"])
def test_a_set_of_no_tags_is_valid(s3: Asker, body: str) -> None:
    # TestS3BucketObjectTagging::test_put_object_tagging_none_value, test_put_bucket_tagging_none_value
    s3.ask("PUT", "k", headers={"x-amz-tagging": "a=b"})
    assert s3.ask("PUT", "k", query={"tagging": ""}, body=body.encode()).status == 200
    assert s3.ask("GET", "k", query={"tagging": ""}).texts("TagSet/Tag") == []
    assert s3.ask("PUT", query={"tagging": ""}, body=body.encode()).status == 204
    assert s3.ask("GET", query={"tagging": ""}).code == "NoSuchTagSet"


@pytest.mark.parametrize(
    ("tags", "details"),
    [
        ((("Key1", "a"), ("Key1", "b")), {"TagKey": "Key1"}),
        ((("Key1,Key2", "a"),), {"TagKey": "Key1,Key2"}),
        ((("Key1", "Val1,Val2"),), {"TagKey": "Key1", "TagValue": "Val1,Val2"}),
        ((("aws:prefixed", "a"),), {"TagKey": "aws:prefixed"}),
    ],
)
@pytest.mark.parametrize("key", ["", "k"])
def test_tags_that_are_refused(s3: Asker, key: str, tags: tuple[tuple[str, str], ...], details: dict[str, str]) -> None:
    # TestS3BucketObjectTagging::test_tagging_validation
    s3.ask("PUT", "k")
    body = xml("Tagging", xml("TagSet", *(xml("Tag", xml("Key", name), xml("Value", value)) for name, value in tags)))
    answer = s3.ask("PUT", key, query={"tagging": ""}, body=body.encode())
    assert refusal_of(answer) == refused(400, "InvalidTag", **details)


@pytest.mark.parametrize("value", ["key1=val1&key1=val2", "key1=val1,key2=val2"])
def test_tags_in_a_header_that_are_no_query(s3: Asker, value: str) -> None:
    # TestS3BucketObjectTagging::test_object_tagging_exc
    answer = s3.ask("PUT", "k", headers={"x-amz-tagging": value})
    expected = refused(400, "InvalidArgument", ArgumentName="x-amz-tagging", ArgumentValue=value)
    assert refusal_of(answer) == expected


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_delete_marker_has_no_tags(s3: Asker, method: str) -> None:
    # TestS3BucketObjectTagging::test_object_tagging_versioned
    versioning(s3, "Enabled")
    marker = s3.ask("DELETE", "k").headers["x-amz-version-id"]
    body = b"<Tagging><TagSet/></Tagging>" if method == "PUT" else b""
    for query in ({}, {"versionId": marker}):
        answer = s3.ask(method, "k", query={"tagging": "", **query}, body=body)
        assert refusal_of(answer) == refused(405, "MethodNotAllowed", Method=method, ResourceType="DeleteMarker")


def test_a_new_bucket_has_the_tags_it_was_made_with(s3: Asker) -> None:
    # TestS3BucketObjectTagging::test_create_bucket_with_tags_us_east_1_idempotency, test_create_bucket_with_tags_exc
    def create(*tags: tuple[str, str]) -> Answer:
        said = xml("Tags", *(xml("Tag", xml("Key", key), xml("Value", value)) for key, value in tags))
        return s3.ask("PUT", bucket="new", body=xml("CreateBucketConfiguration", said).encode())

    made = create(("tag1", "value1"))
    assert (made.headers["location"], made.headers["x-amz-bucket-arn"]) == ("/new", "arn:aws:s3:::new")
    taken = refused(409, "BucketAlreadyOwnedByYou", BucketName="new")
    assert refusal_of(create(("tag1", "other"))) == refusal_of(create(("tag1", "value1"))) == taken
    assert create().status == s3.ask("PUT", bucket="new").status == 200
    assert s3.ask("GET", bucket="new", query={"tagging": ""}).texts("TagSet/Tag/Value") == ["value1"]
    assert create(("test,test2", "x")).code == "InvalidTag"


# Buckets.


@pytest.mark.parametrize(
    ("region", "constraint", "code"),
    [
        ("us-east-1", "us-east-1", "InvalidLocationConstraint"),
        ("us-east-1", "foo", "InvalidLocationConstraint"),
        ("us-east-2", "", "IllegalLocationConstraintException"),
        ("us-east-2", "us-west-1", "IllegalLocationConstraintException"),
        ("us-west-1", "us-east-1", "IllegalLocationConstraintException"),
        ("eu-west-1", "bar", "IllegalLocationConstraintException"),
    ],
)
def test_constraints_that_a_region_refuses(region: str, constraint: str, code: str) -> None:
    # TestS3::test_different_location_constraint, test_create_bucket_with_invalid_location_constraint[*]
    body = xml("CreateBucketConfiguration", xml("LocationConstraint", constraint)).encode() if constraint else b""
    answer = Asker(region=region).ask("PUT", bucket="new", body=body)
    assert (answer.status, answer.code) == (400, code)


def test_head_of_a_bucket(s3: Asker) -> None:
    # TestS3::test_create_bucket_head_bucket
    headers = s3.ask("HEAD").headers
    told = {name: headers[name] for name in headers if name.startswith("x-amz-") and name != "x-amz-request-id"}
    assert told == {
        "x-amz-access-point-alias": "false",
        "x-amz-bucket-arn": "arn:aws:s3:::bucket",
        "x-amz-bucket-region": "us-east-1",
    }


# Objects.


@pytest.mark.parametrize(
    ("header", "status", "told"),
    [
        ("bytes=0-8", 206, False),
        ("bytes=1-", 206, False),
        ("bytes=-9", 206, False),
        ("bytes=-15", 206, True),
        ("bytes=0-100", 206, True),
        ("bytes=1-0", 200, True),
        ("bytes=-1-", 200, True),
        ("bytes=0--1", 200, True),
        ("bytes=0-1,3-4", 200, True),
        ("0-8", 200, True),
        ("bytes=-", 200, True),
        ("bytes=-0", 416, False),
        ("bytes=100-200", 416, False),
    ],
)
def test_a_range_that_is_everything_tells_the_checksum(s3: Asker, header: str, status: int, told: bool) -> None:
    # TestS3ObjectCRUD::test_get_object_range
    s3.ask("PUT", "k", body=b"0123456789", headers={"x-amz-checksum-crc32": "poTHxg=="})
    answer = s3.ask("GET", "k", headers={**TOLD, "range": header})
    assert answer.status == status
    assert answer.headers.get("x-amz-checksum-crc32") == ("poTHxg==" if told else None)


@pytest.mark.parametrize("storage_class", ["GLACIER", "DEEP_ARCHIVE"])
def test_archived_objects_cannot_be_read(s3: Asker, storage_class: str) -> None:
    # TestS3::test_put_object_storage_class[GLACIER-False], [DEEP_ARCHIVE-False]
    s3.ask("PUT", "k", body=b"body-test", headers={"x-amz-storage-class": storage_class})
    expected = refused(403, "InvalidObjectState", StorageClass=storage_class)
    assert refusal_of(s3.ask("GET", "k")) == expected
    assert s3.ask("HEAD", "k").headers["x-amz-storage-class"] == storage_class
    query, wanted = {"attributes": ""}, {"x-amz-object-attributes": "StorageClass"}
    assert s3.ask("GET", "k", query=query, headers=wanted).texts("StorageClass") == [storage_class]
    assert refusal_of(s3.ask("PUT", "c", headers=COPY)) == expected


def test_a_copy_takes_its_redirect_from_the_request(s3: Asker) -> None:
    # TestS3::test_s3_copy_object_in_place_website_redirect_location
    name = "x-amz-website-redirect-location"
    s3.ask("PUT", "k", headers={name: "/old", "cache-control": "no-cache"})
    assert s3.ask("PUT", "k", headers={**COPY, name: "/test/direct"}).status == 200
    head = s3.ask("HEAD", "k").headers
    assert (head[name], head["cache-control"]) == ("/test/direct", "no-cache")
    s3.ask("PUT", "c", headers=COPY)
    assert name not in s3.ask("HEAD", "c").headers


def test_a_source_that_names_no_key(s3: Asker) -> None:
    # TestS3::test_s3_copy_object_wrong_format
    argument = {"ArgumentName": "x-amz-copy-source", "ArgumentValue": "x-amz-copy-source"}
    assert refusal_of(s3.ask("PUT", "k", headers={"x-amz-copy-source": "bucket"})) == refused(
        400, "InvalidArgument", **argument
    )


@pytest.mark.parametrize("md5", ["__invalid__", "000", "not base64 encoded checksum", "MTIz", "dGVzdC1zdHJpbmc="])
def test_a_content_md5_that_is_none(s3: Asker, md5: str) -> None:
    # TestS3::test_s3_invalid_content_md5
    expected = Refusal(400, "InvalidDigest", (("Content-MD5", md5),))
    assert refusal_of(s3.ask("PUT", "k", body=b"x", headers={"content-md5": md5})) == expected
    assert refusal_of(part(s3, begin(s3), b"x", headers={"content-md5": md5})) == expected


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        # TestS3PutObjectChecksum::test_s3_checksum_with_content_encoding, and what RFC 9110 8.4 makes of lists
        ("gzip,aws-chunked", "gzip"),
        ("aws-chunked, gzip", "gzip"),
        ("deflate, gzip", "deflate, gzip"),
        ("aws-chunked, deflate, gzip", "deflate, gzip"),
        ("deflate, aws-chunked, gzip", "deflate, gzip"),
        ("deflate,gzip", "deflate,gzip"),
        ("aws-chunked", None),
        ("x-aws-chunked", "x-aws-chunked"),
    ],
)
def test_a_content_encoding_comes_back_as_sent(s3: Asker, sent: str, kept: str | None) -> None:
    s3.ask("POST", "m", query={"uploads": ""}, headers={"content-encoding": sent})
    s3.ask("PUT", "k", headers={"content-encoding": sent})
    s3.ask("PUT", "m", headers={**COPY, "content-encoding": sent, "x-amz-metadata-directive": "REPLACE"})
    assert s3.ask("HEAD", "k").headers.get("content-encoding") == kept
    assert s3.ask("HEAD", "m").headers.get("content-encoding") == kept


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        # TestS3::test_user_metadata_rfc2047_encoded, test_user_metadata_rfc2047_bad_b64_encoded; what S3 told is
        # recorded, and what was sent is any form of the same text.
        ("=?UTF-8?B?YWJj?=", "abc"),
        ("=?UTF-8?Q?actually-ascii?=", "actually-ascii"),
        ("=?UTF-8?Q?=C3=84M=C3=84Z=C3=95=C3=91_S3?=", "=?UTF-8?Q?=C3=84M=C3=84Z=C3=95=C3=91_S3?="),
        ("=?ISO-8859-1?Q?=C4M=C4Z=D5=D1_S3?=", "=?UTF-8?Q?=C3=84M=C3=84Z=C3=95=C3=91_S3?="),
        (
            "=?UTF-8?B?dGVzdF/igJRfZmlsZSVFMiU4MCU5NF/DqV8yPy5wZGY=?=",
            "=?UTF-8?Q?test=5F=E2=80=94=5Ffile%E2%80%94=5F=C3=A9=5F2=3F.pdf?=",
        ),
        ("=?UTF-8?B?AAECAw==?=", "=?UTF-8?B?AAECAw==?="),
        ("=?UTF-8?B?//////////8=?=", "=?UTF-8?B?77+977+977+977+977+977+977+977+9?="),
        ("=?UTF-8?B?/2H/?=", "=?UTF-8?B?77+9Ye+/vQ==?="),
        ("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
        ("=?no-charset?Q?a?=", "=?no-charset?Q?a?="),
        ("=?UTF-8?Q?open", "=?UTF-8?Q?open"),
    ],
)
def test_metadata_in_encoded_words_is_decoded(s3: Asker, sent: str, told: str) -> None:
    s3.ask("PUT", "k", headers={"x-amz-meta-a": sent})
    assert s3.ask("HEAD", "k").headers["x-amz-meta-a"] == told


def test_the_bytes_of_system_metadata_come_back(s3: Asker) -> None:
    # TestS3::test_system_metadata_with_unicode; what is sent in UTF-8 comes back in UTF-8
    name = 'attachment; filename="test_\u2014_file%E2%80%94_\u00e9_2.pdf"'
    s3.ask("PUT", "k", headers={"content-disposition": name})
    assert s3.ask("HEAD", "k").headers["content-disposition"] == name


def test_an_override_that_no_header_can_hold(s3: Asker) -> None:
    # TestS3PresignedUrl::test_get_response_overrides_unicode_metadata_with_sig_s3
    s3.ask("PUT", "k")
    value = "non-ascii-%E2%80%94_\u2014_\u00e9_"
    answer = s3.ask("GET", "k", query={"response-cache-control": value})
    assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert answer.texts("ArgumentName") == ["response-cache-control"]


# Configurations that nothing was set of.


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        # TestS3BucketPolicy::test_bucket_policy_crud
        ("policy", "NoSuchBucketPolicy", "The bucket policy does not exist"),
        # TestS3Cors::test_get_cors
        ("cors", "NoSuchCORSConfiguration", "The CORS configuration does not exist"),
        # TestS3BucketLifecycle::test_delete_bucket_lifecycle_configuration
        ("lifecycle", "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist"),
        # TestS3StaticWebsiteHosting::test_crud_website_configuration
        ("website", "NoSuchWebsiteConfiguration", "The specified bucket does not have a website configuration"),
        # TestS3::test_replication_config
        ("replication", "ReplicationConfigurationNotFoundError", "The replication configuration was not found"),
        # TestS3ObjectLock::test_get_object_lock_configuration_exc
        (
            "object-lock",
            "ObjectLockConfigurationNotFoundError",
            "Object Lock configuration does not exist for this bucket",
        ),
    ],
)
def test_a_configuration_that_is_not_set_is_said_by_its_own_error(
    s3: Asker, query: str, code: str, message: str
) -> None:
    answer = s3.ask("GET", query={query: ""})
    assert refusal_of(answer) == refused(404, code, BucketName="bucket")
    assert answer.texts("Message") == [message]
    assert s3.ask("GET", query={query: ""}, bucket="absent").code == "NoSuchBucket"


def test_the_settings_of_a_new_bucket(s3: Asker) -> None:
    # TestS3BucketOwnershipControls::test_crud_bucket_ownership_controls[default-ownership],
    # TestS3PublicAccessBlock::test_crud_public_access_block[get-default-public-access-block],
    # TestS3::test_s3_default_bucket_encryption
    assert s3.ask("GET", query={"ownershipControls": ""}).texts("Rule/ObjectOwnership") == ["BucketOwnerEnforced"]
    blocked = s3.ask("GET", query={"publicAccessBlock": ""})
    assert {node.tag: node.text for node in blocked.tree} == dict.fromkeys(
        ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"), "true"
    )
    encryption = s3.ask("GET", query={"encryption": ""})
    assert (encryption.texts(".//SSEAlgorithm"), encryption.texts(".//BucketKeyEnabled")) == (["AES256"], ["false"])


@pytest.mark.parametrize("key", ["", "k"])
def test_the_owner_has_full_control_and_no_other_list_can_be_set(s3: Asker, key: str) -> None:
    # TestS3::test_bucket_exists[get-bucket-acl], TestS3::test_s3_object_acl[get-object-acl-default]
    s3.ask("PUT", "k", body=b"data")
    answer = s3.ask("GET", key, query={"acl": ""})
    assert answer.texts(".//Permission") == ["FULL_CONTROL"]
    assert len(set(answer.texts(".//ID"))) == 1
    assert s3.ask("PUT", key, query={"acl": ""}, headers={"x-amz-acl": "private"}).code == (
        "AccessControlListNotSupported"
    )


def test_the_access_control_list_of_a_missing_object_is_an_error(s3: Asker) -> None:
    assert s3.ask("GET", "absent", query={"acl": ""}).code == "NoSuchKey"
