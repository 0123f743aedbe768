"""The README tells the truth: its commands exist and its options are known."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
COMMAND = (sys.executable, "-c", "from s3bench.cli.main import main; main()")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
LINES = [line.partition("  #")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]


def test_the_two_commands_of_a_newcomer_stand_there() -> None:
    assert LINES[:2] == ["scripts/run-benchmarks --num-iterations 2", "scripts/test"]


@pytest.mark.parametrize("line", [line for line in LINES if " run " in line and "my-benchmarks" not in line])
def test_every_run_of_the_readme_plans_without_error(line: str) -> None:
    words = [word for word in shlex.split(line)[1:] if word != "--help"]
    finished = subprocess.run(
        (*COMMAND, *words, "--list"), capture_output=True, text=True, timeout=50, check=False, cwd=ROOT
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout


def test_every_page_and_script_that_the_readme_names_is_there() -> None:
    named = re.findall(r"\]\((docs/[^)]+)\)", README) + re.findall(r"`(scripts/[a-z-]+)", README)
    named += [f"benchmarks/{name}" for name in re.findall(r"`([a-z_]+\.py)`", README)]
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_example_has_the_keys_of_a_real_measurement() -> None:
    (block,) = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
    from s3bench.results.measurement import Measurement  # noqa: PLC0415 (only this test needs it)

    (example,) = json.loads(block)["measurements"]
    assert set(example) <= set(Measurement.__struct_fields__)
