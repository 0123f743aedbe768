"""What is removed below a directory, and what is not."""

import os
from pathlib import Path

import pytest

from s3bench.run import directory


def tree(root: Path) -> None:
    """`root` with `a/b/c` in it, and a file in each."""
    (root / "a" / "b" / "c").mkdir(parents=True)
    for path in ("file", "a/file", "a/b/file", "a/b/c/file"):
        (root / path).touch()


def test_a_directory_goes_with_all_below_it_and_each_entry_is_counted(tmp_path: Path) -> None:
    tree(tmp_path / "old")
    (tmp_path / "old" / "a" / "other").mkdir(mode=0)
    (tmp_path / "old" / "a" / "link").symlink_to(tmp_path)
    (tmp_path / "kept").touch()
    with directory.opened(tmp_path) as fd:
        assert directory.remove_entry("old", fd) == 10
        assert directory.remove_entry("old", fd) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_nothing_is_removed_where_a_directory_is_moved_to_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path / "old")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "c").mkdir()
    listdir = os.listdir

    def moving(fd: int) -> list[str]:
        names = listdir(fd)
        if "c" in names and (tmp_path / "old" / "a" / "b").exists():
            (tmp_path / "old" / "a" / "b").rename(mine / "b")
        return names

    monkeypatch.setattr(os, "listdir", moving)
    with directory.opened(tmp_path) as fd, pytest.raises(OSError, match="moved"):
        directory.remove_entry("old", fd)
    monkeypatch.undo()
    assert sorted(path.name for path in mine.iterdir()) == ["b", "c"]
