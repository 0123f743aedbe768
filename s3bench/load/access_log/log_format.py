"""The formats of logs that can be read, and which of them a log is in."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from s3bench.load.access_log import cloudtrail, ibm, minio, nginx, s3_server, trace, warp
from s3bench.load.access_log.broken_line import BrokenLine
from s3bench.load.access_log.logged_request import LoggedRequest

_TIME_S_MAX = 4e9
"""The year 2096, and what nanoseconds in 63 bits can hold; of a duration, more than a century."""

_BYTES_MAX = 1 << 53
"""A size of 8 PiB: no object is as large."""

_OUT_OF_RANGE = "a time, a duration or a size that no request has"

Parser = Callable[[str], LoggedRequest | None]
"""Parses one line, without its end; `None` for a header, raises `BrokenLine`. It may remember lines before."""


class AccessLogFormat(StrEnum):
    """The name of a format."""

    S3 = "s3"
    CLOUDTRAIL = "cloudtrail"
    MINIO = "minio"
    NGINX = "nginx"
    WARP = "warp"
    TRACE = "trace"
    IBM = "ibm"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatRow:
    """What is known of a format: its name in words, a line that shows it, and what makes its parser."""

    title: str
    example: str
    parser: Callable[[], Parser]


FORMATS = {
    AccessLogFormat.S3: FormatRow(title="S3 server access log", example=s3_server.EXAMPLE, parser=s3_server.parser),
    AccessLogFormat.CLOUDTRAIL: FormatRow(
        title="CloudTrail data events", example=cloudtrail.EXAMPLE, parser=cloudtrail.parser
    ),
    AccessLogFormat.MINIO: FormatRow(title="MinIO audit log or trace", example=minio.EXAMPLE, parser=minio.parser),
    AccessLogFormat.NGINX: FormatRow(title="nginx access log", example=nginx.EXAMPLE, parser=nginx.parser),
    AccessLogFormat.WARP: FormatRow(title="warp operations", example=warp.EXAMPLE, parser=warp.parser),
    AccessLogFormat.TRACE: FormatRow(title="s3bench trace", example=trace.EXAMPLE, parser=trace.parser),
    AccessLogFormat.IBM: FormatRow(title="IBM object store trace", example=ibm.EXAMPLE, parser=ibm.parser),
}
"""Every format, in the order in which one is looked for that many lines would fit."""


def make_parser(log_format: AccessLogFormat, *, nginx_format: str = nginx.COMBINED) -> Parser:
    """A new parser. Raises `BadInput` for an `nginx_format` that does not say what is needed.

    What it parses has times and sizes that can be calculated with; a line with others is broken.
    """
    parse = nginx.parser(nginx_format) if log_format is AccessLogFormat.NGINX else FORMATS[log_format].parser()

    def checked(line: str) -> LoggedRequest | None:
        try:
            request = parse(line)
        except RecursionError as error:
            raise BrokenLine("nested too deeply") from error
        except OverflowError as error:
            raise BrokenLine(_OUT_OF_RANGE) from error
        if request is not None and not _is_in_range(request):
            raise BrokenLine(_OUT_OF_RANGE)
        return request

    return checked


def _is_in_range(request: LoggedRequest) -> bool:
    return (
        -_TIME_S_MAX < request.at_s < _TIME_S_MAX
        and (request.elapsed_s is None or 0 <= request.elapsed_s < _TIME_S_MAX)
        and (request.object_bytes is None or 0 <= request.object_bytes < _BYTES_MAX)
        and (request.body_bytes is None or 0 <= request.body_bytes < _BYTES_MAX)
        and (request.range_start is None or request.range_start < _BYTES_MAX)
    )


def detect(lines: Iterable[str], *, nginx_format: str = nginx.COMBINED) -> AccessLogFormat | None:
    """The format that understands most of the `lines`; `None` where none understands any."""
    sample = tuple(lines)
    scores = {each: sum(map(_understands(make_parser(each, nginx_format=nginx_format)), sample)) for each in FORMATS}
    best = max(scores, key=lambda each: scores[each])
    return best if scores[best] else None


def _understands(parse: Parser) -> Callable[[str], bool]:
    def understands(line: str) -> bool:
        try:
            parse(line)
        except BrokenLine:
            return False
        return True

    return understands
