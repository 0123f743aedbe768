"""The package's own test: installed beside s3bench, its client runs like any other."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

DEFINITION = {
    "name": "upload",
    "command": ["s3", "cp", "file", "s3://bucket/key"],
    "clients": ["urllib"],
    "environment": {"files": [{"name": "file", "size": 100_000, "fill": "random"}]},
    "responses": [{"match": {"method": "PUT", "path": "/bucket/key"}}],
}


def measured(results: Path, *arguments: str) -> list[dict[str, Any]]:
    """The results of `s3bench run` with these arguments; every run succeeds."""
    argv = [sys.executable, "-c", "from s3bench.cli.main import main; main()", "run", *arguments]
    done = subprocess.run([*argv, "-n", "1", "-q", "-o", str(results)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    whole: list[dict[str, Any]] = json.loads(results.read_text())["results"]
    return whole


def test_urllib_uploads_a_file(tmp_path: Path) -> None:
    definitions = tmp_path / "definitions.json"
    definitions.write_text(json.dumps([DEFINITION]))
    (result,) = measured(tmp_path / "results.json", str(definitions))
    assert result["client"]["name"] == "urllib"
    assert result["measurements"][0]["requests_by_kind"] == {"PUT": 1}


def test_urllib_lists_what_it_syncs_and_removes(tmp_path: Path) -> None:
    found = measured(tmp_path / "results.json", "--client", "urllib", "-k", "FileCount=100")
    requests = {each["name"]: each["measurements"][0]["requests_by_kind"] for each in found}
    assert requests == {
        "s3.sync.upload": {"GET list-type": 1, "PUT": 100},
        "s3.sync.download": {"GET list-type": 1, "GET": 100},
        "s3.rm": {"GET list-type": 1, "DELETE": 100},
    }
