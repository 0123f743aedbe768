"""What holds for the code as a whole: a class name stands for one thing, and imports go one way."""

import re
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

import s3bench

ROOT = Path(s3bench.__file__).parent
# Probes run inside the client's process, alone and on the client's Python: one cannot import a class from another.
PROBES = ROOT / "clients" / "probes"

GRAPH = grimp.build_graph("s3bench", cache_dir=None)
PACKAGES = sorted(module for module in GRAPH.modules if GRAPH.find_children(module))


def public_classes(path: Path) -> list[str]:
    """Return the classes at a module's top level; a nested or private class is named within its owner alone."""
    return re.findall(r"^class ([^\W_]\w*)", path.read_text(), flags=re.MULTILINE)


def test_a_public_class_name_stands_for_one_class() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        if not path.is_relative_to(PROBES):
            for name in public_classes(path):
                places[name].append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def imports_between_children(package: str) -> dict[str, set[str]]:
    """Return which child of a package imports which other one, directly or in any module below it."""
    depth = package.count(".") + 2
    imported: defaultdict[str, set[str]] = defaultdict(set)
    for module in GRAPH.modules:
        if module.startswith(f"{package}."):
            for target in GRAPH.find_modules_directly_imported_by(module):
                if target.startswith(f"{package}."):
                    one, other = (".".join(name.split(".")[:depth]) for name in (module, target))
                    imported[one] |= {other} - {one}
    return imported


@pytest.mark.parametrize("package", PACKAGES)
def test_no_packages_or_modules_import_each_other_in_a_circle(package: str) -> None:
    try:
        TopologicalSorter(imports_between_children(package)).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
