"""How long runs will take, by what was timed so far."""

import pytest

from s3bench.bench.run_time import BYTE_S, FILE_S, RunSize, TimedRun, estimate_s
from s3bench.clients.client import ClientSpec
from s3bench.clients.plan import Cell
from s3bench.spec.definition import Definition, Environment, FixtureDir, FixtureFile


def size(client: str = "s5cmd", files: int = 1, size_bytes: int = 1000) -> RunSize:
    return RunSize(client=client, files=files, size_bytes=size_bytes)


def timed(seconds: float, of: RunSize) -> TimedRun:
    return TimedRun(size=of, seconds=seconds)


def test_the_files_of_a_definition_are_what_it_transfers() -> None:
    fixtures = Environment(
        files=(FixtureFile(name="a", size_bytes=10), FixtureFile(name="b", size_bytes=5)),
        file_dirs=(FixtureDir(name="c", file_count=3, file_size_bytes=100),),
    )
    definition = Definition(name="up", command=("s3", "ls"), environment=fixtures)
    cell = Cell(definition=definition, client=ClientSpec(kind="s5cmd", version="1"))
    assert RunSize.of(cell) == RunSize(client="s5cmd@1", files=5, size_bytes=315)
    bare = Cell(definition=Definition(name="help", command=("help",)), client=cell.client)
    assert RunSize.of(bare) == RunSize(client="s5cmd@1", files=0, size_bytes=0)


def test_a_client_takes_the_median_of_its_own_small_runs_and_an_untimed_one_the_usual_time() -> None:
    so_far = [*(timed(seconds, size("a", 0, 0)) for seconds in (1.0, 9.0, 2.0)), timed(4.0, size("b", 0, 0))]
    assert estimate_s([size("a", 0, 0)] * 3, so_far) == pytest.approx(6)
    assert estimate_s([size("c", 0, 0)], so_far) == pytest.approx(3)


def test_many_files_and_large_ones_take_rough_values_until_the_first_was_timed() -> None:
    so_far = [timed(1.0, size(files=0, size_bytes=0))]
    many, large = size(files=5000, size_bytes=0), size(files=1, size_bytes=100_000_000)
    assert estimate_s([many], so_far) == pytest.approx(1 + 5000 * FILE_S)
    assert estimate_s([large], so_far) == pytest.approx(1 + FILE_S + 100e6 * BYTE_S)
    so_far += [timed(11.0, size(files=1000, size_bytes=0)), timed(3.01, large)]
    assert estimate_s([many], so_far) == pytest.approx(51)
    assert estimate_s([size(files=0, size_bytes=50_000_000)], so_far) == pytest.approx(2)


def test_a_run_that_was_faster_than_small_ones_never_makes_time_negative() -> None:
    so_far = [timed(5.0, size()), timed(1.0, size(files=5000))]
    assert estimate_s([size(files=100_000)], so_far) >= 5
