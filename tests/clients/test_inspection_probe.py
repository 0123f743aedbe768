"""The inspection probe and the injection, in real interpreters, by way of the plug-in and of our driver."""

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from s3bench.clients.driver import DRIVER
from s3bench.clients.registry import known_client
from s3bench.run.inspection import FaultInjection, inspection_variables, read_modules
from tests.clients.conftest import PYTHONS

PROBES = DRIVER.parent
# Loads the plug-in as aws-cli does, goes on to work, and tells at its end what it has imported, peak memory and CPU.
PLUGGED = """
import sys, time, json
sys.path.insert(0, sys.argv[1])
from s3bench_probe import plugin
class Hooks:
    def register_last(self, event, hook): pass
before = set(sys.modules)
cpu_s = time.process_time()
plugin.awscli_initialize(Hooks())
cpu_s = time.process_time() - cpu_s
new = sorted(set(sys.modules) - before)
{work}
peak = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(json.dumps(dict(all=sorted(sys.modules), new=new, cpu_s=cpu_s, peak_bytes=int(peak[0]) * 1024)))
"""
# The shell forks: getrusage(2) would have the peak of this process otherwise, which forks and executes.
FORKED = ("/bin/sh", "-c", '"$@"; exit $?', "sh")


def plugged(variables: dict[str, str], *, python: str = sys.executable, work: str = "") -> dict[str, Any]:
    done = attempt(variables, python=python, work=work)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def attempt(
    variables: dict[str, str], *, python: str = sys.executable, work: str = "", by: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    program = PLUGGED.replace("{work}", work)
    environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(
        [*by, python, "-c", program, str(PROBES)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_with_no_variable_set_nothing_more_is_imported_or_written() -> None:
    assert plugged({})["new"] == []


@pytest.mark.parametrize("python", PYTHONS, indirect=True)
def test_the_modules_at_the_end_are_listed_without_ours_in_every_python(python: str, tmp_path: Path) -> None:
    told = plugged(inspection_variables(modules_file=tmp_path / "m"), python=python, work="import colorsys")
    assert told["new"] == ["s3bench_probe.inspection"]
    ours = {"s3bench_probe", "s3bench_probe.plugin", "s3bench_probe.milestones", "s3bench_probe.inspection"}
    assert read_modules(tmp_path / "m") == tuple(name for name in told["all"] if name not in ours)
    assert "colorsys" in told["all"]


def test_a_module_that_was_forbidden_is_not_listed(tmp_path: Path) -> None:
    plugged(inspection_variables(modules_file=tmp_path / "m"), work="sys.modules['colorsys'] = None")
    assert "colorsys" not in (read_modules(tmp_path / "m") or ())


def test_a_forked_child_writes_nothing(tmp_path: Path) -> None:
    plugged(
        inspection_variables(modules_file=tmp_path / "m"),
        work="import os\nif os.fork() == 0:\n    import colorsys\n    sys.exit()\nos.wait()",
    )
    names = read_modules(tmp_path / "m") or ()
    assert "colorsys" not in names
    assert len(names) == len(set(names))


def test_a_client_that_changes_directory_and_environment_is_still_told_of(tmp_path: Path) -> None:
    work = "import os; os.chdir('/'); os.environ.clear()"
    plugged(inspection_variables(modules_file=tmp_path / "m"), work=work)
    assert "json" in (read_modules(tmp_path / "m") or ())


def test_a_client_that_was_killed_tells_of_no_modules(tmp_path: Path) -> None:
    done = attempt(inspection_variables(modules_file=tmp_path / "m"), work="import os; os.kill(os.getpid(), 9)")
    assert done.returncode == -9
    assert read_modules(tmp_path / "m") is None


def planted(injection: FaultInjection, **more: str) -> dict[str, Any]:
    return plugged({**inspection_variables(injection=injection), **more})


def test_the_dial_at_zero_plants_nothing() -> None:
    assert planted(FaultInjection())["new"] == ["s3bench_probe.fault_injection"]


@pytest.mark.parametrize("count", [1, 3])
def test_the_dial_imports_as_many_modules_more(count: int, tmp_path: Path) -> None:
    variables = inspection_variables(modules_file=tmp_path / "m", injection=FaultInjection(imports=count))
    told = plugged(variables)
    new = [name for name in told["new"] if not name.startswith("s3bench_probe")]
    assert len(new) == count
    assert set(new) <= set(read_modules(tmp_path / "m") or ())


def test_the_dial_holds_memory_to_the_end() -> None:
    size = 64 << 20
    grown = planted(FaultInjection(hold_bytes=size))["peak_bytes"] - planted(FaultInjection())["peak_bytes"]
    assert grown == pytest.approx(size, rel=0.05)


def test_the_dial_burns_cpu_and_not_time_alone() -> None:
    less, more = (planted(FaultInjection(turns=turns))["cpu_s"] for turns in (1, 4_000))
    assert more > 2 * less


@contextmanager
def counting() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(404)
            self.send_header("Content-Length", "3")
            self.end_headers()
            self.wfile.write(b"no\n")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def test_the_dial_sends_requests_whatever_the_answer() -> None:
    with counting() as (url, asked):
        planted(FaultInjection(requests=2), AWS_ENDPOINT_URL=url)
    assert asked == ["/s3bench-fault/0", "/s3bench-fault/1"]


@pytest.mark.parametrize(
    ("injection", "variables", "complaint"),
    [
        (FaultInjection(requests=1), {"AWS_ENDPOINT_URL": "https://127.0.0.1:1"}, "http:// alone"),
        (FaultInjection(requests=1), {}, "http:// alone"),
        (FaultInjection(imports=10_000), {}, "of 10000 modules are not here"),
    ],
)
def test_a_fault_that_cannot_be_planted_ends_the_client(
    injection: FaultInjection, variables: dict[str, str], complaint: str
) -> None:
    done = attempt({**inspection_variables(injection=injection), **variables})
    assert done.returncode != 0
    assert complaint in done.stderr


def drive(variables: dict[str, str], directory: Path, kind: str = "boto3-classic") -> subprocess.CompletedProcess[str]:
    """Our driver with an SDK and an upload of a file that is not there: whole up to the end, and no request."""
    source, destination = {"path": str(directory / "absent")}, {"bucket": "b", "key": "k"}
    request = {
        "kind": kind,
        "backend": str(known_client(kind).driver),
        "endpoint_url": "http://127.0.0.1:1",
        "ca_bundle": None,
        "region": "us-east-1",
        "site": None,
        "settings": {},
        "command": {
            "verb": "cp",
            "direction": "upload",
            "recursive": False,
            "delete": False,
            "filters": [],
            "source": source,
            "destination": destination,
        },
    }
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "HOME": str(directory), "PATH": os.defpath}
    return subprocess.run(
        [*FORKED, sys.executable, str(DRIVER), json.dumps(request)],
        env={**keys, **variables},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_the_driver_tells_its_modules_and_plants_after_the_sdks_imports(tmp_path: Path) -> None:
    plain, more = (
        (
            drive(inspection_variables(modules_file=tmp_path / name, injection=injection), tmp_path),
            read_modules(tmp_path / name),
        )
        for name, injection in (("plain", None), ("more", FaultInjection(imports=1)))
    )
    for done, names in (plain, more):
        assert (done.returncode, "Traceback" in done.stderr) == (1, False)
        assert "absent" in done.stderr
        assert {"boto3", "botocore", "s3transfer"} <= set(names or ())
        assert not [name for name in names or () if name.startswith("s3bench")]
    assert len(set(more[1] or ()) - set(plain[1] or ())) == 1
