"""A command without the packages of its extra: exit code 2, and a line that installs them."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from s3bench.errors import BadInput
from s3bench.extras import install_command, needs_extra

WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
sys.argv = ["s3bench", *{arguments!r}]
from s3bench.cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("extra", "package"),
    [("charts", "altair"), ("cluster", "ray[client]"), ("profile", "py-spy"), ("postgresql", "psycopg[binary]")],
)
def test_the_command_installs_what_the_extra_declares_for_this_interpreter(extra: str, package: str) -> None:
    program, *arguments = shlex.split(install_command(extra))
    assert program == sys.executable
    assert arguments[:3] == ["-m", "pip", "install"]
    assert any(argument.startswith(f"{package}>=") for argument in arguments[3:])


def test_an_import_that_fails_is_bad_input_with_that_command() -> None:
    with pytest.raises(BadInput) as raised, needs_extra("a page with charts", "charts"):
        raise ModuleNotFoundError("No module named 'altair'")
    assert "No module named 'altair'" in str(raised.value)
    assert raised.value.fix == install_command("charts")


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (("report", "run.json", "-o", "page.html"), {"altair", "vl_convert"}),
        (("history", "list", "--store", "postgresql://u@127.0.0.1:1/d"), {"psycopg"}),
        (("run", "--cluster", "auto"), {"ray"}),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_commands_say_what_to_install(tmp_path: Path, arguments: tuple[str, ...], absent: set[str]) -> None:
    (tmp_path / "run.json").write_text('{"schema_version": 5, "results": []}')
    done = subprocess.run(
        (sys.executable, "-c", WITHOUT.format(absent=absent, arguments=arguments)),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert f"{sys.executable} -m pip install" in done.stderr
    assert not (tmp_path / "page.html").exists()
