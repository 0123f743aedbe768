"""Load profiles as files, in YAML or JSON, in our own form or s4's: reads them strictly, and renders them."""

from collections.abc import Mapping
from pathlib import Path

import yaml

from s3bench.errors import BadDefinitions, BadInput, Problem
from s3bench.load.profile.form import form_of, read_form
from s3bench.load.profile.placement import PlacedProfile
from s3bench.load.profile.stress import STRESS, read_stress
from s3bench.load.profile.table import PROFILE
from s3bench.load.profile.yaml_tree import YamlTree, decode_yaml
from s3bench.spec.reader import Complaint, JsonObject, Report, decode_json, render_path


def read_profile(path: Path) -> PlacedProfile:
    """Read the file `path`. Raises `BadInput` when it cannot be read or has problems."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(
            f"{path}: cannot be read: {error.strerror}", fix="pass the path of a load profile, in YAML or JSON"
        ) from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        said = Complaint(f"is not UTF-8: byte {error.start} is 0x{content[error.start]:02x}", "save the file as UTF-8")
        raise _whole_file(str(path), said) from error
    return parse_profile(text, str(path))


def parse_profile(text: str, source: str) -> PlacedProfile:
    """Parse a profile in our own form or s4's; `source` is its name in messages.

    Text that begins with a brace is JSON, any other YAML. Raises `BadDefinitions` with every problem, each with its
    JSON path, and in YAML its line, in the order of the file.
    """
    tree = _decode(text)
    if isinstance(tree, Complaint):
        raise _whole_file(source, tree)
    report = Report()
    placed = (read_stress if _is_stress(tree.value) else read_form)(tree.value, report)
    problems = report.problems(tree.value)
    if problems:
        lines = {render_path(at): line for at, line in tree.lines.items()}
        raise BadDefinitions(source, tuple(_with_line(problem, lines) for problem in problems))
    return placed


def render_profile(placed: PlacedProfile) -> str:
    """Render as YAML in our own form, defaults included; `parse_profile` reads the same from it."""
    return yaml.safe_dump(form_of(placed), sort_keys=False, allow_unicode=True, width=120)


def _decode(text: str) -> YamlTree | Complaint:
    if not text.lstrip().startswith("{"):
        return decode_yaml(text)
    decoded = decode_json(text)
    if not isinstance(decoded, Complaint):
        return YamlTree(value=decoded)
    in_yaml = decode_yaml(text)  # YAML too can begin with a brace
    return decoded if isinstance(in_yaml, Complaint) else in_yaml


def _is_stress(value: object) -> bool:
    """Whether the keys are s4's rather than ours."""
    names = {name for name, _ in value.pairs} if isinstance(value, JsonObject) else set()
    ours, theirs = ({key.name for key in record.keys} for record in (PROFILE, STRESS))
    return len(names & (theirs - ours)) > len(names & (ours - theirs))


def _with_line(problem: Problem, lines: Mapping[str, int]) -> Problem:
    """Add the line to a problem's path: of the value, or of what is around it where it is missing."""
    around = problem.path
    while around and around not in lines:
        around = around[: max(around.rfind("."), around.rfind("["))]
    if not around:
        return problem
    return Problem(path=f"{problem.path} (line {lines[around]})", what=problem.what, fix=problem.fix)


def _whole_file(source: str, complaint: Complaint) -> BadDefinitions:
    return BadDefinitions(source, (Problem(path="$", what=complaint.what, fix=complaint.fix),))
