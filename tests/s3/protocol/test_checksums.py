"""Checksums by their published check values, and which ones a request claims."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.s3.protocol.checksums import Verifier, load_algorithms, verifier_for
from s3bench.s3.protocol.http import RequestHead, parse_head

DATA = b"123456789"
# Check values of "123456789": RFC 1321 and FIPS 180-4 by hashlib, the CRCs from the catalogue of parametrised CRCs
# (CRC-32/ISO-HDLC, CRC-32/ISCSI, CRC-64/NVME).
CHECKS = {
    "crc32": bytes.fromhex("cbf43926"),
    "crc32c": bytes.fromhex("e3069283"),
    "crc64nvme": bytes.fromhex("ae8b14860a799888"),
    "sha1": hashlib.sha1(DATA).digest(),
    "sha256": hashlib.sha256(DATA).digest(),
}
WRONG = base64.b64encode(bytes(4)).decode()
RIGHT = base64.b64encode(CHECKS["crc32"]).decode()


def base64_of(digest: bytes) -> str:
    return base64.b64encode(digest).decode()


def head_with(*lines: str, method: str = "PUT", target: str = "/b/k") -> RequestHead:
    return parse_head("\r\n".join((f"{method} {target} HTTP/1.1", "Host: h", *lines)).encode())


def verify(head: RequestHead, *pieces: bytes, trailers: dict[str, str] | None = None) -> tuple[dict[str, bool], str]:
    verifier = verifier_for(head)
    assert isinstance(verifier, Verifier)
    for piece in pieces:
        verifier.update(memoryview(piece))
    return verifier.outcome(trailers or {})


@pytest.mark.parametrize("name", CHECKS)
def test_a_checksum_header_is_verified(name: str) -> None:
    right = head_with(f"x-amz-checksum-{name}: {base64_of(CHECKS[name])}")
    assert verify(right, DATA[:4], DATA[4:]) == ({name: True}, "")
    results, wrong = verify(right, DATA[:4])
    assert results == {name: False}
    assert f"x-amz-checksum-{name}" in wrong


@pytest.mark.parametrize("name", CHECKS)
def test_a_checksum_trailer_is_verified(name: str) -> None:
    head = head_with(f"x-amz-trailer: X-Amz-Checksum-{name.upper()}")
    trailers = {f"x-amz-checksum-{name}": base64_of(CHECKS[name])}
    assert verify(head, DATA, trailers=trailers) == ({name: True}, "")
    assert verify(head, b"other", trailers=trailers)[0] == {name: False}
    assert verify(head, DATA) == ({name: False}, f"the announced trailer x-amz-checksum-{name} did not come")


def test_content_md5_and_the_payload_hash_are_verified() -> None:
    md5, sha256 = base64_of(hashlib.md5(DATA).digest()), hashlib.sha256(DATA).hexdigest()
    head = head_with(f"Content-MD5: {md5}", f"x-amz-content-sha256: {sha256}")
    assert verify(head, DATA) == ({"md5": True, "content-sha256": True}, "")
    assert verify(head, b"")[0] == {"md5": False, "content-sha256": False}


@pytest.mark.parametrize("value", ["?", "AAAA", "", "é", WRONG + "=", "0" * 70, "*" + RIGHT])
def test_a_value_that_is_no_checksum_is_wrong(value: str) -> None:
    assert verify(head_with(f"x-amz-checksum-crc32: {value}"), DATA)[0] == {"crc32": False}


@pytest.mark.parametrize(
    ("header", "trailer", "right"), [(RIGHT, RIGHT, True), (WRONG, RIGHT, False), (RIGHT, WRONG, False)]
)
def test_a_checksum_that_comes_in_header_and_trailer_is_right_only_if_both_are(
    header: str, trailer: str, right: bool
) -> None:
    head = head_with(f"x-amz-checksum-crc32: {header}", "x-amz-trailer: x-amz-checksum-crc32")
    assert verify(head, DATA, trailers={"x-amz-checksum-crc32": trailer})[0] == {"crc32": right}


def test_a_payload_hash_that_is_no_hex_is_wrong() -> None:
    assert verify(head_with(f"x-amz-content-sha256: {'z' * 64}"), DATA)[0] == {"content-sha256": False}


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ("x-amz-content-sha256: UNSIGNED-PAYLOAD",),
        ("x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER",),
        ("x-amz-checksum-algorithm: CRC32", "x-amz-checksum-mode: ENABLED", "x-amz-checksum-type: FULL_OBJECT"),
        ("x-amz-checksum-future: AAAA",),
    ],
)
def test_a_request_without_checksums_needs_no_verifier(lines: tuple[str, ...]) -> None:
    assert verifier_for(head_with(*lines)) is None


def test_the_objects_checksum_on_complete_multipart_upload_is_not_the_bodys() -> None:
    crc = f"x-amz-checksum-crc32: {WRONG}"
    assert verifier_for(head_with(crc, method="POST", target="/b/k?uploadId=x")) is None
    assert verifier_for(head_with(crc, method="POST", target="/b?delete")) is not None
    assert verifier_for(head_with(crc, target="/b/k?partNumber=1&uploadId=x")) is not None


@given(st.lists(st.binary(max_size=50), max_size=8), st.sampled_from(sorted(CHECKS)))
def test_the_pieces_do_not_matter(pieces: list[bytes], name: str) -> None:
    load_algorithms()
    head = head_with(f"x-amz-checksum-{name}: {WRONG}")
    assert verify(head, *pieces) == verify(head, b"".join(pieces))


def test_the_payload_hash_in_a_presigned_query_is_verified_unless_a_header_has_one() -> None:
    target = f"/b/k?X-Amz-Expires=60&X-Amz-Content-Sha256={CHECKS['sha256'].hex()}&a=b"
    assert verify(head_with(target=target), DATA) == ({"content-sha256": True}, "")
    assert verify(head_with(target=target), b"other")[0] == {"content-sha256": False}
    assert verifier_for(head_with("x-amz-content-sha256: UNSIGNED-PAYLOAD", target=target)) is None
    assert verifier_for(head_with(target="/b/k?X-Amz-Content-Sha256=UNSIGNED-PAYLOAD")) is None
