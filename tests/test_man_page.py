"""The manual page is that of the commands as they are, and valid for man(1)."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "man" / "s3bench.1"


def test_the_manual_page_is_that_of_the_commands() -> None:
    """Rendered in a process of its own: a command remembers the help option of whoever asked first."""
    render = (sys.executable, str(ROOT / "scripts" / "man_page.py"))
    finished = subprocess.run(render, check=True, capture_output=True, text=True, timeout=200, cwd=ROOT)
    assert finished.stdout == PAGE.read_text(encoding="utf-8"), "run scripts/man"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_manual_page_has_no_warnings_and_reads_as_the_help() -> None:
    command = ("groff", "-man", "-ww", "-Tascii", "-P-cbou", str(PAGE))
    finished = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert finished.stderr == ""
    assert "S3BENCH LOAD MERGE" in finished.stdout
    assert "s3bench run -n 10 -k 'cp and upload' -o results.json" in finished.stdout
