"""The formats of logs that can be read, and which of them a log is in."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from s3bench.load.access_log import cloudtrail, ibm, minio, nginx, s3_server, trace, warp
from s3bench.load.access_log.broken_line import BrokenLine
from s3bench.load.access_log.logged_request import LoggedRequest

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
    """A new parser. Raises `BadInput` for an `nginx_format` that does not say what is needed."""
    return nginx.parser(nginx_format) if log_format is AccessLogFormat.NGINX else FORMATS[log_format].parser()


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
