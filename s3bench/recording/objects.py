"""The objects and listings that recorded requests show: what has to exist for the command to run again. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_plus
from xml.etree import ElementTree as ET

from s3bench.recording.exchange import Kind, RecordedExchange
from s3bench.spec.listing import PAGE_KEYS_MAX
from s3bench.spec.names import FIXTURE_NAME

UNREAD_BYTES_MAX = 64 << 20
"""Objects that are listed but not read become files of the workspace only up to this size together."""

_LISTS_ALL = frozenset({"list-type", "prefix", "continuation-token", "encoding-type", "fetch-owner", "x-id"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedObject:
    """An object that was read.

    `content_type` is as the response had it, `text` its content, if that was kept and is text.
    """

    bucket: str
    key: str
    size_bytes: int
    content_type: str
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedListing:
    """All keys below a prefix, in order, with their sizes; `pages` are the requests that listed them."""

    bucket: str
    prefix: str
    keys: tuple[tuple[str, int], ...]
    pages: tuple[RecordedExchange, ...]

    @property
    def directory(self) -> str:
        """What all its keys begin with, up to a slash: the prefix without a part of a name at its end."""
        return self.prefix[: self.prefix.rfind("/") + 1]

    def can_be_tree(self, read: Iterable[str]) -> bool:
        """Whether its keys can be the names of files, and all but those in `read` are small together."""
        names = [key.removeprefix(self.directory) for key, _ in self.keys]
        being_read = frozenset(read)
        unread_bytes = sum(size for key, size in self.keys if key not in being_read)
        return bool(names) and unread_bytes <= UNREAD_BYTES_MAX and can_be_files(names)


def can_be_files(names: Sequence[str]) -> bool:
    """Whether files of these names can be together in one directory."""
    every = frozenset(names)
    parents = {parent for name in names for parent in _parents(name)}
    return len(every) == len(names) and not every & parents and all(FIXTURE_NAME.check(name) is None for name in names)


def _parents(name: str) -> Iterator[str]:
    return (name[:at] for at, character in enumerate(name) if character == "/")


def objects_read(exchanges: Iterable[RecordedExchange]) -> tuple[RecordedObject, ...]:
    """Every object whose content was read, each once, as it was first."""
    found: dict[tuple[str, str], RecordedObject] = {}
    for each in exchanges:
        size = each.object_bytes if each.kind is Kind.READ else None
        place = each.bucket, each.key
        if size is None or place in found:
            continue
        found[place] = RecordedObject(
            bucket=each.bucket,
            key=each.key,
            size_bytes=size,
            content_type=each.header("content-type"),
            text=_text(each) if size == each.response_bytes else None,
        )
    return tuple(found.values())


def _text(exchange: RecordedExchange) -> str | None:
    try:
        return None if exchange.body is None else exchange.body.decode()
    except UnicodeDecodeError:
        return None


def listings(exchanges: Iterable[RecordedExchange]) -> tuple[RecordedListing, ...]:
    """The listings that have every key below their prefix; others, such as those of folders, are left to be literal."""
    pages: dict[tuple[str, str], list[RecordedExchange]] = {}
    for each in exchanges:
        if each.kind is Kind.LIST:
            pages.setdefault((each.bucket, each.parameters.get("prefix", "")), []).append(each)
    found = (_listing(bucket, prefix, group) for (bucket, prefix), group in pages.items())
    return tuple(listing for listing in found if listing is not None)


def _listing(bucket: str, prefix: str, pages: list[RecordedExchange]) -> RecordedListing | None:
    keys: dict[str, int] = {}
    is_whole = False
    for page in pages:
        if page.parameters.keys() - _LISTS_ALL and not _is_default_page(page):
            return None
        try:
            root = ET.fromstring((page.body or b"").decode())  # noqa: S314 (no external entities are loaded)
        except (ET.ParseError, UnicodeDecodeError):
            return None
        space = root.tag.partition("}")[0] + "}" if root.tag.startswith("{") else ""
        is_encoded = root.findtext(f"{space}EncodingType") == "url"
        if root.find(f"{space}CommonPrefixes") is not None:
            return None
        for item in root.iter(f"{space}Contents"):
            key = item.findtext(f"{space}Key") or ""
            keys[unquote_plus(key) if is_encoded else key] = int(item.findtext(f"{space}Size") or 0)
        is_whole = is_whole or root.findtext(f"{space}IsTruncated") != "true"
    if not is_whole:
        return None
    return RecordedListing(bucket=bucket, prefix=prefix, keys=tuple(keys.items()), pages=tuple(pages))


def _is_default_page(page: RecordedExchange) -> bool:
    """Whether the page size is the default, and neither a folder nor a later start is asked for."""
    given = page.parameters
    unusual = given.keys() - _LISTS_ALL - {"max-keys", "delimiter", "start-after"}
    size = given.get("max-keys", "")
    return not (unusual or given.get("delimiter") or given.get("start-after") or (size and size != str(PAGE_KEYS_MAX)))


def without_changed(listing: RecordedListing, changed: Iterable[str]) -> RecordedListing:
    """The listing without `changed` keys: in a sync they were out of date, which a fixed date cannot tell."""
    out_of_date = frozenset(changed)
    keys = tuple(item for item in listing.keys if item[0] not in out_of_date)
    return RecordedListing(bucket=listing.bucket, prefix=listing.prefix, keys=keys, pages=listing.pages)
