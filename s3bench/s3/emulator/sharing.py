"""Operations of cross-origin resource sharing: the configuration of a bucket, and preflight requests of browsers."""

from s3bench.s3.emulator.call import Call, Headers
from s3bench.s3.emulator.cross_origin import parse_rules, preflight_headers, render_rules, response_headers
from s3bench.s3.emulator.lookup import find_bucket
from s3bench.s3.emulator.members import parse_known
from s3bench.s3.emulator.memory import Memory
from s3bench.s3.emulator.receiving import too_big
from s3bench.s3.emulator.store import ObjectStore
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.http import RequestHead
from s3bench.s3.protocol.s3_error import S3Error

_CONFIGURATION_BYTES_MAX = 64 * 1024
"""Largest document (https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketCors.html)."""

_BYTES_PER_BYTE = 2  # of memory, for each byte of a document: a short text takes more than its element


class SharingOperations:
    """What can be done to the CORS configuration of a bucket, and by it."""

    def __init__(self, store: ObjectStore, memory: Memory) -> None:
        self._store = store
        self._memory = memory

    def rules(self, call: Call) -> Reply:
        """Give the configuration. Raises `S3Error` where there is none."""
        rules = find_bucket(self._store, call.bucket).cors_rules
        if not rules:
            message, details = "The CORS configuration does not exist", (("BucketName", call.bucket),)
            raise S3Error(status=404, code="NoSuchCORSConfiguration", message=message, details=details)
        return call.reply(200, (), render_rules(rules))

    def set_rules(self, call: Call) -> Reply:
        """Replace the configuration. Raises `S3Error` where it is too large, or memory is short."""
        bucket = find_bucket(self._store, call.bucket)
        if len(call.body) > _CONFIGURATION_BYTES_MAX:
            raise too_big()
        rules = parse_rules(parse_known(call.body, "CORSConfiguration"))
        bucket.cors_hold = self._memory.hold(_BYTES_PER_BYTE * len(call.body))
        bucket.cors_rules = rules
        return call.reply(200)

    def delete_rules(self, call: Call) -> Reply:
        """Remove the configuration."""
        bucket = find_bucket(self._store, call.bucket)
        bucket.cors_rules, bucket.cors_hold = (), None
        return call.reply(204)

    def preflight(self, call: Call) -> Reply:
        """Tell a browser whether its page may make a request (OPTIONS). Raises `S3Error` where it may not."""
        bucket = self._store.buckets.get(call.bucket)
        rules = None if bucket is None else bucket.cors_rules
        kind = "OBJECT" if call.key else "BUCKET"
        return call.reply(200, preflight_headers(call.fields, rules, kind=kind))

    def headers_for(self, head: RequestHead, bucket_name: str) -> Headers:
        """Give the headers that let a page of the request's origin read the response; none where it may not."""
        bucket = self._store.buckets.get(bucket_name)
        if bucket is None or not bucket.cors_rules:
            return ()
        return response_headers(bucket.cors_rules, head.fields["origin"], head.method)
