"""Workloads of AWS's CRT S3 benchmarks: the same transfer as a definition, or the reason why there is none."""

import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s3bench.clients.registry import known_clients
from s3bench.errors import BadInput
from s3bench.spec.command import TransferDirection, expected_local, parse_transfer
from s3bench.spec.crt_workload import read_crt_workload
from s3bench.spec.definition import Definition, Fill
from s3bench.spec.definition_rules import check_definition
from s3bench.spec.fixture_rules import check_fixtures
from s3bench.spec.reader import Report
from s3bench.spec.remote import moved_under, remote_objects
from s3bench.spec.response_rules import check_response
from s3bench.spec.stored import stored_objects

MIB = 1 << 20


def workload(*tasks: tuple[str, str, int], **changes: Any) -> bytes:
    """A file as that project's `build-workloads.py` writes it, with defaults for what is not given."""
    whole = {
        "version": 2,
        "comment": "Use case is an AI company with tons of JPGs",
        "filesOnDisk": True,
        "checksum": None,
        "maxRepeatCount": 10,
        "maxRepeatSecs": 600,
        "tasks": [{"action": action, "key": key, "size": size} for action, key, size in tasks],
    }
    return json.dumps(whole | changes, indent=4).encode()


def numbered(action: str, count: int, size: int = 262144) -> list[tuple[str, str, int]]:
    """The tasks of `256KiB-10_000x` and its like."""
    width = len(str(count))
    return [(action, f"{action}/256KiB-{count:_}x/{number:0{width}}", size) for number in range(1, count + 1)]


def parsed(content: bytes, source: str = "download-256KiB-10_000x.run.json") -> Definition:
    """The definition, held to the rules that definitions of ours are held to."""
    (definition,) = read_crt_workload(content, source=source, clients=known_clients()).definitions
    report = Report()
    check_definition(definition, (0,), report, known_clients())
    fixtures = check_fixtures(definition.environment, (0, "environment"), report)
    for number, response in enumerate(definition.responses or ()):
        check_response(response, (0, "responses", number), fixtures, report)
    assert report.problems([{}]) == ()
    return definition


def complaint(content: bytes) -> str:
    """The begin of the paths of complaints; nothing where it is a definition."""
    try:
        parsed(content)
    except BadInput as error:
        return error.why.strip()[:1]
    return ""


def problems(content: bytes) -> str:
    with pytest.raises(BadInput) as caught:
        read_crt_workload(content, source="a.run.json", clients=known_clients())
    return str(caught.value)


def test_a_single_upload_copies_one_file() -> None:
    definition = parsed(workload(("upload", "upload/5GiB-1x/1", 5 << 30)), "workloads/upload-5GiB-1x.run.json")
    assert definition.name == "upload-5GiB-1x"
    assert definition.command == ("s3", "cp", "upload_from/upload/5GiB-1x/1", "s3://bucket/upload/5GiB-1x/1", "--quiet")
    assert definition.dimensions == (("FileCount", "1"), ("FileSize", "5GiB"))
    (file,) = definition.environment.files
    assert (file.name, file.size_bytes, file.fill) == ("upload_from/upload/5GiB-1x/1", 5 << 30, Fill.RANDOM)


def test_a_single_download_copies_one_object() -> None:
    definition = parsed(workload(("download", "download/30GiB-1x/1", 30 << 30)))
    transfer = parse_transfer(definition.command)
    assert transfer is not None
    assert transfer.direction is TransferDirection.DOWNLOAD
    assert not transfer.recursive
    (item,) = stored_objects(definition)
    assert (item.bucket, item.key, item.file) == ("bucket", "download/30GiB-1x/1", "stored/download/30GiB-1x/1")
    assert expected_local(transfer, item.key) == "download_to/download/30GiB-1x/1"


def test_several_uploads_are_one_directory() -> None:
    definition = parsed(workload(*numbered("upload", 1000)))
    directory = "upload/256KiB-1_000x"
    assert definition.command == (
        *("s3", "cp", f"upload_from/{directory}", f"s3://bucket/{directory}"),
        *("--recursive", "--quiet"),
    )
    assert len(definition.environment.files) == 1000
    assert definition.environment.files[-1].name == f"upload_from/{directory}/1000"


def test_several_downloads_are_one_directory_of_all_objects() -> None:
    definition = parsed(workload(*numbered("download", 2500)))
    transfer = parse_transfer(definition.command)
    assert transfer is not None
    items = stored_objects(definition)
    assert {item.key: item.file for item in items} == {key: f"stored/{key}" for _, key, _ in numbered("download", 2500)}
    landed = [expected_local(transfer, item.key) for item in items]
    assert landed == [f"download_to/{item.key}" for item in items]


def test_a_live_endpoint_is_given_the_same_objects_below_its_prefix() -> None:
    definition = parsed(workload(*numbered("download", 12)))
    assert {item.key for item in remote_objects(definition)} == {key for _, key, _ in numbered("download", 12)}
    moved = moved_under(definition, bucket="mine", prefix="s3bench/run")
    assert moved.command[2] == "s3://mine/s3bench/run/download/256KiB-12x"


def test_the_listing_has_every_key_once_in_pages_that_follow_each_other() -> None:
    definition = parsed(workload(*numbered("download", 2500)))
    pages = {
        dict(response.match.query).get("continuation-token", ""): ET.fromstring(response.body)
        for response in definition.responses or ()
        if isinstance(response.body, str) and response.match
    }
    space = "{http://s3.amazonaws.com/doc/2006-03-01/}"
    token, keys, sizes = "", [], set()
    for _ in range(3):
        page = pages.pop(token)
        keys += [each.text for each in page.iter(f"{space}Key")]
        sizes |= {each.text for each in page.iter(f"{space}Size")}
        token = page.findtext(f"{space}NextContinuationToken") or ""
    assert (token, pages) == ("", {})
    assert keys == [key for _, key, _ in numbered("download", 2500)]
    assert sizes == {"262144"}


def test_files_of_unequal_sizes_keep_them() -> None:
    names = [f"upload/Caltech256Sharded/train_shard_{number}.tar" for number in range(2)]
    definition = parsed(workload(("upload", names[0], 109690880), ("upload", names[1], 3788800)))
    assert [file.size_bytes for file in definition.environment.files] == [109690880, 3788800]
    assert definition.dimensions == (("FileCount", "2"), ("TotalSize", "110820KiB"))


def test_directories_that_differ_are_transferred_by_the_one_above_them() -> None:
    definition = parsed(workload(("upload", "upload/a/b/1", 1), ("upload", "upload/a/c/1", 1)))
    assert definition.command[2:4] == ("upload_from/upload/a", "s3://bucket/upload/a")
    definition = parsed(workload(("download", "a", 1), ("download", "b/c", 1)))
    assert definition.command[2:4] == ("s3://bucket/", "download_to")
    assert {item.key for item in stored_objects(definition)} == {"a", "b/c"}


def test_every_client_runs_it_but_the_default_one_and_those_that_definitions_need_not_name() -> None:
    left_out = {name for name, each in known_clients().items() if each.is_default or each.runs_unnamed}
    assert set(parsed(workload(("upload", "upload/1", 1))).clients) == set(known_clients()) - left_out


def test_a_checksum_of_uploads_is_an_option_of_aws_cli() -> None:
    definition = parsed(workload(("upload", "upload/1", 1), checksum="SHA256"))
    assert definition.command[-2:] == ("--checksum-algorithm", "SHA256")
    assert definition.clients == ("cli-classic", "cli-crt")


def test_what_is_done_otherwise_is_reported() -> None:
    content = workload(("upload", "upload/1", 1), filesOnDisk=False, maxRepeatCount=35, maxRepeatSecs=3600)
    repeated, in_memory = read_crt_workload(content, source="upload-1-ram.run.json", clients=known_clients()).notes
    assert "35 repetitions, or 3600 seconds" in repeated
    assert "S3BENCH_TMPDIR" in in_memory
    assert (
        len(read_crt_workload(workload(("upload", "upload/1", 1)), source="a.run.json", clients=known_clients()).notes)
        == 1
    )


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        (workload(("download", "a/1", 5), ("download", "a/1", 5)), '$.tasks[1].key: is "a/1", which `tasks[0]` has'),
        (workload(("download", "a/1", 5), ("upload", "a/2", 5)), "action: is `upload`, but another is `download`"),
        (workload(("upload", "a", 5), ("upload", "a/b", 5)), '$.tasks[0].key: is "a", a directory in $.tasks[1].key'),
        (workload(("download", "a/1", 5), checksum="CRC32"), '$.checksum: is "CRC32" for downloads'),
        (workload(("upload", "a/1", 5), checksum=True), "$.checksum: is true"),
        (workload(("upload", "a/1", 5), checksum="MD5"), '$.checksum: is "MD5", which is not a checksum or null'),
        (workload(("upload", "a/1", 5), version=1), "$.version: is 1, but only version 2"),
        (workload(("upload", "../1", 5)), '$.tasks[0].key: is "../1": `..` leaves the workspace'),
        (workload(("upload", "/1", 5)), '$.tasks[0].key: is "/1": it is absolute'),
        (workload(("upload", "a*", 5)), "$.tasks[0].key"),
        (workload(("upload", "a\n", 5)), "$.tasks[0].key"),
        (workload(("upload", "a", -5)), "$.tasks[0].size: is -5"),
        (workload(("copy", "a", 5)), '$.tasks[0].action: is "copy", which is not an action'),
        (workload(), "$.tasks: is empty"),
        (workload(("upload", "a", 5), filesOnDisk="yes"), "$.filesOnDisk: is the string"),
        (workload(("upload", "a", 5), files=1), "$.files: is an unknown key"),
        (b'{"version": 2}', "$.tasks: is missing"),
        (b"[]", "$: is a list, not a workload"),
        (b"{", "$: is not JSON"),
        (b"\xff", "$: is not UTF-8"),
    ],
)  # fmt: skip
def test_what_cannot_be_expressed_is_reported_with_its_path(content: bytes, reported: str) -> None:
    assert reported in problems(content)


def test_all_problems_are_reported_in_one_pass() -> None:
    said = problems(workload(("upload", "/a", 1), ("upload", "b", "1"), comment=None))  # type: ignore[arg-type]
    assert "3 problems" in said


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("a/b/upload-1GiB-1x.run.json", "upload-1GiB-1x"),
        ("C:\\w\\x.run.json", "x"),
        ("\x1b[31mred\n.run.json", "[31mred"),
        (".run.json", "workload"),
    ],
)
def test_the_name_is_that_of_the_file(source: str, name: str) -> None:
    assert parsed(workload(("upload", "upload/1", 1)), source).name == name


def _mutated(data: st.DataObject, tree: Any) -> Any:
    if isinstance(tree, dict):
        key = data.draw(st.sampled_from([*tree, "other"]))
        return tree | {
            key: data.draw(st.none() | st.booleans() | st.integers() | st.text() | st.just([]) | st.just({}))
        }
    return tree


@settings(max_examples=30)
@given(st.data())
def test_whatever_is_written_is_a_definition_or_a_complaint(data: st.DataObject) -> None:
    tree = json.loads(workload(*numbered("download", 2)))
    tree = _mutated(data, tree)
    if isinstance(tree.get("tasks"), list) and tree["tasks"]:
        tree["tasks"][0] = _mutated(data, tree["tasks"][0])
    assert complaint(json.dumps(tree).encode()) in {"", "$"}
