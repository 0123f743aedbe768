"""Reads results of s3bench, pyperf, hyperfine or warp, recognised by their keys."""

from typing import Any

import msgspec

from s3bench.errors import BadInput
from s3bench.results.decoding import decode
from s3bench.results.document import Document, parse_document
from s3bench.results.foreign_tree import decode_tree
from s3bench.results.from_hyperfine import from_hyperfine, is_hyperfine
from s3bench.results.from_pyperf import from_pyperf, is_pyperf
from s3bench.results.from_warp import from_warp, is_warp
from s3bench.results.other_record import OtherRecord


def read_any(content: bytes, *, source: str) -> Document:
    """Read a results document, or convert another tool's file; its first warning then names `source` and the tool.

    Raises `BadInput`, with the JSON path of the error, for a file of a known tool that violates its format, and for any
    other file.
    """
    try:
        return parse_document(content, source=source)
    except OtherRecord:
        raise
    except BadInput:
        if _is_ours(content):
            raise
    tree = decode_tree(content, source=source)
    if is_pyperf(tree):
        return from_pyperf(tree, source=source)
    if is_hyperfine(tree):
        return from_hyperfine(tree, source=source)
    if is_warp(tree):
        return from_warp(tree, source=source)
    raise BadInput(
        f"{source} is not a results file of a known tool",
        f"its keys are {_keys(tree)}",
        "pass a file of `s3bench run -o`, pyperf, hyperfine --export-json, or `warp analyze --json`",
    )


def _is_ours(content: bytes) -> bool:
    """Whether it is meant to be a document of s3bench."""
    try:
        return decode(content, _Head).s3bench is not None
    except msgspec.DecodeError:
        return False


class _Head(msgspec.Struct, frozen=True):
    """The key that only documents of s3bench have."""

    s3bench: Any = None


def _keys(tree: dict[str, object]) -> str:
    shown = sorted(tree)[:5]
    return ", ".join(repr(key[:40]) for key in shown) + (", ..." if len(tree) > len(shown) else "") or "none"
