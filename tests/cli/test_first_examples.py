"""The first example in the help of every command, in an empty directory and without a network.

It runs, or says what is missing; what it lacks is found before anything is fetched.
"""

import re
import shlex
from pathlib import Path

import click
import pytest

from s3bench.cli.main import s3bench_command
from s3bench.run import doctor
from s3bench.run.inspection import Unavailable
from tests.cli.conftest import Here

NO_HISTORY = "create it with: s3bench history add results.json"
FIRST_EXAMPLES = {
    # command: the exit code of its help's first example in an empty directory, and what it says there
    "clients list": (0, "NOTES"),
    "compare": (2, "cannot read before.json"),
    "completion": (0, "_S3BENCH_COMPLETE"),
    "describe": (2, "data cannot be read"),
    "doctor": (0, "disk of workspaces"),
    "gate": (2, "cli-crt@./build/aws: no such file or directory"),
    "history add": (2, "cannot read results.json"),
    "history export": (2, NO_HISTORY),
    "history list": (2, NO_HISTORY),
    "history prune": (2, NO_HISTORY),
    "history show": (2, NO_HISTORY),
    "history trend": (2, NO_HISTORY),
    "load merge": (2, "cannot read host1.json"),
    "record": (2, "data: no such file or directory"),
    "report": (2, "cannot read results.json"),
    "validate": (0, "using the shipped one"),
}
LONG_EXAMPLES = {"bisect", "clients install", "load", "profile", "run", "tune"}
"""Commands whose first example takes more than seconds, or fetches packages."""
SERVERS = {"serve"}
"""Commands that run until they are stopped: tests/test_wheel.py starts them."""


def commands(command: click.Command, *path: str) -> dict[str, click.Command]:
    """All commands below `command`, by their names as typed; a group that does nothing by itself is left out."""
    own = {" ".join(path): command}
    if not isinstance(command, click.Group):
        return own
    context, found = click.Context(command), own if command.invoke_without_command else {}
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        found |= commands(below, *path, name)
    return found


def first_example(command: click.Command) -> list[str]:
    """The words of the first example in the help of `command`, without the remark behind it."""
    examples = re.findall(r"^ *s3bench (.+?)(?: {2,}.*)?$", command.help or "", flags=re.MULTILINE)
    words = shlex.split(examples[0])
    return words[: words.index(">")] if ">" in words else words


def test_every_command_has_a_first_example_that_is_tried_or_known_to_be_long() -> None:
    assert set(commands(s3bench_command)) == FIRST_EXAMPLES.keys() | LONG_EXAMPLES | SERVERS


@pytest.mark.parametrize("name", FIRST_EXAMPLES)
def test_in_an_empty_directory_the_first_example_runs_or_says_what_is_missing(
    name: str, here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    homes = {"HOME": str(tmp_path), "S3BENCH_HOME": str(tmp_path / "store"), "XDG_DATA_HOME": str(tmp_path / "data")}
    for variable, value in {**homes, "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}.items():
        monkeypatch.setenv(variable, value)
    # The doctor would run valgrind for seconds to see whether it counts; tests/run/test_instructions.py does.
    monkeypatch.setattr(doctor, "instruction_counter", lambda: Unavailable(reason="not tried"))
    finished = here(*first_example(commands(s3bench_command)[name]), cwd=empty)
    said = finished.stdout + finished.stderr
    assert (finished.returncode, FIRST_EXAMPLES[name][1] in said) == (FIRST_EXAMPLES[name][0], True), said
    assert list(empty.iterdir()) == []
