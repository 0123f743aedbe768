"""A spawner, and launches of Python code."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from s3bench.run.process import Launch, Spawner
from tests.run.programs import Launcher


@pytest.fixture(scope="module")
def spawner() -> Iterator[Spawner]:
    with Spawner() as spawner:
        yield spawner


@pytest.fixture
def launch(tmp_path: Path) -> Launcher:
    """Make launches of Python code, or of `argv`, whose output goes below `tmp_path`."""
    (tmp_path / "work").mkdir()

    def make(code: str = "", *args: str, argv: tuple[str, ...] = (), **changes: object) -> Launch:
        return replace(
            Launch(
                argv=argv or (sys.executable, "-I", "-S", "-c", code, *args),
                env={},
                cwd=tmp_path / "work",
                stdout=tmp_path / "stdout",
                stderr=tmp_path / "stderr",
                timeout_s=30,
                interval_s=0.001,
            ),
            **changes,  # type: ignore[arg-type]
        )

    return make
