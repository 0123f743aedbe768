"""The manual page is that of the commands as they are, and valid for man(1)."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "man" / "s3bench.1"


def test_the_manual_page_is_that_of_the_commands() -> None:
    spec = importlib.util.spec_from_file_location("man_page", ROOT / "scripts" / "man_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.page() == PAGE.read_text(encoding="utf-8"), "run scripts/man"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_manual_page_has_no_warnings_and_reads_as_the_help() -> None:
    command = ("groff", "-man", "-ww", "-Tascii", "-P-cbou", str(PAGE))
    finished = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)
    assert finished.stderr == ""
    assert "S3BENCH LOAD MERGE" in finished.stdout
    assert "s3bench run -n 10 -k 'cp and upload' -o results.json" in finished.stdout
