"""What our drivers do for `cp`, `mv`, `sync` and `rm`, with a backend that only takes notes."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from s3bench.clients.client import FoundClient
from s3bench.clients.driver import driver_command
from s3bench.clients.environment import EndpointFacts
from s3bench.clients.probes.s3bench_probe.transfers import Object, run
from s3bench.spec.command import parse_transfer


class Future:
    def __init__(self, end: Any = None) -> None:
        self.end = end

    def result(self) -> None:
        if self.end:
            self.end()


class Notes:
    """A backend with objects (keys to sizes and times); notes what is asked of it."""

    def __init__(self, objects: dict[str, tuple[int, float]] | None = None) -> None:
        self.objects = objects or {}
        self.notes: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.notes.append("end")

    def list(self, bucket: str, prefix: str) -> Iterator[Object]:
        self.notes.append(f"list {bucket} {prefix}")
        for key, (size, modified) in sorted(self.objects.items()):
            if key.startswith(prefix):
                yield Object(key, key, size, modified, "etag")

    def upload(self, path: str, bucket: str, key: str) -> Future:
        self.notes.append(f"upload {path} {bucket} {key}")
        return Future()

    def download(self, bucket: str, item: Object, path: str) -> Future:
        self.notes.append(f"download {bucket} {item.where} {path} {item.size_bytes}")
        return Future(lambda: Path(path).write_bytes(b"x" * (item.size_bytes or 1)))

    def copy(self, source: dict[str, str], bucket: str, key: str) -> Future:
        self.notes.append(f"copy {source['Bucket']} {source['Key']} {bucket} {key}")
        return Future()

    def delete(self, bucket: str, key: str) -> Future:
        self.notes.append(f"delete {bucket} {key}")
        return Future()


def perform(command: str, objects: dict[str, tuple[int, float]] | None = None) -> list[str]:
    backend = Notes(objects)
    run(asked(command), backend)
    assert backend.notes.pop() == "end"
    return backend.notes


def asked(command: str) -> dict[str, Any]:
    import json  # noqa: PLC0415 (the way the command takes to the driver)

    transfer = parse_transfer(("s3", *command.split()))
    assert transfer is not None
    found = FoundClient(kind="crt-python", version="1", executable=Path("/python"))
    request = driver_command(found, transfer, EndpointFacts(url="http://x"), {}, region="r", backend=Path("/backend"))[
        2
    ]
    decoded: dict[str, Any] = json.loads(request)["command"]
    return decoded


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(b"1234")
    (tmp_path / "dir" / "sub").mkdir(parents=True)
    for name in ("b", "a", "sub/c"):
        (tmp_path / "dir" / name).write_bytes(b"12")
        os.utime(tmp_path / "dir" / name, (1000, 1000))
    return tmp_path


def test_a_file_goes_to_its_key_or_below_a_prefix() -> None:
    assert perform("cp file s3://b/key") == ["upload file b key"]
    assert perform("cp file s3://b/pre/") == ["upload file b pre/file"]
    assert perform("cp file s3://b") == ["upload file b file"]


def test_an_object_goes_to_its_file_or_into_a_directory(work: Path) -> None:
    assert perform("cp s3://b/pre/key out") == ["download b pre/key out None"]
    assert perform("cp s3://b/pre/key dir") == ["download b pre/key dir/key None"]
    assert perform("cp s3://b/pre/key new/") == ["download b pre/key new/key None"]
    assert (work / "new" / "key").is_file()


def test_a_directory_is_walked_in_order() -> None:
    assert perform("cp dir s3://b/pre --recursive") == [
        "upload dir/a b pre/a", "upload dir/b b pre/b", "upload dir/sub/c b pre/sub/c"
    ]  # fmt: skip


def test_a_prefix_is_listed_and_folders_made_by_hand_are_left(work: Path) -> None:
    objects = {"pre/a": (3, 2000.0), "pre/sub/": (0, 1.0), "pre/sub/b": (1, 3000.0), "prefix": (9, 1.0)}
    assert perform("cp s3://b/pre out --recursive", objects) == [
        "list b pre/", "download b pre/a out/a 3", "download b pre/sub/b out/sub/b 1"
    ]  # fmt: skip
    assert (work / "out" / "a").stat().st_mtime == 2000


def test_a_key_that_leads_out_of_the_destination_is_not_downloaded() -> None:
    objects = {"p/../x": (1, 1.0), "p/a/../../x": (1, 1.0), "p/..": (1, 1.0), "p//abs": (1, 1.0), "p/a/../b": (1, 1.0)}
    assert perform("cp s3://b/p out --recursive", objects) == [
        "list b p/", "download b p//abs out/abs 1", "download b p/a/../b out/a/../b 1"
    ]  # fmt: skip
    assert perform("rm s3://b/p --recursive", objects) == ["list b p/", *(f"delete b {key}" for key in sorted(objects))]


def test_a_move_removes_its_source_when_all_is_there(work: Path) -> None:
    assert perform("mv file s3://b/key") == ["upload file b key"]
    assert not (work / "file").exists()
    assert perform("mv s3://b/key out") == ["download b key out None", "delete b key"]
    assert perform("mv s3://b/x s3://c/y") == ["copy b x c y", "delete b x"]


def test_a_move_that_failed_keeps_its_source(work: Path) -> None:
    class Broken(Notes):
        def upload(self, path: str, bucket: str, key: str) -> Future:  # noqa: ARG002
            def fail() -> None:
                raise ConnectionError

            return Future(fail)

    command = {
        "verb": "mv", "direction": "upload", "recursive": False, "delete": False, "filters": [],
        "source": {"path": "file"}, "destination": {"bucket": "b", "key": "k"},
    }  # fmt: skip
    with pytest.raises(ConnectionError):
        run(command, Broken())
    assert (work / "file").exists()


def test_a_removal_asks_for_one_deletion_a_key() -> None:
    assert perform("rm s3://b/key") == ["delete b key"]
    assert perform("rm s3://b/pre --recursive", {"pre/a": (1, 1.0), "pre/b": (1, 1.0)}) == [
        "list b pre/", "delete b pre/a", "delete b pre/b"
    ]  # fmt: skip


@pytest.mark.parametrize("command", ["rm s3://b/pre --recursive", "mv s3://b/pre s3://b/other --recursive"])
def test_nothing_outside_the_prefix_is_removed_where_a_server_lists_it(command: str) -> None:
    class Lying(Notes):
        def list(self, bucket: str, prefix: str) -> Iterator[Object]:
            yield from super().list(bucket, prefix)
            yield Object("other", "other", 1, 1.0, "etag")

    backend = Lying()
    with pytest.raises(ValueError, match="begin with 'pre/' and lists 'other'"):
        run(asked(command), backend)
    assert backend.notes == ["list b pre/", "end"]


@pytest.mark.parametrize(
    ("there", "uploaded"),
    [((2, 1000.0), False), ((2, 1500.0), False), ((2, 999.0), True), ((3, 1500.0), True)],
)
def test_an_upload_sync_sends_what_differs_in_size_or_is_newer(there: tuple[int, float], uploaded: bool) -> None:
    rest = {"p/b": (2, 2000.0), "p/sub/c": (2, 2000.0)}
    notes = perform("sync dir s3://b/p", {"p/a": there, **rest})
    assert notes == ["list b p/", *(["upload dir/a b p/a"] if uploaded else [])]


@pytest.mark.parametrize(
    ("there", "downloaded"),
    [((2, 1000.0), False), ((2, 1500.0), False), ((2, 999.0), True), ((3, 1000.0), True)],
)
def test_a_download_sync_fetches_what_differs_in_size_or_time(there: tuple[int, float], downloaded: bool) -> None:
    notes = perform("sync s3://b/p dir", {"p/a": there})
    assert [note for note in notes if note.startswith("download")] == (
        [f"download b p/a dir/a {there[0]}"] if downloaded else []
    )


def test_a_sync_with_delete_removes_what_only_the_destination_has(work: Path) -> None:
    objects = {"p/a": (2, 2000.0), "p/b": (2, 2000.0), "p/old": (2, 2000.0), "p/sub/c": (2, 2000.0)}
    assert perform("sync dir s3://b/p --delete", objects) == ["list b p/", "delete b p/old"]
    perform("sync s3://b/p dir --delete", {"p/a": (2, 1000.0)})
    assert sorted(path.name for path in (work / "dir").rglob("*") if path.is_file()) == ["a"]


def test_the_last_filter_that_matches_decides() -> None:
    assert perform("cp dir s3://b/p --recursive --exclude * --include sub/*") == ["upload dir/sub/c b p/sub/c"]
    assert perform("rm s3://b/p --recursive --exclude *a", {"p/a": (1, 1.0), "p/b": (1, 1.0)}) == [
        "list b p/", "delete b p/b"
    ]  # fmt: skip
