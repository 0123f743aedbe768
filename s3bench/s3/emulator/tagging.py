"""Operations on the tags of objects."""

from s3bench.s3.emulator.call import Call
from s3bench.s3.emulator.documents import parse_tagging, render_tagging
from s3bench.s3.emulator.lookup import find_version, version_headers
from s3bench.s3.emulator.store import Description, Store
from s3bench.s3.emulator.writing import WriteOperations
from s3bench.s3.exchange import Reply


class TagOperations:
    """What can be done to an object's tags."""

    def __init__(self, store: Store, writes: WriteOperations) -> None:
        self._store = store
        self._writes = writes

    def tagging(self, call: Call) -> Reply:
        """Give an object's tags."""
        version = find_version(self._store, call.bucket, call.key, call.query.get("versionId"))
        return call.reply(200, version_headers(version, call), render_tagging(version.description.tags))

    def set_tagging(self, call: Call) -> Reply:
        """Replace an object's tags."""
        return self._tag(call, parse_tagging(call.body, "object"), 200)

    def delete_tagging(self, call: Call) -> Reply:
        """Remove an object's tags."""
        return self._tag(call, (), 204)

    def _tag(self, call: Call, tags: tuple[tuple[str, str], ...], status: int) -> Reply:
        version = find_version(self._store, call.bucket, call.key, call.query.get("versionId"))
        old = version.description
        new = Description(headers=old.headers, metadata=old.metadata, tags=tags, storage_class=old.storage_class)
        version.hold = self._writes.hold(version.key, new, len(version.parts), reserve=True)  # the old one goes then
        version.description = new
        version.reply = version.reply_date = None
        return call.reply(status, version_headers(version, call))
