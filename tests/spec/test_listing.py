"""A fixture directory listed as ListObjectsV2 would, page by page."""

import xml.etree.ElementTree as ET

from s3bench.spec.definition import Environment, FileTree, FixtureDir, ListingBody, RequestMatch, Response
from s3bench.spec.listing import PAGE_KEYS_MAX, expand_listings

NAMESPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


def listed(count: int) -> tuple[Response, ...]:
    environment = Environment(file_dirs=(FixtureDir(name="many", file_count=count, file_size_bytes=7),))
    response = Response(
        match=RequestMatch(method="GET", path="/bucket", query=(("list-type", ""),)),
        body=ListingBody(directory="many", prefix="data/"),
        instances=None,
    )
    return expand_listings((response,), environment)


def keys(response: Response) -> list[str]:
    assert isinstance(response.body, str)
    return [str(item.text) for item in ET.fromstring(response.body).iter(f"{NAMESPACE}Key")]


def text(response: Response, name: str) -> str | None:
    assert isinstance(response.body, str)
    return ET.fromstring(response.body).findtext(f"{NAMESPACE}{name}")


def test_every_file_of_the_directory_is_a_key_under_the_prefix() -> None:
    (page,) = listed(2)
    assert keys(page) == ["data/file-000000", "data/file-000001"]
    assert text(page, "IsTruncated") == "false"
    assert text(page, "KeyCount") == "2"


def test_an_empty_directory_lists_nothing() -> None:
    (page,) = listed(0)
    assert keys(page) == []
    assert text(page, "IsTruncated") == "false"


def test_pages_hold_a_thousand_keys_and_each_names_the_token_of_the_next() -> None:
    last, middle, first = listed(2 * PAGE_KEYS_MAX + 1)
    assert [len(keys(page)) for page in (first, middle, last)] == [PAGE_KEYS_MAX, PAGE_KEYS_MAX, 1]
    assert first.match is not None
    assert first.match.query == (("list-type", ""),)
    for page, following in ((first, middle), (middle, last)):
        assert following.match is not None
        assert ("continuation-token", text(page, "NextContinuationToken")) in following.match.query
    assert text(last, "NextContinuationToken") is None


def test_other_responses_stay_as_they_are() -> None:
    plain = Response(body="text")
    assert expand_listings((plain,), Environment()) == (plain,)


def test_a_tree_is_listed_in_the_order_of_keys_with_its_sizes() -> None:
    environment = Environment(file_trees=(FileTree(name="t", sizes=(("b", 2), ("a/c", 30), ("a-", 4))),))
    response = Response(match=RequestMatch(method="GET"), body=ListingBody(directory="t", prefix="p/"), instances=None)
    (page,) = expand_listings((response,), environment)
    assert keys(page) == ["p/a-", "p/a/c", "p/b"]
    assert isinstance(page.body, str)
    assert [item.text for item in ET.fromstring(page.body).iter(f"{NAMESPACE}Size")] == ["4", "30", "2"]
