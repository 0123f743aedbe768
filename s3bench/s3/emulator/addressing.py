"""Tells the bucket that a Host header names, and the URL of an object as its client addresses it."""

from typing import Literal
from urllib.parse import quote

from s3bench.s3.emulator.operation import bucket_of_host

Scheme = Literal["http", "https"]

_HOSTS_MAX = 1000


class BucketAddressing:
    """How an endpoint is addressed: its `scheme`, and the `domain` behind the bucket in virtual-hosted requests."""

    def __init__(self, domain: str, scheme: Scheme) -> None:
        self._domain = domain.lower()
        self._scheme = scheme
        self._buckets: dict[str, str] = {}  # by Host header

    def bucket_of(self, host: str) -> str:
        """Give the bucket that the Host header names; empty for a path-style request."""
        bucket = self._buckets.get(host)
        if bucket is None:
            bucket = bucket_of_host(host, self._domain)
            if len(self._buckets) < _HOSTS_MAX:
                self._buckets[host] = bucket
        return bucket

    def url_of(self, host: str, bucket: str, key: str) -> str:
        """Give the URL of an object for a client that asked `host` for it; a slash in the key is `%2F`, as S3 has it.

        https://github.com/aws/aws-sdk-js/issues/811, for forms https://github.com/ceph/ceph/pull/20330.
        """
        place = host if self.bucket_of(host) else f"{host}/{bucket}"
        return f"{self._scheme}://{place}/{quote(key, safe='', errors='surrogatepass')}"
