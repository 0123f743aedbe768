"""`environment.like`: files with the sizes of others."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from s3bench.clients.registry import known_clients
from s3bench.errors import BadDefinitions
from s3bench.run.fixture import plan_tree
from s3bench.spec.definition import Definition
from s3bench.spec.file_sizes import FileSizes
from s3bench.spec.parse import read_definitions
from s3bench.spec.sizes_document import LeftOut, SizesDocument, encode_sizes

Read = Callable[..., Definition]
COUNTS = ((10, 6), (1000, 3), (50_000, 1))


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a definition from a file beside `sizes.json`, with the given `like`."""

    def read_one(like: Any, counts: tuple[tuple[int, int], ...] = COUNTS, **keys: Any) -> Definition:
        document = SizesDocument.of(FileSizes(counts=counts), folders=1, left_out=LeftOut())
        (tmp_path / "sizes.json").write_bytes(encode_sizes(document))
        file = tmp_path / "definitions.json"
        command = ["s3", "cp", "files", "s3://bucket/files", "--recursive"]
        environment = {"like": like, **keys.pop("environment", {})}
        file.write_text(json.dumps([{"name": "a", "command": command, "environment": environment, **keys}]))
        [definition] = read_definitions(file, known_clients())
        return definition

    return read_one


def test_the_files_have_the_sizes_of_the_others(read: Read) -> None:
    files = dict(plan_tree(read("sizes.json").environment).files())
    assert sorted(content.size_bytes for content in files.values()) == [*[10] * 6, *[1000] * 3, 50_000]
    assert min(files) == "files/file-000000"


def test_a_sample_says_what_it_leaves_out(read: Read) -> None:
    [directory] = read({"sizes": "sizes.json", "files_max": 5, "name": "data"}).environment.file_dirs
    assert (directory.name, directory.file_count) == ("data", 5)
    assert directory.left_out is not None
    assert directory.left_out.startswith("a sample of 5 of 10 files")
    [whole] = read("sizes.json").environment.file_dirs
    assert whole.left_out is None


def test_results_are_identified_by_the_sizes_and_not_by_the_name_of_the_file(read: Read, tmp_path: Path) -> None:
    before = read("sizes.json")
    other = read("sizes.json", counts=((10, 6), (1001, 3), (50_000, 1)))
    assert before.dimensions != other.dimensions
    (tmp_path / "copy.json").write_bytes((tmp_path / "sizes.json").read_bytes())
    assert read("copy.json", counts=COUNTS).dimensions == other.dimensions


@pytest.mark.parametrize(
    ("like", "path", "said"),
    [
        ("missing.json", "$[0].environment.like", "cannot be read"),
        ("../sizes.json", "$[0].environment.like", "`..`"),
        ("/etc/passwd", "$[0].environment.like", "absolute"),
        ("link.json", "$[0].environment.like", "out of the directory"),
        ("definitions.json", "$[0].environment.like", "no sizes of files"),
        ("directory", "$[0].environment.like", "not a file"),
        ("huge.json", "$[0].environment.like", "larger than"),
        ({"sizes": "sizes.json", "files_max": 0}, "$[0].environment.like.files_max", "below the minimum"),
        ({"size": "sizes.json"}, "$[0].environment.like.size", "did you mean `sizes`"),
        ({}, "$[0].environment.like.sizes", "missing"),
        (5, "$[0].environment.like", "not a string"),
    ],
)
def test_what_cannot_be_used_is_reported_with_its_path(
    read: Read, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, like: Any, path: str, said: str
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "sizes.json"
    outside.write_bytes(b"{}")
    (tmp_path / "link.json").symlink_to(outside)
    (tmp_path / "directory").mkdir()
    (tmp_path / "huge.json").write_bytes(bytes(2 << 20))
    with pytest.raises(BadDefinitions) as caught:
        read(like)
    assert [problem.path for problem in caught.value.problems] == [path]
    assert said in str(caught.value)


def test_its_directory_clashes_with_another_of_the_same_name(read: Read) -> None:
    with pytest.raises(BadDefinitions, match="makes too"):
        read("sizes.json", environment={"file_dirs": [{"name": "files", "file_count": 1, "file_size": 1}]})


def test_a_dimension_of_the_same_name_is_refused(read: Read) -> None:
    with pytest.raises(BadDefinitions, match="FileSizes"):
        read("sizes.json", dimensions=[{"name": "FileSizes", "value": "mine"}])
