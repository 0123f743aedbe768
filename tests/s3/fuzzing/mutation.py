"""Valid requests of every operation, and what is done to them. Everything follows from the random generator given."""

import base64
import hashlib
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from urllib.parse import quote, unquote
from xml.sax.saxutils import escape

from s3bench.s3.signing.sigv4 import SigningKey, canonical_path, canonical_query, canonical_request, string_to_sign

BUCKET = "bucket"
ACCESS_KEY, SECRET_KEY, REGION = "AKIDFUZZ", "fuzzed-secret", "us-east-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A request before it is written down; Content-Length is added where there is a body and no header for it."""

    method: str
    target: str
    fields: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    version: str = "HTTP/1.1"

    def written(self) -> bytes:
        """Give the bytes on the wire."""
        fields = [("Host", "127.0.0.1"), *self.fields]
        names = {name.lower() for name, _ in fields}
        if (self.body or self.method in {"PUT", "POST"}) and not names & {"content-length", "transfer-encoding"}:
            fields.append(("Content-Length", str(len(self.body))))
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
        head = f"{self.method} {self.target} {self.version}\r\n{lines}\r\n"
        return head.encode("utf-8", "surrogateescape") + self.body

    def with_fields(self, *fields: tuple[str, str]) -> "Draft":
        """Give the same with more header fields."""
        return replace(self, fields=(*self.fields, *fields))

    def with_query(self, text: str) -> "Draft":
        """Give the same with more of a query."""
        return replace(self, target=f"{self.target}{'&' if '?' in self.target else '?'}{text}")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Names that exist on the server."""

    upload_id: str
    part_etag: str
    version_id: str


def corpus(world: World) -> tuple[Draft, ...]:
    """Valid requests, one or more for each operation."""
    upload = f"/{BUCKET}/parts?uploadId={world.upload_id}"
    part = f"<Part><PartNumber>1</PartNumber><ETag>{world.part_etag}</ETag></Part>"
    tags = b"<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>"
    data = b"0123456789" * 20
    crc32 = base64.b64encode(zlib.crc32(data).to_bytes(4, "big")).decode()
    deletion = b"<Delete><Object><Key>gone</Key></Object><Object><Key>a b</Key></Object><Quiet>true</Quiet></Delete>"
    chunked = (("Content-Encoding", "aws-chunked"), ("x-amz-decoded-content-length", str(len(data))))
    trailer = (
        ("x-amz-trailer", "x-amz-checksum-crc32"),
        ("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"),
    )
    return (
        Draft(method="GET", target="/"),
        Draft(method="GET", target="/?max-buckets=2&prefix=b&continuation-token=a"),
        Draft(method="PUT", target="/other-bucket"),
        Draft(method="DELETE", target="/other-bucket"),
        Draft(method="HEAD", target=f"/{BUCKET}"),
        Draft(method="GET", target=f"/{BUCKET}?location"),
        Draft(method="GET", target=f"/{BUCKET}?versioning"),
        Draft(
            method="PUT",
            target="/versioned?versioning",
            body=b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>",
        ),
        Draft(method="GET", target=f"/{BUCKET}?tagging"),
        Draft(method="PUT", target=f"/{BUCKET}?tagging", body=tags),
        Draft(method="DELETE", target=f"/{BUCKET}?tagging"),
        Draft(method="GET", target=f"/{BUCKET}?prefix=s&delimiter=/&max-keys=5&marker=a"),
        Draft(
            method="GET", target=f"/{BUCKET}?list-type=2&max-keys=3&encoding-type=url&start-after=a&fetch-owner=true"
        ),
        Draft(method="GET", target="/versioned?versions&max-keys=4&key-marker=k&version-id-marker=null"),
        Draft(method="GET", target=f"/{BUCKET}?uploads&max-uploads=4&key-marker=a&upload-id-marker=b"),
        Draft(method="POST", target=f"/{BUCKET}?delete", body=deletion, fields=(("Content-MD5", md5(deletion)),)),
        Draft(method="PUT", target=f"/{BUCKET}/small", body=data),
        Draft(
            method="PUT",
            target=f"/{BUCKET}/described",
            body=data,
            fields=(
                ("Content-Type", "text/plain"),
                ("Content-MD5", md5(data)),
                ("x-amz-checksum-crc32", crc32),
                ("x-amz-meta-name", "value"),
                ("x-amz-tagging", "a=b&c=d"),
                ("x-amz-storage-class", "STANDARD"),
                ("If-None-Match", "*"),
                ("Expect", "100-continue"),
            ),
        ),
        Draft(method="PUT", target="/versioned/key", body=data),
        Draft(method="PUT", target=f"/{BUCKET}/chunked", body=aws_chunked(data, ""), fields=chunked),
        Draft(
            method="PUT",
            target=f"/{BUCKET}/trailer",
            body=aws_chunked(data, f"x-amz-checksum-crc32:{crc32}\r\n"),
            fields=(*chunked, *trailer),
        ),
        Draft(
            method="PUT",
            target=f"/{BUCKET}/both",
            body=http_chunked(aws_chunked(data, f"x-amz-checksum-crc32:{crc32}\r\n"), ""),
            fields=(*chunked, *trailer, ("Transfer-Encoding", "chunked")),
        ),
        Draft(
            method="POST",
            target=f"/{BUCKET}?delete",
            body=http_chunked(deletion, "x-trailer: value\r\n"),
            fields=(("Transfer-Encoding", "chunked"), ("Content-MD5", md5(deletion))),
        ),
        Draft(method="PUT", target=f"/{BUCKET}/copy", fields=(("x-amz-copy-source", f"/{BUCKET}/small"),)),
        Draft(
            method="PUT",
            target=f"/{BUCKET}/copy",
            fields=(
                ("x-amz-copy-source", f"{BUCKET}/a%20b?versionId=null"),
                ("x-amz-metadata-directive", "REPLACE"),
                ("x-amz-copy-source-if-match", "*"),
            ),
        ),
        Draft(method="GET", target=f"/{BUCKET}/small"),
        Draft(method="GET", target=f"/{BUCKET}/large", fields=(("Range", "bytes=100-40000"),)),
        Draft(method="GET", target=f"/{BUCKET}/large?partNumber=1", fields=(("x-amz-checksum-mode", "ENABLED"),)),
        Draft(
            method="GET",
            target=f"/{BUCKET}/a%20b?response-content-type=text/html&response-expires=never",
            fields=(("If-None-Match", '"x"'), ("If-Modified-Since", "Tue, 14 Nov 2023 22:13:20 GMT")),
        ),
        Draft(method="HEAD", target=f"/{BUCKET}/small", fields=(("If-Match", '"x", *'),)),
        Draft(method="GET", target=f"/versioned/key?versionId={world.version_id}"),
        Draft(method="DELETE", target=f"/versioned/key?versionId={world.version_id}"),
        Draft(method="DELETE", target=f"/{BUCKET}/gone"),
        Draft(
            method="GET",
            target=f"/{BUCKET}/small?attributes",
            fields=(
                ("x-amz-object-attributes", "ETag,Checksum,ObjectParts,StorageClass,ObjectSize"),
                ("x-amz-max-parts", "2"),
                ("x-amz-part-number-marker", "1"),
            ),
        ),
        Draft(method="GET", target=f"/{BUCKET}/small?tagging"),
        Draft(method="PUT", target=f"/{BUCKET}/small?tagging", body=tags),
        Draft(method="DELETE", target=f"/{BUCKET}/small?tagging"),
        Draft(method="POST", target=f"/{BUCKET}/parts?uploads", fields=(("x-amz-checksum-algorithm", "CRC32"),)),
        Draft(method="PUT", target=f"{upload}&partNumber=1", body=data),
        Draft(
            method="PUT",
            target=f"{upload}&partNumber=2",
            fields=(("x-amz-copy-source", f"{BUCKET}/large"), ("x-amz-copy-source-range", "bytes=5-5000")),
        ),
        Draft(method="GET", target=f"{upload}&max-parts=3&part-number-marker=0"),
        Draft(
            method="POST",
            target=upload,
            body=f"<CompleteMultipartUpload>{part}</CompleteMultipartUpload>".encode(),
        ),
        Draft(method="DELETE", target=upload),
    )


def md5(data: bytes) -> str:
    """Give the value of Content-MD5."""
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()


def http_chunked(data: bytes, trailer: str) -> bytes:
    """Frame `data` as two chunks."""
    half = len(data) // 2 or 1
    pieces = [piece for piece in (data[:half], data[half:]) if piece]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n" + trailer.encode() + b"\r\n"


def aws_chunked(data: bytes, trailer: str) -> bytes:
    """Frame `data` as AWS does, with signatures that nobody looks at."""
    return (
        b"%x;chunk-signature=%b\r\n%b\r\n0;chunk-signature=%b\r\n" % (len(data), b"a" * 64, data, b"b" * 64)
        + trailer.encode()
        + b"\r\n"
    )


NUMBERS = (
    "0", "1", "-1", "+5", " 5", "5 ", "1_0", "5,5", "0x10", "1e3", "1.5", "\u0663", "007", "10001", "2147483648",
    "9223372036854775807", "9223372036854775808", "18446744073709551616", "9" * 100, "9" * 4301, "1" + "0" * 20000, "",
)  # fmt: skip
TEXTS = (
    "", " ", "*", "/", "//", ".", "..", "%", "%zz", "%00", "%ff", "%c3%28", "%0d%0aX: y", "%ed%a0%80",
    "%ef%bf%be%ef%bf%bf", "%e2%80%ae", "+", "\u00e9", "\u20ac", "\udcff", "\x01", "\x7f", "\t", '"', "''", "<&>",
    "]]>", "null", "a" * 1025, "a" * 9000, ";", "=", "arn:aws:s3:::x", "bytes=0-", "bytes=-5", "bytes=5-2",
    "bytes=0-1,3-4", "=?UTF-8?B?/w==?=", "AES256", "aws:kms", "Thu, 99 Nov 99999 99:99:99 +9999",
    "Tue, 14 Nov 2023 22:13:20 -0000", "0001-01-01T00:00:00Z", "close", "chunked", "x-amz-checksum-crc32",
    "x-amz-checksum-sha512", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "100-continue", "AAAAAA==",
)  # fmt: skip
FIELDS = (
    "Host", "Content-Length", "Transfer-Encoding", "Connection", "Expect", "Range", "If-Match", "If-None-Match",
    "If-Range", "If-Modified-Since", "If-Unmodified-Since", "Content-MD5", "Content-Type", "Content-Encoding",
    "Cache-Control", "Date", "Expires", "Content-Disposition", "x-amz-content-sha256", "x-amz-decoded-content-length",
    "x-amz-trailer", "x-amz-date", "x-amz-checksum-crc32", "x-amz-checksum-crc64nvme", "x-amz-checksum-sha256",
    "x-amz-checksum-type", "x-amz-acl", "x-amz-checksum-algorithm", "x-amz-checksum-mode",
    "x-amz-sdk-checksum-algorithm", "x-amz-copy-source", "x-amz-copy-source-range",
    "x-amz-copy-source-if-modified-since", "x-amz-metadata-directive", "x-amz-tagging", "x-amz-tagging-directive",
    "x-amz-storage-class", "x-amz-meta-\u00e9", "x-amz-meta-x", "x-amz-mp-object-size", "x-amz-object-attributes",
    "x-amz-max-parts", "x-amz-part-number-marker", "x-amz-server-side-encryption", "x-amz-website-redirect-location",
    "x-amz-server-side-encryption-aws-kms-key-id", "x-amz-server-side-encryption-context",
    "x-amz-server-side-encryption-bucket-key-enabled", "x-amz-server-side-encryption-customer-algorithm",
    "x-amz-server-side-encryption-customer-key", "x-amz-server-side-encryption-customer-key-md5",
    "x-amz-object-lock-mode", "x-amz-object-lock-retain-until-date", "x-amz-object-lock-legal-hold",
    "Access-Control-Request-Method", "Access-Control-Request-Headers",
    "x-amz-expected-bucket-owner", "x-amz-bypass-governance-retention", "x-amz-bucket-object-lock-enabled",
    "x-amz-optional-object-attributes", "x-amz-request-payer", "Authorization", "amz-sdk-request", "User-Agent",
    "Upgrade", "TE", "Trailer", "Origin", "Accept-Encoding", "x-amz-write-offset-bytes",
)  # fmt: skip
PARAMETERS = (
    "list-type", "max-keys", "prefix", "delimiter", "marker", "start-after", "continuation-token", "encoding-type",
    "key-marker", "version-id-marker", "upload-id-marker", "max-uploads", "max-parts", "part-number-marker",
    "partNumber", "uploadId", "versionId", "uploads", "versions", "tagging", "attributes", "delete", "acl", "policy",
    "location", "response-content-type", "response-content-disposition", "response-expires", "response-cache-control",
    "max-buckets", "bucket-region", "fetch-owner", "x-id", "X-Amz-Expires", "X-Amz-Date", "X-Amz-Credential",
    "X-Amz-Signature", "X-Amz-Algorithm", "X-Amz-SignedHeaders", "AWSAccessKeyId", "select", "restore",
    "renameObject", "encryption", "cors", "object-lock", "retention", "legal-hold",
)  # fmt: skip
METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "G=T", "G T", "")
VERSIONS = ("HTTP/1.0", "HTTP/1.1", "HTTP/1.2", "HTTP/2.0", "http/1.1", "HTTP/1.", "", "HTTP/1.1 ")
DOCUMENTS = (
    b"", b"<", b"<a/>", b"<Tagging/>", b"<Delete/>", b"<Delete><Object/></Delete>", b"<CompleteMultipartUpload/>",
    b"<a>" * 5000, b"<!DOCTYPE a><a/>", '<?xml version="1.0" encoding="utf-16"?><Delete/>'.encode("utf-16"),
    b'<?xml version="1.0" encoding="nonsense"?><Tagging/>', b'<?xml version="1.0" encoding="punycode"?><Tagging/>',
    b"<Delete><Object><Key>&#0;</Key></Object></Delete>", b"<Delete><Object><Key>&#x10ffff;</Key></Object></Delete>",
    b"<Delete><Object><Key>k</Key><VersionId>\xc3\xa9</VersionId></Object></Delete>", b"\xef\xbb\xbf<Delete></Delete>",
    b"<CreateBucketConfiguration><LocationConstraint>eu-west-1</LocationConstraint></CreateBucketConfiguration>",
    b"<Tagging><TagSet><Tag><Key>" + b"k" * 300 + b"</Key><Value/></Tag></TagSet></Tagging>",
    b"<Retention><Mode>COMPLIANCE</Mode><RetainUntilDate>9999-12-31T23:59:59-14:00</RetainUntilDate></Retention>",
    b"<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>",
    (b"<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin>"
    b"<ExposeHeader>a&#13;&#10;b</ExposeHeader></CORSRule></CORSConfiguration>"),
    (b"<CORSConfiguration><CORSRule><AllowedMethod>PUT</AllowedMethod><AllowedOrigin>*</AllowedOrigin>"
    b"<AllowedHeader>*</AllowedHeader></CORSRule></CORSConfiguration>"),
    (b"<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>aws:kms"
    b"</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>"),
    b"<CompleteMultipartUpload><Part><PartNumber>" + b"9" * 5000 + b"</PartNumber><ETag>x</ETag></Part>"
    b"</CompleteMultipartUpload>",
)  # fmt: skip


def any_text(chance: Random) -> str:
    """Give a value that may be interesting."""
    kind = chance.random()
    if kind < 0.3:
        return chance.choice(NUMBERS)
    if kind < 0.8:
        return chance.choice(TEXTS)
    return "".join(chr(chance.randrange(32, 256)) for _ in range(chance.randrange(30)))


def _drop_field(draft: Draft, chance: Random) -> Draft:
    at = chance.randrange(len(draft.fields) + 1)
    return replace(draft, fields=draft.fields[:at] + draft.fields[at + 1 :])


def _repeat_field(draft: Draft, chance: Random) -> Draft:
    if not draft.fields:
        return draft.with_fields(("Host", "h"))
    return draft.with_fields(chance.choice(draft.fields))


def _change_field(draft: Draft, chance: Random) -> Draft:
    if not draft.fields:
        return _add_field(draft, chance)
    at = chance.randrange(len(draft.fields))
    changed = (draft.fields[at][0], any_text(chance))
    return replace(draft, fields=(*draft.fields[:at], changed, *draft.fields[at + 1 :]))


def _add_field(draft: Draft, chance: Random) -> Draft:
    return draft.with_fields((chance.choice(FIELDS), any_text(chance)))


def _add_huge_field(draft: Draft, chance: Random) -> Draft:
    return draft.with_fields((chance.choice(FIELDS), "x" * chance.choice((100, 4000, 9000, 65_000, 70_000))))


def _change_length(draft: Draft, chance: Random) -> Draft:
    near = str(len(draft.body) + chance.randrange(-30, 30))
    return draft.with_fields(("Content-Length", chance.choice((near, near, chance.choice(NUMBERS)))))


def _change_method(draft: Draft, chance: Random) -> Draft:
    return replace(draft, method=chance.choice(METHODS))


def _change_version(draft: Draft, chance: Random) -> Draft:
    return replace(draft, version=chance.choice(VERSIONS))


def _change_target(draft: Draft, chance: Random) -> Draft:
    target = draft.target
    at = chance.randrange(len(target) + 1)
    forms = (
        target[:at] + any_text(chance).replace(" ", "%20") + target[at:],
        target[:at] + f"%{chance.randrange(256):02x}" + target[at:],
        f"http://elsewhere{target}",
        f"{target}/",
        f"/{target}",
        "*",
        f"/{BUCKET}/{quote(any_text(chance), errors='surrogateescape')}",
        target.replace(BUCKET, chance.choice(("none", "versioned", "", "x" * 70, "%62ucket"))),
    )
    return replace(draft, target=chance.choice(forms))


def _add_parameter(draft: Draft, chance: Random) -> Draft:
    value = any_text(chance)
    if chance.random() < 0.5:
        value = quote(value, errors="surrogateescape")
    return draft.with_query(f"{chance.choice(PARAMETERS)}={value.replace(' ', '+')}")


def _change_parameter(draft: Draft, chance: Random) -> Draft:
    path, mark, query = draft.target.partition("?")
    if not mark:
        return _add_parameter(draft, chance)
    parameters = query.split("&")
    at = chance.randrange(len(parameters))
    value = any_text(chance).replace(" ", "+")
    parameters[at] = f"{parameters[at].partition('=')[0]}={value}"
    return replace(draft, target=f"{path}?{'&'.join(parameters)}")


def _change_text(draft: Draft, chance: Random) -> Draft:
    """Change the text of an element of an XML document."""
    pieces = draft.body.split(b">")
    at = chance.randrange(len(pieces))
    _, mark, tag = pieces[at].partition(b"<")
    pieces[at] = escape(any_text(chance)).encode("utf-8", "surrogateescape") + mark + tag
    return replace(draft, body=b">".join(pieces))


def _change_document(draft: Draft, chance: Random) -> Draft:
    return replace(draft, body=chance.choice(DOCUMENTS))


def _change_body(draft: Draft, chance: Random) -> Draft:
    kind = chance.randrange(4)
    if kind == 0:
        return replace(draft, body=chance.randbytes(chance.randrange(300)))
    if kind == 1:
        return replace(draft, body=draft.body[: chance.randrange(len(draft.body) + 1)])
    if kind == 2:
        return replace(draft, body=chance.randbytes(16) * chance.choice((100, 3000, 9000)))
    return replace(draft, body=scrambled(draft.body, chance))


def _frame(draft: Draft, chance: Random) -> Draft:
    """Frame the body once more, rightly or wrongly."""
    trailer = chance.choice(("", "", "a: b\r\n", "a:b\nc:d\n\r\n", "bad trailer\r\n", "x-amz-checksum-crc32:AAAA\r\n"))
    if chance.random() < 0.5:
        body, fields = http_chunked(draft.body, trailer), (("Transfer-Encoding", "chunked"),)
    else:
        body, fields = aws_chunked(draft.body, trailer), (("Content-Encoding", "aws-chunked"),)
    if chance.random() < 0.4:
        body = scrambled(body, chance)
    return replace(draft, body=body).with_fields(*fields)


_MUTATIONS: tuple[Callable[[Draft, Random], Draft], ...] = (
    _drop_field, _repeat_field, _change_field, _add_field, _add_field, _change_length, _change_method, _change_version,
    _change_target, _change_target, _add_parameter, _add_parameter, _change_parameter, _change_parameter,
    _change_document, _change_text, _change_text, _change_body, _frame,
)  # fmt: skip


def mutated(draft: Draft, chance: Random) -> Draft:
    """Change up to three things of a request; sometimes nothing."""
    for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 3))):
        draft = chance.choice(_MUTATIONS)(draft, chance)
    if chance.random() < 0.01:
        draft = _add_huge_field(draft, chance)
    return draft


def scrambled(data: bytes, chance: Random) -> bytes:
    """Flip, delete, insert or repeat bytes in a few places."""
    buffer = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(buffer) + 1)
        count = chance.choice((1, 1, 1, 2, 5, 20))
        match chance.randrange(4):
            case 0:
                buffer[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del buffer[at : at + count]
            case 2:
                buffer[at:at] = chance.choice((b"\r\n", b"\n", b"\r", b"\0", b" ", b":", chance.randbytes(count)))
            case 3:
                buffer[at:at] = buffer[at : at + count]
    return bytes(buffer)


def signed(draft: Draft, timestamp: str, chance: Random) -> Draft:
    """Sign a request as it stands, in its header; one whose target cannot be taken apart stays unsigned."""
    path, _, query = draft.target.partition("?")
    payload = "UNSIGNED-PAYLOAD"
    fields = {"host": "127.0.0.1", "x-amz-date": timestamp, "x-amz-content-sha256": payload}
    fields |= {name.lower(): value for name, value in draft.fields if name.lower().startswith("x-amz-")}
    payload = fields["x-amz-content-sha256"]
    key = SigningKey(SECRET_KEY, timestamp[:8], REGION)
    try:
        decoded = path if "%" not in path else unquote(path, errors="strict")
        names = sorted(fields)
        request = canonical_request(
            draft.method, canonical_path(decoded), canonical_query(query), fields, names, payload
        )
        signature = key.sign(string_to_sign(timestamp, key.scope, request))
    except ValueError:
        return draft
    if chance.random() < 0.05:
        signature = signature[:-1] + "0"
    authorization = (
        f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{key.scope}, SignedHeaders={';'.join(names)}, Signature={signature}"
    )
    given = {name.lower() for name, _ in draft.fields}
    added = [(name, fields[name]) for name in ("x-amz-date", "x-amz-content-sha256") if name not in given]
    return draft.with_fields(*added, ("Authorization", authorization))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is sent: `pieces` one after another; with `ends` the client ends its half of the connection then."""

    number: int
    pieces: tuple[bytes, ...]
    ends: bool
    fresh: bool

    @property
    def stream(self) -> bytes:
        """All that is sent."""
        return b"".join(self.pieces)


def cases(drafts: tuple[Draft, ...], seed: int, numbers: range, timestamp: str = "") -> Iterator[Case]:
    """Make the cases with these numbers. Each follows from the seed and its number alone.

    With a `timestamp` most requests are signed by it.
    """
    for number in numbers:
        chance = Random(f"{seed} {number}")
        count = chance.choice((1, 1, 1, 1, 1, 1, 2, 3, 5))
        chosen = [mutated(chance.choice(drafts), chance) for _ in range(count)]
        if timestamp:
            chosen = [signed(draft, timestamp, chance) if chance.random() < 0.9 else draft for draft in chosen]
        stream = b"".join(draft.written() for draft in chosen)
        if chance.random() < 0.15:
            stream = scrambled(stream, chance)
        if chance.random() < 0.08:
            stream = stream[: chance.randrange(len(stream) + 1)]
        cuts = sorted(chance.randrange(len(stream) + 1) for _ in range(chance.choice((0, 0, 0, 0, 1, 3))))
        pieces = [stream[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
        yield Case(
            number=number,
            pieces=tuple(piece for piece in pieces if piece),
            ends=chance.random() < 0.1,
            fresh=chance.random() < 0.2,
        )
