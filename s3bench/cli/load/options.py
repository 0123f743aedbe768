"""The options of `s3bench load`: the table of them, the command line that click makes of it, and what a user gave.

Options that set a field of a load profile are rows of `s3bench.load.profile.table`; the rows here are those that no
profile has. Names, help, defaults, checks of values and of combinations all come from the rows.
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, Self

import click
from click.shell_completion import CompletionItem

from s3bench.cli.completion_items import complete_file
from s3bench.cli.quantity import QuantityType
from s3bench.clients.pointing import SECRET_VARIABLE
from s3bench.load.access_log.log_format import AccessLogFormat
from s3bench.load.access_log.timestamps import parse_log_time
from s3bench.load.operation import MIXABLE
from s3bench.load.profile.matrix import FULL, QUICK, parse_sizes_bytes, parse_threads
from s3bench.load.profile.table import (
    COUNT_MAX,
    JOB_OPTIONS,
    PROFILE_OPTIONS,
    WORKERS_MAX,
    Conflict,
    LoadOption,
    Need,
    Values,
    is_given,
    word_of,
)
from s3bench.spec.shape import WholeNumber, Word
from s3bench.units import BadQuantity, parse_number, parse_seconds

NODES_MAX = 1000
_SEED_MAX = 2**63 - 1


class Form(StrEnum):
    """What is printed to stdout: our table, s3-benchmark's lines or s4's, or a matrix as CSV."""

    TABLE = "table"
    LINES = "lines"
    S4 = "s4"
    CSV = "csv"


class MatrixExtent(StrEnum):
    """The usual extents of a matrix."""

    QUICK = "quick"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """What a user gave: fields of a load profile in `given`, all other options by their fields."""

    given: Values = field(default_factory=dict)
    file: Path | None = None
    url: str | None = None
    access_key: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    network: str | None = None
    key_file: Path | None = None
    list_existing: str | None = None
    cluster: str | None = None
    nodes: int | None = None
    workers_per_node: int | None = None
    matrix: MatrixExtent | None = None
    matrix_threads: tuple[int, ...] | None = None
    matrix_sizes: tuple[int, ...] | None = None
    matrix_samples: int | None = None
    slo: str | None = None
    seed: int | None = None
    calibrate: bool = False
    keep: bool = False
    reuse: str | None = None
    clean_up: str | None = None
    fit: Path | None = None
    html: Path | None = None
    output: Path | None = None
    force: bool = False
    as_json: bool = False
    form: Form | None = None
    csv: Path | None = None
    trace: Path | None = None
    replay: Path | None = None
    log_format: AccessLogFormat | None = None
    nginx_format: str | None = None
    speed: float | None = None
    from_s: float | None = None
    to_s: float | None = None
    span_s: float | None = None
    object_log: Path | None = None
    show_profile: bool = False
    quiet: bool = False

    @classmethod
    def of(cls, typed: Mapping[str, Any]) -> Self:
        """Take the options as click gives them."""
        own = {each.name: typed[each.name] for each in fields(cls) if each.name in typed}
        rows = [row for row in PROFILE_OPTIONS if is_given(typed, row.field)]
        given: Values = {row.field: typed[row.field] if row.metavar else row.sets for row in rows}
        if "keys" in given:
            given["keys"], given["zipf_exponent"] = given["keys"]
        return cls(given=given, **own)

    @property
    def logs(self) -> tuple[tuple[str, Path], ...]:
        """The files of the log that is read, each with the option that names it or its folder."""
        option, log = ("--fit", self.fit) if self.fit is not None else ("--replay", self.replay)
        if log is None:
            return ()
        return tuple((option, file) for file in (log.rglob("*") if log.is_dir() else (log,)))

    @property
    def outside_profile(self) -> str:
        """The given options that no profile has, as they were typed, the keys of -a and -s hidden."""
        rows = [row for row in _OWN_OPTIONS if row.field not in _ABOUT_PROFILES and self.has(row.field)]
        return " ".join(filter(None, chain.from_iterable((row.name, self._typed(row)) for row in rows)))

    def _typed(self, row: LoadOption) -> str:
        """The value of an option of our own, quoted for a shell."""
        if not row.metavar or row.field in _KEYS:
            return row.metavar
        return shlex.quote(str(getattr(self, row.field)))

    def has(self, name: str) -> bool:
        """Whether the option that sets the field `name` was given."""
        return name in self.given or (hasattr(self, name) and is_given({name: getattr(self, name)}, name))


_PATH = click.Path(path_type=Path, dir_okay=False)
_MATRIX = ("matrix", "matrix_threads", "matrix_sizes", "matrix_samples")
_EXISTING = ("key_file", "list_existing")
_KEYS = ("access_key", "secret_key")
_ABOUT_PROFILES = ("url", *_MATRIX, "show_profile", "quiet")  # in the profile that is shown, or about showing it
_JOB = tuple(row.field for row in JOB_OPTIONS if row.written)
_NOT_IN_A_MATRIX = Conflict(
    (*(name for name in _JOB if name not in {"objects", "keys"}), "slo", "stable", *_EXISTING),
    "a matrix sets it itself",
)
_EXIST_ALREADY = "these objects exist already"
_NEEDS_LOG = Need(("replay", "fit"), "it applies to a log", "pass --replay LOG or --fit LOG")
_NOT_IN_A_REPLAY = (
    Conflict(
        ("file", *(name for name in _JOB if name not in {"sizes", "threads"}), *_MATRIX, *_EXISTING, "slo", "loops",
         "stable", "ramp_s", "layout"),
        "the log sets what is done, and when",
    ),
    Conflict(("reuse", "keep"), "the objects of a replay serve no other run"),
    Conflict(("duration_s",), "the log sets how long it takes; --for DURATION replays a part of it"),
    Conflict(("cluster",), "the plan of a replay is on this machine"),
    Conflict(("calibrate", "object_log", "show_profile"), "a replay is no profile, and its objects have no list"),
)  # fmt: skip
_NEEDS_CLUSTER = Need(("cluster",), "it applies to the machines of a cluster", "pass --cluster auto")


def _log_path(text: str) -> Path:
    return Path(text)


def _speed(text: str) -> float:
    speed = parse_number(text.strip().removesuffix("x"))
    if not speed:
        raise BadQuantity.of(text, "which is not above 0", "write 1, 4 or 0.5")
    return speed


def _cluster(text: str) -> str:
    port = text.rpartition(":")[2]
    if text == "auto" or (text.startswith("ray://") and port.isdecimal()):
        return text
    raise BadQuantity.of(text, "which is not the address of a Ray cluster", "write auto or ray://HOST:PORT")


def _counts(numbers: tuple[int, ...]) -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}"


def _whole(least: int, most: int) -> WholeNumber:
    return WholeNumber(minimum=least, maximum=most)


def _row(written: str, meaning: str, *, field: str = "", **others: Any) -> LoadOption:
    """A row whose field has the name of the option unless given."""
    return LoadOption(written=written, field=field or word_of(written), meaning=meaning, **others)


_PROFILE = LoadOption(
    written="PROFILE",
    field="file",
    meaning="A load profile, in YAML or JSON.",
    conflicts=(Conflict((*_JOB, *_MATRIX, *_EXISTING), "the jobs of the profile set it"),),
)

_OWN_OPTIONS = (
    _row("-u, --url URL",
         "As --endpoint-url; without a workload, run as the s3-benchmark tools do: PUT, GET and DELETE for -d seconds "
         "each, -l times, on -t threads (1), with objects of -z bytes (1M), and print their lines.",
         conflicts=(Conflict(("endpoint_urls",), "both set the endpoint"),)),
    _row("-a, --access-key KEY", "Sign with this access key; other users of the machine can see it.",
         usual="as the AWS CLI", needs_endpoint=True),
    _row("-s, --secret-key SECRET", f"The secret of the access key; {SECRET_VARIABLE} keeps it out of sight.",
         need=Need(("access_key",), "requests are signed with both", "pass -a KEY"), needs_endpoint=True),
    _row("--network MODEL", "Impose a network model on the S3 in memory, for example ec2:c5.large or express.",
         usual="none"),
    _row("--key-file FILE", "Read the objects listed in this file: KEY[<tab>SIZE[<tab>CRC32]] on each line.",
         parse=_PATH, conflicts=(Conflict(("list_existing", "reuse", "overwrite", "objects"), _EXIST_ALREADY),),
         needs_endpoint=True),
    _row("--list-existing PREFIX", "Read the objects that exist under this prefix.",
         conflicts=(Conflict(("reuse", "overwrite", "objects"), _EXIST_ALREADY),), needs_endpoint=True),
    _row("--replay LOG",
         "Replay an access log, or a folder of logs: operations, sizes and times as recorded, in open loop.",
         parse=_log_path, conflicts=_NOT_IN_A_REPLAY),
    _row("--fit LOG", "Fit a profile to an access log, write it to -o FILE or stdout, and run nothing.",
         parse=_log_path),
    _row(f"--log-format {'|'.join(AccessLogFormat)}", "The format of the log.",
         shape=Word(words=AccessLogFormat, noun="a format"), usual="found by its first lines", need=_NEEDS_LOG),
    _row("--nginx-format FORMAT", "The log_format of nginx that the log has.", parse=str, usual="combined",
         need=_NEEDS_LOG),
    _row("--from TIME", "Use the log from this time on: 2026-11-25T10:00:00Z, or seconds in logs without dates.",
         field="from_s", parse=parse_log_time, need=_NEEDS_LOG),
    _row("--to TIME", "Use the log up to this time.", field="to_s", parse=parse_log_time, need=_NEEDS_LOG),
    _row("--for DURATION", "Use this much of the log, such as 10m, before --speed.", field="span_s",
         parse=lambda text: parse_seconds(text, above_zero=True), need=_NEEDS_LOG),
    _row("--speed FACTOR", "Replay this many times as fast.", parse=_speed, usual="1",
         need=Need(("replay",), "it applies to a replay", "pass --replay LOG")),
    _row("--html FILE", "With --fit, write a page with the log and the profile side by side.", parse=_PATH,
         need=Need(("fit",), "it shows what was fitted", "pass --fit LOG; s3bench report makes pages of results")),
    _row("--cluster auto|ray://HOST:PORT",
         "Make the load on the machines of this Ray cluster; auto is the one that this machine belongs to.",
         parse=_cluster, usual="none",
         conflicts=(Conflict(("workers",), "--workers-per-node sets the number of processes"),
                    Conflict(("trace", "object_log"), "every attempt would have to be sent here"),
                    Conflict(("calibrate",), "it measures this machine, and others make the load"))),
    _row("--nodes N", "With --cluster, how many machines make load.", shape=_whole(1, NODES_MAX), usual="all",
         need=_NEEDS_CLUSTER),
    _row("--workers-per-node M", "With --cluster, worker processes on each machine.", shape=_whole(1, WORKERS_MAX),
         usual="one per core", need=_NEEDS_CLUSTER),
    _row("--matrix quick|full",
         f"Sizes times threads: 1 KiB to 32 MiB, {_counts(QUICK.threads)} threads with {QUICK.samples} reads a cell, "
         f"or {_counts(FULL.threads)} with {FULL.samples}.",
         shape=Word(words=MatrixExtent, noun="an extent"), conflicts=(_NOT_IN_A_MATRIX,)),
    _row("--matrix-threads 1,2,4-16", "A matrix with these numbers of threads; a range doubles.", parse=parse_threads,
         conflicts=(_NOT_IN_A_MATRIX,)),
    _row("--matrix-sizes 1KiB-32MiB", "A matrix with these sizes; a range doubles.", parse=parse_sizes_bytes,
         conflicts=(_NOT_IN_A_MATRIX,)),
    _row("--matrix-samples N", "A matrix with this many reads a cell.", shape=_whole(1, COUNT_MAX),
         conflicts=(_NOT_IN_A_MATRIX,)),
    _row("--slo LIMITS",
         "Find the highest rate that keeps these limits: 'p99<50ms,errors<0.1%'; with --rate, check that rate.",
         conflicts=(Conflict(("operations", "stable"), "each rate is tried for --duration"),
                    Conflict(("loops",), "there is one result"))),
    _row("--seed N", "Repeat the same random choices.", shape=_whole(0, _SEED_MAX),
         usual="another each time, stored in the results"),
    _row("--calibrate", "First measure the rate that this machine reaches against a server that does nothing."),
    _row("--keep", "Do not delete the objects afterwards; --reuse reads them.", needs_endpoint=True),
    _row("--reuse RUN", "Read the objects that an earlier run kept.",
         conflicts=(Conflict(("overwrite",), "the objects of another run are not changed"),), needs_endpoint=True),
    _row("--clean-up RUN", "Delete what a run has left, and do nothing else.", needs_endpoint=True),
    _row("-o, --output FILE", "Write the results document to this file.", parse=_PATH),
    _row("--force", "Let -o, --csv, --trace, --object-log and --html replace files that exist.",
         need=Need(("output", "csv", "trace", "object_log", "html"), "it replaces a file, and none is written",
                   "pass -o FILE, or remove --force")),
    _row("--json", "Print the results document to stdout, as in a pipe without -o.", field="as_json",
         conflicts=(Conflict(("form",), "stdout has one format"),)),
    _row("--format table|lines|s4|csv", "Print our table, the lines of s3-benchmark or of s4, or a matrix as CSV.",
         field="form", shape=Word(words=Form, noun="a format"), usual="table; with -u: lines"),
    _row("--csv FILE", "Write a line for each second to this file.", parse=_PATH),
    _row("--trace FILE", "Write a line for each attempt to this file.", parse=_PATH),
    _row("--object-log FILE", "Write key and MD5 of each object written to this file.", parse=_PATH),
    _row("--show-profile",
         "Print the profile that would run, as a file for PROFILE, and run nothing; options that it cannot hold are "
         "named on stderr."),
    _row("-q, --quiet", "Show no progress."),
)  # fmt: skip

OPTIONS = {row.field: row for row in (_PROFILE, *PROFILE_OPTIONS, *_OWN_OPTIONS) if row.written}
"""Every option by its field."""

_GROUPS = {
    "Endpoint": "endpoint_urls url bucket access_key secret_key region addressing express tls_no_verify ca_bundle "
    "network",
    "Workload": "operation mix sizes objects keys key_file list_existing range_bytes part_bytes overwrite layout kind "
    "compressible signs_payload checksum verify",
    "Access logs": "replay fit log_format nginx_format from_s to_s span_s speed html",
    "Load": "threads workers cluster nodes workers_per_node rate arrivals keep_alive retries timeout_s idle_timeout_s "
    "connect_timeout_s",
    "Duration": "duration_s operations loops warmup_s ramp_s stable matrix matrix_threads matrix_sizes matrix_samples "
    "slo seed",
    "Output": "max_error_rate calibrate keep reuse clean_up output force as_json form csv trace object_log "
    "show_profile quiet",
}
GROUPS = {title: tuple(OPTIONS[name] for name in names.split()) for title, names in _GROUPS.items()}
"""The options in the order and under the titles of `--help`."""


class LoadCommand(click.Group):
    """A command whose help has the options in groups.

    Its subcommands are recognised as the first argument alone; any other first argument is a profile, and everything
    but the subcommands is as for a command without any.
    """

    allow_extra_args = False
    allow_interspersed_args = True

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{"invoke_without_command": True, **more})

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Make the context of the subcommand that is named first, or of this command."""
        if args and args[0] in self.commands:
            return self.commands[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse options and PROFILE."""
        return click.Command.parse_args(self, ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run this command."""
        return click.Command.invoke(self, ctx)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage of this command."""
        return click.Command.collect_usage_pieces(self, ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each group, one for click's own options, and the subcommands."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = {param.name: param.get_help_record(ctx) for param in options}
        sections = {title: [records.pop(row.field) for row in rows] for title, rows in GROUPS.items()}
        for title, rows in (*sections.items(), ("Other options", list(records.values()))):
            with formatter.section(title):
                formatter.write_dl([record for record in rows if record is not None])
        self.format_commands(ctx, formatter)


class _ProfileArgument(click.Argument):
    """PROFILE, which is no part of the usage of a subcommand."""

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:
        return super().get_usage_pieces(ctx) if self in ctx.command.params else []


def load_options(command: Callable[..., None]) -> Callable[..., None]:
    """Attach the PROFILE argument and all options; the command is to be made with `cls=LoadCommand`."""
    for row in reversed([row for rows in GROUPS.values() for row in rows]):
        command = _click_option(row)(command)
    profile = click.argument(
        "file",
        cls=_ProfileArgument,
        required=False,
        type=_PATH,
        metavar="[PROFILE]",
        shell_complete=_complete_profile_or_subcommand,
    )
    return profile(command)


def _complete_profile_or_subcommand(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    names = context.command.commands if isinstance(context.command, click.Group) else ()
    named = [CompletionItem(name) for name in names if incomplete and name.startswith(incomplete)]
    return named or complete_file(context, parameter, incomplete)


def _click_option(row: LoadOption) -> Callable[[Callable[..., None]], Callable[..., None]]:
    help_text = f"{row.meaning}  [default: {row.default_text}]" if row.default_text else row.meaning
    if not row.metavar:
        return click.option(*row.flags, row.field, is_flag=True, help=help_text)
    kind = row.parse if isinstance(row.parse, click.ParamType) else _quantity_type(row)
    return click.option(*row.flags, row.field, type=kind, metavar=row.metavar, help=help_text, multiple=row.is_repeated)


def _quantity_type(row: LoadOption) -> QuantityType:
    """The type of a row; the words of a metavar such as `uniform|sequential|zipf[:EXP]` are completed."""
    named = [word.partition("[")[0] for word in row.metavar.split("|") if "|" in row.metavar]
    words = MIXABLE if row.metavar == "KIND" else [word for word in named if word.islower()]
    return QuantityType(row.parse_text, words=words, is_file=row.metavar in {"FILE", "LOG"})
