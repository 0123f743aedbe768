"""Listings of a bucket, as the AWS CLI writes them."""

import json
import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.errors import BadInput
from s3bench.spec.bucket_listing import parse_listing
from s3bench.spec.environment_table import OBJECT_BYTES_MAX

LISTED = b"""\
2013-09-02 21:37:53         10 a.txt
2013-09-02 21:37:53    2863288 with blanks/foo bar.zip
2013-09-02 21:32:57         10 with blanks/below/file
2013-09-02 21:32:57          0 with blanks/marker/

Total Objects: 4
   Total Size: 2863308
"""


def test_the_text_of_a_recursive_listing_is_read() -> None:
    listing = parse_listing(LISTED, source="ls.txt")
    assert listing.sizes == {10: 2, 2863288: 1}
    assert (listing.folders, listing.folder_markers) == (3, 1)


def test_the_largest_object_of_s3_is_read() -> None:
    line = b"2013-09-02 21:37:53 0053687091200000 a\n"
    assert parse_listing(line, source="ls.txt").sizes == {53_687_091_200_000: 1}


@given(st.lists(st.tuples(st.text(min_size=1), st.integers(0, OBJECT_BYTES_MAX)), max_size=20))
def test_the_json_of_a_listing_is_read_whatever_the_keys(objects: list[tuple[str, int]]) -> None:
    document = {"Contents": [{"Key": key, "Size": size, "ETag": "x"} for key, size in objects]}
    listing = parse_listing(json.dumps(document).encode(), source="list.json")
    assert listing.sizes.total() + listing.folder_markers == len(objects)
    assert sum(size * count for size, count in listing.sizes.items()) == sum(size for _, size in objects)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (LISTED + b"garbage\n", "line 8 is not a line"),
        (b"2013-09-02 21:37:53   10.0 KiB a.txt\n", "without --human-readable"),
        (b"                           PRE folder/\n", "--recursive"),
        (b'{"Contents": [{"Key": "a"}]}', r"\$\.Contents\[0\]"),
        (LISTED + b"2013-09-02 21:37:53 53687091200001 a\n", r"line 8: the size is more than 53,687,091,200,000 bytes"),
        (b"2013-09-02 21:37:53 " + b"9" * 5000 + b" a\n", "line 1: the size is more than"),
        (b'[{"Key": "a", "Size": 53687091200001}]', r"\$\.Contents\[0\]\.Size is more than"),
        (b'{"Buckets": []}', "no list `Contents`"),
        (b'{"Contents": [], "NextToken": "x"}', "first part"),
        (b'{"Contents"', "not valid JSON"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_what_is_no_listing_is_refused_with_its_place(content: bytes, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_listing(content, source="list")
    assert re.search(said, str(caught.value))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with suppress(BadInput):
        assert parse_listing(content, source="list").folders >= 0
