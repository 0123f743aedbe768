"""The install commands of the documentation: none names a package that is not there, and each works."""

import re
import subprocess
import tomllib
import venv
from pathlib import Path

import pytest

from s3bench.clients import index
from s3bench.clients.aws_cli.package import ASSET, _asset_with
from s3bench.clients.store import ClientStore

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

VERSION = re.compile(
    r"(?:(?:cli|aws-cli|cli-crt|cli-classic)@|(?:BASELINE\W+|--(?:good|bad|reference) ))(?P<version>2\.\d+\.\d+)"
)
PUBLISHED = {"2.34.3", "2.34.52", "2.36.1", "2.37.2", "2.38.5"}


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


def test_every_version_of_the_aws_cli_in_an_example_is_published() -> None:
    """AWS publishes only some releases on the index; the campaign below asks it for these."""
    texts = (*TEXTS, ROOT / "action.yml", *(ROOT / ".github").rglob("*.yml"), *(ROOT / "s3bench" / "cli").rglob("*.py"))
    named = {
        match["version"]
        for path in texts
        for match in VERSION.finditer(path.read_text(encoding="utf-8", errors="replace"))
    }
    assert named == PUBLISHED


@pytest.mark.campaign
@pytest.mark.timeout(400)
def test_the_index_has_the_versions_of_the_examples(tmp_path: Path) -> None:
    store = ClientStore(tmp_path)
    assets = index.available_versions(ASSET)
    for version in sorted(PUBLISHED):
        _asset_with(version, assets, store, lambda *_progress: None)  # raises `VersionNotFound`


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
    if "[" not in requirement:
        blocks = sum(path.lstat().st_blocks for path in (tmp_path / "venv").rglob("*"))
        assert blocks * 512 < 250 << 20, "what every user installs has grown; `du -sm` of each package shows which"
