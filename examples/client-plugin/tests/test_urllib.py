"""The package's own test: installed beside s3bench, its client runs like any other."""

import json
import subprocess
import sys
from pathlib import Path

DEFINITION = {
    "name": "upload",
    "command": ["s3", "cp", "file", "s3://bucket/key"],
    "clients": ["urllib"],
    "environment": {"files": [{"name": "file", "size": 100_000, "fill": "random"}]},
    "responses": [{"match": {"method": "PUT", "path": "/bucket/key"}}],
}


def test_urllib_uploads_a_file(tmp_path: Path) -> None:
    definitions, results = tmp_path / "definitions.json", tmp_path / "results.json"
    definitions.write_text(json.dumps([DEFINITION]))
    argv = [sys.executable, "-c", "from s3bench.cli.main import main; main()", "run", str(definitions)]
    done = subprocess.run([*argv, "-n", "1", "-q", "-o", str(results)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(results.read_text())["results"]
    assert result["client"]["name"] == "urllib"
    assert result["measurements"][0]["requests_by_kind"] == {"PUT": 1}
