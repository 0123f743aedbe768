import msgspec
import pytest

from s3bench.load.engine.message import PhaseEnded
from s3bench.load.engine.objects import FAR
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Job, Phase, Share
from s3bench.load.profile.sizes import fixed
from s3bench.load.session.inventory import OBJECTS, Inventory

SIZES, OTHER = fixed(4096), fixed(8192)


def job(*kinds: OperationKind, **given: object) -> Job:
    mix = tuple(Share(kind=kind) for kind in kinds)
    return msgspec.structs.replace(Job(mix=mix, sizes=SIZES), **given)


def phase(*jobs: Job) -> Phase:
    return Phase(jobs=jobs)


def ended(worker: int, *written: int) -> PhaseEnded:
    return PhaseEnded(worker=worker, elapsed_ns=1, unfinished=0, late=0, open_ns=0, written=written)


def test_readers_want_what_they_say_or_what_is_there_or_the_default() -> None:
    inventory = Inventory()
    assert inventory.wanted(job(OperationKind.GET)) == OBJECTS
    inventory.set_available(SIZES, 70)
    assert inventory.wanted(job(OperationKind.GET)) == 70
    assert inventory.wanted(job(OperationKind.GET, objects=90)) == 90
    assert inventory.wanted(job(OperationKind.PUT)) == 0
    assert inventory.wanted(job(OperationKind.PUT, overwrite=True)) == 70


def test_sizes_have_objects_of_their_own() -> None:
    inventory = Inventory({SIZES: 5})
    assert inventory.available(OTHER) == 0
    assert inventory.wanted(job(OperationKind.GET, sizes=OTHER)) == OBJECTS


@pytest.mark.parametrize(
    ("written", "gapless"), [((5, 5), 10), ((5, 4), 9), ((4, 5), 8), ((0, 3), 0), ((3, 0), 1), ((7,), 7)]
)
def test_what_a_phase_wrote_first_is_the_data_set_as_far_as_it_has_no_gap(
    written: tuple[int, ...], gapless: int
) -> None:
    inventory, writing = Inventory(), phase(job(OperationKind.PUT, threads=2))
    filling = [inventory.fills(writing.jobs[0], writing)]
    assert inventory.first_numbers(filling) == (0,)
    inventory.after(writing, filling, [ended(worker, count) for worker, count in enumerate(written)])
    assert inventory.available(SIZES) == gapless
    numbers = {worker + turn * len(written) for worker, count in enumerate(written) for turn in range(count)}
    assert set(range(gapless)) <= numbers
    assert gapless not in numbers


def test_workers_without_a_thread_leave_no_gap() -> None:
    inventory, writing = Inventory(), phase(job(OperationKind.PUT, threads=2))
    inventory.after(writing, [True], [ended(0, 5), ended(1, 5), ended(2, 0)])
    assert inventory.available(SIZES) == 10


def test_a_job_whose_first_share_is_another_workers_is_counted_from_there() -> None:
    inventory = Inventory()
    both = phase(job(OperationKind.GET, sizes=OTHER), job(OperationKind.PUT, threads=2))
    inventory.after(both, [False, True], [ended(0, 0, 0), ended(1, 0, 5), ended(2, 0, 4)])
    assert inventory.available(SIZES) == 9


def test_what_phases_write_does_not_become_part_of_the_data_set_of_a_reused_run() -> None:
    inventory, writing = Inventory({OTHER: 5}, is_reused=True), phase(job(OperationKind.PUT))
    assert not inventory.fills(writing.jobs[0], writing)
    assert inventory.first_numbers([False])[0] >= FAR


def test_deleting_alone_leaves_nothing_so_that_the_next_loop_fills_again() -> None:
    inventory, deleting = Inventory({SIZES: 5}), phase(job(OperationKind.DELETE))
    inventory.after(deleting, [False], [ended(0, 0)])
    assert inventory.available(SIZES) == 0
    assert inventory.fills(job(OperationKind.PUT), phase(job(OperationKind.PUT)))


def test_new_objects_beside_a_data_set_are_far_from_it_and_from_each_other() -> None:
    inventory = Inventory({SIZES: 5})
    first = inventory.first_numbers([False, False])
    second = inventory.first_numbers([False, False])
    assert len({*first, *second}) == 4
    assert min(first) > 10**12


def test_two_writers_of_one_size_do_not_fill_the_same_data_set() -> None:
    writers = phase(job(OperationKind.PUT), job(OperationKind.PUT, name="second"))
    assert not any(Inventory().fills(each, writers) for each in writers.jobs)
    assert Inventory().fills(writers.jobs[0], phase(writers.jobs[0], job(OperationKind.PUT, sizes=OTHER)))


def test_a_settled_phase_says_how_many_objects_each_job_reads() -> None:
    settled = Inventory({SIZES: 5}).settled(phase(job(OperationKind.GET), job(OperationKind.PUT)))
    assert [each.objects for each in settled.jobs] == [5, 0]
