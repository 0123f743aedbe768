"""Cuts a listing into pages: keys in order, grouped by a delimiter, up to a number of entries.

`page_of` is shared by ListObjects, ListObjectsV2, ListObjectVersions and ListMultipartUploads. S3 lists in the order
of the keys' UTF-8 bytes (https://docs.aws.amazon.com/AmazonS3/latest/userguide/ListingKeysUsingAPIs.html), which is the
order of their code points and thus Python's. Pure.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

EntryT = TypeVar("EntryT")

From = Callable[[str, bool], Iterator[tuple[str, EntryT]]]
"""Gives entries with their keys, in order, from a key on; the flag says whether that key itself is wanted."""

Before = Callable[[str, str | None], Iterator[tuple[str, EntryT | None]]]
"""Gives entries with their keys backwards, from before the second key (`None`: from the end) down to the first."""

_LAST_CODE_POINT = 0x10FFFF


@dataclass(slots=True, kw_only=True)
class Page(Generic[EntryT]):
    """One page: entries, common prefixes, and where the next page begins (`None` on the last).

    `last` is the key or the common prefix that the page ends with.
    """

    entries: list[EntryT] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    truncated: bool = False
    last: str = ""

    def __len__(self) -> int:
        """Entries and common prefixes both count towards the maximum."""
        return len(self.entries) + len(self.prefixes)


def page_of(entries_from: From[EntryT], *, prefix: str, delimiter: str, after: str, limit: int) -> Page[EntryT]:
    """List at most `limit` entries whose key begins with `prefix`, after the key or common prefix `after`.

    The group that `after` is in counts as listed, as S3 was recorded to do (docs/s3-behaviour.md).

    Keys that hold `delimiter` behind the prefix are given as one common prefix each, and skipped as a whole.
    """
    page: Page[EntryT] = Page()
    if not limit:
        return page
    start, inclusive = (prefix, True) if after < prefix else (after, False)
    group = _common(after, prefix, delimiter) if after.startswith(prefix) else None
    if group is not None:
        skipped = _past(group)
        if skipped is None:
            return page
        start, inclusive = skipped, True
    while True:
        for key, entry in entries_from(start, inclusive):
            if not key.startswith(prefix):
                return page
            if len(page) == limit:
                page.truncated = True
                return page
            common = _common(key, prefix, delimiter)
            if common is not None:
                page.prefixes.append(common)
                page.last = common
                break
            page.entries.append(entry)
            page.last = key
        else:
            return page
        skipped = _past(page.last)
        if skipped is None:
            return page
        start, inclusive = skipped, True


def unordered_page_of(
    entries_before: Before[EntryT], *, prefix: str, delimiter: str, before: str | None, limit: int
) -> Page[EntryT]:
    """List at most `limit` entries of a directory bucket whose key begins with `prefix`; `before` is a `Page.last`.

    Directory buckets promise no order. This one lists backwards, so that what relies on an order fails here as well.
    An entry that is `None` stands for what is listed only by the common prefix that its key falls under.
    """
    page: Page[EntryT] = Page()
    end = _past(prefix) if before is None else before
    while limit:
        for key, entry in entries_before(prefix, end):
            common = _common(key, prefix, delimiter)
            if common is None and entry is None:
                continue
            if len(page) == limit:
                page.truncated = True
                return page
            if common is not None:
                page.prefixes.append(common)
                page.last = end = common
                break
            assert entry is not None
            page.entries.append(entry)
            page.last = key
        else:
            return page
    return page


def _common(key: str, prefix: str, delimiter: str) -> str | None:
    """Give the common prefix that `key` falls under, or `None`."""
    if not delimiter:
        return None
    at = key.find(delimiter, len(prefix))
    return None if at < 0 else key[: at + len(delimiter)]


def _past(prefix: str) -> str | None:
    """Give the first string behind all that begin with `prefix`; `None` where there is none."""
    stem = prefix.rstrip(chr(_LAST_CODE_POINT))
    return stem[:-1] + chr(ord(stem[-1]) + 1) if stem else None
