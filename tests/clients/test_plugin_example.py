"""examples/client-plugin is a package that brings a client: its own test passes where it is installed."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "client-plugin"


def test_its_client_is_found_by_its_entry_point_and_passes_its_own_test(tmp_path: Path) -> None:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    info = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"  # as pip would make it
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = project["entry-points"]["s3bench.clients"]
    (info / "entry_points.txt").write_text(
        "\n".join(("[s3bench.clients]", *(f"{name} = {value}" for name, value in points.items()), ""))
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, EXAMPLE / "tests"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(EXAMPLE)))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
