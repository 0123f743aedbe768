"""Parses listings of a bucket: the JSON of `aws s3api list-objects-v2`, and the text of `aws s3 ls --recursive`.

Keys ending in `/` of zero bytes are the folders that the S3 console makes; they are counted apart.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from s3bench.errors import BadInput
from s3bench.spec.environment_table import OBJECT_BYTES_MAX

_LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +0*(\d+) (.*)", re.DOTALL)
_DIGITS_MAX = len(str(OBJECT_BYTES_MAX))
_ROUNDED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +[\d.]+ (?:Bytes?|[KMGTPE]iB) ")
_FOLDER = re.compile(r" +PRE .*/")
_SUMMARY = re.compile(r" *Total (?:Objects|Size): .*")
_FIX = "pass the output of: aws s3api list-objects-v2 --bucket NAME, or of: aws s3 ls --recursive s3://NAME"


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketListing:
    """The sizes of objects, the folders in their keys, and the keys that stand for folders themselves."""

    sizes: Counter[int]
    folders: int
    folder_markers: int


def parse_listing(content: bytes, *, source: str) -> BucketListing:
    """Parse either form. Raises `BadInput`."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{source} is not a listing of a bucket", f"byte {error.start} is not UTF-8", _FIX) from error
    is_json = text.lstrip()[:1] in {"{", "["}
    return _gathered(_json_objects(text, source) if is_json else _text_objects(text, source))


def _gathered(objects: Iterable[tuple[str, int]]) -> BucketListing:
    sizes: Counter[int] = Counter()
    folders: set[str] = set()
    markers = 0
    for key, size_bytes in objects:
        parent = key.rpartition("/")[0]
        while parent and parent not in folders:
            folders.add(parent)
            parent = parent.rpartition("/")[0]
        if key.endswith("/") and size_bytes == 0:
            markers += 1
        else:
            sizes[size_bytes] += 1
    return BucketListing(sizes=sizes, folders=len(folders), folder_markers=markers)


def _json_objects(text: str, source: str) -> Iterator[tuple[str, int]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{source} is not valid JSON", str(error), _FIX) from error
    contents = document.get("Contents") if isinstance(document, dict) else document
    if not isinstance(contents, list):
        raise BadInput(f"{source} is not a listing of a bucket", "it has no list `Contents`", _FIX)
    if isinstance(document, dict) and (document.get("IsTruncated") or document.get("NextToken")):
        raise BadInput(f"{source} is only the first part of a listing", "it says that there are more objects", _FIX)
    for index, item in enumerate(contents):
        yield _json_object(item, index, source)


def _json_object(item: Any, index: int, source: str) -> tuple[str, int]:
    if isinstance(item, dict):
        key, size = item.get("Key"), item.get("Size")
        if isinstance(key, str) and isinstance(size, int) and not isinstance(size, bool) and size >= 0:
            if size > OBJECT_BYTES_MAX:
                raise _too_large(f"{source}: $.Contents[{index}].Size")
            return key, size
    raise BadInput(f"{source}: $.Contents[{index}] is not an object with `Key` and `Size`", fix=_FIX)


def _text_objects(text: str, source: str) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(text.split("\n"), start=1):
        found = _LINE.fullmatch(line.rstrip("\r"))
        if found:
            if len(found[1]) > _DIGITS_MAX or int(found[1]) > OBJECT_BYTES_MAX:
                raise _too_large(f"{source}, line {number}: the size")
            yield found[2], int(found[1])
        elif _ROUNDED.match(line):
            raise BadInput(
                f"{source}, line {number}: the size is rounded",
                "sizes in bytes are needed",
                "list again without --human-readable",
            )
        elif _FOLDER.match(line):
            raise BadInput(
                f"{source}, line {number}: a folder whose objects are not listed",
                "the listing is not recursive",
                "list again with: aws s3 ls --recursive",
            )
        elif line.strip() and not _SUMMARY.fullmatch(line):
            raise BadInput(f"{source}, line {number} is not a line of a listing of a bucket", fix=_FIX)


def _too_large(what: str) -> BadInput:
    return BadInput(f"{what} is more than {OBJECT_BYTES_MAX:,} bytes", "no object of S3 can be so large", _FIX)
