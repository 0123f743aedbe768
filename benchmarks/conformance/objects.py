"""Calls that put, get, head and delete objects, with their headers, ranges, conditions and tags."""

from datetime import UTC, datetime

from conformance.session import Session
from conformance.sums import declared

_OLD, _NEW = datetime(2001, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC)
_BODY = b"0123456789"
_ETAG = '"781e5e245d69b566979b86e28d23f2c7"'
_MIB = 1024 * 1024

KEYS = (
    ("ordinary", "folder/name.txt"), ("with a space", "a b"), ("with a plus", "a+b"), ("with a percent", "100%"),
    ("with %2F", "a%2Fb"), ("in unicode", "Größe/日本語/🪣"), ("combining marks", "e\u0301"),
    ("with two slashes", "a//b"),
    ("ending in a slash", "folder/"), ("beginning with a slash", "/absolute"), ("with a dot folder", "a/./b"),
    ("with two dots", "a/../b"), ("of one dot", "."), ("of two dots", ".."), ("with a tab", "tab\there"),
    ("with a newline", "line\nbreak"), ("with a control character", "bell\x07"), ("with quotes", "q\"'`"),
    ("with markup", "<&>"), ("with a question mark", "what?versions"), ("with a hash", "a#b"),
    ("with a backslash", "a\\b"), ("with all punctuation", "!-_.*'();:@&=$,~[]{}|^"),
    ("of 1,024 bytes", "k/" * 512), ("of 1,025 bytes", "k/" * 512 + "k"), ("of 255 in one name", "n" * 255),
    ("of 256 in one name", "n" * 256),
)  # fmt: skip


def basics(s: Session) -> None:
    """Cases of plain reads and writes."""
    s.in_area("basics")
    s.call("put", "PutObject", Key="k", Body=_BODY)
    s.call("get", "GetObject", Key="k")
    s.call("head", "HeadObject", Key="k")
    s.call("put over it", "PutObject", Key="k", Body=b"new")
    s.call("get the new one", "GetObject", Key="k")
    s.call("put nothing", "PutObject", Key="empty", Body=b"")
    s.call("get nothing", "GetObject", Key="empty")
    s.call("head nothing", "HeadObject", Key="empty")
    s.call("get a key that is not there", "GetObject", Key="nowhere")
    s.call("head a key that is not there", "HeadObject", Key="nowhere")
    s.call("delete", "DeleteObject", Key="k")
    s.call("get after delete", "GetObject", Key="k")
    s.call("delete again", "DeleteObject", Key="k")
    s.call("delete a version that is not there", "DeleteObject", Key="k", VersionId="null")
    s.call("put a megabyte", "PutObject", Key="mib", Body=bytes(range(256)) * 4096)
    s.call("get a megabyte", "GetObject", Key="mib")
    s.call("put a folder", "PutObject", Key="dir/", Body=b"")
    s.call("head a folder", "HeadObject", Key="dir/")
    s.call("head a folder without its slash", "HeadObject", Key="dir")
    s.call("put below a folder", "PutObject", Key="dir/file", Body=b"x")
    s.call("put an object where a folder is", "PutObject", Key="dir", Body=b"x")
    s.call("put below an object", "PutObject", Key="dir/file/below", Body=b"x")
    s.call("get by version null", "GetObject", Key="empty", VersionId="null")
    s.call("get by a version that cannot be", "GetObject", Key="empty", VersionId="no-such-version")
    s.call("head by a version that cannot be", "HeadObject", Key="empty", VersionId="no-such-version")
    s.raw("get with an empty version", "GET", "empty?versionId=", of_data=True)


def headers(s: Session) -> None:
    """Cases of system headers, user metadata and overrides."""
    s.in_area("headers")
    s.call("put with every system header", "PutObject", Key="all", Body=_BODY, CacheControl="no-cache",
           ContentDisposition='attachment; filename="f"', ContentEncoding="gzip", ContentLanguage="de",
           ContentType="text/plain; charset=utf-8", Expires=_NEW, WebsiteRedirectLocation="/elsewhere",
           Metadata={"One": "1", "two": "zwei"})  # fmt: skip
    s.call("get every system header", "GetObject", Key="all")
    s.call("head every system header", "HeadObject", Key="all")
    s.call("override every header", "GetObject", Key="all", ResponseCacheControl="max-age=1",
           ResponseContentDisposition="inline", ResponseContentEncoding="identity", ResponseContentLanguage="fr",
           ResponseContentType="text/x", ResponseExpires=_NEW)  # fmt: skip
    s.call("override in a head", "HeadObject", Key="all", ResponseContentType="text/x")
    s.raw("override without a signature", "GET", "all?response-content-type=text/x", signed=False)
    s.raw("override of nothing known", "GET", "all?response-nothing=x", of_data=True)
    s.raw("put without a content type", "PUT", "untyped", body=b"x")
    s.call("get without a content type", "GetObject", Key="untyped")
    s.raw("put with an Expires that is no date", "PUT", "expires", body=b"x", headers={"Expires": "soon"})
    s.raw("get an Expires that is no date", "GET", "expires", of_data=True)
    s.call("metadata of 2 KiB", "PutObject", Key="big", Body=b"x", Metadata={"m": "v" * 2047})
    s.call("metadata beyond 2 KiB", "PutObject", Key="big", Body=b"x", Metadata={"m": "v" * 2048})
    s.raw("metadata in UTF-8", "PUT", "utf8", body=b"x", headers={"x-amz-meta-name": "Größe"})
    s.raw("get metadata in UTF-8", "HEAD", "utf8")
    s.raw("metadata without a value", "PUT", "empty", body=b"x", headers={"x-amz-meta-empty": ""})
    s.raw("get metadata without a value", "HEAD", "empty")
    s.call("put with a storage class", "PutObject", Key="class", Body=b"x", StorageClass="STANDARD_IA")
    s.call("get with a storage class", "HeadObject", Key="class")
    s.call("put with the class STANDARD", "PutObject", Key="class", Body=b"x", StorageClass="STANDARD")
    s.call("head with the class STANDARD", "HeadObject", Key="class")
    s.raw("put with no storage class of S3", "PUT", "class", body=b"x", headers={"x-amz-storage-class": "COLD"})
    s.raw("content-encoding aws-chunked alone", "PUT", "chunky", body=b"x", headers={"Content-Encoding": "aws-chunked"})
    s.raw("get content-encoding aws-chunked alone", "HEAD", "chunky", of_data=True)
    s.raw("get with an Origin", "GET", "untyped", headers={"Origin": "http://example.com"}, of_data=True)


def keys(s: Session) -> None:
    """Cases of keys with every kind of character."""
    s.in_area("keys")
    for what, key in KEYS:
        s.call(f"put a key {what}", "PutObject", Key=key, Body=b"x", Metadata={"w": "x"})
        s.call(f"get a key {what}", "GetObject", Key=key)
    s.raw("list keys as they are", "GET", "?list-type=2&prefix=a&delimiter=%2F")
    s.raw("list keys encoded", "GET", "?list-type=2&encoding-type=url")
    s.raw("list a control character", "GET", "?list-type=2&prefix=bell")
    s.raw("list keys in no known encoding", "GET", "?list-type=2&encoding-type=hex")
    s.call("delete a key in unicode", "DeleteObject", Key=KEYS[5][1])
    s.raw("a key that is no UTF-8", "PUT", "%ff%fe", body=b"x")
    s.raw("a key with a NUL", "PUT", "nul%00", body=b"x")


def ranges(s: Session) -> None:
    """Cases of Range and partNumber."""
    s.in_area("ranges")
    s.call("put", "PutObject", Key="k", Body=_BODY)
    s.call("put nothing", "PutObject", Key="empty", Body=b"")
    for value in ("bytes=0-0", "bytes=2-4", "bytes=5-", "bytes=-3", "bytes=-10", "bytes=-100", "bytes=-0",
                  "bytes=0-100", "bytes=9-9", "bytes=10-", "bytes=10-20", "bytes=100-200", "bytes=5-2", "bytes=",
                  "bytes=-", "bytes=a-b", "bytes=0-1,3-4", "chars=0-1", "bytes 0-1", "0-1", "bytes=0-1-2",
                  "bytes= 0-1", "BYTES=0-1", "bytes=00-01", "bytes=0-99999999999999999999"):  # fmt: skip
        s.call(f"get {value}", "GetObject", Key="k", Range=value)
    s.call("head bytes=2-4", "HeadObject", Key="k", Range="bytes=2-4")
    s.call("head bytes=100-", "HeadObject", Key="k", Range="bytes=100-")
    for value in ("bytes=0-", "bytes=0-0", "bytes=-1", "bytes=-0"):
        s.call(f"get {value} of nothing", "GetObject", Key="empty", Range=value)
    s.call("part 1 of a plain object", "GetObject", Key="k", PartNumber=1)
    s.call("part 1 of a plain object, head", "HeadObject", Key="k", PartNumber=1)
    s.call("part 2 of a plain object", "GetObject", Key="k", PartNumber=2)
    s.call("part 2 of a plain object, head", "HeadObject", Key="k", PartNumber=2)
    s.call("part 1 of nothing", "GetObject", Key="empty", PartNumber=1)
    s.raw("part 0", "GET", "k?partNumber=0")
    s.raw("part 10001", "GET", "k?partNumber=10001")
    s.raw("part x", "GET", "k?partNumber=x")
    s.call("part and range", "GetObject", Key="k", PartNumber=1, Range="bytes=0-1")
    s.raw("if-range that fits", "GET", "k", headers={"Range": "bytes=0-1", "If-Range": _ETAG}, of_data=True)
    s.raw("if-range that fits not", "GET", "k", headers={"Range": "bytes=0-1", "If-Range": '"x"'}, of_data=True)
    s.call("range with a checksum", "GetObject", Key="k", Range="bytes=0-1", ChecksumMode="ENABLED")
    s.call("range of everything with a checksum", "GetObject", Key="k", Range="bytes=0-9", ChecksumMode="ENABLED")


def conditional_reads(s: Session) -> None:
    """Cases of RFC 9110 13 for GET and HEAD."""
    s.in_area("conditional-reads")
    s.call("put", "PutObject", Key="k", Body=_BODY, CacheControl="no-cache", Metadata={"m": "1"})
    for operation in ("GetObject", "HeadObject"):
        for what, conditions in (
            ("if-match right", {"IfMatch": _ETAG}), ("if-match wrong", {"IfMatch": '"x"'}),
            ("if-match without quotes", {"IfMatch": _ETAG.strip('"')}), ("if-match star", {"IfMatch": "*"}),
            ("if-match of several", {"IfMatch": f'"x", {_ETAG}'}), ("if-none-match right", {"IfNoneMatch": '"x"'}),
            ("if-none-match wrong", {"IfNoneMatch": _ETAG}), ("if-none-match star", {"IfNoneMatch": "*"}),
            ("if-none-match weak", {"IfNoneMatch": f"W/{_ETAG}"}),
            ("modified since long ago", {"IfModifiedSince": _OLD}), ("modified since 2099", {"IfModifiedSince": _NEW}),
            ("unmodified since long ago", {"IfUnmodifiedSince": _OLD}),
            ("unmodified since 2099", {"IfUnmodifiedSince": _NEW}),
            ("if-match beats unmodified-since", {"IfMatch": _ETAG, "IfUnmodifiedSince": _OLD}),
            ("if-none-match beats modified-since", {"IfNoneMatch": _ETAG, "IfModifiedSince": _OLD}),
            ("if-match right, if-none-match wrong", {"IfMatch": _ETAG, "IfNoneMatch": _ETAG}),
            ("if-match wrong, if-none-match wrong", {"IfMatch": '"x"', "IfNoneMatch": _ETAG}),
        ):  # fmt: skip
            s.call(f"{operation} {what}", operation, Key="k", **conditions)
    s.raw("a date that is none", "GET", "k", headers={"If-Modified-Since": "yesterday"}, of_data=True)
    s.call("if-match of a key that is not there", "GetObject", Key="nowhere", IfMatch="*")
    s.call("condition and range that fail both", "GetObject", Key="k", Range="bytes=100-", IfMatch='"x"')
    s.call("range that fails and not modified", "GetObject", Key="k", Range="bytes=100-", IfNoneMatch=_ETAG)


def conditional_writes(s: Session) -> None:
    """Cases of conditional puts and deletes."""
    s.in_area("conditional-writes")
    s.call("if-none-match star on a free key", "PutObject", Key="k", Body=_BODY, IfNoneMatch="*")
    s.call("if-none-match star on a taken key", "PutObject", Key="k", Body=b"no", IfNoneMatch="*")
    s.call("if-none-match with an etag", "PutObject", Key="k", Body=b"no", IfNoneMatch=_ETAG)
    s.call("if-match right", "PutObject", Key="k", Body=_BODY, IfMatch=_ETAG)
    s.call("if-match wrong", "PutObject", Key="k", Body=b"no", IfMatch='"x"')
    s.call("if-match star", "PutObject", Key="k", Body=_BODY, IfMatch="*")
    s.call("if-match of a free key", "PutObject", Key="free", Body=b"no", IfMatch=_ETAG)
    s.call("if-match star of a free key", "PutObject", Key="free", Body=b"no", IfMatch="*")
    s.call("both at once", "PutObject", Key="k", Body=b"no", IfMatch=_ETAG, IfNoneMatch="*")
    s.call("the refused writes changed nothing", "GetObject", Key="k")
    s.call("delete if-match wrong", "DeleteObject", Key="k", IfMatch='"x"')
    s.call("delete if-match right", "DeleteObject", Key="k", IfMatch=_ETAG)
    s.call("delete if-match of a free key", "DeleteObject", Key="k", IfMatch=_ETAG)
    s.call("delete if-match star of a free key", "DeleteObject", Key="k", IfMatch="*")
    s.call("put again", "PutObject", Key="k", Body=_BODY)
    s.call("delete if-match star", "DeleteObject", Key="k", IfMatch="*")
    s.call("put again to delete many", "PutObject", Key="k", Body=_BODY)
    s.call("delete many with an etag", "DeleteObjects",
           Delete={"Objects": [{"Key": "k", "ETag": "x"}, {"Key": "free", "ETag": "y"}]})  # fmt: skip
    s.call("delete many with the right etag", "DeleteObjects", Delete={"Objects": [{"Key": "k", "ETag": _ETAG}]})


def copies(s: Session) -> None:
    """Cases of CopyObject."""
    s.in_area("copies")
    source = f"{s.bucket}/source"
    s.call("put the source", "PutObject", Key="source", Body=_BODY, ContentType="text/plain", Metadata={"m": "1"},
           CacheControl="no-cache", Tagging="t=1", ChecksumAlgorithm="SHA256")  # fmt: skip
    s.call("copy", "CopyObject", Key="copy", CopySource=source)
    s.call("head the copy", "HeadObject", Key="copy", ChecksumMode="ENABLED")
    s.call("tags of the copy", "GetObjectTagging", Key="copy")
    s.call("copy and replace", "CopyObject", Key="copy", CopySource=source, MetadataDirective="REPLACE",
           Metadata={"n": "2"}, ContentType="text/x", TaggingDirective="REPLACE", Tagging="u=2")  # fmt: skip
    s.call("head the replaced copy", "HeadObject", Key="copy")
    s.call("tags of the replaced copy", "GetObjectTagging", Key="copy")
    s.call("copy without REPLACE keeps the old", "CopyObject", Key="copy", CopySource=source, Metadata={"n": "3"},
           ContentType="text/y", Tagging="v=3")  # fmt: skip
    s.call("head the unreplaced copy", "HeadObject", Key="copy")
    s.call("tags of the unreplaced copy", "GetObjectTagging", Key="copy")
    s.call("copy with another checksum", "CopyObject", Key="crc", CopySource=source, ChecksumAlgorithm="CRC32C")
    s.call("head the copy's other checksum", "HeadObject", Key="crc", ChecksumMode="ENABLED")
    s.call("copy onto itself", "CopyObject", Key="source", CopySource=source)
    s.call("copy onto itself with REPLACE", "CopyObject", Key="source", CopySource=source,
           MetadataDirective="REPLACE", Metadata={"m": "2"})  # fmt: skip
    s.call("copy onto itself with another class", "CopyObject", Key="source", CopySource=source,
           StorageClass="STANDARD_IA")  # fmt: skip
    s.call("copy a copy of another class", "CopyObject", Key="copy", CopySource=source)
    s.call("head the copy of another class", "HeadObject", Key="copy")
    s.call("copy what is not there", "CopyObject", Key="copy", CopySource=f"{s.bucket}/nowhere")
    s.call("copy out of no bucket", "CopyObject", Key="copy", CopySource="conformance-nowhere/k")
    s.call("copy into no bucket", "CopyObject", Bucket="conformance-nowhere", Key="copy", CopySource=source)
    s.call("copy with an unknown version", "CopyObject", Key="copy", CopySource=f"{source}?versionId=none")
    s.call("copy with version null", "CopyObject", Key="copy", CopySource=f"{source}?versionId=null")
    for what, value in (("a leading slash", f"/{source}"), ("a percent-encoded slash", source.replace("/", "%2F")),
                        ("no key", s.bucket), ("an empty key", f"{s.bucket}/"), ("nothing", "")):  # fmt: skip
        s.raw(f"copy source with {what}", "PUT", "copy", headers={"x-amz-copy-source": value})
    s.raw("copy with an unknown directive", "PUT", "copy",
          headers={"x-amz-copy-source": source, "x-amz-metadata-directive": "MOVE"})  # fmt: skip
    s.raw("copy with a body", "PUT", "copy", body=b"body", headers={"x-amz-copy-source": source})
    for what, conditions in (
        ("if-match right", {"CopySourceIfMatch": _ETAG}), ("if-match wrong", {"CopySourceIfMatch": '"x"'}),
        ("if-none-match right", {"CopySourceIfNoneMatch": '"x"'}),
        ("if-none-match wrong", {"CopySourceIfNoneMatch": _ETAG}),
        ("modified since long ago", {"CopySourceIfModifiedSince": _OLD}),
        ("modified since 2099", {"CopySourceIfModifiedSince": _NEW}),
        ("unmodified since long ago", {"CopySourceIfUnmodifiedSince": _OLD}),
        ("unmodified since 2099", {"CopySourceIfUnmodifiedSince": _NEW}),
        ("if-match and unmodified since", {"CopySourceIfMatch": _ETAG, "CopySourceIfUnmodifiedSince": _OLD}),
        ("if-none-match and modified since", {"CopySourceIfNoneMatch": _ETAG, "CopySourceIfModifiedSince": _OLD}),
    ):  # fmt: skip
        s.call(f"copy {what}", "CopyObject", Key="conditional", CopySource=source, **conditions)
    s.call("copy to a taken key if-none-match", "CopyObject", Key="copy", CopySource=source, IfNoneMatch="*")
    s.call("copy to a free key if-none-match", "CopyObject", Key="free", CopySource=source, IfNoneMatch="*")
    s.call("copy to a key if-match wrong", "CopyObject", Key="copy", CopySource=source, IfMatch='"x"')
    s.call("copy a key in unicode", "PutObject", Key="Größe +%", Body=b"x")
    s.call("copy from a key in unicode", "CopyObject", Key="copy", CopySource={"Bucket": s.bucket, "Key": "Größe +%"})


def tagging(s: Session) -> None:
    """Cases of the tags of objects."""
    s.in_area("tagging")
    s.call("put with tags", "PutObject", Key="k", Body=b"x", Tagging="b=2&a=1&empty=&space=a%20b")
    s.call("head with tags", "HeadObject", Key="k")
    s.call("get with tags", "GetObject", Key="k")
    s.call("tags", "GetObjectTagging", Key="k")
    s.call("put tags", "PutObjectTagging", Key="k", Tagging={"TagSet": [{"Key": "x y", "Value": "1/2"}]})
    s.call("tags put", "GetObjectTagging", Key="k")
    s.call("remove tags", "DeleteObjectTagging", Key="k")
    s.call("tags removed", "GetObjectTagging", Key="k")
    s.call("tags of a key that is not there", "GetObjectTagging", Key="nowhere")
    s.call("put tags on a key that is not there", "PutObjectTagging", Key="nowhere", Tagging={"TagSet": []})
    s.call("remove tags of a key that is not there", "DeleteObjectTagging", Key="nowhere")
    for what, header in (
        ("eleven tags", "&".join(f"k{number}=v" for number in range(11))), ("a repeated tag", "a=1&a=2"),
        ("a long tag key", "k" * 129 + "=v"), ("a long tag value", "k=" + "v" * 257),
        ("a tag without a value", "flag"), ("an empty tag key", "=v"), ("a tag in unicode", "k=%C3%BC"),
        ("a tag of aws:", "aws:x=1"), ("a forbidden character", "k=%3C%3E"),
    ):  # fmt: skip
        s.raw(f"put with {what}", "PUT", "t", body=b"x", headers={"x-amz-tagging": header})
    for what, tags in (
        ("eleven tags", [(f"k{number}", "v") for number in range(11)]), ("a repeated tag", [("a", "1"), ("a", "2")]),
        ("a long tag key", [("k" * 129, "v")]), ("a long tag value", [("k", "v" * 257)]), ("no tag", []),
        ("a forbidden character", [("k", "<>")]), ("a tag of aws:", [("aws:x", "1")]),
    ):  # fmt: skip
        tag_set = [{"Key": key, "Value": value} for key, value in tags]
        s.call(f"tag with {what}", "PutObjectTagging", Key="k", Tagging={"TagSet": tag_set})
    s.raw("tag by malformed XML", "PUT", "k?tagging", body=b"<Tagging><TagSet>")
    s.raw("tag without a TagSet", "PUT", "k?tagging", body=b"<Tagging/>")
    s.raw("tag with a tag that has no value", "PUT", "k?tagging",
          body=b"<Tagging><TagSet><Tag><Key>k</Key></Tag></TagSet></Tagging>")  # fmt: skip


def attributes(s: Session) -> None:
    """Cases of GetObjectAttributes of plain objects."""
    s.in_area("attributes")
    s.call("put", "PutObject", Key="k", Body=_BODY, ChecksumAlgorithm="SHA1")
    every = ["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"]
    s.call("every attribute", "GetObjectAttributes", Key="k", ObjectAttributes=every)
    s.call("one attribute", "GetObjectAttributes", Key="k", ObjectAttributes=["ObjectSize"])
    s.call("of a key that is not there", "GetObjectAttributes", Key="nowhere", ObjectAttributes=every)
    s.raw("no attribute", "GET", "k?attributes")
    s.raw("an unknown attribute", "GET", "k?attributes", headers={"x-amz-object-attributes": "Colour"})
    s.raw("a bad number of parts", "GET", "k?attributes",
          headers={"x-amz-object-attributes": "ObjectParts", "x-amz-max-parts": "x"})  # fmt: skip


def deletes(s: Session) -> None:
    """Cases of DeleteObjects."""
    s.in_area("deletes")
    for key in ("a", "b", "c", "d"):
        s.call(f"put {key}", "PutObject", Key=key, Body=b"x")
    s.call("delete two, one not there", "DeleteObjects", Delete={"Objects": [{"Key": "a"}, {"Key": "nowhere"}]})
    s.call("delete quietly", "DeleteObjects", Delete={"Objects": [{"Key": "b"}], "Quiet": True})
    s.call("delete a version null", "DeleteObjects", Delete={"Objects": [{"Key": "c", "VersionId": "null"}]})
    s.call("delete a version that is not there", "DeleteObjects",
           Delete={"Objects": [{"Key": "d", "VersionId": "no-such-version"}]})  # fmt: skip
    s.call("delete the same twice", "DeleteObjects", Delete={"Objects": [{"Key": "d"}, {"Key": "d"}]})
    s.call("list what is left", "ListObjectsV2")
    document = b"<Delete><Object><Key>a</Key></Object></Delete>"
    s.raw("delete without a checksum", "POST", "?delete", body=document)
    md5 = {"Content-MD5": "1B2M2Y8AsgTpgAmY7PhCfg=="}
    s.raw("delete with the wrong Content-MD5", "POST", "?delete", body=document, headers=md5)
    s.raw("delete with nothing in the body", "POST", "?delete", headers=md5)
    namespace = b'<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    many, quiet = b"<Object><Key>k</Key></Object>" * 1000, b"<Quiet>true</Quiet>"
    for what, body in (
        ("malformed XML", b"<Delete><Object>"),
        ("no object", b"<Delete></Delete>"),
        ("an empty key", b"<Delete><Object><Key></Key></Object></Delete>"),
        ("no key", b"<Delete><Object></Object></Delete>"),
        ("another root", b"<Remove><Object><Key>a</Key></Object></Remove>"),
        ("a document type", b'<!DOCTYPE x [<!ENTITY a "b">]>' + document),
        ("a namespace", document.replace(b"<Delete>", namespace)),
        ("1,001 keys", b"<Delete>" + many + b"<Object><Key>k</Key></Object></Delete>"),
        ("1,000 keys", b"<Delete>" + quiet + many + b"</Delete>"),
    ):
        s.raw(f"delete by {what}", "POST", "?delete", body=body, headers=declared("crc32", body))
