"""`s3bench describe`: the document on stdout, all else on stderr."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from s3bench.cli.main import s3bench_command
from s3bench.errors import BadInput


def describe(*words: str | Path, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(s3bench_command, ["describe", *map(str, words)], input=stdin)


def test_stdout_is_the_document_and_stderr_the_summary_and_the_warnings(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(4096))
    (tmp_path / "link").symlink_to("file")
    done = describe(tmp_path)
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert (document["kind"], document["sizes"], document["left_out"]["symlinks"]) == ("file-sizes", [[4096, 1]], 1)
    assert "1 file of 4.00 KiB; 0 folders; all sizes exact" in done.stderr
    assert "warning: 1 left out: symbolic links" in done.stderr


def test_quiet_leaves_out_the_summary_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(4096))
    assert describe(tmp_path, "-q").stderr == ""


def test_a_listing_can_come_from_a_pipe() -> None:
    done = describe("-", stdin="2026-01-01 00:00:00    5 a/b\n2026-01-01 00:00:00    7 c\n")
    assert json.loads(done.stdout)["sizes"] == [[5, 1], [7, 1]]


def test_an_empty_path_is_not_the_current_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    done = describe("")
    assert isinstance(done.exception, BadInput)
    assert (done.stdout, done.exception.fix) == ("", "for the current directory, write: s3bench describe .")


@pytest.mark.parametrize(
    ("smallest", "step", "error_max", "words"),
    [(10**9, 4, 1e-6, "within 0.00010%"), (10**6, 7, 7e-6, "within 0.00070%"), (1000, 2, 0.001129, "within 0.12%")],
)
def test_the_error_of_condensed_sizes_is_rounded_up_and_never_to_exact(
    smallest: int, step: int, error_max: float, words: str
) -> None:
    sizes = (smallest + number * step for number in range(400))
    done = describe("-", stdin="".join(f"2026-01-01 00:00:00 {size} {size}\n" for size in sizes))
    assert json.loads(done.stdout)["size_error_max"] == error_max
    assert f"sizes {words}\n" in done.stderr


@pytest.mark.parametrize("stdin", ["", "garbage\n", "{}", f"2026-01-01 00:00:00 {'9' * 23} a\n", b'{"kind": "\xff"}'])
def test_what_cannot_be_described_is_bad_input_and_writes_nothing(stdin: str | bytes) -> None:
    done = describe("-", stdin=stdin)
    assert isinstance(done.exception, BadInput)
    assert done.stdout == ""
