import pytest

from s3bench.load.operation import OperationKind
from s3bench.load.profile.matrix import DATA_BYTES, FULL, QUICK, Matrix, matrix_phases, parse_sizes_bytes, parse_threads
from s3bench.load.profile.profile import Job, KeyDistribution, Share
from s3bench.load.profile.sizes import parse_sizes
from s3bench.units import BadQuantity, exact_bytes

KIB, MIB = 1024, 1024**2
LIKE = Job(mix=(Share(kind=OperationKind.HEAD),), sizes=parse_sizes("5MiB"), keys=KeyDistribution.ZIPF)
SMALL = Matrix(threads=(1, 8), sizes_bytes=(KIB, 32 * MIB), samples=50)


def test_the_usual_extents_are_those_of_the_reference_with_threads_that_double() -> None:
    assert (QUICK.threads, QUICK.samples) == ((8, 16), 1000)
    assert (FULL.threads[0], FULL.threads[-1], FULL.samples) == (1, 48, 10_000)
    for matrix in (QUICK, FULL):
        assert (matrix.sizes_bytes[0], matrix.sizes_bytes[-1], len(matrix.sizes_bytes)) == (KIB, 32 * MIB, 16)


def test_each_size_is_written_once_and_read_by_each_number_of_threads() -> None:
    phases = matrix_phases(SMALL, LIKE)
    assert [
        (phase.name, *(next(iter(one.values())) for one in phase.dimensions), phase.jobs[0].threads) for phase in phases
    ] == [
        ("put", "1 KiB", "8", "preparation", 8),
        ("get", "1 KiB", "1", 1),
        ("get", "1 KiB", "8", 8),
        ("put", "32 MiB", "8", "preparation", 8),
        ("get", "32 MiB", "1", 1),
        ("get", "32 MiB", "8", 8),
    ]
    assert [list(one) for one in phases[1].dimensions] == [["size"], ["threads"]]
    assert [phase.jobs[0].kinds for phase in phases[:2]] == [(OperationKind.PUT,), (OperationKind.GET,)]
    assert [phase.jobs[0].sizes.slots for phase in phases[2:4]] == [(KIB,), (32 * MIB,)]


def test_a_cell_reads_its_samples_from_all_objects_that_were_written() -> None:
    put, get, *_, large, _, _ = matrix_phases(SMALL, LIKE)
    assert get.jobs[0].operations == 50
    assert put.jobs[0].operations == get.jobs[0].objects == 1000
    assert large.jobs[0].operations == 16


def test_jobs_have_what_the_matrix_does_not_say_from_the_options() -> None:
    assert {phase.jobs[0].keys for phase in matrix_phases(SMALL, LIKE)} == {KeyDistribution.ZIPF}
    assert {phase.jobs[0].objects for phase in matrix_phases(SMALL, LIKE, objects=7) if phase.name == "get"} == {7}


def test_a_data_set_that_is_there_is_read_and_nothing_is_written() -> None:
    assert {phase.name for phase in matrix_phases(SMALL, LIKE, reused=True)} == {"get"}


def test_the_objects_of_the_usual_sizes_fit_into_the_memory_of_the_emulator() -> None:
    writes = [phase.jobs[0] for phase in matrix_phases(FULL, LIKE) if phase.name == "put"]
    assert sum(job.sizes.slots[0] * (job.operations or 0) for job in writes) < 1.5 * 1024**3
    assert DATA_BYTES == 32 * MIB


def test_no_two_cells_have_the_same_name_and_dimensions() -> None:
    phases = matrix_phases(FULL, LIKE)
    assert len({(phase.name, str(phase.dimensions)) for phase in phases}) == len(phases) == 16 * 8


@pytest.mark.parametrize(
    ("text", "threads"),
    [
        ("1,2,4-16", (1, 2, 4, 8, 16)),
        ("4-16", (4, 8, 16)),
        ("1-48", (1, 2, 4, 8, 16, 32, 48)),
        ("8", (8,)),
        (" 16, 2 ,2-3", (2, 3, 16)),
        ("5-5", (5,)),
    ],
)
def test_ranges_of_threads_double_and_end_with_their_end(text: str, threads: tuple[int, ...]) -> None:
    assert parse_threads(text) == threads


@pytest.mark.parametrize("text", ["", "0", "1,", "-", "4-", "-4", "16-4", "1.5", "1e3", "x", "9" * 5000, "100001"])
def test_what_is_no_list_of_threads_is_refused(text: str) -> None:
    with pytest.raises(BadQuantity):
        parse_threads(text)


def test_sizes_have_units_and_double() -> None:
    assert parse_sizes_bytes("1KiB-8KiB,1M") == (KIB, 2 * KIB, 4 * KIB, 8 * KIB, MIB)
    assert parse_sizes_bytes("1KiB-32MiB") == QUICK.sizes_bytes
    assert parse_sizes_bytes("1000-3000") == (1000, 2000, 3000)


@pytest.mark.parametrize("text", ["", "1KiB-", "2KiB-1KiB", "6GiB", "0", "1-1TiB", "small"])
def test_what_is_no_list_of_sizes_is_refused(text: str) -> None:
    with pytest.raises(BadQuantity):
        parse_sizes_bytes(text)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(1, "1 B"), (1024, "1 KiB"), (1500, "1500 B"), (32 * MIB, "32 MiB"), (3 * 1024**4, "3 TiB")],
)
def test_a_size_is_rendered_exactly(size_bytes: int, text: str) -> None:
    assert exact_bytes(size_bytes, separator=" ") == text
    assert parse_sizes(text).slots == (size_bytes,)
