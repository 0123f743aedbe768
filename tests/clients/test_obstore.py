"""obstore: its settings from the config, and what the tuner knows of it."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Barrier
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from s3bench.clients.obstore.settings import obstore_settings
from s3bench.clients.obstore.tuning import TUNING
from s3bench.clients.registry import known_client
from s3bench.clients.tuning.client_tuning import Habits
from s3bench.clients.tuning.parameter import MIB
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.errors import BadInput
from s3bench.spec.command import Transfer, parse_transfer
from s3bench.tune.recipe import recipes_of
from s3bench.tune.request_plan import habits_of, plan_requests
from s3bench.tune.setting import Setting, config_of

GENERAL = "[default]\ns3 =\n    multipart_chunksize = 16MB\n    max_concurrent_requests = 20\n"


def transfer(command: str) -> Transfer:
    found = parse_transfer(("s3", *command.split()))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("command", "settings"),
    [
        ("cp a s3://b/k", {"chunk_size": 16 * MIB, "max_concurrency": 20}),
        ("cp d s3://b/k --recursive", {"chunk_size": 16 * MIB, "threads": 20}),
    ],
)
def test_requests_at_once_are_files_where_there_are_several(command: str, settings: dict[str, int]) -> None:
    assert obstore_settings(GENERAL, transfer(command)) == settings


def test_what_the_tuner_sets_is_what_the_backend_gets() -> None:
    values = {"chunk_size": 8 * MIB, "max_concurrency": 5, "threads": 40}
    config = config_of(Setting.of("obstore", values))
    assert obstore_settings(config, transfer("cp a s3://b/k")) == values


@pytest.mark.parametrize(
    ("values", "upload", "download"),
    [
        ({}, "obstore.put(store, KEY, PATH)", "obstore.get(store, KEY)"),
        (
            {"chunk_size": 8 * MIB, "max_concurrency": 5},
            "obstore.put(store, KEY, PATH, chunk_size=8 * 1024**2, max_concurrency=5)",
            "obstore.get_range(store, KEY, start=START, length=8388608) for every part, in 5 threads",
        ),
        (
            {"chunk_size": 8 * MIB},
            "obstore.put(store, KEY, PATH, chunk_size=8 * 1024**2)",
            "obstore.get_range(store, KEY, start=START, length=8388608) for every part, in 12 threads",
        ),
    ],
)
def test_the_recipe_has_a_line_for_each_direction(values: dict[str, int], upload: str, download: str) -> None:
    (made,) = recipes_of(Setting.of("obstore", values))
    assert made.lines[-2:] == (f"# upload: {upload}", f"# download: {download}")


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Our backend, on an obstore of which only `get_range` is there: it answers when twelve requests are in flight."""
    together = Barrier(12, timeout=5)

    def get_range(_store: object, _where: str, *, start: int, end: int) -> bytes:
        together.wait()
        return bytes([start]) * (end - start)

    fakes: dict[str, dict[str, Any]] = {
        "obstore": {"get_range": get_range},
        "obstore.store": {"S3Store": lambda *_, **__: None},
        "s3bench_probe": {},
        "s3bench_probe.milestones": {"MilestoneLog": object},
        "s3bench_probe.transfers": {"Object": object},
    }
    for name, members in fakes.items():
        module = ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    driver = known_client("obstore").driver
    assert driver is not None
    spec = spec_from_file_location("obstore_backend", driver / "s3bench_driver_backend.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_each_file_is_downloaded_in_as_many_parts_at_once_as_the_tuner_takes_for_granted(
    backend: ModuleType, tmp_path: Path
) -> None:
    values = {"chunk_size": 2, "max_concurrency": 4, "threads": 3}
    files = Workload(action=Action.DOWNLOAD, size_bytes=8, files=3)
    assert TUNING.requests_at_once(values, files, 4, Habits()) == 12
    request = {"settings": values, "endpoint_url": "http://x", "region": "r", "ca_bundle": None}
    item, milestones = SimpleNamespace(where="k", size_bytes=8), SimpleNamespace(mark=lambda _: None)
    with backend.make_backend(request, milestones) as transfers:
        downloads = [transfers.download("b", item, str(tmp_path / f"{number}")) for number in range(3)]
        for each in downloads:
            each.result()
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b"\0\0\2\2\4\4\6\6"}


def test_a_key_that_is_no_setting_is_refused() -> None:
    with pytest.raises(BadInput, match="`part_size` is not a setting of the block `obstore`"):
        obstore_settings("[default]\nobstore =\n    part_size = 4MB\n", transfer("cp a s3://b/k"))


@pytest.mark.parametrize(
    ("action", "values", "requests", "lanes"),
    [
        (Action.UPLOAD, {}, 13, 12),
        (Action.UPLOAD, {"max_concurrency": 5, "chunk_size": 16 * MIB}, 4, 4),
        (Action.DOWNLOAD, {}, 1, 1),
        (Action.DOWNLOAD, {"chunk_size": 8 * MIB, "max_concurrency": 5}, 8, 5),
    ],
)
def test_a_download_is_in_parts_only_where_they_are_asked_for(
    action: Action, values: dict[str, int], requests: int, lanes: int
) -> None:
    workload = Workload(action=action, size_bytes=64 * MIB)
    plan = plan_requests(Setting.of("obstore", values), workload, habits_of({}, workload))
    assert (plan.requests, plan.lanes) == (requests, lanes)


def test_the_recipe_has_the_arguments_of_put() -> None:
    (recipe,) = recipes_of(Setting.of("obstore", {"chunk_size": 8 * MIB, "max_concurrency": 20}))
    assert "# upload: obstore.put(store, KEY, PATH, chunk_size=8 * 1024**2, max_concurrency=20)" in recipe.lines
