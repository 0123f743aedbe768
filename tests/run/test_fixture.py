"""The plan of a fixture tree and the bytes of generated files."""

import hashlib
import os
import zlib
from pathlib import Path

import pytest

from s3bench.errors import BadInput
from s3bench.run.fixture import FIXTURE_MTIME_S, FixtureContent, plan_tree, write_content
from s3bench.run.fixture import content_chunks as chunks
from s3bench.spec.definition import Environment, FileLiteral, Fill, FixtureDir, FixtureFile


def whole(content: FixtureContent) -> bytes:
    return b"".join(chunks(content))


def planned(environment: Environment) -> dict[str, bytes]:
    return {name: whole(content) for name, content in plan_tree(environment).files()}


def literal(name: str, content: str, mode: str = "w") -> FileLiteral:
    return FileLiteral(name=name, content=content, mode=mode)


def test_files_are_null_bytes_of_the_size_asked_for() -> None:
    assert planned(Environment(files=(FixtureFile(name="a/b", size_bytes=10),))) == {"a/b": bytes(10)}


def test_directories_hold_equal_files_with_six_digits() -> None:
    environment = Environment(file_dirs=(FixtureDir(name="d/", file_count=3, file_size_bytes=2),))
    assert planned(environment) == {f"d/file-00000{index}": bytes(2) for index in range(3)}


def test_an_empty_directory_is_planned_too() -> None:
    tree = plan_tree(Environment(file_dirs=(FixtureDir(name="d", file_count=0, file_size_bytes=2),)))
    assert list(tree.entries) == ["d"]


@pytest.mark.parametrize(
    ("literals", "expected"),
    [
        ([("n", "one", "w"), ("n", "two", "w")], b"two"),
        ([("n", "one", "w"), ("n", "two", "a")], b"onetwo"),
        ([("n", "one", "ab"), ("n", "two", "ab")], b"onetwo"),
        ([("n", "one", "wb"), ("n", "two", "a"), ("n", "three", "wb")], b"three"),
        ([("n", "é", "x")], "é".encode()),
        ([("n", "", "xb")], b""),
    ],
)
def test_literals_are_opened_in_order_with_their_modes(literals: list[tuple[str, str, str]], expected: bytes) -> None:
    environment = Environment(file_literals=tuple(literal(*item) for item in literals))
    assert planned(environment) == {"n": expected}


def test_a_literal_appends_to_a_generated_file() -> None:
    environment = Environment(files=(FixtureFile(name="n", size_bytes=4),), file_literals=(literal("n", "end", "a"),))
    assert planned(environment) == {"n": b"\0\0\0\0end"}


@pytest.mark.parametrize("mode", ["x", "xb"])
def test_mode_x_on_a_file_that_is_there_is_refused_and_on_a_new_one_is_not(mode: str) -> None:
    files = (FixtureFile(name="n", size_bytes=4),)
    with pytest.raises(BadInput, match=", but the file exists"):
        plan_tree(Environment(files=files, file_literals=(literal("./n", "end", mode),)))
    assert planned(Environment(files=files, file_literals=(literal("m", "end", mode),)))["m"] == b"end"


@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../up", "", ".", "nul\0"])
def test_a_name_that_leaves_the_workspace_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="leaves the workspace"):
        plan_tree(Environment(files=(FixtureFile(name=name, size_bytes=1),)))


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b", "a"), ("a/b/c", "a/b")])
def test_a_name_cannot_be_both_file_and_directory(names: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match="both a file and a directory"):
        plan_tree(Environment(files=tuple(FixtureFile(name=name, size_bytes=1) for name in names)))


def test_noise_is_the_same_every_time_and_differs_by_name() -> None:
    content = FixtureContent(seed="name", generated_bytes=100_003, fill=Fill.RANDOM)
    # The figure is frozen: results of two machines and two versions must be about the same bytes.
    assert (
        hashlib.sha256(whole(content)).hexdigest() == "8ecad51cac8fc5b9cbadbdfa9f57441568c96d26c835f7a2937d4cabf775df3d"
    )
    assert whole(content) != whole(FixtureContent(seed="other", generated_bytes=100_003, fill=Fill.RANDOM))


def test_noise_does_not_compress_and_never_repeats_itself_across_chunks() -> None:
    data = whole(FixtureContent(seed="name", generated_bytes=(8 << 20) + 1, fill=Fill.RANDOM))
    assert len(data) == (8 << 20) + 1
    assert len(zlib.compress(data[: 1 << 20])) > 1 << 20
    assert data[: 4 << 20] != data[4 << 20 : 8 << 20]


def test_needed_space_counts_whole_blocks() -> None:
    tree = plan_tree(Environment(file_dirs=(FixtureDir(name="d", file_count=3, file_size_bytes=1),)))
    assert tree.needed_bytes() == 3 * 4096


def test_files_are_written_for_real_with_a_fixed_time_and_mode(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    umask = os.umask(0o077)
    try:
        write_content("f", fd, FixtureContent(seed="f", generated_bytes=6 << 20, literal=b"end"))
    finally:
        os.umask(umask)
        os.close(fd)
    status = (tmp_path / "f").stat()
    assert (tmp_path / "f").read_bytes() == bytes(6 << 20) + b"end"
    assert status.st_mtime_ns == FIXTURE_MTIME_S * 10**9
    assert status.st_mode & 0o777 == 0o644
    assert status.st_blocks * 512 >= 6 << 20, "the file is sparse"
