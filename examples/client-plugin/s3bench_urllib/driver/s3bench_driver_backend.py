"""The backend: what s3bench's driver calls inside the measured process."""

from __future__ import annotations

import shutil
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from s3bench_probe.transfers import Object  # type: ignore[import-not-found,unused-ignore]

_NAMESPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


def make_backend(request: dict[str, Any], milestones: Any) -> UrllibBackend:
    """Make the backend for a driver's request."""
    milestones.mark("client_created")
    return UrllibBackend(request["endpoint_url"], milestones)


class Done:
    """What was done at once has nothing to wait for."""

    def result(self) -> None:
        """Return."""


class UrllibBackend:
    """One request after the other; without signatures, so for servers of s3bench alone."""

    def __init__(self, url: str, milestones: Any) -> None:
        self._url = url
        self._milestones = milestones

    def __enter__(self) -> UrllibBackend:  # noqa: PYI034 (Self is of Python 3.11)
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def list(self, bucket: str, prefix: str) -> Iterator[Object]:
        """Objects below `prefix`, by ListObjectsV2."""
        query = {"list-type": "2", "prefix": prefix}
        while True:
            with self._open("GET", f"{bucket}?{urlencode(query)}") as response:
                page = ET.parse(response).getroot()  # noqa: S314 (s3bench's own server)
            for item in page.iter(f"{_NAMESPACE}Contents"):
                key, size, modified = (item.findtext(f"{_NAMESPACE}{name}") for name in ("Key", "Size", "LastModified"))
                yield Object(key, key, int(size), datetime.fromisoformat(modified).timestamp())
            query["continuation-token"] = page.findtext(f"{_NAMESPACE}NextContinuationToken") or ""
            if not query["continuation-token"]:
                return

    def upload(self, path: str, bucket: str, key: str) -> Done:
        """PUT a file."""
        with open(path, "rb") as file:
            self._send("PUT", bucket, key, file.read())
        return Done()

    def download(self, bucket: str, item: Any, path: str) -> Done:
        """GET into a file."""
        with self._open("GET", f"{bucket}/{quote(item.where)}") as response, open(path, "wb") as file:
            shutil.copyfileobj(response, file)
        return Done()

    def delete(self, bucket: str, key: str) -> Done:
        """DELETE an object."""
        self._send("DELETE", bucket, key)
        return Done()

    def _send(self, method: str, bucket: str, key: str, data: bytes | None = None) -> None:
        self._open(method, f"{bucket}/{quote(key)}", data).close()

    def _open(self, method: str, path: str, data: bytes | None = None) -> Any:
        self._milestones.mark("first_client_invocation")
        request = urllib.request.Request(f"{self._url}/{path}", data=data, method=method)  # noqa: S310 (s3bench's own server)
        return urllib.request.urlopen(request, timeout=60)  # noqa: S310 (as above)
