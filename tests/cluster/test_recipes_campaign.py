"""The recipes for EC2 and Kubernetes by the rules of Ray and of KubeRay: run by `scripts/test --all`."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from tests.cluster.raylab import Unavailable, own_network
from tests.cluster.recipes import RAY_UP, embedded, manifest, start_commands

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

KUBERAY_MODULE = "github.com/ray-project/kuberay/ray-operator@v1.6.2"
KUBERNETES_MODULE = "k8s.io/api@v0.35.0"  # that KubeRay 1.6.2 is built with

CONFIGURED = """
import json, sys, yaml
from ray.autoscaler._private.util import prepare_config, validate_config
config = prepare_config(yaml.safe_load(open(sys.argv[1])))
validate_config(config)
print(json.dumps({key: config[key] for key in sys.argv[2:]}))
"""
TAKEN = """
import json, sys
from ray.scripts.scripts import cli
for name, *arguments in json.loads(sys.argv[1]):
    cli.commands[name].make_context(name, arguments)
"""


def by_ray(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program that imports Ray where nothing but loopback is to be seen."""
    pytest.importorskip("ray", reason="needs Ray: pip install 's3bench[cluster]'")
    try:
        with own_network():
            return subprocess.run(
                [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=100, check=False
            )
    except Unavailable as error:
        pytest.skip(str(error))


def module(name: str, cache: Path) -> Path:
    """Download a Go module, and say where it is."""
    if shutil.which("go") is None:
        pytest.skip("needs Go, to download what KubeRay takes")
    command = ["go", "mod", "download", "-json", name]
    environment = {"PATH": str(Path(str(shutil.which("go"))).parent), "HOME": str(cache), "GOMODCACHE": str(cache)}
    finished = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=cache,
        env={**environment, "GOFLAGS": "-modcacherw"},
    )
    reported = json.loads(finished.stdout or "{}")
    if finished.returncode or "Dir" not in reported:
        pytest.skip(f"{name} was not to be had: {reported.get('Error', finished.stderr)}")
    return Path(reported["Dir"])


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("modules")


def strict(schema: Any) -> Any:
    """A schema of Kubernetes as JSON Schema that refuses what it does not name."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


def crd(modules: Path) -> Any:
    path = module(KUBERAY_MODULE, modules) / "config" / "crd" / "bases" / "ray.io_rayclusters.yaml"
    definition = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    (version,) = (each for each in definition["spec"]["versions"] if each["name"] == "v1")
    return version["schema"]["openAPIV3Schema"]


def strangers(ours: Any, sample: Any, path: str = "$") -> Iterator[str]:
    """The keys of ours that an object with every field has not."""
    if isinstance(ours, dict) and isinstance(sample, dict):
        for key, value in ours.items():
            if key in sample:
                yield from strangers(value, sample[key], f"{path}.{key}")
            elif not path.endswith("matchLabels"):
                yield f"{path}.{key}"
    elif isinstance(ours, list) and isinstance(sample, list):
        for value in ours:
            yield from strangers(value, sample[0], f"{path}[]")


def test_the_configuration_is_one_that_ray_takes() -> None:
    keys = ("head_setup_commands", "worker_setup_commands", "available_node_types", "max_workers", "docker")
    finished = by_ray(CONFIGURED, str(RAY_UP), *keys)
    assert finished.returncode == 0, finished.stderr
    config = json.loads(finished.stdout)
    assert config["head_setup_commands"] == config["worker_setup_commands"]  # none of Ray's own is added
    assert config["available_node_types"]["head"]["max_workers"] == 0
    assert config["docker"] == {}


def test_a_wrong_configuration_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(RAY_UP.read_text(encoding="utf-8").replace("cluster_name:", "name_of_cluster:"), encoding="utf-8")
    finished = by_ray(CONFIGURED, str(wrong))
    assert finished.returncode != 0
    assert "name_of_cluster" in finished.stderr


def test_every_command_of_ray_is_one_that_it_takes() -> None:
    lines = [words[1:] for words in (*embedded("ray"), *start_commands())]
    assert {words[0] for words in lines} >= {"up", "exec", "status", "rsync-down", "down", "start", "stop"}
    finished = by_ray(TAKEN, json.dumps(lines))
    assert finished.returncode == 0, finished.stderr
    assert by_ray(TAKEN, json.dumps([["up", "--no-such-option"]])).returncode != 0


def test_the_cluster_is_one_that_kuberay_takes(modules: Path) -> None:
    validator = Draft7Validator(strict(crd(modules)))
    cluster = manifest("RayCluster")
    assert not [f"{error.json_path}: {error.message}" for error in validator.iter_errors(cluster)]
    spec = cluster["spec"]["workerGroupSpecs"][0]["template"]["spec"]
    spec["affinty"] = spec.pop("affinity")
    spec["containers"][0]["resources"]["limits"]["cpu"] = ["32"]
    wrong = sorted(error.json_path for error in validator.iter_errors(cluster))
    template = "$.spec.workerGroupSpecs[0].template.spec"
    assert wrong == [template, f"{template}.containers[0].resources.limits.cpu"]


def test_the_network_policy_has_only_what_such_a_policy_has(modules: Path) -> None:
    samples = module(KUBERNETES_MODULE, modules) / "testdata" / "HEAD"
    sample = yaml.safe_load((samples / "networking.k8s.io.v1.NetworkPolicy.yaml").read_text(encoding="utf-8"))
    policy = manifest("NetworkPolicy")
    assert policy["apiVersion"] == sample["apiVersion"]
    assert not list(strangers(policy, sample))
    assert list(strangers({"spec": {"podSelectors": {}}}, sample)) == ["$.spec.podSelectors"]
