"""The pages that say how to start Ray somewhere, the files that they speak of, and the commands in both."""

import shlex
from pathlib import Path
from typing import Any

import yaml

from tests.documented import ROOT, lines_of

DOCS = ROOT / "docs"
EC2, KUBERNETES = DOCS / "cluster-ec2.md", DOCS / "cluster-kubernetes.md"
RAY_UP, KUBERAY = DOCS / "cluster" / "ray-up.yaml", DOCS / "cluster" / "kuberay.yaml"


def ray_up() -> dict[str, Any]:
    """The configuration of `ray up`."""
    loaded: dict[str, Any] = yaml.safe_load(RAY_UP.read_text(encoding="utf-8"))
    return loaded


def manifest(kind: str) -> dict[str, Any]:
    """The one document of that kind in the manifest for Kubernetes."""
    documents = yaml.safe_load_all(KUBERAY.read_text(encoding="utf-8"))
    (found,) = (each for each in documents if each["kind"] == kind)
    return dict(found)


def commands(page: Path) -> list[list[str]]:
    """What a page lets the reader type, as words."""
    return [shlex.split(line) for line in lines_of(page)]


def embedded(name: str) -> list[list[str]]:
    """The commands that begin with `name` on both pages: by themselves, and those that are run on a node."""
    found = []
    for words in (*commands(EC2), *commands(KUBERNETES)):
        if words[0] == name:
            found.append(words)
        if words[:2] == ["ray", "exec"]:
            found += [inner] if (inner := shlex.split(words[3]))[0] == name else []
        if "--" in words:
            found += [inner] if (inner := words[words.index("--") + 1 :])[0] == name else []
    return found


def start_commands() -> list[list[str]]:
    """The `ray ...` in the configuration of `ray up`, as words."""
    recipe = ray_up()
    lines = (*recipe["head_start_ray_commands"], *recipe["worker_start_ray_commands"])
    return [words for line in lines for part in line.split(";") if (words := shlex.split(part))[0] == "ray"]
