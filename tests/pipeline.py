"""Runs the shell steps of the composite action `action.yml` in order, as a GitHub runner would."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
_EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")


class Runner:
    """A job on a runner with its own temporary directory, that runs steps of the action by name.

    Its files: `summary` (the job's summary), and the outputs of each step that ran.
    """

    def __init__(self, directory: Path, source: Path, inputs: Mapping[str, str]) -> None:
        """Prepare a job in `directory` for the action in `source`; `inputs` are what a workflow passes in `with:`."""
        defaults = {name: str(declared.get("default", "")) for name, declared in ACTION["inputs"].items()}
        assert set(inputs) <= set(defaults), "a workflow passes an input that the action does not have"
        self._values = {f"inputs.{name}": value for name, value in (defaults | dict(inputs)).items()}
        self._values |= {"github.action_path": str(source), "github.token": "", "github.repository": "o/r"}
        self._values["github.event.pull_request.number"] = "7"
        self._directory = directory
        self.summary = directory / "summary.md"
        self.temporary = directory / "temp"
        self.temporary.mkdir(parents=True)

    def run(self, name: str, *, path: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run the step called `name`, with `path` instead of this process's PATH."""
        (step,) = (step for step in ACTION["runs"]["steps"] if step["name"] == name)
        outputs = self._directory / "outputs"
        outputs.write_text("")
        done = subprocess.run(
            ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]),  # the runner's own `shell: bash`
            cwd=self._directory,
            env={
                **os.environ,
                "PATH": path or os.environ["PATH"],
                "RUNNER_TEMP": str(self.temporary),
                "GITHUB_OUTPUT": str(outputs),
                "GITHUB_STEP_SUMMARY": str(self.summary),
                **{key: self._filled(value) for key, value in step.get("env", {}).items()},
            },
            capture_output=True,
            text=True,
            check=False,
        )
        for line in outputs.read_text().splitlines():
            key, _, value = line.partition("=")
            self._values[f"steps.{step['id']}.outputs.{key}"] = value
        return done

    def output(self, name: str) -> str:
        """The action's output called `name`."""
        return self._filled(ACTION["outputs"][name]["value"])

    def _filled(self, text: str) -> str:
        return _EXPRESSION.sub(lambda match: self._values[match[1]], text)
