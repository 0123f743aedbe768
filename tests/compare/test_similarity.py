"""Facts about machines that were edited by hand are compared and shown, whatever they are."""

import pytest

from s3bench.compare.matching import DocumentSource
from s3bench.compare.similarity import differences_between
from tests.compare.documents import document, result


def of_memory(name: str, memory_total: object) -> DocumentSource:
    return DocumentSource(name=name, document=document(result(), machine={"memory_total": memory_total}))


@pytest.mark.parametrize(
    ("memory_total", "shown"),
    [("x", "x"), ([8], "[8]"), (True, "yes"), (-1, "-1"), (10**400, str(10**400)), (None, "unknown"), (0, "0 B")],
)
def test_an_amount_of_memory_that_is_none_is_a_difference(memory_total: object, shown: str) -> None:
    for pair in ((1 << 30, memory_total), (memory_total, 1 << 30)):
        before, after = (of_memory(name, value) for name, value in zip("ab", pair, strict=True))
        (line,) = differences_between([before, after])
        assert line.startswith("different amount of memory: ")
        assert f"{shown} in " in line


def test_amounts_that_kernels_round_differently_are_equal() -> None:
    assert differences_between([of_memory("a", 8 << 30), of_memory("b", (8 << 30) * 0.99)]) == ()
    assert len(differences_between([of_memory("a", 8 << 30), of_memory("b", (8 << 30) * 0.97)])) == 1


def test_what_a_search_found_is_a_result_and_no_difference() -> None:
    found = {"a": "100.0/s held", "b": "200.0/s held"}
    both = [DocumentSource(name=name, document=document(result(), found={"words": found[name]})) for name in found]
    assert differences_between(both) == ()


@pytest.mark.parametrize(
    ("before", "after", "count"), [("ext4", "tmpfs", 1), ("ext4", "ext4", 0), (None, "tmpfs", 0), ("ext4", None, 0)]
)
def test_another_file_system_of_the_workspace_is_told_where_both_are_known(
    before: str | None, after: str | None, count: int
) -> None:
    both = [
        DocumentSource(name=name, document=document(result(), machine={"workspace_file_system": value}))
        for name, value in (("a", before), ("b", after))
    ]
    lines = ("different file system of the workspace: ext4 in a, tmpfs in b",)
    assert differences_between(both) == lines[:count]
