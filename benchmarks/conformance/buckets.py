"""Calls on buckets, on the service, and ones that no S3 takes."""

from conformance.session import Session

_LONG = "b" * 64


def service(s: Session) -> None:
    """Cases of the service, and of bucket names."""
    s.in_area("service")
    s.raw("list all buckets", "GET", "/")
    s.call("list buckets by prefix", "ListBuckets", Prefix="conformance-serv", MaxBuckets=1)
    s.call("create a bucket", "CreateBucket", Bucket="conformance-new")
    s.call("create a bucket that we own already", "CreateBucket", Bucket="conformance-new")
    s.call("head a bucket", "HeadBucket", Bucket="conformance-new")
    s.call("head a bucket that is not there", "HeadBucket", Bucket="conformance-nowhere")
    s.call("location of a bucket", "GetBucketLocation", Bucket="conformance-new")
    s.call("location of a bucket that is not there", "GetBucketLocation", Bucket="conformance-nowhere")
    s.call("delete a bucket", "DeleteBucket", Bucket="conformance-new")
    s.call("delete a bucket that is not there", "DeleteBucket", Bucket="conformance-new")
    for what, bucket in (
        ("too short", "ab"), ("too long", _LONG), ("in capitals", "Capitals"), ("with an underscore", "under_score"),
        ("like an IP address", "192.168.5.4"), ("with two dots", "two..dots"), ("ending in a dash", "dash-"),
        ("beginning with xn--", "xn--bucket"), ("beginning with a dot", ".bucket"), ("with dots", "dots.in.name"),
        ("ending in -s3alias", "bucket-s3alias"), ("beginning with sthree-", "sthree-bucket"),
    ):  # fmt: skip
        s.raw(f"create a bucket whose name is {what}", "PUT", f"/{bucket}")
    elsewhere = b"<CreateBucketConfiguration><LocationConstraint>%b</LocationConstraint></CreateBucketConfiguration>"
    s.raw("create a bucket in another region", "PUT", "/conformance-west", body=elsewhere % b"us-west-2")
    s.raw("create a bucket in no region", "PUT", "/conformance-moon", body=elsewhere % b"moon-1")
    s.raw("create a bucket by malformed XML", "PUT", "/conformance-xml", body=b"<CreateBucketConfiguration>")
    s.raw("create a bucket by another document", "PUT", "/conformance-xml", body=b"<Other/>")
    s.raw("put to the service", "PUT", "/")
    s.raw("delete the service", "DELETE", "/")
    s.raw("head of the service", "HEAD", "/")


def bucket(s: Session) -> None:
    """Cases of one bucket: its settings, and what it cannot do."""
    s.in_area("bucket")
    s.call("versioning never set", "GetBucketVersioning")
    s.call("enable versioning", "PutBucketVersioning", VersioningConfiguration={"Status": "Enabled"})
    s.call("versioning enabled", "GetBucketVersioning")
    s.call("suspend versioning", "PutBucketVersioning", VersioningConfiguration={"Status": "Suspended"})
    s.call("versioning suspended", "GetBucketVersioning")
    s.raw("versioning set to nonsense", "PUT", "?versioning",
          body=b"<VersioningConfiguration><Status>Maybe</Status></VersioningConfiguration>")  # fmt: skip
    s.raw("versioning set by malformed XML", "PUT", "?versioning", body=b"<VersioningConfiguration")
    s.raw("versioning set by nothing", "PUT", "?versioning")
    s.call("versioning of no bucket", "GetBucketVersioning", Bucket="conformance-nowhere")
    s.call("tags of a bucket without", "GetBucketTagging")
    tags = [{"Key": "b", "Value": "2"}, {"Key": "a", "Value": ""}]
    s.call("tag a bucket", "PutBucketTagging", Tagging={"TagSet": tags})
    s.call("tags of a bucket", "GetBucketTagging")
    s.call("tag a bucket twice alike", "PutBucketTagging", Tagging={"TagSet": [tags[0], tags[0]]})
    many = [{"Key": f"k{number}", "Value": "v"} for number in range(51)]
    s.call("tag a bucket fifty-one times", "PutBucketTagging", Tagging={"TagSet": many})
    s.call("remove the tags of a bucket", "DeleteBucketTagging")
    s.call("tags of a bucket that has none any more", "GetBucketTagging")
    s.call("put an object into no bucket", "PutObject", Bucket="conformance-nowhere", Key="k", Body=b"x")
    s.call("get an object out of no bucket", "GetObject", Bucket="conformance-nowhere", Key="k")
    s.call("head an object of no bucket", "HeadObject", Bucket="conformance-nowhere", Key="k")
    s.call("delete an object of no bucket", "DeleteObject", Bucket="conformance-nowhere", Key="k")
    s.call("list no bucket", "ListObjectsV2", Bucket="conformance-nowhere")
    s.call("list the versions of no bucket", "ListObjectVersions", Bucket="conformance-nowhere")
    s.call("list the uploads of no bucket", "ListMultipartUploads", Bucket="conformance-nowhere")
    s.call("begin an upload into no bucket", "CreateMultipartUpload", Bucket="conformance-nowhere", Key="k")
    s.call("delete many of no bucket", "DeleteObjects", Bucket="conformance-nowhere",
           Delete={"Objects": [{"Key": "k"}]})  # fmt: skip
    s.call("put an object to delete the bucket over", "PutObject", Key="k", Body=b"x")
    s.call("delete a bucket that is not empty", "DeleteBucket")
    s.raw("post to a bucket", "POST", "", body=b"x")
    s.raw("patch a bucket", "PATCH", "")
    s.raw("options of a bucket", "OPTIONS", "", headers={"Origin": "http://x", "Access-Control-Request-Method": "GET"},
          signed=False)  # fmt: skip
    s.raw("a trailing slash names the bucket", "GET", "?list-type=2&max-keys=0")


def unsupported(s: Session) -> None:
    """Cases of what S3 has, and perhaps not each server."""
    s.in_area("unsupported")
    s.call("an object to ask about", "PutObject", Key="k", Body=b"x")
    for name in ("acl", "policy", "cors", "lifecycle", "encryption", "website", "replication", "notification",
                 "object-lock", "ownershipControls", "publicAccessBlock", "accelerate", "logging",
                 "requestPayment", "policyStatus"):  # fmt: skip
        s.raw(f"bucket ?{name}", "GET", f"?{name}")
    for name in ("acl", "legal-hold", "retention", "torrent"):
        s.raw(f"object ?{name}", "GET", f"k?{name}")
    s.raw("select object content", "POST", "k?select&select-type=2", body=b"<x/>")
    s.raw("restore an object", "POST", "k?restore", body=b"<RestoreRequest><Days>1</Days></RestoreRequest>")
    s.raw("post to an object", "POST", "k", body=b"x")
    s.raw("patch an object", "PATCH", "k")
    s.raw("an unknown sub-resource is ignored", "GET", "k?nothing-known", of_data=True)
    s.raw("an unknown sub-resource with a value is ignored", "GET", "k?x-id=GetObject", of_data=True)
    s.raw("two sub-resources", "GET", "?location&versioning")
    key = "01234567890123456789012345678901"
    s.call("put with a key of the customer", "PutObject", Key="c", Body=b"x", SSECustomerAlgorithm="AES256",
           SSECustomerKey=key)  # fmt: skip
    s.call("get without the key of the customer", "GetObject", Key="c")
    s.call("put with KMS", "PutObject", Key="kms", Body=b"x", ServerSideEncryption="aws:kms", SSEKMSKeyId="key")
    s.call("put with AES256", "PutObject", Key="aes", Body=b"x", ServerSideEncryption="AES256")
    s.raw("put with another encryption", "PUT", "no", body=b"x", headers={"x-amz-server-side-encryption": "ROT13"})
    s.call("put with a lock", "PutObject", Key="l", Body=b"x", ObjectLockLegalHoldStatus="ON")
    s.call("put with a public acl", "PutObject", Key="p", Body=b"x", ACL="public-read")
    s.call("put with the acl private", "PutObject", Key="p", Body=b"x", ACL="private")
    s.raw("put with an unknown acl", "PUT", "p", body=b"x", headers={"x-amz-acl": "everybody"})
