"""Operations on the tags of objects."""

from dataclasses import replace

from s3bench.s3.emulator.call import Call
from s3bench.s3.emulator.documents import render_tagging
from s3bench.s3.emulator.lookup import delete_marker_error, find_bucket, find_version, version_headers
from s3bench.s3.emulator.members import parse_tagging
from s3bench.s3.emulator.store import Bucket, ObjectStore, Version
from s3bench.s3.emulator.writing import WriteOperations
from s3bench.s3.protocol.exchange import Reply


class TagOperations:
    """What can be done to an object's tags."""

    def __init__(self, store: ObjectStore, writes: WriteOperations) -> None:
        self._store = store
        self._writes = writes

    def tagging(self, call: Call) -> Reply:
        """Give an object's tags."""
        bucket, version = self._tagged(call)
        return call.reply(200, version_headers(bucket, version), render_tagging(version.description.tags))

    def set_tagging(self, call: Call) -> Reply:
        """Replace an object's tags."""
        return self._tag(call, parse_tagging(call.body, "object"), 200)

    def delete_tagging(self, call: Call) -> Reply:
        """Remove an object's tags."""
        return self._tag(call, (), 204)

    def _tag(self, call: Call, tags: tuple[tuple[str, str], ...], status: int) -> Reply:
        bucket, version = self._tagged(call)
        new = replace(version.description, tags=tags)
        version.hold = self._writes.hold(version.key, new, reserve=True)  # the old one goes then
        version.description = new
        version.reply = version.reply_date = None
        return call.reply(status, version_headers(bucket, version))

    def _tagged(self, call: Call) -> tuple[Bucket, Version]:
        """Give the version whose tags are meant. Raises `S3Error`, also where the key's newest is a delete marker."""
        bucket, version_id = find_bucket(self._store, call.bucket), call.query.get("versionId")
        found = bucket.keys.get(call.key)
        if version_id is None and found is not None and found.versions[0].deleted:
            raise delete_marker_error(found.versions[0], call.head.method)
        return bucket, find_version(bucket, call.key, version_id, method=call.head.method)
