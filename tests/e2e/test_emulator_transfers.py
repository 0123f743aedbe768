"""Every client moves a whole tree into the emulator and out again, over HTTP and HTTPS, and no byte differs."""

from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.e2e.conftest import AWKWARD, MIB, contents
from tests.e2e.programs import Bench, rclones
from tests.schemes import HTTP, HTTPS, over


def stored(bench: Bench, tree: Path, prefix: str) -> None:
    """Check a part of the tree, the awkward names all of it, as the emulator shows it to a reader of our own."""
    for name in ("empty", "one", "part-and-one", "large", *(f"small/{name}" for name in AWKWARD)):
        assert bench.stored("bucket", prefix + name) == (tree / name).read_bytes(), name


def held(bench: Bench, tree: Path) -> None:
    assert contents(bench.work / "landed") == contents(tree)


@pytest.mark.usefixtures("aws_cli")
@pytest.mark.parametrize(
    ("bench", "kind"),
    [
        over(HTTP, "cli-classic", also=True),  # test_emulator_signed.py has a sync, with its signature
        over(HTTPS, "cli-crt", also=True),
        over(HTTPS, "v1", also=True),
        over(HTTPS, "cli-classic", also=True),
        over(HTTP, "cli-crt", also=True),
        over(HTTP, "v1", also=True),
    ],
    indirect=["bench"],
)
def test_aws_cli_syncs_a_tree_up_and_down(bench: Bench, tree: Path, kind: str) -> None:
    bench.aws(kind, "s3", "mb", "s3://made")
    bench.aws(kind, "s3", "sync", str(tree), "s3://made/pre", "--only-show-errors")
    assert bench.stored("made", "pre/large") == (tree / "large").read_bytes()
    bench.aws(kind, "s3", "sync", "s3://made/pre", "landed", "--only-show-errors")
    held(bench, tree)
    assert bench.aws(kind, "s3", "sync", str(tree), "s3://made/pre") == b""
    bench.aws(kind, "s3", "rb", "--force", "s3://made")
    assert bench.fetch("/made")[0] == 404


@pytest.mark.parametrize(
    ("bench", "kind"),
    [
        over(HTTP, "boto3-classic", also=True),  # by the CRT below, and by aws-cli in test_emulator_signed.py
        over(HTTPS, "boto3-crt", also=True),
        over(HTTPS, "crt-python"),
        over(HTTPS, "boto3-classic", also=True),
        over(HTTP, "boto3-crt", also=True),
        over(HTTP, "crt-python", also=True),
    ],
    indirect=["bench"],
)
def test_boto3_and_awscrt_move_a_tree_up_and_down(bench: Bench, tree: Path, kind: str) -> None:
    bench.drive(kind, "s3", "cp", str(tree), "s3://bucket/pre", "--recursive")
    stored(bench, tree, "pre/")
    bench.drive(kind, "s3", "sync", "s3://bucket/pre", "landed")
    held(bench, tree)
    bench.drive(kind, "s3", "rm", "s3://bucket/pre", "--recursive")
    assert bench.fetch("/bucket?list-type=2")[2].count(b"<Key>") == 0


@pytest.mark.parametrize("bench", [over(HTTPS), over(HTTP, also=True)], indirect=True)
def test_s5cmd_moves_a_tree_and_does_all_its_verbs(bench: Bench, tree: Path) -> None:
    bench.s5cmd("mb", "s3://made")
    assert b"s3://made" in bench.s5cmd("ls")
    bench.s5cmd("cp", f"{tree}/", "s3://bucket/pre/")
    stored(bench, tree, "pre/")
    bench.s5cmd("cp", "s3://bucket/pre/*", "landed/")
    held(bench, tree)
    assert bench.s5cmd("sync", f"{tree}/", "s3://bucket/pre/") == b""
    bench.s5cmd("mv", "s3://bucket/pre/one", "s3://made/moved")
    assert bench.s5cmd("cat", "s3://made/moved") == (tree / "one").read_bytes()
    assert bench.s5cmd("du", "s3://bucket/pre/large").startswith(b"%d" % (tree / "large").stat().st_size)
    bench.s5cmd("pipe", "s3://made/piped", stdin=b"piped" * 1000)
    assert bench.stored("made", "piped") == b"piped" * 1000
    bench.s5cmd("cp", "s3://made/piped", "s3://bucket/copied")
    assert bench.stored("bucket", "copied") == b"piped" * 1000
    bench.s5cmd("rm", "s3://made/*")
    bench.s5cmd("rb", "s3://made")
    assert bench.fetch("/made")[0] == 404


@pytest.mark.parametrize(
    ("bench", "provider", "position"),
    [
        over(HTTP, "Other", 0),
        over(HTTPS, "AWS", 0),
        over(HTTP, "AWS", 1),
        over(HTTPS, "Other", 1),
        over(HTTPS, "Other", 0, also=True),
        over(HTTP, "AWS", 0, also=True),
        over(HTTP, "Other", 1, also=True),
        over(HTTPS, "AWS", 1, also=True),
    ],
    indirect=["bench"],
)
def test_rclone_moves_a_tree_and_finds_no_difference(bench: Bench, tree: Path, provider: str, position: int) -> None:
    found = rclones()
    if position >= len(found):
        pytest.skip("needs rclone: apt-get install rclone, or go install github.com/rclone/rclone@latest")
    run = partial(bench.rclone, found[position], provider)
    target = ":s3:bucket/pre"
    run("copy", "--s3-upload-cutoff", "5Mi", "--s3-chunk-size", "5Mi", str(tree), target)
    stored(bench, tree, "pre/")
    run("check", "--download", str(tree), target)
    run("sync", target, "landed")
    held(bench, tree)
    assert b"        1 one\n" in run("ls", target)
    assert run("cat", f"{target}/small/plain") == (tree / "small" / "plain").read_bytes()
    run("purge", target)
    assert bench.fetch("/bucket?list-type=2")[2].count(b"<Key>") == 0


@pytest.mark.parametrize("bench", [over(HTTPS), over(HTTP, also=True)], indirect=True)
def test_awscrt_makes_64_requests_at_once(bench: Bench, tree: Path) -> None:
    large, small = tree / "large", tree / "small" / "many" / "000"
    algorithms = ("CRC64NVME", "CRC32", "CRC32C", "SHA1", "SHA256", None)
    puts = [
        {"kind": "put", "path": f"/bucket/{number}", "file": str(small), "checksum": algorithms[number % 6]}
        for number in range(58)
    ]
    puts += [
        {"kind": "put", "path": f"/bucket/{quote(f'große {number}')}", "file": str(large), "checksum": algorithm}
        for number, algorithm in enumerate(algorithms)
    ]
    assert set(bench.awscrt(*puts)) == {"done"}
    gets: list[dict[str, object]] = [
        {"kind": "get", "path": f"/bucket/{number}", "file": f"small-{number}", "checksum": "any"}
        for number in range(58)
    ]
    gets += [
        {"kind": "get", "path": f"/bucket/{quote(f'große {number}')}", "file": f"large-{number}", "checksum": "any"}
        for number in range(6)
    ]
    assert set(bench.awscrt(*gets)) == {"done"}
    for number in range(58):
        assert (bench.work / f"small-{number}").read_bytes() == small.read_bytes()
    for number in range(6):
        assert (bench.work / f"large-{number}").read_bytes() == large.read_bytes()


@pytest.mark.parametrize("bench", [over(HTTP), over(HTTPS, also=True)], indirect=True)
def test_awscrt_reads_ranges(bench: Bench, tree: Path) -> None:
    large = (tree / "large").read_bytes()
    bench.awscrt({"kind": "put", "path": "/bucket/large", "file": str(tree / "large")})
    spans = [(number * 301_007, number * 301_007 + 5 * MIB + number) for number in range(15)]
    gets = [
        {"kind": "get", "path": "/bucket/large", "file": f"range-{start}", "range": f"bytes={start}-{end - 1}"}
        for start, end in spans
    ]
    assert set(bench.awscrt(*gets)) == {"done"}
    for start, end in spans:
        assert (bench.work / f"range-{start}").read_bytes() == large[start:end]
