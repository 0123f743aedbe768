"""`s3bench load` in front of real servers: every operation works, and the bucket is left as it was."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from s3bench.errors import ExitCode
from s3bench.load.operation import MIXABLE, OperationKind
from s3bench.load.session.bucket import ROOT
from tests.e2e.conftest import Finished
from tests.e2e.servers import BUCKET, BUILD_S, KEYS, SERVERS, LiveServer, Servers
from tests.forkserver import Forked, ForkServer

CHECKOUT = Path(__file__).parents[2]
KIB, MIB = 1 << 10, 1 << 20
_WAIT_S = 120.0

pytestmark = pytest.mark.timeout(BUILD_S + 60)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with Servers(tmp_path_factory.mktemp("servers")) as servers:
        yield servers


@pytest.fixture(
    params=[pytest.param(name, marks=() if name == "versitygw-https" else pytest.mark.campaign) for name in SERVERS]
)
def server(request: pytest.FixtureRequest, servers: Servers) -> LiveServer:
    return servers.at(request.param)


@pytest.fixture
def gateway(servers: Servers) -> LiveServer:
    """The server for all that takes one alone."""
    return servers.at("versitygw")


@pytest.fixture
def environment(environment: dict[str, str]) -> dict[str, str]:
    return {**environment, **KEYS}


def job(
    *kinds: OperationKind, size: str = "16KiB", operations: int = 20, threads: int = 4, **more: Any
) -> dict[str, Any]:
    more = {"objects": 20} | more
    ranged = {"range": 1000} if OperationKind.RANGE in kinds else {}
    mix = {str(kind): 1 for kind in kinds}
    return {"mix": mix, "sizes": size, "operations": operations, "threads": threads, **ranged, **more}


def every_operation(**manner: Any) -> dict[str, Any]:
    """A profile of a phase for each kind of operation, alone, in multi-MiB objects, and of all together."""
    phases = [
        *(
            {"name": str(kind), "jobs": [job(kind)]}
            for kind in MIXABLE
            if kind not in {OperationKind.MULTIPART, OperationKind.DELETE}
        ),
        {"name": "multipart", "jobs": [job(OperationKind.MULTIPART, size="6MiB", part_size="5MiB", operations=3)]},
        {"name": "large", "jobs": [job(OperationKind.GET, OperationKind.PUT, size="3MiB", objects=4, operations=12)]},
        {
            "name": "mixed",
            "jobs": [
                job(*MIXABLE, operations=60, name="all"),
                job(OperationKind.GET, size="4KiB:1,64KiB:1", name="beside", objects=10, threads=2),
            ],
        },
        {"name": "delete", "jobs": [job(OperationKind.DELETE)]},
    ]
    return {**manner, "max_error_rate": 1.0, "phases": phases}


OPERATIONS = {str(kind): 20 for kind in MIXABLE} | {"multipart": 3, "large": 12, "mixed": 80}
"""Operations of each phase of `every_operation`."""


def check_every_operation(load: Callable[..., Finished], server: LiveServer, path: Path, **manner: Any) -> None:
    path.write_text(yaml.safe_dump(every_operation(**manner)), encoding="utf-8")
    before = server.objects()
    finished = load(path, *server.options, "--workers", "2", "--json")
    assert finished.code == 0, finished.err
    done: dict[str, int] = {}
    unexplained: list[tuple[str, str, int]] = []
    for result in finished.document["results"]:
        [measurement] = result["measurements"]
        phase, found = result["dimensions"][0]["phase"], measurement["load"]
        failures = {each["label"]: each["count"] for each in found["failures"]}
        unexplained += [(phase, *each) for each in failures.items() if (phase, each[0]) not in server.explained]
        done.setdefault(phase, found["operations"] + found["failed"])  # the whole of a phase comes first
    assert unexplained == []
    assert done == OPERATIONS
    assert server.objects() == before
    assert server.uploads() == []
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in finished.out + finished.err


def manner_of(server: LiveServer) -> dict[str, Any]:
    """Over HTTPS and in front of moto bodies are signed, and with rclone and moto checksums are sent."""
    return {
        "sign_payload": server.url.startswith("https") or server.name == "moto",
        "checksum": server.name in {"rclone", "moto"},
    }


def test_every_operation_alone_and_together_leaves_the_bucket_as_it_was(
    load: Callable[..., Finished], server: LiveServer, tmp_path: Path
) -> None:
    check_every_operation(load, server, tmp_path / "profile.yaml", **manner_of(server))


@pytest.mark.campaign
@pytest.mark.parametrize("keepalive", [True, False], ids=["kept", "closed"])
@pytest.mark.parametrize("sign_payload", [False, True], ids=["unsigned", "signed"])
@pytest.mark.parametrize("checksum", [False, True], ids=["plain", "checksum"])
def test_every_operation_works_in_every_manner(
    load: Callable[..., Finished],
    server: LiveServer,
    tmp_path: Path,
    *,
    keepalive: bool,
    sign_payload: bool,
    checksum: bool,
) -> None:
    manner = {"keepalive": keepalive, "sign_payload": sign_payload, "checksum": checksum}
    check_every_operation(load, server, tmp_path / "profile.yaml", **manner)


def test_a_certificate_is_checked_unless_told_otherwise(load: Callable[..., Finished], servers: Servers) -> None:
    where = ("--endpoint-url", servers.at("versitygw-https").url, "--bucket", BUCKET)
    refused = load(*where, "--operation", "put", "--operations", "5")
    assert refused.code == ExitCode.BAD_INPUT
    assert "certificate" in refused.err
    taken = load(*where, "--tls-no-verify", "--clean-up", "ffffffffffff")
    assert (taken.code, taken.out) == (0, "")
    assert "nothing under s3bench/ffffffffffff/" in taken.err


# scripts/test, which builds versitygw beside the tests.


PYTHON = """#!/bin/sh
case "$*" in
*tests.e2e.servers) exec setsid sh -c 'sleep 60 & echo $! > child; wait' ;;
*loadfile*) until [ -s child ]; do sleep 0.02; done ;;
esac
"""


def test_the_build_of_a_server_ends_with_the_tests(tmp_path: Path) -> None:
    for path, text in {"scripts/install": "#!/bin/sh\n", ".venv/bin/python": PYTHON}.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
        (tmp_path / path).chmod(0o755)
    shutil.copy(CHECKOUT / "scripts" / "test", tmp_path / "scripts")
    assert subprocess.run([tmp_path / "scripts" / "test"], check=False, timeout=_WAIT_S).returncode == 0
    child = int((tmp_path / "child").read_text(encoding="utf-8"))
    deadline = time.monotonic() + 10
    while is_running(child):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


# A run that is ended before its time.


Begin = Callable[[LiveServer], tuple[Forked, str]]


@pytest.fixture
def begin(fork_server: ForkServer, environment: dict[str, str], tmp_path: Path) -> Iterator[Begin]:
    """Start a run that is too long, with uploads in it; wait until objects of it are there; its name."""
    with ExitStack() as stack:

        def begun(server: LiveServer) -> tuple[Forked, str]:
            sizes = ("--mix", "put=1,multipart=1", "--size", "6MiB", "--part-size", "5MiB")
            before = server.objects()
            arguments = (
                *("load", *server.options, *sizes, "-t", "4", "--workers", "2", "--rate", "10"),
                *("--duration", "100", "-o", "results.json"),
            )
            process = stack.enter_context(
                fork_server.start(arguments, cwd=tmp_path, env=environment, start_new_session=True)
            )
            deadline = time.monotonic() + _WAIT_S
            while len(new := server.objects().keys() - before.keys()) < 4:
                assert time.monotonic() < deadline, "it wrote nothing"
                with pytest.raises(subprocess.TimeoutExpired):  # it goes on
                    process.wait(0.1)
            [run] = {key.removeprefix(ROOT).partition("/")[0] for key in new}
            assert all(key.startswith(f"{ROOT}{run}/") for key in new)
            return process, run

        yield begun


def test_ctrl_c_keeps_the_results_so_far_and_cleans_up(gateway: LiveServer, begin: Begin, tmp_path: Path) -> None:
    before = gateway.objects()
    process, run = begin(gateway)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
    assert process.wait(_WAIT_S) == 130
    assert gateway.objects() == before
    assert gateway.uploads() == []
    document = json.loads((tmp_path / "results.json").read_text())
    assert document["options"]["run"] == run
    load = document["results"][0]["measurements"][0]["load"]
    assert load["operations"] >= 4
    assert load["failures"] == []
    said = process.stderr.read().decode()
    assert f"run {run} " in said
    assert "s3bench: interrupted" in said
    assert any(warning.startswith("interrupted: ") for warning in document["warnings"])


def test_after_a_kill_the_workers_end_by_themselves_and_the_run_can_be_cleaned_up(
    load: Callable[..., Finished], gateway: LiveServer, begin: Begin
) -> None:
    before = gateway.objects()
    process, run = begin(gateway)
    workers = psutil.Process(process.pid).children(recursive=True)
    assert len(workers) == 2
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(workers, timeout=_WAIT_S)
    assert alive == []
    left = gateway.objects().keys() - before.keys()
    assert left
    gateway.put(f"{ROOT}{run}/notes.txt", b"a stranger's")
    cleaned = load(*gateway.options, "--clean-up", run)
    assert cleaned.code == 0, cleaned.err
    assert f"removed {len(left):,} objects" in cleaned.out
    assert f"left 1 objects that s3bench did not write, for example {ROOT}{run}/notes.txt" in cleaned.out
    assert gateway.objects().keys() - before.keys() == {f"{ROOT}{run}/notes.txt"}
    assert gateway.uploads() == []


# Data sets that are kept.


def only_load(finished: Finished) -> dict[str, Any]:
    """The figures of a run, all kinds together."""
    figures: dict[str, Any] = finished.document["results"][0]["measurements"][0]["load"]
    return figures


def test_a_kept_data_set_is_read_again_and_removed_when_told(
    s3bench: Callable[..., Finished], load: Callable[..., Finished], gateway: LiveServer
) -> None:
    before = gateway.objects()
    small = ("--size", "4KiB", "--threads", "4", "--operations", "60")
    kept = s3bench("load", *gateway.options, *small, "--operation", "get", "--objects", "30", "--keep", "--json")
    assert kept.code == 0, kept.err
    run = kept.document["options"]["run"]
    assert f"run {run} is kept: --reuse {run} reads its objects, --clean-up {run} deletes them" in kept.err
    data_set = gateway.objects().items() - before.items()
    assert len(data_set) == 30
    again = load(*gateway.options, *small, "--mix", "get=1,put=1", "--reuse", run, "--json")
    assert again.code == 0, again.err
    assert only_load(again)["failures"] == []
    assert gateway.objects().items() - before.items() == data_set
    other = load(*gateway.options, "--operation", "get", "--size", "8KiB", "--reuse", run)
    assert other.code == ExitCode.BAD_INPUT
    assert f"run {run} has no objects of these sizes" in other.err
    cleaned = load(*gateway.options, "--clean-up", run)
    assert (cleaned.code, cleaned.out) == (0, "s3bench: removed 30 objects\n")
    assert gateway.objects() == before


def test_objects_of_others_are_read_by_their_names_and_stay(
    load: Callable[..., Finished], gateway: LiveServer, tmp_path: Path
) -> None:
    for number in range(5):
        gateway.put(f"data/ä {number}", bytes(1000 + number))
    before = gateway.objects()
    listed = load(*gateway.options, "--list-existing", "data/", "--operations", "50", "-t", "4", "--json")
    assert listed.code == 0, listed.err
    found = only_load(listed)
    assert (found["kind"], found["operations"], found["failures"]) == ("get", 50, [])
    assert 50 * 1000 <= found["bytes_down"] <= 50 * 1004
    (tmp_path / "keys").write_text("data/ä 0\t1000\ndata/ä 1\t999\n", encoding="utf-8")
    named = load(
        *gateway.options, "--key-file", "keys", "--keys", "sequential", "--workers", "1",
        "--operations", "20", "-t", "1", "--json",
    )  # fmt: skip
    assert named.code == 1, "one of the two is larger than the file says"
    found = only_load(named)
    assert (found["operations"], found["bytes_down"]) == (10, 10_000)
    assert [(each["label"], each["count"]) for each in found["failures"]] == [("body corrupt", 10)]
    assert gateway.objects() == before
