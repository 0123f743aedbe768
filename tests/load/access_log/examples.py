"""Lines as the documentation of each format shows them, and requests that they are."""

import json

OWNER = "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be"
TAIL = (
    "SigV4 ECDHE-RSA-AES128-GCM-SHA256 AuthHeader amzn-s3-demo-bucket1.s3.us-west-1.amazonaws.com TLSV1.2 "
    "arn:aws:s3:us-west-1:123456789012:accesspoint/example-AP Yes"
)

S3_SERVER = (
    (
        f"{OWNER} amzn-s3-demo-bucket1 [06/Feb/2019:00:00:38 +0000] 192.0.2.3 {OWNER} 3E57427F3EXAMPLE "
        'REST.GET.VERSIONING - "GET /amzn-s3-demo-bucket1?versioning HTTP/1.1" 200 - 113 - 7 - "-" "S3Console/0.4" - '
        f"s9lzHYrFp76ZVxRcpX9+5cjAnEH2ROuNkd2BHfIa6UkFVdtjf5mKR3/eTPFvsiP/XV/VLi31234= {TAIL}"
    ),
    (
        f"{OWNER} amzn-s3-demo-bucket1 [06/Feb/2019:00:00:38 +0000] 192.0.2.3 {OWNER} 891CE47D2EXAMPLE "
        'REST.GET.LOGGING_STATUS - "GET /amzn-s3-demo-bucket1?logging HTTP/1.1" 200 - 242 - 11 - "-" "S3Console/0.4" - '
        f"9vKBE6vMhrNiWHZmb2L0mXOcqPGzQOI5XLnCtZNPxev+Hf+7tpT6sxDwDty4LHBUOZJG96N1234= {TAIL}"
    ),
    (
        f"{OWNER} amzn-s3-demo-bucket1 [06/Feb/2019:00:00:38 +0000] 192.0.2.3 {OWNER} A1206F460EXAMPLE "
        'REST.GET.BUCKETPOLICY - "GET /amzn-s3-demo-bucket1?policy HTTP/1.1" 404 NoSuchBucketPolicy 297 - 38 - "-" '
        f'"S3Console/0.4" - BNaBsXZQQDbssi6xMBdBU2sLt+Yf5kZDmeBUP35sFoKa3sLLeMC78iwEIWxs99CRUrbS4n11234= {TAIL}'
    ),
    (
        f"{OWNER} amzn-s3-demo-bucket1 [06/Feb/2019:00:01:00 +0000] 192.0.2.3 {OWNER} 7B4A0FABBEXAMPLE "
        'REST.GET.VERSIONING - "GET /amzn-s3-demo-bucket1?versioning HTTP/1.1" 200 - 113 - 33 - "-" "S3Console/0.4" - '
        f"Ke1bUcazaN1jWuUlPJaxF64cQVpUEhoZKEG/hmy/gijN/I1DeWqDfFvnpybfEseEME/u7ME1234= {TAIL}"
    ),
    (
        f"{OWNER} amzn-s3-demo-bucket1 [06/Feb/2019:00:01:57 +0000] 192.0.2.3 {OWNER} DD6CC733AEXAMPLE "
        'REST.PUT.OBJECT s3-dg.pdf "PUT /amzn-s3-demo-bucket1/s3-dg.pdf HTTP/1.1" 200 - - 4406583 41754 28 "-" '
        '"S3Console/0.4" - '
        f"10S62Zv81kBW7BB6SX4XJ48o6kpcl6LPwEoizZQQxJd5qDSCTLX0TgS37kYUBKQW3+bPdrg1234= {TAIL}"
    ),
)
"""https://docs.aws.amazon.com/AmazonS3/latest/userguide/AccessLogFormat.html."""


def s3_line(
    operation: str,
    key: str,
    *,
    time: str = "06/Feb/2019:00:00:38 +0000",
    status: int = 200,
    sent: int | None = None,
    size: int | None = None,
    query: str = "",
) -> str:
    """A line of an S3 server access log."""
    method = operation.split(".")[1]
    sizes = " ".join("-" if number is None else str(number) for number in (sent, size))
    return (
        f"{OWNER} bucket [{time}] 192.0.2.3 {OWNER} 3E57427F3EXAMPLE {operation} {key} "
        f'"{method} /bucket/{key}{query} HTTP/1.1" {status} - {sizes} 12 10 "-" "aws-cli/2.0 \\"x\\"" - id= {TAIL}'
    )


CLOUDTRAIL_GET = {
    "eventVersion": "1.09",
    "userIdentity": {"type": "IAMUser", "accountId": "111122223333"},
    "eventTime": "2024-03-03T14:00:26Z",
    "eventSource": "s3.amazonaws.com",
    "eventName": "GetObject",
    "awsRegion": "ap-southeast-1",
    "requestParameters": {
        "X-Amz-Date": "20240303T140026Z",
        "bucketName": "logs",
        "Host": "logs.s3.ap-southeast-1.amazonaws.com",
        "key": "2024/03/03/events.json.gz",
    },
    "responseElements": None,
    "additionalEventData": {
        "SignatureVersion": "SigV4",
        "bytesTransferredIn": 0,
        "AuthenticationMethod": "QueryString",
        "bytesTransferredOut": 7759,
    },
    "readOnly": True,
    "eventType": "AwsApiCall",
    "managementEvent": False,
    "eventCategory": "Data",
}
"""The fields of https://docs.aws.amazon.com/AmazonS3/latest/userguide/cloudtrail-logging-understanding-s3-entries.html."""

CLOUDTRAIL_PUT = CLOUDTRAIL_GET | {
    "eventName": "PutObject",
    "requestParameters": {"bucketName": "logs", "key": "new"},
    "additionalEventData": {"bytesTransferredIn": 2048.0, "bytesTransferredOut": 0},
}
CLOUDTRAIL_DENIED = CLOUDTRAIL_GET | {"errorCode": "AccessDenied", "errorMessage": "Access Denied"}
CLOUDTRAIL_MANAGEMENT = CLOUDTRAIL_GET | {
    "eventName": "ListBuckets",
    "requestParameters": {"host": ["s3.us-west-2.amazonaws.com"]},
    "additionalEventData": None,
}

MINIO_AUDIT = json.dumps(
    {
        "version": "1",
        "deploymentid": "bc0e4d1e-bacc-42eb-91ad-2d7f3eacfa8d",
        "time": "2019-08-12T21:34:37.187817748Z",
        "api": {
            "name": "PutObject",
            "bucket": "testbucket",
            "object": "hosts",
            "status": "OK",
            "statusCode": 200,
            "timeToFirstByte": "366333ns",
            "timeToResponse": "16438202ns",
        },
        "remotehost": "127.0.0.1",
        "requestID": "15BA4A72C0C70AFC",
        "requestHeader": {
            "Content-Length": "686",
            "X-Amz-Content-Sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
            "X-Amz-Decoded-Content-Length": "512",
        },
        "responseHeader": {"Accept-Ranges": "bytes", "Content-Length": "0", "X-Amz-Request-Id": "15BA4A72C0C70AFC"},
    }
)
"""https://min.io/docs/minio/linux/operations/monitoring/minio-logging.html."""

MINIO_TRACE = json.dumps(
    {
        "status": "success",
        "host": "127.0.0.1:9000",
        "time": "2024-05-01T10:00:00.5Z",
        "client": "127.0.0.1",
        "callStats": {"rx": 254, "tx": 4581, "duration": 1500000, "timeToFirstByte": 900000},
        "duration": 1500000,
        "timeToFirstByte": 900000,
        "api": "s3.GetObject",
        "path": "/testbucket/a/b",
        "query": "",
        "statusCode": 200,
        "statusMsg": "OK",
        "type": "S3",
        "error": "",
    }
)
"""`shortTraceMsg` in github.com/minio/mc, cmd/admin-trace.go."""

NGINX = (
    '192.0.2.3 - - [06/Feb/2019:00:00:38 +0000] "GET /bucket/a/b%20c HTTP/1.1" 200 4096 "-" "aws-cli/2.0"',
    '192.0.2.3 - me [06/Feb/2019:01:00:39 +0100] "GET /bucket?list-type=2&prefix=a HTTP/1.1" 200 512 "-" "aws-cli/2.0"',
    '192.0.2.3 - - [06/Feb/2019:00:00:40 +0000] "DELETE /bucket/a HTTP/1.1" 204 0 "-" "aws-cli/2.0"',
)
"""The combined format (https://nginx.org/en/docs/http/ngx_http_log_module.html)."""

WARP = (
    "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\tend\tduration_ns\tcat",
    (
        "0\t3\tPUT\tabcd\t1\t10485760\thttp://127.0.0.1:9000\tp/1.rnd\t\t2024-05-01T10:00:00.25Z\t\t"
        "2024-05-01T10:00:00.5Z\t250000000\t0"
    ),
    (
        "1\t4\tGET\tabcd\t1\t10485760\thttp://127.0.0.1:9000\tp/1.rnd\t\t2024-05-01T12:00:01.123456789+02:00\t"
        "2024-05-01T12:00:01.2+02:00\t2024-05-01T12:00:01.3+02:00\t176543211\t0"
    ),
    (
        '2\t4\tSTAT\tabcd\t1\t0\thttp://127.0.0.1:9000\tp/2.rnd\t"not found"\t2024-05-01T10:00:02Z\t\t'
        "2024-05-01T10:00:03Z\t1000000000\t0"
    ),
    "3\t4\tDELETE\tabcd\t100\t0\thttp://127.0.0.1:9000\t\t\t2024-05-01T10:00:02Z\t\t2024-05-01T10:00:03Z\t1000000000\t0",
    "# warp get --host 127.0.0.1:9000",
)
"""`Operations.CSV` in github.com/minio/warp, pkg/bench/ops.go."""

IBM = (
    "1219008 REST.PUT.OBJECT 8d4fcda3d675bac9 1056",
    "1221974 REST.HEAD.OBJECT 39d177fb735ac5df 528",
    "1232437 REST.HEAD.OBJECT 3b8255e0609a700d 1456",
    "1232488 REST.GET.OBJECT 95d363d3fbdc0b03 1168 0 1167",
    "1234545 REST.GET.OBJECT bfc07f9981aa6a5a 528 0 527",
    "1256364 REST.HEAD.OBJECT c27efddbeef2b638 12752",
    "1256491 REST.HEAD.OBJECT 13943e909692962f 9760",
    "1256556 REST.GET.OBJECT 884ba9b0c6d1fe97 23872 0 23871",
    "1256584 REST.HEAD.OBJECT d86b7bfefc63995d 12592",
)
"""The example on http://iotta.snia.org/traces/key-value/36305."""
