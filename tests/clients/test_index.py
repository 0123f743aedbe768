"""The talk with pip: a pip of our own making plays it."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from s3bench.clients import index
from s3bench.errors import ClientNotFound, ExitCode, MachineError, VersionNotFound


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let `code`, which sees the arguments as `argv`, play pip."""

    def play(code: str) -> None:
        program = tmp_path / "pip.py"
        program.write_text(f"import sys, pathlib\nargv = sys.argv[1:]\n{code}\n")
        monkeypatch.setattr(index, "_PIP", (sys.executable, str(program)))

    return play


def test_versions_are_read_from_pips_answer(pip: Callable[[str], None]) -> None:
    pip("print('x (2.0.2)'); print('Available versions: 2.0.2, 2.0.1'); print('  INSTALLED: 1')")
    assert index.available_versions("x") == ("2.0.2", "2.0.1")


def test_a_download_tells_how_far_it_is(pip: Callable[[str], None], tmp_path: Path) -> None:
    pip(
        "print('Progress 5 of 10'); print('Progress 10 of 10')\n"
        "pathlib.Path(argv[argv.index('--dest') + 1], 'x-1-py3-none-any.whl').touch()"
    )
    told: list[tuple[int, int]] = []
    wheel = index.download_wheel("x", "1", tmp_path, progress=lambda done, total: told.append((done, total)))
    assert wheel.name == "x-1-py3-none-any.whl"
    assert told == [(5, 10), (10, 10)]


def test_only_wheels_are_ever_asked_for(pip: Callable[[str], None], tmp_path: Path) -> None:
    pip(f"pathlib.Path({str(tmp_path)!r}, 'argv').write_text(' '.join(argv))")
    index.install_packages("x==1", tmp_path / "site", progress=lambda _done, _total: None)
    assert "--only-binary=:all:" in (tmp_path / "argv").read_text()


def test_a_network_that_is_not_there_is_named(pip: Callable[[str], None]) -> None:
    pip(
        "sys.stderr.write('WARNING: Retrying: Failed to establish a new connection\\n')\n"
        "sys.exit('ERROR: Could not find a version that satisfies the requirement x (from versions: none)')"
    )
    with pytest.raises(ClientNotFound) as caught:
        index.available_versions("x")
    assert "Could not find a version" in caught.value.why
    assert "reachable" in caught.value.fix


def test_a_version_that_is_not_there_is_no_network_fault(pip: Callable[[str], None]) -> None:
    pip("sys.exit('ERROR: No matching distribution found for x==9')")
    with pytest.raises(VersionNotFound) as caught:
        index.available_versions("x")
    assert "reachable" not in caught.value.fix
    assert caught.value.exit_code is ExitCode.BAD_INPUT


def test_a_missing_pip_is_ours_to_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_PIP", (sys.executable, "-m", "no_such_module"))
    with pytest.raises(ClientNotFound):
        index.available_versions("x")
    monkeypatch.setattr(index, "_PIP", (sys.executable, "-c", "import sys; sys.exit('No module named pip')"))
    with pytest.raises(MachineError, match="pip is missing"):
        index.available_versions("x")


def test_a_pip_that_hangs_is_ended(pip: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    pip("import signal; signal.pause()")
    monkeypatch.setattr(index, "_QUESTION_TIMEOUT_S", 0.2)
    with pytest.raises(ClientNotFound):
        index.available_versions("x")


def test_a_wheel_that_is_no_download_has_no_head(pip: Callable[[str], None]) -> None:
    pip('print(\'{"install": [{"download_info": {"url": "file:///x.whl"}}]}\')')
    assert index.wheel_head("x", "1") is None
    pip("print('no json')")
    assert index.wheel_head("x", "1") is None
