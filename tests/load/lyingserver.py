"""An S3 that answers listings and deletions with lies, and keeps a ledger of every key it was told to remove.

Without a lie it is honest. A lie replaces the answer to one kind of question; it gets the honest answer's server and
the question's query.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

BUCKET = "mine"
_SPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer; `body` None resets the connection."""

    body: bytes | None
    status: int = 200
    kind: str = "application/xml"


Query = Mapping[str, str]
Lie = Callable[["LyingServer", Query], Reply]


def objects_page(
    keys: list[str], *, token: str | None = None, truncated: bool | None = None, encoding: str | None = None
) -> Reply:
    """A page of a listing of objects; keys go out as they are."""
    parts = [f"<Name>{BUCKET}</Name><KeyCount>{len(keys)}</KeyCount><MaxKeys>1000</MaxKeys>"]
    parts.append(f"<IsTruncated>{str(bool(token) if truncated is None else truncated).lower()}</IsTruncated>")
    if token:
        parts.append(f"<NextContinuationToken>{token}</NextContinuationToken>")
    if encoding:
        parts.append(f"<EncodingType>{encoding}</EncodingType>")
    parts += [f'<Contents><Key>{escape(key)}</Key><Size>1</Size><ETag>"e"</ETag></Contents>' for key in keys]
    return document("ListBucketResult", "".join(parts))


def uploads_page(keys: list[str], *, marker: str | None = None, upload_id: str = "one") -> Reply:
    """A page of a listing of uploads."""
    parts = [f"<IsTruncated>{str(bool(marker)).lower()}</IsTruncated>"]
    if marker:
        parts.append(f"<NextKeyMarker>{escape(marker)}</NextKeyMarker><NextUploadIdMarker>1</NextUploadIdMarker>")
    parts += [f"<Upload><Key>{escape(key)}</Key><UploadId>{upload_id}</UploadId></Upload>" for key in keys]
    return document("ListMultipartUploadsResult", "".join(parts))


def document(root: str, content: str, *, status: int = 200) -> Reply:
    """An XML document."""
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{_SPACE}">{content}</{root}>'
    return Reply(body=text.encode(), status=status)


def refusal(status: int, code: str) -> Reply:
    """An error as S3 answers it."""
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>no</Message></Error>'
    return Reply(body=text.encode(), status=status)


@dataclass(slots=True)
class LyingServer:
    """The server at `url`, running while the context lasts. `removed` names every key that a request was to remove."""

    objects: list[str] = field(default_factory=list)
    uploads: list[str] = field(default_factory=list)
    list_objects: Lie | None = None
    list_uploads: Lie | None = None
    delete: Lie | None = None
    removed: list[str] = field(default_factory=list)
    questions: int = 0
    url: str = ""
    _server: Any = None

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reply(self, method: str, path: str, query: Query, body: bytes) -> Reply:
        """Answer a request."""
        self.questions += 1
        key = unquote(path).removeprefix(f"/{BUCKET}").removeprefix("/")
        if method == "HEAD":
            return Reply(body=b"")
        if method == "GET" and "uploads" in query:
            return (self.list_uploads or _honest_uploads)(self, query)
        if method == "GET" and not key:
            return (self.list_objects or _honest_objects)(self, query)
        if method == "POST" and "delete" in query:
            named = [each.text or "" for each in ET.fromstring(body).iter(f"{{{_SPACE}}}Key")]
            self.removed += named
            if self.delete is not None:
                return self.delete(self, query)
            self.objects = [each for each in self.objects if each not in named]
            return document("DeleteResult", "".join(f"<Deleted><Key>{escape(each)}</Key></Deleted>" for each in named))
        if method == "DELETE":
            self.removed.append(key)
            self.uploads = [each for each in self.uploads if each != key]
            return Reply(body=b"", status=204)
        if method == "PUT":
            self.objects.append(key)
            return Reply(body=b"")
        return refusal(501, "NotImplemented")


def _honest_objects(server: LyingServer, query: Query) -> Reply:
    keys = sorted(each for each in server.objects if each.startswith(query.get("prefix", "")))
    after = [each for each in keys if each > query.get("continuation-token", "")]
    page = [quote(each, safe="/") for each in after[:1000]]
    return objects_page(page, token=after[999] if len(after) > 1000 else None, encoding="url")


def _honest_uploads(server: LyingServer, query: Query) -> Reply:
    return uploads_page([each for each in server.uploads if each.startswith(query.get("prefix", ""))])


def _handler(server: LyingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else its head and body cost 40 ms

        def _answer(self) -> None:
            where = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            reply = server.reply(self.command, where.path, dict(parse_qsl(where.query, keep_blank_values=True)), body)
            if reply.body is None:
                self.close_connection = True
                return
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.kind)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_HEAD = do_POST = do_DELETE = do_PUT = _answer  # noqa: N815 (http.server's names)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
