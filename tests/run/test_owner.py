"""Who owns a working directory, and the sweep of what crashed runs left."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from s3bench.errors import BadInput, MachineError
from s3bench.run.owner import OWNER_FILE, owned_directory, sweep, workspace_parent
from s3bench.run.workspace import Workspaces

HOLDER = """
import sys
from pathlib import Path
from s3bench.run.workspace import Workspaces
from s3bench.spec.definition import Environment, FixtureDir

environment = Environment(file_dirs=(FixtureDir(name="d", file_count=20, file_size_bytes=10),))
with Workspaces(parent=Path(sys.argv[1]), keep=sys.argv[2] == "keep") as spaces, spaces.open(environment):
    print(spaces.root, flush=True)
    sys.stdin.read()
"""

SWEEPER = """
import resource, sys
from pathlib import Path
from s3bench.run.owner import sweep

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
print(*sweep(Path(sys.argv[1])), sep="\\n")
"""


@contextlib.contextmanager
def holder(parent: Path, *, keep: bool = False) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another s3bench at work in `parent`."""
    command = (sys.executable, "-c", HOLDER, str(parent), "keep" if keep else "")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def killed(parent: Path, *, keep: bool = False) -> Path:
    """Make what a run leaves that was killed in the middle."""
    with holder(parent, keep=keep) as (process, root):
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    assert (root / "001" / "work" / "d" / "file-000019").exists()
    return root


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    root = killed(tmp_path)
    assert sweep(tmp_path) == (root,)
    assert list(tmp_path.iterdir()) == []


def nest(directory: Path, levels: int) -> None:
    """Make directories within each other, too deep for any path, with a file in each."""
    fd = os.open(directory, os.O_RDONLY)
    for _ in range(levels):
        os.close(os.open("file", os.O_CREAT, dir_fd=fd))
        os.mkdir("deep", dir_fd=fd)
        above, fd = fd, os.open("deep", os.O_RDONLY, dir_fd=fd)
        os.close(above)
    os.close(fd)


def test_what_a_killed_command_nested_deeply_is_removed_with_few_descriptors(tmp_path: Path) -> None:
    root = killed(tmp_path)
    nest(root / "001" / "work", 1500)
    try:
        done = subprocess.run(
            (sys.executable, "-c", SWEEPER, str(tmp_path)), capture_output=True, text=True, check=False
        )
    finally:
        subprocess.run(("rm", "-rf", str(root)), check=True)  # what is left would be too deep for pytest
    assert (done.stdout, done.stderr) == (f"{root}\n", "")


def test_what_a_living_run_uses_is_left_alone_until_it_is_dead(tmp_path: Path) -> None:
    with holder(tmp_path) as (process, root):
        assert sweep(tmp_path) == ()
        assert (root / "001" / "work" / "d" / "file-000019").exists()
        process.kill()
        process.wait(60)
        assert sweep(tmp_path) == (root,)


def test_a_process_that_lives_but_lost_its_lock_keeps_its_directory(tmp_path: Path) -> None:
    with owned_directory(tmp_path, keep=True) as root:
        owner = msgspec.json.decode((root / OWNER_FILE).read_bytes())
    write_owner(root, {**owner, "kept": False})  # unlocked, and this process lives
    assert sweep(tmp_path) == ()
    for change in ({"process_started": "other"}, {"boot": "other"}, {"pid": 2**22 + 1}):
        write_owner(root, {**owner, "kept": False, **change})
        assert sweep(tmp_path) == (root,)
        root.mkdir()


def test_a_lock_that_is_held_keeps_the_directory_whatever_the_owner_file_says(tmp_path: Path) -> None:
    with owned_directory(tmp_path, keep=True) as root:
        owner = msgspec.json.decode((root / OWNER_FILE).read_bytes())
        write_owner(root, {**owner, "kept": False, "process_started": "other"})
        assert sweep(tmp_path) == ()
    assert sweep(tmp_path) == (root,)


def test_workspaces_sweep_when_they_start(tmp_path: Path) -> None:
    root = killed(tmp_path)
    with Workspaces(parent=tmp_path) as workspaces:
        assert workspaces.swept == (root,)
        assert not root.exists()


def write_owner(root: Path, owner: dict[str, object]) -> None:
    (root / OWNER_FILE).write_bytes(msgspec.json.encode(owner))


def test_kept_directories_are_never_swept(tmp_path: Path) -> None:
    root = killed(tmp_path, keep=True)
    assert sweep(tmp_path) == ()
    assert (root / "001" / "work" / "d" / "file-000019").exists()


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("s3bench-{uid}-1-0123456789abcdef", None),
        ("s3bench-{uid}-1-0123456789abcdef", b""),
        ("s3bench-{uid}-1-0123456789abcdef", b"mine"),
        ("s3bench-{uid}-1-0123456789abcdef", b"{}"),
        ("s3bench-{uid}-1-0123456789abcdef", b"\xff" * 5000),
        ("s3bench-{uid}-1-0123456789abcdef", b'{"mark": "\xff"}'),
        ("s3bench-{uid}-1-0123456789abcdef", "DEAD but with another mark"),
        ("s3bench-{uid}-1-notes", "DEAD"),
        ("s3bench-{uid}-1-0123456789abcdef.bak", "DEAD"),
        ("s3bench-{uid}0-1-0123456789abcdef", "DEAD"),
        ("my-s3bench-{uid}-1-0123456789abcdef", "DEAD"),
        ("s3bench", "DEAD"),
    ],
)
def test_directories_that_only_look_like_ours_are_not_touched(tmp_path: Path, name: str, owner: object) -> None:
    stranger = tmp_path / name.format(uid=os.getuid())
    stranger.mkdir()
    (stranger / "thesis.txt").write_text("mine")
    dead = {"mark": "s3bench working directory", "pid": 2**22 + 1, "process_started": "1", "boot": "", "kept": False}
    if isinstance(owner, bytes):
        (stranger / OWNER_FILE).write_bytes(owner)
    elif owner == "DEAD":
        write_owner(stranger, dead)
    elif owner is not None:
        write_owner(stranger, {**dead, "mark": "other"})
    assert sweep(tmp_path) == ()
    assert (stranger / "thesis.txt").read_text() == "mine"


def test_files_pipes_and_links_with_our_names_are_not_touched(tmp_path: Path) -> None:
    root = killed(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    root.rename(elsewhere)
    prefix = f"s3bench-{os.getuid()}-1-"
    (tmp_path / f"{prefix}000000000000000a").write_text("mine")
    (tmp_path / f"{prefix}000000000000000b").symlink_to(elsewhere)
    os.mkfifo(tmp_path / f"{prefix}000000000000000c")
    pipe_owner = tmp_path / f"{prefix}000000000000000d"
    pipe_owner.mkdir()
    os.mkfifo(pipe_owner / OWNER_FILE)
    link_owner = tmp_path / f"{prefix}000000000000000e"
    link_owner.mkdir()
    (link_owner / OWNER_FILE).symlink_to(elsewhere / OWNER_FILE)
    before = sorted(tmp_path.iterdir())
    assert sweep(tmp_path) == ()
    assert sorted(tmp_path.iterdir()) == before
    assert (elsewhere / "001").is_dir()


def test_a_sweep_cut_short_is_finished_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = killed(tmp_path)
    unlink, listdir, calls = os.unlink, os.listdir, iter(range(10))

    def failing(path: str, *, dir_fd: int | None = None) -> None:
        if next(calls) == 7:
            raise OSError(5, "Input/output error")
        unlink(path, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", failing)
        patched.setattr(os, "listdir", lambda fd: sorted(listdir(fd), key=lambda name: name != OWNER_FILE))
        assert sweep(tmp_path) == ()
    assert (root / OWNER_FILE).exists()
    assert sweep(tmp_path) == (root,)


def test_links_inside_what_is_swept_are_not_followed(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("mine")
    root = killed(tmp_path)
    (root / "001" / "work" / "link").symlink_to(mine)
    (root / "link").symlink_to(mine)
    assert sweep(tmp_path) == (root,)
    assert (mine / "thesis.txt").read_text() == "mine"


def test_a_working_directory_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    with (
        pytest.raises(MachineError, match="cannot make a working directory"),
        owned_directory(tmp_path / "missing", keep=False),
    ):
        pass


def test_the_parent_is_the_directory_that_the_environment_names(tmp_path: Path) -> None:
    assert workspace_parent({"S3BENCH_TMPDIR": str(tmp_path)}) == tmp_path
    assert workspace_parent({}).is_dir()
    with pytest.raises(BadInput, match="not a directory that s3bench may write to") as caught:
        workspace_parent({"S3BENCH_TMPDIR": str(tmp_path / "missing")})
    assert "S3BENCH_TMPDIR names it" in caught.value.why
