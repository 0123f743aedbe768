"""boto3's transfer manager, Classic or CRT, behind the interface of `transfers`."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import boto3.session
from boto3.s3.transfer import TransferConfig, create_transfer_manager
from botocore.config import Config
from s3bench_probe.milestones import MilestoneLog  # type: ignore[import-not-found,unused-ignore]
from s3bench_probe.transfers import Object  # type: ignore[import-not-found,unused-ignore]
from s3transfer.subscribers import BaseSubscriber

# What boto3's CRT takes of the settings; it refuses the others.
_CRT_SETTINGS = ("multipart_threshold", "multipart_chunksize", "max_concurrent_requests")
_NAMES = {"max_concurrent_requests": "max_concurrency"}
_CLASSIC_SETTINGS = (*_CRT_SETTINGS, "max_bandwidth", "io_chunksize")


_CALLBACK_S = 30.0


def make_backend(request: dict[str, Any], milestones: MilestoneLog) -> Boto3Backend:
    """Make the backend for a driver's request."""
    return Boto3Backend(request, milestones)


class Boto3Backend:
    """One S3 client and one transfer manager for the whole command, as a program that cares for speed has it."""

    def __init__(self, request: dict[str, Any], milestones: MilestoneLog) -> None:
        self._settings = request["settings"]
        self._crt = request["kind"] == "boto3-crt"
        self._client = _make_client(request)
        self._client.meta.events.register("before-call", lambda **_: milestones.mark("first_client_invocation"))
        milestones.mark("client_created")
        if self._crt:
            _point_crt_at(request, milestones)
        self._manager: Any = None
        self._copier: Any = None

    def __enter__(self) -> Boto3Backend:  # noqa: PYI034 (Self is of Python 3.11)
        if self._crt:
            from boto3.crt import create_crt_transfer_manager  # noqa: PLC0415 (fails without awscrt)

            # Asked for directly, since boto3 before 1.41 has no way to prefer the CRT. It gives none when another
            # process holds the CRT's lock; boto3 runs Classic then, and so do we: the wire shows it.
            self._manager = create_crt_transfer_manager(self._client, self._config("crt"))
        self._manager = self._manager or self._classic_manager()
        return self

    def __exit__(self, *raised: object) -> None:
        self._manager.__exit__(*raised)
        if self._copier is not None:
            self._copier.__exit__(*raised)

    def _classic_manager(self) -> Any:
        return create_transfer_manager(self._client, self._config("classic"))

    def _config(self, engine: str) -> TransferConfig:
        names = _CRT_SETTINGS if engine == "crt" else _CLASSIC_SETTINGS
        given = {_NAMES.get(name, name): self._settings[name] for name in names if name in self._settings}
        return TransferConfig(preferred_transfer_client=engine, **given)

    def list(self, bucket: str, prefix: str) -> Iterator[Object]:
        """Objects below `prefix`, by ListObjectsV2."""
        for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for item in page.get("Contents", ()):
                yield Object(item["Key"], item["Key"], item["Size"], item["LastModified"].timestamp(), item.get("ETag"))

    def upload(self, path: str, bucket: str, key: str) -> Any:
        """Start the upload of a file."""
        return self._manager.upload(path, bucket, key)

    def download(self, bucket: str, item: Object, path: str) -> Any:
        """Start a download to a file; what a listing told of the object saves Classic a HEAD, as in aws-cli."""
        path = os.path.abspath(path)
        if self._crt:
            done = _Done()
            return _Finished(self._manager.download(bucket, item.where, path, subscribers=[done]), done)
        known = [_Listed(item)] if item.size_bytes is not None else []
        return self._manager.download(bucket, item.where, path, subscribers=known)

    def copy(self, source: dict[str, str], bucket: str, key: str) -> Any:
        """Start a copy inside S3, with the Classic manager as boto3 itself does: the CRT's has no copies."""
        if self._copier is None:
            self._copier = self._classic_manager()
        return self._copier.copy(source, bucket, key)

    def delete(self, bucket: str, key: str) -> Any:
        """Start a DeleteObject."""
        return self._manager.delete(bucket, key)


class _Listed(BaseSubscriber):  # type: ignore[misc,unused-ignore]
    def __init__(self, item: Object) -> None:
        self._item = item

    def on_queued(self, future: Any, **_: Any) -> None:
        future.meta.provide_transfer_size(self._item.size_bytes)
        if hasattr(future.meta, "provide_object_etag"):  # since s3transfer 0.11
            future.meta.provide_object_etag(self._item.etag)


class _Done(BaseSubscriber):  # type: ignore[misc,unused-ignore]
    def __init__(self) -> None:
        self.event = threading.Event()

    def on_done(self, **_: Any) -> None:
        self.event.set()


class _Finished(NamedTuple):
    """A CRT download whose result waits for the file as well.

    awscrt ends the request's future first and calls back then; it is the callback that gives the file its name.
    """

    future: Any
    done: _Done

    def result(self) -> None:
        """Wait for the end and the file's name; raises what went wrong."""
        self.future.result()
        if not self.done.event.wait(_CALLBACK_S):
            raise TimeoutError("the CRT did not call back after the end of a download")


def _make_client(request: dict[str, Any]) -> Any:
    settings = request["settings"]
    # boto3's pool of connections is 10, like its number of threads: more threads need a larger one.
    config = Config(
        s3={"addressing_style": settings.get("addressing_style", "path")},
        max_pool_connections=max(10, settings.get("max_concurrent_requests", 10)),
    )
    return boto3.session.Session().client(
        "s3",
        region_name=request["region"],
        endpoint_url=request["endpoint_url"],
        verify=request["ca_bundle"],
        config=config,
    )


def _point_crt_at(request: dict[str, Any], milestones: MilestoneLog) -> None:
    """Make boto3 build its CRT client for our endpoint: by itself it ignores `endpoint_url` and goes to AWS."""
    import boto3.crt  # noqa: PLC0415 (fails without awscrt, which boto3-classic does not need)
    from s3transfer.crt import BotocoreCRTRequestSerializer, create_s3_crt_client  # noqa: PLC0415 (as above)

    url, settings = request["endpoint_url"], request["settings"]

    def create_client(_session: Any, _config: Any, region_name: str, provider: Any) -> Any:
        return create_s3_crt_client(
            region=region_name,
            crt_credentials_provider=provider,
            use_ssl=url.startswith("https:"),
            verify=request["ca_bundle"],
            target_throughput=settings.get("target_bandwidth"),
        )

    def create_serializer(session: Any, region_name: str) -> Any:
        session.register("before-call", lambda **_: milestones.mark("first_client_invocation"))
        config = Config(s3={"addressing_style": settings.get("addressing_style", "path")})
        return BotocoreCRTRequestSerializer(
            session, {"region_name": region_name, "endpoint_url": url, "config": config}
        )

    boto3.crt._create_crt_client = create_client  # noqa: SLF001 (boto3 offers no other way)
    boto3.crt._create_crt_request_serializer = create_serializer  # noqa: SLF001 (as above)
