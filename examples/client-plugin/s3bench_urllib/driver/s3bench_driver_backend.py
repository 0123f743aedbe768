"""The backend: what s3bench's driver calls inside the measured process."""

from __future__ import annotations

import shutil
import urllib.request
from collections.abc import Iterator
from typing import Any


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

    def list(self, bucket: str, prefix: str) -> Iterator[Any]:
        """Directories are more than an example needs."""
        raise NotImplementedError(f"listing {bucket}/{prefix}: this example moves single objects")

    def upload(self, path: str, bucket: str, key: str) -> Done:
        """PUT a file."""
        with open(path, "rb") as file:
            self._send("PUT", bucket, key, file.read())
        return Done()

    def download(self, bucket: str, item: Any, path: str) -> Done:
        """GET into a file."""
        with self._open("GET", bucket, item.where, None) as response, open(path, "wb") as file:
            shutil.copyfileobj(response, file)
        return Done()

    def delete(self, bucket: str, key: str) -> Done:
        """DELETE an object."""
        self._send("DELETE", bucket, key, None)
        return Done()

    def _send(self, method: str, bucket: str, key: str, data: bytes | None) -> None:
        self._open(method, bucket, key, data).close()

    def _open(self, method: str, bucket: str, key: str, data: bytes | None) -> Any:
        self._milestones.mark("first_client_invocation")
        url = f"{self._url}/{bucket}/{key}"
        request = urllib.request.Request(url, data=data, method=method)  # noqa: S310 (s3bench's own server)
        return urllib.request.urlopen(request, timeout=60)  # noqa: S310 (as above)
