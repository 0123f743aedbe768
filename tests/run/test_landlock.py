"""The wall: what a client may write to, what its children inherit, and what holds where the kernel has none."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from s3bench.errors import MachineError
from s3bench.run import landlock
from s3bench.run.process import Launch, ProcessRecord, Spawner
from tests.run.without_landlock import forget_landlock

MAKE_AND_REMOVE = 0b1_1111_1111_0000
needs_landlock = pytest.mark.skipif(not landlock.abi_version(), reason="this kernel has no Landlock")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")

Run = Callable[..., ProcessRecord]


@pytest.mark.parametrize(
    ("abi", "directories", "files"),
    [
        (1, 0b10 | MAKE_AND_REMOVE, 0b10),
        (2, 0b10 | MAKE_AND_REMOVE | 1 << 13, 0b10),
        (3, 0b10 | MAKE_AND_REMOVE | 1 << 13 | 1 << 14, 0b10 | 1 << 14),
        (9, 0b10 | MAKE_AND_REMOVE | 1 << 13 | 1 << 14, 0b10 | 1 << 14),
    ],
)
def test_each_kernel_restricts_what_it_knows_and_reading_stays(abi: int, directories: int, files: int) -> None:
    assert landlock.rights(abi) == (directories, files)


@pytest.fixture(scope="module")
def spawner() -> Iterator[Spawner]:
    with Spawner() as spawner:
        yield spawner


class Place:
    """A workspace with a file in it and one beside it, and programs that run there."""

    def __init__(self, root: Path, spawner: Spawner) -> None:
        self.inside, self.outside = root / "inside", root / "outside"
        self._spawner = spawner
        for directory in (self.inside, self.outside):
            directory.mkdir()
            (directory / "file").write_text("old")

    def run(self, code: str, *, writable: tuple[Path, ...] | None = ()) -> ProcessRecord:
        return self._spawner.run(
            Launch(
                argv=(sys.executable, "-I", "-c", code),
                env={"PATH": os.defpath},
                cwd=self.inside,
                stdout=self.outside.parent / "stdout",
                stderr=self.outside.parent / "stderr",
                timeout_s=30,
                interval_s=None,
                writable=None if writable is None else (self.inside, *writable),
            )
        )

    @property
    def said(self) -> str:
        return (self.outside.parent / "stdout").read_text() + (self.outside.parent / "stderr").read_text()


@pytest.fixture
def place(tmp_path: Path, spawner: Spawner) -> Place:
    return Place(tmp_path, spawner)


WRITES = {
    "create": "open('{}/new', 'w')",
    "write": "open('{}/file', 'a')",
    "truncate": "import os; os.truncate('{}/file', 0)",
    "remove": "import os; os.unlink('{}/file')",
    "make a directory": "import os; os.mkdir('{}/new')",
    "make a link": "import os; os.symlink('/', '{}/new')",
    "make a socket": "import socket; socket.socket(socket.AF_UNIX).bind('{}/new')",
    "rename into": "import os; open('mine', 'w'); os.rename('mine', '{}/new')",
    "link into": "import os; open('mine', 'w'); os.link('mine', '{}/new')",
    "in a child": "import os; os.system('echo > {0}/new') and exit('Permission denied')",
    "in a child of a child": "import os; os.system('sh -c \"echo > {0}/new\"') and exit('Permission denied')",
}


@needs_landlock
@pytest.mark.parametrize("code", WRITES.values(), ids=WRITES)
def test_a_client_writes_inside_and_nowhere_else(code: str, place: Place) -> None:
    if "truncate" in code and landlock.abi_version() < 3:
        pytest.skip("truncate(2) is restricted from ABI 3 on")
    assert place.run(code.format(place.outside)).exit_code == 1
    assert "Permission denied" in place.said
    assert [path.name for path in place.outside.iterdir()] == ["file"]
    assert (place.outside / "file").read_text() == "old"
    assert place.run(code.format(place.inside)).exit_code == 0, place.said


@needs_landlock
def test_a_client_reads_and_executes_as_before(place: Place) -> None:
    record = place.run(f"import os; open('{place.outside}/file').read(); exit(os.system('true > /dev/null'))")
    assert record.exit_code == 0, place.said


@needs_landlock
def test_a_single_file_can_be_let_in(place: Place) -> None:
    record = place.run(f"open('{place.outside}/file', 'w').write('new')", writable=(place.outside / "file",))
    assert (record.exit_code, (place.outside / "file").read_text()) == (0, "new"), place.said


@needs_landlock
def test_a_link_in_the_place_of_a_directory_lets_nothing_in(place: Place) -> None:
    (place.outside.parent / "link").symlink_to(place.outside)
    record = place.run(f"open('{place.outside}/new', 'w')", writable=(place.outside.parent / "link",))
    assert record.exit_code == 1


@needs_landlock
def test_a_client_whose_wall_cannot_stand_is_not_started(place: Place, tmp_path: Path) -> None:
    with pytest.raises(MachineError) as caught:
        place.run("open('ran', 'w')", writable=(tmp_path / "missing",))
    assert "to its workspace" in caught.value.what
    assert not (place.inside / "ran").exists()


def test_without_a_list_of_directories_a_client_writes_anywhere(place: Place) -> None:
    assert place.run(f"open('{place.outside}/new', 'w')", writable=None).exit_code == 0, place.said


PROGRAM = """
import sys
from pathlib import Path
from s3bench.run.landlock import abi_version
from s3bench.run.process import Launch, Spawner
work, outside = map(Path, sys.argv[1:])
with Spawner() as spawner:
    record = spawner.run(Launch(argv=("/bin/sh", "-c", f"echo > {outside}/new"), env={}, cwd=work, stdout=work / "o",
        stderr=work / "e", timeout_s=30, interval_s=None, writable=(work,)))
print(abi_version(), record.exit_code)
"""


@linux_only
def test_where_the_kernel_has_no_landlock_clients_run_without_a_wall(place: Place) -> None:
    done = subprocess.run(
        (sys.executable, "-c", PROGRAM, place.inside, place.outside),
        preexec_fn=forget_landlock,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("0 0\n", "")
    assert (place.outside / "new").exists()
