"""Recipes are pasted into the real programs, which then say what holds."""

import inspect
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3.crt
import pytest
from boto3.s3.transfer import TransferConfig

from s3bench.clients.awsconfig import block_settings
from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.finding import find_client
from s3bench.clients.registry import known_client, known_clients
from s3bench.clients.store import ClientStore
from s3bench.clients.transfer_settings import transfer_settings
from s3bench.clients.tuning.client_tuning import PYTHON, SHELL
from s3bench.clients.tuning.parameter import GIB, KIB, MIB
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.errors import ClientNotFound
from s3bench.tune.recipe import Recipe, recipes_of
from s3bench.tune.setting import Setting

RATE = 5 * 10**9 // 8
CLI = {
    "max_concurrent_requests": 20, "multipart_chunksize": 16 * MIB, "io_chunksize": 256 * KIB, "target_bandwidth": RATE
}  # fmt: skip


def recipe(client: str, **values: int) -> Recipe:
    (made,) = recipes_of(Setting.of(client, values))
    return made


def found(kind: str) -> FoundClient:
    try:
        return find_client(ClientSpec(kind=kind), ClientStore.from_environment(os.environ))
    except ClientNotFound as error:
        pytest.skip(f"needs {kind}: {error}")


@pytest.fixture
def no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's AWS configuration."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


def run_python(made: Recipe) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec("\n".join(made.lines), namespace)
    return namespace


@pytest.mark.parametrize(
    "values", [{"target_bandwidth": RATE}, pytest.param(CLI, marks=pytest.mark.campaign)], ids=["one", "all"]
)
def test_the_aws_lines_make_the_real_aws_cli_write_the_setting(tmp_path: Path, values: dict[str, int]) -> None:
    aws = found("cli-crt")
    made = recipe(aws.label, **values)
    environment = {"HOME": str(tmp_path), "PATH": f"{aws.executable.parent}:/usr/bin:/bin"}
    subprocess.run(["/bin/sh", "-eu", "-c", "\n".join(made.lines)], env=environment, cwd=tmp_path, check=True)
    block = block_settings((tmp_path / ".aws" / "config").read_text(encoding="utf-8"), "s3")
    assert block.pop("preferred_transfer_client") == "crt"
    assert transfer_settings(block) == values


def test_only_what_is_set_is_written() -> None:
    made = recipe("cli-classic@2.38.5", multipart_chunksize=16 * MIB)
    assert made.where == SHELL
    assert made.lines == (
        "aws configure set default.s3.preferred_transfer_client classic",
        "aws configure set default.s3.multipart_chunksize 16MB",
    )


@pytest.mark.parametrize(
    ("client", "word"),
    [
        ("cli-crt@2.38.5", "crt"),
        ("cli-classic@2.38.5", "classic"),
        ("cli-classic@2.17.0", "classic"),
        ("cli-classic@2.16.9", "default"),
        ("cli-classic@/opt/aws/aws", "classic"),
    ],
)
def test_the_transfer_client_is_set_by_the_word_that_its_version_knows(client: str, word: str) -> None:
    assert recipe(client).lines[0] == f"aws configure set default.s3.preferred_transfer_client {word}"


@pytest.mark.parametrize("client", ["cli@2.38.5", "cli@1.45.11", "cli-classic@1.45.11"])
def test_defaults_with_nothing_to_choose_are_a_comment(client: str) -> None:
    (line,) = recipe(client).lines
    assert line.startswith("# nothing to set")


def test_comments_for_a_shell_have_nothing_that_a_shell_acts_on() -> None:
    for client in ("cli@2.38.5", "cli-classic@2.38.5", "s5cmd@2.3.0"):
        comments = [line for line in recipe(client).lines if line.startswith("#")]
        assert comments
        assert not set("".join(comments)) & set("'\"`$&|;<>()*?[]{}!~\\")


def test_the_s5cmd_flags_are_those_of_the_real_one() -> None:
    s5cmd = found("s5cmd")
    made = recipe(s5cmd.label, numworkers=64, concurrency=20, part_size=64 * MIB)
    assert made.lines == ("s5cmd --numworkers 64 cp --concurrency 20 --part-size 64 SOURCE DESTINATION",)
    flags = shlex.split(made.lines[0])[1:-2]
    good = subprocess.run([s5cmd.executable, *flags, "--help"], capture_output=True, text=True, check=False)
    assert good.returncode == 0
    assert "cp - copy objects" in good.stdout
    reported = (
        good.stdout + subprocess.run([s5cmd.executable, "--help"], capture_output=True, text=True, check=True).stdout
    )
    for flag in ("--numworkers value", "--concurrency value", "--part-size value"):
        assert flag in reported


def test_s5cmd_at_its_defaults_is_its_bare_command() -> None:
    assert recipe("s5cmd@2.3.0").lines[-1] == "s5cmd cp SOURCE DESTINATION"


@pytest.mark.usefixtures("no_account")
def test_the_classic_snippet_makes_a_config_and_a_pool_for_it() -> None:
    made = recipe(
        "boto3-classic@1.44.5", max_concurrent_requests=20, multipart_chunksize=16 * MIB, io_chunksize=64 * KIB
    )
    assert made.where == PYTHON
    assert (
        "config = TransferConfig(io_chunksize=64 * 1024, max_concurrency=20, multipart_chunksize=16 * 1024**2, "
        'preferred_transfer_client="classic")'
    ) in made.lines
    names = run_python(made)
    assert names["client"].meta.config.max_pool_connections == 20
    config = names["config"]
    assert isinstance(config, TransferConfig)
    assert (config.max_request_concurrency, config.multipart_chunksize, config.io_chunksize) == (
        20, 16 * MIB, 64 * KIB,
    )  # fmt: skip
    assert config.preferred_transfer_client == "classic"


@pytest.mark.usefixtures("no_account")
@pytest.mark.parametrize("concurrency", [5, 10])
def test_a_pool_that_is_large_enough_is_left_alone(concurrency: int) -> None:
    made = recipe("boto3-classic@1.44.5", max_concurrent_requests=concurrency)
    assert "Config(" not in "".join(made.lines).replace("TransferConfig(", "")
    assert "botocore" not in "".join(made.lines)
    assert run_python(made)["client"].meta.config.max_pool_connections == 10


@pytest.mark.usefixtures("no_account")
def test_the_crt_snippet_has_what_boto3_allows_and_gives_the_crt_its_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boto3.crt, "_create_crt_client", boto3.crt._create_crt_client)  # put back at the end
    made = recipe("boto3-crt@1.44.5", target_bandwidth=RATE, max_concurrent_requests=40, multipart_chunksize=16 * MIB)
    names = run_python(made)
    boto3.crt._validate_crt_transfer_config(names["config"])
    assert names["config"].max_request_concurrency == 40
    given: dict[str, Any] = {}
    names["create_s3_crt_client"] = lambda **arguments: given.update(arguments)
    boto3.crt._create_crt_client(None, names["config"], "eu-west-1", "credentials")
    assert given == {
        "region": "eu-west-1", "crt_credentials_provider": "credentials", "target_throughput": RATE
    }  # fmt: skip


def test_the_function_that_the_crt_snippet_replaces_is_called_as_the_snippet_expects() -> None:
    assert len(inspect.signature(boto3.crt._create_crt_client).parameters) == 4


def test_without_a_target_nothing_is_replaced() -> None:
    assert "_create_crt_client" not in "\n".join(recipe("boto3-crt@1.44.5", multipart_chunksize=16 * MIB).lines)


@pytest.mark.usefixtures("no_account")
@pytest.mark.parametrize("values", [{}, {"target_bandwidth": RATE, "multipart_chunksize": 16 * MIB}])
def test_the_crt_client_is_made_by_its_snippet(values: dict[str, int]) -> None:
    made = recipe("crt-python@0.38.1", max_concurrent_requests=40, multipart_threshold=32 * MIB, **values)
    said = "print(type(client).__name__, options)"
    done = subprocess.run(
        [sys.executable, "-c", "\n".join((*made.lines, said))], capture_output=True, text=True, check=True
    )
    assert done.stdout == "S3Client {'max_active_connections_override': 40}\n"
    text = "\n".join(made.lines)
    assert "    multipart_upload_threshold=32 * 1024**2," in text
    assert ("throughput_target_gbps=5.0," in text) == bool(values)


@pytest.mark.parametrize("kind", list(known_clients()))
def test_every_parameter_of_every_client_is_in_its_recipe(kind: str) -> None:
    for action in Action:
        workload = Workload(action=action, size_bytes=GIB, files=40)
        for knob in known_client(kind).tuning.parameters_for(workload):
            value = next(value for value in reversed(knob.choices) if value)
            bare, with_it = recipe(f"{kind}@2.38.5"), recipe(f"{kind}@2.38.5", **{knob.name: value})
            assert set(with_it.lines) - set(bare.lines), f"{kind} {knob.name}"
