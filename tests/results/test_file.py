"""Results documents on disk: checked early, replaced whole, read strictly."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from s3bench.errors import BadInput, MachineError
from s3bench.results import file
from s3bench.results.document import Client, Document, Result, encode_document
from s3bench.results.file import check_distinct, check_output, read_document, rescue, write_document

DOCUMENT = Document(s3bench="0.1.0", started_at="2026-11-21T00:00:00.000Z")
LARGER = DOCUMENT.with_result(Result(name="n", client=Client(name="s5cmd", version="2", label="s5cmd@2")))


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_document(DOCUMENT, tmp_path / "out.json")
    assert read_document(tmp_path / "out.json") == DOCUMENT
    write_document(LARGER, tmp_path / "out.json")
    assert read_document(tmp_path / "out.json") == LARGER
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_a_reader_of_the_old_document_is_not_disturbed(tmp_path: Path) -> None:
    write_document(LARGER, tmp_path / "out.json")
    with (tmp_path / "out.json").open("rb") as reader:
        write_document(DOCUMENT, tmp_path / "out.json")
        assert reader.read() == encode_document(LARGER)


def test_an_existing_file_is_refused_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    check_output(path, force=False)
    path.write_text("mine")
    with pytest.raises(BadInput, match="will not be overwritten") as caught:
        check_output(path, force=False)
    assert "--force" in caught.value.fix
    check_output(path, force=True)
    assert path.read_text() == "mine"
    path.unlink()
    check_output(path, force=False)


def test_a_file_has_one_purpose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").touch()
    (tmp_path / "link").symlink_to("mine")
    (tmp_path / "hard").hardlink_to(tmp_path / "mine")
    (tmp_path / "dangling").symlink_to("new")
    for written, read, what in (
        ({"-o": "new", "--csv": "new"}, {}, "-o and --csv both write to new"),
        ({"-o": "new", "--csv": "./dangling"}, {}, "-o and --csv both write to dangling"),
        ({"-o": "link"}, {"--replay": "mine"}, "-o link would overwrite an input file of --replay"),
        ({"-o": "hard"}, {"": "mine"}, "-o hard would overwrite an input file"),
    ):
        with pytest.raises(BadInput) as caught:
            check_distinct(
                [(option, Path(name)) for option, name in written.items()],
                read=[(option, Path(name)) for option, name in read.items()],
            )
        assert caught.value.what == what
        assert caught.value.fix == "pass another file"


def test_files_of_their_own_are_none_the_worse_for_options_that_were_not_given(tmp_path: Path) -> None:
    check_distinct(
        [("-o", tmp_path / "a"), ("--csv", None), ("--trace", None)],
        read=[("", tmp_path / "b"), ("", tmp_path / "b"), ("--key-file", None)],
    )


def test_outputs_that_cannot_be_written_are_refused_early(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name, message in (
        (".", "is a directory"),
        ("missing/out.json", "missing is not a directory"),
        ("file/out.json", "cannot write to"),
        ("pipe", "not a regular file"),
        ("/dev/null", "not a regular file"),
        ("loop", "cannot write to"),
    ):
        with pytest.raises(BadInput, match=message):
            check_output(tmp_path / name, force=True)


@pytest.mark.parametrize("force", [False, True])
def test_no_file_is_named_like_stdout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, force: bool) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="cannot write to -") as caught:
        check_output(Path("-"), force=force)
    assert caught.value.why == "it would be a file of that name, not stdout"
    assert caught.value.fix == "leave out the option to print to stdout, or pass the name of a file"
    check_output(tmp_path / "-", force=force)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_directory_without_the_right_to_write_is_refused_early(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(BadInput, match="not writable"):
        check_output(tmp_path / "out.json", force=False)


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "out.json"
    link.symlink_to("real/target.json")
    check_output(link, force=False)
    write_document(DOCUMENT, link)
    assert link.is_symlink()
    assert read_document(tmp_path / "real" / "target.json") == DOCUMENT
    with pytest.raises(BadInput, match="will not be overwritten"):
        check_output(link, force=False)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["out.json", "real", "target.json"]


def test_a_new_file_has_the_umasks_mode_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    umask = os.umask(0o027)
    try:
        write_document(DOCUMENT, tmp_path / "new.json")
        (tmp_path / "old.json").touch()
        (tmp_path / "old.json").chmod(0o604)
        write_document(DOCUMENT, tmp_path / "old.json")
    finally:
        os.umask(umask)
    assert (tmp_path / "new.json").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "old.json").stat().st_mode & 0o777 == 0o604


def test_a_disk_that_is_full_leaves_the_old_document_whole(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("saved")))  # the new document goes there
    write_document(DOCUMENT, tmp_path / "out.json")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(MachineError, match="No space left on device"):
            write_document(LARGER, tmp_path / "out.json")
    assert read_document(tmp_path / "out.json") == DOCUMENT
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]
    write_document(LARGER, tmp_path / "out.json")
    assert read_document(tmp_path / "out.json") == LARGER


WRITER = """
import itertools, sys
from pathlib import Path
from s3bench.results.document import Document
from s3bench.results.file import write_document
for number in itertools.count():
    write_document(Document(s3bench="0", started_at=str(number) * 50_000), Path(sys.argv[1]))
    if number == 3:
        print("ready", flush=True)
"""


def test_a_writer_killed_at_any_moment_leaves_a_whole_document_and_its_part_is_swept(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    (tmp_path / ".out.json.s3bench-99999999.part").write_text("left by the dead")
    (tmp_path / ".out.json.s3bench-1x.part").write_text("mine")
    (tmp_path / f".out.json.s3bench-{os.getppid()}.part").write_text("of a living writer")
    (tmp_path / ".other.json.s3bench-99999999.part").write_text("of another output")
    for _ in range(5):
        with subprocess.Popen((sys.executable, "-c", WRITER, str(path)), stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(signal.SIGKILL)
        read_document(path)
    check_output(path, force=True)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(
        (
            ".other.json.s3bench-99999999.part",
            ".out.json.s3bench-1x.part",
            f".out.json.s3bench-{os.getppid()}.part",
            "out.json",
        )
    )


def test_a_file_that_cannot_be_read_is_bad_input(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(BadInput, match="cannot read"):
            read_document(path)
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(BadInput, match=r"x\.json is not JSON"):
        read_document(tmp_path / "x.json")


def test_what_was_measured_and_cannot_be_written_is_kept_in_a_file_that_the_error_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(MachineError, match=r"cannot write to .*out\.json") as caught:
        write_document(LARGER, tmp_path / "missing" / "out.json")
    [kept] = tmp_path.iterdir()
    assert f"the results were saved in {kept}" in caught.value.fix
    assert read_document(kept) == LARGER


def test_where_nothing_can_be_written_the_error_says_that_they_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(MachineError) as caught:
        write_document(LARGER, tmp_path / "missing" / "out.json")
    assert "the results are lost" in caught.value.fix


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's full device")
def test_results_of_which_only_a_part_could_be_saved_leave_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "s3bench-results-x"

    def mkstemp(prefix: str) -> tuple[int, str]:
        made.write_text("")
        return os.open("/dev/full", os.O_WRONLY), str(made)

    monkeypatch.setattr("tempfile.mkstemp", mkstemp)
    assert "the results are lost" in rescue(b"x" * 100_000)
    assert not made.exists()


def test_a_file_that_is_too_large_is_refused_as_that_and_not_as_truncated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = encode_document(DOCUMENT)
    (tmp_path / "x.json").write_bytes(content)
    monkeypatch.setattr(file, "_READ_BYTES_MAX", len(content))
    assert read_document(tmp_path / "x.json") == DOCUMENT
    monkeypatch.setattr(file, "_READ_BYTES_MAX", len(content) - 1)
    with pytest.raises(BadInput, match=r"x\.json is larger than \d+ B, the most that s3bench reads"):
        read_document(tmp_path / "x.json")


def test_what_to_do_about_an_existing_file_is_said_in_the_words_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "x.json").touch()
    with pytest.raises(BadInput) as caught:
        check_output(tmp_path / "x.json", force=False, if_it_exists="remove it")
    assert caught.value.fix == "remove it"
