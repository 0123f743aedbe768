"""Checksums of bodies as requests declare them."""

import base64

from s3bench.s3.protocol.checksums import digest_of

ALGORITHMS = ("crc32", "crc32c", "crc64nvme", "sha1", "sha256")


def checksum(algorithm: str, body: bytes) -> str:
    """Give the checksum of `body` in base64."""
    return base64.b64encode(digest_of(algorithm, [memoryview(body)])).decode()


def declared(algorithm: str, body: bytes) -> dict[str, str]:
    """Give the header that declares it."""
    name = "Content-MD5" if algorithm == "md5" else f"x-amz-checksum-{algorithm}"
    return {name: checksum(algorithm, body)}
