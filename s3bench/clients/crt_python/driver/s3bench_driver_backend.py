"""awscrt's S3 client by itself, behind the interface of `transfers`: no botocore, no HEAD, no checksum unless asked.

Requests are made as the S3 API reference has them, path-style; the CRT splits, signs and retries them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from awscrt.auth import AwsCredentialsProvider
from awscrt.http import HttpHeaders, HttpRequest
from awscrt.io import ClientBootstrap, ClientTlsContext, DefaultHostResolver, EventLoopGroup, TlsContextOptions
from awscrt.s3 import S3Client, S3Request, S3RequestTlsMode, S3RequestType, get_recommended_throughput_target_gbps
from s3bench_probe.milestones import MilestoneLog  # type: ignore[import-not-found,unused-ignore]
from s3bench_probe.transfers import Object  # type: ignore[import-not-found,unused-ignore]

# As many requests as s3transfer hands to the CRT at once.
_IN_FLIGHT_MAX = 128
_NAMESPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"
_FALLBACK_GBPS = 10.0


def make_backend(request: dict[str, Any], milestones: MilestoneLog) -> CrtBackend:
    """Make the backend for a driver's request."""
    return CrtBackend(request, milestones)


class CrtBackend:
    """One CRT S3 client for the whole command."""

    def __init__(self, request: dict[str, Any], milestones: MilestoneLog) -> None:
        self._host = urlsplit(request["endpoint_url"]).netloc
        self._settings = request["settings"]
        self._milestones = milestones
        self._free = threading.BoundedSemaphore(_IN_FLIGHT_MAX)
        self._client = _make_client(request)
        milestones.mark("client_created")

    def __enter__(self) -> CrtBackend:  # noqa: PYI034 (Self is of Python 3.11)
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def upload(self, path: str, bucket: str, key: str) -> Any:
        """Start the upload of a file."""
        return self._start(
            S3RequestType.PUT_OBJECT,
            "PUT",
            _path(bucket, key),
            {"Content-Length": str(os.path.getsize(path))},
            send_filepath=path,
        )

    def download(self, bucket: str, item: Object, path: str) -> Any:
        """Start a download to a file; the CRT learns the size from the first part."""
        return self._start(S3RequestType.GET_OBJECT, "GET", _path(bucket, item.where), {}, recv_filepath=path)

    def copy(self, source: dict[str, str], bucket: str, key: str) -> Any:
        """Start a copy inside S3: one CopyObject, as awscrt for Python has no request of its own for it."""
        headers = {"x-amz-copy-source": _path(source["Bucket"], source["Key"])}
        return self._start(S3RequestType.DEFAULT, "PUT", _path(bucket, key), headers, operation_name="CopyObject")

    def delete(self, bucket: str, key: str) -> Any:
        """Start a DeleteObject."""
        return self._start(S3RequestType.DEFAULT, "DELETE", _path(bucket, key), {}, operation_name="DeleteObject")

    def list(self, bucket: str, prefix: str) -> Iterator[Object]:
        """Objects below `prefix`, by ListObjectsV2."""
        token = ""
        while True:
            query = f"list-type=2&prefix={quote(prefix, safe='')}" + (f"&continuation-token={token}" if token else "")
            chunks: list[bytes] = []
            self._start(
                S3RequestType.DEFAULT,
                "GET",
                f"/{bucket}?{query}",
                {},
                operation_name="ListObjectsV2",
                on_body=lambda chunk, **_: chunks.append(chunk),  # noqa: B023 (awaited before the next turn)
            ).result()
            page = parse_xml(b"".join(chunks))
            space = _NAMESPACE if page.tag.startswith(_NAMESPACE) else ""
            for item in page.iter(f"{space}Contents"):
                yield _object(item, space)
            token = quote(page.findtext(f"{space}NextContinuationToken") or "", safe="")
            if page.findtext(f"{space}IsTruncated") != "true" or not token:
                return

    def _start(self, kind: S3RequestType, method: str, path: str, headers: dict[str, str], **options: Any) -> Any:
        self._free.acquire()
        message = HttpRequest(method, path, HttpHeaders([("Host", self._host), *headers.items()]))
        if "Content-Length" not in headers:
            message.headers.add("Content-Length", "0")
        if "max_concurrent_requests" in self._settings:
            options["max_active_connections_override"] = self._settings["max_concurrent_requests"]
        self._milestones.mark("first_client_invocation")
        try:
            request = self._client.make_request(
                type=kind, request=message, on_done=lambda **_: self._free.release(), **options
            )
        except BaseException:
            self._free.release()
            raise
        return _Started(request)


class _Started(NamedTuple):
    """A request on its way; holding it keeps the CRT's own object alive."""

    request: S3Request

    def result(self) -> None:
        """Wait for the end; raises what went wrong."""
        self.request.finished_future.result()


def _make_client(request: dict[str, Any]) -> S3Client:
    settings = request["settings"]
    secure = request["endpoint_url"].startswith("https:")
    loops = EventLoopGroup()
    tls = None
    if secure and request["ca_bundle"]:
        context = TlsContextOptions()
        context.override_default_trust_store_from_path(ca_filepath=request["ca_bundle"])
        tls = ClientTlsContext(context).new_connection_options()
    return S3Client(
        bootstrap=ClientBootstrap(loops, DefaultHostResolver(loops)),
        region=request["region"],
        credential_provider=AwsCredentialsProvider.new_static(
            os.environ["AWS_ACCESS_KEY_ID"],
            os.environ["AWS_SECRET_ACCESS_KEY"],
            os.environ.get("AWS_SESSION_TOKEN"),
        ),
        tls_mode=S3RequestTlsMode.ENABLED if secure else S3RequestTlsMode.DISABLED,
        tls_connection_options=tls,
        part_size=settings.get("multipart_chunksize"),
        multipart_upload_threshold=settings.get("multipart_threshold"),
        throughput_target_gbps=_target_gbps(settings),
    )


def _target_gbps(settings: dict[str, Any]) -> float:
    if "target_bandwidth" in settings:
        return float(settings["target_bandwidth"]) * 8 / 1e9
    return get_recommended_throughput_target_gbps() or _FALLBACK_GBPS


def parse_xml(document: bytes) -> Any:
    """Parse an XML document from the server. Raises `ValueError` for a document type declaration."""
    from xml.etree import ElementTree  # noqa: ICN001, PLC0415 (only for listings)

    class Builder(ElementTree.TreeBuilder):
        def doctype(self, *_: Any) -> None:
            raise ValueError("the listing has a document type declaration")

    return ElementTree.fromstring(document, parser=ElementTree.XMLParser(target=Builder()))  # noqa: S314 (no entities)


def _path(bucket: str, key: str) -> str:
    return f"/{bucket}/{quote(key, safe='/~')}"


def _object(item: Any, space: str) -> Object:
    from datetime import datetime  # noqa: PLC0415 (only for listings)

    key = item.findtext(f"{space}Key") or ""
    modified = (item.findtext(f"{space}LastModified") or "1970-01-01T00:00:00Z").replace("Z", "+00:00")
    # Python before 3.11 reads milliseconds only when they have three digits, as S3 writes them.
    modified_s = datetime.fromisoformat(modified).timestamp()
    return Object(key, key, int(item.findtext(f"{space}Size") or 0), modified_s, item.findtext(f"{space}ETag"))
