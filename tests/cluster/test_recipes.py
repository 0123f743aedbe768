"""The files that start Ray on EC2 and on Kubernetes agree with s3bench, with each other and with their pages."""

import math
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from botocore.validate import ParamValidator
from packaging.requirements import Requirement
from packaging.version import Version

from s3bench.s3.network.presets import EC2_BYTES_PER_S
from tests.cluster.recipes import EC2, KUBERAY, KUBERNETES, RAY_UP, commands, embedded, manifest, ray_up
from tests.test_docs_installing import REPOSITORY
from tests.test_docs_load import ROOT, plan_of

FILES = (EC2, KUBERNETES, RAY_UP, KUBERAY)
TEXTS = {each.name: each.read_text(encoding="utf-8") for each in FILES}
GBIT_BYTES = 125e6
TARGETS_GBIT = (10, 100, 400)


def found(pattern: str) -> set[str]:
    return {each for text in TEXTS.values() for each in re.findall(pattern, text)}


def extra(name: str) -> Requirement:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (wanted,) = re.findall(rf'^{name} = \["([^"]+)"\]', project, flags=re.MULTILINE)
    return Requirement(wanted)


def pods() -> Iterator[dict[str, Any]]:
    spec = manifest("RayCluster")["spec"]
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        yield group["template"]["spec"]


# Versions.


def test_all_install_this_s3bench() -> None:
    assert all("s3bench[cluster] @ " in text for text in TEXTS.values())
    assert found(r"s3bench\[cluster\]( @ [^']*|)") == {f" @ git+{REPOSITORY}@main"}


def test_all_name_one_ray_that_s3bench_takes() -> None:
    (version,) = found(r"(?:'ray(?:\[default\])?==|rayproject/ray:|rayVersion: )([0-9.]+)")
    assert Version(version) in extra("cluster").specifier
    assert Version(version) >= Version("2.52"), "tokens came with Ray 2.52"


def test_the_image_has_a_python_that_s3bench_takes() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (wanted,) = re.findall(r'^requires-python = ">=3\.([0-9]+)"', project, flags=re.MULTILINE)
    (minor,) = found(r"rayproject/ray:[0-9.]+-py3([0-9]+)")
    assert int(minor) >= int(wanted)
    assert not found(r"rayproject/ray:[0-9.]+[^0-9.-]")


def test_no_file_has_a_key() -> None:
    assert not found(r"A[KS]IA[0-9A-Z]{12,}")
    assert not found(r"(?i)(?:secret_access_key|auth_token)\s*[:=]\s*[\"']?[A-Za-z0-9/+]{16,}")


# EC2.


def test_every_node_is_what_run_instances_takes() -> None:
    model = botocore.session.get_session().get_service_model("ec2")
    shape = model.operation_model("RunInstances").input_shape
    for node in ray_up()["available_node_types"].values():
        report = ParamValidator().validate({**node["node_config"], "MinCount": 1, "MaxCount": 1}, shape)
        assert not report.has_errors(), report.generate_report()
        wrong = ParamValidator().validate({**node["node_config"], "Placment": {}, "MinCount": 1, "MaxCount": 1}, shape)
        assert wrong.has_errors()


def test_no_generator_comes_or_goes_and_none_is_on_the_head() -> None:
    recipe = ray_up()
    types = recipe["available_node_types"]
    generator = types["generator"]
    assert generator["min_workers"] == generator["max_workers"] == recipe["max_workers"]
    assert types[recipe["head_node_type"]]["resources"] == {"CPU": 0}
    assert recipe["provider"]["availability_zone"] == recipe["provider"]["region"] + "a"
    assert recipe["provider"]["cache_stopped_nodes"] is False


def test_what_prepares_a_node_s_shell_may_run_twice(tmp_path: Path) -> None:
    [line] = ray_up()["initialization_commands"]
    (tmp_path / ".bashrc").touch()
    reported = '. ~/.bashrc; echo "$RAY_AUTH_MODE $RAY_USAGE_STATS_ENABLED ${PATH%%:*}"; wc -l < ~/.bashrc'
    environment = {"HOME": str(tmp_path), "PATH": os.defpath}
    finished = subprocess.run(
        ["/bin/bash", "-c", f"{line}\n{line}\n{reported}"], capture_output=True, text=True, check=True, env=environment
    )
    assert finished.stdout.split() == ["token", "0", f"{tmp_path}/s3bench/bin", "1"]


@pytest.mark.parametrize("words", [each for each in commands(EC2) if each[0] == "aws"], ids=" ".join)
def test_every_command_of_aws_is_an_operation_with_these_parameters(words: list[str]) -> None:
    _, service, command, *arguments = words
    model = botocore.session.get_session().get_service_model(service)
    names = {xform_name(name, "-"): name for name in model.operation_names}
    shape = model.operation_model(names[command]).input_shape
    assert shape is not None
    known = {f"--{xform_name(member, '-')}" for member in shape.members} | {"--query"}
    assert {each for each in arguments if each.startswith("--")} <= known
    if "--query" in arguments:
        card = model.shape_for("NetworkCardInfo").members
        assert set(re.findall(r"\w+InGbps", arguments[-1])) <= set(card)


def test_the_placement_group_of_the_page_is_the_configuration_s() -> None:
    group = ray_up()["available_node_types"]["generator"]["node_config"]["Placement"]["GroupName"]
    named = {words[words.index("--group-name") + 1] for words in commands(EC2) if "--group-name" in words}
    assert named == {group}


def test_the_table_of_instances_is_that_of_the_presets() -> None:
    expected = []
    for name, rate in EC2_BYTES_PER_S.items():
        if rate >= TARGETS_GBIT[0] * GBIT_BYTES:
            nodes = (math.ceil(target * GBIT_BYTES / rate) for target in TARGETS_GBIT)
            expected.append([f"`{name}`", f"{rate / GBIT_BYTES:.1f}", *map(str, nodes)])
    lines = re.findall(r"^\| (`[a-z0-9.]+` \| [0-9.]+ \|.*) \|$", TEXTS[EC2.name], flags=re.MULTILINE)
    assert [line.split(" | ") for line in lines] == expected


def test_types_that_only_burst_and_the_configured_one_are_in_the_table() -> None:
    named = set(re.findall(r"`(c5n\.\w+)`", TEXTS[EC2.name]))
    named.add(ray_up()["available_node_types"]["generator"]["node_config"]["InstanceType"])
    assert named <= EC2_BYTES_PER_S.keys()


# Kubernetes.


def test_requests_equal_limits_and_cores_are_whole() -> None:
    for pod in pods():
        (container,) = pod["containers"]
        resources = container["resources"]
        assert resources["requests"] == resources["limits"]
        assert resources["limits"]["cpu"].isdecimal()
        assert pod["automountServiceAccountToken"] is False


def test_nothing_scales_and_the_head_makes_no_load() -> None:
    spec = manifest("RayCluster")["spec"]
    assert spec["enableInTreeAutoscaling"] is False
    assert spec["headGroupSpec"]["rayStartParams"] == {"num-cpus": "0"}
    (group,) = spec["workerGroupSpecs"]
    assert group["replicas"] == group["minReplicas"] == group["maxReplicas"]


def test_generators_are_apart_and_only_pods_of_the_cluster_reach_it() -> None:
    cluster = manifest("RayCluster")
    label = {"matchLabels": {"ray.io/cluster": cluster["metadata"]["name"]}}  # which KubeRay puts on each of its pods
    affinity = cluster["spec"]["workerGroupSpecs"][0]["template"]["spec"]["affinity"]
    for kind, key in (("podAntiAffinity", "kubernetes.io/hostname"), ("podAffinity", "topology.kubernetes.io/zone")):
        (term,) = affinity[kind]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert term == {"topologyKey": key, "labelSelector": label}
    policy = manifest("NetworkPolicy")["spec"]
    assert policy["podSelector"] == label
    assert policy["ingress"] == [{"from": [{"podSelector": label}]}]


def test_a_failing_pip_ends_the_container_before_ray_starts() -> None:
    for pod in pods():
        (command,) = pod["containers"][0]["command"]
        assert command.startswith("pip install ")
        assert command.endswith(" || exit 1")  # KubeRay puts `&& ulimit -n 65536; ray start` behind it


# Commands.


@pytest.mark.parametrize("words", embedded("s3bench"), ids=" ".join)
def test_every_load_is_one_that_s3bench_takes(words: list[str]) -> None:
    plan = plan_of(words[2:])
    assert plan.options.cluster == "auto"
    group = manifest("RayCluster")["spec"]["workerGroupSpecs"][0]
    generator = ray_up()["available_node_types"]["generator"]
    assert plan.options.nodes == group["replicas"] == generator["min_workers"]
    if plan.options.workers_per_node is not None:
        limit = group["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"]
        assert plan.options.workers_per_node == int(limit)


def test_both_pages_have_a_load_and_are_named_where_clusters_are_reported_of() -> None:
    assert len(embedded("s3bench")) == 2
    for page in (EC2, KUBERNETES):
        text = TEXTS[page.name]
        for target in re.findall(r"\]\(([^):#]+)\)", text):
            assert (page.parent / target).exists(), target
        headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9 ]", "", each.lower()).replace(" ", "-") for each in headings}
        assert set(re.findall(r"\]\(#([^)]+)\)", text)) == anchors
