"""A command stays in the workspace, talks to our endpoint, and starts no other program."""

import gzip
import json
from pathlib import Path
from typing import Any

import botocore
import pytest
from botocore import xform_name


@pytest.mark.parametrize(
    "command",
    [
        ["s3", "cp", "s3://b/k", "/abs/path"],
        ["s3", "cp", "s3://b/k", "../../x"],
        ["s3", "cp", "s3://b/k", "a/../../x"],
        ["s3", "cp", "/etc/shadow", "s3://b/k"],
        ["s3", "sync", "s3://b", "..", "--quiet"],
        ["s3", "sync", "..", "s3://b"],
        ["s3", "cp", "s3://b/k", "--", "/abs"],
        ["s3", "cp", "--quiet", "s3://b/k", "--no-sign-request", "/abs"],
        ["s3", "cp", "s3://b/k", "--a-flag-of-tomorrow", "/abs"],
        ["s3api", "get-object", "--bucket", "b", "--key", "k", "/etc/cron.d/x"],
        ["s3api", "get-object", "--bucket", "b", "--key", "k", "../x"],
        ["s3api", "get-object", "--bucket", "b", "--key", "k", "s3://../../x"],
        ["s3api", "get-object", "--bucket", "b", "--key", "k", "--no-sign-request", "/abs"],
        ["iam", "create-virtual-mfa-device", "--outfile", "/abs"],
        ["iam", "create-virtual-mfa-device", "--outfile=/abs"],
        ["iam", "create-virtual-mfa-device", "--outf=../x"],
        ["iot", "create-keys-and-certificate", "--certificate-pem-outfile=/abs"],
        ["cloudformation", "package", "--output-template-file=/abs"],
        ["eks", "update-kubeconfig", "--kubeconfig=/abs"],
        ["gamelift", "get-game-session-log", "--save-as=/abs"],
        ["s3api", "put-object", "--body=/etc/shadow"],
        ["servicecatalog", "generate", "--file-path=/abs"],
        ["ecs", "deploy", "--task-definition=/abs"],
        ["ecs", "deploy", "--codedeploy-appspec=/abs"],
    ],
)
def test_a_path_out_of_the_workspace_is_refused_wherever_it_stands(command: list[str], problems: Any) -> None:
    [problem] = problems(command=command)
    assert problem.startswith("$[0].command[")
    assert "leaves the workspace" in problem
    assert "name a file inside the workspace" in problem


@pytest.mark.parametrize(
    "value",
    [
        "file:///etc/shadow",
        "fileb:///etc/shadow",
        "file://../x",
        "file://~root/x",
        "file://$HOME/x",
        "key=value,data=file:///x",
        "file://a b/../../../../etc/passwd",
        "file://a,b/../../x",
        "fileb://a'b/../../x",
        "file://a\nb/../../x",
        "key=value,data@=file://a b/../../x",
    ],
)
@pytest.mark.parametrize("joined", [True, False])
def test_a_parameter_file_outside_of_the_workspace_is_refused(value: str, joined: bool, problems: Any) -> None:
    option = [f"--cli-input-json={value}"] if joined else ["--cli-input-json", value]
    [problem] = problems(command=["s3api", "put-object", *option])
    assert "inside the workspace" in problem


@pytest.mark.parametrize("path", ["~root/.ssh/id_rsa", "~", "$HOME/x", "a/.${AWS_PAGER}./.${AWS_PAGER}./x"])
@pytest.mark.parametrize("joined", [True, False])
def test_a_path_that_aws_cli_would_expand_is_refused(path: str, joined: bool, problems: Any) -> None:
    option = [f"--body={path}"] if joined else ["--body", path]
    [problem] = problems(command=["s3api", "put-object", "--bucket", "b", "--key", "k", *option])
    assert "`~` and `$` may leave the workspace; name a file inside the workspace" in problem


def test_the_advice_for_a_value_that_looks_like_a_path_is_right(problems: Any) -> None:
    [problem] = problems(command=["s3api", "put-object", "--bucket", "b", "--key", "~k$x", "--body", "f"])
    assert 'write "--key=~k$x"' in problem
    assert not problems(command=["s3api", "put-object", "--bucket", "b", "--key=~k$x", "--body", "f"])


def streaming_options() -> set[str]:
    """The options of aws-cli for streaming members of inputs, whose values are paths, by all models of botocore."""
    options = set()
    for file in (Path(botocore.__file__).parent / "data").glob("*/*/service-2.json.gz"):
        text = gzip.decompress(file.read_bytes())
        if b'"streaming":true' not in text:
            continue
        model = json.loads(text)
        shapes = model["shapes"]
        inputs = [shapes[each["input"]["shape"]] for each in model["operations"].values() if "input" in each]
        options |= {
            f"--{xform_name(name, '-')}"
            for members in (each.get("members", {}) for each in inputs)
            for name, member in members.items()
            if shapes[member["shape"]]["type"] == "blob" and {**shapes[member["shape"]], **member}.get("streaming")
        }
    return options


def test_every_option_that_streams_a_file_is_checked_as_a_path(problems: Any) -> None:
    options = streaming_options()
    assert {"--body", "--documents", "--block-data"} <= options
    assert [option for option in sorted(options) if not problems(command=["service", "do", f"{option}=/abs"])] == []


def test_the_value_of_an_option_that_looks_like_a_path_can_be_joined_to_it(problems: Any) -> None:
    command = ["logs", "get-log-events", "--log-group-name", "/aws/lambda/x"]
    [problem] = problems(command=command)
    assert problem == (
        '$[0].command[3]: is "/aws/lambda/x": it is absolute and leaves the workspace; name a file inside the '
        'workspace: "aws/lambda/x"; if it is the value of `--log-group-name` and not a path, write '
        '"--log-group-name=/aws/lambda/x"'
    )
    assert problems(command=["logs", "get-log-events", "--log-group-name=/aws/lambda/x"]) == []


@pytest.mark.parametrize(
    "command",
    [
        ["s3", "cp", "s3://b/a/../k", "."],
        ["s3", "sync", ".", "s3://b", "--exclude", "../*", "--include", "/x"],
        ["s3", "cp", "a", "s3://b/k", "--website-redirect", "/index.html"],
        ["s3", "cp", "./a", "s3://b/k"],
        ["s3", "cp", "s3://b/k", "..name"],
        ["s3", "cp", "s3://b/k", "a..b/c.."],
        ["--region", "eu-west-1", "s3api", "get-object", "--bucket", "b", "--key", "k", "landed"],
        ["s3api", "put-object", "--body", "file", "--cli-input-json", "file://a/b.json"],
        ["sqs", "list-queues", "--query", "/x"],
        ["s3", "cp", "a", "s3://b/k", "--debug"],
        ["s3", "cp", "a~", "s3://b/$k"],
        ["s3", "cp", "~$report.docx", "s3://b/k"],
        ["s3", "cp", "s3://b/k", "a$b"],
        ["s3api", "put-object", "--bucket", "b", "--key=a$b", "--body", "f"],
        ["logs", "filter-log-events", "--filter-pattern", "{ $.status = 500 }"],
        ["s3api", "put-object", "--cli-input-json=file://a b,c/d.json"],
        ["iam", "create-user", "--path=/${x}/"],
    ],
)
def test_what_stays_inside_is_right(command: list[str], problems: Any) -> None:
    assert problems(command=command) == []


@pytest.mark.parametrize(
    ("option", "full"),
    [
        ("--endpoint", "--endpoint-url"),
        ("--end=http://x", "--endpoint-url"),
        ("--prof", "--profile"),
        ("--ca-b=x", "--ca-bundle"),
        ("--no-ver", "--no-verify-ssl"),
        ("--cli-auto-p", "--cli-auto-prompt"),
    ],
)
def test_an_option_that_s3bench_sets_is_refused_in_its_short_forms_too(option: str, full: str, problems: Any) -> None:
    [problem] = problems(command=["s3api", "list-buckets", option])
    assert problem.startswith(
        f"$[0].command[2]: is `{option.partition('=')[0]}`, short for `{full}`, which s3bench sets"
    )


def test_a_longer_option_is_not_the_short_form_of_another(problems: Any) -> None:
    assert problems(command=["logs", "filter-log-events", "--end-time", "1", "--prefix", "x", "--no-paginate"]) == []


@pytest.mark.parametrize(
    "command",
    [
        ["configure", "set", "plugins.a", "b"],
        ["login"],
        ["sso", "login"],
        ["--debug", "sso", "login"],
        ["deploy", "install", "--config-file", "x"],
        ["deploy", "--deb", "install"],
        ["deploy", "--x", "y", "--deb", "install"],
        ["emr", "ssh", "--command", "id"],
        ["codeartifact", "login", "--tool", "npm"],
        ["ssm", "start-session", "--target", "x"],
        ["ecs", "execute-command"],
        ["iam", "wizard", "new-role"],
        ["--regio", "x", "deploy", "install"],
    ],
)
def test_a_command_that_starts_other_programs_is_refused(command: list[str], problems: Any) -> None:
    assert len(problems(command=command)) == 1


def test_words_of_another_service_are_no_such_commands(problems: Any) -> None:
    assert problems(command=["deploy", "list-applications", "--max-items", "1"]) == []
    assert problems(command=["s3api", "list-objects-v2", "--bucket", "install"]) == []
