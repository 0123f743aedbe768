"""Calls about how a body is declared, framed and signed."""

import hashlib

from conformance.session import Session
from conformance.sums import ALGORITHMS, checksum, declared

_BODY = b"0123456789"
_OTHER = b"9876543210"
_UNSIGNED = "UNSIGNED-PAYLOAD"
_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"


def checksums(s: Session) -> None:
    """Cases of checksums as headers: right, wrong, malformed, several."""
    s.in_area("checksums")
    for algorithm in ALGORITHMS:
        header = f"x-amz-checksum-{algorithm}"
        s.raw(f"{algorithm} right", "PUT", algorithm, body=_BODY, headers=declared(algorithm, _BODY))
        s.call(f"{algorithm} told", "GetObject", Key=algorithm, ChecksumMode="ENABLED")
        s.call(f"{algorithm} not told", "HeadObject", Key=algorithm)
        s.raw(f"{algorithm} wrong", "PUT", algorithm, body=_BODY, headers=declared(algorithm, _OTHER))
        s.raw(f"{algorithm} malformed", "PUT", algorithm, body=_BODY, headers={header: "nonsense!"})
        s.raw(f"{algorithm} too short", "PUT", algorithm, body=_BODY, headers={header: "AAAA"})
        s.raw(f"{algorithm} in capitals named too", "PUT", algorithm, body=_BODY,
              headers={**declared(algorithm, _BODY), "x-amz-sdk-checksum-algorithm": algorithm.upper()})  # fmt: skip
        s.raw(f"{algorithm} as trailer", "PUT", f"t-{algorithm}", payload=_TRAILER,
              headers=_trailing(algorithm), body=_chunked(algorithm, checksum(algorithm, _BODY)))  # fmt: skip
        s.raw(f"{algorithm} as wrong trailer", "PUT", f"t-{algorithm}", payload=_TRAILER,
              headers=_trailing(algorithm), body=_chunked(algorithm, checksum(algorithm, _OTHER)))  # fmt: skip
        s.call(f"{algorithm} of a trailer told", "HeadObject", Key=f"t-{algorithm}", ChecksumMode="ENABLED")
    s.raw("none", "PUT", "none", body=_BODY)
    s.call("none told", "HeadObject", Key="none", ChecksumMode="ENABLED")
    s.raw("two of them", "PUT", "two", body=_BODY, headers={**declared("crc32", _BODY), **declared("sha1", _BODY)})
    s.raw("another than named", "PUT", "k", body=_BODY,
          headers={**declared("crc32", _BODY), "x-amz-sdk-checksum-algorithm": "SHA256"})  # fmt: skip
    s.raw("named and not sent", "PUT", "k", body=_BODY, headers={"x-amz-sdk-checksum-algorithm": "SHA256"})
    s.raw("an unknown one named", "PUT", "k", body=_BODY, headers={"x-amz-sdk-checksum-algorithm": "MD4"})
    s.raw("an unknown one sent", "PUT", "k", body=_BODY, headers={"x-amz-checksum-md4": "AAAA"})
    s.raw("Content-MD5 right", "PUT", "md5", body=_BODY, headers=declared("md5", _BODY))
    s.raw("Content-MD5 wrong", "PUT", "md5", body=_BODY, headers=declared("md5", _OTHER))
    s.raw("Content-MD5 malformed", "PUT", "md5", body=_BODY, headers={"Content-MD5": "nonsense!"})
    s.raw("Content-MD5 too short", "PUT", "md5", body=_BODY, headers={"Content-MD5": "AAAA"})
    s.raw("Content-MD5 empty", "PUT", "md5", body=_BODY, headers={"Content-MD5": ""})
    s.raw("Content-MD5 right, crc32 wrong", "PUT", "md5", body=_BODY,
          headers={**declared("md5", _BODY), **declared("crc32", _OTHER)})  # fmt: skip
    s.call("the refused puts changed nothing", "GetObject", Key="md5")
    s.raw("an unknown trailer", "PUT", "k", payload=_TRAILER, headers=_trailing("md4"), body=_chunked("md4", "AAAA"))
    s.raw("a trailer that does not come", "PUT", "k", payload=_TRAILER, headers=_trailing("crc32"),
          body=b"a\r\n0123456789\r\n0\r\n\r\n")  # fmt: skip
    s.raw("a trailer that was not announced", "PUT", "k", payload=_TRAILER,
          headers={"x-amz-decoded-content-length": "10", "Content-Encoding": "aws-chunked"},
          body=_chunked("crc32", checksum("crc32", _BODY)))  # fmt: skip


def framing(s: Session) -> None:
    """Cases of lengths, chunks and payload hashes."""
    s.in_area("framing")
    s.raw("no length", "PUT", "k", length=False)
    s.raw("length 0", "PUT", "k")
    s.raw("an unsigned payload", "PUT", "k", body=_BODY, payload=_UNSIGNED)
    s.raw("the hash of another payload", "PUT", "k", body=_BODY, payload=hashlib.sha256(_OTHER).hexdigest())
    s.raw("a hash that is none", "PUT", "k", body=_BODY, payload="nonsense")
    s.raw("a hash in capitals", "PUT", "k", body=_BODY, payload=hashlib.sha256(_BODY).hexdigest().upper())
    s.raw("transfer-encoding chunked", "PUT", "k", body=_BODY, pieces=(_BODY,))
    s.raw("chunked with its decoded length", "PUT", "k", pieces=(_chunked("crc32", checksum("crc32", _BODY)),),
          payload=_TRAILER, headers=_trailing("crc32"))  # fmt: skip
    s.call("get what came in chunks", "GetObject", Key="k")
    s.raw("more than the decoded length", "PUT", "k", payload=_TRAILER,
          headers={**_trailing("crc32"), "x-amz-decoded-content-length": "9"},
          body=_chunked("crc32", checksum("crc32", _BODY)))  # fmt: skip
    s.raw("less than the decoded length", "PUT", "k", payload=_TRAILER,
          headers={**_trailing("crc32"), "x-amz-decoded-content-length": "11"},
          body=_chunked("crc32", checksum("crc32", _BODY)))  # fmt: skip
    s.raw("no decoded length", "PUT", "k", payload=_TRAILER,
          headers={"x-amz-trailer": "x-amz-checksum-crc32", "Content-Encoding": "aws-chunked"},
          body=_chunked("crc32", checksum("crc32", _BODY)))  # fmt: skip
    s.raw("chunks that are none", "PUT", "k", payload=_TRAILER, headers=_trailing("crc32"), body=b"nonsense\r\n")
    s.raw("larger than five gigabytes", "PUT", "k", headers={"Content-Length": str(5 * 1024**3 + 1)}, length=False,
          payload=_UNSIGNED)  # fmt: skip


def signatures(s: Session) -> None:
    """Cases of presigned requests, wrong signatures, and none."""
    s.in_area("signatures")
    s.call("put", "PutObject", Key="a key+1", Body=_BODY)
    s.presigned("presigned get", "GetObject", Key="a key+1")
    s.presigned("presigned get of a version and a part", "GetObject", Key="a key+1", PartNumber=1)
    s.presigned("presigned get with overrides", "GetObject", Key="a key+1", ResponseContentType="text/x y")
    s.presigned("presigned put", "PutObject", Key="p", body=_BODY)
    s.presigned("presigned put without a header that was signed", "PutObject", Key="p", Metadata={"m": "1"}, body=_BODY)
    s.presigned("presigned list", "ListObjectsV2", Prefix="p")
    s.presigned("presigned and forged", "GetObject", Key="a key+1", change=("Signature=", "Signature=0"))
    s.presigned("presigned for another key", "GetObject", Key="p", change=("/p?", "/q?"))
    s.presigned("presigned for too long", "GetObject", Key="p", change=("Expires=60", "Expires=604801"))
    s.presigned("presigned for a time that is none", "GetObject", Key="p", change=("Expires=60", "Expires=x"))
    s.presigned("presigned with another algorithm", "GetObject", Key="p", change=("AWS4-HMAC-SHA256", "AWS4-X"))
    s.presigned("presigned by nobody known", "GetObject", Key="p", change=("=conformance%2F", "=somebody%2F"))
    s.presigned("presigned for another region", "GetObject", Key="p", change=("us-east-1", "eu-west-1"))
    s.presigned("presigned without a date", "GetObject", Key="p", change=("X-Amz-Date", "X-Amz-Dat"))
    s.raw("no signature", "GET", "p", signed=False)
    s.raw("a signature that is none", "GET", "p", signed=False, headers={"Authorization": "nonsense"})
    wrong = ("AWS4-HMAC-SHA256 Credential=conformance/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, "
             "Signature=" + "0" * 64)  # fmt: skip
    dated = {"Authorization": wrong, "x-amz-date": "20260101T000000Z", "x-amz-content-sha256": _UNSIGNED}
    s.raw("a date long ago", "GET", "p", signed=False, headers=dated)
    s.raw("by a virtual host", "GET", "/a%20key%2B1", host=s.host_of_bucket(), of_data=True)
    s.raw("put by a virtual host", "PUT", "/v/k", body=_BODY, host=s.host_of_bucket())
    s.raw("list by a virtual host", "GET", "/?list-type=2&prefix=v%2F", host=s.host_of_bucket())
    s.raw("head the bucket by a virtual host", "HEAD", "/", host=s.host_of_bucket())
    s.raw("get what a virtual host put", "GET", "v/k", of_data=True)


def _trailing(algorithm: str) -> dict[str, str]:
    return {
        "x-amz-trailer": f"x-amz-checksum-{algorithm}",
        "x-amz-decoded-content-length": str(len(_BODY)),
        "Content-Encoding": "aws-chunked",
    }


def _chunked(algorithm: str, value: str) -> bytes:
    return b"%x\r\n%b\r\n0\r\nx-amz-checksum-%b:%b\r\n\r\n" % (
        len(_BODY), _BODY, algorithm.encode(), value.encode(),
    )  # fmt: skip
