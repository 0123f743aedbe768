"""What a download left on the disk is compared with what was served, iteration after iteration."""

import os
from pathlib import Path

import pytest

from s3bench.run.download_check import DownloadCheck, first_difference
from s3bench.spec.command import Transfer, parse_transfer
from s3bench.spec.definition import Environment, FixtureDir, ListingBody, RequestMatch, Response

_BLOCK = 1 << 20
_SERVED = {"/bucket/key": "remote"}


def transfer(*words: str) -> Transfer:
    parsed = parse_transfer(("s3", *words))
    assert parsed is not None
    return parsed


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "pristine").mkdir()
    (tmp_path / "pristine" / "remote").write_bytes(b"served bytes")
    return tmp_path / "work"


@pytest.fixture
def landing(work: Path) -> DownloadCheck:
    download = transfer("cp", "s3://bucket/key", "landed")
    return DownloadCheck(download, Environment(), work=work, served_from=work.parent / "pristine")


class TestLanding:
    def test_equal_bytes_are_right(self, landing: DownloadCheck, work: Path) -> None:
        (work / "landed").write_bytes(b"served bytes")
        assert landing.errors(_SERVED) == ()

    def test_a_name_that_no_file_can_have_is_an_error_of_the_download(self, work: Path) -> None:
        name = "a" * 300
        download = transfer("cp", "s3://bucket/key", name)
        check = DownloadCheck(download, Environment(), work=work, served_from=work.parent / "pristine")
        assert check.errors(_SERVED) == (f"/bucket/key was served, but {name} is not there",)

    @pytest.mark.parametrize("seen_before", [False, True])
    @pytest.mark.parametrize(
        ("landed", "at"), [(b"served bXtes", 8), (b"served byte", 11), (b"served bytes and more", 12), (b"", 0)]
    )
    def test_wrong_bytes_are_an_error_with_their_place(
        self, landing: DownloadCheck, work: Path, landed: bytes, at: int, seen_before: bool
    ) -> None:
        if seen_before:
            (work / "landed").write_bytes(b"served bytes")
            assert landing.errors(_SERVED) == ()
        (work / "landed").write_bytes(landed)
        (error,) = landing.errors(_SERVED)
        assert "landed differs from what was served for /bucket/key" in error
        assert f"{len(landed)} bytes for 12, first difference at byte {at}" in error

    def test_a_file_that_never_landed_is_an_error(self, landing: DownloadCheck) -> None:
        assert landing.errors(_SERVED) == ("/bucket/key was served, but landed is not there",)

    def test_a_file_that_landed_last_time_alone_is_an_error(self, landing: DownloadCheck, work: Path) -> None:
        (work / "landed").write_bytes(b"served bytes")
        assert landing.errors(_SERVED) == ()
        (work / "landed").unlink()
        assert landing.errors(_SERVED) == ("/bucket/key was served, but landed is not there",)

    def test_looking_ahead_tells_nothing_but_saves_the_second_look(self, landing: DownloadCheck, work: Path) -> None:
        (work / "landed").write_bytes(b"served bytes")
        landing.look_ahead()  # nothing is known yet
        assert landing.errors(_SERVED) == ()
        landing.look_ahead()
        (work / "landed").unlink()
        assert landing.errors(_SERVED) == ()
        landing.look_ahead()
        assert landing.errors(_SERVED) == ("/bucket/key was served, but landed is not there",)

    def test_what_was_looked_at_ahead_is_looked_at_again_when_another_file_was_served(
        self, landing: DownloadCheck, work: Path
    ) -> None:
        (work.parent / "pristine" / "other").write_bytes(b"other bytes")
        (work / "landed").write_bytes(b"served bytes")
        assert landing.errors(_SERVED) == ()
        landing.look_ahead()
        (error,) = landing.errors({"/bucket/key": "other"})
        assert "landed differs" in error

    def test_what_was_looked_at_ahead_is_right_for_one_iteration_alone(
        self, landing: DownloadCheck, work: Path
    ) -> None:
        (work / "landed").write_bytes(b"served bytes")
        assert landing.errors(_SERVED) == ()
        landing.look_ahead()
        assert landing.errors(_SERVED) == ()
        (work / "landed").unlink()
        assert landing.errors(_SERVED) == ("/bucket/key was served, but landed is not there",)

    @pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
    def test_what_is_no_file_did_not_land(self, landing: DownloadCheck, work: Path, make: object) -> None:
        assert callable(make)
        make(work / "landed")
        assert landing.errors(_SERVED) == ("/bucket/key was served, but landed is not there",)

    @pytest.mark.parametrize("size_bytes", [64 << 10, (64 << 10) + 1, 3 << 20])
    def test_large_files_are_compared_to_their_end(self, landing: DownloadCheck, work: Path, size_bytes: int) -> None:
        (work.parent / "pristine" / "remote").write_bytes(b"x" * size_bytes)
        (work / "landed").write_bytes(b"x" * size_bytes)
        assert landing.errors(_SERVED) == ()
        (work / "landed").write_bytes(b"x" * (size_bytes - 1) + b"y")
        (error,) = landing.errors(_SERVED)
        assert f"first difference at byte {size_bytes - 1}" in error

    def test_a_dry_run_leaves_nothing_to_check(self, work: Path) -> None:
        dry = transfer("cp", "s3://bucket/key", "landed", "--dryrun")
        check = DownloadCheck(dry, Environment(), work=work, served_from=work.parent / "pristine")
        assert check.errors(_SERVED) == ()

    def test_uploads_leave_nothing_to_check(self, work: Path) -> None:
        upload = transfer("cp", "file", "s3://bucket/key")
        for each in (upload, None):
            landing = DownloadCheck(each, Environment(), work=work, served_from=work.parent / "pristine")
            assert landing.errors(_SERVED) == ()


LISTED = Environment(file_dirs=(FixtureDir(name="remote", file_count=3, file_size_bytes=4),))
LISTING = Response(
    match=RequestMatch(method="GET", path="/bucket"), body=ListingBody(directory="remote", prefix="to/"), instances=None
)


class TestListed:
    def errors(self, work: Path, *words: str, responses: tuple[Response, ...] = (LISTING,)) -> tuple[str, ...]:
        """What is wrong if the first and the last of three listed objects landed, the first from a file."""
        (work / "landed").mkdir()
        (work.parent / "pristine" / "remote").unlink()
        (work.parent / "pristine" / "remote").mkdir()
        for file in (work / "landed", work.parent / "pristine" / "remote"):
            (file / "file-000000").write_bytes(b"same")
        (work / "landed" / "file-000002").write_bytes(b"text")
        check = DownloadCheck(transfer(*words), LISTED, responses, work=work, served_from=work.parent / "pristine")
        return check.errors({"/bucket/to/file-000000": "remote/file-000000"})

    @pytest.mark.parametrize("verb", ["cp", "mv"])
    @pytest.mark.parametrize("path", ["/bucket", "/bucket/", "/*", None])
    def test_a_listed_object_that_did_not_land_is_an_error(self, work: Path, verb: str, path: str | None) -> None:
        match = RequestMatch(path=path)
        listing = Response(match=match, body=LISTING.body, instances=None)
        errors = self.errors(work, verb, "s3://bucket/to", "landed", "--recursive", responses=(listing,))
        assert errors == ("/bucket/to/file-000001 was listed, but landed/file-000001 is not there",)

    @pytest.mark.parametrize(
        "words",
        [
            ("sync", "s3://bucket/to", "landed"),
            ("cp", "s3://bucket/to", "landed", "--recursive", "--exclude", "*1"),
            ("cp", "s3://bucket/to", "landed", "--recursive", "--no-overwrite"),
            ("cp", "s3://bucket/to", "landed", "--recursive", "--case-conflict", "skip"),
            ("cp", "s3://bucket/to/file-000000", "landed/"),
            ("cp", "s3://bucket/elsewhere", "landed", "--recursive"),
            ("cp", "s3://other/to", "landed", "--recursive"),
        ],
    )
    def test_one_that_need_not_be_downloaded_is_none(self, work: Path, words: tuple[str, ...]) -> None:
        assert self.errors(work, *words) == ()


@pytest.mark.parametrize(
    ("left", "right", "at"),
    [
        (b"", b"", None),
        (b"a", b"", 0),
        (b"abc", b"abd", 2),
        (b"x" * _BLOCK, b"x" * _BLOCK, None),
        (b"x" * _BLOCK + b"y", b"x" * _BLOCK, _BLOCK),
        (b"x" * (_BLOCK + 5) + b"y", b"x" * (_BLOCK + 5) + b"z", _BLOCK + 5),
    ],
)
def test_the_first_difference_of_two_files(tmp_path: Path, left: bytes, right: bytes, at: int | None) -> None:
    (tmp_path / "left").write_bytes(left)
    (tmp_path / "right").write_bytes(right)
    assert first_difference(tmp_path / "left", tmp_path / "right") == at
