"""The state of an S3 account: buckets, and in each the versions of every key and the uploads that are under way.

Versioning: https://docs.aws.amazon.com/AmazonS3/latest/userguide/Versioning.html. Pure: no HTTP, no bytes; ids come
from a seed, the key and how often it was written, so that two runs that do the same have the same ids, in whatever
order requests arrive. No id is given twice.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec
from sortedcontainers import SortedDict

from s3bench.s3.emulator.content import Content
from s3bench.s3.emulator.cross_origin import CorsRule
from s3bench.s3.emulator.directory_bucket import is_directory_bucket
from s3bench.s3.emulator.encryption import SSE, Encryption
from s3bench.s3.emulator.memory import Hold, text_memory
from s3bench.s3.emulator.object_lock import DefaultRetention, Lock
from s3bench.s3.protocol.exchange import Reply

KEY_BYTES_MAX = 1024
"""Longest key (https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html)."""

NULL_VERSION = "null"
OWNER = "s3bench"

PARTS_MAX = 10_000
"""How many parts an object may have (https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html)."""

_PAIR_BYTES = 192  # what a name and a value take beside their characters: a tuple and two strings, about
_LINE_BYTES = 16  # what a header has beside its name and its value, a prefix of the name included, about
_ID_DIGITS = 20  # of the 32 characters of a version id; the others are a checksum of them
_COUNTS_MAX = 10_000  # names of which `_Counts` remembers each count


Tags = tuple[tuple[str, str], ...]


class Versioning(StrEnum):
    """The versioning state of a bucket; one that was never set has none."""

    NEVER = ""
    ENABLED = "Enabled"
    SUSPENDED = "Suspended"


class Checksum(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A checksum as S3 shows it: `value` in base64, with `-N` where it is made of the checksums of N parts."""

    algorithm: str
    value: str
    composite: bool = False

    @property
    def element(self) -> str:
        """Its XML element; as header it is `x-amz-checksum-` and the algorithm."""
        return f"Checksum{self.algorithm.upper()}"

    @property
    def kind(self) -> str:
        """The value of x-amz-checksum-type."""
        return "COMPOSITE" if self.composite else "FULL_OBJECT"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPart:
    """One part of an upload, or of the object that came of it. `modified_s` is in seconds since 1970.

    `hold` accounts for what is kept about it.
    """

    number: int
    content: Content
    etag: str
    digest: bytes
    checksum: Checksum
    modified_s: float
    hold: Hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a client says about an object beside its bytes: `headers` as sent back, `metadata` without its prefix.

    `encryption` is `None` for SSE-S3. `lock` is what its write asked for; the one that holds is its version's.
    `memory_bytes` is about what all names and values in it take, and `shown_bytes` what they take in a kept reply.
    """

    headers: tuple[tuple[str, str], ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    tags: Tags = ()
    storage_class: str = "STANDARD"
    encryption: Encryption | None = None
    lock: Lock | None = None
    memory_bytes: int = field(init=False)
    shown_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        shown = (*self.headers, *self.metadata)
        memory_bytes = sum(_PAIR_BYTES + text_memory(name) + text_memory(value) for name, value in (*shown, *self.tags))
        object.__setattr__(self, "memory_bytes", memory_bytes)
        object.__setattr__(
            self, "shown_bytes", sum(_LINE_BYTES + len(name) + _sent_bytes(value) for name, value in shown)
        )


def _sent_bytes(value: str) -> int:
    """How long a value is in a reply, at most: beyond ASCII each byte of its UTF-8 may be three (RFC 2047 4.2)."""
    return len(value) if value.isascii() else 3 * len(value.encode("utf-8", "surrogatepass"))


class Version(msgspec.Struct, kw_only=True, eq=False):
    """One version of a key; a delete marker has no content.

    `etag` is without quotes. `parts` are those of the multipart upload `upload_id`, and `checksum_asked` is whether
    that named the algorithm of the checksum. `hold` accounts for what is kept about it, without its parts.
    `reply` is the rendered reply to a plain read, good as long as the Date header is `reply_date`.
    """

    key: str
    version_id: str
    modified_s: float
    hold: Hold
    content: Content | None = None
    etag: str = ""
    checksum: Checksum | None = None
    description: Description = Description()
    parts: tuple[StoredPart, ...] = ()
    upload_id: str = ""
    checksum_asked: bool = False
    lock: Lock | None = None
    reply: Reply | None = None
    reply_date: bytes | None = None

    @property
    def deleted(self) -> bool:
        """Whether it is a delete marker."""
        return self.content is None

    @property
    def size_bytes(self) -> int:
        """The size of the content; 0 of a delete marker."""
        return 0 if self.content is None else self.content.size_bytes


@dataclass(slots=True, kw_only=True, eq=False)
class Upload:
    """A multipart upload under way. `algorithm` is empty where the client asked for no checksum.

    `overtaken` says that its key was written or deleted since it began.
    """

    key: str
    upload_id: str
    started_s: float
    description: Description
    algorithm: str
    composite: bool
    hold: Hold
    parts: dict[int, StoredPart] = field(default_factory=dict)
    overtaken: bool = False


class _Counts:
    """How many things were made under each name, so that none gets the number of an earlier one.

    Only the last `_COUNTS_MAX` names are remembered. A name that is not counts from the highest number forgotten.
    """

    __slots__ = ("_by_name", "_forgotten_max")

    def __init__(self) -> None:
        self._by_name: dict[str, int] = {}
        self._forgotten_max = 0

    def __getitem__(self, name: str) -> int:
        return self._by_name.get(name, self._forgotten_max)

    def __setitem__(self, name: str, count: int) -> None:
        self._by_name.pop(name, None)  # the name set last stands last
        self._by_name[name] = count
        if len(self._by_name) > _COUNTS_MAX:
            self._forgotten_max = max(self._forgotten_max, self._by_name.pop(next(iter(self._by_name))))


class Key:
    """All versions of one key, newest first."""

    __slots__ = ("made", "versions")

    def __init__(self, made: int) -> None:
        self.versions: list[Version] = []
        self.made = made  # versions ever made; their ids come from it

    @property
    def current(self) -> Version | None:
        """The newest version where it is an object."""
        newest = self.versions[0] if self.versions else None
        return None if newest is None or newest.content is None else newest


class Bucket:
    """One bucket.

    `encryption` is that of objects whose writes do not ask for one, `None` for SSE-S3; `encryption_was_set` is whether
    a request chose it. Where it `is_locking`, versions can have locks, and new ones have the `default_retention`.
    `kms_key` is the only key of a directory bucket ever, empty as long as it had none. `generation` is a number that no
    earlier bucket of the name had, so that none of its ids comes again.
    """

    def __init__(self, name: str, created_s: float, seed: int, region: str, *, generation: int = 0) -> None:
        self.name = name
        self.region = region
        self.is_directory = is_directory_bucket(name)
        self.encryption: Encryption | None = None
        self.encryption_was_set = False
        self.kms_key = ""
        self.location_type = "AvailabilityZone"  # of a directory bucket
        self.cors_rules: tuple[CorsRule, ...] = ()
        self.cors_hold: Hold | None = None  # accounts for the rules
        self.is_locking = False
        self.default_retention: DefaultRetention | None = None
        self.created_s = created_s
        self.versioning = Versioning.NEVER
        self.tags: Tags = ()
        self.keys: SortedDict[str, Key] = SortedDict()
        self.uploads: SortedDict[tuple[str, str], Upload] = SortedDict()
        self.versions = 0  # of all keys, delete markers too
        self._seed = seed
        self._id_seed = f"{seed}\0{generation}" if generation else str(seed)
        self._begun = _Counts()  # uploads begun of a key
        self._gone = _Counts()  # versions ever made of a key that has none any more

    @property
    def empty(self) -> bool:
        """Whether it can be deleted: no version, no delete marker, and in a directory bucket no upload is left."""
        return not self.keys and not (self.is_directory and self.uploads)

    def set_versioning(self, state: Versioning) -> None:
        """Enable or suspend versioning; from now on reads report versions, so replies that are kept are old."""
        if self.versioning is Versioning.NEVER:
            for found in self.keys.values():
                for version in found.versions:
                    version.reply = version.reply_date = None
        self.versioning = state

    def current(self, key: str) -> Version | None:
        """Give the object `key` as reads without a version see it."""
        found = self.keys.get(key)
        return None if found is None else found.current

    def version(self, key: str, version_id: str) -> Version | None:
        """Give a version of `key`, which may be a delete marker."""
        found = self.keys.get(key)
        if found is None:
            return None
        return next((version for version in found.versions if version.version_id == version_id), None)

    def versions_before(self, key: str, version_id: str) -> list[Version]:
        """Give the versions of `key` that are older than `version_id`, which may have been removed, newest first."""
        found = self.keys.get(key)
        if found is None:
            return []
        ids = [version.version_id for version in found.versions]
        if version_id in ids:
            return found.versions[ids.index(version_id) + 1 :]
        if version_id == NULL_VERSION or not self.could_have(version_id):
            return []
        older = iter(range(found.made - 1, -1, -1))  # versions are made in the order of their ids' numbers
        if all(self._version_id(key, number) != version_id for number in older):
            return []
        numbers = {self._version_id(key, number) for number in older}
        first = next((index for index, name in enumerate(ids) if name in numbers), len(ids))
        return found.versions[first:]

    def next_version_id(self, key: str) -> str:
        """Give the id of a version that is put now: `null` unless versioning is enabled."""
        if self.versioning is not Versioning.ENABLED:
            return NULL_VERSION
        found = self.keys.get(key)
        return self._version_id(key, self._gone[key] if found is None else found.made)

    def next_upload_id(self, key: str) -> str:
        """Give the id of an upload that begins now: of one key's, each sorts behind those before.

        ListMultipartUploads is in the order of the uploads' beginning, and goes on behind an id in the order of ids.
        """
        count = self._begun[key] + 1
        self._begun[key] = count
        return f"{count:08x}{self._id('upload', key, count)}"

    def etag_of_new(self, key: str, etag: str) -> str:
        """Give the ETag of a version that is put now, by that of its bytes: in a directory bucket it has no MD5.

        https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-differences.html
        """
        if not self.is_directory:
            return etag
        found = self.keys.get(key)
        seed = f"{self._seed}\0etag\0{self.name}\0{key}\0{found.made if found else 0}\0{etag}"
        return hashlib.blake2b(seed.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def put(self, version: Version) -> None:
        """Make `version` the newest of its key; a null version takes the place of the one before."""
        found = self.keys.get(version.key)
        if found is None:
            made = 0 if self.versioning is Versioning.NEVER else self._gone[version.key]
            found = self.keys[version.key] = Key(made)
        if version.version_id == NULL_VERSION:
            self._drop_null(found)
        found.made += 1
        found.versions.insert(0, version)
        self.versions += 1
        self._overtake(version.key)

    def remove(self, key: str, version_id: str) -> Version | None:
        """Remove one version for good, and give it; `None` where there is none."""
        found = self.keys.get(key)
        version = self.version(key, version_id)
        if found is None or version is None:
            return None
        found.versions.remove(version)
        self.versions -= 1
        self._overtake(key)
        if not found.versions:
            del self.keys[key]
            if self.versioning is not Versioning.NEVER:
                self._gone[key] = found.made
        return version

    def could_have(self, version_id: str) -> bool:
        """Whether `version_id` is one that the bucket gives: `null`, or with versioning one made from its seed."""
        if version_id == NULL_VERSION or self.versioning is Versioning.NEVER:
            return version_id == NULL_VERSION
        return version_id == self._sealed(version_id[:_ID_DIGITS])

    def _overtake(self, key: str) -> None:
        if not self.uploads:
            return
        for place in self.uploads.irange(minimum=(key, ""), maximum=(f"{key}\0", ""), inclusive=(True, False)):
            self.uploads[place].overtaken = True

    def _drop_null(self, found: Key) -> None:
        for index, version in enumerate(found.versions):
            if version.version_id == NULL_VERSION:  # a key has one at most
                del found.versions[index]
                self.versions -= 1
                return

    def _version_id(self, key: str, number: int) -> str:
        """Give the id of the version of `key` that was made after `number` others."""
        return self._sealed(self._id("version", key, number)[:_ID_DIGITS])

    def _id(self, kind: str, key: str, count: int) -> str:
        seed = f"{self._id_seed}\0{kind}\0{self.name}\0{key}\0{count}".encode("utf-8", "surrogatepass")
        return base64.urlsafe_b64encode(hashlib.blake2b(seed, digest_size=24).digest()).decode().rstrip("=")

    def _sealed(self, digits: str) -> str:
        """Give a version id that begins with `digits`; the rest proves that it was made here."""
        seed = f"{self._seed}\0{digits}".encode("utf-8", "surrogatepass")
        seal = base64.urlsafe_b64encode(hashlib.blake2b(seed, digest_size=9).digest()).decode()
        return digits + seal


class ObjectStore:
    """All buckets of the account."""

    def __init__(self, seed: int, region: str) -> None:
        self.buckets: SortedDict[str, Bucket] = SortedDict()
        self._seed = seed
        self._region = region
        self._made = _Counts()  # buckets ever made of a name
        self.asked_to_encrypt = False

    def make(self, name: str, now_s: float) -> Bucket:
        """Make the bucket `name`, which is not there yet."""
        generation = self._made[name]
        self._made[name] = generation + 1
        bucket = self.buckets[name] = Bucket(name, now_s, self._seed, self._region, generation=generation)
        return bucket

    def note_encryption(self, fields: Mapping[str, str], description: Description) -> None:
        """Remember in `asked_to_encrypt` whether any write asked for encryption."""
        if description.encryption is not None or SSE in fields:
            self.asked_to_encrypt = True

    @property
    def objects(self) -> int:
        """How many versions there are in all."""
        return sum(bucket.versions for bucket in self.buckets.values())
