"""`tune upload FOLDER` and `--like`: the workload they make, and what they refuse."""

import shlex
from pathlib import Path

import pytest

from s3bench.clients.tuning.workload import Action, Workload
from s3bench.errors import BadInput
from tests.cli.tune.test_options import typed

NETWORK = "--network ec2:c5.large"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten files in two directories."""
    root = tmp_path / "with blank"
    (root / "below").mkdir(parents=True)
    for number in range(9):
        (root / "below" / str(number)).write_bytes(bytes(100))
    (root / "large").write_bytes(bytes(10_000))
    return root


def test_a_folder_makes_a_workload_of_its_sizes(folder: Path) -> None:
    workload = typed(f"upload {shlex.quote(str(folder))} {NETWORK}").workload
    assert workload == Workload(action=Action.UPLOAD, size_bytes=10_000, files=10, sizes=((100, 9), (10_000, 1)))
    assert workload.total_bytes == 10_900
    assert typed(f"download --like {shlex.quote(str(folder))} {NETWORK}").workload.sizes == workload.sizes


def test_files_of_one_size_are_the_workload_of_size_and_files(folder: Path) -> None:
    (folder / "large").unlink()
    liked = typed(f"upload {shlex.quote(str(folder))} {NETWORK}").workload
    assert liked == typed(f"upload --size 100 --files 9 {NETWORK}").workload


def test_a_sample_is_told_as_a_warning(folder: Path) -> None:
    options = typed(f"upload {shlex.quote(str(folder))} {NETWORK} --sample-files 5")
    assert options.workload.files == 5
    assert any("a sample of 5 of 10 files" in line for line in options.warnings)
    assert typed(f"upload {shlex.quote(str(folder))} {NETWORK}").warnings == ()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("upload FOLDER --like FOLDER", "FOLDER and --like cannot be combined"),
        ("upload FOLDER --size 1MiB", "cannot be combined with --size"),
        ("upload --like FOLDER --files 3", "cannot be combined with --files"),
        ("download FOLDER", "a download has no FOLDER"),
        ("upload FOLDER/large", "is not a directory"),
        ("upload --like FOLDER/missing", "cannot be read"),
        ("upload --like FOLDER/large", "not a l"),
        ("upload FOLDER --predict files=3", "add size=SIZE"),
    ],
)
def test_what_contradicts_the_folder_is_refused(folder: Path, line: str, said: str) -> None:
    words = line.replace("FOLDER", str(folder).replace(" ", "\\ "))
    with pytest.raises(BadInput) as caught:
        typed(f"{words} {NETWORK}")
    assert said in str(caught.value)
