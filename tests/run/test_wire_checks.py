"""What the wire and the disk prove, and what they refute."""

import pytest

from s3bench.run.wire_checks import download_warnings, engine_errors, request_errors, upload_errors
from s3bench.s3.wirelog import TransferEngine, WireLog, WireRequest
from s3bench.spec.command import Transfer, parse_transfer
from s3bench.spec.definition import Environment, FixtureDir, FixtureFile


def request(method: str = "GET", path: str = "/bucket/key", **changes: object) -> WireRequest:
    fields: dict[str, object] = {
        "method": method, "path": path, "query": "", "byte_range": "", "connection": 1, "attempt": 1,
        "engine": TransferEngine.PYTHON, "started_ns": 1, "body_ended_ns": 2, "response_started_ns": 3, "ended_ns": 4,
        "status": 200, "body_bytes": 0, "wire_bytes": 0, "response_bytes": 0, "checksums": {}, "file": "",
        "served_start": 0, "served_end": 0, "complete": True, "error": "",
    }  # fmt: skip
    return WireRequest(**{**fields, **changes})  # type: ignore[arg-type]  # the table above has every field


def log(*requests: WireRequest, leftover: tuple[str, ...] = (), faults: tuple[str, ...] = ()) -> WireLog:
    return WireLog(
        requests=requests, leftover=leftover, connections=1, connections_open_max=1, requests_in_flight_max=1,
        server_cpu_s=0.0, faults=faults,
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


class TestUpload:
    ENVIRONMENT = Environment(
        files=(FixtureFile(name="file", size_bytes=10),),
        file_dirs=(FixtureDir(name="many", file_count=3, file_size_bytes=10),),
    )

    def test_a_missing_byte_is_an_error(self) -> None:
        assert upload_errors(log(request("PUT", body_bytes=9)), UPLOAD, self.ENVIRONMENT) == (
            "the server received 9 of the 10 bytes of file",
        )

    def test_parts_count_together(self) -> None:
        parts = log(request("PUT", body_bytes=5), request("PUT", body_bytes=5))
        assert upload_errors(parts, UPLOAD, self.ENVIRONMENT) == ()

    def test_a_body_that_was_cut_off_does_not_count(self) -> None:
        cut = log(request("PUT", body_bytes=10, complete=False))
        assert upload_errors(cut, UPLOAD, self.ENVIRONMENT) != ()

    def test_a_directory_counts_all_its_files(self) -> None:
        recursive = transfer("cp", "many/", "s3://bucket/", "--recursive")
        assert upload_errors(log(request("PUT", body_bytes=30)), recursive, self.ENVIRONMENT) == ()
        assert upload_errors(log(request("PUT", body_bytes=20)), recursive, self.ENVIRONMENT) != ()


class TestNothingDownloaded:
    def test_a_download_that_read_no_object_is_warned_of(self) -> None:
        (warning,) = download_warnings(log(request("GET", "/bucket"), request("HEAD")), DOWNLOAD)
        assert "nothing was downloaded" in warning

    def test_one_that_read_an_object_is_not(self) -> None:
        assert download_warnings(log(request("GET", "/bucket"), request()), DOWNLOAD) == ()

    @pytest.mark.parametrize(
        "other", [None, UPLOAD, transfer("sync", "s3://bucket/prefix", "landed"), transfer("rm", "s3://bucket/key")]
    )
    def test_uploads_deletes_and_a_sync_with_nothing_to_do_are_not(self, other: Transfer | None) -> None:
        assert download_warnings(log(request("GET", "/bucket")), other) == ()
