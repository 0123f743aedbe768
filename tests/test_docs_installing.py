"""The install commands of the documentation: none names a package that is not there, and each works."""

import re
import subprocess
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
TEXTS = [
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "docs").rglob("*.yaml"),
    *(ROOT / "examples").rglob("*.*"),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]
REQUIREMENT = re.compile(
    r"""(?<=["' ])s3bench(?P<extras>\[[a-z,]+\])?(?P<version>[=<>~!]=[^"' ]*)?(?P<url> @ [^"' ]+)?"""
)


def install_lines() -> list[str]:
    """All lines of the documentation that install s3bench by pip."""
    lines = (line for path in TEXTS for line in path.read_text(encoding="utf-8", errors="replace").splitlines())
    return [line for line in lines if "pip install " in line and "client-plugin" not in line]


def test_no_line_installs_what_is_not_on_the_index() -> None:
    named = [match for line in install_lines() for match in REQUIREMENT.finditer(line)]
    assert len(named) > 8
    for match in named:
        assert match["version"] is None, match[0]
        assert (match["url"] or "").partition("@main")[0] == f" @ git+{REPOSITORY}", match[0]


def test_every_extra_that_is_named_exists() -> None:
    extras = {
        name for line in install_lines() for match in re.findall(r"\[([a-z,]+)\]", line) for name in match.split(",")
    }
    assert extras - {"default"} == set(PROJECT["optional-dependencies"])  # `default` is Ray's


@pytest.mark.campaign
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "requirement", ["s3bench @ git+file://localhost{}@main", "{}", "{}[charts,postgresql]", "wheel"]
)
def test_it_can_be_installed_from_wherever_the_page_says(requirement: str, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    clone = tmp_path / "clone"
    subprocess.run(("git", "clone", "--quiet", "--branch", "main", ROOT, clone), check=True)
    if requirement == "wheel":
        subprocess.run((python, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path, clone), check=True)
        (wheel,) = tmp_path.glob("s3bench-*.whl")
        requirement = str(wheel)
    subprocess.run((python, "-m", "pip", "install", "--quiet", requirement.format(clone)), check=True)
    said = subprocess.run((tmp_path / "venv" / "bin" / "s3bench", "--version"), check=True, capture_output=True)
    assert said.stdout.startswith(b"s3bench, version ")
