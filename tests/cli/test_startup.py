"""What commands import before they need it. Start-up costs imports; a timed assertion would judge the machine."""

import json
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from s3bench.cli.main import s3bench_command

# Each command line runs in a fork of a process that has imported the standard library's part of the front door alone.
PROGRAM = """
import json, os, sys
before = set(sys.modules)  # among them what the system's Python imports at its start, as `sitecustomize`
from s3bench.cli.main import main

for arguments in json.load(sys.stdin):
    if os.fork():
        os.wait()
        continue
    data = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.argv = ["s3bench", *arguments]
    code = 1
    try:
        main()
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        names = sorted(name for name in sys.modules.keys() - before if not name.startswith("_"))
        os.write(data, (json.dumps([arguments, code, names]) + "\\n").encode())
        os._exit(0)
"""


def command_lines(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    """The help of `command`, and of all commands below it."""
    yield (*path, "--help")
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from command_lines(below, *path, name)


HELP = tuple(command_lines(s3bench_command))
QUICK = (("run", "--list"), ("validate", "benchmarks.json"), ("validate", "--schema"))


def test_what_runs_nothing_imports_only_what_parses_and_help_no_command(request: pytest.FixtureRequest) -> None:
    finished = subprocess.run(
        (sys.executable, "-c", PROGRAM),
        input=json.dumps([*HELP, *QUICK]),
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
        cwd=request.config.rootpath,
    )
    rows = [json.loads(line) for line in finished.stdout.splitlines()]
    assert {tuple(arguments): code for arguments, code, _ in rows} == dict.fromkeys((*HELP, *QUICK), 0)
    allowed = {"s3bench", "click", "msgspec", "typing_extensions", *sys.stdlib_module_names}
    imported = {tuple(arguments): {name.partition(".")[0] for name in names} for arguments, _, names in rows}
    assert {arguments: names - allowed for arguments, names in imported.items() if names - allowed} == {}
    [front_door] = (names for arguments, _, names in rows if arguments == ["--help"])
    assert [name for name in front_door if name.startswith("s3bench.cli.") and name.endswith("command")] == []
    assert [name for name in front_door if name.startswith(("s3bench.spec", "msgspec"))] == []


def imported_by(module: str) -> frozenset[str]:
    """What `module` imports, and what that imports."""
    program = (
        f"import json, sys; before = {{*sys.modules}}; import {module}; print(json.dumps([*{{*sys.modules}} - before]))"
    )
    finished = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, check=True)
    return frozenset(json.loads(finished.stdout))


def test_runs_need_no_numpy() -> None:
    assert "numpy" not in imported_by("s3bench.cli.run.action")


def test_the_server_of_a_stub_imports_nothing_of_emulators_networks_and_tls() -> None:
    names = imported_by("s3bench.s3.server.host")
    assert {name for name in names if name.startswith("s3bench.s3.emulator.")} == {"s3bench.s3.emulator.settings"}
    assert not names & {"s3bench.s3.network.networked", "statistics"}
    assert not names & {"s3bench.s3.server.tls", "ssl"}
    assert not names & {"email", "numpy", "xml"}


def test_a_load_worker_imports_nothing_that_only_directory_buckets_need() -> None:
    names = imported_by("s3bench.load.engine.worker")
    assert not names & {"s3bench.load.engine.session_keys", "http.client", "email", "xml"}
