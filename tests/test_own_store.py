"""The suite's own store: what tests install and remember is not the user's."""

import os
import subprocess
import sys
from pathlib import Path

_INNER = """
import os
from s3bench.clients.store import ClientStore


def test_a_fact_is_remembered():
    ClientStore.from_environment(os.environ).remembered("key", [], lambda: "fact")
"""


def test_the_suite_leaves_the_users_store_alone(tmp_path: Path) -> None:
    (tmp_path / "test_inner.py").write_text(_INNER)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "S3BENCH_", "PYTEST_"))}
    finished = subprocess.run(
        (sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider", "test_inner.py"),
        cwd=tmp_path,
        env={**kept, "HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert not (tmp_path / ".local").exists()
    assert (tmp_path / ".cache" / "s3bench-tests" / "facts.json").is_file()
