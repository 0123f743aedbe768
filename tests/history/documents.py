"""Results documents for histories, made by hand: one a day."""

from typing import Any

from msgspec.structs import replace

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
    *, day: int = 1, p50: float = 0.01, sizes: str = "4KiB", url: str = "http://one:9000", **options: Any
) -> bytes:
    """A document of a load run of the `day`th of November."""
    jobs = [{"mix": {"get": 1.0}, "sizes": sizes, "threads": 16}]
    known = {"endpoint_url": [url], "retries": 0, "phases": [{"duration": 20.0, "jobs": jobs}], **options}
    return text(load_result((p50,)), day=day, options=known)
