import json
from pathlib import Path

import pytest

from s3bench.clients.registry import known_clients
from s3bench.errors import BadDefinitions, BadInput, ExitCode
from s3bench.spec.definition import (
    Definition,
    Environment,
    FileBody,
    FileLiteral,
    Fill,
    FixtureDir,
    FixtureFile,
    ListingBody,
    RequestMatch,
    Response,
)
from s3bench.spec.parse import parse_definitions, read_definitions
from s3bench.spec.reader import one_of

EVERYTHING = {
    "name": "s3.cp.upload",
    "command": ["s3", "cp", "test_file", "s3://bucket/test_file", "--quiet"],
    "dimensions": [{"name": "FileSize", "value": "32MB"}, {"name": "S3TransferClient", "value": "CRT"}],
    "environment": {
        "file_literals": [{"name": "policy.json", "content": "{}"}, {"name": "log", "content": "é", "mode": "ab"}],
        "files": [{"name": "test_file", "size": 3.2e7}, {"name": "deep/down/noise", "size": 7, "fill": "random"}],
        "file_dirs": [{"name": "test_dir", "file_count": 5000, "file_size": 4096}],
        "config": "[default]\ns3 =\n preferred_transfer_client = crt",
    },
    "responses": [
        {"headers": {}, "body": ""},
        {"status_code": 503, "headers": {"Retry-After": "1"}, "body": "<Error/>", "instances": 2, "delay": 0.25},
        {"body": {"file": "test_file"}, "match": {"method": "GET", "path": "/bucket/*"}, "instances": "any"},
        {"body": {"file": "test_dir/*"}, "match": {"path": "/bucket/dir/*"}},
        {"body": {"listing": "test_dir", "prefix": "dir/"}, "match": {"query": {"list-type": "2", "prefix": ""}}},
    ],
    "clients": ["cli-crt", "boto3-crt"],
    "timeout": 120,
    "tags": ["full", "upload"],
}


def test_every_key_becomes_its_type() -> None:
    assert parse_definitions(json.dumps([EVERYTHING]), "x", known_clients()) == (
        Definition(
            name="s3.cp.upload",
            command=("s3", "cp", "test_file", "s3://bucket/test_file", "--quiet"),
            dimensions=(("FileSize", "32MB"), ("S3TransferClient", "CRT")),
            environment=Environment(
                file_literals=(
                    FileLiteral(name="policy.json", content="{}", mode="w"),
                    FileLiteral(name="log", content="é", mode="ab"),
                ),
                files=(
                    FixtureFile(name="test_file", size_bytes=32_000_000, fill=Fill.ZERO),
                    FixtureFile(name="deep/down/noise", size_bytes=7, fill=Fill.RANDOM),
                ),
                file_dirs=(FixtureDir(name="test_dir", file_count=5000, file_size_bytes=4096),),
                config="[default]\ns3 =\n preferred_transfer_client = crt",
            ),
            responses=(
                Response(),
                Response(status_code=503, headers=(("Retry-After", "1"),), body="<Error/>", instances=2, delay_s=0.25),
                Response(
                    body=FileBody(file="test_file"), match=RequestMatch(method="GET", path="/bucket/*"), instances=None
                ),
                Response(body=FileBody(file="test_dir/*"), match=RequestMatch(path="/bucket/dir/*")),
                Response(
                    body=ListingBody(directory="test_dir", prefix="dir/"),
                    match=RequestMatch(query=(("list-type", "2"), ("prefix", ""))),
                ),
            ),
            clients=("cli-crt", "boto3-crt"),
            timeout_s=120.0,
            tags=("full", "upload"),
        ),
    )


def test_the_least_definition_gets_the_defaults_of_the_reference() -> None:
    [definition] = parse_definitions('[{"name": "a", "command": ["sts", "get-caller-identity"]}]', "x", known_clients())
    assert definition == Definition(name="a", command=("sts", "get-caller-identity"))
    assert definition.environment.config == "[default]"
    assert definition.responses is None
    assert definition.clients == ()


def test_the_default_responses_of_the_reference_parse_to_the_default_response() -> None:
    [definition] = parse_definitions(
        '[{"name": "a", "command": ["a"], "responses": [{"headers": {}, "body": ""}]}]', "x", known_clients()
    )
    assert definition.responses == (Response(),)


def test_no_responses_at_all_are_not_the_same_as_none_given() -> None:
    [definition] = parse_definitions('[{"name": "a", "command": ["--version"], "responses": []}]', "x", known_clients())
    assert definition.responses == ()


def test_an_empty_list_has_no_definitions() -> None:
    assert parse_definitions("[]", "x", known_clients()) == ()


def test_all_problems_come_in_one_pass_in_the_order_of_the_file() -> None:
    text = """[
      {"name": "", "comand": ["s3"], "environment": {"files": [{"name": "/x", "size": "12"}, {"size": -1}]}},
      {"tags": [1], "name": "b", "command": [], "responses": [{"status_code": true, "headers": {"a b": "c"}}]},
      7
    ]"""
    with pytest.raises(BadDefinitions) as caught:
        parse_definitions(text, "mine.json", known_clients())
    assert [problem.path for problem in caught.value.problems] == [
        "$[0].name",
        "$[0].comand",
        "$[0].environment.files[0].name",
        "$[0].environment.files[0].size",
        "$[0].environment.files[1].size",
        "$[0].environment.files[1].name",
        "$[1].tags[0]",
        "$[1].command",
        "$[1].responses[0].status_code",
        '$[1].responses[0].headers["a b"]',
        "$[2]",
    ]
    assert str(caught.value).startswith("mine.json: 11 problems; nothing was run\n  $[0].name: ")
    assert caught.value.exit_code is ExitCode.BAD_INPUT


GOLDEN = [
    (
        '{"name": "a"}',
        "$: is an object, not a list of benchmarks; write a list of benchmarks in square brackets",
    ),
    (
        '[{"command": ["s3"]}]',
        "$[0].name: is missing; add `name`, a string",
    ),
    (
        '[{"name": "a", "comand": ["s3"]}]',
        "$[0].comand: is an unknown key; did you mean `command`?",
    ),
    (
        '[{"name": "a", "command": ["s3"], "comment": "hm"}]',
        (
            "$[0].comment: is an unknown key; remove it; a benchmark has `name`, `command`, "
            "`dimensions`, `environment`, "
            "`responses`, `clients`, `timeout` and `tags`"
        ),
    ),
    (
        '[{"name": "a", "command": "s3 ls"}]',
        '$[0].command: is the string "s3 ls", not a list of strings; write a list of strings in square brackets',
    ),
    (
        '[{"name": "a", "name": "b", "command": ["s3"]}]',
        "$[0].name: is given 2 times in one object; keep one of them",
    ),
    (
        '[{"name": null, "command": ["s3"]}]',
        "$[0].name: is null, not a string; write a string in double quotes, or omit the key if it is optional",
    ),
    (
        '[{"name": "a", "command": ["s3"], "environment": {"files": [{"name": "f", "size": "12"}]}}]',
        '$[0].environment.files[0].size: is the string "12", not a whole number of bytes; write it without quotes: 12',
    ),
    (
        '[{"name": "a", "command": ["s3"], "environment": {"files": [{"name": "f", "size": true}]}}]',
        "$[0].environment.files[0].size: is true, not a whole number of bytes; write a whole number of bytes, e.g. 1",
    ),
    (
        '[{"name": "a", "command": ["s3"], "environment": {"files": [{"name": "f", "size": NaN}]}}]',
        (
            "$[0].environment.files[0].size: is NaN, which JSON does not have, not a whole number of bytes; "
            "write a whole number of bytes, e.g. 1"
        ),
    ),
    (
        '[{"name": "a", "command": ["s3"], "environment": {"files": [{"name": "f", "size": 53687091200001}]}}]',
        (
            "$[0].environment.files[0].size: is 53687091200001, above the maximum of 53687091200000 (10,000 parts of "
            "5 GiB, S3's largest object); write 53687091200000 or less"
        ),
    ),
    (
        '[{"name": "a", "command": ["s3"], "environment": {"files": [{"name": "f", "size": -1}]}}]',
        "$[0].environment.files[0].size: is -1, below the minimum of 0; write 0 or more",
    ),
    (
        '[{"name": "a", "command": ["s3"], "dimensions": [{"FileSize": "32MB"}]}]',
        '$[0].dimensions[0]: is in the older form, "FileSize" as its key; write {"name": "FileSize", "value": "32MB"}',
    ),
    (
        '[{"name": "a", "command": ["s3"], "clients": ["s5cdm"]}]',
        '$[0].clients[0]: is "s5cdm", which is not a client; did you mean `s5cmd`? It must be '
        + one_of(known_clients()),
    ),
    (
        '[{"name": "a", "command": ["s3"], "timeout": 0}]',
        "$[0].timeout: is 0 seconds; write a number of seconds above 0",
    ),
    (
        '[{"name": "a", "command": ["\\ud800"]}]',
        (
            "$[0].command[0]: cannot be encoded as UTF-8: character 0 is half of a surrogate pair; "
            "write the character itself, or both halves of its \\u escape"
        ),
    ),
]


@pytest.mark.parametrize(("text", "message"), GOLDEN, ids=[message.split(":")[0] for _, message in GOLDEN])
def test_the_message_names_the_place_the_fault_and_the_cure(text: str, message: str) -> None:
    with pytest.raises(BadDefinitions) as caught:
        parse_definitions(text, "x", known_clients())
    assert [str(problem) for problem in caught.value.problems] == [message]


@pytest.mark.parametrize(
    ("text", "where"),
    [("", "line 1, column 1"), ('[\n {"name": "a",,}\n]', "line 2, column 15"), ("[] x", "line 1, column 4")],
)
def test_what_is_no_json_is_reported_with_line_and_column(text: str, where: str) -> None:
    with pytest.raises(BadDefinitions) as caught:
        parse_definitions(text, "x", known_clients())
    [problem] = caught.value.problems
    assert problem.path == "$"
    assert problem.what.startswith(f"is not JSON: {where}: ")


def test_what_is_wrong_inside_a_misspelt_key_is_found_in_the_same_pass() -> None:
    text = '[{"name": "a", "command": ["s3"], "enviroment": {"files": [{"name": "f", "size": -1}]}}]'
    with pytest.raises(BadDefinitions) as caught:
        parse_definitions(text, "x", known_clients())
    assert [problem.path for problem in caught.value.problems] == ["$[0].enviroment", "$[0].enviroment.files[0].size"]


def test_what_depends_on_a_misspelt_key_is_not_blamed() -> None:
    files = '[{"name": "/a", "size": 1}, {"name": "/b", "size": 1}]'
    with pytest.raises(BadDefinitions) as caught:
        parse_definitions(
            f'[{{"name": "a", "command": ["s3"], "enviroment": {{"files": {files}}}}}]', "x", known_clients()
        )
    assert [problem.path for problem in caught.value.problems] == [
        "$[0].enviroment",
        "$[0].enviroment.files[0].name",
        "$[0].enviroment.files[1].name",
    ]


def test_nesting_without_end_is_a_problem_and_no_crash() -> None:
    with pytest.raises(BadDefinitions, match="nested too deeply"):
        parse_definitions("[" * 200_000, "x", known_clients())


@pytest.mark.parametrize("number", ["1e400", "9" * 5000, "-1e400", "1.5", "0.1e1", "1e30"])
def test_a_size_is_a_whole_number_within_reach(number: str) -> None:
    text = f'[{{"name": "a", "command": ["s3"], "environment": {{"files": [{{"name": "f", "size": {number}}}]}}}}]'
    if number == "0.1e1":
        [definition] = parse_definitions(text, "x", known_clients())
        assert definition.environment.files[0].size_bytes == 1
    else:
        with pytest.raises(BadDefinitions) as caught:
            parse_definitions(text, "x", known_clients())
        assert [problem.path for problem in caught.value.problems] == ["$[0].environment.files[0].size"]


def test_a_file_is_read_as_utf_8_with_or_without_byte_order_mark(tmp_path: Path) -> None:
    for start in (b"", b"\xef\xbb\xbf"):
        file = tmp_path / "mine.json"
        file.write_bytes(start + '[{"name": "é", "command": ["s3"]}]'.encode())
        assert read_definitions(file, known_clients())[0].name == "é"


def test_a_file_in_another_encoding_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_bytes('[{"name": "é"}]'.encode("latin-1"))
    with pytest.raises(BadDefinitions) as caught:
        read_definitions(file, known_clients())
    assert str(caught.value.problems[0]) == "$: is not UTF-8: byte 11 is 0xe9; save the file as UTF-8"


def test_a_missing_file_is_bad_input_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nowhere\.json: cannot be read: No such file"):
        read_definitions(tmp_path / "nowhere.json", known_clients())
    with pytest.raises(BadInput, match="cannot be read: Is a directory"):
        read_definitions(tmp_path, known_clients())


REFERENCE_COMMAND = ["s3", "cp", "test_file", "s3://bucket/test_file", "--quiet"]
REFERENCE = [
    {"name": "s3.cp.upload", "command": REFERENCE_COMMAND},
    {"dimensions": [{"name": "FileSize", "value": "32MB"}, {"name": "S3TransferClient", "value": "Classic"}]},
    {"dimensions": [{"name": "FileCount", "value": "5,000"}, {"name": "FileSize", "value": "4KB"}]},
    {"environment": {"file_literals": [{"name": "policy.json", "content": "{}", "mode": "w"}]}},
    {"environment": {"files": [{"name": "test_file", "size": 33554432}]}},
    {"environment": {"file_dirs": [{"name": "test_dir", "file_count": 5000, "file_size": 4096}]}},
    {"environment": {"config": "[default]"}},
    {"environment": {"config": "[default]\ns3 =\n preferred_transfer_client = crt"}},
    {"responses": [{"headers": {}, "body": ""}]},
    {"responses": [{"status_code": 200, "headers": {"ETag": "etag"}, "instances": 4}]},
    {"environment": {"files": [{"name": "f", "size": 1}]}, "responses": [{"body": {"file": "f"}}]},
]


@pytest.mark.parametrize("keys", REFERENCE)
def test_what_the_reference_shows_parses_as_written_there(keys: dict[str, object]) -> None:
    assert parse_definitions(json.dumps([{"name": "a", "command": REFERENCE_COMMAND} | keys]), "x", known_clients())


def test_the_shipped_definitions_are_right() -> None:
    assert read_definitions(Path(__file__).parents[2] / "benchmarks.json", known_clients())
