"""kill -9 of the harness at random moments: never a broken document, an orphan, or a stranger's loss."""

import json
import os
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.e2e.conftest import COMMAND, MIB, Finished, download, starting, upload

ROUNDS = 50
_DEATH_S = 20.0


@pytest.mark.campaign
@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("aws_cli")
def test_fifty_kills_lose_nothing_but_the_running_iteration(
    s3bench: Callable[..., Finished],
    define: Callable[..., Path],
    environment: dict[str, str],
    workspaces: Path,
    tmp_path: Path,
) -> None:
    definitions = define(upload(4 * MIB, clients=["s5cmd", "boto3-classic"]), download(4 * MIB), starting())
    stranger = workspaces / f"s3bench-{os.getuid()}-1-stranger"
    stranger.mkdir()
    (stranger / "precious").write_text("precious")
    moments = random.Random(20261121)
    output = tmp_path / "results.json"
    command = (*COMMAND, "run", "-q", "-n", "100", "-o", str(output), "--force", str(definitions))
    for number in range(ROUNDS):
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(moments.uniform(0.1, 3.0))  # the random moment that this campaign is about
        family = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.wait()
        _, alive = psutil.wait_procs(family, timeout=_DEATH_S)
        assert alive == [], f"round {number}"
        if output.exists():
            json.loads(output.read_text())
    assert s3bench("run", "-o", output, "--force", define(starting())).code == 0
    assert [path.name for path in workspaces.iterdir()] == [stranger.name]
    assert (stranger / "precious").read_text() == "precious"
    assert not list(tmp_path.glob(".*.part"))
