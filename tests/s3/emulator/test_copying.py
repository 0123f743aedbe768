"""Copies: how large they may be, and their checksums, which are known without the bytes wherever that is possible."""

import base64
import hashlib
import zlib

import pytest

from tests.s3.emulator.asking import Answer, Asker

MIB = 1 << 20
GIB = 1 << 30


def copy(s3: Asker, source: str, key: str, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return s3.ask("PUT", key, headers={"x-amz-copy-source": f"bucket/{source}", **named})


def begin(s3: Asker, key: str, **headers: str) -> str:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return s3.ask("POST", key, query={"uploads": ""}, headers=named).texts("UploadId")[0]


def copy_part(s3: Asker, source: str, key: str, upload: str, number: int, span: str = "") -> Answer:
    headers = {"x-amz-copy-source": f"bucket/{source}"} | ({"x-amz-copy-source-range": span} if span else {})
    return s3.ask("PUT", key, query={"uploadId": upload, "partNumber": str(number)}, headers=headers)


def complete(s3: Asker, key: str, upload: str, parts: list[str]) -> Answer:
    """Complete an upload of parts, each given by the elements in it but for its number."""
    listed = "".join(f"<Part><PartNumber>{number}</PartNumber>{part}</Part>" for number, part in enumerate(parts, 1))
    body = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
    return s3.ask("POST", key, query={"uploadId": upload}, body=body)


def made_of_copies(s3: Asker, source: str, key: str, count: int) -> None:
    upload = begin(s3, key)
    etags = [copy_part(s3, source, key, upload, number).texts("ETag")[0] for number in range(1, count + 1)]
    assert complete(s3, key, upload, [f"<ETag>{etag}</ETag>" for etag in etags]).status == 200


def crc32(body: bytes) -> str:
    return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()


def put_in_parts(s3: Asker, key: str, *bodies: bytes) -> None:
    """Upload an object whose parts have a CRC-32 of their own."""
    upload = begin(s3, key, x_amz_checksum_algorithm="CRC32")
    parts = []
    for number, body in enumerate(bodies, 1):
        query = {"uploadId": upload, "partNumber": str(number)}
        etag = s3.ask("PUT", key, query=query, body=body, headers={"x-amz-checksum-crc32": crc32(body)}).headers["etag"]
        parts.append(f"<ETag>{etag}</ETag><ChecksumCRC32>{crc32(body)}</ChecksumCRC32>")
    assert complete(s3, key, upload, parts).status == 200


@pytest.fixture(scope="module")
def huge() -> Asker:
    """An emulator that keeps no bytes, with objects of 5 GiB and of 10."""
    s3 = Asker(discard=True)
    s3.ask("PUT", "8M", body=bytes(8 * MIB))
    for source, key, count in (("8M", "512M", 64), ("512M", "5G", 10), ("5G", "10G", 2)):
        made_of_copies(s3, source, key, count)
    return s3


def test_more_than_five_gib_are_not_copied_at_once(huge: Asker) -> None:
    upload = begin(huge, "m")
    for answer in (copy(huge, "10G", "c"), copy_part(huge, "10G", "m", upload, 1)):
        assert (answer.status, answer.code) == (400, "InvalidRequest")
        assert answer.texts("Message") == [
            "The specified copy source is larger than the maximum allowable size for a copy source: 5368709120"
        ]
    assert copy_part(huge, "10G", "m", upload, 1, f"bytes=1-{5 * GIB}").status == 200
    assert copy(huge, "5G", "c").status == 200


@pytest.mark.parametrize("discard", [False, True])
def test_the_crc_of_a_copy_comes_from_those_of_the_parts(discard: bool) -> None:
    s3 = Asker(discard=discard)
    bodies = bytes(range(256)) * (5 * MIB // 256), b"the end"
    put_in_parts(s3, "k", *bodies)
    copied = copy(s3, "k", "c")
    assert copied.texts("ChecksumCRC32") == [crc32(b"".join(bodies))]
    assert copied.texts("ChecksumType") == ["FULL_OBJECT"]
    part = copy_part(s3, "k", "m", begin(s3, "m", x_amz_checksum_algorithm="CRC32"), 1)
    assert part.texts("ChecksumCRC32") == [crc32(b"".join(bodies))]


def test_the_checksum_of_a_copy_is_never_that_of_generated_bytes() -> None:
    s3 = Asker(discard=True, md5_always=True)
    put_in_parts(s3, "k", bytes(5 * MIB), b"x")
    noise = s3.ask("GET", "k").body
    first, again = (copy(s3, "k", "c", x_amz_checksum_algorithm="SHA256") for _ in range(2))
    assert first.texts("ChecksumSHA256") == again.texts("ChecksumSHA256")
    assert first.texts("ChecksumSHA256") != [base64.b64encode(hashlib.sha256(noise).digest()).decode()]
    assert len(base64.b64decode(first.texts("ChecksumSHA256")[0])) == 32
    [etag] = first.texts("ETag")
    assert etag.strip('"') != hashlib.md5(noise).hexdigest()
    assert len(etag.strip('"')) == 32
