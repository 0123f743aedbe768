"""Calls that list objects and versions, and those of versioned buckets."""

from typing import Any

from conformance.session import NOTHING, Session

# No key is a folder of another: versitygw keeps keys as files.
_KEYS = ("a", "d/b", "d/c", "d/e/f", "d0", "b", "c d", "c+d", "photos/2006/January/sample.jpg",
         "photos/2006/February/sample2.jpg", "ä", "日本")  # fmt: skip


def lists(s: Session) -> None:
    """Cases of ListObjects and ListObjectsV2."""
    s.in_area("lists")
    s.call("an empty bucket", "ListObjectsV2")
    s.call("an empty bucket, version 1", "ListObjects")
    for key in _KEYS:
        s.client.put_object(Bucket=s.bucket, Key=key, Body=key.encode())
    for version, operation in (("1", "ListObjects"), ("2", "ListObjectsV2")):
        for what, parameters in (
            ("all", {}), ("prefix a", {"Prefix": "a"}), ("prefix d/", {"Prefix": "d/"}), ("prefix x", {"Prefix": "x"}),
            ("delimiter", {"Delimiter": "/"}), ("prefix and delimiter", {"Prefix": "d/", "Delimiter": "/"}),
            ("prefix without slash and delimiter", {"Prefix": "photos", "Delimiter": "/"}),
            ("a long delimiter", {"Delimiter": "/2006/"}), ("a letter as delimiter", {"Delimiter": "a"}),
            ("prefix of a folder and delimiter", {"Prefix": "d/e", "Delimiter": "/"}),
            ("none", {"MaxKeys": 0}), ("one", {"MaxKeys": 1}),
            ("more than 1000", {"MaxKeys": 5000}), ("delimiter, one", {"Delimiter": "/", "MaxKeys": 1}),
            ("delimiter, two", {"Delimiter": "/", "MaxKeys": 2}), ("prefix in unicode", {"Prefix": "日"}),
        ):  # fmt: skip
            s.call(f"version {version}, {what}", operation, **parameters)
        for what, query in (("max-keys x", "max-keys=x"), ("max-keys -1", "max-keys=-1"),
                            ("max-keys empty", "max-keys="),
                            ("max-keys 2**31", "max-keys=2147483648"), ("encoded", "encoding-type=url&prefix=c"),
                            ("encoded unicode", "encoding-type=url&prefix=%C3%A4"),
                            ("an empty delimiter", "delimiter=&prefix=a"),
                            ("encoded delimiter", "encoding-type=url&delimiter=%20&prefix=c"),
                            ("as it is", "prefix=c")):  # fmt: skip
            listing = "list-type=2&" if version == "2" else ""
            s.raw(f"version {version}, {what}", "GET", f"?{listing}{query}")
    s.call("marker", "ListObjects", Marker="d/c")
    s.call("marker between keys", "ListObjects", Marker="d/bb")
    s.call("marker is a common prefix", "ListObjects", Marker="d/", Delimiter="/")
    s.call("marker inside a common prefix", "ListObjects", Marker="d/c", Delimiter="/")
    s.call("marker before the prefix", "ListObjects", Marker="a", Prefix="d")
    s.call("marker behind the prefix", "ListObjects", Marker="e", Prefix="d")
    s.call("start after", "ListObjectsV2", StartAfter="d/c")
    s.call("start after everything", "ListObjectsV2", StartAfter="鿿")
    s.call("start after inside a common prefix", "ListObjectsV2", StartAfter="d/c", Delimiter="/")
    s.call("start after a common prefix", "ListObjectsV2", StartAfter="d/", Delimiter="/")
    s.call("with owner", "ListObjectsV2", FetchOwner=True, MaxKeys=1)
    s.call("a token that is none", "ListObjectsV2", ContinuationToken="!")
    s.raw("an empty token", "GET", "?list-type=2&continuation-token=")
    s.raw("list type 3", "GET", "?list-type=3")
    for what, parameters in (("", {}), (" with delimiter", {"Delimiter": "/"}), (" after a", {"StartAfter": "a"})):
        more = dict(parameters)
        for page in range(1, 8):
            response = s.call(f"page {page} of three{what}", "ListObjectsV2", MaxKeys=3, **more)
            if not response.get("IsTruncated"):
                break
            more["ContinuationToken"] = response["NextContinuationToken"]


def versions(s: Session) -> None:
    """Cases of a bucket whose versioning is enabled, and then suspended."""
    s.in_area("versions")
    s.call("put before versioning", "PutObject", Key="k", Body=b"null one")
    s.client.put_bucket_versioning(Bucket=s.bucket, VersioningConfiguration={"Status": "Enabled"})
    s.call("get the null version", "GetObject", Key="k", VersionId="null")
    s.call("get the null version without naming it", "GetObject", Key="k")
    first = _version(s.call("put the first", "PutObject", Key="k", Body=b"first"))
    second = _version(s.call("put the second", "PutObject", Key="k", Body=b"second", Metadata={"m": "2"}))
    s.call("get", "GetObject", Key="k")
    s.call("get the first", "GetObject", Key="k", VersionId=first)
    s.call("head the first", "HeadObject", Key="k", VersionId=first)
    s.call("get the null one", "GetObject", Key="k", VersionId="null")
    s.call("get of another key's version", "GetObject", Key="other", VersionId=first)
    s.call("list versions", "ListObjectVersions")
    s.call(
        "tag a version", "PutObjectTagging", Key="k", VersionId=first, Tagging={"TagSet": [{"Key": "a", "Value": "b"}]}
    )
    s.call("tags of a version", "GetObjectTagging", Key="k", VersionId=first)
    s.call("tags of the current version", "GetObjectTagging", Key="k")
    s.call("copy a version", "CopyObject", Key="copy", CopySource=f"{s.bucket}/k?versionId={first}")
    s.call("copy a version onto the key", "CopyObject", Key="k", CopySource=f"{s.bucket}/k?versionId={first}")
    marker = _version(s.call("delete", "DeleteObject", Key="k"))
    s.call("get after delete", "GetObject", Key="k")
    s.call("head after delete", "HeadObject", Key="k")
    s.call("get the delete marker", "GetObject", Key="k", VersionId=marker)
    s.call("head the delete marker", "HeadObject", Key="k", VersionId=marker)
    s.call("tags of a deleted key", "GetObjectTagging", Key="k")
    s.call("tags of the delete marker", "GetObjectTagging", Key="k", VersionId=marker)
    s.call("copy from a deleted key", "CopyObject", Key="copy", CopySource=f"{s.bucket}/k")
    s.call("copy the delete marker", "CopyObject", Key="copy", CopySource=f"{s.bucket}/k?versionId={marker}")
    s.call("attributes of a deleted key", "GetObjectAttributes", Key="k", ObjectAttributes=["ETag"])
    _rewritten(s)
    _listed(s, second)
    _deleted(s, first, second, marker)


def _rewritten(s: Session) -> None:
    s.call("if-none-match on a deleted key", "PutObject", Key="k", Body=b"again", IfNoneMatch="*")
    s.call("delete once more", "DeleteObject", Key="k")
    s.call("delete a deleted key", "DeleteObject", Key="k")
    s.call("if-match on a deleted key", "PutObject", Key="k", Body=b"no", IfMatch="*")
    s.call("delete what never was", "DeleteObject", Key="never")


def _listed(s: Session, second: str) -> None:
    s.call("list objects", "ListObjectsV2")
    s.call("list versions with markers", "ListObjectVersions")
    s.call("list versions by delimiter", "ListObjectVersions", Delimiter="e")
    s.call("list two versions", "ListObjectVersions", MaxKeys=2)
    s.call("list no versions", "ListObjectVersions", MaxKeys=0)
    s.call("versions after one", "ListObjectVersions", KeyMarker="k", VersionIdMarker=second)
    s.call("versions after a key", "ListObjectVersions", KeyMarker="copy")
    s.call("version marker without key marker", "ListObjectVersions", VersionIdMarker=second)
    s.call("version marker that is none", "ListObjectVersions", KeyMarker="k", VersionIdMarker="none")
    more: dict[str, Any] = {}
    for page in range(1, 8):
        response = s.call(f"page {page} of versions", "ListObjectVersions", MaxKeys=3, **more)
        if not response.get("IsTruncated"):
            break
        more = {"KeyMarker": response.get("NextKeyMarker", ""),
                "VersionIdMarker": response.get("NextVersionIdMarker", "")}  # fmt: skip


def _deleted(s: Session, first: str, second: str, marker: str) -> None:
    s.call("delete the delete marker", "DeleteObject", Key="k", VersionId=marker)
    s.call("delete a version for good", "DeleteObject", Key="k", VersionId=first)
    s.call("get a version that is gone", "GetObject", Key="k", VersionId=first)
    s.call("delete a version again", "DeleteObject", Key="k", VersionId=first)
    s.call("delete many, versioned", "DeleteObjects",
           Delete={"Objects": [{"Key": "k", "VersionId": second}, {"Key": "copy"}, {"Key": "never"}]})  # fmt: skip
    upload = s.call("begin an upload", "CreateMultipartUpload", Key="mp").get("UploadId", NOTHING)
    part = s.call("upload a part", "UploadPart", Key="mp", UploadId=upload, PartNumber=1, Body=b"x")
    parts = [{"PartNumber": 1, "ETag": part.get("ETag", '"none"')}]
    s.call("complete, versioned", "CompleteMultipartUpload", Key="mp", UploadId=upload,
           MultipartUpload={"Parts": parts})  # fmt: skip
    s.call("delete the bucket", "DeleteBucket")


def suspended(s: Session) -> None:
    """Cases of a bucket whose versioning is suspended."""
    s.in_area("suspended", versioning="Enabled")
    kept = _version(s.call("put while enabled", "PutObject", Key="k", Body=b"kept"))
    s.client.put_bucket_versioning(Bucket=s.bucket, VersioningConfiguration={"Status": "Suspended"})
    s.call("put while suspended", "PutObject", Key="k", Body=b"null one")
    s.call("put over the null version", "PutObject", Key="k", Body=b"null two")
    s.call("get", "GetObject", Key="k")
    s.call("head the null version", "HeadObject", Key="k", VersionId="null")
    s.call("list versions", "ListObjectVersions")
    s.call("delete", "DeleteObject", Key="k")
    s.call("list versions after delete", "ListObjectVersions")
    s.call("get after delete", "GetObject", Key="k")
    s.call("get the null delete marker", "GetObject", Key="k", VersionId="null")
    s.call("get the one that was kept", "GetObject", Key="k", VersionId=kept)
    s.call("delete again", "DeleteObject", Key="k")
    s.call("delete the null version", "DeleteObject", Key="k", VersionId="null")
    s.call("get the one that came back", "GetObject", Key="k")
    s.call("delete many while suspended", "DeleteObjects", Delete={"Objects": [{"Key": "k"}]})
    s.call("copy while suspended", "CopyObject", Key="c", CopySource=f"{s.bucket}/k?versionId={kept}")
    s.call("list versions at the end", "ListObjectVersions")


def _version(response: dict[str, Any]) -> str:
    return str(response.get("VersionId", NOTHING))
