"""The keys of `environment`: fixtures and the AWS config file, with types, limits, defaults and meanings."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from s3bench.spec.awsconfig import check_config
from s3bench.spec.client_traits import KnownClients
from s3bench.spec.compound import Either, ListOf, Pairs, Record, RecordKey
from s3bench.spec.definition import Environment, FileLiteral, FileTree, Fill, FixtureDir, FixtureFile, LikeFiles
from s3bench.spec.names import FIXTURE_NAME
from s3bench.spec.reader import JsonObject, Report, Steps
from s3bench.spec.shape import Text, TextRule, WholeNumber, Word

OBJECT_BYTES_MAX = 10_000 * 5 * 1024**3
"""The largest object S3 can hold: 10,000 parts of 5 GiB, the limits of a multipart upload
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html)."""

FILE_COUNT_MAX = 10_000_000


class WriteMode(StrEnum):
    """The modes of Python's `open` that write."""

    W = "w"
    WB = "wb"
    A = "a"
    AB = "ab"
    X = "x"
    XB = "xb"


_SIZE = WholeNumber(
    minimum=0, maximum=OBJECT_BYTES_MAX, unit="bytes", why_maximum="10,000 parts of 5 GiB, S3's largest object"
)


_FILL = RecordKey(
    name="fill",
    shape=Word(words=Fill, noun="a fill"),
    meaning="What the bytes are: `zero`, null bytes; `random`, noise, the same in every run, different in every file.",
    default="zero",
)


FILE = Record(
    make=FixtureFile,
    noun="a file",
    keys=(
        RecordKey(
            name="name",
            shape=Text(rule=FIXTURE_NAME),
            required=True,
            meaning="Name of the file to create, relative to the workspace in which the command runs.",
            examples=("test_file",),
        ),
        RecordKey(
            name="size",
            becomes="size_bytes",
            shape=_SIZE,
            required=True,
            meaning="Size of the file in bytes.",
            examples=(33554432,),
        ),
        _FILL,
    ),
)


FILE_DIR = Record(
    make=FixtureDir,
    noun="a directory of files",
    keys=(
        RecordKey(
            name="name",
            shape=Text(rule=FIXTURE_NAME),
            required=True,
            meaning="Name of the directory to create, relative to the workspace. Its files are called `file-000000`, "
            "`file-000001`, ...",
            examples=("test_dir",),
        ),
        RecordKey(
            name="file_count",
            shape=WholeNumber(
                minimum=0,
                maximum=FILE_COUNT_MAX,
                unit="files",
                why_maximum="each takes an inode and about 100 us to make",
            ),
            required=True,
            meaning="Number of files to create in the directory.",
            examples=(5000,),
        ),
        RecordKey(
            name="file_size",
            becomes="file_size_bytes",
            shape=_SIZE,
            required=True,
            meaning="Size of each of its files in bytes.",
            examples=(4096,),
        ),
        _FILL,
    ),
)


FILE_TREE = Record(
    make=FileTree,
    noun="a tree of files",
    keys=(
        RecordKey(
            name="name",
            shape=Text(rule=FIXTURE_NAME),
            required=True,
            meaning="Name of the directory to create, relative to the workspace.",
            examples=("photos",),
        ),
        RecordKey(
            name="sizes",
            shape=Pairs(
                name_rule=FIXTURE_NAME, value=_SIZE, noun="an object of sizes", example='{"2026/01.jpg": 4096}'
            ),
            required=True,
            meaning="The path of each file below the directory, and its size in bytes.",
            examples=({"2026/01.jpg": 4096, "2026/02.jpg": 81920},),
        ),
        _FILL,
    ),
)


FILE_LITERAL = Record(
    make=FileLiteral,
    noun="a file literal",
    keys=(
        RecordKey(
            name="name",
            shape=Text(rule=FIXTURE_NAME),
            required=True,
            meaning="Name of the file to create, relative to the workspace.",
            examples=("policy.json",),
        ),
        RecordKey(
            name="content",
            shape=Text(),
            required=True,
            meaning="The contents of the file, written as UTF-8.",
            examples=('{"Version": "2012-10-17"}',),
        ),
        RecordKey(
            name="mode",
            shape=Word(words=WriteMode, noun="a write mode"),
            meaning="How the contents are written: `w` and `wb` create the file, `a` and `ab` append to an existing "
            "one, `x` and `xb` require that it does not exist. The contents are UTF-8, with or without `b`.",
            default="w",
        ),
    ),
)


LIKE = Record(
    make=LikeFiles,
    noun="an object with sizes of files",
    keys=(
        RecordKey(
            name="sizes",
            shape=Text(rule=FIXTURE_NAME),
            required=True,
            meaning="The file with the sizes, from `s3bench describe`, relative to the definition file and below its "
            "directory.",
            examples=("sizes.json",),
        ),
        RecordKey(
            name="name",
            shape=Text(rule=FIXTURE_NAME),
            meaning="Name of the directory to create, relative to the workspace. Its files are called `file-000000`, "
            "`file-000001`, ..., mixed so that neighbours differ in size.",
            default="files",
        ),
        replace(_FILL, default="random"),
        RecordKey(
            name="files_max",
            shape=WholeNumber(minimum=1, maximum=FILE_COUNT_MAX, unit="files"),
            meaning="If there are more files, a sample of this many is made.",
            default=FILE_COUNT_MAX,
            examples=(500,),
        ),
        RecordKey(
            name="bytes_max",
            shape=WholeNumber(minimum=1, maximum=OBJECT_BYTES_MAX, unit="bytes"),
            meaning="If all files together have more bytes, a sample of about as many bytes is made.",
            default=OBJECT_BYTES_MAX,
            examples=(1000000000,),
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LikeName:
    """The name of a file of sizes alone, with the defaults of all else."""

    name: Text

    @property
    def noun(self) -> str:
        return self.name.noun

    def read(self, value: Any, at: Steps, report: Report) -> LikeFiles:
        return LikeFiles(sizes=self.name.read(value, at, report))

    def schema(self) -> dict[str, Any]:
        return self.name.schema()


def environment_shape(clients: KnownClients) -> Record[Environment]:
    """The keys of `environment`; `config` may set what the `clients` read."""
    return Record(
        make=Environment,
        noun="an environment",
        keys=(
            RecordKey(
                name="file_literals",
                shape=ListOf(item=FILE_LITERAL),
                meaning="Files with the given contents, created before each iteration, after all others.",
                default=[],
            ),
            RecordKey(
                name="files",
                shape=ListOf(item=FILE),
                meaning="Files of a given size, created before each iteration.",
                default=[],
            ),
            RecordKey(
                name="file_dirs",
                shape=ListOf(item=FILE_DIR),
                meaning="Directories of many equal files, created before each iteration.",
                default=[],
            ),
            RecordKey(
                name="file_trees",
                shape=ListOf(item=FILE_TREE),
                meaning="Directories of files of given names and sizes, created before each iteration.",
                default=[],
            ),
            RecordKey(
                name="like",
                shape=Either(usual=_LikeName(name=Text(rule=FIXTURE_NAME)), special=LIKE, special_type=JsonObject),
                meaning="A directory of files with the sizes that `s3bench describe` found, created before each "
                "iteration: the name of its file, or an object that also limits the number of files.",
                examples=("sizes.json", {"sizes": "sizes.json", "files_max": 500}),
            ),
            RecordKey(
                name="config",
                shape=Text(rule=TextRule(check=lambda text: check_config(text, clients), pattern=r"^\s*($|[\[#;])")),
                meaning="The contents of the AWS config file that the client reads.",
                default="[default]",
                examples=("[default]\ns3 =\n preferred_transfer_client = crt",),
            ),
        ),
    )
