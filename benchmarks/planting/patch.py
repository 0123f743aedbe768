"""Changes source files in a copy of a client: lines at the start of a function, after a module's imports, at its end.

A copy's files are hard links to the originals, so a changed file is a new one, and byte-code of the old one is removed.
"""

import ast
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from planting.places import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Lines for a function's start; for a module, after its last import. `appended` come to the file's end."""

    place: Place
    lines: tuple[str, ...]
    appended: tuple[str, ...] = ()


def apply(patch: Patch, root: Path) -> tuple[range, ...]:
    """Change the file below `root`; returns the numbers of the new lines. Raises `ValueError` if there is no place."""
    path = root / patch.place.file
    source, lines = patched(path.read_text(encoding="utf-8"), patch)
    write(path, source)
    return lines


def write(path: Path, source: str) -> None:
    """Write a source file anew, without touching the file that the old name was a link to."""
    path.unlink(missing_ok=True)
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
    path.write_text(source, encoding="utf-8")


def patched(source: str, patch: Patch) -> tuple[str, tuple[range, ...]]:
    """The changed source, and the numbers of its new lines."""
    tree, lines = ast.parse(source), source.splitlines()
    if patch.place.function:
        first = _first_statement(tree, patch.place)
        before, indent = min([first.lineno, *_decorator_lines(first)]), " " * first.col_offset
    else:
        before, indent = _end_of_imports(tree) + 1, ""
    lines[before - 1 : before - 1] = [indent + line for line in patch.lines]
    added = [range(before, before + len(patch.lines))]
    if patch.appended:
        added.append(range(len(lines) + 3, len(lines) + 3 + len(patch.appended)))
        lines += ["", "", *patch.appended]
    text = "\n".join(lines) + "\n"
    ast.parse(text)
    return text, tuple(added)


def _first_statement(tree: ast.Module, place: Place) -> ast.stmt:
    node: ast.Module | ast.ClassDef | ast.FunctionDef = tree
    for word in place.function.split("."):
        named = (each for each in ast.walk(node) if isinstance(each, ast.ClassDef | ast.FunctionDef))
        found = next((each for each in named if each.name == word), None)
        if found is None:
            raise ValueError(f"{place.file} has no {place.function}: this release needs another place")
        node = found
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if not body:
        raise ValueError(f"{place.file}: {place.function} has only a docstring")
    if body[0].lineno == node.lineno:
        raise ValueError(f"{place.file}: {place.function} is one line")
    return body[0]


def _decorator_lines(statement: ast.stmt) -> list[int]:
    return [each.lineno for each in getattr(statement, "decorator_list", [])]


def _end_of_imports(tree: ast.Module) -> int:
    """The last line of the module's own imports (0 if there are none), those inside `try` and `if` not counted."""
    imports = [each for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom)]
    if imports:
        return imports[-1].end_lineno or 0
    is_described = ast.get_docstring(tree, clean=False) is not None
    return (tree.body[0].end_lineno or 0) if is_described else 0
