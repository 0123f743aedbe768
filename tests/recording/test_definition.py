"""Recorded requests become definitions that are valid, short, and hold no contents."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.clients.registry import known_clients
from s3bench.errors import ClientFailed
from s3bench.recording.command import parse_command
from s3bench.recording.definition import Recording, make_definition
from s3bench.recording.exchange import RecordedExchange
from s3bench.recording.local_files import LocalFiles
from s3bench.s3.wirelog import TransferEngine
from s3bench.spec.definition import Definition
from s3bench.spec.listing import listing_pages
from s3bench.spec.parse import parse_definitions

KEYS = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=("Cs",)), min_size=1, max_size=20
)


def exchange(method: str, target: str, body: bytes | None = b"", **changes: Any) -> RecordedExchange:
    path, _, query = target.partition("?")
    values: dict[str, Any] = {
        "method": method, "path": path, "query": query, "service": "s3", "engine": TransferEngine.PYTHON,
        "request_bytes": 0, "copy_source": "", "status": 200, "headers": (),
        "response_bytes": len(body or b""), "body": body,
    }  # fmt: skip
    return RecordedExchange(**(values | changes))


def read(target: str, size_bytes: int) -> RecordedExchange:
    length = (("Content-Length", str(size_bytes)),)
    return exchange("GET", "", path=target, response_bytes=size_bytes, body=None, headers=length)


def listing(target: str, keys: list[tuple[str, int]]) -> RecordedExchange:
    [(_, xml)] = listing_pages(keys)
    return exchange("GET", target, xml.encode())


def recorded(
    command: str, *exchanges: RecordedExchange, local: LocalFiles | None = None, config: str = ""
) -> dict[str, Any]:
    text, _ = made(command, *exchanges, local=local, config=config)
    [document] = json.loads(text)
    definition: dict[str, Any] = document
    return definition


def made(
    command: str, *exchanges: RecordedExchange, local: LocalFiles | None = None, config: str = ""
) -> tuple[str, Definition]:
    """The text of the definition, and what parsing it gives: every definition here has to be valid."""
    typed = parse_command(("aws", *command.split()), stands_for=None, folder=Path("/nowhere"))
    recording = Recording(command=typed, exchanges=exchanges, local=local or LocalFiles(), config=config, variables={})
    text = make_definition(recording, name=None).text
    [definition] = parse_definitions(text, "recorded", known_clients())
    return text, definition


def files(**sizes: int) -> LocalFiles:
    named = {name.replace("__", "/"): size for name, size in sizes.items()}
    roots = tuple(dict.fromkeys(name.partition("/")[0] for name in named))
    return LocalFiles(
        roots=roots, sizes=tuple(named.items()), directories=tuple(root for root in roots if f"{root}/" in str(named))
    )


def test_an_upload_gets_the_portable_form_that_any_client_can_run() -> None:
    definition = recorded("s3 cp a s3://b/k", exchange("PUT", "/b/k"), local=files(a=5))
    assert definition["name"] == "s3.cp.upload"
    assert definition["environment"] == {"files": [{"name": "a", "size": 5, "fill": "random"}]}
    assert [response["match"] for response in definition["responses"]] == [
        {"method": "PUT", "path": "/b/k"},
        {"method": "POST", "path": "/b/k", "query": {"uploads": ""}},
        {"method": "POST", "path": "/b/k", "query": {"uploadId": ""}},
    ]
    assert {"cli-classic", "cli-crt", "boto3-classic", "s5cmd"} <= set(definition["clients"])


def test_ranges_of_a_download_become_one_body_from_a_file() -> None:
    parts = [
        exchange(
            "GET",
            "/b/k",
            status=206,
            body=None,
            response_bytes=8,
            headers=(("Content-Range", f"bytes {at}-{at + 7}/80"),),
        )
        for at in range(0, 80, 8)
    ]
    definition = recorded("s3 cp s3://b/k down", *parts)
    assert definition["environment"]["files"] == [{"name": "remote_file", "size": 80, "fill": "random"}]
    assert [response["match"]["method"] for response in definition["responses"]] == ["HEAD", "GET"]


def test_a_listing_and_its_objects_become_a_listing_of_a_tree() -> None:
    keys = [("p/a", 1), ("p/b/c", 2)]
    definition = recorded(
        "s3 sync s3://b/p down", listing("/b?list-type=2&prefix=p%2F", keys), read("/b/p/a", 1), read("/b/p/b/c", 2)
    )
    assert definition["environment"]["file_trees"] == [
        {"name": "remote_dir", "fill": "random", "sizes": {"a": 1, "b/c": 2}}
    ]
    assert [response["body"] for response in definition["responses"]] == [
        {"listing": "remote_dir", "prefix": "p/"},
        {"file": "remote_dir/*"},
        {"file": "remote_dir/*"},
    ]


def test_large_objects_that_are_only_listed_make_no_files() -> None:
    definition = recorded(
        "s3 rm s3://b/p --recursive",
        listing("/b?list-type=2&prefix=p%2F", [("p/a", 10**12)]),
        exchange("DELETE", "/b/p/a", status=204),
    )
    assert "environment" not in definition
    assert "<Size>1000000000000</Size>" in definition["responses"][0]["body"]


def test_a_key_that_no_file_can_have_is_listed_all_the_same() -> None:
    keys = [("p/", 0), ("p/a", 1), ("p/a/b", 1)]
    definition = recorded("s3 rm s3://b/p --recursive", listing("/b?list-type=2&prefix=p%2F", keys))
    assert all(f"<Key>{key}</Key>" in definition["responses"][0]["body"] for key, _ in keys)


def test_a_sync_sends_again_what_was_out_of_date() -> None:
    definition = recorded(
        "s3 sync d s3://b/p",
        listing("/b?list-type=2&prefix=p%2F", [("p/new", 3), ("p/old", 3)]),
        exchange("PUT", "/b/p/old"),
        local=files(d__new=3, d__old=3),
    )
    sizes = {tree["name"]: tree["sizes"] for tree in definition["environment"]["file_trees"]}
    assert sizes == {"d": {"new": 3, "old": 3}, "remote_dir": {"new": 3}}
    assert definition["responses"][0]["body"] == {"listing": "remote_dir", "prefix": "p/"}


def test_a_numbered_folder_of_equal_files_takes_one_line() -> None:
    local = files(**{f"d__file-{at:06d}": 7 for at in range(3)})
    definition = recorded("s3 cp d s3://b/p --recursive", exchange("PUT", "/b/p/x"), local=local)
    assert definition["environment"]["file_dirs"] == [{"name": "d", "file_count": 3, "file_size": 7, "fill": "random"}]


def test_five_thousand_files_of_their_own_names_and_sizes_stay_below_200_kb() -> None:
    local = files(**{f"photos__img_{at:05}.jpg": 1000 + 7 * at for at in range(5000)})
    puts = [exchange("PUT", f"/b/p/img_{at:05}.jpg") for at in range(5000)]
    text, definition = made("s3 sync photos s3://b/p", listing("/b?list-type=2&prefix=p%2F", []), *puts, local=local)
    assert len(text.encode()) < 200_000
    assert len(dict(definition.environment.file_trees[0].sizes)) == 5000


def test_a_sub_resource_of_an_object_is_answered_before_the_objects_of_its_folder() -> None:
    definition = recorded(
        "s3 sync s3://b/p s3://b/q",
        listing("/b?list-type=2&prefix=p%2F", [("p/a", 9)]),
        exchange("GET", "/b/p/a?tagging", b"<Tagging/>"),
        exchange("PUT", "/b/q/a", copy_source="/b/p/a"),
    )
    bodies = [response["body"] for response in definition["responses"] if "/b/p/a" in response["match"]["path"]]
    order = [response["match"]["path"] for response in definition["responses"]]
    assert bodies == ["<Tagging/>"]
    assert order.index("/b/p/a") < order.index("/b/p/*")


def test_responses_of_other_services_follow_one_another_in_their_order() -> None:
    answers = [b'{"page":1}', b'{"page":1}', b'{"page":2}']
    definition = recorded(
        "dynamodb scan --table-name t", *(exchange("POST", "/", body, service="dynamodb") for body in answers)
    )
    assert [(response["body"], response["instances"]) for response in definition["responses"]] == [
        ('{"page":1}', 2),
        ('{"page":2}', "any"),
    ]
    assert "clients" not in definition


def test_the_id_of_a_request_a_checksum_and_a_date_are_not_kept() -> None:
    headers = (
        ("x-amz-request-id", "REQUEST"), ("x-amz-crc32", "123"), ("Date", "Wed, 25 Nov 2026 13:03:29 GMT"),
        ("x-amz-checksum-crc32", "abc="), ("Set-Cookie", "secret"), ("Content-Type", "text/xml"),
    )  # fmt: skip
    definition = recorded(
        "s3api get-bucket-location --bucket b", exchange("GET", "/b?location", b"<L/>", headers=headers)
    )
    assert definition["responses"][0]["headers"] == {"Content-Type": "text/xml"}


def test_an_id_is_the_same_in_the_command_and_in_the_response() -> None:
    instance = "i-0f00dfeed12345678"
    definition = recorded(
        f"ec2 describe-instances --instance-ids {instance}", exchange("POST", "/", instance.encode(), service="ec2")
    )
    assert definition["command"][-1] == definition["responses"][0]["body"] != instance


def test_the_config_keeps_what_changes_transfers_and_no_credentials() -> None:
    config = (
        "[default]\nregion = eu-west-1\naws_secret_access_key = abcdefghijklmnop\ncredential_process = /bin/x\n"
        "s3 =\n  multipart_chunksize = 16MB\n  preferred_transfer_client = crt\n  addressing_style = path\n"
    )
    definition = recorded("s3 cp a s3://b/k", exchange("PUT", "/b/k"), local=files(a=5), config=config)
    text = definition["environment"]["config"]
    assert "multipart_chunksize = 16MB" in text
    assert not [word for word in ("abcdefghijklmnop", "credential_process", "preferred") if word in text]


def test_a_response_that_is_no_text_is_an_error_after_the_run() -> None:
    with pytest.raises(ClientFailed, match="cannot be kept"):
        recorded("cloudwatch list-metrics", exchange("POST", "/", b"\xff\xfe", service="monitoring"))


@given(
    st.dictionaries(KEYS, st.integers(0, 10**6), min_size=1, max_size=8),
    st.sampled_from(["s3 sync s3://b/p down", "s3 rm s3://b/p --recursive", "s3 cp s3://b/p down --recursive"]),
)
def test_any_keys_give_a_valid_definition(keys: dict[str, int], command: str) -> None:
    below = [(f"p/{key}", size) for key, size in keys.items()]
    reads = [read(f"/b/{key}", size) for key, size in below]
    made(command, listing("/b?list-type=2&prefix=p%2F", below), *(reads if "rm" not in command else ()))


def test_a_key_with_two_slashes_is_no_file_and_is_listed() -> None:
    definition = recorded("s3 rm s3://b/p --recursive", listing("/b?list-type=2&prefix=p%2F", [("p//x", 1)]))
    assert "<Key>p//x</Key>" in definition["responses"][0]["body"]


def test_clients_that_look_before_they_copy_are_answered_where_the_recorded_one_did_not() -> None:
    definition = recorded("s3 cp s3://b/a s3://b/k", exchange("PUT", "/b/k", copy_source="/b/a"))
    assert {"method": "HEAD", "path": "/b/a"} in [response["match"] for response in definition["responses"]]


def test_options_before_the_service_are_not_in_the_name() -> None:
    definition = recorded("--output json s3api list-buckets", exchange("GET", "/", b"<Buckets/>"))
    assert definition["name"] == "s3api.list-buckets"


def test_a_secret_after_an_option_is_masked_as_one_after_an_equals_sign() -> None:
    secret = "hunter2hunter2"
    response = exchange("POST", "/", f"echo of {secret}".encode(), service="secretsmanager")
    definition = recorded(f"secretsmanager create-secret --name n --secret-string {secret}", response)
    masked = definition["command"][-1]
    assert masked != secret
    assert definition["command"][:-1] == ["secretsmanager", "create-secret", "--name", "n", "--secret-string"]
    assert definition["responses"][0]["body"] == f"echo of {masked}"


def test_a_file_whose_name_is_not_utf_8_is_left_out() -> None:
    local = LocalFiles(roots=("d",), sizes=(("d/a", 1), ("d/\udcff", 1)), directories=("d",))
    typed = parse_command(("aws", "s3", "sync", "d", "s3://b/p"), stands_for=None, folder=Path("/nowhere"))
    recording = Recording(command=typed, exchanges=(exchange("PUT", "/b/p/a"),), local=local, variables={})
    made = make_definition(recording, name=None)
    assert made.left_out_files == ("d/\udcff",)
    assert made.json["environment"]["file_trees"][0]["sizes"] == {"a": 1}
