"""Pages of a listing, beside a naive model."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from s3bench.s3.emulator.listing import Page, page_of

keys = st.sets(st.text(alphabet="ab/\U0010ffff", min_size=1, max_size=5), max_size=12)
parts = st.text(alphabet="ab/\U0010ffff", max_size=2)


def page(known: set[str], *, prefix: str = "", delimiter: str = "", after: str = "", limit: int = 1000) -> Page[str]:
    ordered = sorted(known)

    def entries(start: str, inclusive: bool) -> Iterator[tuple[str, str]]:
        return ((key, key) for key in ordered if key > start or (inclusive and key == start))

    return page_of(entries, prefix=prefix, delimiter=delimiter, after=after, limit=limit)


def all_of(known: set[str], prefix: str, delimiter: str) -> list[tuple[str, bool]]:
    """Every entry and every common prefix that there is, in order; the flag says which it is."""
    found = set()
    for key in known:
        if key.startswith(prefix):
            head, cut, _ = key.removeprefix(prefix).partition(delimiter) if delimiter else (key, "", "")
            found.add((prefix + head + cut, True) if cut else (key, False))
    return sorted(found)


@given(known=keys, prefix=parts, delimiter=parts)
def test_one_large_page_has_everything_once_and_in_order(known: set[str], prefix: str, delimiter: str) -> None:
    found = page(known, prefix=prefix, delimiter=delimiter)
    expected = all_of(known, prefix, delimiter)
    assert found.entries == [name for name, common in expected if not common]
    assert found.prefixes == [name for name, common in expected if common]
    assert not found.truncated


@given(known=keys, prefix=parts, delimiter=parts, limit=st.integers(1, 4))
def test_pages_one_after_another_have_what_one_page_has(
    known: set[str], prefix: str, delimiter: str, limit: int
) -> None:
    expected = all_of(known, prefix, delimiter)
    found: list[tuple[str, bool]] = []
    after = ""
    for _ in range(len(expected) + 1):
        one = page(known, prefix=prefix, delimiter=delimiter, after=after, limit=limit)
        assert len(one) <= limit
        found += sorted([*((key, False) for key in one.entries), *((name, True) for name in one.prefixes)])
        if not one.truncated:
            break
        assert len(one) == limit
        after = one.last
    assert found == expected


@given(known=keys, after=parts, prefix=parts)
def test_without_a_delimiter_a_page_begins_behind_any_marker(known: set[str], after: str, prefix: str) -> None:
    found = page(known, prefix=prefix, after=after)
    assert found.entries == sorted(key for key in known if key.startswith(prefix) and key > after)


def test_a_page_of_nothing_is_not_truncated() -> None:
    found = page({"a"}, limit=0)
    assert (len(found), found.truncated) == (0, False)
