"""Multipart uploads: what they take of the memory, and the numbers of their parts."""

import base64
import zlib

import pytest

from tests.s3.emulator.asking import Answer, Asker


def begin(s3: Asker, key: str = "m", **headers: str) -> str:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return s3.ask("POST", key, query={"uploads": ""}, headers=named).texts("UploadId")[0]


def put(s3: Asker, upload: str, number: int, body: bytes, *, with_crc32: bool = False) -> str:
    """Upload a part; its ETag."""
    headers = {"x-amz-checksum-crc32": crc32(body)} if with_crc32 else {}
    query = {"uploadId": upload, "partNumber": str(number)}
    return s3.ask("PUT", "m", query=query, body=body, headers=headers).headers["etag"]


def crc32(body: bytes) -> str:
    return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()


def complete(s3: Asker, upload: str, parts: dict[int, str], *, crc32: str = "") -> Answer:
    checksum = f"<ChecksumCRC32>{crc32}</ChecksumCRC32>" if crc32 else ""
    listed = "".join(
        f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag>{checksum}</Part>" for number, etag in parts.items()
    )
    body = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
    return s3.ask("POST", "m", query={"uploadId": upload}, body=body)


def test_an_upload_takes_the_memory_of_what_its_client_says_about_it() -> None:
    s3 = Asker()
    begin(s3)
    bare = s3.emulator.held_bytes
    begin(s3, x_amz_meta_a="x" * 2000)
    assert s3.emulator.held_bytes - bare > bare + 2000 - 10


@pytest.mark.parametrize("discard", [False, True])
def test_a_part_takes_memory_even_if_its_bytes_are_not_kept(discard: bool) -> None:
    s3 = Asker(discard=discard)
    before = s3.emulator.held_bytes
    upload = begin(s3)
    begun = s3.emulator.held_bytes
    etags = {number: put(s3, upload, number, b"") for number in range(1, 101)}
    taken = s3.emulator.held_bytes - begun
    assert taken >= 100 * 512
    put(s3, upload, 7, b"")  # in place of the one before
    assert s3.emulator.held_bytes - begun == taken
    assert complete(s3, upload, {7: etags[7]}).status == 200
    assert s3.emulator.held_bytes < begun + taken / 10
    s3.ask("DELETE", "m")
    assert s3.emulator.held_bytes == before


def test_parts_beyond_the_memory_limit_are_refused_and_aborting_makes_room() -> None:
    s3 = Asker(memory_limit_bytes=100_000, discard=True)
    upload = begin(s3)
    query = {"uploadId": upload, "partNumber": "1"}
    codes = [s3.ask("PUT", "m", query=query | {"partNumber": str(number)}).code for number in range(1, 400)]
    assert set(codes) == {"", "InsufficientStorage"}
    assert s3.emulator.held_bytes <= 100_000
    assert s3.ask("DELETE", "m", query={"uploadId": upload}).status == 204
    assert s3.emulator.held_bytes < 1000


def test_an_upload_is_never_taken_for_an_earlier_one() -> None:
    s3 = Asker()
    first = begin(s3)
    complete(s3, first, {1: put(s3, first, 1, b"old")})
    for number in range(10_001):  # more than are remembered
        begin(s3, f"other {number}")
    second = begin(s3)
    assert second != first
    assert complete(s3, second, {1: put(s3, second, 1, b"new")}).status == 200
    assert s3.ask("GET", "m").body == b"new"


@pytest.mark.parametrize(
    ("headers", "number", "code"),
    [
        ({"x_amz_checksum_algorithm": "CRC32"}, 1, ""),
        ({"x_amz_checksum_algorithm": "CRC32"}, 2, "InvalidPartOrder"),
        ({"x_amz_checksum_algorithm": "CRC32", "x_amz_checksum_type": "FULL_OBJECT"}, 2, ""),
        ({}, 2, ""),
    ],
)
def test_parts_with_checksums_of_their_own_are_numbered_from_one_without_gaps(
    headers: dict[str, str], number: int, code: str
) -> None:
    s3 = Asker()
    upload = begin(s3, **headers)
    etag = put(s3, upload, number, b"x", with_crc32=bool(headers))
    assert complete(s3, upload, {number: etag}, crc32=crc32(b"x") if headers else "").code == code


def test_a_gap_between_parts_with_checksums_of_their_own_is_refused() -> None:
    s3 = Asker()
    upload = begin(s3, x_amz_checksum_algorithm="CRC32")
    body = bytes(5 << 20)
    etags = {number: put(s3, upload, number, body, with_crc32=True) for number in (1, 2, 3)}
    del etags[2]
    answer = complete(s3, upload, etags, crc32=crc32(body))
    assert answer.code == "InvalidPartOrder"
    (message,) = answer.texts("Message")
    assert message.startswith("The part numbers must start at 1 and be consecutive in a directory bucket, ")
    assert message.endswith(" and in an upload with a composite checksum.")
