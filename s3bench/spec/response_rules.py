"""Checks that status, headers and body of one stubbed response do not contradict each other."""

from collections.abc import Iterator

from s3bench.spec.definition import FileBody, ListingBody, Response
from s3bench.spec.fixture_rules import Fixtures
from s3bench.spec.reader import Complaint, Report, Steps, nearest, quoted

_NO_CONTENT = frozenset({204, 205, 304})  # RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5


def check_response(response: Response, at: Steps, fixtures: Fixtures, report: Report) -> None:
    """Report the problems of the response `at`, given the files of its environment."""
    if report.touches_whole(at):
        return
    _check_instances(response, at, report)
    match response.body:
        case FileBody() as body:
            _check_file(body, response, at, fixtures, report)
        case ListingBody() as body:
            _check_listing(body, at, fixtures, report)
    _check_repeated(response, at, report)
    if not report.touches((*at, "body")):
        body_bytes = _body_bytes(response, fixtures)
        _check_bodiless(response, at, body_bytes, report)
        _check_framing(response, at, body_bytes, report)


def _check_instances(response: Response, at: Steps, report: Report) -> None:
    if response.instances is None and response.match is None and not report.touches((*at, "instances")):
        what = 'is "any" without `match`: no later response would ever be used'
        report.add((*at, "instances"), Complaint(what, "add `match`, or write the number of requests"))


def _check_file(body: FileBody, response: Response, at: Steps, fixtures: Fixtures, report: Report) -> None:
    place = (*at, "body", "file")
    if report.touches(place):
        return
    if "*" in body.file and not report.touches((*at, "match")):
        path = (response.match.path if response.match else None) or ""
        if path.count("*") != 1:
            what = f"is {quoted(body.file)}, but `match.path` has {path.count('*') or 'no'} `*`; it needs exactly one"
            report.add(place, Complaint(what, 'add `match` with one `*` in its path, e.g. {"path": "/bucket/*"}'))
            return
    if fixtures.complete and next(_sizes(body, fixtures), None) is None:
        near = nearest(body.file, fixtures.names())
        fix = f"did you mean {quoted(near)}?" if near else "add it under `environment`, or use an existing file"
        report.add(place, Complaint(f"is {quoted(body.file)}, which no fixture makes", fix))


def _sizes(body: FileBody, fixtures: Fixtures) -> Iterator[int]:
    """The sizes of the fixtures that `body` stands for; none if there is no such fixture."""
    before, star, after = body.file.partition("*")
    if star:
        return fixtures.matching_sizes(before, after)
    size_bytes = fixtures.size_bytes(body.file)
    return iter(() if size_bytes is None else (size_bytes,))


def _check_listing(body: ListingBody, at: Steps, fixtures: Fixtures, report: Report) -> None:
    place = (*at, "body", "listing")
    if report.touches(place) or not fixtures.complete or fixtures.is_listable(body.directory):
        return
    near = nearest(body.directory, fixtures.directories())
    fix = f"did you mean {quoted(near)}?" if near else "add it under `environment.file_dirs` or `file_trees`"
    report.add(place, Complaint(f"is {quoted(body.directory)}, which no `file_dirs` or `file_trees` makes", fix))


def _check_repeated(response: Response, at: Steps, report: Report) -> None:
    first: dict[str, str] = {}
    for name, _ in response.headers:
        if name.lower() in first:
            what = f"is the same header as {quoted(first[name.lower()])}: names have no case (RFC 9110, section 5.1)"
            report.add((*at, "headers", name), Complaint(what, "keep one of them"))
        first.setdefault(name.lower(), name)


def _body_bytes(response: Response, fixtures: Fixtures) -> int | None:
    """Return the body's length, or `None` if it is unknown or varies."""
    match response.body:
        case str() as text:
            return len(text.encode())
        case FileBody() as body if fixtures.complete:
            sizes = _sizes(body, fixtures)
            first = next(sizes, None)
            return first if all(size_bytes == first for size_bytes in sizes) else None
        case _:
            return None


def _check_bodiless(response: Response, at: Steps, body_bytes: int | None, report: Report) -> None:
    status = response.status_code
    if not body_bytes or status not in _NO_CONTENT:
        return
    if report.touches((*at, "status_code")):
        return
    what = f"is not empty, but a response with status {status} has no body (RFC 9110)"
    report.add((*at, "body"), Complaint(what, "remove the body, or use another status, e.g. 200"))


def _check_framing(response: Response, at: Steps, body_bytes: int | None, report: Report) -> None:
    for name, value in response.headers:
        place = (*at, "headers", name)
        if isinstance(response.body, ListingBody) and name.lower() in {"content-length", "content-type"}:
            report.add(place, Complaint("is set by s3bench itself for a listing", "remove it"))
        elif name.lower() == "content-length":
            complaint = _length_complaint(value, response, body_bytes)
            if complaint:
                report.add(place, complaint)


def _length_complaint(value: str, response: Response, body_bytes: int | None) -> Complaint | None:
    if not (value.isascii() and value.isdigit()):
        return Complaint(
            f"is {quoted(value)}, not a number of bytes", 'write decimal digits, e.g. "32000000", or remove it'
        )
    declared = value.lstrip("0") or "0"
    # A HEAD response declares the length of a body that it does not send; without `match` it may be one.
    if body_bytes == 0 and (response.match is None or response.match.method in {None, "HEAD"}):
        return None
    if body_bytes is None or declared == str(body_bytes):
        return None
    if body_bytes == 0:
        return Complaint(
            f'is "{declared}", but the body is empty, which is allowed only for a response to HEAD',
            'write the body, or "0", or remove the header',
        )
    return Complaint(f'is "{declared}", but the body has {body_bytes} bytes', f'write "{body_bytes}", or remove it')
