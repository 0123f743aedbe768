"""Files are removed by name, and nothing behind a symbolic link."""

from pathlib import Path

import pytest

from s3bench.run.process import Spawner
from s3bench.run.removal import remove_files
from tests.run.programs import Launcher


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for directory in ("work/a/b", "work/c", "outside"):
        (tmp_path / directory).mkdir(parents=True)
    for name in ("top", "a/one", "a/two", "a/b/three", "c/four"):
        (tmp_path / "work" / name).write_bytes(b"x")
    (tmp_path / "outside" / "one").write_bytes(b"x")
    return tmp_path / "work"


def left(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}


def removed(work: Path, *names: str) -> set[str]:
    before = left(work)
    remove_files(bytes(work), [name.encode() for name in names])
    return before - left(work)


def test_the_named_files_are_removed_and_no_others(work: Path) -> None:
    assert removed(work, "top", "a/one", "a/b/three", "c/four") == {"top", "a/one", "a/b/three", "c/four"}
    assert left(work) == {"a/two"}


def test_what_is_missing_or_a_directory_stops_nothing(work: Path) -> None:
    assert removed(work, "missing", "a", "nowhere/file", "top/file", "a/two") == {"a/two"}
    assert removed(work.parent / "missing", "top") == set()


@pytest.mark.parametrize("link", ["a", "a/b"])
def test_a_directory_that_became_a_link_is_not_followed(work: Path, link: str) -> None:
    (work / link).rename(work / "moved")
    (work / link).symlink_to(work.parent / "outside")
    assert removed(work, f"{link}/one", "top") == {"top"}
    assert (work.parent / "outside" / "one").exists()


def test_a_link_in_place_of_a_file_goes_and_its_target_stays(work: Path) -> None:
    (work / "top").unlink()
    (work / "top").symlink_to(work.parent / "outside" / "one")
    assert removed(work, "top") == {"top"}
    assert (work.parent / "outside" / "one").exists()


def test_the_spawner_has_removed_all_files_when_the_next_client_starts(spawner: Spawner, launch: Launcher) -> None:
    job = launch("import os; print(len(os.listdir()))")
    for number in range(1200):
        (job.cwd / f"file-{number}").touch()
    spawner.remove(job.cwd, (f"file-{number}" for number in range(1, 1200)))
    assert spawner.run(job).exit_code == 0
    assert job.stdout.read_text() == "1\n"
