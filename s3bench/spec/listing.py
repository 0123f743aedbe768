"""Expands responses that list a fixture directory, as ListObjectsV2 does, into plain responses with XML pages.

So a definition of 5,000 objects has only a few lines.
"""

from collections.abc import Iterator
from dataclasses import replace
from html import escape

from s3bench.spec.definition import Environment, ListingBody, RequestMatch, Response

PAGE_KEYS_MAX = 1000
"""ListObjectsV2 returns at most this many keys
(https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html)."""

LISTED_AT = "2026-01-01T00:00:00.000Z"
"""The Last-Modified of every listed object: newer than the fixtures, so that `s3 sync` always decides the same."""


def expand_listings(responses: tuple[Response, ...], environment: Environment) -> tuple[Response, ...]:
    """`responses` with each listing replaced by one response per page, linked by `continuation-token`."""
    expanded: list[Response] = []
    for response in responses:
        if isinstance(response.body, ListingBody):
            expanded.extend(_pages(response, response.body, environment))
        else:
            expanded.append(response)
    return tuple(expanded)


def _pages(response: Response, listing: ListingBody, environment: Environment) -> Iterator[Response]:
    directory = environment.directory(listing.directory)
    assert directory is not None, "a definition is valid"
    keys = [(f"{listing.prefix}{name}", size_bytes) for name, size_bytes in directory.files()]
    match = response.match or RequestMatch()
    headers = (*response.headers, ("Content-Type", "application/xml"))
    for token, body in listing_pages(keys):
        query = (("continuation-token", token),) if token else ()
        yield replace(response, headers=headers, body=body, match=replace(match, query=(*match.query, *query)))


def listing_pages(keys: list[tuple[str, int]]) -> Iterator[tuple[str, str]]:
    """The pages of a listing of keys with their sizes: the continuation token, empty for the first page, and the XML.

    A request for a later page also matches the first page, so later pages come before it.
    """
    pages = [keys[start : start + PAGE_KEYS_MAX] for start in range(0, len(keys), PAGE_KEYS_MAX)] or [[]]
    for number in reversed(range(len(pages))):
        following = f"page-{number + 1}" if number + 1 < len(pages) else ""
        yield f"page-{number}" if number else "", _page_xml(pages[number], following)


def _page_xml(keys: list[tuple[str, int]], following: str) -> str:
    contents = "".join(
        f"<Contents><Key>{escape(key, quote=False)}</Key><LastModified>{LISTED_AT}</LastModified>"
        f'<ETag>"00000000000000000000000000000000"</ETag><Size>{size_bytes}</Size></Contents>'
        for key, size_bytes in keys
    )
    more = f"<NextContinuationToken>{following}</NextContinuationToken>" if following else ""
    truncated = "true" if following else "false"
    return (
        '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<KeyCount>{len(keys)}</KeyCount><MaxKeys>{PAGE_KEYS_MAX}</MaxKeys><IsTruncated>{truncated}</IsTruncated>"
        f"{more}{contents}</ListBucketResult>"
    )
