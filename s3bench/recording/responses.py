"""The responses of a recorded definition, as JSON values. Pure.

Objects become bodies from files, which answer every range; listings become `listing`; uploads accept any parts. So a
client that splits a transfer in another way is answered too. All other responses are kept as they were, equal ones
once.
"""

import posixpath
from collections.abc import Callable, Iterable, Sequence

from s3bench.errors import ClientFailed
from s3bench.recording.environment import Json, RecordedFixtures
from s3bench.recording.exchange import Kind, RecordedExchange
from s3bench.recording.objects import RecordedListing, RecordedObject, can_be_files
from s3bench.spec.header import FIELD_NAME, FIELD_VALUE
from s3bench.spec.listing import LISTED_AT, listing_pages

ANY = {"instances": "any"}
_XML = {"Content-Type": "application/xml"}
_STARTED = (
    "<InitiateMultipartUploadResult><Bucket>bucket</Bucket><Key>object</Key><UploadId>upload</UploadId>"
    "</InitiateMultipartUploadResult>"
)
_ETAG = '"00000000000000000000000000000000"'
_FINISHED = (
    "<CompleteMultipartUploadResult><Location>/bucket/object</Location><Bucket>bucket</Bucket><Key>object</Key>"
    '<ETag>"00000000000000000000000000000000-1"</ETag></CompleteMultipartUploadResult>'
)
_COPIED = (
    f"<CopyObjectResult><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>{_ETAG}</ETag></CopyObjectResult>"
)
_PART_COPIED = f"<CopyPartResult><LastModified>{LISTED_AT}</LastModified><ETag>{_ETAG}</ETag></CopyPartResult>"

_UPLOADS = frozenset({Kind.PUT, Kind.PUT_PART, Kind.START_UPLOAD, Kind.FINISH_UPLOAD})
_COPIES = frozenset({Kind.COPY, Kind.COPY_PART})
_DELETES = frozenset({Kind.DELETE, Kind.DELETE_MANY})
_ASKING = frozenset({Kind.HEAD, Kind.LIST, Kind.OTHER})
"""Kinds of requests to which a transfer's responses are kept as they were, where no short form answers them."""

_KEPT_HEADERS = frozenset({
    "accept-ranges", "cache-control", "content-disposition", "content-language", "content-type", "etag", "expires",
    "last-modified", "location",
})  # fmt: skip
_KEPT_PREFIXES = ("x-amz-", "x-amzn-")
# Ids of requests, and checksums of bodies that are not the same any more once something in them is masked.
_DROPPED_PREFIXES = (
    "x-amz-apigw",
    "x-amz-cf-",
    "x-amz-checksum-",
    "x-amz-crc32",
    "x-amz-expiration",
    "x-amz-id",
    "x-amz-log-result",
    "x-amz-request",
    "x-amz-rid",
    "x-amzn-remapped-",
    "x-amzn-requestid",
    "x-amzn-trace",
)

Mask = Callable[[str], str]
"""Masks a text."""


def recorded_responses(
    exchanges: Sequence[RecordedExchange],
    *,
    of_transfer: bool,
    objects: Sequence[RecordedObject],
    listed: Sequence[RecordedListing],
    fixtures: RecordedFixtures,
    masked: Mask,
) -> list[Json]:
    """The responses to a command: objects and long listings in their short form, the rest as it was.

    Those to a transfer have the form in which every client can run it: they accept any parts, copies and deletes.
    """
    covered = _covered(exchanges, objects, listed)
    literal = [each for each in exchanges if id(each) not in covered and (not of_transfer or each.kind in _ASKING)]
    # Literal responses name what they answer exactly, and come before those for all keys of a folder.
    responses = [*literal_responses(literal, masked), *_reads(objects, listed, fixtures, masked)]
    if of_transfer:
        responses += [*_copy_sources(exchanges, listed, masked), *_writes(exchanges, masked)]
    return responses


def _covered(
    exchanges: Sequence[RecordedExchange], objects: Sequence[RecordedObject], listed: Sequence[RecordedListing]
) -> set[int]:
    """The requests, by their identity, that the short forms of objects and listings answer."""
    read = {(each.bucket, each.key) for each in objects}
    bodies = {Kind.READ, Kind.HEAD}
    covered = {id(each) for each in exchanges if each.kind in bodies and (each.bucket, each.key) in read}
    return covered | {id(page) for listing in listed for page in listing.pages}


def _reads(
    objects: Sequence[RecordedObject], listed: Sequence[RecordedListing], fixtures: RecordedFixtures, masked: Mask
) -> list[Json]:
    """Listings, and bodies of objects: a tree of files for each listing, and for the objects that none lists."""
    responses: list[Json] = []
    bodies: list[tuple[int, list[Json]]] = []
    in_tree: set[tuple[str, str]] = set()
    several = len({(each.bucket, each.prefix) for each in listed}) > 1
    for listing in listed:
        query = {"list-type": ""} | ({"prefix": masked(listing.prefix)} if several else {})
        match = {"method": "GET", "path": f"/{masked(listing.bucket)}", "query": query}
        read = [each.key for each in objects if each.bucket == listing.bucket]
        root = listing.directory
        if listing.can_be_tree(read) and not _has_wildcards(root):
            tree = fixtures.free_name("remote_dir")
            fixtures.add_directory(tree, [(masked(key.removeprefix(root)), size) for key, size in listing.keys])
            body = {"listing": tree} | ({"prefix": masked(root)} if root else {})
            responses.append({"match": match, "body": body, **ANY})
            bodies.append((len(root), _bodies(f"/{masked(listing.bucket)}/{masked(root)}*", f"{tree}/*", "")))
            in_tree |= {(listing.bucket, key) for key, _ in listing.keys}
        else:
            keys = [(masked(key), size) for key, size in sorted(listing.keys, key=lambda item: item[0].encode())]
            for token, xml in listing_pages(keys):
                page = query | ({"continuation-token": token} if token else {})
                responses.append({"match": match | {"query": page}, "headers": _XML, "body": xml, **ANY})
    single = [each for each in objects if (each.bucket, each.key) not in in_tree]
    responses += _of_single_objects(single, fixtures, masked)
    for _, pair in sorted(bodies, key=lambda item: -item[0]):
        responses += pair
    return responses


def _of_single_objects(objects: Sequence[RecordedObject], fixtures: RecordedFixtures, masked: Mask) -> list[Json]:
    """Bodies of objects that no listing has: one response for all of a bucket if their keys can be file names."""
    responses: list[Json] = []
    for bucket in dict.fromkeys(each.bucket for each in objects):
        here = [each for each in objects if each.bucket == bucket]
        root = _common_root([each.key for each in here])
        names = [masked(each.key.removeprefix(root)) for each in here]
        if len(here) > 1 and can_be_files(names) and not _has_wildcards(root) and not any(each.text for each in here):
            tree = fixtures.free_name("remote_dir")
            fixtures.add_directory(tree, zip(names, (each.size_bytes for each in here), strict=True))
            responses += _bodies(f"/{masked(bucket)}/{masked(root)}*", f"{tree}/*", "")
            continue
        for each in here:
            name = fixtures.free_name("remote_file")
            fixtures.add_file(name, each.size_bytes, None if each.text is None else masked(each.text))
            responses += _bodies(f"/{masked(bucket)}/{masked(each.key)}", name, each.content_type)
    return responses


def _bodies(path: str, file: str, content_type: str) -> list[Json]:
    headers = (
        {"headers": {"Content-Type": content_type}} if content_type and FIELD_VALUE.check(content_type) is None else {}
    )
    return [
        {"match": {"method": method, "path": _pattern_of(path)}, **headers, "body": {"file": file}, **ANY}
        for method in ("HEAD", "GET")
    ]


def _common_root(keys: Sequence[str]) -> str:
    """What all keys begin with, up to a slash."""
    common = posixpath.commonprefix(list(keys))
    return common[: common.rfind("/") + 1]


def _writes(exchanges: Sequence[RecordedExchange], masked: Mask) -> list[Json]:
    """Uploads of any parts, copies and deletes: a response of each kind for all keys of a bucket."""
    responses: list[Json] = []
    for bucket in dict.fromkeys(each.bucket for each in exchanges if each.kind in _UPLOADS | _COPIES | _DELETES):
        here = [each for each in exchanges if each.bucket == bucket]
        kinds = {each.kind for each in here}
        written = [each.key for each in here if each.kind in _UPLOADS | _COPIES]
        deleted = [each.key for each in here if each.kind is Kind.DELETE]
        root = f"/{masked(bucket)}"
        if written:
            path = _pattern_of(f"{root}/{masked(_common_pattern(written))}")
            if kinds & _COPIES:
                match = {"method": "PUT", "path": path, "query": {"uploadId": ""}}
                responses.append({"match": match, "headers": _XML, "body": _PART_COPIED, **ANY})
            copied = {"headers": _XML, "body": _COPIED} if kinds & _COPIES else {}
            responses.append({"match": {"method": "PUT", "path": path}, **copied, **ANY})
            for name, body in (("uploads", _STARTED), ("uploadId", _FINISHED)):
                match = {"method": "POST", "path": path, "query": {name: ""}}
                responses.append({"match": match, "headers": _XML, "body": body, **ANY})
        if kinds & _DELETES:
            path = _pattern_of(f"{root}/{masked(_common_pattern(deleted))}") if deleted else f"{root}/*"
            responses.append({"match": {"method": "DELETE", "path": path}, "status_code": 204, **ANY})
            match = {"method": "POST", "path": root, "query": {"delete": ""}}
            responses.append({"match": match, "headers": _XML, "body": "<DeleteResult/>", **ANY})
    return responses


def _copy_sources(exchanges: Sequence[RecordedExchange], listed: Sequence[RecordedListing], masked: Mask) -> list[Json]:
    """Answers for clients that ask for the size of an object before they copy it, where the recorded one did not.

    Its size is not known then; 0 makes every client copy it at once, as the recorded one did.
    """
    known = {each.path for each in exchanges if each.method == "HEAD"}
    known |= {f"/{listing.bucket}/{key}" for listing in listed for key, _ in listing.keys}
    sources = dict.fromkeys(each.copy_source for each in exchanges if each.kind is Kind.COPY)
    return [
        {"match": {"method": "HEAD", "path": _pattern_of(masked(path))}, "headers": {"Content-Length": "0"}, **ANY}
        for path in sources
        if path not in known
    ]


def _common_pattern(keys: Sequence[str]) -> str:
    """A path that matches all keys: the key itself if there is one, and all below their common folder if not."""
    every = list(dict.fromkeys(keys))
    return every[0] if len(every) == 1 else f"{_common_root(every)}*"


def _pattern_of(path: str) -> str:
    """The path as `match.path` can have it: a question mark, which would begin a query there, is any character."""
    return path.replace("?", "*")


def _has_wildcards(root: str) -> bool:
    return not {"*", "?"}.isdisjoint(root)


def literal_responses(exchanges: Iterable[RecordedExchange], masked: Mask) -> list[Json]:
    """The responses as they were. Those to equal requests follow one another; the last of them stays.

    A request with more query parameters also matches a response that names fewer, so those with more come first.
    """
    groups: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[Json]] = {}
    for each in exchanges:
        query = tuple((name, masked(value)) for name, value in each.parameters.items())
        groups.setdefault((each.method, _pattern_of(masked(each.path)), query), []).append(_literal(each, masked))
    responses = []
    for (method, path, query), answers in sorted(groups.items(), key=lambda item: -len(item[0][2])):
        match: Json = {"method": method, "path": path} | ({"query": dict(query)} if query else {})
        runs: list[tuple[Json, int]] = []
        for answer in answers:
            if runs and runs[-1][0] == answer:
                runs[-1] = answer, runs[-1][1] + 1
            else:
                runs.append((answer, 1))
        for answer, count in runs[:-1]:
            responses.append({"match": match, **answer, **({"instances": count} if count > 1 else {})})
        responses.append({"match": match, **runs[-1][0], **ANY})
    return responses


def _literal(exchange: RecordedExchange, masked: Mask) -> Json:
    """Status, headers and body of one response. Raises `ClientFailed` for a body that is no text."""
    headers = {name: masked(value) for name, value in exchange.headers if _is_kept(name)}
    if exchange.method == "HEAD" and exchange.header("content-length"):
        headers["Content-Length"] = exchange.header("content-length")
    headers = {
        name: value
        for name, value in headers.items()
        if FIELD_NAME.check(name) is None and FIELD_VALUE.check(value) is None
    }
    answer: Json = {} if exchange.status == 200 else {"status_code": exchange.status}  # noqa: PLR2004 (the default)
    if headers:
        answer["headers"] = headers
    if exchange.response_bytes:
        answer["body"] = masked(_text_of(exchange))
    return answer


def _text_of(exchange: RecordedExchange) -> str:
    try:
        if exchange.body is not None:
            return exchange.body.decode()
    except UnicodeDecodeError:
        pass
    raise ClientFailed(
        f"the response to {exchange.method} {exchange.path} cannot be kept",
        f"its {exchange.response_bytes} bytes are no text, or too long",
        "nothing was written; record a command whose responses are text",
    )


def _is_kept(name: str) -> bool:
    lower = name.lower()
    if lower in _KEPT_HEADERS:
        return True
    return lower.startswith(_KEPT_PREFIXES) and not lower.startswith(_DROPPED_PREFIXES)
