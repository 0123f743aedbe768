from typing import Any

import pytest


def files(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "size": 10} for name in names]


def directory(name: str, count: int = 3) -> dict[str, Any]:
    return {"name": name, "file_count": count, "file_size": 4}


def literal(name: str, mode: str = "w") -> dict[str, Any]:
    return {"name": name, "content": "text", "mode": mode}


TWICE = "; give one of the two another name, or remove it"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (
            {"files": files("f", "f")},
            f'files[1].name: is "f", which $[0].environment.files[0] makes too{TWICE}',
        ),
        (
            {"files": files("f"), "file_literals": [literal("f")]},
            f'file_literals[0].name: is "f", which $[0].environment.files[0] makes too{TWICE}',
        ),
        (
            {"file_dirs": [directory("d"), directory("d")]},
            f'file_dirs[1].name: is "d", which $[0].environment.file_dirs[0] makes too{TWICE}',
        ),
        (
            {"files": files("d/file-000002"), "file_dirs": [directory("d")]},
            f'files[0].name: is "d/file-000002", which $[0].environment.file_dirs[0] makes too{TWICE}',
        ),
        (
            {"files": files("d", "d/e/f")},
            'files[0].name: is "d", which $[0].environment.files[1] makes a directory; give the file another name',
        ),
        (
            {"files": files("d"), "file_dirs": [directory("d", 0)]},
            'files[0].name: is "d", which $[0].environment.file_dirs[0] makes a directory; give the file another name',
        ),
        (
            {"files": files("d"), "file_dirs": [directory("d/e", 0)]},
            'files[0].name: is "d", which $[0].environment.file_dirs[0] makes a directory; give the file another name',
        ),
        (
            {"files": files("d/file-000000/x"), "file_dirs": [directory("d")]},
            (
                'files[0].name: needs the directory "d/file-000000", which $[0].environment.file_dirs[0] makes a file; '
                "give one of the two another name"
            ),
        ),
        (
            {"file_dirs": [directory("d"), directory("d/file-000002")]},
            (
                'file_dirs[1].name: needs the directory "d/file-000002", which $[0].environment.file_dirs[0] makes a '
                "file; give one of the two another name"
            ),
        ),
        (
            {"file_dirs": [directory("d")], "file_trees": [{"name": "d/file-000000/t", "sizes": {"x": 1}}]},
            (
                'file_trees[0].name: needs the directory "d/file-000000", which $[0].environment.file_dirs[0] makes a '
                "file; give one of the two another name"
            ),
        ),
        (
            {"files": files("f"), "file_trees": [{"name": "f/t", "sizes": {}}]},
            'files[0].name: is "f", which $[0].environment.file_trees[0] makes a directory; give the file another name',
        ),
        (
            {"file_literals": [literal("f", "x"), literal("f", "xb")]},
            (
                'file_literals[1].mode: needs a new file, but "f" is made at $[0].environment.file_literals[0]; '
                "give the file another name, or append with mode `a`"
            ),
        ),
        (
            {"file_dirs": [{"name": "d", "file_count": 10_000_000, "file_size": 10_000_000_000_000}]},
            (
                ": needs 100000000000000000000 bytes in all, more than any file system supports "
                "(9223372036854775807); "
                "make fewer or smaller files"
            ),
        ),
    ],
)
def test_fixtures_that_contradict_one_another_are_reported(
    environment: dict[str, Any], expected: str, problems: Any
) -> None:
    dot = "" if expected.startswith(":") else "."
    assert problems(environment=environment) == [f"$[0].environment{dot}{expected}"]


@pytest.mark.parametrize(
    "environment",
    [
        {
            "files": files("d/extra", "d/file-000003", "d/file-000004/x"),
            "file_dirs": [directory("d"), directory("d/e"), directory("d/e/f")],
        },
        {"files": files("f"), "file_literals": [literal("f", "a"), literal("f", "ab"), literal("new", "a")]},
        {"file_dirs": [directory("d")], "file_literals": [literal("d/file-000000", "a")]},
        {"files": files("file-000000", "a b", "é", "..a", "a..", ".hidden", "-")},
        {"file_dirs": [directory("empty", 0)]},
    ],
)
def test_fixtures_side_by_side_are_right(environment: dict[str, Any], problems: Any) -> None:
    assert problems(environment=environment) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "is empty"),
        ("/etc/passwd", "absolute"),
        ("../up", "leaves the workspace"),
        ("a/../../b", "leaves the workspace"),
        ("..", "leaves the workspace"),
        (".", "an empty component or `.`"),
        ("./a", "an empty component or `.`"),
        ("a//b", "an empty component or `.`"),
        ("dir/", "an empty component or `.`"),
        ("C:/x", "drive letter"),
        ("c:x", "drive letter"),
        ("..\\up", "backslash"),
        ("a\\b", "backslash"),
        ("a\0b", "control character"),
        ("a\nb", "control character"),
        ("a*", "`*` is a wildcard in a body's `file`"),
        ("é" * 128, "of 256 bytes"),
    ],
)
@pytest.mark.parametrize("key", ["files", "file_dirs", "file_literals"])
def test_no_name_leaves_the_workspace(name: str, said: str, key: str, problems: Any) -> None:
    other: dict[str, dict[str, Any]] = {
        "files": {"size": 1},
        "file_dirs": {"file_count": 1, "file_size": 1},
        "file_literals": {"content": ""},
    }
    [problem] = problems(environment={key: [{"name": name} | other[key]]})
    assert problem.startswith(f"$[0].environment.{key}[0].name: ")
    assert said in problem


@pytest.mark.parametrize("mode", ["r", "w+", "wt", "", "W", "rb"])
def test_a_mode_that_does_not_write_is_wrong(mode: str, problems: Any) -> None:
    [problem] = problems(environment={"file_literals": [literal("f", mode)]})
    assert problem.startswith(f'$[0].environment.file_literals[0].mode: is "{mode}", which is not a write mode; ')


@pytest.mark.parametrize("mode", ["w", "wb", "a", "ab", "x", "xb"])
def test_every_mode_that_writes_is_right(mode: str, parse: Any) -> None:
    assert parse(environment={"file_literals": [literal("f", mode)]}).environment.file_literals[0].mode == mode


@pytest.mark.parametrize(("key", "value"), [("file_count", -1), ("file_count", 10_000_001), ("file_size", 2**63)])
def test_an_impossible_directory_is_wrong(key: str, value: int, problems: Any) -> None:
    [problem] = problems(environment={"file_dirs": [directory("d") | {key: value}]})
    assert problem.startswith(f"$[0].environment.file_dirs[0].{key}: is {value}, ")


def tree(name: str, **sizes: int) -> dict[str, Any]:
    return {"name": name, "sizes": {path.replace("__", "/"): size for path, size in sizes.items()}}


def test_a_tree_has_files_of_their_own_names_and_sizes(parse: Any) -> None:
    environment = parse(environment={"file_trees": [tree("t", b=2, a__c=1)]}).environment
    assert list(environment.directory("t").files()) == [("a/c", 1), ("b", 2)]


def test_a_body_may_be_a_file_of_a_tree_and_a_listing_its_directory(problems: Any) -> None:
    environment = {"file_trees": [tree("t", b=2)]}
    responses = [{"body": {"file": "t/b"}}, {"body": {"listing": "t"}, "match": {"path": "/b"}}]
    assert problems(environment=environment, responses=responses) == []
    [problem] = problems(environment=environment, responses=[{"body": {"file": "t/c"}}])
    assert "which no fixture makes" in problem


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"file_trees": [tree("t", a=1), tree("t", b=1)]}, '.file_trees[1].name: is "t"'),
        ({"file_dirs": [{"name": "t", "file_count": 1, "file_size": 1}], "file_trees": [tree("t", a=1)]}, 'is "t"'),
        ({"files": [{"name": "t/a", "size": 1}], "file_trees": [tree("t", a=1)]}, 'is "t/a", which'),
        ({"file_trees": [tree("t", a=1, a__b=1)]}, "makes a directory"),
        ({"file_trees": [{"name": "t", "sizes": {"../x": 1}}]}, "leaves the workspace"),
        ({"file_trees": [{"name": "t", "sizes": {"x": -1}}]}, "below the minimum"),
        ({"file_trees": [{"name": "t", "sizes": ["x"]}]}, "not an object of sizes"),
    ],
)
def test_a_tree_that_contradicts_another_fixture_is_wrong(
    environment: dict[str, Any], said: str, problems: Any
) -> None:
    assert any(said in problem for problem in problems(environment=environment))
