"""Samples and requests for the tests of timelines."""

from collections.abc import Sequence

from s3bench.results.timeline import RequestSpan, SeriesFacts


def series(
    at_s: Sequence[float], cpu_s: Sequence[float], rss_bytes: Sequence[float] = (), cores: int = 2
) -> SeriesFacts:
    """Samples asked for once a second."""
    return SeriesFacts(at_s=at_s, cpu_s=cpu_s, rss_bytes=rss_bytes or [0.0] * len(at_s), interval_s=1.0, cores=cores)


def span(start_s: float = 0.25, end_s: float = 0.75, *, connection: int | None = 1, error: str = "") -> RequestSpan:
    """An upload of 1,000 bytes that took half of its time."""
    return RequestSpan(
        connection=connection,
        kind="PUT",
        start=start_s,
        body_end=start_s + (end_s - start_s) / 2,
        first_byte=start_s + (end_s - start_s) * 3 / 4,
        end=end_s,
        bytes_up=1000,
        bytes_down=0,
        status=200,
        attempt=1,
        fault="reset" if error else "",
        error=error,
    )
