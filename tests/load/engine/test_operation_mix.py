from collections import Counter
from itertools import chain, repeat

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from s3bench.load.engine import operation_mix
from s3bench.load.engine.key_distribution import Zipf
from s3bench.load.engine.objects import slot_of
from s3bench.load.engine.operation_mix import OperationMix, seed_of
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Job, KeyDistribution, Share
from s3bench.load.profile.sizes import fixed, parse_sizes


def job(*kinds: OperationKind, weights: tuple[float, ...] | None = None, **options: object) -> Job:
    shares = zip(kinds, weights or repeat(1.0), strict=False)
    mix = tuple(Share(kind=kind, weight=weight) for kind, weight in shares)
    return Job(mix=mix, sizes=fixed(1024), **options)  # type: ignore[arg-type]


def draws(work: Job, *, worker: int = 0, workers: int = 1, objects: int = 1000, seed: int = 7) -> OperationMix:
    return OperationMix(work, worker=worker, workers=workers, objects=objects, first_number=objects, seed=seed)


def drawn(source: OperationMix, count: int) -> list[tuple[OperationKind, int]]:
    operations: list[tuple[OperationKind, int]] = []
    while len(operations) < count:
        operations.extend(source.batch())
    return operations[:count]


def numbers(source: OperationMix, count: int) -> list[int]:
    return [number for _, number in drawn(source, count)]


def fits(found: Counter[int], expected: np.ndarray) -> bool:
    """Whether counts of 0, 1, ... agree with the expected ones, which are the true ones in all but a millionth."""
    counts = np.array([found[value] for value in range(len(expected))])
    assert counts.sum() == sum(found.values())
    return bool(stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > 1e-6)


class TestMix:
    def test_kinds_come_by_weight(self) -> None:
        mix = (OperationKind.GET, OperationKind.PUT, OperationKind.HEAD, OperationKind.DELETE)
        found = Counter(mix.index(kind) for kind, _ in drawn(draws(job(*mix, weights=(45, 15, 30, 10))), 100_000))
        assert fits(found, np.array([45, 15, 30, 10]))

    def test_kinds_are_independent_of_each_other(self) -> None:
        gets = [
            kind is OperationKind.GET for kind, _ in drawn(draws(job(OperationKind.GET, OperationKind.PUT)), 50_000)
        ]
        pairs = Counter(2 * first + second for first, second in zip(gets[::2], gets[1::2], strict=True))
        assert fits(pairs, np.ones(4))

    def test_a_seed_gives_the_same_draws_and_worker_and_seed_tell_them_apart(self) -> None:
        def some(worker: int, seed: int) -> tuple[tuple[OperationKind, int], ...]:
            return tuple(drawn(draws(job(OperationKind.GET), worker=worker, workers=2, seed=seed), 2000))

        assert some(0, 1) == some(0, 1)
        assert len({some(0, 1), some(1, 1), some(0, 2)}) == 3

    def test_a_seed_follows_from_its_parts(self) -> None:
        assert seed_of("run", 0, 1) == seed_of("run", 0, 1)
        assert len({seed_of("run", 0, 1), seed_of("run", 1, 0), seed_of("run2", 0, 1), seed_of("run", 0, 11)}) == 4


class TestKeys:
    @pytest.mark.parametrize("kind", [OperationKind.GET, OperationKind.RANGE, OperationKind.HEAD, OperationKind.COPY])
    def test_uniform_choice_takes_every_object_of_the_data_set_equally_often(self, kind: OperationKind) -> None:
        assert fits(Counter(numbers(draws(job(kind), objects=100), 50_000)), np.ones(100))

    def test_sequential_choice_takes_the_workers_share_in_order_and_starts_over(self) -> None:
        work = job(OperationKind.GET, keys=KeyDistribution.SEQUENTIAL)
        share = [*range(2, 5000, 3)]
        found = numbers(draws(work, worker=2, workers=3, objects=5000), 2 * len(share) + 5)
        assert found == share + share + share[:5]

    def test_sequential_choice_with_fewer_objects_than_workers_shares_them(self) -> None:
        work = job(OperationKind.GET, keys=KeyDistribution.SEQUENTIAL)
        assert set(numbers(draws(work, worker=5, workers=8, objects=3), 100)) == {2}

    def test_in_a_mix_sequential_reads_go_on_where_they_were(self) -> None:
        source = draws(job(OperationKind.GET, OperationKind.PUT, keys=KeyDistribution.SEQUENTIAL), objects=10_000)
        gets = [number for kind, number in drawn(source, 5000) if kind is OperationKind.GET]
        assert gets == list(range(len(gets)))

    @pytest.mark.parametrize("exponent", [0.0, 0.7, 1.0, 1.3])
    def test_zipf_choice_has_the_frequencies_of_zipfs_law(self, exponent: float) -> None:
        objects = 200
        found = Counter(
            numbers(
                draws(job(OperationKind.GET, keys=KeyDistribution.ZIPF, zipf_exponent=exponent), objects=objects),
                100_000,
            )
        )
        by_frequency = Counter(dict(enumerate(found[number] for number in ranking(objects, exponent))))
        assert fits(by_frequency, np.arange(1, objects + 1) ** -exponent)

    def test_workers_share_the_hot_objects_and_no_two_hot_ones_are_neighbours(self) -> None:
        work = job(OperationKind.GET, keys=KeyDistribution.ZIPF, zipf_exponent=1.0)
        hot = [
            {number for number, _ in Counter(numbers(draws(work, worker=worker, workers=2), 50_000)).most_common(6)}
            for worker in range(2)
        ]
        assert hot[0] == hot[1]
        assert np.diff(sorted(hot[0])).min() > 1000 / 20


def ranking(objects: int, exponent: float) -> list[int]:
    """The objects from the hottest on."""
    middles = (np.cumsum(np.arange(1, objects + 1) ** -exponent) - 0.5 * np.arange(1, objects + 1) ** -exponent) / (
        np.arange(1, objects + 1) ** -exponent
    ).sum()
    return Zipf(objects, exponent).numbers(middles).tolist()  # type: ignore[no-any-return]


class TestZipf:
    @pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.0000001, 2.0])
    @pytest.mark.parametrize("objects", [1, 2, 3, 6, 1000, 65_536, 65_537, 150_000])
    def test_each_object_has_one_rank(self, objects: int, exponent: float) -> None:
        found = ranking(objects, exponent)
        assert len(set(found)) == objects
        assert set(found) == set(range(objects))

    @pytest.mark.parametrize("exponent", [0.5, 0.99, 1.0, 1.2])
    def test_beyond_the_table_ranks_begin_where_the_sum_of_all_before_ends(self, exponent: float) -> None:
        objects = 200_000
        zipf = Zipf(objects, exponent)
        masses = np.cumsum(np.arange(1, objects + 1, dtype=np.longdouble) ** -np.longdouble(exponent))
        for rank in (0, 1, 65_534, 65_535, 65_536, 65_537, 100_000, 199_998):
            end = float(masses[rank] / masses[-1])
            step = float((masses[rank + 1] - masses[rank]) / masses[-1])
            assert zipf.ranks(np.array([end - step / 100, end + step / 100])).tolist() == [rank, rank + 1]

    @given(st.floats(0, 1, exclude_max=True), st.integers(1, 2**31 - 1), st.floats(0, 4))
    def test_every_number_is_an_object(self, uniform: float, objects: int, exponent: float) -> None:
        number = int(Zipf(objects, exponent).numbers(np.array([uniform]))[0])
        assert 0 <= number < objects


class TestWriting:
    @pytest.mark.parametrize("kind", [OperationKind.PUT, OperationKind.MULTIPART])
    def test_new_objects_have_the_workers_numbers_from_the_first_free_one_on(self, kind: OperationKind) -> None:
        assert numbers(draws(job(kind), worker=1, workers=3), 2000) == list(range(1001, 1001 + 6000, 3))

    def test_workers_write_different_objects_and_together_all(self) -> None:
        found = chain(*(numbers(draws(job(OperationKind.PUT), worker=worker, workers=4), 500) for worker in range(4)))
        assert sorted(found) == list(range(1000, 3000))

    def test_several_kinds_of_writes_have_different_objects(self) -> None:
        operations = drawn(
            draws(job(OperationKind.PUT, OperationKind.MULTIPART, OperationKind.GET), worker=1, workers=2), 5000
        )
        found = [number for kind, number in operations if kind is not OperationKind.GET]
        assert len(set(found)) == len(found)
        assert all(number > 1000 and number % 2 == 1 for number in found)

    def test_overwriting_takes_objects_of_the_data_set(self) -> None:
        assert fits(Counter(numbers(draws(job(OperationKind.PUT, overwrite=True), objects=50), 20_000)), np.ones(50))

    def test_a_copy_reads_the_data_set_and_writes_a_new_object(self) -> None:
        source = draws(job(OperationKind.COPY, OperationKind.PUT), worker=1, workers=2)
        operations = drawn(source, 1024)
        written = {number for kind, number in operations if kind is OperationKind.PUT}
        assert all(number < 1000 for kind, number in operations if kind is OperationKind.COPY)
        target = source.new_number()
        assert target not in written
        assert target % 2 == 1
        assert source.new_number() == target + 2


class TestDeleting:
    @given(st.integers(0, 3000), st.integers(1, 4))
    @example(2048, 2)  # whole batches
    def test_deletes_alone_take_the_workers_share_once_each(self, objects: int, workers: int) -> None:
        found = []
        for worker in range(workers):
            source = draws(job(OperationKind.DELETE), worker=worker, workers=workers, objects=objects)
            while not source.exhausted:
                batch = source.batch()
                assert batch
                assert {kind for kind, _ in batch} == {OperationKind.DELETE}
                found += [number for _, number in batch]
            assert source.batch() == []
        assert sorted(found) == list(range(objects))

    def test_other_jobs_are_never_exhausted(self) -> None:
        source = draws(job(OperationKind.GET, keys=KeyDistribution.SEQUENTIAL), objects=1)
        drawn(source, 5000)
        assert not source.exhausted

    def test_deletes_of_a_mix_take_what_was_written_oldest_first(self) -> None:
        source = draws(job(OperationKind.PUT, OperationKind.DELETE))
        assert {number for kind, number in drawn(source, 2000) if kind is OperationKind.DELETE} == {-1}
        assert source.take() is None
        source.wrote(1003)
        source.wrote(1001)
        assert [source.take(), source.take(), source.take()] == [1003, 1001, None]

    def test_deletes_of_a_mix_never_take_the_data_set(self) -> None:
        source = draws(job(OperationKind.PUT, OperationKind.DELETE, overwrite=True))
        source.wrote(999)
        assert source.take() is None

    def test_what_nobody_will_delete_is_not_remembered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(operation_mix, "_OWN_MAX", 100)
        source = draws(job(OperationKind.PUT))
        source.wrote(1000)
        assert source.take() is None
        mixed = draws(job(OperationKind.PUT, OperationKind.DELETE))
        for number in range(1000, 1200):
            mixed.wrote(number)
        assert sum(1 for _ in iter(mixed.take, None)) == 100


class TestListing:
    def test_lists_go_through_the_pages_of_the_data_set_and_start_over(self) -> None:
        source = draws(job(OperationKind.LIST, list_keys=100), objects=450)
        assert drawn(source, 7) == [(OperationKind.LIST, page) for page in (0, 1, 2, 3, 4, 0, 1)]

    def test_workers_list_different_pages(self) -> None:
        work = job(OperationKind.LIST, list_keys=100)
        assert numbers(draws(work, worker=1, workers=2, objects=600), 4) == [1, 3, 5, 1]

    def test_a_data_set_of_nothing_has_one_page(self) -> None:
        assert set(numbers(draws(job(OperationKind.LIST), objects=0), 10)) == {0}


class TestRanges:
    def test_a_range_starts_at_any_multiple_within_the_object(self) -> None:
        source = draws(job(OperationKind.RANGE, range_bytes=1000))
        starts = Counter(source.range_start(9500) // 1000 for _ in range(20_000))
        assert fits(starts, np.ones(10))
        assert all(source.range_start(9500) % 1000 == 0 for _ in range(2000))

    def test_an_object_smaller_than_a_range_is_read_from_its_start(self) -> None:
        source = draws(job(OperationKind.RANGE, range_bytes=1000))
        assert {source.range_start(size_bytes) for size_bytes in (0, 1, 999, 1000)} == {0}

    def test_drawing_ranges_does_not_change_the_operations(self) -> None:
        work = job(OperationKind.RANGE, OperationKind.PUT, range_bytes=1000)
        source, other = draws(work), draws(work)
        source.range_start(5000)
        assert drawn(source, 3000) == drawn(other, 3000)


@pytest.mark.parametrize("objects", [1, 2, 100, 5000, 1_000_003])
def test_popular_objects_have_the_sizes_that_were_asked_for_and_no_object_is_lost(objects: int) -> None:
    sizes = parse_sizes("lognormal:64KiB,1.5")
    wanted = (1000, 5_000_000, 64_000, 64_000, 200_000)[:objects]
    uniform = (np.arange(50_000) + 0.5) / 50_000
    plain = Zipf(objects, 1.0)
    ranks, numbers = plain.ranks(uniform), plain.numbers(uniform)
    moved = Zipf(objects, 1.0, popular_sizes=wanted, slots=sizes.slots).numbers(uniform)
    assert len(np.unique(moved)) == len(np.unique(numbers))
    assert len({*zip(ranks.tolist(), moved.tolist(), strict=True)}) == len(np.unique(ranks)), "an object for each rank"
    if objects >= 5000:
        found = [sizes.slots[slot_of(int(moved[ranks == rank][0]))] for rank in range(len(wanted))]
        assert found == [pytest.approx(size, rel=0.3) for size in wanted]


def test_popular_sizes_change_nothing_where_all_objects_have_one_size() -> None:
    uniform = (np.arange(1000) + 0.5) / 1000
    moved = Zipf(500, 1.0, popular_sizes=(10, 20), slots=(4096,)).numbers(uniform)
    assert moved.tolist() == Zipf(500, 1.0).numbers(uniform).tolist()


@pytest.mark.parametrize("count", [1, 7, 100, 1500])
def test_new_objects_are_numbered_in_the_order_of_the_operations(count: int) -> None:
    """A phase may end after any of them, and what it has written must have no gap."""
    mix = draws(job(OperationKind.PUT, OperationKind.GET, OperationKind.MULTIPART), worker=1, workers=3, objects=10)
    new = [number for kind, number in drawn(mix, count) if kind is not OperationKind.GET]
    assert new == list(range(11, 11 + 3 * len(new), 3))
