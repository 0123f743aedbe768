"""Ray is asked for only where it is needed, and missed in words."""

import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from s3bench.cli.main import s3bench_command
from s3bench.cluster.engine import NodePurpose, connect
from s3bench.errors import BadInput, ExitCode

LIVE = ("--endpoint-url", "http://127.0.0.1:9", "--bucket", "data")


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BadInput, match="--cluster needs packages") as raised, connect("auto", nodes=None):
        pass
    assert raised.value.fix.endswith("-m pip install 'ray[client]>=2.40'")
    assert raised.value.exit_code is ExitCode.BAD_INPUT


@pytest.fixture
def busy_cluster(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The nodes of a Ray that is simulated, none of which has a core free; empty at first."""
    nodes: list[dict[str, Any]] = []
    ray, util, strategies = map(ModuleType, ("ray", "ray.util", "ray.util.scheduling_strategies"))
    usable = {"init": lambda **_: None, "shutdown": lambda: None, "nodes": lambda: nodes, "util": util}
    never = SimpleNamespace(wait=lambda _: False)
    places = {"placement_group": lambda *_, **__: never, "remove_placement_group": lambda _: None}
    vars(ray).update(usable)
    vars(util).update(places)
    for module in (ray, util, strategies):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return nodes


def refused(purpose: NodePurpose, nodes: int | None = None) -> BadInput:
    with pytest.raises(BadInput) as raised, connect("auto", nodes=nodes, purpose=purpose):
        pass
    return raised.value


def node(cores: float, *, alive: bool = True) -> dict[str, Any]:
    return {"Alive": alive, "Resources": {"CPU": cores} if cores else {}, "NodeID": "1", "NodeManagerAddress": ""}


@pytest.mark.parametrize("purpose", NodePurpose)
def test_a_cluster_of_a_head_without_cores_is_refused_by_an_error_that_names_no_option(
    busy_cluster: list[dict[str, Any]], purpose: NodePurpose
) -> None:
    busy_cluster += [node(0), node(4, alive=False)]
    error = refused(purpose)
    assert (error.what, error.why) == ("the cluster has no node with a core", "Ray lost 1 other node")
    assert "--nodes" not in error.fix


def test_cores_that_are_taken_are_told_with_what_helps(busy_cluster: list[dict[str, Any]]) -> None:
    busy_cluster += [node(4), node(4)]
    assert refused(NodePurpose.LOAD, 3).what == "--nodes 3 is too many: the cluster has 2 nodes with a core"
    suite, load = refused(NodePurpose.SUITE), refused(NodePurpose.LOAD)
    assert suite.what == "2 nodes with all cores free could not be reserved within 30 s"
    assert "--nodes" not in suite.fix
    assert load.what == "2 nodes with a free core could not be reserved within 30 s"
    assert "use fewer --nodes" in load.fix


def test_nothing_else_imports_ray() -> None:
    reported = (
        "import sys, s3bench.cli.main, s3bench.cli.load.command, s3bench.cluster.engine; sys.exit('ray' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", reported], check=False).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--cluster", "auto"), "--cluster needs an endpoint"),
        ((*LIVE, "--cluster", "auto", "--workers", "2"), "--cluster cannot be combined with --workers"),
        ((*LIVE, "--cluster", "auto", "--trace", "t"), "--cluster cannot be combined with --trace"),
        ((*LIVE, "--cluster", "auto", "--calibrate"), "--cluster cannot be combined with --calibrate"),
        ((*LIVE, "--nodes", "2"), "--nodes needs --cluster"),
        ((*LIVE, "--workers-per-node", "2"), "--workers-per-node needs --cluster"),
    ],
)
def test_what_does_not_go_with_a_cluster_is_refused(arguments: tuple[str, ...], what: str) -> None:
    error = CliRunner().invoke(s3bench_command, ["load", *arguments]).exception
    assert isinstance(error, BadInput)
    assert error.what == what


@pytest.mark.parametrize("address", ["ray://host", "host:10001", "http://host:1", "ray://"])
def test_an_address_of_no_cluster_is_refused(address: str) -> None:
    refused = CliRunner().invoke(s3bench_command, ["load", *LIVE, "--cluster", address])
    assert refused.exit_code == ExitCode.BAD_INPUT
    assert "write auto or ray://HOST:PORT" in refused.output
