"""The sizes of many files: what condensing and sampling preserve."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.errors import BadInput
from s3bench.spec.file_sizes import QUANTILES, FileSizes, error_between, in_turn, sample_words
from s3bench.spec.sizes_document import LeftOut, SizesDocument, encode_sizes, parse_sizes

MIB = 1 << 20
SIZES = st.dictionaries(st.integers(0, 1 << 40), st.integers(1, 1000), min_size=1, max_size=40)
MANY = st.tuples(st.integers(257, 900), st.integers(0, 2**32), st.sampled_from((1.001, 1.02, 1.5)))


def spread(number: int, seed: int, growth: float) -> FileSizes:
    """Many distinct sizes: from nearly even to over many decades."""
    sizes: Counter[int] = Counter()
    for step in range(number):
        sizes[min(1 << 45, int(growth**step * 1000)) + (seed * step) % 977 + step] += 1 + (seed >> (step % 30)) % 3
    return FileSizes.of(sizes)


@given(MANY)
def test_condensing_preserves_number_bytes_quantiles_smallest_and_largest(many: tuple[int, int, float]) -> None:
    whole = spread(*many)
    condensed = whole.condensed()
    assert (condensed.files, condensed.total_bytes) == (whole.files, whole.total_bytes)
    assert [condensed.quantile(share) for share in QUANTILES] == [whole.quantile(share) for share in QUANTILES]
    assert (condensed.counts[0][0], condensed.largest_bytes) == (whole.counts[0][0], whole.largest_bytes)
    assert len(condensed.counts) <= 412


@given(SIZES)
def test_few_distinct_sizes_are_kept_as_they_are(sizes: dict[int, int]) -> None:
    whole = FileSizes.of(Counter(sizes))
    assert whole.condensed() == whole
    assert error_between(whole, whole.condensed()) == 0


@given(SIZES, st.data())
def test_a_quantile_is_the_size_at_its_nearest_rank(sizes: dict[int, int], data: st.DataObject) -> None:
    whole = FileSizes.of(Counter(sizes))
    every = sorted(Counter(sizes).elements())
    rank = data.draw(st.integers(1, len(every)))
    assert whole.quantile((rank - 0.5) / len(every)) == every[rank - 1]


def test_sizes_over_six_decades_are_within_a_few_percent() -> None:
    whole = FileSizes.of(Counter(int(1000 * 1.002**step) + step for step in range(7000)))
    assert 0 < error_between(whole, whole.condensed()) < 0.08


@given(SIZES, st.integers(1, 500), st.integers(1, 1 << 45))
def test_a_sample_stays_within_its_limits(sizes: dict[int, int], files_max: int, bytes_max: int) -> None:
    whole = FileSizes.of(Counter(sizes))
    sample = whole.sample(files_max=files_max, bytes_max=bytes_max)
    assert 1 <= sample.files <= min(files_max, whole.files)
    assert sample.largest_bytes <= min(whole.largest_bytes, bytes_max)
    if sample.files < whole.files:
        assert sample_words(whole, sample) is not None


def test_a_sample_has_as_many_bytes_for_each_file() -> None:
    whole = FileSizes.of(Counter({1000: 900, 1 * MIB: 90, 50 * MIB: 10}))
    sample = whole.sample(files_max=100, bytes_max=1 << 40)
    assert sample.files == 100
    assert sample.total_bytes * 10 == whole.total_bytes
    assert sample.largest_bytes == 50 * MIB


def test_one_large_file_is_cut_to_the_limit() -> None:
    sample = FileSizes(counts=((1 << 40, 1),)).sample(files_max=10, bytes_max=MIB)
    assert sample.counts == ((MIB, 1),)


@given(counts=st.dictionaries(st.integers(0, 10**6), st.integers(1, 50), min_size=1, max_size=20))
def test_each_size_has_its_turn_as_often_as_it_counts(counts: dict[int, int]) -> None:
    assert Counter(in_turn(tuple(sorted(counts.items())))) == counts


def test_large_files_are_not_all_at_the_end() -> None:
    sizes = list(in_turn(((1, 900), (1000, 100))))
    tenths = [sizes[start : start + 100].count(1000) for start in range(0, 1000, 100)]
    assert all(5 <= count <= 15 for count in tenths), tenths


@given(MANY)
def test_a_document_is_read_as_it_was_written(many: tuple[int, int, float]) -> None:
    document = SizesDocument.of(spread(*many), folders=3, left_out=LeftOut(symlinks=2))
    assert parse_sizes(encode_sizes(document), source="sizes.json") == document


def test_no_document_is_made_that_no_reader_takes() -> None:
    largest = FileSizes(counts=((53_687_091_200_000, 1),))
    document = SizesDocument.of(largest, folders=0, left_out=LeftOut())
    assert parse_sizes(encode_sizes(document), source="sizes.json").file_sizes == largest
    many = SizesDocument.of(FileSizes(counts=((5, 10_000_001),)), folders=0, left_out=LeftOut())
    assert parse_sizes(encode_sizes(many), source="sizes.json").files == 10_000_001  # its readers make a sample of it
    with pytest.raises(BadInput, match="the largest file has 53,687,091,200,001 bytes"):
        SizesDocument.of(FileSizes(counts=((53_687_091_200_001, 1),)), folders=0, left_out=LeftOut())


GOOD = encode_sizes(SizesDocument.of(FileSizes(counts=((5, 3), (9, 1))), folders=0, left_out=LeftOut()))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (b"[[5,3],[9,1]]", b"[[9,1],[5,3]]", "ascending"),
        (b"[[5,3],[9,1]]", b"[]", "ascending"),
        (b"[[5,3],[9,1]]", b"[[5,0],[9,1]]", "below 1"),
        (b"[[5,3],[9,1]]", b"[[-5,3],[9,1]]", "between 0 and"),
        (b"[[5,3],[9,1]]", b"[[5,3],[9,2]]", "5 files of 33 bytes"),
        (b'"sizes_version": 1', b'"sizes_version": 2', "update s3bench"),
        (b'"folders"', b'"names"', "names"),
        (GOOD, b"{", "no sizes of files"),
    ],
)
def test_a_document_that_is_wrong_is_refused_with_the_reason(before: bytes, after: bytes, said: str) -> None:
    assert before in GOOD
    with pytest.raises(BadInput, match=said):
        parse_sizes(GOOD.replace(before, after), source="sizes.json")
