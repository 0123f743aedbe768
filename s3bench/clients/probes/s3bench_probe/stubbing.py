"""A stub without sockets: answers botocore's requests inside the client's process, as $S3BENCH_STUB_SCRIPT tells.

Replaces `send` of botocore's HTTP session; everything above it (signing, checksums, retries, parsing) is the client's
own. Follows the rules of the real stub: responses in order or by match, file bodies with ranges, every request body
read to its end, a line of JSON for each request.
"""

from __future__ import annotations

import email.utils
import io
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from botocore.awsrequest import AWSResponse
from botocore.httpsession import URLLib3Session

_CHUNK_BYTES = 1 << 20
_RANGE = re.compile(r"bytes=[ \t]*([0-9]{0,19})-([0-9]{0,19})[ \t]*")
_LAST_MODIFIED = email.utils.formatdate(1704067200, usegmt=True)
_OK = 200
_PARTIAL = 206
_UNSATISFIABLE = 416
_BODYLESS = (204, 304)


def install() -> None:
    """Have every botocore session of this process answered by the script."""
    with open(os.environ["S3BENCH_STUB_SCRIPT"], encoding="utf-8") as file:
        stub = Stub(json.load(file))
    URLLib3Session.send = lambda _self, request: stub.send(request)


class Stub:
    """The script's responses, what is left of them, and the log."""

    def __init__(self, script: dict[str, Any]) -> None:
        self._workspace = script["workspace"]
        self._log = os.open(script["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._responses = script["responses"]
        self._left = [response["instances"] for response in self._responses]
        self._lock = threading.Lock()

    def send(self, request: Any) -> AWSResponse:
        """Answer a prepared botocore request."""
        started_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        wire_bytes = _read_out(request.body)
        body_ended_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        headers = {name.lower(): _text(value) for name, value in request.headers.items()}
        parts = urlsplit(request.url)
        position, star = self._take(request.method, unquote(parts.path), parts.query)
        if position is None:
            status, answer, raw, served = _nothing_left(request.method, f"{parts.path}?{parts.query}".rstrip("?"))
        else:
            response = self._responses[position]
            time.sleep(response["delay_s"])
            status, answer, raw, served = self._answer(response, star, request.method, headers.get("range", ""))
        self._write({
            "method": request.method,
            "path": unquote(parts.path),
            "query": parts.query,
            "byte_range": headers.get("range", ""),
            "attempt": headers.get("amz-sdk-request", ""),
            "started_ns": started_ns,
            "body_ended_ns": body_ended_ns,
            "ended_ns": time.clock_gettime_ns(time.CLOCK_MONOTONIC),
            "status": status,
            "body_bytes": int(headers.get("x-amz-decoded-content-length", wire_bytes)),
            "wire_bytes": wire_bytes,
            "response": position,
            **served,
        })  # fmt: skip
        return AWSResponse(request.url, status, answer, raw)

    def _take(self, method: str, path: str, query: str) -> tuple[int | None, str]:
        """Take the first response that fits and is not used up, and what the `*` of its path stood for."""
        with self._lock:
            for position, response in enumerate(self._responses):
                star = None if self._left[position] == 0 else fits(response["match"], method, path, query)
                if star is not None:
                    if self._left[position] is not None:
                        self._left[position] -= 1
                    return position, star
        return None, ""

    def _answer(
        self, response: dict[str, Any], star: str, method: str, byte_range: str
    ) -> tuple[int, dict[str, str], Raw, dict[str, Any]]:
        status = response["status_code"]
        body, name = response["body"].encode("utf-8"), response["file"]
        size_bytes, start, end = len(body), 0, len(body)
        headers = {"ETag": '"00000000000000000000000000000001-1"', "x-amz-request-id": "S3BENCH000000001"}
        if name:
            name = name.replace("*", star)
            size_bytes = end = os.stat(os.path.join(self._workspace, name)).st_size
            if response["match"] and status == _OK and method in {"GET", "HEAD"} and byte_range:
                start, end, status = slice_of(byte_range, size_bytes)
                headers.update(_content_range(start, end, size_bytes, status))
        if method in {"GET", "HEAD"}:
            headers["Last-Modified"] = _LAST_MODIFIED
        headers.update(response["headers"])
        if method != "HEAD" or name:
            headers["Content-Length"] = str(end - start)
        empty = method == "HEAD" or status in _BODYLESS
        source = self._open(name, start) if name and not empty else io.BytesIO(b"" if empty else body)
        sent = 0 if empty else end - start
        served = {
            "file": name if sent else "",
            "start": start,
            "end": start + sent if name else 0,
            "response_bytes": sent,
        }
        return status, headers, Raw(source, sent), {**served, "error": ""}

    def _open(self, name: str, start: int) -> io.BufferedReader:
        file = open(os.path.join(self._workspace, name), "rb")  # noqa: SIM115 (closed by its reader)
        file.seek(start)
        return file

    def _write(self, record: dict[str, Any]) -> None:
        os.write(self._log, json.dumps(record).encode("utf-8") + b"\n")


class Raw:
    """The part of urllib3's response that botocore and s3transfer read."""

    def __init__(self, source: Any, left: int) -> None:
        self._source = source
        self._left = left

    def read(self, amt: int | None = None, **_: Any) -> bytes:
        """Up to `amt` bytes, or all that is left."""
        data: bytes = self._source.read(self._left if amt is None else min(amt, self._left))
        self._left -= len(data)
        if not self._left:
            self._source.close()
            self._source = io.BytesIO()
        return data

    def stream(self, amt: int = _CHUNK_BYTES, **_: Any) -> Iterator[bytes]:
        """All that is left, in pieces."""
        while self._left:
            yield self.read(amt)

    def readable(self) -> bool:
        """Say that it is."""
        return True

    def close(self) -> None:
        """End reading."""
        self._source.close()

    def release_conn(self) -> None:
        """There is no connection."""


def fits(match: dict[str, Any] | None, method: str, path: str, query: str) -> str | None:
    """Tell what the `*` of the match's path stands for when it fits the request (empty without one); else `None`."""
    if match is None:
        return ""
    if match["method"] is not None and match["method"] != method:
        return None
    star = ""
    if match["path"] is not None:
        found = _wildcard(match["path"], path)
        if found is None:
            return None
        star = found
    given = dict(parse_qsl(query, keep_blank_values=True))
    if all(name in given and value in {"", given[name]} for name, value in match["query"]):
        return star
    return None


def _wildcard(pattern: str, path: str) -> str | None:
    """What the first `*` stands for in `path`, as much as it can; `None` where the pattern does not fit.

    As in `s3bench.s3.stub.script`, the texts between the stars are searched for from the end, each once.
    """
    start, *texts = pattern.split("*")
    if not texts:
        return "" if path == pattern else None
    end = len(path) - len(texts[-1])
    if len(start) > end or not path.startswith(start) or not path.endswith(texts[-1]):
        return None
    for text in reversed(texts[:-1]):
        end = path.rfind(text, len(start), end)
        if end < 0:
            return None
    return path[len(start) : end]


def slice_of(byte_range: str, size_bytes: int) -> tuple[int, int, int]:
    """Start, end and status for a Range header: 206, 416, or 200 for one that is to be ignored (RFC 9110 14.2)."""
    found = _RANGE.fullmatch(byte_range)
    if found is None or not (found[1] or found[2]):
        return 0, size_bytes, _OK
    first, last = found[1], found[2]
    if not first:
        start, end = max(0, size_bytes - int(last)), size_bytes
    else:
        start, end = int(first), min(int(last) + 1, size_bytes) if last else size_bytes
        if last and int(last) < int(first):
            return 0, size_bytes, _OK
    return (start, end, _PARTIAL) if start < end else (0, 0, _UNSATISFIABLE)


def _content_range(start: int, end: int, size_bytes: int, status: int) -> dict[str, str]:
    if status == _OK:
        return {}
    span = f"{start}-{end - 1}" if status == _PARTIAL else "*"
    return {"Content-Range": f"bytes {span}/{size_bytes}"}


def _read_out(body: Any) -> int:
    """Read a request body as the socket would; how many bytes it had."""
    if body is None:
        return 0
    if isinstance(body, (bytes, bytearray, str)):
        return len(body)
    if not hasattr(body, "read"):
        return sum(len(chunk) for chunk in body)
    total = 0
    while chunk := body.read(_CHUNK_BYTES):
        total += len(chunk)
    return total


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _nothing_left(method: str, target: str) -> tuple[int, dict[str, str], Raw, dict[str, Any]]:
    message = f"no response left for {method} {target}"
    body = f"<Error><Code>NoResponseLeft</Code><Message>{message}</Message></Error>".encode()
    headers = {"Content-Type": "application/xml", "Content-Length": str(len(body))}
    served = {"file": "", "start": 0, "end": 0, "response_bytes": len(body), "error": message}
    return 400, headers, Raw(io.BytesIO(body), len(body)), served
