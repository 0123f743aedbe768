"""Access logs of nginx, and of others that write the combined format, in a declared `log_format`.

https://nginx.org/en/docs/http/ngx_http_log_module.html. Bucket and key are those of a path-style request,
`/BUCKET/KEY`. A line is dated at the end of its request: where `$request_time` is logged, the request began that much
earlier. `$time_local` and `$time_iso8601` are in whole seconds, and so are the starts that follow from them. What a PUT
uploaded is logged by `$content_length` or `$http_content_length` only, and a range by `$http_range` or
`$sent_http_content_range`.
"""

import re
from collections.abc import Callable, Mapping

from s3bench.errors import BadInput
from s3bench.load.access_log.broken_line import BrokenLine
from s3bench.load.access_log.http_request import (
    first_of_range,
    has_version,
    kind_of,
    split_target,
    upload_and_part,
    whole_of_range,
)
from s3bench.load.access_log.logged_request import DELETE_OF_A_VERSION, LoggedRequest
from s3bench.load.access_log.timestamps import common_log_s, rfc3339_s, started_s
from s3bench.load.access_log.whole_number import whole_number
from s3bench.load.operation import SENDING, OperationKind

COMBINED = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
)
"""nginx's own default."""

EXAMPLE = '192.0.2.3 - - [06/Feb/2019:00:00:38 +0000] "GET /BUCKET/KEY HTTP/1.1" 200 4096 "-" "aws-cli"'

_VARIABLE = re.compile(r"\$(?:\{([a-z0-9_]+)\}|([a-z0-9_]+))")
_TIMES = ("msec", "time_iso8601", "time_local")
_ESCAPE = re.compile(r"\\x([0-9A-Fa-f]{2})")
_PARTIAL = "206"
_FIX = f"write it as in nginx's configuration, such as '{COMBINED}'"


def parser(log_format: str = COMBINED) -> Callable[[str], LoggedRequest]:
    """The parser of a line in `log_format`, which raises `BrokenLine`. Raises `BadInput` for an unfit format."""
    line = _pattern(log_format)
    names = set(line.groupindex)
    time = next((name for name in _TIMES if name in names), None)
    needed = {
        "a time": time is not None,
        "the request": "request" in names or {"request_method", "request_uri"} <= names,
        "$status": "status" in names,
    }
    lacking = [what for what, is_there in needed.items() if not is_there]
    if lacking or time is None:
        raise BadInput(f"the nginx log format lacks {' and '.join(lacking)}", f"it is {log_format!r}", _FIX)
    return _Parser(line, time).parse


def _pattern(log_format: str) -> re.Pattern[str]:
    """The lines of a format: a value ends before the character that follows its variable."""
    parts, end, seen = [], 0, set[str]()
    for match in _VARIABLE.finditer(log_format):
        parts.append(re.escape(log_format[end : match.start()]))
        end = match.end()
        following = log_format[end : end + 1]
        if following == "$":
            raise BadInput("the nginx log format has two variables without anything between", log_format, _FIX)
        name = match[1] or match[2]
        value = f"[^{re.escape(following)}]*" if following else ".*"
        parts.append(value if name in seen else f"(?P<{name}>{value})")
        seen.add(name)
    return re.compile("".join(parts) + re.escape(log_format[end:]), re.ASCII)


class _Parser:
    """Parses lines of one format."""

    def __init__(self, line: re.Pattern[str], time: str) -> None:
        self._line = line
        self._time = time

    def parse(self, line: str) -> LoggedRequest:
        match = self._line.match(line)
        if match is None:
            raise BrokenLine("not a line of the nginx log format")
        fields = match.groupdict()
        method, target = _request_of(fields)
        bucket, key, names = split_target(target)
        status = fields["status"]
        kind = kind_of(method, key, names, is_copy=_has(fields, "http_x_amz_copy_source"))
        operation = kind or f"{method} of {'an object' if key else 'a bucket'}"
        if kind is OperationKind.DELETE and has_version(target.partition("?")[2]):
            kind, operation = None, DELETE_OF_A_VERSION
        sent = _whole(fields, "body_bytes_sent")
        range_start = object_bytes = None
        body_bytes = sent
        if kind in SENDING:
            object_bytes = body_bytes = _first(fields, "http_x_amz_decoded_content_length", "content_length",
                                               "http_content_length")  # fmt: skip
        elif kind is OperationKind.GET:
            object_bytes = sent
            if status == _PARTIAL:
                field = fields.get("sent_http_content_range") or fields.get("http_range") or ""
                kind, range_start, object_bytes = OperationKind.RANGE, first_of_range(field), whole_of_range(field)
        elif kind is OperationKind.HEAD:
            object_bytes, body_bytes = _whole(fields, "sent_http_content_length"), 0
        upload_id, part_number = upload_and_part(target.partition("?")[2]) if "uploadId" in names else ("", None)
        ended = fields[self._time]
        elapsed_s = _seconds(fields.get("request_time"))
        return LoggedRequest(
            at_s=started_s(ended, self._ended_s(ended), elapsed_s),
            kind=kind,
            operation=operation,
            bucket=bucket,
            key=key,
            object_bytes=object_bytes,
            body_bytes=body_bytes,
            range_start=range_start,
            status=whole_number(status) or 0,
            elapsed_s=elapsed_s,
            upload_id=upload_id,
            part_number=part_number,
        )

    def _ended_s(self, text: str) -> float:
        if self._time == "time_local":
            return common_log_s(text)
        if self._time == "time_iso8601":
            return rfc3339_s(text)
        seconds = _seconds(text)
        if seconds is None:
            raise BrokenLine("a time that cannot be read")
        return seconds


def _request_of(fields: Mapping[str, str]) -> tuple[str, str]:
    """Method and target."""
    if "request" in fields:
        method, _, rest = fields["request"].partition(" ")
        target = rest.rpartition(" ")[0] or rest
    else:
        method, target = fields["request_method"], fields["request_uri"]
    if not (method.isalpha() and method.isupper() and target.startswith("/")):
        raise BrokenLine("no HTTP request")
    return method, _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), target) if "\\x" in target else target


def _has(fields: Mapping[str, str], name: str) -> bool:
    return fields.get(name, "-") not in {"", "-"}


def _whole(fields: Mapping[str, str], name: str) -> int | None:
    return whole_number(fields.get(name, ""))


def _first(fields: Mapping[str, str], *names: str) -> int | None:
    return next((number for name in names if (number := _whole(fields, name)) is not None), None)


def _seconds(text: str | None) -> float | None:
    """Seconds with a fraction, such as `0.012`; `None` where there are none."""
    return float(text or "") if whole_number((text or "").replace(".", "", 1)) is not None else None
