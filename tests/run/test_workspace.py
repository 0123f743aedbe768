"""Workspaces: built, repaired and removed, whatever a command did to them."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s3bench.errors import MachineError
from s3bench.run import fixture
from s3bench.run.workspace import Repairs, Workspace, Workspaces
from s3bench.spec.definition import Environment, FileLiteral, Fill, FixtureDir, FixtureFile

ENVIRONMENT = Environment(
    files=(FixtureFile(name="big", size_bytes=9000, fill=Fill.RANDOM), FixtureFile(name="deep/er/zero", size_bytes=7)),
    file_dirs=(FixtureDir(name="many", file_count=4, file_size_bytes=11, fill=Fill.RANDOM),),
    file_literals=(FileLiteral(name="text", content="hello"), FileLiteral(name="deep/text", content="below")),
)
FILES = ("big", "text", "deep/text", "deep/er/zero", *(f"many/file-00000{index}" for index in range(4)))


def snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything below `root` that a command could notice, by its path."""
    tree: dict[str, tuple[object, ...]] = {}
    for path in (root, *sorted(root.rglob("*"))):
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else None
        tree[str(path.relative_to(root))] = (status.st_mode, status.st_mtime_ns, content)
    return tree


@contextmanager
def opened(parent: Path, environment: Environment = ENVIRONMENT) -> Iterator[Workspace]:
    with Workspaces(parent=parent) as workspaces, workspaces.open(environment) as workspace:
        yield workspace


COMMANDS = {
    "nothing": "true",
    "download": "echo new > new",
    "download into a fixture directory": "echo new > many/file-000009",
    "make a deep directory": "mkdir -p d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d",
    "delete": "rm big",
    "delete a directory": "rm -r many",
    "delete everything": "rm -r ../work",
    "move": "mv big elsewhere",
    "move over another fixture": "mv big text",
    "move below": "mv big deep/text",
    "move, then change": "mv big text; echo > text",
    "move a directory": "mv deep many/deep",
    "swap": "mv big t; mv text big; mv t text",
    "change in place": "echo > big",
    "change in place, same size and time": "touch -r text t; echo 5bytes | head -c 5 > text; touch -r t text",
    "append": "echo >> text",
    "truncate": ": > many/file-000000",
    "replace": "rm text; echo other > text",
    "touch": "touch text",
    "change, then delete": "echo other > text; rm text",
    "link": "ln big again",
    "link and change through it": "touch -r big t; ln big again; echo > again; touch -r t again",
    "file becomes a directory": "rm big; mkdir -p big/in",
    "directory becomes a file": "rm -r many; echo > many",
    "file becomes a link": "rm big; ln -s text big",
    "make a socket": "PYTHON -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'",
    "make a pipe": "mkfifo pipe",
    "fixture becomes a pipe": "rm big; mkfifo big",
    "forbid reading a file": "chmod 0 big",
    "forbid a directory": "chmod 0 deep/er",
    "forbid deleting": "mkdir new; echo > new/f; chmod 0 new",
    "forbid work": "chmod 0 .",
    "forbid the workspace": "chmod 0 ..",
    "write beside work": "mkdir ../beside; echo > ../beside/f",
    "spoil the pristine links": "rm -r ../pristine many big",
    "odd name": "touch \"$(printf '\\377\\n.')\"",
}


def run(command: str, work: Path) -> None:
    subprocess.run(("sh", "-ec", command.replace("PYTHON", sys.executable)), cwd=work, check=True, timeout=60)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_restore_undoes_what_a_command_did(command: str, tmp_path: Path) -> None:
    with opened(tmp_path) as workspace:
        before = snapshot(workspace.work)
        for _ in range(3):  # what was restored must itself be restorable
            run(command, workspace.work)
            workspace.restore()
            assert snapshot(workspace.work) == before
            assert workspace.restore() == Repairs()
        assert {entry.name for entry in workspace.root.iterdir()} == {"work", "pristine", "home", "tmp", "output"}
    assert list(tmp_path.iterdir()) == []


def test_the_tree_is_what_the_definition_asks_for(tmp_path: Path) -> None:
    with opened(tmp_path) as workspace:
        files = [path for path in workspace.work.rglob("*") if path.is_file()]
        assert {str(path.relative_to(workspace.work)) for path in files} == set(FILES)
        assert {path.stat().st_mtime for path in files} == {fixture.FIXTURE_MTIME_S}
        assert (workspace.work / "text").read_bytes() == b"hello"
        assert (workspace.work / "deep/er/zero").read_bytes() == bytes(7)
        assert len((workspace.work / "big").read_bytes().replace(b"\0", b"")) > 8000
        assert stat.S_IMODE(workspace.root.stat().st_mode) == 0o700
        assert stat.S_IMODE(workspace.root.parent.stat().st_mode) == 0o700


def test_repairs_do_no_more_than_is_needed(tmp_path: Path) -> None:
    with opened(tmp_path) as workspace:
        assert workspace.restore() == Repairs()
        shutil.rmtree(workspace.work / "many")
        assert workspace.restore() == Repairs(relinked=4)
        (workspace.work / "big").write_bytes(b"?")
        assert workspace.restore() == Repairs(rebuilt=1)
        (workspace.work / "new" / "er").mkdir(parents=True)
        (workspace.work / "new" / "er" / "file").touch()
        assert workspace.restore() == Repairs(removed=3)


def test_links_out_of_the_workspace_are_removed_and_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "many").mkdir(parents=True)
    (outside / "big").write_text("mine")
    (outside / "many" / "file-000000").write_text("mine")
    with opened(tmp_path) as workspace:
        before, outside_before = snapshot(workspace.work), snapshot(outside)
        for name in ("big", "text", "many/file-000000"):
            (workspace.work / name).unlink()
            (workspace.work / name).symlink_to(outside / "big")
        shutil.rmtree(workspace.work / "deep")
        (workspace.work / "deep").symlink_to(outside)
        (workspace.work / "new").symlink_to(outside)
        shutil.rmtree(workspace.home)
        workspace.home.symlink_to(outside)
        workspace.restore()
        assert snapshot(workspace.work) == before
        shutil.rmtree(workspace.work)
        workspace.work.symlink_to(outside)
        shutil.rmtree(workspace.pristine)
        workspace.pristine.symlink_to(outside)
        workspace.restore()
        assert snapshot(workspace.work) == before
        (workspace.work / "new").symlink_to(outside)
    assert snapshot(outside) == outside_before
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]


def test_home_tmp_and_output_are_emptied_and_the_config_is_put_back(tmp_path: Path) -> None:
    with opened(tmp_path) as workspace:
        workspace.write_config("[default]\n")
        for directory in (workspace.home / ".aws" / "cli", workspace.tmp / "x", workspace.output / "y"):
            directory.mkdir(parents=True)
        workspace.config.write_text("changed")
        workspace.restore()
        assert workspace.config.read_text() == "[default]\n"
        assert [path.name for path in workspace.home.rglob("*")] == [".aws", "config"]
        assert list(workspace.tmp.iterdir()) == list(workspace.output.iterdir()) == []


def test_a_response_body_in_pristine_outlives_what_the_command_does_to_its_own(tmp_path: Path) -> None:
    with opened(tmp_path) as workspace:
        served = workspace.pristine / "many" / "file-000002"
        before = served.read_bytes()
        shutil.rmtree(workspace.work / "many")
        assert served.read_bytes() == before


def test_workspaces_of_one_run_do_not_share_files(tmp_path: Path) -> None:
    with Workspaces(parent=tmp_path) as workspaces:
        with workspaces.open(ENVIRONMENT) as one, workspaces.open(ENVIRONMENT) as two:
            (one.work / "big").write_bytes(b"?")
            assert len((two.work / "big").read_bytes()) == 9000
        assert [path.name for path in workspaces.root.iterdir()] == ["owner"]


def test_a_failing_benchmark_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), opened(tmp_path):
        1 / 0  # noqa: B018 (the error is the point)
    assert list(tmp_path.iterdir()) == []


def test_kept_workspaces_stay(tmp_path: Path) -> None:
    with Workspaces(parent=tmp_path, keep=True) as workspaces, workspaces.open(ENVIRONMENT) as workspace:
        pass
    assert (workspace.work / "text").read_text() == "hello"


def test_a_disk_without_room_is_told_before_anything_is_written(tmp_path: Path) -> None:
    huge = Environment(files=(FixtureFile(name="huge", size_bytes=1 << 60),))
    with Workspaces(parent=tmp_path) as workspaces:
        with pytest.raises(MachineError, match="not enough disk space: the fixtures need") as caught:
            workspaces.open(huge).__enter__()
        assert "S3BENCH_TMPDIR" in caught.value.fix
        assert [path.name for path in workspaces.root.iterdir()] == ["owner"]
        with workspaces.open(ENVIRONMENT) as workspace:
            assert (workspace.work / "text").exists()


def test_a_disk_without_inodes_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = SimpleNamespace(f_bavail=1 << 40, f_frsize=4096, f_files=2000, f_favail=1007)
    with Workspaces(parent=tmp_path) as workspaces:
        monkeypatch.setattr(os, "statvfs", lambda _: room)
        with pytest.raises(MachineError, match="not enough inodes"):
            workspaces.open(ENVIRONMENT).__enter__()
        room.f_favail = 1008
        with workspaces.open(ENVIRONMENT):
            pass
        room.f_files = room.f_favail = 0  # btrfs
        with workspaces.open(ENVIRONMENT):
            pass


def test_a_disk_that_fills_up_is_our_error_and_the_next_restore_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as workspace:
        before = snapshot(workspace.work)
        (workspace.work / "big").write_bytes(b"?")
        shutil.rmtree(workspace.work / "many")
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
            with pytest.raises(MachineError, match="No space left on device"):
                workspace.restore()
        workspace.restore()
        assert snapshot(workspace.work) == before


PATHS = st.sampled_from((*FILES, ".", "many", "deep", "deep/er", "new", "many/new", "new/new", "deep/er/new"))
ACTIONS = st.tuples(
    st.sampled_from(("write", "append", "delete", "mkdir", "symlink", "link", "rename", "chmod", "utime", "truncate")),
    PATHS,
    PATHS,
    st.sampled_from((0, 0o200, 0o444, 0o500, 0o755)),
)


def act(work: Path, action: str, name: str, other: str, mode: int) -> None:  # noqa: C901 (one case an action)
    """What a command may do; what is impossible does nothing."""
    path, second = work / name, work / other
    try:
        match action:
            case "write":
                path.write_bytes(other.encode())
            case "append":
                with path.open("ab") as file:
                    file.write(b"more")
            case "delete":
                path.unlink() if path.is_symlink() or not path.is_dir() else shutil.rmtree(path)
            case "mkdir":
                path.mkdir(parents=True)
            case "symlink":
                path.symlink_to(second)
            case "link":
                os.link(second, path, follow_symlinks=False)
            case "rename":
                path.rename(second)
            case "chmod":
                path.chmod(mode)
            case "utime":
                os.utime(path, (mode, mode))
            case "truncate":
                os.truncate(path, mode)
    except OSError:
        pass


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(ACTIONS, max_size=12), min_size=1, max_size=3))
def test_restore_gives_the_original_tree_after_any_sequence_of_changes(
    iterations: list[list[tuple[str, str, str, int]]],
) -> None:
    with TemporaryDirectory() as parent:
        with opened(Path(parent)) as workspace:
            before = snapshot(workspace.work)
            for actions in iterations:
                for action in actions:
                    act(workspace.work, *action)
                workspace.restore()
                assert snapshot(workspace.work) == before
                assert workspace.restore() == Repairs()
        assert os.listdir(parent) == []  # noqa: PTH208 (a string in, strings out)
