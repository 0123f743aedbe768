"""docs/architecture.md names packages and modules that exist, and leaves no package out."""

import re
from pathlib import Path

import s3bench

ROOT = Path(s3bench.__file__).parent
MAP = (ROOT.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGES = {
    ".".join(init.parent.relative_to(ROOT).parts)
    for init in ROOT.rglob("__init__.py")
    if init.parent != ROOT and "probes" not in init.parts
}
MODULES = PACKAGES | {".".join(file.relative_to(ROOT).with_suffix("").parts) for file in ROOT.rglob("*.py")}


def layers() -> set[str]:
    """Return the packages and modules in the picture of the layers, which two blanks or more set apart."""
    picture = MAP.split("```text\n")[1].split("```")[0]
    return {
        word for line in picture.splitlines() for word in re.split(r" {2,}", line) if re.fullmatch(r"[a-z0-9_]+", word)
    }


def test_every_module_it_names_exists() -> None:
    named = set(re.findall(r"`([a-z][a-z_0-9]*(?:\.[a-z_0-9]+)+)`", MAP)) - {"pyproject.toml"}
    assert named - MODULES == set()


def test_the_layers_are_the_packages() -> None:
    top = {name.partition(".")[0] for name in MODULES} - {"__init__", "__main__"}
    assert layers() == top


def test_every_package_is_named() -> None:
    named = {name for name in PACKAGES if re.search(rf"`{re.escape(name)}(?:\.[a-z_.]+)?`", MAP)}
    assert PACKAGES - named - layers() == set()
