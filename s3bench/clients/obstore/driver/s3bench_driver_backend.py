"""obstore behind the interface of `transfers`: a file in each of several threads, as its users move many."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import obstore  # type: ignore[import-not-found,unused-ignore]
from obstore.store import S3Store  # type: ignore[import-not-found,unused-ignore]
from s3bench_probe.milestones import MilestoneLog  # type: ignore[import-not-found,unused-ignore]
from s3bench_probe.transfers import Object  # type: ignore[import-not-found,unused-ignore]

_THREADS = 10
_CONCURRENCY = 12


def make_backend(request: dict[str, Any], milestones: MilestoneLog) -> ObstoreBackend:
    """Make the backend for a driver's request."""
    return ObstoreBackend(request, milestones)


class ObstoreBackend:
    """A store for each bucket, and a pool of threads for files; each download in parts has a pool of its own."""

    def __init__(self, request: dict[str, Any], milestones: MilestoneLog) -> None:
        self._request = request
        self._milestones = milestones
        self._settings = request["settings"]
        self._stores: dict[str, Any] = {}
        self._files = ThreadPoolExecutor(self._settings.get("threads", _THREADS))
        milestones.mark("client_created")

    def __enter__(self) -> ObstoreBackend:  # noqa: PYI034 (Self is of Python 3.11)
        return self

    def __exit__(self, *raised: object) -> None:
        self._files.shutdown()

    def list(self, bucket: str, prefix: str) -> Iterator[Object]:
        """Objects below `prefix`, by ListObjectsV2."""
        for page in obstore.list(self._store(bucket), prefix=prefix):
            for item in page:
                yield Object(item["path"], item["path"], item["size"], item["last_modified"].timestamp(), item["e_tag"])

    def upload(self, path: str, bucket: str, key: str) -> Future[Any]:
        """Start the upload of a file."""
        names = ("chunk_size", "max_concurrency")
        options = {name: self._settings[name] for name in names if name in self._settings}
        return self._start(self._upload, self._store(bucket), key, path, options)

    def _upload(self, store: Any, key: str, path: str, options: dict[str, int]) -> None:
        with open(path, "rb") as file:
            obstore.put(store, key, file, **options)

    def download(self, bucket: str, item: Object, path: str) -> Future[Any]:
        """Start a download to a file: one request, or ranged ones where parts are asked for."""
        fetch = self._download_parts if "chunk_size" in self._settings else self._download
        return self._start(fetch, self._store(bucket), item, path)

    def _download(self, store: Any, item: Object, path: str) -> None:
        with open(path, "wb") as file:
            file.writelines(obstore.get(store, item.where))

    def _download_parts(self, store: Any, item: Object, path: str) -> None:
        """Fetch up to `max_concurrency` parts of this file at once, as `obstore.put` sends those of each file."""
        size = obstore.head(store, item.where)["size"] if item.size_bytes is None else item.size_bytes
        step = self._settings["chunk_size"]
        with open(path, "wb") as file, ThreadPoolExecutor(self._settings.get("max_concurrency", _CONCURRENCY)) as pool:
            os.truncate(file.fileno(), size)

            def fetch(start: int) -> None:
                data = obstore.get_range(store, item.where, start=start, end=min(start + step, size))
                os.pwrite(file.fileno(), data, start)

            for done in [pool.submit(fetch, start) for start in range(0, size, step)]:
                done.result()

    def copy(self, source: dict[str, str], bucket: str, key: str) -> Future[Any]:
        """Start a copy inside a bucket: a store has only one."""
        if source["Bucket"] != bucket:
            raise ValueError("obstore copies inside one bucket alone")
        return self._start(obstore.copy, self._store(bucket), source["Key"], key)

    def delete(self, bucket: str, key: str) -> Future[Any]:
        """Start a delete."""
        return self._start(obstore.delete, self._store(bucket), key)

    def _start(self, work: Any, *arguments: Any) -> Future[Any]:
        self._milestones.mark("first_client_invocation")
        return self._files.submit(work, *arguments)

    def _store(self, bucket: str) -> Any:
        if bucket not in self._stores:
            url = self._request["endpoint_url"]
            self._stores[bucket] = S3Store(
                bucket,
                endpoint=url,
                region=self._request["region"],
                access_key_id=os.environ["AWS_ACCESS_KEY_ID"],
                secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"],
                **({"session_token": os.environ["AWS_SESSION_TOKEN"]} if "AWS_SESSION_TOKEN" in os.environ else {}),
                virtual_hosted_style_request=False,
                client_options={"allow_http": url.startswith("http:"), **self._authority()},
            )
        return self._stores[bucket]

    def _authority(self) -> dict[str, bytes]:
        bundle = self._request["ca_bundle"]
        if bundle is None:
            return {}
        with open(bundle, "rb") as file:
            return {"root_certificate": file.read()}
