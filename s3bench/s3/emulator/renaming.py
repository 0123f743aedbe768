"""RenameObject: a new key for an object of a directory bucket, which stays the same otherwise.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/directory-buckets-objects-rename.html
"""

import re
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

from msgspec.structs import replace

from s3bench.s3.emulator.call import Call
from s3bench.s3.emulator.conditions import Condition, ObjectState, check_read, check_write
from s3bench.s3.emulator.directory_bucket import CLIENT_TOKEN, RENAME_CONDITIONS, RENAME_SOURCE
from s3bench.s3.emulator.lookup import current_state, find_bucket, find_version, state_of
from s3bench.s3.emulator.store import NULL_VERSION, Bucket, ObjectStore
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.s3_error import S3Error

_CLIENT_TOKEN = re.compile(r"[!-~]{1,64}")
_TOKENS_MAX = 1000


class RenameOperation:
    """How objects are renamed."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._done: dict[str, tuple[str, ...]] = {}  # client token to what it was sent with

    def rename(self, call: Call) -> Reply:
        """RenameObject: what is said about the object, its ETag and its date are kept."""
        bucket = find_bucket(self._store, call.bucket)
        source_key = _source_key(call)
        token, asked = call.fields.get(CLIENT_TOKEN), _asked(call, source_key)
        if token is not None and self._is_done(token, asked):
            return call.reply(200)
        source = find_version(bucket, source_key, None)
        if source_key.endswith("/") or call.key.endswith("/"):
            raise _invalid("Objects whose keys end with a slash cannot be renamed.")
        check_read(call.fields, state_of(source), call.now_s, prefix=f"{RENAME_SOURCE}-")
        _check_destination(call.fields, call.key, current_state(bucket, call.key), call.now_s)
        if call.key != source_key:
            _move(bucket, source_key, call.key)
        if token is not None:
            self._done[token] = asked
            if len(self._done) > _TOKENS_MAX:
                del self._done[next(iter(self._done))]
        return call.reply(200)

    def _is_done(self, token: str, asked: tuple[str, ...]) -> bool:
        """Whether the same was done before with this client token. Raises `S3Error` where something else was."""
        if _CLIENT_TOKEN.fullmatch(token) is None:
            raise _invalid("The client token must have 1 to 64 printable ASCII characters.")
        before = self._done.get(token)
        if before not in {None, asked}:
            message = (
                "Parameters on this idempotent request are inconsistent with parameters used in previous request(s)."
            )
            raise S3Error(status=400, code="IdempotencyParameterMismatch", message=message)
        return before is not None


def _asked(call: Call, source_key: str) -> tuple[str, ...]:
    """Give all that a request says, as far as a repetition must say the same."""
    names = (prefix + name for prefix in ("", f"{RENAME_SOURCE}-") for name in RENAME_CONDITIONS)
    return call.bucket, call.key, source_key, *(call.fields.get(name, "") for name in names)


def _source_key(call: Call) -> str:
    """Read the key of the source; the bucket may stand before it. Raises `S3Error`."""
    try:
        source = unquote_to_bytes(call.fields.get(RENAME_SOURCE, "").encode("latin-1")).decode()
    except UnicodeDecodeError:
        source = ""
    source = source.removeprefix("/").removeprefix(f"{call.bucket}/")
    if not source:
        details = (("ArgumentName", RENAME_SOURCE),)
        raise S3Error(status=400, code="InvalidArgument", message="Invalid rename source object key", details=details)
    return source


def _check_destination(fields: Mapping[str, str], key: str, state: ObjectState | None, now_s: float) -> None:
    """Evaluate the conditions on what has the new key already. Raises `S3Error` (412, 404)."""
    check_write(fields, key, state)
    dates = {name: fields[name] for name in ("if-modified-since", "if-unmodified-since") if name in fields}
    if not dates:
        return
    if state is None or check_read(dates, state, now_s) is Condition.NOT_MODIFIED:
        name = next(iter(dates)).title()
        message = "At least one of the pre-conditions you specified did not hold"
        raise S3Error(status=412, code="PreconditionFailed", message=message, details=(("Condition", name),))


def _move(bucket: Bucket, source_key: str, key: str) -> None:
    version = bucket.remove(source_key, NULL_VERSION)
    assert version is not None
    bucket.put(replace(version, key=key))


def _invalid(message: str) -> S3Error:
    return S3Error(status=400, code="InvalidRequest", message=message)
