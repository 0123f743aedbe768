"""Which operation a request asks for."""

import pytest

from s3bench.s3.emulator.operation import Operation, bucket_of_host, operation_of, parse_query
from s3bench.s3.protocol.s3_error import S3Error

COPY = {"x-amz-copy-source": "b/k"}


@pytest.mark.parametrize(
    ("method", "key", "query", "fields", "operation"),
    [
        ("GET", "", "", {}, Operation.LIST_OBJECTS),
        ("GET", "", "list-type=2", {}, Operation.LIST_OBJECTS_V2),
        ("GET", "", "list-type=3", {}, Operation.LIST_OBJECTS),
        ("GET", "", "prefix=x&versions", {}, Operation.LIST_OBJECT_VERSIONS),
        ("GET", "", "uploads", {}, Operation.LIST_MULTIPART_UPLOADS),
        ("POST", "", "delete", {}, Operation.DELETE_OBJECTS),
        ("POST", "", "", {}, Operation.POST_OBJECT),
        ("GET", "k", "", {}, Operation.GET_OBJECT),
        ("GET", "k", "x-id=GetObject", {}, Operation.GET_OBJECT),
        ("GET", "k", "versionId=1", {}, Operation.GET_OBJECT),
        ("PUT", "k", "", {}, Operation.PUT_OBJECT),
        ("PUT", "k", "", COPY, Operation.COPY_OBJECT),
        ("PUT", "k", "uploadId=1&partNumber=1", {}, Operation.UPLOAD_PART),
        ("PUT", "k", "uploadId=1&partNumber=1", COPY, Operation.UPLOAD_PART_COPY),
        ("POST", "k", "uploads", {}, Operation.CREATE_MULTIPART_UPLOAD),
        ("POST", "k", "uploadId=1", {}, Operation.COMPLETE_MULTIPART_UPLOAD),
    ],
)
def test_method_target_query_and_headers_tell_the_operation(
    method: str, key: str, query: str, fields: dict[str, str], operation: Operation
) -> None:
    assert operation_of(method, "b", key, parse_query(query), fields) is operation


@pytest.mark.parametrize(
    ("method", "bucket", "key", "query", "code"),
    [
        ("PUT", "", "", "", "MethodNotAllowed"),
        ("PATCH", "b", "k", "", "NotImplemented"),
        ("POST", "b", "k", "", "MethodNotAllowed"),
        ("GET", "b", "", "inventory", "NotImplemented"),
        ("PUT", "b", "", "policy", "NotImplemented"),
        ("GET", "b", "k", "torrent", "NotImplemented"),
        ("POST", "b", "k", "select&select-type=2", "NotImplemented"),
        ("PUT", "b", "k", "partNumber=1", "InvalidArgument"),
        ("DELETE", "b", "", "versioning", "MethodNotAllowed"),
        ("DELETE", "b", "", "uploadId=1", "MethodNotAllowed"),
        ("GET", "b", "", "list-type=2&delete", "MethodNotAllowed"),
        ("POST", "b", "", "uploads", "MethodNotAllowed"),
        ("PUT", "b", "k", "uploads", "MethodNotAllowed"),
        ("PUT", "b", "k", "uploadId=1&partNumber=1&versions", "MethodNotAllowed"),
        ("PUT", "b", "k", "lifecycle", "MethodNotAllowed"),
        ("DELETE", "b", "k", "uploads", "MethodNotAllowed"),
        ("HEAD", "b", "k", "attributes", "MethodNotAllowed"),
        ("GET", "", "", "versioning", "MethodNotAllowed"),
        ("GET", "", "b/k", "", "InvalidBucketName"),
    ],
)
def test_what_is_not_there_is_refused_by_name(method: str, bucket: str, key: str, query: str, code: str) -> None:
    with pytest.raises(S3Error) as refused:
        operation_of(method, bucket, key, parse_query(query), {})
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("host", "bucket"),
    [
        ("localhost:9000", ""),
        ("b.localhost:9000", "b"),
        ("B.localhost", "b"),
        ("b.s3.localhost", "b"),
        ("s3.localhost", ""),
        ("a.b.localhost", "a.b"),
        ("127.0.0.1:9000", ""),
        ("[::1]:9000", ""),
        ("elsewhere", ""),
    ],
)
def test_a_host_header_may_name_the_bucket(host: str, bucket: str) -> None:
    assert bucket_of_host(host, "localhost") == bucket


def test_of_a_repeated_parameter_the_first_counts_and_a_bare_name_is_empty() -> None:
    assert parse_query("a=1&a=2&b&&c=%2F+x=y&=") == {"a": "1", "b": "", "c": "/ x=y", "": ""}


def test_a_query_is_utf_8_encoded_or_not() -> None:
    raw = "prefix=é%C3%A9".encode()
    split = b"marker=\xc3%A9"
    assert parse_query(raw.decode("latin-1")) == {"prefix": "éé"}
    assert parse_query(split.decode("latin-1")) == {"marker": "é"}
