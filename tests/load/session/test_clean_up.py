"""Cleaning up behind a run at a server that lies: nothing of anybody else is removed, and the user is told why."""

import itertools
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from s3bench.cli.main import main
from s3bench.clients.environment import FAKE_CREDENTIALS
from s3bench.errors import ExitCode, S3BenchError
from s3bench.load.session.bucket import LiveBucket
from tests.load.lyingserver import BUCKET, Lie, LyingServer, Query, Reply, document, objects_page, refusal, uploads_page

RUN = "0123456789ab"
ROOT = f"s3bench/{RUN}/"
OURS = tuple(f"{ROOT}00c0ffee/{number:08d}" for number in range(3))
FOREIGN = ("20240101", "deadbeef/00000001", "deadbeef/w1/20240101", "photos/2024/cat.jpg")
"""Keys of others; without the prefix the first three look like ours."""


def always(reply: Reply) -> Lie:
    return lambda *_: reply


def in_turn(make: Callable[[int], Reply]) -> Lie:
    numbers = itertools.count()
    return lambda *_: make(next(numbers))


def ignores_the_prefix(server: LyingServer, _: Query) -> Reply:
    return objects_page(server.objects)


def ignores_the_prefix_of_uploads(server: LyingServer, _: Query) -> Reply:
    return uploads_page(server.uploads)


def lies_on_the_second_page(server: LyingServer, query: Query) -> Reply:
    return objects_page([OURS[2], FOREIGN[1]]) if "continuation-token" in query else objects_page([OURS[0]], token="t")


OBJECTS: dict[str, tuple[Lie, str]] = {
    "ignored prefix": (ignores_the_prefix, "lists '20240101'"),
    "one foreign key at the end": (always(objects_page([*OURS, FOREIGN[1]])), "lists 'deadbeef/00000001'"),
    "another run": (always(objects_page(["s3bench/ffffffffffff/00c0ffee/00000000"])), "ffffffffffff"),
    "a prefix that is longer": (always(objects_page([f"x{OURS[0]}"])), f"lists 'x{OURS[0]}'"),
    "encoded without being said": (always(objects_page([OURS[0].replace("/", "%2F")])), "%2F00c0ffee"),
    "encoded twice": (
        always(objects_page([OURS[0].replace("/", "%252F")], encoding="url")),
        "lists 's3bench%2F0123456789ab",
    ),
    "plus for a slash": (always(objects_page([OURS[0].replace("/", "+")], encoding="url")), "lists 's3bench 0123"),
    "upper case": (always(objects_page([OURS[0].upper()])), "S3BENCH"),
    "a leading slash": (always(objects_page([f"/{OURS[0]}"])), "lists '/s3bench/"),
    "an empty key": (always(objects_page([""])), "without a key"),
    "no key": (always(document("ListBucketResult", "<IsTruncated>false</IsTruncated><Contents/>")), "without a key"),
    "no size": (
        always(
            document("ListBucketResult", f"<IsTruncated>false</IsTruncated><Contents><Key>{OURS[0]}</Key></Contents>")
        ),
        "without its size",
    ),
    "the same token for ever": (always(objects_page([OURS[0]], token="same")), "never ends"),
    "tokens in a circle": (
        in_turn(lambda number: objects_page([f"{ROOT}00c0ffee/{number:08d}"], token="ab"[number % 2])),
        "never ends",
    ),
    "the same page under new tokens": (
        in_turn(lambda number: objects_page([OURS[0]], token=f"t{number}")),
        "never ends",
    ),
    "empty pages without end": (in_turn(lambda number: objects_page([], token=f"t{number}")), "never ends"),
    "no token": (always(objects_page([OURS[0]], truncated=True)), "without a continuation token"),
    "no word on whether it is complete": (always(document("ListBucketResult", "<Name>mine</Name>")), "is complete"),
    "versions": (
        always(document("ListVersionsResult", f"<IsTruncated>false</IsTruncated><Version>{OURS[0]}</Version>")),
        "<ListVersionsResult>, not <ListBucketResult>",
    ),
    "a web page": (
        always(Reply(body=b"<html><body>Please log in</body></html>", kind="text/html")),
        "<html>, not <ListBucketResult>",
    ),
    "a web page that is no XML": (always(Reply(body=b"<!doctype html><p>Hi<br>", kind="text/html")), "was not XML"),
    "nothing": (always(Reply(body=b"")), "no XML document"),
    "broken XML": (always(Reply(body=b"<ListBucketResult><IsTruncated>false</IsTrunc")), "the answer was not XML"),
    "a size that is not a number": (
        always(
            document(
                "ListBucketResult",
                f"<IsTruncated>false</IsTruncated><Contents><Key>{OURS[0]}</Key><Size>big</Size></Contents>",
            )
        ),
        "cannot be read",
    ),
    "403": (always(refusal(403, "AccessDenied")), "the server refused to list"),
    "404": (always(refusal(404, "NoSuchBucket")), "the server refused to list"),
    "500": (always(refusal(500, "InternalError")), "the server refused to list"),
    "500 with a web page": (always(Reply(body=b"<html>", status=500, kind="text/html")), "an error without a code"),
    "a reset connection": (always(Reply(body=None)), "did not answer"),
}  # fmt: skip

UPLOADS: dict[str, tuple[Lie, str]] = {
    "ignored prefix": (ignores_the_prefix_of_uploads, "lists '20240101'"),
    "one foreign key at the end": (always(uploads_page([OURS[0], FOREIGN[1]])), "lists 'deadbeef/00000001'"),
    "markers in a circle": (
        in_turn(lambda number: uploads_page([f"{ROOT}00c0ffee/{number:08d}"], marker="ab"[number % 2])),
        "never ends",
    ),
    "an empty key": (always(uploads_page([""])), "without a key"),
    "no id": (always(uploads_page([OURS[0]], upload_id="")), "without its id"),
    "a web page": (always(Reply(body=b"<html/>")), "<html>, not <ListMultipartUploadsResult>"),
    "403": (always(refusal(403, "AccessDenied")), "the server refused to list"),
}

DELETIONS: dict[str, tuple[Lie, str]] = {
    "other keys": (always(document("DeleteResult", "<Deleted><Key>20240101</Key></Deleted>")), "deleted '20240101'"),
    "no word": (always(document("DeleteResult", "")), "does not confirm 3 of 3 deletions"),
    "an error": (
        always(document("DeleteResult", f"<Error><Key>{OURS[0]}</Key><Code>AccessDenied</Code></Error>")),
        "1 objects could not be deleted",
    ),
    "a web page": (always(Reply(body=b"<html/>")), "<html>, not <DeleteResult>"),
    "403": (always(refusal(403, "AccessDenied")), "the server refused to delete objects"),
}


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s3bench.run.prefix.EMPTY_PAGES_MAX", 10)
    monkeypatch.setattr("s3bench.run.prefix.PAGES_MAX", 50)


def clean_up(server: LyingServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """Run `s3bench load --clean-up`, which must end with exit code 4; gives what it wrote to stderr."""
    told = load(server, monkeypatch, capsys, "--clean-up", RUN)
    assert told.startswith("s3bench: ")
    return told


def load(
    server: LyingServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str
) -> str:
    """Run `s3bench load`, which must end with exit code 4; gives what it wrote to stderr."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setattr("sys.argv", ["s3bench", "load", "-q", "--endpoint-url", server.url, "-b", BUCKET, *options])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    assert ended.value.code == ExitCode.CLIENT_FAILED
    assert "Traceback" not in told.err
    return told.err


@pytest.mark.parametrize("lie", OBJECTS)
def test_a_listing_that_cannot_be_right_stops_the_clean_up_before_anything_of_it_is_deleted(
    lie: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, words = OBJECTS[lie]
    with LyingServer([*OURS, *FOREIGN], [*OURS, *FOREIGN], list_objects=answer) as server:
        assert words in clean_up(server, monkeypatch, capsys)
    assert server.removed == []
    assert server.questions < 60


@pytest.mark.parametrize("lie", UPLOADS)
def test_a_listing_of_uploads_that_cannot_be_right_stops_before_anything_of_it_is_aborted(
    lie: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, words = UPLOADS[lie]
    with LyingServer([], [*FOREIGN, *OURS], list_uploads=answer) as server:
        assert words in clean_up(server, monkeypatch, capsys)
    assert not set(server.removed) - {f"{ROOT}00c0ffee/{number:08d}" for number in range(2)}
    assert server.questions < 60


@pytest.mark.parametrize("lie", DELETIONS)
def test_a_deletion_that_the_server_does_not_confirm_is_no_deletion(
    lie: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, words = DELETIONS[lie]
    with LyingServer([*OURS, *FOREIGN], delete=answer) as server:
        assert words in clean_up(server, monkeypatch, capsys)
    assert server.removed == list(OURS)


def test_a_run_of_puts_deletes_nothing_where_the_server_ignores_the_prefix(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with LyingServer(list(FOREIGN), list(FOREIGN), list_objects=ignores_the_prefix) as server:
        told = load(server, monkeypatch, capsys, "--operation", "put", "--operations", "3", "-t", "1", "--size", "1KiB")
    assert "could not be deleted" in told
    assert "was asked for keys that begin with" in told
    assert "lists '20240101'" in told
    assert "--clean-up" in told
    assert (len(server.objects), server.removed) == (len(FOREIGN) + 3, [])


def test_a_listing_that_never_repeats_itself_ends_with_an_error_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    endless = in_turn(lambda number: objects_page([f"{ROOT}00c0ffee/{number:08d}"], token=f"t{number}"))
    with LyingServer(list_objects=endless) as server:
        assert "has more than 50 pages" in clean_up(server, monkeypatch, capsys)
    assert server.removed == []


def bucket(server: LyingServer) -> LiveBucket:
    return LiveBucket.at(server.url, BUCKET, credentials=FAKE_CREDENTIALS)


def test_what_a_page_before_the_lie_lists_is_not_deleted_while_a_request_is_not_full() -> None:
    told = pytest.raises(S3BenchError, match="lists 'deadbeef/00000001'")
    with LyingServer(list_objects=lies_on_the_second_page) as server, told:
        bucket(server).remove_run(RUN)
    assert server.removed == []


def test_an_honest_server_is_cleaned_up_over_several_pages_and_everything_else_stays() -> None:
    ours = [f"{ROOT}00c0ffee/{number:08d}" for number in range(2500)]
    with LyingServer([*ours, *FOREIGN], [*OURS, *FOREIGN]) as server:
        removed = bucket(server).remove_run(RUN)
    assert (removed.objects, removed.uploads, removed.foreign) == (2500, 3, ())
    assert sorted(server.removed) == sorted([*ours, *OURS])
    assert server.objects == server.uploads == list(FOREIGN)


@pytest.mark.parametrize("key", ["note", "00000000", "deadbeef/1", "deadbeef/0000000a", "deadbeef/w1/x/00000000"])
def test_what_lies_below_the_prefix_in_another_form_is_left_and_counted(key: str) -> None:
    with LyingServer([ROOT + key], [ROOT + key]) as server:
        removed = bucket(server).remove_run(RUN)
    assert server.removed == []
    assert removed.foreign == (ROOT + key, ROOT + key)


@pytest.mark.parametrize("code", ["NoSuchUpload", "NotImplemented"])
def test_a_server_that_has_no_list_of_uploads_has_none(code: str) -> None:
    with LyingServer([OURS[0]], list_uploads=always(refusal(404, code))) as server:
        assert str(bucket(server).remove_run(RUN)) == "removed 1 objects"


def test_existing_objects_are_listed_under_their_prefix_alone(tmp_path: Path) -> None:
    asked = unicodedata.normalize("NFC", "données/")
    other = unicodedata.normalize("NFD", asked)
    with LyingServer(list_objects=always(objects_page([f"{other}a"]))) as server:
        with pytest.raises(S3BenchError, match="was asked for keys that begin with 'données/'"):
            bucket(server).write_key_file(asked, tmp_path / "keys", keys_max=10)
        server.list_objects = always(objects_page([f"{asked}a"], token="same"))
        with pytest.raises(S3BenchError, match="never ends"):
            bucket(server).write_key_file(asked, tmp_path / "keys", keys_max=10)


def test_a_listing_ends_where_enough_keys_are_known(tmp_path: Path) -> None:
    endless = in_turn(lambda number: objects_page([f"data/{number}"], token=f"t{number}"))
    with LyingServer(list_objects=endless) as server:
        assert bucket(server).write_key_file("data/", tmp_path / "keys", keys_max=5) == 5
    assert server.questions == 5


def test_a_data_set_is_counted_under_its_root_alone() -> None:
    told = pytest.raises(S3BenchError, match="lists '20240101'")
    with LyingServer(["20240101", OURS[0]], list_objects=ignores_the_prefix) as server, told:
        bucket(server).gapless(f"{ROOT}00c0ffee/")
