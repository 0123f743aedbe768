"""Finds the interpreter of a script, and the directories from which a Python interpreter imports.

Reads `#!` lines as Linux does, and runs the interpreter to get its import path. Only the interpreter knows it: editable
installations, system packages and several Pythons below one prefix cannot be seen from outside.
"""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from s3bench.errors import ClientNotFound

# How much of a program Linux reads to learn how to start it (BINPRM_BUF_SIZE in include/uapi/linux/binfmts.h).
_HEAD_BYTES = 256
_ANSWER_TIMEOUT_S = 60.0
_NAME = re.compile(r"(python|pypy)[0-9.]*")
# Top-level modules are located, not imported. The path is reported as it is after all .pth files.
_QUESTION = """
import importlib.util, json, sys
places = {}
for name in sys.argv[1:]:
    spec = importlib.util.find_spec(name)
    if spec is not None:
        places[name] = next(iter(spec.submodule_search_locations or ()), spec.origin)
print(json.dumps({"path": sys.path, "places": places}))
"""


def script_words(executable: Path) -> tuple[str, ...]:
    """Read which interpreter a script names after `#!`, with its argument if it has one; empty for other programs.

    execve(2): everything after the interpreter is one argument.
    """
    try:
        with executable.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except PermissionError:  # executable but not readable: no interpreter could read it as a script either
        return ()
    if not head.startswith(b"#!"):
        return ()
    line = os.fsdecode(head[2:].partition(b"\n")[0]).strip(" \t\r")
    return tuple(line.split(maxsplit=1))


def has_interpreter(executable: Path) -> bool:
    """Whether the interpreter that a script names exists; also true of other programs."""
    return all(os.path.exists(word) for word in script_words(executable)[:1])  # noqa: PTH110 (unlike `Path`, it never raises)


def is_python(program: Path) -> bool:
    """Whether `program` is named as Python interpreters are: `python`, `python3.12`, `pypy3`."""
    return _NAME.fullmatch(program.name) is not None


def import_path(python: Path) -> tuple[Path, ...]:
    """Ask `python` for the directories it imports from. Raises `ClientNotFound` if it does not respond."""
    return tuple(Path(place) for place in _ask(python)["path"])


def module_places(python: Path, names: tuple[str, ...]) -> Mapping[str, Path]:
    """Ask `python` where the top-level modules `names` are: directories for packages, files for others.

    Missing modules are left out. Raises `ClientNotFound` if it does not respond.
    """
    return {name: Path(place) for name, place in _ask(python, *names)["places"].items() if place}


def _ask(python: Path, *names: str) -> dict[str, dict[str, str]]:
    environment = {"PATH": os.defpath, "HOME": "/nonexistent", "LANG": "C.UTF-8"}
    try:
        done = subprocess.run(
            [str(python), "-I", "-c", _QUESTION, *names],
            env=environment,
            capture_output=True,
            text=True,
            timeout=_ANSWER_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        answer: dict[str, dict[str, str]] = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClientNotFound(f"the interpreter {python} does not run", str(error), "name another one") from error
    except ValueError as error:
        said = (done.stderr or done.stdout).strip()[-500:]
        raise ClientNotFound(f"the interpreter {python} does not work", said, "name another one") from error
    return answer
