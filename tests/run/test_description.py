"""Describing real folders and listings."""

import os
from pathlib import Path

import pytest

from s3bench.errors import BadInput
from s3bench.run.description import describe_directory, describe_path
from s3bench.spec.sizes_document import encode_sizes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of five files in three directories."""
    root = tmp_path / "folder"
    (root / "a" / "b").mkdir(parents=True)
    for name, size in (("one", 0), ("a/two", 10), ("a/three", 10), ("a/b/four", 4096), ("a/b/five", 70_000)):
        (root / name).write_bytes(bytes(size))
    return root


def test_all_files_below_a_directory_count(folder: Path) -> None:
    found = describe_path(folder)
    assert found.sizes.counts == ((0, 1), (10, 2), (4096, 1), (70_000, 1))
    assert (found.document.files, found.document.folders, found.document.total_bytes) == (5, 2, 74_116)
    assert found.document.size_error_max == 0
    assert found.warnings == ()


def test_what_is_no_file_is_left_out_and_named(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "one")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    found = describe_directory(folder)
    assert (found.document.left_out.symlinks, found.document.left_out.special) == (2, 1)
    assert found.document.files == 5
    assert any("symbolic links" in line and "link" in line for line in found.warnings)
    assert any("pipe" in line for line in found.warnings)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_unreadable_files_and_folders_are_left_out_and_named(folder: Path) -> None:
    (folder / "one").chmod(0)
    (folder / "a" / "b").chmod(0)
    try:
        found = describe_directory(folder)
    finally:
        (folder / "a" / "b").chmod(0o700)
    assert found.document.left_out.unreadable == 2
    assert found.document.files == 2


def test_the_document_has_no_names(folder: Path) -> None:
    text = encode_sizes(describe_path(folder).document).decode()
    assert not any(name in text for name in ("one", "two", "three", "four", "five", str(folder)))


def test_the_document_is_described_again_as_it_is(folder: Path, tmp_path: Path) -> None:
    found = describe_path(folder)
    (tmp_path / "sizes.json").write_bytes(encode_sizes(found.document))
    assert describe_path(tmp_path / "sizes.json").document == found.document


def test_a_listing_is_described_like_the_folder_it_lists(folder: Path, tmp_path: Path) -> None:
    listing = tmp_path / "ls.txt"
    files = [path for path in folder.rglob("*") if path.is_file()]
    lines = [f"2026-01-01 00:00:00 {path.stat().st_size:10} {path.relative_to(folder)}\n" for path in files]
    listing.write_text("".join(lines))
    assert describe_path(listing).document == describe_path(folder).document


def test_nothing_to_describe_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has no files"):
        describe_path(tmp_path)
    with pytest.raises(BadInput, match="cannot be read"):
        describe_path(tmp_path / "missing")
