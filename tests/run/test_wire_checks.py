"""What the wire and the disk prove, and what they refute."""

import zlib
from collections.abc import Iterable

import pytest

from s3bench.run.fixture import content_chunks, plan_tree
from s3bench.run.wire_checks import engine_errors, request_errors, transfer_warnings, upload_errors
from s3bench.s3.wirelog import InjectedFault, TransferEngine, UploadDigest, WireLog, WireRequest
from s3bench.spec.command import Transfer, parse_transfer
from s3bench.spec.definition import Environment, FileLiteral, Fill, FixtureDir, FixtureFile


def request(method: str = "GET", path: str = "/bucket/key", **changes: object) -> WireRequest:
    fields: dict[str, object] = {
        "method": method, "path": path, "query": "", "byte_range": "", "connection": 1, "attempt": 1,
        "engine": TransferEngine.PYTHON, "started_ns": 1, "body_ended_ns": 2, "response_started_ns": 3, "ended_ns": 4,
        "status": 200, "body_bytes": 0, "wire_bytes": 0, "response_bytes": 0, "checksums": {}, "file": "",
        "served_start": 0, "served_end": 0, "complete": True, "error": "",
    }  # fmt: skip
    return WireRequest(**{**fields, **changes})  # type: ignore[arg-type]  # the table above has every field


def log(
    *requests: WireRequest,
    leftover: tuple[str, ...] = (),
    faults: tuple[str, ...] = (),
    verified: bool = False,
    digests: tuple[UploadDigest, ...] = (),
) -> WireLog:
    return WireLog(
        requests=requests, leftover=leftover, connections=1, connections_open_max=1, requests_in_flight_max=1,
        server_cpu_s=0.0, faults=faults, verified=verified, digests=digests,
    )  # fmt: skip


def transfer(*words: str) -> Transfer:
    parsed = parse_transfer(("s3", *words))
    assert parsed is not None
    return parsed


DOWNLOAD = transfer("cp", "s3://bucket/key", "landed")
UPLOAD = transfer("cp", "file", "s3://bucket/key")


class TestEngine:
    def test_data_moved_by_another_engine_is_an_error(self) -> None:
        (error,) = engine_errors(log(request(engine=TransferEngine.PYTHON)), DOWNLOAD, TransferEngine.CRT)
        assert "engine `python` where `crt` was asked for" in error

    def test_the_engine_that_was_asked_for_is_none(self) -> None:
        assert engine_errors(log(request(engine=TransferEngine.CRT)), DOWNLOAD, TransferEngine.CRT) == ()

    @pytest.mark.parametrize("other", [request("HEAD"), request("GET", "/bucket"), request("DELETE"), request("POST")])
    def test_requests_that_move_no_object_data_prove_nothing(self, other: WireRequest) -> None:
        assert engine_errors(log(other), DOWNLOAD, TransferEngine.CRT) == ()

    def test_copies_within_s3_move_no_data_through_the_client(self) -> None:
        copy = transfer("cp", "s3://bucket/a", "s3://bucket/b")
        assert engine_errors(log(request("PUT")), copy, TransferEngine.CRT) == ()

    def test_commands_that_transfer_nothing_and_clients_that_may_choose_are_not_judged(self) -> None:
        assert engine_errors(log(request()), None, TransferEngine.CRT) == ()
        assert engine_errors(log(request()), DOWNLOAD, None) == ()


def test_what_the_server_complained_about_is_told_once() -> None:
    bad = request(error="no response left for GET /x")
    assert request_errors(log(bad, bad, leftover=("responses[1]: unused",), faults=("garbage",))) == (
        "no response left for GET /x",
        "unused response: responses[1]: unused",
        "garbage",
    )


def test_what_a_network_model_did_to_a_request_was_asked_for() -> None:
    assert request_errors(log(request(error="the connection was reset", fault=InjectedFault.RESET))) == ()


def put(size_bytes: int, query: str = "", path: str = "/bucket/key", **changes: object) -> WireRequest:
    return request("PUT", path, **{"query": query, "body_bytes": size_bytes, **changes})


def part(number: int, size_bytes: int, upload: str = "u", status: int = 200) -> WireRequest:
    return put(size_bytes, f"partNumber={number}&uploadId={upload}", status=status)


def complete(upload: str = "u", status: int = 200) -> WireRequest:
    return request("POST", query=f"uploadId={upload}", status=status)


CREATE = request("POST", query="uploads")
ABORT = request("DELETE", query="uploadId=u", status=204)
ENVIRONMENT = Environment(
    files=(FixtureFile(name="file", size_bytes=10, fill=Fill.RANDOM),),
    file_dirs=(FixtureDir(name="many", file_count=3, file_size_bytes=10, fill=Fill.RANDOM),),
    file_literals=(FileLiteral(name="file", content="more", mode="a"), FileLiteral(name="empty", content="")),
)
RECURSIVE = transfer("cp", "many/", "s3://bucket/to", "--recursive")


def many(*numbers: int) -> tuple[WireRequest, ...]:
    return tuple(put(10, path=f"/bucket/to/file-00000{number}") for number in numbers)


class TestUploadedBytes:
    @pytest.mark.parametrize(
        ("requests", "received"),
        [
            ((), 0),
            ((put(13),), 13),
            ((put(14, complete=False),), 0),
            ((put(14, status=503),), 0),
            ((put(14, error="checksum mismatch"),), 0),
            ((put(14), put(13)), 13),
            ((put(14, path="/bucket/other"),), 0),
            ((put(14, "tagging"),), 0),
            ((part(1, 7), part(1, 7), complete()), 7),
            ((part(1, 7), part(2, 7, status=500), complete()), 7),
            ((part(1, 7), part(2, 7, "other"), complete()), 7),
            ((part(1, 7), part(2, 7)), 0),
            ((part(1, 7), part(2, 7), complete(status=500)), 0),
            ((CREATE, part(1, 7), ABORT, CREATE, part(2, 7), complete()), 7),
            ((part(1, 7), CREATE, part(2, 7), complete()), 7),
            ((part(1, 7), ABORT, part(2, 7), complete()), 7),
        ],
    )
    def test_a_byte_that_did_not_arrive_is_an_error(self, requests: tuple[WireRequest, ...], received: int) -> None:
        assert upload_errors(log(*requests), UPLOAD, ENVIRONMENT) == (
            f"the server received {received} of the 14 bytes of file",
        )

    @pytest.mark.parametrize(
        "requests",
        [
            (put(14),),
            (put(14, "x-id=PutObject"),),
            (put(14, status=500), put(14)),
            (put(14, complete=False), put(14)),
            (CREATE, part(2, 4), part(1, 10), complete()),
            (CREATE, part(1, 10, status=500), part(2, 4), part(1, 10), complete(status=500), complete()),
            (CREATE, part(1, 10), ABORT, CREATE, part(1, 7), part(2, 7), complete()),
            (part(1, 10, "a"), part(1, 14, "b"), complete("b")),
        ],
    )
    def test_one_that_came_in_parts_again_or_in_another_upload_is_none(self, requests: tuple[WireRequest, ...]) -> None:
        assert upload_errors(log(*requests), UPLOAD, ENVIRONMENT) == ()

    def test_more_bytes_than_the_file_has_are_an_error(self) -> None:
        (error,) = upload_errors(log(put(15)), UPLOAD, ENVIRONMENT)
        assert error == "the server received 15 bytes of file, which has 14"

    def test_of_a_directory_every_file_is_wanted(self) -> None:
        assert upload_errors(log(*many(0, 1, 2)), RECURSIVE, ENVIRONMENT) == ()
        assert upload_errors(log(*many(0, 0, 2)), RECURSIVE, ENVIRONMENT) == (
            "the server received 0 of the 10 bytes of many/file-000001",
        )

    @pytest.mark.parametrize(
        "some",
        [
            transfer("sync", "many", "s3://bucket/to"),
            transfer("cp", "many", "s3://bucket/to", "--recursive", "--exclude", "*1"),
        ],
    )
    def test_of_a_sync_and_of_a_selection_only_what_came_is_looked_at(self, some: Transfer) -> None:
        assert upload_errors(log(*many(0, 2)), some, ENVIRONMENT) == ()
        assert len(upload_errors(log(*many(0), put(9, path="/bucket/to/file-000002")), some, ENVIRONMENT)) == 1

    @pytest.mark.parametrize("option", ["--dryrun", "--no-overwrite"])
    @pytest.mark.parametrize("words", [("many", "s3://bucket/to", "--recursive"), ("file", "s3://bucket/key")])
    def test_of_an_upload_that_may_leave_out_files_only_what_came_is_looked_at(
        self, words: tuple[str, ...], option: str
    ) -> None:
        some = transfer("cp", *words, option)
        assert upload_errors(log(), some, ENVIRONMENT) == ()
        wrong = put(9, path="/bucket/to/file-000002" if some.recursive else "/bucket/key")
        assert len(upload_errors(log(wrong), some, ENVIRONMENT)) == 1

    def test_an_empty_file_has_to_come_too(self) -> None:
        empty = transfer("cp", "empty", "s3://bucket")
        assert upload_errors(log(put(0, path="/bucket/empty")), empty, ENVIRONMENT) == ()
        assert upload_errors(log(), empty, ENVIRONMENT) == ("the server received no PUT of empty",)

    @pytest.mark.parametrize(
        ("words", "path"),
        [
            (("cp", "./file", "s3://bucket"), "/bucket/file"),
            (("cp", "file", "s3://bucket/to/"), "/bucket/to/file"),
            (("mv", "file", "s3://bucket/a//b/./c"), "/bucket/a/b/c"),
            (("cp", ".", "s3://bucket", "--recursive", "--exclude", "*", "--include", "file"), "/bucket/file"),
        ],
    )
    def test_a_file_is_found_under_the_key_that_the_command_gives_it(self, words: tuple[str, ...], path: str) -> None:
        assert upload_errors(log(put(14, path=path)), transfer(*words), ENVIRONMENT) == ()
        assert len(upload_errors(log(put(13, path=path)), transfer(*words), ENVIRONMENT)) == 1

    @pytest.mark.parametrize(
        "other",
        [
            None,
            DOWNLOAD,
            transfer("cp", "-", "s3://bucket/key"),
            transfer("cp", "elsewhere", "s3://bucket/key"),
            transfer("cp", "file", "s3://arn:aws:s3:eu-west-1:123456789012:accesspoint/mine/key"),
        ],
    )
    def test_what_uploads_no_fixture_to_a_known_path_is_not_judged(self, other: Transfer | None) -> None:
        assert upload_errors(log(put(3)), other, ENVIRONMENT) == ()


def content(name: str) -> bytes:
    return b"".join(content_chunks(dict(plan_tree(ENVIRONMENT).files())[name]))


def hashed(*bodies: tuple[WireRequest, bytes]) -> WireLog:
    """A log of uploads with the CRC-32 of what each brought."""
    digests = (
        UploadDigest(each.path, each.query, "crc32", zlib.crc32(body).to_bytes(4, "big")) for each, body in bodies
    )
    requests: Iterable[WireRequest] = (each for each, _ in bodies)
    return log(*requests, complete(), verified=True, digests=tuple(digests))


class TestUploadedContent:
    def test_the_bytes_of_the_file_are_right_however_they_are_split(self) -> None:
        data = content("file")
        assert upload_errors(hashed((put(14), data)), UPLOAD, ENVIRONMENT) == ()
        for at in range(15):
            parts = hashed((part(2, 14 - at), data[at:]), (part(1, at), data[:at]))
            assert upload_errors(parts, UPLOAD, ENVIRONMENT) == ()

    def test_other_bytes_are_an_error_that_names_the_part(self) -> None:
        data = content("file")
        assert upload_errors(hashed((put(14), b"\xff" * 14)), UPLOAD, ENVIRONMENT) == (
            "what the server received as /bucket/key differs from file",
        )
        swapped = hashed((part(1, 7), data[7:]), (part(2, 7), data[:7]))
        (error,) = upload_errors(swapped, UPLOAD, ENVIRONMENT)
        assert error.endswith("/bucket/key differs from file, first in bytes 0 to 6 (partNumber=1&uploadId=u)")

    def test_the_first_part_with_other_bytes_is_named_by_its_place_in_the_file(self) -> None:
        data = content("file")
        parts = [(part(1, 5), data[:5]), (part(2, 5), b"\xff" * 5), (part(3, 4), b"\xff" * 4)]
        (error,) = upload_errors(hashed(*parts), UPLOAD, ENVIRONMENT)
        assert error.endswith("differs from file, first in bytes 5 to 9 (partNumber=2&uploadId=u)")

    def test_each_file_of_a_directory_is_compared_with_its_own(self) -> None:
        requests = many(0, 1, 2)
        bodies = [content(f"many/file-00000{number}") for number in range(3)]
        assert upload_errors(hashed(*zip(requests, bodies, strict=True)), RECURSIVE, ENVIRONMENT) == ()
        wrong = [bodies[0], bodies[0], bodies[2]]
        (error,) = upload_errors(hashed(*zip(requests, wrong, strict=True)), RECURSIVE, ENVIRONMENT)
        assert error == "what the server received as /bucket/to/file-000001 differs from many/file-000001"


class TestUnverifiedUpload:
    def test_bytes_that_nothing_verified_are_warned_of(self) -> None:
        (warning,) = transfer_warnings(log(put(14), put(3), verified=True), UPLOAD)
        assert warning == "17 bytes were uploaded without a checksum: they were counted, but not verified (2 requests)"

    @pytest.mark.parametrize(
        "verified",
        [
            hashed((put(14), b"")),
            log(put(14, checksums={"md5": True}), verified=True),
            log(put(0), verified=True),
            log(put(14, status=503), verified=True),
            log(put(14)),
        ],
    )
    def test_what_was_compared_was_empty_failed_or_should_not_be_verified_is_not(self, verified: WireLog) -> None:
        assert transfer_warnings(verified, UPLOAD) == ()

    @pytest.mark.parametrize("other", [None, transfer("cp", "-", "s3://bucket/key")])
    def test_the_crc_of_a_body_proves_nothing_where_no_file_is_known(self, other: Transfer | None) -> None:
        assert len(transfer_warnings(hashed((put(14), b"")), other)) == 1


class TestNothingDownloaded:
    def test_a_download_that_read_no_object_is_warned_of(self) -> None:
        (warning,) = transfer_warnings(log(request("GET", "/bucket"), request("HEAD")), DOWNLOAD)
        assert "nothing was downloaded" in warning

    def test_one_that_read_an_object_is_not(self) -> None:
        assert transfer_warnings(log(request("GET", "/bucket"), request()), DOWNLOAD, compared={"/bucket/key"}) == ()

    @pytest.mark.parametrize("option", ["--dryrun", "--no-overwrite"])
    def test_one_that_may_read_none_is_not(self, option: str) -> None:
        some = transfer("cp", "s3://bucket/key", "landed", option)
        assert transfer_warnings(log(request("HEAD")), some) == ()

    @pytest.mark.parametrize(
        "other", [None, UPLOAD, transfer("sync", "s3://bucket/prefix", "landed"), transfer("rm", "s3://bucket/key")]
    )
    def test_uploads_deletes_and_a_sync_with_nothing_to_do_are_not(self, other: Transfer | None) -> None:
        assert transfer_warnings(log(request("GET", "/bucket")), other) == ()


class TestUncomparedDownload:
    FOLDER = transfer("cp", "s3://bucket/to", "landed", "--recursive")

    def test_objects_that_no_file_is_behind_are_warned_of_each_once(self) -> None:
        texts = [request(path=f"/bucket/to/{name}") for name in ("a", "b", "b")]
        (warning,) = transfer_warnings(log(request("GET", "/bucket"), *texts), self.FOLDER)
        assert warning == "2 objects were served from text and not compared"
        (warning,) = transfer_warnings(log(*texts), self.FOLDER, compared={"/bucket/to/a"})
        assert warning == "1 object was served from text and not compared"

    @pytest.mark.parametrize(
        "other",
        [None, UPLOAD, transfer("cp", "s3://bucket/key", "-"), transfer("cp", "s3://bucket/a", "s3://bucket/b")],
    )
    def test_what_leaves_no_file_is_not(self, other: Transfer | None) -> None:
        assert transfer_warnings(log(request()), other) == ()

    def test_a_response_that_the_client_tried_again_is_not(self) -> None:
        assert (
            transfer_warnings(log(request(status=503), request(file="file")), DOWNLOAD, compared={"/bucket/key"}) == ()
        )


class TestPartSize:
    @pytest.mark.parametrize(
        ("sizes", "sent"),
        [((5 << 20, 5 << 20, 1), "5 MiB"), ((512 << 10, 512 << 10), "512 KiB"), ((5 << 20,), "5 MiB")],
    )
    def test_parts_of_another_size_than_asked_for_are_warned_of(self, sizes: tuple[int, ...], sent: str) -> None:
        parts = [part(number, size_bytes) for number, size_bytes in enumerate(sizes, 1)]
        (warning,) = transfer_warnings(log(*parts), UPLOAD, part_bytes=1 << 20)
        assert warning == f"the config asks for parts of 1 MiB, the client sent {sent}"

    @pytest.mark.parametrize("sizes", [(1 << 20, 1 << 20, 5), (1 << 20,), (77,), ()])
    def test_parts_as_asked_for_and_a_file_below_their_size_are_not(self, sizes: tuple[int, ...]) -> None:
        parts = [part(number, size_bytes) for number, size_bytes in enumerate(sizes, 1)]
        assert transfer_warnings(log(*parts, put(9 << 20)), UPLOAD, part_bytes=1 << 20) == ()

    def test_parts_that_failed_downloads_and_a_config_that_asks_for_none_are_not(self) -> None:
        parts = log(part(1, 5 << 20), part(2, 5 << 20))
        assert transfer_warnings(parts, UPLOAD) == ()
        assert transfer_warnings(parts, None, part_bytes=1 << 20) == ()
        assert transfer_warnings(log(part(1, 5 << 20, status=503)), UPLOAD, part_bytes=1 << 20) == ()
