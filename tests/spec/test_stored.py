"""What an emulator holds before a command runs."""

from typing import Any

import pytest

from s3bench.spec.definition import (
    Definition,
    Environment,
    FileBody,
    FixtureDir,
    FixtureFile,
    ListingBody,
    RequestMatch,
    Response,
)
from s3bench.spec.stored import StoredObject, buckets_of, stored_objects

FILES = Environment(files=(FixtureFile(name="data/one", size_bytes=1), FixtureFile(name="two", size_bytes=2)))


def definition(*command: str, **more: Any) -> Definition:
    return Definition(name="d", command=command, **more)


@pytest.mark.parametrize(
    ("command", "buckets"),
    [
        (("s3", "cp", "s3://a/k", "s3://b"), ("a", "b")),
        (("s3", "sync", "s3://a/x", "s3://a/y"), ("a",)),
        (("s3api", "head-object", "--bucket", "a", "--key", "s3"), ("a",)),
        (("s3api", "head-object", "--bucket=a", "--key", "k"), ("a",)),
        (("s3", "ls"), ()),
        (("s3", "mb", "s3://a"), ()),
        (("s3api", "create-bucket", "--bucket", "a"), ()),
        (("s3", "rb", "s3://a"), ("a",)),
    ],
)
def test_the_buckets_that_a_command_names_exist_unless_it_makes_them(
    command: tuple[str, ...], buckets: tuple[str, ...]
) -> None:
    assert buckets_of(definition(*command)) == buckets


class TestWithoutResponses:
    @pytest.mark.parametrize(
        "command",
        [
            ("s3", "cp", "s3://a/two", "landed"),
            ("s3", "sync", "s3://a/data", "s3://b"),
            ("s3", "rm", "s3://a", "--recursive"),
            ("s3api", "get-object", "--bucket", "a", "--key", "two", "landed"),
        ],
    )
    def test_fixtures_are_objects_where_the_command_reads(self, command: tuple[str, ...]) -> None:
        assert stored_objects(definition(*command, environment=FILES)) == (
            StoredObject(bucket="a", key="data/one", file="data/one"),
            StoredObject(bucket="a", key="two", file="two"),
        )

    def test_an_upload_finds_an_empty_bucket(self) -> None:
        assert stored_objects(definition("s3", "sync", "data", "s3://a", environment=FILES)) == ()

    def test_files_of_directories_are_objects_below_a_prefix(self) -> None:
        environment = Environment(file_dirs=(FixtureDir(name="dir", file_count=2, file_size_bytes=1),))
        objects = stored_objects(definition("s3", "sync", "s3://a/dir", "to", environment=environment))
        assert [item.key for item in objects] == ["dir/file-000000", "dir/file-000001"]


class TestWithResponses:
    def test_they_tell_what_is_there_in_the_bucket_of_their_path(self) -> None:
        responses = (
            Response(match=RequestMatch(method="HEAD", path="/b/k"), body=FileBody(file="two")),
            Response(match=RequestMatch(method="GET", path="/b/k"), body=FileBody(file="two")),
            Response(match=RequestMatch(method="GET", path="/b/k"), body=FileBody(file="two")),
        )
        item = definition("s3", "cp", "s3://a/x", "s3://b/k", environment=FILES, responses=responses)
        assert stored_objects(item) == (StoredObject(bucket="b", key="k", file="two"),)
        assert stored_objects(item)[0].path == "/b/k"

    def test_a_listing_fills_the_bucket_that_is_read_from(self) -> None:
        environment = Environment(file_dirs=(FixtureDir(name="dir", file_count=1, file_size_bytes=1),))
        responses = (
            Response(match=RequestMatch(query=(("list-type", "2"),)), body=ListingBody(directory="dir", prefix="p/")),
        )
        item = definition("s3", "sync", "s3://a/p", "to", environment=environment, responses=responses)
        assert stored_objects(item) == (StoredObject(bucket="a", key="p/file-000000", file="dir/file-000000"),)

    def test_no_response_means_no_object(self) -> None:
        assert stored_objects(definition("s3", "cp", "s3://a/two", "x", environment=FILES, responses=())) == ()
