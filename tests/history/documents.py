"""Results documents for histories, made by hand: one a day."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace
from sqlalchemy import event
from sqlalchemy.engine import Engine

from s3bench.history.entry import Added
from s3bench.history.indexing import index_document
from s3bench.history.store import History
from s3bench.results.document import Document, Result, encode_document
from tests.compare.documents import document, result
from tests.compare.test_load_comparison import result as load_result


def made(*results: Result, day: int = 1, **changes: Any) -> Document:
    """A document of the `day`th of November."""
    machine = changes.pop("machine", None)
    known = {"started_at": f"2026-11-{day:02}T00:00:00.000Z", **changes}
    return replace(document(*(results or (result(),)), machine=machine), **known)


def text(*results: Result, day: int = 1, **changes: Any) -> bytes:
    """The same, encoded."""
    return encode_document(made(*results, day=day, **changes))


def load_text(
    *,
    day: int = 1,
    p50: float = 0.01,
    error_rate: float = 0.0,
    sizes: str = "4KiB",
    url: str = "http://one:9000",
    **options: Any,
) -> bytes:
    """A document of a load run of the `day`th of November."""
    jobs = [{"mix": {"get": 1.0}, "sizes": sizes, "threads": 16}]
    known = {"endpoint_url": [url], "retries": 0, "phases": [{"duration": 20.0, "jobs": jobs}], **options}
    return text(load_result((p50,), error_rate=error_rate), day=day, options=known)


def add(history: History, document: bytes) -> Added:
    """Store a document."""
    return history.add(index_document(document, source="the document"))


@contextmanager
def full_after(*, pages: int) -> Iterator[None]:
    """Open every SQLite file as if its disk had room for so many pages of 4 KiB."""

    def limit(connection: Any, _record: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(Engine, "connect", limit)
    try:
        yield
    finally:
        event.remove(Engine, "connect", limit)
