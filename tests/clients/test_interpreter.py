"""Interpreters: what scripts name in their first line, and what a real interpreter says about itself."""

import os
import sys
from pathlib import Path

import pytest

from s3bench.clients.interpreter import import_path, is_python, module_places, script_words
from s3bench.errors import ClientNotFound


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"#!/bin/sh\nrest", ("/bin/sh",)),
        (b"#! /usr/bin/env  python3 -s \nrest", ("/usr/bin/env", "python3 -s")),
        (b"#!/bin/sh", ("/bin/sh",)),
        (b"\x7fELF#!/bin/sh", ()),
        (b"", ()),
    ],
)
def test_a_script_names_its_interpreter_and_one_argument(head: bytes, words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(head)
    assert script_words(tmp_path / "program") == words


def test_pythons_are_known_by_their_names() -> None:
    assert all(is_python(Path("/x", name)) for name in ("python", "python3", "python3.12", "pypy3"))
    assert not any(is_python(Path("/x", name)) for name in ("aws", "python-config", "s5cmd", "ipython"))


def test_an_interpreter_tells_its_path_and_where_modules_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "botocore").mkdir()
    (tmp_path / "botocore" / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)  # what lies in the current directory is no part of an environment
    python = Path(sys.executable)
    assert Path(os.__file__).parent in import_path(python)
    places = module_places(python, ("botocore", "six", "there_is_no_such_module"))
    assert places["botocore"].name == "botocore"
    assert (places["botocore"] / "data").is_dir()
    assert places["six"].name == "six.py"
    assert "there_is_no_such_module" not in places


@pytest.mark.parametrize("program", ["", "#!/bin/sh\necho no json\n", "#!/bin/sh\necho broken >&2; exit 1\n"])
def test_what_does_not_answer_as_an_interpreter_is_refused(program: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    if program:
        python.write_text(program)
        python.chmod(0o755)
    with pytest.raises(ClientNotFound, match="interpreter"):
        import_path(python)
