"""Calls of multipart uploads."""

from typing import Any

from conformance.session import NOTHING, Session
from conformance.sums import ALGORITHMS, checksum

_MIB = 1024 * 1024
_FIRST, _LAST = b"a" * (5 * _MIB), b"z" * 1000
_COMPOSITE = {"crc32": True, "crc32c": True, "crc64nvme": False, "sha1": True, "sha256": True}


def _begin(s: Session, name: str, key: str, **parameters: Any) -> str:
    return str(s.call(f"begin {name}", "CreateMultipartUpload", Key=key, **parameters).get("UploadId", NOTHING))


def _part(s: Session, name: str, key: str, upload: str, number: int, body: bytes, **more: Any) -> dict[str, Any]:
    """Upload a part and give it as a complete request names it."""
    response = s.call(f"part {number} of {name}", "UploadPart", Key=key, UploadId=upload, PartNumber=number, Body=body,
                      **more)  # fmt: skip
    return {"PartNumber": number, "ETag": response.get("ETag", '"none"')}


def _complete(s: Session, name: str, key: str, upload: str, parts: list[dict[str, Any]], **more: Any) -> None:
    s.call(f"complete {name}", "CompleteMultipartUpload", Key=key, UploadId=upload, MultipartUpload={"Parts": parts},
           **more)  # fmt: skip


def whole(s: Session) -> None:
    """Cases of an upload from beginning to end, and what can be read of it."""
    s.in_area("multipart")
    upload = _begin(s, "m", "m", ContentType="text/plain", Metadata={"m": "1"}, Tagging="t=1", CacheControl="no-cache")
    s.call("parts of a new upload", "ListParts", Key="m", UploadId=upload)
    first = _part(s, "m", "m", upload, 1, b"replaced")
    first = _part(s, "m, again", "m", upload, 1, _FIRST)
    last = _part(s, "m", "m", upload, 7, _LAST)
    s.call("get before complete", "GetObject", Key="m")
    s.call("list parts", "ListParts", Key="m", UploadId=upload)
    s.call("list one part", "ListParts", Key="m", UploadId=upload, MaxParts=1)
    s.call("list parts after 1", "ListParts", Key="m", UploadId=upload, PartNumberMarker=1)
    s.call("list no parts", "ListParts", Key="m", UploadId=upload, MaxParts=0)
    s.raw("list x parts", "GET", f"m?uploadId={upload}&max-parts=x")
    s.call("list parts of another key", "ListParts", Key="other", UploadId=upload)
    s.call("list uploads", "ListMultipartUploads")
    _complete(s, "in the wrong order", "m", upload, [last, first])
    _complete(s, "with the wrong etag", "m", upload, [first, {**last, "ETag": '"d41d8cd98f00b204e9800998ecf8427e"'}])
    _complete(s, "with a part that is not there", "m", upload, [first, {**last, "PartNumber": 8}])
    _complete(s, "with a part twice", "m", upload, [first, first])
    _complete(s, "without a part", "m", upload, [])
    for what, part in (("a part without its number", b"<ETag>x</ETag>"),
                       ("a part without its etag", b"<PartNumber>1</PartNumber>"),
                       ("a part number x", b"<PartNumber>x</PartNumber><ETag>x</ETag>")):  # fmt: skip
        s.raw(f"complete by {what}", "POST", f"m?uploadId={upload}",
              body=b"<CompleteMultipartUpload><Part>%b</Part></CompleteMultipartUpload>" % part)  # fmt: skip
    for what, body in (("malformed XML", b"<CompleteMultipartUpload>"), ("nothing", b""), ("another root", b"<X/>")):
        s.raw(f"complete by {what}", "POST", f"m?uploadId={upload}", body=body)
    _complete(s, "if-none-match on a free key", "m", upload, [first, last], IfNoneMatch="*")
    _complete(s, "once more", "m", upload, [first, last])
    _complete(s, "once more with other parts", "m", upload, [first])
    s.call("list parts after complete", "ListParts", Key="m", UploadId=upload)
    s.call("abort after complete", "AbortMultipartUpload", Key="m", UploadId=upload)
    s.call("get", "GetObject", Key="m")
    s.call("head", "HeadObject", Key="m", ChecksumMode="ENABLED")
    s.call("get across the parts", "GetObject", Key="m", Range=f"bytes={5 * _MIB - 2}-{5 * _MIB + 1}")
    for number in (1, 2, 3, 7):
        s.call(f"get part {number}", "GetObject", Key="m", PartNumber=number)
        s.call(f"head part {number}", "HeadObject", Key="m", PartNumber=number)
    s.call("tags", "GetObjectTagging", Key="m")
    every = ["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"]
    s.call("attributes", "GetObjectAttributes", Key="m", ObjectAttributes=every)
    s.call("copy the whole", "CopyObject", Key="copy", CopySource=f"{s.bucket}/m")
    s.call("head the copy", "HeadObject", Key="copy", ChecksumMode="ENABLED")
    s.call("get part 2 of the copy", "GetObject", Key="copy", PartNumber=2)


def wrong(s: Session) -> None:
    """Cases of what uploads refuse."""
    s.in_area("multipart-wrong")
    upload = _begin(s, "w", "w")
    small = [_part(s, "w", "w", upload, number, b"small") for number in (1, 2)]
    _complete(s, "with too small parts", "w", upload, small)
    for number in ("0", "10001", "x", "-1", ""):
        s.raw(f"part number {number or 'empty'}", "PUT", f"w?uploadId={upload}&partNumber={number}", body=b"x")
    s.raw("no part number", "PUT", f"w?uploadId={upload}", body=b"x")
    s.raw("a part number without an upload", "PUT", "w?partNumber=1", body=b"x")
    s.raw("part number 10000", "PUT", f"w?uploadId={upload}&partNumber=10000", body=b"x")
    _part(s, "no upload", "w", "no-such-upload", 1, b"x")
    _part(s, "another key", "other", upload, 1, b"x")
    s.raw("part with a wrong Content-MD5", "PUT", f"w?uploadId={upload}&partNumber=1", body=b"x",
          headers={"Content-MD5": "1B2M2Y8AsgTpgAmY7PhCfg=="})  # fmt: skip
    _complete(s, "no upload", "w", "no-such-upload", small)
    s.call("abort no upload", "AbortMultipartUpload", Key="w", UploadId="no-such-upload")
    s.call("abort another key's", "AbortMultipartUpload", Key="other", UploadId=upload)
    s.call("abort", "AbortMultipartUpload", Key="w", UploadId=upload)
    s.call("abort again", "AbortMultipartUpload", Key="w", UploadId=upload)
    _part(s, "an aborted upload", "w", upload, 1, b"x")
    upload = _begin(s, "one", "one")
    only = _part(s, "one", "one", upload, 3, b"only")
    _complete(s, "with a wrong size", "one", upload, [only], MpuObjectSize=5)
    _complete(s, "with the right size", "one", upload, [only], MpuObjectSize=4)
    s.call("get the only part", "GetObject", Key="one")
    upload = _begin(s, "empty", "empty")
    empty = _part(s, "empty", "empty", upload, 1, b"")
    _complete(s, "an empty part", "empty", upload, [empty])
    s.call("get of an empty part", "GetObject", Key="empty")
    upload = _begin(s, "conditions", "one")
    only = _part(s, "conditions", "one", upload, 1, b"new")
    _complete(s, "if-none-match on a taken key", "one", upload, [only], IfNoneMatch="*")
    _complete(s, "if-match wrong", "one", upload, [only], IfMatch='"x"')
    _complete(s, "if-match star", "one", upload, [only], IfMatch="*")
    _begin(s, "with an unknown checksum", "c", ChecksumAlgorithm="MD4")
    _begin(s, "sha256 of the whole", "c", ChecksumAlgorithm="SHA256", ChecksumType="FULL_OBJECT")
    _begin(s, "crc64nvme of parts", "c", ChecksumAlgorithm="CRC64NVME", ChecksumType="COMPOSITE")
    _begin(s, "a type without an algorithm", "c", ChecksumType="FULL_OBJECT")
    _begin(s, "with a storage class that is none", "c", StorageClass="COLD")


def checksums(s: Session) -> None:
    """Cases of composite and full-object checksums, by every algorithm."""
    s.in_area("multipart-checksums")
    every = ["ETag", "Checksum", "ObjectParts", "ObjectSize"]
    kinds = [(algorithm, _COMPOSITE[algorithm]) for algorithm in ALGORITHMS]
    for algorithm, composite in (*kinds, ("crc32", False), ("crc32c", False)):
        kind = "COMPOSITE" if composite else "FULL_OBJECT"
        name, element = f"{kind.lower()} {algorithm}", f"Checksum{algorithm.upper()}"
        upload = _begin(s, name, name, ChecksumAlgorithm=algorithm.upper(), ChecksumType=kind)
        parts = []
        for number, body in enumerate((_FIRST, _LAST), 1):
            value = {element: checksum(algorithm, body)}
            parts.append({**_part(s, name, name, upload, number, body, **value), **value})
        s.call(f"parts of {name}", "ListParts", Key=name, UploadId=upload)
        if composite:
            bare = [{key: part[key] for key in ("PartNumber", "ETag")} for part in parts]
            _complete(s, f"{name} without checksums", name, upload, bare)
        else:
            whole_checksum = checksum(algorithm, _LAST)
            _complete(s, f"{name} with a wrong whole", name, upload, parts, **{element: whole_checksum})
        swapped = [{**parts[0], element: parts[1][element]}, parts[1]]
        _complete(s, f"{name} with a wrong part", name, upload, swapped)
        _complete(s, name, name, upload, parts)
        s.call(f"head {name}", "HeadObject", Key=name, ChecksumMode="ENABLED")
        s.call(f"head part 1 of {name}", "HeadObject", Key=name, PartNumber=1, ChecksumMode="ENABLED")
        s.call(f"attributes of {name}", "GetObjectAttributes", Key=name, ObjectAttributes=every)
    s.call("attributes, one part", "GetObjectAttributes", Key="composite sha256", ObjectAttributes=["ObjectParts"],
           MaxParts=1)  # fmt: skip
    s.call("attributes, after part 1", "GetObjectAttributes", Key="composite sha256", ObjectAttributes=["ObjectParts"],
           PartNumberMarker=1)  # fmt: skip
    s.call("copy a composite", "CopyObject", Key="copy", CopySource=f"{s.bucket}/composite sha256")
    s.call("head the copied composite", "HeadObject", Key="copy", ChecksumMode="ENABLED")
    upload = _begin(s, "default type", "d", ChecksumAlgorithm="CRC32")
    _part(s, "without its checksum", "d", upload, 1, b"x")
    _part(s, "with another checksum", "d", upload, 1, b"x", ChecksumSHA1=checksum("sha1", b"x"))
    _part(s, "with a wrong checksum", "d", upload, 1, b"x", ChecksumCRC32=checksum("crc32", b"y"))
    upload = _begin(s, "no checksum", "n")
    part = _part(s, "with a checksum nobody asked for", "n", upload, 1, b"x", ChecksumSHA1=checksum("sha1", b"x"))
    s.call("list parts with such a checksum", "ListParts", Key="n", UploadId=upload)
    _complete(s, "with such a checksum", "n", upload, [{**part, "ChecksumSHA1": checksum("sha1", b"x")}])
    s.call("head after such a checksum", "HeadObject", Key="n", ChecksumMode="ENABLED")


def part_copies(s: Session) -> None:
    """Cases of UploadPartCopy."""
    s.in_area("part-copies")
    s.call("put the source", "PutObject", Key="source", Body=_FIRST + _LAST)
    s.call("put a small source", "PutObject", Key="small", Body=b"0123456789")
    upload, source = _begin(s, "c", "c"), f"{s.bucket}/source"
    copies = []
    for number, (name, path, byte_range) in enumerate((
        ("the first part", source, f"bytes=0-{5 * _MIB - 1}"), ("all", f"{s.bucket}/small", None),
    ), 1):  # fmt: skip
        more = {} if byte_range is None else {"CopySourceRange": byte_range}
        response = s.call(f"copy {name}", "UploadPartCopy", Key="c", UploadId=upload, PartNumber=number,
                          CopySource=path, **more)  # fmt: skip
        copies.append({"PartNumber": number, "ETag": response.get("CopyPartResult", {}).get("ETag", '"none"')})
    s.call("list copied parts", "ListParts", Key="c", UploadId=upload)
    for value in (
        "bytes=0-10",
        "bytes=0-9",
        "bytes=5-",
        "bytes=-5",
        "bytes=9-5",
        "0-5",
        "bytes=10-11",
        "bytes=0-1,2-3",
    ):
        s.call(f"copy {value} of ten bytes", "UploadPartCopy", Key="c", UploadId=upload, PartNumber=9,
               CopySource=f"{s.bucket}/small", CopySourceRange=value)  # fmt: skip
    s.call("copy a part of nowhere", "UploadPartCopy", Key="c", UploadId=upload, PartNumber=9,
           CopySource=f"{s.bucket}/nowhere")  # fmt: skip
    s.call("copy a part into no upload", "UploadPartCopy", Key="c", UploadId="no-such-upload", PartNumber=9,
           CopySource=source)  # fmt: skip
    s.call("copy a part if-match wrong", "UploadPartCopy", Key="c", UploadId=upload, PartNumber=9, CopySource=source,
           CopySourceIfMatch='"x"')  # fmt: skip
    _complete(s, "of copies", "c", upload, copies)
    s.call("get the copies", "GetObject", Key="c")
    upload = _begin(s, "c with sha256", "s", ChecksumAlgorithm="SHA256")
    s.call("copy a part with sha256", "UploadPartCopy", Key="s", UploadId=upload, PartNumber=1,
           CopySource=f"{s.bucket}/small")  # fmt: skip


def lists(s: Session) -> None:
    """Cases of ListMultipartUploads."""
    s.in_area("upload-lists")
    for key in ("b/1", "a", "b/2", "a", "c+d e"):
        s.client.create_multipart_upload(Bucket=s.bucket, Key=key)
    s.call("all", "ListMultipartUploads")
    s.call("by prefix", "ListMultipartUploads", Prefix="b/")
    s.call("by delimiter", "ListMultipartUploads", Delimiter="/")
    s.call("none", "ListMultipartUploads", MaxUploads=0)
    s.raw("encoded", "GET", "?uploads&encoding-type=url&prefix=c")
    s.raw("x uploads", "GET", "?uploads&max-uploads=x")
    s.call("after a key", "ListMultipartUploads", KeyMarker="a")
    s.call("after an unknown upload", "ListMultipartUploads", KeyMarker="a", UploadIdMarker="none")
    s.call("upload marker without key marker", "ListMultipartUploads", UploadIdMarker="none")
    marker: dict[str, Any] = {}
    for page in range(1, 4):
        response = s.call(f"page {page} of two", "ListMultipartUploads", MaxUploads=2, **marker)
        marker = {"KeyMarker": response.get("NextKeyMarker", "z"),
                  "UploadIdMarker": response.get("NextUploadIdMarker", "z")}  # fmt: skip
