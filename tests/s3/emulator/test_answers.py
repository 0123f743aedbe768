"""What the emulator answers, request by request; each rule is AWS's, named in docs/s3-behaviour.md."""

import base64
import hashlib
import zlib
from email.header import decode_header, make_header
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.s3.emulator.addressing import Scheme
from s3bench.s3.protocol.exchange import NO_BODY
from s3bench.s3.protocol.http import parse_head
from tests.s3.emulator.asking import BUCKET, DATE_LINE, NOON_S, Answer, Asker, Pending

MIB = 1 << 20
VERSIONED = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"


def crc32(body: bytes) -> str:
    return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()


CRC = {"x-amz-checksum-crc32": crc32(b"x")}


@pytest.fixture
def s3() -> Asker:
    return Asker()


def tagged(name: str, *children: str) -> str:
    return f"<{name}>{''.join(children)}</{name}>"


def begin(s3: Asker, key: str = "m", **headers: str) -> str:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return s3.ask("POST", key, query={"uploads": ""}, headers=named).texts("UploadId")[0]


def part(s3: Asker, upload: str, number: int, body: bytes, headers: dict[str, str] | None = None) -> Answer:
    query = {"uploadId": upload, "partNumber": str(number)}
    return s3.ask("PUT", "m", query=query, body=body, headers=headers)


def complete(s3: Asker, upload: str, etags: dict[int, str]) -> Answer:
    parts = (tagged("Part", tagged("PartNumber", str(number)), tagged("ETag", etag)) for number, etag in etags.items())
    body = tagged("CompleteMultipartUpload", *parts).encode()
    return s3.ask("POST", "m", query={"uploadId": upload}, body=body)


def test_a_repeated_complete_of_the_same_parts_gives_the_same_answer(s3: Asker) -> None:
    upload = begin(s3)
    etag = part(s3, upload, 3, b"x").headers["etag"]
    first = complete(s3, upload, {3: etag})
    again = complete(s3, upload, {3: etag})
    assert (first.status, again.status, again.body) == (200, 200, first.body)
    assert complete(s3, upload, {4: etag}).code == "NoSuchUpload"
    s3.ask("PUT", "m", body=b"over it")
    assert complete(s3, upload, {3: etag}).code == "NoSuchUpload"


@pytest.mark.parametrize(
    ("host", "target", "location"),
    [
        ("h:81", "/bucket/m%20x/y", "h:81/bucket/m%20x%2Fy"),
        ("bucket.localhost:81", "/m%20x/y", "bucket.localhost:81/m%20x%2Fy"),
        ("BUCKET.s3.localhost", "/m%20x/y", "BUCKET.s3.localhost/m%20x%2Fy"),
        ("localhost:81", "/bucket/m%20x/y", "localhost:81/bucket/m%20x%2Fy"),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_location_of_a_completed_upload_names_the_bucket_once(
    host: str, target: str, location: str, scheme: Scheme
) -> None:
    s3 = Asker(scheme=scheme)

    def send(method: str, query: str, body: bytes = b"") -> Answer:
        head = f"{method} {target}?{query} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}"
        return Pending(s3.emulator, head.encode(), body).finish()

    upload = send("POST", "uploads").texts("UploadId")[0]
    etag = send("PUT", f"uploadId={upload}&partNumber=1", b"x").headers["etag"]
    named = tagged("Part", tagged("PartNumber", "1"), tagged("ETag", etag))
    made = send("POST", f"uploadId={upload}", tagged("CompleteMultipartUpload", named).encode())
    assert made.texts("Location") == [f"{scheme}://{location}"]


def test_uploads_of_one_key_are_listed_in_the_order_of_their_beginning(s3: Asker) -> None:
    uploads = [begin(s3, key) for key in ("b", "a", "a", "a", "a", "a")]
    listed = s3.ask("GET", query={"uploads": ""}).texts("Upload/UploadId")
    assert listed == [*uploads[1:], uploads[0]]
    query = {"uploads": "", "key-marker": "a", "upload-id-marker": uploads[2]}
    assert s3.ask("GET", query=query).texts("Upload/UploadId") == [*uploads[3:], uploads[0]]


def test_a_part_must_bring_the_checksum_of_its_upload(s3: Asker) -> None:
    composite = begin(s3, x_amz_checksum_algorithm="CRC32")
    assert part(s3, composite, 1, b"x", CRC).status == 200
    assert part(s3, composite, 1, b"x").code == "InvalidRequest"
    whole = begin(s3, x_amz_checksum_algorithm="CRC32C", x_amz_checksum_type="FULL_OBJECT")
    assert part(s3, whole, 1, b"x").status == 200
    assert part(s3, whole, 1, b"x", CRC).code == "InvalidRequest"


def test_the_checksum_of_a_part_is_told_where_the_request_brought_one(s3: Asker) -> None:
    upload = begin(s3, x_amz_checksum_algorithm="CRC32", x_amz_checksum_type="FULL_OBJECT")
    assert part(s3, upload, 1, b"x", CRC).headers["x-amz-checksum-crc32"] == CRC["x-amz-checksum-crc32"]
    assert "x-amz-checksum-crc32" not in part(s3, upload, 2, b"x").headers


def test_a_put_of_a_part_without_its_upload_does_not_replace_the_object(s3: Asker) -> None:
    s3.ask("PUT", "k", body=b"kept")
    assert s3.ask("PUT", "k", query={"partNumber": "1"}, body=b"part").code == "InvalidArgument"
    assert s3.ask("GET", "k").body == b"kept"


@pytest.mark.parametrize("value", ["bytes=-5", "bytes=5-", "bytes=0-10", "bytes=9-5", "0-5", "bytes=0-1,2-3"])
def test_a_copied_range_names_its_first_and_last_byte(s3: Asker, value: str) -> None:
    s3.ask("PUT", "k", body=b"0123456789")
    query = {"uploadId": begin(s3), "partNumber": "1"}
    headers = {"x-amz-copy-source": "bucket/k", "x-amz-copy-source-range": value}
    assert s3.ask("PUT", "m", query=query, headers=headers).code == "InvalidArgument"


def test_copies_of_ranges_of_copies_can_be_read_however_often_that_was_done(s3: Asker) -> None:
    body = bytes(range(250)) * 400
    s3.ask("PUT", "0", body=body)
    for number in range(1, 601):
        upload = s3.ask("POST", str(number), query={"uploads": ""}).texts("UploadId")[0]
        span = f"bytes=1-{len(body) - number}"
        headers = {"x-amz-copy-source": f"bucket/{number - 1}", "x-amz-copy-source-range": span}
        part = s3.ask("PUT", str(number), query={"uploadId": upload, "partNumber": "1"}, headers=headers)
        parts = f"<Part><PartNumber>1</PartNumber><ETag>{part.texts('ETag')[0]}</ETag></Part>"
        document = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
        assert s3.ask("POST", str(number), query={"uploadId": upload}, body=document).status == 200
    assert s3.ask("GET", "600").body == body[600:]


def test_the_source_of_a_copy_may_not_be_a_delete_marker_by_its_id(s3: Asker) -> None:
    s3.ask("PUT", query={"versioning": ""}, body=VERSIONED)
    s3.ask("PUT", "k", body=b"x")
    marker = s3.ask("DELETE", "k").headers["x-amz-version-id"]
    named = s3.ask("PUT", "c", headers={"x-amz-copy-source": f"bucket/k?versionId={marker}"})
    assert (named.status, named.code) == (400, "InvalidRequest")
    assert s3.ask("PUT", "c", headers={"x-amz-copy-source": "bucket/k"}).code == "NoSuchKey"


def test_a_delete_marker_is_a_404_unless_it_is_named(s3: Asker) -> None:
    s3.ask("PUT", query={"versioning": ""}, body=VERSIONED)
    marker = s3.ask("DELETE", "k").headers["x-amz-version-id"]
    for method in ("GET", "HEAD"):
        unnamed = s3.ask(method, "k")
        assert (unnamed.status, unnamed.headers["x-amz-delete-marker"]) == (404, "true")
        named = s3.ask(method, "k", query={"versionId": marker})
        assert (named.status, named.headers["allow"]) == (405, "DELETE")
        assert "last-modified" in named.headers


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("version", ["", "no-such-version", "x" * 32])
def test_what_cannot_be_a_version_id_is_an_invalid_argument(s3: Asker, method: str, version: str) -> None:
    assert s3.ask(method, "k", query={"versionId": version}).code == "InvalidArgument"


def test_a_version_id_that_could_be_is_looked_for(s3: Asker) -> None:
    s3.ask("PUT", query={"versioning": ""}, body=VERSIONED)
    gone = s3.ask("PUT", "k", body=b"x").headers["x-amz-version-id"]
    assert s3.ask("DELETE", "k", query={"versionId": gone}).status == 204
    assert s3.ask("GET", "k", query={"versionId": gone}).code == "NoSuchVersion"
    assert s3.ask("DELETE", "k", query={"versionId": gone}).status == 204


def test_delete_objects_needs_a_checksum_of_its_document_beside_that_of_the_signature(s3: Asker) -> None:
    body = b"<Delete><Object><Key>k</Key></Object></Delete>"
    signed = {"x-amz-content-sha256": hashlib.sha256(body).hexdigest()}
    assert s3.ask("POST", query={"delete": ""}, body=body, headers=signed).code == "InvalidRequest"
    md5 = base64.b64encode(hashlib.md5(body).digest()).decode()
    assert s3.ask("POST", query={"delete": ""}, body=body, headers={"content-md5": md5}).texts("Deleted/Key") == ["k"]


def test_delete_objects_tells_each_key_what_became_of_it(s3: Asker) -> None:
    s3.ask("PUT", "k", body=b"x")
    objects = (
        tagged("Object", tagged("Key", "k"), tagged("ETag", "other")),
        tagged("Object", tagged("Key", "gone")),
        tagged("Object", tagged("Key", "k"), tagged("VersionId", "none")),
    )
    body = tagged("Delete", *objects).encode()
    md5 = base64.b64encode(hashlib.md5(body).digest()).decode()
    answer = s3.ask("POST", query={"delete": ""}, body=body, headers={"content-md5": md5})
    assert answer.texts("Error/Code") == ["PreconditionFailed", "NoSuchVersion"]
    assert answer.texts("Deleted/Key") == ["gone"]
    assert s3.ask("GET", "k").status == 200


def test_delete_objects_makes_no_marker_of_a_key_that_is_too_long(s3: Asker) -> None:
    s3.ask("PUT", query={"versioning": ""}, body=VERSIONED)
    keys = ("k" * 1024, "k" * 1025, "ü" * 513)
    body = tagged("Delete", *(tagged("Object", tagged("Key", key)) for key in keys), tagged("Quiet", "true")).encode()
    md5 = base64.b64encode(hashlib.md5(body).digest()).decode()
    answer = s3.ask("POST", query={"delete": ""}, body=body, headers={"content-md5": md5})
    assert answer.texts("Error/Code") == ["KeyTooLongError"] * 2
    assert answer.texts("Error/Key") == list(keys[1:])
    assert s3.ask("GET", query={"versions": ""}).texts("DeleteMarker/Key") == [keys[0]]


@pytest.mark.parametrize(
    ("header", "status", "body"),
    [
        ("bytes=0-", 416, b""),
        ("bytes=0-0", 416, b""),
        ("bytes=-0", 416, b""),
        ("bytes=5-2", 200, b""),
    ],
)
def test_ranges_of_an_empty_object(s3: Asker, header: str, status: int, body: bytes) -> None:
    s3.ask("PUT", "empty")
    answer = s3.ask("GET", "empty", headers={"range": header})
    assert answer.status == status
    if status == 200:
        assert answer.body == body


def test_not_modified_repeats_the_headers_that_caches_live_by(s3: Asker) -> None:
    s3.ask("PUT", "k", body=b"x", headers={"cache-control": "max-age=1", "x-amz-meta-m": "1"})
    etag = s3.ask("GET", "k").headers["etag"]
    answer = s3.ask("GET", "k", headers={"if-none-match": etag})
    assert (answer.status, answer.body) == (304, b"")
    assert "content-length" not in answer.headers  # RFC 9110 8.6: it would be that of the object
    assert (answer.headers["etag"], answer.headers["cache-control"]) == (etag, "max-age=1")
    assert "x-amz-meta-m" not in answer.headers


def test_metadata_beyond_ascii_is_told_as_mail_tells_it(s3: Asker) -> None:
    # The value and its form are those of AWS's user guide, UsingMetadata.
    s3.ask("PUT", "k", headers={"x-amz-meta-nonascii": "ÄMÄZÕÑ S3"})
    assert s3.ask("HEAD", "k").headers["x-amz-meta-nonascii"] == "=?UTF-8?B?w4PChE3Dg8KEWsODwpXDg8KRIFMz?="


def test_an_encoded_word_cannot_break_out_of_its_header(s3: Asker) -> None:
    s3.ask("PUT", "k", headers={"x-amz-meta-a": "=?UTF-8?Q?long_enough_to_be_text=0D=0Ax-amz-meta-b:_c?="})
    headers = s3.ask("HEAD", "k").headers
    assert headers["x-amz-meta-a"] == "=?UTF-8?Q?long_enough_to_be_text=0D=0Ax-amz-meta-b:_c?="
    assert "x-amz-meta-b" not in headers


@pytest.mark.parametrize(
    "word",
    [
        "=?idna?B?YWJj?=",
        "=?undefined?B?YWJj?=",
        "=?unicode_escape?Q?=5Cud800?=",
        "=?utf-7?Q?+2AA-?=",
        "=?raw_unicode_escape?Q?=5Cud800?=",
        "=?punycode?B?YWJj?=",
        "=?rot13?Q?a?=",
        "=?base64?B?YWJj?=",
        "=?UTF-8?B?a?=",
    ],
)
def test_an_encoded_word_that_cannot_be_decoded_stays_as_it_is(s3: Asker, word: str) -> None:
    for said in (word, f"before {word} behind"):
        assert s3.ask("PUT", "k", headers={"x-amz-meta-a": said}).status == 200
        for method in ("GET", "HEAD"):
            assert s3.ask(method, "k").headers["x-amz-meta-a"] == said


def test_an_encoded_word_of_bytes_that_are_not_base64_stays_as_it_is(s3: Asker) -> None:
    word = "=?UTF-8?B?é?="
    assert s3.ask("PUT", "k", headers={"x-amz-meta-a": word}).status == 200
    told = str(make_header(decode_header(s3.ask("HEAD", "k").headers["x-amz-meta-a"])))
    assert told == word.encode().decode("latin-1")


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("utf-8", "ä€日"),
        ("US-ASCII", "plain"),
        ("iso-8859-15", "ä€"),
        ("ISO-8859-7", "Ωμέγα"),
        ("UTF-16", "ä€日"),
        ("utf-16be", "ä€日"),
        ("windows-1252", "ä€"),
        ("windows-1251", "жук"),
    ],
)
def test_encoded_words_are_decoded_from_the_charsets_of_mail(s3: Asker, charset: str, text: str) -> None:
    data = base64.b64encode(text.encode(charset)).decode()
    s3.ask("PUT", "k", headers={"x-amz-meta-a": f"=?{charset}?B?{data}?="})
    told = s3.ask("HEAD", "k").headers["x-amz-meta-a"]
    assert str(make_header(decode_header(told))) == text


@given(charset=st.sampled_from(["utf-8", "utf-16", "utf-16le", "iso-8859-6", "windows-1253"]), data=st.binary())
def test_whatever_an_encoded_word_holds_can_be_told(charset: str, data: bytes) -> None:
    s3 = Asker()
    s3.ask("PUT", "k", headers={"x-amz-meta-a": f"=?{charset}?B?{base64.b64encode(data).decode()}?="})
    assert s3.ask("HEAD", "k").status == 200


def test_enabling_versioning_shows_in_reads_of_the_same_second(s3: Asker) -> None:
    s3.ask("PUT", "k", body=b"x")
    assert "x-amz-version-id" not in s3.ask("GET", "k").headers
    s3.ask("PUT", query={"versioning": ""}, body=VERSIONED)
    assert s3.ask("GET", "k").headers["x-amz-version-id"] == "null"


def test_a_presigned_read_may_ask_for_the_checksum_in_its_query(s3: Asker) -> None:
    s3.ask("PUT", "k", body=b"x", headers=CRC)
    answer = s3.ask("GET", "k", query={"x-amz-checksum-mode": "ENABLED", "x-id": "GetObject"})
    assert answer.headers["x-amz-checksum-crc32"] == CRC["x-amz-checksum-crc32"]


def test_uploads_can_be_aborted_page_by_page(s3: Asker) -> None:
    uploads = [begin(s3, key) for key in ("a", "a", "b", "c")]
    query = {"uploads": "", "max-uploads": "1"}
    found = []
    for _ in uploads:
        page = s3.ask("GET", query=query)
        (key,), (upload,) = page.texts("Upload/Key"), page.texts("Upload/UploadId")
        found.append(upload)
        assert s3.ask("DELETE", key, query={"uploadId": upload}).status == 204
        query |= {"key-marker": page.texts("NextKeyMarker")[0], "upload-id-marker": page.texts("NextUploadIdMarker")[0]}
    assert found == uploads


def test_checksums_are_told_of_whole_reads_and_not_of_ranges(s3: Asker) -> None:
    s3.ask("PUT", "k", body=b"xy", headers={"x-amz-checksum-crc32": crc32(b"xy")})
    asked = {"x-amz-checksum-mode": "ENABLED"}
    assert s3.ask("GET", "k", headers=asked).headers["x-amz-checksum-crc32"] == crc32(b"xy")
    assert "x-amz-checksum-crc32" not in s3.ask("GET", "k").headers
    assert "x-amz-checksum-crc32" not in s3.ask("GET", "k", headers={**asked, "range": "bytes=0-0"}).headers


@pytest.mark.parametrize(
    "headers",
    [
        {"x-amz-checksum-md4": "AAAA"},
        {**CRC, "x-amz-sdk-checksum-algorithm": "SHA256"},
        {"x-amz-sdk-checksum-algorithm": "SHA256"},
        {"x-amz-checksum-crc32": "nonsense"},
        {**CRC, "x-amz-checksum-crc32c": "AAAAAA=="},
    ],
)
def test_checksum_headers_that_contradict_themselves_are_refused(s3: Asker, headers: dict[str, str]) -> None:
    answer = s3.ask("PUT", "k", body=b"x", headers=headers)
    assert (answer.status, answer.code) == (400, "InvalidRequest")
    assert s3.ask("GET", "k").status == 404


def test_attributes_list_parts_only_where_parts_have_checksums_of_their_own(s3: Asker) -> None:
    query, wanted = {"attributes": ""}, {"x-amz-object-attributes": "ObjectParts"}
    upload = begin(s3)
    complete(s3, upload, {1: part(s3, upload, 1, b"x").headers["etag"]})
    plain = s3.ask("GET", "m", query=query, headers=wanted)
    assert (plain.texts("ObjectParts/PartsCount"), plain.texts("ObjectParts/Part")) == (["1"], [])
    upload = begin(s3, x_amz_checksum_algorithm="CRC32")
    etag = part(s3, upload, 1, b"x", CRC).headers["etag"]
    named = f"<PartNumber>1</PartNumber><ETag>{etag}</ETag><ChecksumCRC32>{CRC['x-amz-checksum-crc32']}</ChecksumCRC32>"
    body = f"<CompleteMultipartUpload><Part>{named}</Part></CompleteMultipartUpload>".encode()
    assert s3.ask("POST", "m", query={"uploadId": upload}, body=body).status == 200
    composite = s3.ask("GET", "m", query=query, headers=wanted)
    assert composite.texts("ObjectParts/Part/ChecksumCRC32") == [CRC["x-amz-checksum-crc32"]]
    bad = s3.ask("GET", "m", query=query, headers={**wanted, "x-amz-max-parts": "x"})
    assert (bad.status, bad.code) == (400, "InvalidArgument")


def composite(s3: Asker, *pieces: bytes) -> None:
    """Upload an object in parts, each with a checksum of its own."""
    upload = begin(s3, x_amz_checksum_algorithm="CRC32")
    named = []
    for number, piece in enumerate(pieces, 1):
        etag = part(s3, upload, number, piece, {"x-amz-checksum-crc32": crc32(piece)}).headers["etag"]
        children = tagged("PartNumber", str(number)), tagged("ETag", etag), tagged("ChecksumCRC32", crc32(piece))
        named.append(tagged("Part", *children))
    body = tagged("CompleteMultipartUpload", *named).encode()
    assert s3.ask("POST", "m", query={"uploadId": upload}, body=body).status == 200


def test_attributes_list_parts_in_pages(s3: Asker) -> None:
    composite(s3, bytes(5 * MIB), bytes(6 * MIB), b"x")
    headers = {"x-amz-object-attributes": "ObjectParts", "x-amz-max-parts": "2"}
    pages = []
    for _ in range(2):
        page = s3.ask("GET", "m", query={"attributes": ""}, headers=headers)
        pages.append([page.texts(f"ObjectParts/{name}") for name in ("Part/PartNumber", "Part/Size", "IsTruncated")])
        assert page.texts("ObjectParts/PartsCount") == ["3"]
        headers["x-amz-part-number-marker"] = page.texts("ObjectParts/NextPartNumberMarker")[0]
    assert pages == [[["1", "2"], [str(5 * MIB), str(6 * MIB)], ["true"]], [["3"], ["1"], ["false"]]]


def test_parts_are_listed_page_by_page_each_once(s3: Asker) -> None:
    upload = begin(s3)
    for number in (3, 5, 9, 10):
        part(s3, upload, number, b"x")
    query = {"uploadId": upload, "max-parts": "2"}
    first = s3.ask("GET", "m", query=query)
    query["part-number-marker"] = first.texts("NextPartNumberMarker")[0]
    second = s3.ask("GET", "m", query=query)
    pages = [(page.texts("Part/PartNumber"), page.texts("IsTruncated")) for page in (first, second)]
    assert pages == [(["3", "5"], ["true"]), (["9", "10"], ["false"])]


def test_the_only_part_tells_its_own_checksum_and_not_that_of_the_whole(s3: Asker) -> None:
    composite(s3, b"x")
    asked = {"x-amz-checksum-mode": "ENABLED"}
    assert s3.ask("HEAD", "m", headers=asked).headers["x-amz-checksum-crc32"].endswith("-1")
    answer = s3.ask("HEAD", "m", headers=asked, query={"partNumber": "1"})
    assert answer.headers["x-amz-checksum-crc32"] == crc32(b"x")


@pytest.mark.parametrize("token", ["", "!", "YQ"])
def test_a_continuation_token_of_somebody_else_is_refused(s3: Asker, token: str) -> None:
    answer = s3.ask("GET", query={"list-type": "2", "continuation-token": token})
    assert (answer.status, answer.code) == (400, "InvalidArgument")


@pytest.mark.parametrize(("number", "status"), [("1", 206), ("2", 416), ("0", 400), ("10001", 400), ("x", 400)])
def test_a_plain_object_has_one_part(s3: Asker, number: str, status: int) -> None:
    s3.ask("PUT", "k", body=b"x")
    assert s3.ask("GET", "k", query={"partNumber": number}).status == status


def test_a_read_in_the_same_second_as_a_write_sees_it(s3: Asker) -> None:
    s3.ask("PUT", "k", body=b"old")
    assert s3.ask("GET", "k").body == b"old"
    s3.ask("PUT", "k", body=b"new", headers={"x-amz-tagging": "a=b"})
    assert s3.ask("GET", "k").body == b"new"
    s3.ask("DELETE", "k", query={"tagging": ""})
    assert "x-amz-tagging-count" not in s3.ask("GET", "k").headers
    assert s3.now_s == NOON_S


@pytest.mark.parametrize("fields", ["", "\r\nx-amz-api-version: 2006-03-01\r\nx-amz-te: append-md5"])
def test_a_plain_read_is_answered_with_the_reply_of_the_one_before(s3: Asker, fields: str) -> None:
    s3.ask("PUT", "k", body=b"x")
    head = parse_head(f"GET /bucket/k HTTP/1.1\r\nHost: h{fields}".encode())
    assert s3.emulator.finish(head, NO_BODY, DATE_LINE) is s3.emulator.finish(head, NO_BODY, DATE_LINE)


def test_a_bucket_tells_its_region_where_the_request_has_parameters(s3: Asker) -> None:
    listed = s3.ask("GET", bucket="", query={"prefix": "b"})
    assert listed.texts("Buckets/Bucket/BucketRegion") == ["us-east-1"]
    assert s3.ask("GET", bucket="").texts("Buckets/Bucket/BucketRegion") == []


@pytest.mark.parametrize("first", [0, 5 * MIB - 2, 5 * MIB, 5 * MIB + 1, 10 * MIB - 1, 10 * MIB])
def test_a_range_may_lie_in_any_of_the_parts_and_across_them(s3: Asker, first: int) -> None:
    bodies = [bytes([number]) * (5 * MIB) for number in (1, 2)] + [b"the last part"]
    upload = begin(s3)
    etags = {number: part(s3, upload, number, body).headers["etag"] for number, body in enumerate(bodies, 1)}
    assert complete(s3, upload, etags).status == 200
    whole = b"".join(bodies)
    answer = s3.ask("GET", "m", headers={"range": f"bytes={first}-{first + 9}"})
    assert (answer.status, answer.body) == (206, whole[first : first + 10])
    # The same of a copy of a range of it, which shares its bytes.
    copied = {"x-amz-copy-source": "bucket/m", "x-amz-copy-source-range": f"bytes=1-{len(whole) - 1}"}
    upload = begin(s3, "c")
    query = {"uploadId": upload, "partNumber": "1"}
    etag = s3.ask("PUT", "c", query=query, headers=copied).texts("ETag")[0]
    body = tagged("Part", tagged("PartNumber", "1"), tagged("ETag", etag))
    completed = s3.ask("POST", "c", query={"uploadId": upload}, body=tagged("CompleteMultipartUpload", body).encode())
    assert completed.status == 200
    answer = s3.ask("GET", "c", headers={"range": f"bytes={first}-{first + 9}"})
    assert answer.body == whole[first + 1 : first + 11]


def test_a_part_that_is_sent_again_replaces_the_one_before(s3: Asker) -> None:
    upload = begin(s3)
    old = part(s3, upload, 1, b"old").headers["etag"]
    new = part(s3, upload, 1, b"newer").headers["etag"]
    assert s3.ask("GET", "m", query={"uploadId": upload}).texts("Part/Size") == ["5"]
    assert complete(s3, upload, {1: old}).code == "InvalidPart"
    assert complete(s3, upload, {1: new}).status == 200
    assert s3.ask("GET", "m").body == b"newer"


def test_a_part_tells_no_checksum_where_only_the_whole_has_one(s3: Asker) -> None:
    upload = begin(s3)
    etags = {number: part(s3, upload, number, bytes(5 * MIB)).headers["etag"] for number in (1, 2)}
    complete(s3, upload, etags)
    asked = {"x-amz-checksum-mode": "ENABLED"}
    assert "x-amz-checksum-crc64nvme" in s3.ask("HEAD", "m", headers=asked).headers
    answer = s3.ask("HEAD", "m", headers=asked, query={"partNumber": "1"})
    assert answer.status == 206
    assert not [name for name in answer.headers if name.startswith("x-amz-checksum")]


@pytest.mark.parametrize(
    ("value", "status", "code"),
    [
        ("text/html", 200, ""),
        ("%ff", 400, "InvalidURI"),
        ("%ed%a0%80", 400, "InvalidURI"),
        ("a%0d%0aX:%20y", 400, "InvalidArgument"),
        ("%00", 400, "InvalidArgument"),
        ("%7f", 400, "InvalidArgument"),
        ("%e2%82%ac", 400, "InvalidArgument"),
    ],
)
def test_a_response_header_that_cannot_be_sent_is_refused(s3: Asker, value: str, status: int, code: str) -> None:
    s3.ask("PUT", "key", body=b"body")
    head = f"GET /bucket/key?response-content-type={value} HTTP/1.1\r\nHost: h".encode()
    answer = Pending(s3.emulator, head, b"").finish()
    assert (answer.status, answer.code) == (status, code)


@pytest.mark.parametrize(
    "query",
    [
        "prefix=%ff",
        "marker=%ff",
        "delimiter=%81",
        "uploads&upload-id-marker=%81b",
        "versions&version-id-marker=%ea",
        "%ff",
        "prefix=\xe9",
        "prefix=\xc3",
        "\xe9",
    ],
)
def test_a_query_that_is_not_utf_8_is_refused(s3: Asker, query: str) -> None:
    answer = Pending(s3.emulator, f"GET /bucket?{query} HTTP/1.1\r\nHost: h".encode("latin-1"), b"").finish()
    assert (answer.status, answer.code) == (400, "InvalidURI")


@pytest.mark.parametrize(
    "name",
    ["sthree-logs", "sthree-configurator", "logs-s3alias", "logs--ol-s3", "logs.mrap", "logs--table-s3", "xn--logs"],
)
def test_a_name_that_s3_reserves_is_no_bucket(s3: Asker, name: str) -> None:
    assert s3.ask("PUT", bucket=name).code == "InvalidBucketName"


@pytest.mark.parametrize("name", ["amzn-s3-demo-bucket", "sthree", "s3alias", "mrap", "logs-mrap", "table-s3"])
def test_a_name_that_is_like_a_reserved_one_is_a_bucket(s3: Asker, name: str) -> None:
    assert s3.ask("PUT", bucket=name).status == 200


NINES = "9" * 5000


@pytest.mark.parametrize("number", [NINES, "+5", "-5", "1_0", "\u0665", "5.0"])
@pytest.mark.parametrize("name", ["max-keys", "max-uploads", "max-buckets"])
def test_a_number_that_is_none_or_too_large_is_an_invalid_argument(s3: Asker, name: str, number: str) -> None:
    target = "" if name == "max-buckets" else "bucket"
    head = f"GET /{target}?uploads&{name}={quote(number)} HTTP/1.1\r\nHost: h"
    head = head.replace("uploads&", "") if name != "max-uploads" else head
    assert Pending(s3.emulator, head.encode(), b"").finish().code == "InvalidArgument"


NOT_INTEGERS = ["x", NINES, "+5", " 5", "5.0", "-", "--5", "2147483648", "-2147483649", "\u0665"]


@pytest.mark.parametrize(
    ("target", "name", "argument", "limits", "too_small"),
    [
        ("bucket", "max-keys", "maxKeys", "0 and 2147483647", "-1"),
        ("bucket?list-type=2", "max-keys", "maxKeys", "0 and 2147483647", "-1"),
        ("bucket?uploads", "max-uploads", "max-uploads", "0 and 2147483647", "-1"),
        ("bucket/k?uploadId={upload}", "max-parts", "max-parts", "0 and 2147483647", "-2147483648"),
        ("bucket/k?uploadId={upload}", "part-number-marker", "part-number-marker", "0 and 2147483647", "-1"),
        ("", "max-buckets", "max-buckets", "1 and 10000", "0"),
        ("", "max-buckets", "max-buckets", "1 and 10000", "10001"),
    ],
)
def test_a_number_is_refused_with_the_limits_that_it_has(
    s3: Asker, target: str, name: str, argument: str, limits: str, too_small: str
) -> None:
    # As S3 answers, by the sources named at Call.number.
    target = target.format(upload=begin(s3, "k"))

    def refusal(number: str) -> tuple[list[str], ...]:
        head = f"GET /{target}{'&' if '?' in target else '?'}{name}={quote(number)} HTTP/1.1\r\nHost: h"
        answer = Pending(s3.emulator, head.encode(), b"").finish()
        assert (answer.status, answer.code) == (400, "InvalidArgument")
        return tuple(answer.texts(element) for element in ("Message", "ArgumentName", "ArgumentValue"))

    for number in NOT_INTEGERS:
        assert refusal(number) == ([f"Provided {name} not an integer or within integer range"], [name], [number])
    message = f"Argument {argument} must be an integer between {limits}"
    assert refusal(too_small) == ([message], [argument], [too_small])


@pytest.mark.parametrize("number", ["-1", "-01"])
def test_versions_are_not_listed_in_a_negative_number(s3: Asker, number: str) -> None:
    answer = s3.ask("GET", query={"versions": "", "max-keys": number})
    assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert answer.texts("Message") == ["max-keys cannot be negative"]
    assert (answer.texts("ArgumentName"), answer.texts("ArgumentValue")) == (["max-keys"], [])


@pytest.mark.parametrize("number", ["5000", "2147483647", "0005000"])
def test_more_than_a_page_is_a_page(s3: Asker, number: str) -> None:
    upload = begin(s3, "k")
    for query in ({}, {"list-type": "2"}, {"versions": ""}):
        assert s3.ask("GET", query={**query, "max-keys": number}).texts("MaxKeys") == ["1000"]
    assert s3.ask("GET", query={"uploads": "", "max-uploads": number}).texts("MaxUploads") == ["1000"]
    assert s3.ask("GET", "k", query={"uploadId": upload, "max-parts": number}).texts("MaxParts") == ["1000"]
    assert s3.ask("GET", query={"max-keys": "-0"}).texts("MaxKeys") == ["0"]


def test_directory_buckets_are_listed_by_the_thousand_at_most(s3: Asker) -> None:
    for number, status in (("1000", 200), ("1001", 400)):
        head = f"GET /?max-directory-buckets={number} HTTP/1.1\r\nHost: h\r\nAuthorization: /s3express/aws4_request"
        assert Pending(s3.emulator, head.encode(), b"").finish().status == status


@pytest.mark.parametrize("number", [NINES, "+1", "1_0", "\u0661"])
def test_a_part_number_that_is_none_or_too_large_is_an_invalid_argument(s3: Asker, number: str) -> None:
    s3.ask("PUT", "key", body=b"body")
    assert s3.ask("GET", "key", query={"partNumber": number}).code == "InvalidArgument"
    upload = s3.ask("POST", "key", query={"uploads": ""}).texts("UploadId")[0]
    assert s3.ask("PUT", "key", query={"partNumber": number, "uploadId": upload}).code == "InvalidArgument"
    part = f"<Part><PartNumber>{number}</PartNumber><ETag>x</ETag></Part>"
    document = f"<CompleteMultipartUpload>{part}</CompleteMultipartUpload>"
    told = s3.ask("POST", "key", query={"uploadId": upload}, body=document.encode())
    assert (told.status, told.code in {"MalformedXML", "InvalidPart"}) == (400, True)


@pytest.mark.parametrize("header", ["x-amz-max-parts", "x-amz-part-number-marker"])
def test_a_number_of_any_length_in_a_header_is_answered(s3: Asker, header: str) -> None:
    upload = s3.ask("POST", "key", query={"uploads": ""}).texts("UploadId")[0]
    etag = s3.ask("PUT", "key", query={"partNumber": "1", "uploadId": upload}, body=b"x").headers["etag"]
    part = f"<Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>"
    document = f"<CompleteMultipartUpload>{part}</CompleteMultipartUpload>".encode()
    assert s3.ask("POST", "key", query={"uploadId": upload}, body=document).status == 200
    headers = {"x-amz-object-attributes": "ObjectParts", header: NINES}
    assert s3.ask("GET", "key", query={"attributes": ""}, headers=headers).status == 200
    headers[header] = "+5"
    assert s3.ask("GET", "key", query={"attributes": ""}, headers=headers).code == "InvalidArgument"


def test_metadata_with_control_characters_is_told_as_mail_tells_it(s3: Asker) -> None:
    s3.ask("PUT", "key", headers={"x-amz-meta-a": "b\x01c"})
    assert s3.ask("HEAD", "key").headers["x-amz-meta-a"] == "=?UTF-8?Q?b=01c?="


REDIRECT = "x-amz-website-redirect-location"


@pytest.mark.parametrize("location", ["/page", "http://example.com/", "https://example.com/a"])
def test_an_object_may_redirect(s3: Asker, location: str) -> None:
    s3.ask("PUT", "k", headers={REDIRECT: location})
    assert s3.ask("HEAD", "k").headers[REDIRECT] == location


@pytest.mark.parametrize("location", ["page", "ftp://example.com/", "http:/example.com", "www.example.com"])
def test_a_redirect_goes_to_a_page_or_to_a_url(s3: Asker, location: str) -> None:
    s3.ask("PUT", "source")
    requests = (
        ("PUT", {}, {}),
        ("PUT", {}, {"x-amz-copy-source": "bucket/source"}),
        ("POST", {"uploads": ""}, {}),
    )
    for method, query, headers in requests:
        answer = s3.ask(method, "k", query=query, headers={REDIRECT: location, **headers})
        assert (answer.status, answer.code) == (400, "InvalidRedirectLocation")
        assert answer.texts("Message") == [
            "The website redirect location must have a prefix of 'http://' or 'https://' or '/'."
        ]
    assert s3.ask("HEAD", "k").status == 404


def test_a_content_type_that_cannot_be_sent_back_is_refused(s3: Asker) -> None:
    for headers in ({"content-type": "a\x01b"}, {"content-type": "a\x7fb", "x-amz-meta-a": "b"}):
        assert s3.ask("PUT", "key", headers=headers).code == "InvalidArgument"


@pytest.mark.parametrize(
    ("method", "key", "name"),
    [("DELETE", "", "versioning"), ("DELETE", "k", "uploads"), ("PUT", "k", "versions"), ("POST", "", "uploads")],
)
def test_a_sub_resource_of_something_else_never_means_the_plain_operation(
    s3: Asker, method: str, key: str, name: str
) -> None:
    if key:
        s3.ask("PUT", key, body=b"kept")
    answer = s3.ask(method, key, query={name: ""}, body=b"other" if method == "PUT" else b"")
    assert (answer.status, answer.code) == (405, "MethodNotAllowed")
    assert s3.ask("HEAD").status == 200
    if key:
        assert s3.ask("GET", "k").body == b"kept"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_key_needs_a_bucket_before_it(s3: Asker, method: str) -> None:
    assert s3.ask(method, f"{BUCKET}/k", bucket="").code == "InvalidBucketName"  # //bucket/k


@pytest.mark.parametrize("payload", ["AWS4-HMAC-SHA256-PAYLOAD", "AWS4-HMAC-SHA256-PAYLOAD-TRAILER"])
def test_a_body_in_signed_chunks_is_for_object_data_alone(s3: Asker, payload: str) -> None:
    s3.ask("PUT", "k", body=b"kept")
    signed = {"x-amz-content-sha256": f"STREAMING-{payload}"}
    body = b"<Delete><Object><Key>k</Key></Object></Delete>"
    md5 = base64.b64encode(hashlib.md5(body).digest()).decode()
    for answer in (
        s3.ask("POST", query={"delete": ""}, body=body, headers={"content-md5": md5, **signed}),
        s3.ask("PUT", query={"versioning": ""}, body=VERSIONED, headers=signed),
    ):
        assert (answer.status, answer.code) == (400, "InvalidRequest")
        assert answer.texts("Message") == ["The value of x-amz-content-sha256 header is invalid."]
    assert s3.ask("GET", "k").body == b"kept"


def test_a_request_without_a_body_has_no_chunks_to_check(s3: Asker) -> None:
    s3.ask("PUT", "k", body=b"kept")
    signed = {"x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}
    assert [
        s3.ask("GET", "k", headers=signed).status,
        s3.ask("GET", "k", headers={"range": "bytes=1-2", **signed}).status,
        s3.ask("GET", headers=signed).status,
        s3.ask("PUT", "copy", headers={"x-amz-copy-source": "bucket/k", **signed}).status,
    ] == [200, 206, 200, 200]


@pytest.mark.parametrize("size_bytes", [1, 100_000])
def test_the_payload_hash_of_a_presigned_request_is_compared_with_its_body(s3: Asker, size_bytes: int) -> None:
    body = bytes(size_bytes)
    query = {"X-Amz-Content-Sha256": hashlib.sha256(body).hexdigest()}
    assert s3.ask("PUT", "k", query=query, body=body).status == 200
    assert s3.ask("PUT", "k", query=query, body=b"\1" * size_bytes).code == "XAmzContentSHA256Mismatch"
    assert s3.ask("GET", "k").body == body


@pytest.mark.parametrize("payload", ["0" * 64, hashlib.sha256(b"other").hexdigest()])
@pytest.mark.parametrize("body", [b"", b"a body that means nothing"])
def test_the_payload_hash_of_a_plain_read_is_compared_with_its_body(s3: Asker, payload: str, body: bytes) -> None:
    s3.ask("PUT", "k", body=b"x")
    length = {"content-length": str(len(body))} if body else {}
    for query in ({}, {"X-Amz-Content-Sha256": payload}):
        headers = length if query else {"x-amz-content-sha256": payload, **length}
        assert s3.ask("GET", "k", query=query, headers=headers, body=body).code == "XAmzContentSHA256Mismatch"
    right = {"x-amz-content-sha256": hashlib.sha256(body).hexdigest(), **length}
    assert s3.ask("GET", "k", headers=right, body=body).body == b"x"


@pytest.mark.parametrize(
    "fields",
    ["", "x-amz-content-sha256: UNSIGNED-PAYLOAD", f"x-amz-content-sha256: {hashlib.sha256().hexdigest()}"],
)
def test_a_plain_read_without_a_body_takes_the_short_way(s3: Asker, fields: str) -> None:
    s3.ask("PUT", "k", body=b"x")
    head = parse_head(f"GET /bucket/k HTTP/1.1\r\nHost: h\r\n{fields}".strip().encode())
    assert s3.emulator.finish(head, NO_BODY, DATE_LINE) is s3.emulator.finish(head, NO_BODY, DATE_LINE)


def test_a_domain_may_be_written_in_capitals() -> None:
    s3 = Asker(domain="Storage.EXAMPLE")
    s3.ask("PUT", "k", body=b"x")
    head = "GET /k HTTP/1.1\r\nHost: bucket.storage.example:80"
    assert Pending(s3.emulator, head.encode(), b"").finish().body == b"x"
