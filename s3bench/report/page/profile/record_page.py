"""A profile's record as a page of its own."""

from s3bench.profiling.record import ProfileRecord
from s3bench.report.explanation import explanation_lines
from s3bench.report.label import clipped
from s3bench.report.page.profile.section import profile_page, profile_section
from s3bench.report.page.section import Line


def record_page(record: ProfileRecord) -> str:
    """The page: what differs if there are two clients, the flame graph, and the functions with most time."""
    candidate = record.profiles[-1]
    baseline = record.profiles[0] if len(record.profiles) > 1 else None
    lines = () if record.explanation is None else tuple(explanation_lines(record.explanation))
    title = f"Profile of {candidate.client}: {record.benchmark}"
    section = profile_section(
        title,
        candidate.stacks,
        None if baseline is None else baseline.stacks,
        labels=(baseline.client if baseline else "", candidate.client),
        lines=tuple(Line(text=line) for line in lines),
    )
    facts = (("s3bench", record.s3bench), ("started", record.started_at), ("profiler", record.profiler))
    return profile_page(clipped(title), (section,), facts=facts)
