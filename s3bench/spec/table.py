"""The keys of definition files, with types, limits, defaults and meanings.

The parser (`s3bench.spec.parse`) and the JSON Schema (`s3bench.spec.schema`) are both made from this table; a test
compares docs/definitions.md with it. `environment` and `responses[]` have their own tables.
"""

from s3bench.spec.client_traits import KnownClients
from s3bench.spec.compound import ListOf, Record, RecordKey
from s3bench.spec.definition import Definition
from s3bench.spec.environment_table import environment_shape
from s3bench.spec.reader import Complaint, JsonObject, nearest, quoted
from s3bench.spec.response_table import RESPONSE
from s3bench.spec.shape import Name, Seconds, Text, TextRule

TIMEOUT_S_MAX = 86_400


def _check_label(text: str) -> Complaint | None:
    if not text or text != text.strip():
        return Complaint(f"is {quoted(text)}: empty, or with spaces at its ends", "write a text without them")
    if not text.isprintable():
        return Complaint(f"is {quoted(text)}: it has unprintable characters", "use only printable characters")
    return None


LABEL = TextRule(check=_check_label, pattern=r"^\S(?:[^\u0000-\u001f\u007f]*\S)?$")
"""A text printed in tables and matched by `-k`: printable, without spaces at its ends."""


def _check_argument(text: str) -> Complaint | None:
    if "\0" in text:
        return Complaint("has a NUL character, which no command line can contain", "remove it")
    return None


ARGUMENT = TextRule(check=_check_argument, pattern=r"^[^\u0000]*$")


def _dimension(*, name: str, value: str) -> tuple[str, str]:
    return name, value


def _former_dimension(written: JsonObject) -> Complaint | None:
    """Older versions of the aws-cli harness wrote `{"FileSize": "32MB"}`."""
    if len(written.pairs) != 1:
        return None
    [(name, value)] = written.pairs
    if not isinstance(value, str) or nearest(name, ("name", "value")):
        return None
    return Complaint(
        f"is in the older form, {quoted(name)} as its key",
        f'write {{"name": {quoted(name)}, "value": {quoted(value)}}}',
    )


DIMENSION = Record(
    make=_dimension,
    noun="a dimension",
    outdated=_former_dimension,
    wrong_kind_fix='write {"name": "FileSize", "value": "32MB"}',
    keys=(
        RecordKey(
            name="name",
            shape=Text(rule=LABEL),
            required=True,
            meaning="Name of the dimension.",
            examples=("FileSize",),
        ),
        RecordKey(
            name="value",
            shape=Text(rule=LABEL),
            required=True,
            meaning="Value of the dimension.",
            examples=("32MB",),
        ),
    ),
)


def definition_shape(clients: KnownClients) -> Record[Definition]:
    """The keys of one benchmark, which may name `clients`."""
    return Record(
        make=Definition,
        noun="a benchmark",
        keys=(
            RecordKey(
                name="name",
                shape=Text(rule=LABEL),
                required=True,
                meaning="The name of the benchmark. Names may repeat where the dimensions differ.",
                examples=("s3.cp.upload",),
            ),
            RecordKey(
                name="command",
                shape=ListOf(item=Text(rule=ARGUMENT), least=1, noun="a list of strings"),
                required=True,
                meaning="The AWS CLI command to benchmark, without `aws`: each element is one argument.",
                examples=(["s3", "cp", "test_file", "s3://bucket/test_file", "--quiet"],),
            ),
            RecordKey(
                name="dimensions",
                shape=ListOf(item=DIMENSION),
                meaning="Further properties that distinguish results.",
                default=[],
            ),
            RecordKey(
                name="environment",
                shape=environment_shape(clients),
                meaning="The files and the AWS config that the command runs with.",
                default={},
            ),
            RecordKey(
                name="responses",
                shape=ListOf(item=RESPONSE),
                meaning='The HTTP responses that the stub gives, in order. Left out: [{"headers": {}, "body": ""}]. An '
                "emulator or a live endpoint needs none.",
            ),
            RecordKey(
                name="clients",
                shape=ListOf(item=Name(names=tuple(clients), noun="a client"), least=1, distinct=True),
                meaning="Which clients run it. Left out: the aws-cli, with the transfer client of its `config`.",
                examples=(["cli-classic", "cli-crt", "boto3-crt", "s5cmd"],),
            ),
            RecordKey(
                name="timeout",
                becomes="timeout_s",
                shape=Seconds(maximum=TIMEOUT_S_MAX, above_zero=True),
                meaning="Seconds after which an iteration is stopped and counts as failed. Left out: as `--timeout` "
                "says.",
                examples=(120,),
            ),
            RecordKey(
                name="tags",
                shape=ListOf(item=Text(rule=LABEL), distinct=True),
                meaning="Words that group benchmarks for `-k`.",
                default=[],
                examples=(["full"],),
            ),
        ),
    )


def definitions_shape(clients: KnownClients) -> ListOf[Definition]:
    """A whole file."""
    return ListOf(item=definition_shape(clients), noun="a list of benchmarks")
