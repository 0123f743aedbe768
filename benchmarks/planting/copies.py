"""Copies of a client for both sides of a trial; a cause is planted into the candidate's. Originals are not touched.

AWS's frozen aws-cli has no source files. There, both sides load a plug-in of ours, by a config file of their own, and
the cause is planted into the candidate's plug-in.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from planting.causes import Planted
from planting.places import BOTO3, CLI_V1, CLI_V2, Places
from s3bench.bench.runner import PLAIN, Bench, Conditions, Settings
from s3bench.clients.awsconfig import with_section
from s3bench.clients.client import FoundClient
from s3bench.clients.launch import PROBES
from s3bench.clients.staging import stage
from s3bench.errors import BadInput
from s3bench.gate.evidence import Side
from s3bench.spec.definition import Definition

_EXTENSION = Path(__file__).parent / "s3_extension"
_QUIET = Settings(interval_s=None, measures_speed=False, probes=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Both sides of a trial. `new_lines` are the planted lines, by file below the import root."""

    clients: Mapping[Side, FoundClient]
    conditions: Mapping[Side, Conditions]
    new_lines: Mapping[str, tuple[range, ...]]


def places_of(found: FoundClient) -> Places:
    """Where causes can be planted into this client. Raises `BadInput` if nowhere."""
    if found.kind == "boto3-classic" and found.site is not None:
        return BOTO3
    if found.kind == "cli-classic" and found.site is not None:
        return CLI_V1
    if found.kind == "cli-classic" and found.release[:1] == (2,):
        return CLI_V2
    raise BadInput(
        f"{found.label} cannot be copied and changed",
        "causes are planted into directories of packages and, by a plug-in, into AWS's aws-cli v2",
        "install it with `pip install --target DIR boto3` or `pip install --target DIR awscli`, and pass "
        "boto3-classic@DIR or cli-classic@DIR",
    )


def make_copies(
    bench: Bench, found: FoundClient, definition: Definition, place: Path, planted: Planted | None
) -> Copies:
    """Make both copies in `place`, which does not exist. With nothing planted they are equal."""
    roots = {side: place / side.value[0] for side in Side}
    if places_of(found) is CLI_V2:
        config = _config_text(bench, found, definition)
        clients = dict.fromkeys(Side, found)
        conditions = {side: _with_extension(root, config) for side, root in roots.items()}
    else:
        clients = {side: stage(found, root).client for side, root in roots.items()}
        conditions = dict.fromkeys(Side, PLAIN)
    lines = planted.put_into(roots[Side.CANDIDATE]) if planted else {}
    return Copies(clients=clients, conditions=conditions, new_lines=lines)


def _with_extension(root: Path, config: str) -> Conditions:
    shutil.copytree(_EXTENSION, root / _EXTENSION.name, ignore=shutil.ignore_patterns("__pycache__"))
    plugins = {
        "cli_legacy_plugin_path": f"{PROBES}:{root}",
        "s3bench": "s3bench_probe.plugin",
        _EXTENSION.name: _EXTENSION.name,
    }
    (root / "config").write_text(with_section(config, "plugins", plugins), encoding="utf-8")
    return Conditions(env={"AWS_CONFIG_FILE": str(root / "config")})


def _config_text(bench: Bench, found: FoundClient, definition: Definition) -> str:
    """The config file that the client gets without plug-ins."""
    with bench.workspace(definition.environment) as runner_of:
        runner = runner_of(definition, found)
        runner.run_once(0, _QUIET, "config")
        return (runner.workspace.home / ".aws" / "config").read_text(encoding="utf-8")
