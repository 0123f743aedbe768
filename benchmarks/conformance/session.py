"""Calls to one server, and its answers reduced to what can be compared.

Owns how a call is made (through botocore, or by bytes of our own) and what of an answer counts: the status, the error
code, the headers that carry meaning, the body with its volatile values masked. Which calls are made, the cases decide.
"""

import hashlib
import http.client
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import botocore.auth
import botocore.awsrequest
import botocore.client
import botocore.config
import botocore.credentials
import botocore.exceptions
import botocore.session

from conformance.servers import ACCESS_KEY, DOMAIN, SECRET_KEY, Server

REGION = "us-east-1"
NOTHING = "nothing"
"""Stands for an id that an earlier call should have given, and did not."""

_TIMEOUT_S = 6
_SHOWN_BYTES = 64

_HEADERS = re.compile(
    r"accept-ranges|allow|cache-control|content-(?!length$|type$).*|expires|etag|last-modified|location|"
    r"x-amz-(meta-.*|checksum-.*|version-id|delete-marker|mp-parts-count|tagging-count|storage-class|bucket-region|"
    r"copy-source-version-id|website-redirect-location|abort-.*|missing-meta)"
)
_OF_DATA = frozenset({"content-length", "content-type"})  # say something only where the body is an object's
_MASKED = {
    "LastModified", "CreationDate", "Initiated", "Owner", "Initiator", "NextContinuationToken", "ContinuationToken",
    "Location", "RequestId", "HostId",
}  # fmt: skip
_IDS = {
    "UploadId": "upload", "VersionId": "version", "NextVersionIdMarker": "version", "VersionIdMarker": "version",
    "NextUploadIdMarker": "upload", "UploadIdMarker": "upload", "DeleteMarkerVersionId": "version",
    "CopySourceVersionId": "version",
}  # fmt: skip
_ID_HEADERS = {"x-amz-version-id", "x-amz-copy-source-version-id"}
_TIMES = {"last-modified"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What counts of an answer. A status of 0 says that there was none, and `code` why."""

    status: int
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


class Session:
    """All calls of one run against one server; `answers` are by the names of the calls, in order."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.answers: dict[str, Answer] = {}
        self.area = ""
        self.bucket = ""
        self._ids: dict[str, str] = {}
        self._botocore = botocore.session.Session()
        self.client = self._client()

    def _client(self) -> Any:
        config = botocore.config.Config(
            retries={"total_max_attempts": 1},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            signature_version="s3v4",
            s3={"addressing_style": "path", "payload_signing_enabled": True},
            read_timeout=_TIMEOUT_S,
            connect_timeout=_TIMEOUT_S,
        )
        return self._botocore.create_client(
            "s3",
            region_name=REGION,
            endpoint_url=self.server.url,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=config,
        )

    def in_area(self, area: str, *, versioning: str = "") -> None:
        """Go on in a bucket of its own, whose versioning is made as asked; nothing of that is compared."""
        self.area = area
        self.bucket = f"conformance-{area}"
        self.client.create_bucket(Bucket=self.bucket)
        if versioning:
            self.client.put_bucket_versioning(Bucket=self.bucket, VersioningConfiguration={"Status": versioning})

    def call(self, name: str, operation: str, **parameters: Any) -> dict[str, Any]:
        """Call an operation through botocore and note the answer as `name`; gives the parsed response."""
        if operation != "ListBuckets":
            parameters.setdefault("Bucket", self.bucket)
        method = getattr(self.client, botocore.xform_name(operation))
        response: dict[str, Any]
        try:
            response = method(**parameters)
        except botocore.exceptions.ClientError as error:
            response = dict(error.response)
        except (botocore.exceptions.BotoCoreError, http.client.HTTPException, OSError) as error:
            self._note(name, Answer(status=0, code=type(error).__name__))
            return {}
        meta = response.pop("ResponseMetadata")
        code = response.pop("Error", {}).get("Code", "")
        data = response.pop("Body", None)
        body: Any = {} if code else self._of_body(operation, response)
        if data is not None:
            body = _shown(data.read())
        headers = self._headers(meta["HTTPHeaders"], of_data=operation in {"GetObject", "HeadObject"} and not code)
        self._note(name, Answer(status=meta["HTTPStatusCode"], code=code, headers=headers, body=self._masked(body)))
        return response

    def raw(
        self,
        name: str,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        payload: str | None = None,
        signed: bool = True,
        length: bool = True,
        host: str | None = None,
        of_data: bool = False,
        pieces: tuple[bytes, ...] = (),
    ) -> Answer:
        """Send a request of our own to `target`, below the area's bucket unless it begins with a slash.

        `payload` replaces the hash of the body in the signature; without `length` no Content-Length goes out; `pieces`
        are sent as chunks (RFC 9112 7.1).
        """
        target = target if target.startswith("/") else f"/{self.bucket}/{target}"
        netloc = urlsplit(self.server.url).netloc
        fields = {"Host": host or netloc, **(headers or {})}
        if signed:
            fields = _signed(method, f"http://{fields['Host']}{target}", fields, body, payload)
        connection = http.client.HTTPConnection(netloc, timeout=_TIMEOUT_S)
        try:
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            for field_name, value in fields.items():
                connection.putheader(field_name, value.encode())
            if pieces:
                connection.putheader("Transfer-Encoding", "chunked")
            elif length and (body or method in {"PUT", "POST"}):
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders()
            if pieces:
                body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
            if body:
                connection.send(body)
            response = connection.getresponse()
            data = response.read()
            answer = self._raw_answer(response, data, of_data=of_data)
        except (http.client.HTTPException, OSError) as error:
            answer = Answer(status=0, code=type(error).__name__)
        finally:
            connection.close()
        self._note(name, answer)
        return answer

    def presigned(self, name: str, operation: str, *, expires_s: int = 60, change: tuple[str, str] = ("", ""),
                  body: bytes = b"", **parameters: Any) -> Answer:  # fmt: skip
        """Call a presigned URL with no other header; `change` replaces something in the URL, and so breaks it."""
        parameters.setdefault("Bucket", self.bucket)
        url = self.client.generate_presigned_url(botocore.xform_name(operation), Params=parameters, ExpiresIn=expires_s)
        parts = urlsplit(url.replace(*change) if change[0] else url)
        method = "PUT" if operation == "PutObject" else "GET"
        return self.raw(
            name, method, f"{parts.path}?{parts.query}", body=body, signed=False, of_data=operation == "GetObject"
        )

    def host_of_bucket(self) -> str:
        """The Host header that names the area's bucket."""
        return f"{self.bucket}.{DOMAIN}:{urlsplit(self.server.url).port}"

    def _of_body(self, operation: str, response: Mapping[str, Any]) -> dict[str, Any]:
        """Drop what botocore took from the headers, which are compared as such."""
        shape = self.client.meta.service_model.operation_model(operation).output_shape
        members = {} if shape is None else shape.members
        return {
            key: value
            for key, value in response.items()
            if key in members and members[key].serialization.get("location") is None
        }

    def _note(self, name: str, answer: Answer) -> None:
        full = f"{self.area}: {name}"
        assert full not in self.answers, f"two calls are named {full!r}"
        self.answers[full] = answer

    def _raw_answer(self, response: http.client.HTTPResponse, data: bytes, *, of_data: bool) -> Answer:
        headers = {name.lower(): value for name, value in response.getheaders()}
        of_data = of_data and response.status < http.client.BAD_REQUEST
        code, body = "", None
        if of_data:
            body = _shown(data)
        elif data:
            try:
                root = ET.fromstring(data)  # noqa: S314 (an answer of a server started here)
            except ET.ParseError:
                body = _shown(data)
            else:
                body = self._masked({_local(root.tag): _tree(root)})
                if _local(root.tag) == "Error":
                    code, body = root.findtext("{*}Code") or root.findtext("Code") or "", None
        return Answer(status=response.status, code=code, headers=self._headers(headers, of_data=of_data), body=body)

    def _headers(self, headers: Mapping[str, str], *, of_data: bool) -> dict[str, str]:
        kept = {}
        for name, value in sorted(headers.items()):
            lower = name.lower()
            if _HEADERS.fullmatch(lower) is None and not (of_data and lower in _OF_DATA):
                continue
            if lower in _ID_HEADERS:
                kept[lower] = self._named("version", value)
            else:
                kept[lower] = "..." if lower in _TIMES else value
        return kept

    def _masked(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: "..." if key in _MASKED else self._masked(item, key) for key, item in sorted(value.items())}
        if isinstance(value, list):
            return [self._masked(item, name) for item in value]
        if name in _IDS and isinstance(value, str) and value:
            return self._named(_IDS[name], value)
        return value if isinstance(value, str | int | float | bool | None) else str(value)

    def _named(self, kind: str, value: str) -> str:
        """Give an id a name that is the same at every server: its number in the order of appearance in the area."""
        if value in {"null", NOTHING}:
            return value
        of_kind = [known for known in self._ids.values() if known.startswith(f"{self.area} {kind} ")]
        return self._ids.setdefault(value, f"{self.area} {kind} {len(of_kind) + 1}")


def _signed(method: str, url: str, fields: Mapping[str, str], body: bytes, payload: str | None) -> dict[str, str]:
    digest = payload if payload is not None else hashlib.sha256(body).hexdigest()

    class Auth(botocore.auth.S3SigV4Auth):  # type: ignore[misc]  # botocore has no types
        """Signs what is to be sent and not what should be."""

        def payload(self, request: Any) -> str:
            """Give the payload hash."""
            del request
            return digest

    request = botocore.awsrequest.AWSRequest(method=method, url=url, headers=dict(fields), data=body)
    request.context["signing"] = {}
    Auth(botocore.credentials.Credentials(ACCESS_KEY, SECRET_KEY), "s3", REGION).add_auth(request)
    return dict(request.headers.items())


def _shown(data: bytes) -> str:
    if len(data) <= _SHOWN_BYTES:
        return repr(data)
    return f"{len(data)} bytes, SHA-256 {hashlib.sha256(data).hexdigest()[:16]}"


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _tree(node: ET.Element) -> Any:
    if not len(node):
        return node.text or ""
    children: dict[str, list[Any]] = {}
    for child in node:
        children.setdefault(_local(child.tag), []).append(_tree(child))
    return {name: items[0] if len(items) == 1 else items for name, items in children.items()}


def as_document(body: bytes) -> dict[str, Any]:
    """Give an XML document by the names of its elements; nothing where it is none."""
    try:
        root = ET.fromstring(body)  # noqa: S314 (an answer of a server started here)
    except ET.ParseError:
        return {}
    return {_local(root.tag): _tree(root)}


def as_text(value: Any) -> str:
    """A value of an answer on one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
