"""The examples of the AWS CLI's documentation against the emulator, and production commands that encrypt.

Every command of `aws s3 cp`, `aws s3 sync` and `aws s3api put-object` in the examples of aws-cli 1.46.3
(awscli/examples/s3/cp.rst, s3/sync.rst and s3api/put-object.rst), with the files and objects that its text names: 23 of
27. The others need another service: `aws iam get-user-policy` (cp, example 9), and the access points of S3 Control (cp,
examples 14 and 15; sync, example 8). The path /media/videos of a put-object is made relative; nothing else differs.
The two that set an access control list fail as they do in a new bucket of S3, which has lists disabled.
"""

import os
import shlex
from dataclasses import dataclass

import pytest

from tests.e2e.conftest import MIB
from tests.e2e.programs import Bench

pytestmark = pytest.mark.usefixtures("aws_cli")

BUCKETS = ("amzn-s3-demo-bucket", "amzn-s3-demo-bucket2", "my-us-west-2-bucket", "my-us-east-1-bucket")
FIRST, SECOND, WEST, EAST = BUCKETS
KEY = "1" * 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A command of the documentation: what is there before, what it prints, and what is there then.

    `files` and `objects` are names; an object begins with its bucket. `prints` are the lines of its documented output,
    in any order.
    """

    name: str
    command: str
    files: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    stdin: bytes = b""
    prints: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    fails: str = ""


EXAMPLES = (
    Example(
        name="cp 1: a local file",
        command=f"aws s3 cp test.txt s3://{FIRST}/test2.txt",
        files=("test.txt",),
        prints=(f"upload: test.txt to s3://{FIRST}/test2.txt",),
        makes=(f"{FIRST}/test2.txt",),
    ),
    Example(
        name="cp 2: with an expiration date",
        command=f"aws s3 cp test.txt s3://{FIRST}/test2.txt --expires 2014-10-01T20:30:00Z",
        files=("test.txt",),
        prints=(f"upload: test.txt to s3://{FIRST}/test2.txt",),
        makes=(f"{FIRST}/test2.txt",),
    ),
    Example(
        name="cp 3: S3 to S3",
        command=f"aws s3 cp s3://{FIRST}/test.txt s3://{FIRST}/test2.txt",
        objects=(f"{FIRST}/test.txt",),
        prints=(f"copy: s3://{FIRST}/test.txt to s3://{FIRST}/test2.txt",),
        makes=(f"{FIRST}/test2.txt",),
    ),
    Example(
        name="cp 4: to a local file",
        command=f"aws s3 cp s3://{FIRST}/test.txt test2.txt",
        objects=(f"{FIRST}/test.txt",),
        prints=(f"download: s3://{FIRST}/test.txt to test2.txt",),
        makes=("test2.txt",),
    ),
    Example(
        name="cp 5: to another bucket",
        command=f"aws s3 cp s3://{FIRST}/test.txt s3://{SECOND}/",
        objects=(f"{FIRST}/test.txt",),
        prints=(f"copy: s3://{FIRST}/test.txt to s3://{SECOND}/test.txt",),
        makes=(f"{SECOND}/test.txt",),
    ),
    Example(
        name="cp 6: recursively to a directory",
        command=f"aws s3 cp s3://{FIRST} . --recursive",
        objects=(f"{FIRST}/test1.txt", f"{FIRST}/test2.txt"),
        prints=(f"download: s3://{FIRST}/test1.txt to test1.txt", f"download: s3://{FIRST}/test2.txt to test2.txt"),
        makes=("test1.txt", "test2.txt"),
    ),
    Example(
        name="cp 7: recursively to S3",
        command=f'aws s3 cp myDir s3://{FIRST}/ --recursive --exclude "*.jpg"',
        files=("myDir/test1.txt", "myDir/test2.jpg"),
        prints=(f"upload: myDir/test1.txt to s3://{FIRST}/test1.txt",),
        makes=(f"{FIRST}/test1.txt",),
        removes=(f"{FIRST}/test2.jpg",),
    ),
    Example(
        name="cp 8: recursively to another bucket",
        command=f'aws s3 cp s3://{FIRST}/ s3://{SECOND}/ --recursive --exclude "another/*"',
        objects=(f"{FIRST}/test1.txt", f"{FIRST}/another/test1.txt"),
        prints=(f"copy: s3://{FIRST}/test1.txt to s3://{SECOND}/test1.txt",),
        makes=(f"{SECOND}/test1.txt",),
        removes=(f"{SECOND}/another/test1.txt",),
    ),
    Example(
        name="cp 8: exclude and include",
        command=f'aws s3 cp s3://{FIRST}/logs/ s3://{SECOND}/logs/ --recursive --exclude "*" --include "*.log"',
        objects=(f"{FIRST}/logs/test/test.log", f"{FIRST}/logs/test3.log", f"{FIRST}/logs/test.txt"),
        prints=(
            f"copy: s3://{FIRST}/logs/test/test.log to s3://{SECOND}/logs/test/test.log",
            f"copy: s3://{FIRST}/logs/test3.log to s3://{SECOND}/logs/test3.log",
        ),
        makes=(f"{SECOND}/logs/test/test.log", f"{SECOND}/logs/test3.log"),
        removes=(f"{SECOND}/logs/test.txt",),
    ),
    Example(
        name="cp 9: an access control list",
        command=f"aws s3 cp s3://{FIRST}/test.txt s3://{FIRST}/test2.txt --acl public-read-write",
        objects=(f"{FIRST}/test.txt",),
        fails="AccessControlListNotSupported",
    ),
    Example(
        name="cp 10: grants",
        command=(
            f"aws s3 cp file.txt s3://{FIRST}/ --grants read=uri=http://acs.amazonaws.com/groups/global/AllUsers "
            "full=id=79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be"
        ),
        files=("file.txt",),
        fails="AccessControlListNotSupported",
    ),
    Example(
        name="cp 11: a stream to S3",
        command=f"aws s3 cp - s3://{FIRST}/stream.txt",
        stdin=b"a stream",
        makes=(f"{FIRST}/stream.txt",),
    ),
    Example(
        name="cp 12: a stream of expected size",
        command=f"aws s3 cp - s3://{FIRST}/stream.txt --expected-size 54760833024",
        stdin=b"a stream",
        makes=(f"{FIRST}/stream.txt",),
    ),
    Example(
        name="cp 13: a stream from S3",
        command=f"aws s3 cp s3://{FIRST}/stream.txt -",
        objects=(f"{FIRST}/stream.txt",),
        prints=(f"{FIRST}/stream.txt",),
    ),
    Example(
        name="sync 1: to a bucket",
        command=f"aws s3 sync . s3://{FIRST}",
        files=("test.txt", "test2.txt"),
        prints=(f"upload: test.txt to s3://{FIRST}/test.txt", f"upload: test2.txt to s3://{FIRST}/test2.txt"),
        makes=(f"{FIRST}/test.txt", f"{FIRST}/test2.txt"),
    ),
    Example(
        name="sync 2: to another bucket",
        command=f"aws s3 sync s3://{FIRST} s3://{SECOND}",
        objects=(f"{FIRST}/test.txt", f"{FIRST}/test2.txt"),
        prints=(
            f"copy: s3://{FIRST}/test.txt to s3://{SECOND}/test.txt",
            f"copy: s3://{FIRST}/test2.txt to s3://{SECOND}/test2.txt",
        ),
        makes=(f"{SECOND}/test.txt", f"{SECOND}/test2.txt"),
    ),
    Example(
        name="sync 3: to a directory",
        command=f"aws s3 sync s3://{FIRST} .",
        objects=(f"{FIRST}/test.txt", f"{FIRST}/test2.txt"),
        prints=(f"download: s3://{FIRST}/test.txt to test.txt", f"download: s3://{FIRST}/test2.txt to test2.txt"),
        makes=("test.txt", "test2.txt"),
    ),
    Example(
        name="sync 4: delete",
        command=f"aws s3 sync . s3://{FIRST} --delete",
        files=("test.txt", "test2.txt"),
        objects=(f"{FIRST}/test3.txt",),
        prints=(
            f"upload: test.txt to s3://{FIRST}/test.txt",
            f"upload: test2.txt to s3://{FIRST}/test2.txt",
            f"delete: s3://{FIRST}/test3.txt",
        ),
        makes=(f"{FIRST}/test.txt", f"{FIRST}/test2.txt"),
        removes=(f"{FIRST}/test3.txt",),
    ),
    Example(
        name="sync 5: exclude files",
        command=f'aws s3 sync . s3://{FIRST} --exclude "*.jpg"',
        files=("test.jpg", "test2.txt"),
        objects=(f"{FIRST}/test.jpg",),
        prints=(f"upload: test2.txt to s3://{FIRST}/test2.txt",),
        makes=(f"{FIRST}/test2.txt",),
    ),
    Example(
        name="sync 6: exclude a directory",
        command=f'aws s3 sync s3://{FIRST}/ . --exclude "*another/*"',
        files=("test.txt", "another/test2.txt"),
        objects=(f"{FIRST}/another/test5.txt", f"{FIRST}/test1.txt"),
        prints=(f"download: s3://{FIRST}/test1.txt to test1.txt",),
        makes=("test1.txt",),
        removes=("another/test5.txt",),
    ),
    Example(
        name="sync 7: buckets in different regions",
        command=f"aws s3 sync s3://{WEST} s3://{EAST} --source-region us-west-2 --region us-east-1",
        objects=(f"{WEST}/test1.txt",),
        prints=(f"copy: s3://{WEST}/test1.txt to s3://{EAST}/test1.txt",),
        makes=(f"{EAST}/test1.txt",),
    ),
    Example(
        name="put-object 1",
        command=(
            f"aws s3api put-object --bucket {FIRST} --key my-dir/MySampleImage.png --body MySampleImage.png"
        ),
        files=("MySampleImage.png",),
        makes=(f"{FIRST}/my-dir/MySampleImage.png",),
    ),
    Example(
        name="put-object 2: a large file",
        command=(
            f"aws s3api put-object --bucket {FIRST} --key my-dir/big-video-file.mp4 "
            "--body media/videos/f-sharp-3-data-services.mp4"
        ),
        files=("media/videos/f-sharp-3-data-services.mp4",),
        makes=(f"{FIRST}/my-dir/big-video-file.mp4",),
    ),
)  # fmt: skip


def object_is_there(bench: Bench, place: str) -> bool:
    return bench.fetch(f"/{place}", "HEAD")[0] == 200


def is_there(bench: Bench, place: str) -> bool:
    """Whether an object, or else a file, is there."""
    return object_is_there(bench, place) if place.startswith(BUCKETS) else (bench.work / place).exists()


@pytest.mark.campaign
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_examples_of_the_aws_cli_do_what_their_text_says(plain_bench: Bench, example: Example) -> None:
    for bucket in BUCKETS:
        assert plain_bench.fetch(f"/{bucket}", "PUT")[0] == 200
    for name in example.files:
        path = plain_bench.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    for place in example.objects:
        assert plain_bench.fetch(f"/{place}", "PUT", place.encode())[0] == 200
    program, *words = shlex.split(example.command)
    assert program == "aws"
    out = plain_bench.aws("cli-classic", *words, stdin=example.stdin, code=1 if example.fails else 0).decode()
    # A progress line ends with a carriage return; names of files may begin with "./".
    lines = {line.strip().rpartition("\r")[2].replace("./", "") for line in out.splitlines()}
    assert set(example.prints) <= lines
    assert [place for place in example.makes if not is_there(plain_bench, place)] == []
    assert [place for place in example.removes if is_there(plain_bench, place)] == []
    if example.fails:
        place = f"{FIRST}/{'file.txt' if example.files else 'test2.txt'}"
        assert not object_is_there(plain_bench, place)
        status, _, body = plain_bench.fetch(f"/{place}", "PUT", b"x", {"x-amz-acl": "public-read-write"})
        assert (status, example.fails.encode() in body) == (400, True)


@pytest.mark.campaign
@pytest.mark.parametrize("kind", ["cli-classic", "cli-crt", "v1"])
@pytest.mark.parametrize("size", [9, 9 * MIB], ids=["small", "two parts"])
@pytest.mark.parametrize(
    ("encryption", "method"),
    [
        (("--sse",), "AES256"),
        (("--sse", "aws:kms"), "aws:kms"),
        (("--sse", "aws:kms", "--sse-kms-key-id", "alias/mine"), "aws:kms"),
        (("--sse-c", "AES256", "--sse-c-key", KEY), ""),
    ],
    ids=["sse-s3", "sse-kms", "sse-kms-key", "sse-c"],
)
def test_every_encryption_of_cp_goes_up_is_copied_and_comes_down(
    plain_bench: Bench, kind: str, size: int, encryption: tuple[str, ...], method: str
) -> None:
    body = os.urandom(size)
    (plain_bench.work / "up").write_bytes(body)
    with_key = () if method else encryption
    from_key = () if method else ("--sse-c-copy-source", "AES256", "--sse-c-copy-source-key", KEY)
    plain_bench.aws(kind, "s3", "cp", "up", "s3://bucket/k", *encryption)
    plain_bench.aws(kind, "s3", "cp", "s3://bucket/k", "s3://bucket/copy", *encryption, *from_key)
    plain_bench.aws(kind, "s3", "cp", "s3://bucket/copy", "down", *with_key)
    assert (plain_bench.work / "down").read_bytes() == body
    if method:
        assert plain_bench.fetch("/bucket/copy")[1]["x-amz-server-side-encryption"] == method
