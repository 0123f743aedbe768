from typing import Any

import pytest

from s3bench.errors import BadInput
from s3bench.spec.command import (
    S3,
    Filter,
    Local,
    Transfer,
    TransferDirection,
    Verb,
    expected_local,
    parse_transfer,
    selects,
)


def transfer(*arguments: str) -> Transfer:
    parsed = parse_transfer(("s3", *arguments))
    assert parsed is not None
    return parsed


def test_an_upload_is_understood() -> None:
    assert transfer("cp", "test_file", "s3://bucket/a/b", "--quiet") == Transfer(
        verb=Verb.CP, source=Local(path="test_file"), destination=S3(bucket="bucket", key="a/b"), quiet=True
    )


def test_a_sync_is_recursive_and_keeps_its_filters_in_order() -> None:
    parsed = transfer("sync", "s3://b", ".", "--exclude", "*", "--include=*.txt", "--delete")
    assert parsed == Transfer(
        verb=Verb.SYNC,
        source=S3(bucket="b", key=""),
        destination=Local(path="."),
        recursive=True,
        delete=True,
        filters=(Filter(include=False, pattern="*"), Filter(include=True, pattern="*.txt")),
    )


@pytest.mark.parametrize(
    ("arguments", "direction"),
    [
        (("cp", "a", "s3://b/k"), TransferDirection.UPLOAD),
        (("mv", "s3://b/k", "a"), TransferDirection.DOWNLOAD),
        (("sync", "s3://b/k", "s3://c"), TransferDirection.COPY),
        (("rm", "s3://b/k"), TransferDirection.DELETE),
    ],
)
def test_the_locations_tell_the_direction(arguments: tuple[str, ...], direction: TransferDirection) -> None:
    assert transfer(*arguments).direction is direction


@pytest.mark.parametrize(
    "command",
    [
        ("s3", "ls"),
        ("s3",),
        ("s3api", "put-object", "--body", "s3", "cp"),
        ("s3", "cp", "help"),
        ("help",),
        ("--version",),
        ("s3", "presign", "s3://b/k"),
    ],
)
def test_other_commands_are_no_transfers(command: tuple[str, ...]) -> None:
    assert parse_transfer(command) is None


def test_global_options_may_stand_before_the_service() -> None:
    parsed = parse_transfer(("--region", "eu-west-1", "s3", "--debug", "rm", "s3://b/k"))
    assert parsed is not None
    assert parsed.source == S3(bucket="b", key="k")
    assert parsed.reason == "`--region`, `--debug`"


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("cp", "a"), "`s3 cp` needs a source and a destination, but has 1"),
        (("cp", "a", "s3://b", "c"), "`s3 cp` needs a source and a destination, but has 3"),
        (("rm", "s3://b/k", "s3://b/l"), "`s3 rm` needs one location, `s3://BUCKET/KEY`, but has 2"),
        (("rm", "local"), "`s3 rm` removes objects, but `local` is local"),
        (("mv", "a", "b"), "`s3 mv` needs at least one `s3://` path"),
        (("cp", "a", "s3://"), "`s3://` has no bucket"),
        (("cp", "a", "s3:///k"), "`s3:///k` has no bucket"),
        (("sync", "-", "s3://b"), "`-` works only with `s3 cp` of a single object"),
        (("cp", "s3://b", "-", "--recursive"), "`-` works only with `s3 cp` of a single object"),
    ],
)
def test_what_aws_cli_would_refuse_is_bad_input(arguments: tuple[str, ...], what: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_transfer(("s3", *arguments))
    assert caught.value.what == what
    assert caught.value.fix


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("cp", "a", "s3://b/k", "--quiet", "--no-progress", "--only-show-errors", "--color", "off"), ""),
        (("cp", "a", "s3://b/k", "--recursive", "--follow-symlinks"), ""),
        (("sync", "a", "s3://b/k", "--delete"), ""),
        (("sync", "a", "s3://b/k", "--recursive"), "`--recursive`"),
        (("cp", "a", "s3://b/k", "--delete"), "`--delete`"),
        (("cp", "a", "s3://b/k", "--dryrun", "--acl", "private"), "`--dryrun`, `--acl`"),
        (("cp", "--sse", "aws:kms", "a", "s3://b/k"), "`--sse`"),
        (("cp", "--brand-new", "a", "s3://b/k"), "`--brand-new`"),
        (("cp", "--brand-new", "value", "a", "s3://b/k"), "`--brand-new`"),
        (("cp", "-", "s3://b/k"), "`-` (standard input or output)"),
        (("cp", "a", "s3://arn:aws:s3:us-west-2:123456789012:accesspoint/x/k"), "an access point ARN"),
    ],
)
def test_what_our_drivers_cannot_do_is_named(arguments: tuple[str, ...], reason: str) -> None:
    parsed = transfer(*arguments)
    assert parsed.reason == reason
    assert parsed.portable is not bool(reason)
    assert parsed.source in {Local(path="a"), Local(path="-")}


@pytest.mark.parametrize(
    ("arguments", "key", "lands"),
    [
        (("cp", "s3://b/a/key", "file"), "a/key", "file"),
        (("cp", "s3://b/a/key", "./dir//file"), "a/key", "dir/file"),
        (("cp", "s3://b/a/key", "."), "a/key", "key"),
        (("cp", "s3://b/a/key", "./"), "a/key", "key"),
        (("mv", "s3://b/a/key", "dir/"), "a/key", "dir/key"),
        (("mv", "s3://b/a/key", "dir/."), "a/key", "dir/key"),
        (("cp", "s3://b/a/key", "file"), "a/other", None),
        (("cp", "s3://b/a/key", "-"), "a/key", None),
        (("cp", "s3://b/a/key", "/tmp/file"), "a/key", None),
        (("cp", "s3://b/a/key", "../file"), "a/key", None),
        (("cp", "s3://b/a", "dir", "--recursive"), "a/b/c", "dir/b/c"),
        (("cp", "s3://b/a/", "dir", "--recursive"), "a/b/c", "dir/b/c"),
        (("cp", "s3://b/a", "dir", "--recursive"), "ab/c", None),
        (("cp", "s3://b/a", "dir", "--recursive"), "a", None),
        (("cp", "s3://b/a", "dir", "--recursive"), "a/folder/", None),
        (("cp", "s3://b/a", "dir", "--recursive"), "a/../../etc", None),
        (("cp", "s3://b/a", "dir/in", "--recursive"), "a/../y", None),
        (("cp", "s3://b/a", "dir/in", "--recursive"), "a/x/../../y/..", None),
        (("cp", "s3://b/a", "dir", "--recursive"), "a/x/../y", "dir/y"),
        (("cp", "s3://b/a", "dir", "--recursive"), "a//etc/passwd", "dir/etc/passwd"),
        (("sync", "s3://b", "."), "x/y", "x/y"),
        (("sync", "s3://b/p", "down"), "p/x", "down/x"),
        (("sync", "s3://b/p", "down", "--exclude", "*.log"), "p/x/y.log", None),
        (("sync", "s3://b/p", "down", "--exclude", "*", "--include", "x*"), "p/xy", "down/xy"),
        (("cp", "a", "s3://b/k"), "k", None),
        (("cp", "s3://b/k", "s3://c/k"), "k", None),
        (("rm", "s3://b/k"), "k", None),
    ],
)
def test_an_object_lands_where_aws_cli_puts_it(arguments: tuple[str, ...], key: str, lands: str | None) -> None:
    assert expected_local(transfer(*arguments), key) == lands


def test_an_existing_directory_takes_the_object_in() -> None:
    parsed = transfer("cp", "s3://b/a/key", "./dir")
    assert expected_local(parsed, "a/key") == "dir"
    assert expected_local(parsed, "a/key", directories=["dir"]) == "dir/key"


@pytest.mark.parametrize(
    ("filters", "key", "selected"),
    [
        ((), "p/x", True),
        (("--exclude", "*"), "p/x", False),
        (("--exclude", "*", "--include", "x"), "p/x", True),
        (("--include", "x", "--exclude", "*"), "p/x", False),
        (("--exclude", "sub/*"), "p/sub/deep/x", False),
        (("--exclude", "sub/*"), "p/x", True),
        (("--exclude", "p/*"), "p/x", True),
        (("--exclude", "[xy]"), "p/y", False),
        (("--exclude", "?"), "p/xy", True),
    ],
)
def test_the_last_filter_that_matches_decides(filters: Any, key: str, selected: bool) -> None:
    assert selects(transfer("rm", "s3://b/p", "--recursive", *filters), key) is selected


def test_the_filters_of_a_single_object_begin_at_its_parent() -> None:
    assert not selects(transfer("rm", "s3://b/p/key", "--exclude", "k*"), "p/key")
    assert selects(transfer("rm", "s3://b/p/key", "--exclude", "p/*"), "p/key")
