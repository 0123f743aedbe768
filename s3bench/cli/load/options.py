"""The options of `s3bench load`: their names, their help, and their values as a plain record.

Owns how each is written. What they mean together is `loadplan`'s.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

import click

from s3bench.clients.pointing import SECRET_VARIABLE
from s3bench.load.operation import MIXABLE, OperationKind
from s3bench.load.profile.defaults import (
    DURATION_S,
    MAX_ERROR_RATE,
    SIZES,
    THREADS,
)
from s3bench.load.profile.matrix import (
    FULL,
    QUICK,
    parse_sizes_bytes,
    parse_threads,
)
from s3bench.load.profile.profile import (
    Arrivals,
    KeyChoice,
    Layout,
    Manner,
    PayloadKind,
    Share,
)
from s3bench.load.profile.quantity import (
    BadFigure,
    parse_byte_count,
    parse_duration,
    parse_factor,
    parse_key_choice,
    parse_kind,
    parse_mix,
    parse_object_sizes,
    parse_part_size,
    parse_rate,
    parse_share,
    parse_time_limit,
)
from s3bench.load.profile.sizes import Sizes
from s3bench.load.profile.table import (
    COUNT_MAX,
    LOOPS_MAX,
    THREADS_MAX,
    WORKERS_MAX,
)
from s3bench.load.profile.written import Addressing

NODES_MAX = 1000

_MANNER = Manner()
_SEED_MAX = 2**63 - 1


class Form(StrEnum):
    """What stdout gets: our table, s3-benchmark's lines or s4's, or a matrix as CSV."""

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
    """The options of `s3bench load`, by the names of its parameters; what was not given is `None`, false or empty."""

    file: Path | None = None
    endpoint_urls: tuple[str, ...] = ()
    url: str | None = None
    bucket: str | None = None
    region: str | None = None
    access_key: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    addressing: Addressing | None = None
    tls_no_verify: bool = False
    ca_bundle: str | None = None
    network: str | None = None
    operation: OperationKind | None = None
    mix: tuple[Share, ...] | None = None
    size: Sizes | None = None
    objects: int | None = None
    keys: tuple[KeyChoice, float] | None = None
    key_file: Path | None = None
    list_existing: str | None = None
    range_bytes: int | None = None
    part_bytes: int | None = None
    overwrite: bool = False
    threads: int | None = None
    rate: float | None = None
    arrivals: Arrivals | None = None
    workers: int | None = None
    cluster: str | None = None
    nodes: int | None = None
    workers_per_node: int | None = None
    matrix: MatrixExtent | None = None
    matrix_threads: tuple[int, ...] | None = None
    matrix_sizes: tuple[int, ...] | None = None
    matrix_samples: int | None = None
    slo: str | None = None
    duration: float | None = None
    operations: int | None = None
    loops: int | None = None
    warmup: float | None = None
    ramp: float | None = None
    stable: bool = False
    payload: PayloadKind | None = None
    compressible: float | None = None
    sign_payload: bool = False
    checksum: bool = False
    no_verify: bool = False
    disable_keepalive: bool = False
    layout: Layout | None = None
    retries: int | None = None
    timeout: float | None = None
    idle_timeout: float | None = None
    connect_timeout: float | None = None
    max_error_rate: float | None = None
    seed: int | None = None
    calibrate: bool = False
    keep: bool = False
    reuse: str | None = None
    clean_up: str | None = None
    output: Path | None = None
    force: bool = False
    as_json: bool = False
    form: Form | None = None
    csv: Path | None = None
    trace: Path | None = None
    object_log: Path | None = None
    show_profile: bool = False
    quiet: bool = False

    @classmethod
    def of(cls, typed: Mapping[str, Any]) -> Self:
        """Take the options as click gives them."""
        return cls(**typed)


class _Figure(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click alone
    """Text that a parser of ours reads."""

    name = "figure"

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except BadFigure as bad:
            return self.fail(str(bad), param, ctx)


_PATH = click.Path(path_type=Path, dir_okay=False)
_DURATION = _Figure(parse_duration)
_LIMIT = _Figure(parse_time_limit)


def _whole(least: int, most: int) -> _Figure:
    def parse(text: str) -> int:
        digits = text.strip()
        if not (digits.isascii() and digits.isdigit()) or not least <= int(digits[:30]) <= most:
            raise BadFigure(f"is {text!r}", f"write a whole number from {least} to {most}")
        return int(digits)

    return _Figure(parse)


def _word(words: type[StrEnum]) -> _Figure:
    return _Figure(_one_of(words))


def _one_of(words: type[StrEnum]) -> Callable[[str], StrEnum]:
    def parse(text: str) -> StrEnum:
        try:
            return words(text)
        except ValueError as error:
            raise BadFigure(f"is {text!r}", f"write {' or '.join(words)}") from error

    return parse


def _cluster(text: str) -> str:
    if text != "auto" and not text.removeprefix("ray://").rpartition(":")[2].isdecimal():
        raise BadFigure(f"is {text!r}", "write auto or ray://HOST:PORT")
    if text != "auto" and not text.startswith("ray://"):
        raise BadFigure(f"is {text!r}", "write auto or ray://HOST:PORT")
    return text


def _counts(numbers: tuple[int, ...]) -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}"


_Option = tuple[tuple[str, ...], dict[str, Any]]


def _option(*names: str, **settings: Any) -> _Option:
    return names, settings


def _flag(*names: str, **settings: Any) -> _Option:
    return names, settings | {"is_flag": True}


_TARGET = (
    _option("--endpoint-url", "endpoint_urls", multiple=True, metavar="URL",
            help="Run against this S3; repeat for several.  [default: an S3 in memory, made for the run]"),
    _option("-u", "--url", metavar="URL",
            help="The same, and without a workload the phases, defaults and lines of the s3-benchmark tools: PUT, GET "
            "and DELETE for -d seconds each, -l times, on -t threads (1) with objects of -z bytes (1M)."),
    _option("-b", "--bucket", metavar="NAME",
            help="The bucket there; nothing outside the prefix s3bench/RUN/ is written.  [with -u: s3-benchmark]"),
    _option("-a", "--access-key", metavar="KEY",
            help="Sign with this key and not as the AWS CLI would; other users of the machine can see it ..."),
    _option("-s", "--secret-key", metavar="SECRET", help=f"... and this secret; better set {SECRET_VARIABLE}."),
    _option("--region", metavar="NAME", help="The region to sign for.  [default: as the AWS CLI, or us-east-1]"),
    _option("--addressing", type=_word(Addressing), metavar="path|virtual",
            help="Name the bucket in the path, or in the host name.  [default: path]"),
    _flag("--tls-no-verify", help="Take any certificate."),
    _option("--ca-bundle", metavar="FILE", help="Trust these authorities, not those of the system."),
    _option("--network", metavar="MODEL", help="Impose a network model on the S3 in memory, e.g. ec2:c5.large."),
)  # fmt: skip
_WORKLOAD = (
    _option("--operation", type=_Figure(parse_kind), metavar="KIND",
            help=f"Do only this: {', '.join(MIXABLE)}."),
    _option("--mix", type=_Figure(parse_mix), metavar="KIND=WEIGHT,...",
            help="Do these, as often as their weights say.  [default: get=45,head=30,put=15,delete=10]"),
    _option("-z", "--size", type=_Figure(parse_object_sizes), metavar="SIZES",
            help="Sizes of objects: 32MiB, 1M, 4KiB:70,1MiB:30, uniform:1KiB-1MiB, lognormal:64KiB,1.5."
            f"  [default: {SIZES}]"),
    _option("--objects", type=_whole(1, COUNT_MAX), metavar="N",
            help="Write so many before, to be read.  [default: 1000; in memory as many as make 256 MiB]"),
    _option("--keys", type=_Figure(parse_key_choice), metavar="uniform|sequential|zipf[:EXP]",
            help="Which object is next.  [default: uniform]"),
    _option("--key-file", type=_PATH, metavar="FILE", help="Read the objects listed here: KEY[<tab>SIZE[<tab>CRC32]]."),
    _option("--list-existing", metavar="PREFIX", help="Read the objects that are there below this prefix."),
    _option("--range", "range_bytes", type=_Figure(parse_byte_count), metavar="SIZE",
            help="Bytes of a range, for the operation range."),
    _option("--part-size", "part_bytes", type=_Figure(parse_part_size), metavar="SIZE",
            help="Bytes of a part, for the operation multipart.  [default: 8MiB]"),
    _flag("--overwrite", help="Let put take keys of objects that are there, not new ones."),
    _option("--layout", type=_word(Layout), metavar="shared|worker",
            help="All keys in one prefix, or in one for each worker.  [default: shared]"),
    _option("--payload", type=_word(PayloadKind), metavar="random|zero", help="What objects hold.  [default: random]"),
    _option("--compressible", type=_Figure(parse_factor), metavar="FACTOR",
            help="Let random data shrink by this factor when compressed.  [default: 1]"),
    _flag("--sign-payload", help="Hash every body into the signature, as plain HTTP asks of the AWS CLI."),
    _flag("--checksum", help="Send a CRC32 with every put."),
    _flag("--no-verify", help="Do not hold what is read against what was written."),
)  # fmt: skip
_INTENSITY = (
    _option("-t", "--threads", type=_whole(1, THREADS_MAX), metavar="N",
            help=f"Requests in flight at a time, over all workers.  [default: {THREADS}; with -u: 1]"),
    _option("--workers", type=_whole(1, WORKERS_MAX), metavar="N", help="Processes.  [default: one per core]"),
    _option("--cluster", type=_Figure(_cluster), metavar="auto|ray://HOST:PORT",
            help="Make the load on the machines of this Ray cluster; `auto`: the one that this machine is part of."),
    _option("--nodes", type=_whole(1, NODES_MAX), metavar="N",
            help="With --cluster: so many machines.  [default: all]"),
    _option("--workers-per-node", type=_whole(1, WORKERS_MAX), metavar="M",
            help="With --cluster: processes on each.  [default: one per core]"),
    _option("--rate", type=_Figure(parse_rate), metavar="PER_S",
            help="Open loop: plan so many operations a second; -t is the most in flight."),
    _option("--arrivals", type=_word(Arrivals), metavar="poisson|constant", help="With --rate.  [default: poisson]"),
    _flag("--disable-keepalive", help="A new connection for each request."),
    _option("--retries", type=_whole(0, 100), metavar="N",
            help=f"Try so often again what failed; every try is counted.  [default: {_MANNER.retries}]"),
    _option("--timeout", type=_LIMIT, metavar="TIME",
            help="Give up an attempt that takes longer than this as a whole.  [default: no limit]"),
    _option("--idle-timeout", type=_LIMIT, metavar="TIME",
            help=f"Give up an attempt without progress for so long.  [default: {_MANNER.idle_timeout_s:g}s]"),
    _option("--connect-timeout", type=_LIMIT, metavar="TIME",
            help=f"Give up connecting after so long.  [default: {_MANNER.connect_timeout_s:g}s]"),
)  # fmt: skip
_EXTENT = (
    _option("-d", "--duration", type=_LIMIT, metavar="TIME",
            help=f"Length of each phase: seconds, or 30s, 5m, 1h.  [default: {DURATION_S:g}s]"),
    _option("--operations", type=_whole(1, COUNT_MAX), metavar="N",
            help="End a phase after so many operations; without -d only then."),
    _option("-l", "--loops", type=_whole(1, LOOPS_MAX), metavar="N",
            help="Run all phases so often.  [default: 1]"),
    _option("--warmup", type=_DURATION, metavar="TIME", help="Do not measure the beginning of a phase.  [default: 0]"),
    _option("--ramp", type=_DURATION, metavar="TIME",
            help="Begin threads one after the other, or let the rate rise, so long.  [default: 0]"),
    _flag("--stable", help="End a phase as soon as its throughput has settled."),
    _option("--matrix", type=_word(MatrixExtent), metavar="quick|full",
            help=f"Sizes times threads: 1 KiB to 32 MiB, {_counts(QUICK.threads)} threads with {QUICK.samples} reads a "
            f"cell, or {_counts(FULL.threads)} with {FULL.samples}."),
    _option("--matrix-threads", type=_Figure(parse_threads), metavar="1,2,4-16",
            help="A matrix with these threads; a range doubles."),
    _option("--matrix-sizes", type=_Figure(parse_sizes_bytes), metavar="1KiB-32MiB",
            help="A matrix with these sizes; a range doubles."),
    _option("--matrix-samples", type=_whole(1, COUNT_MAX), metavar="N", help="A matrix with so many reads a cell."),
    _option("--slo", metavar="LIMITS", help="Find the highest rate that keeps them: 'p99<50ms,errors<0.1%'."),
    _option("--seed", type=_whole(0, _SEED_MAX), metavar="N",
            help="Draw the same operations again.  [default: another each time, kept in the results]"),
)  # fmt: skip
_OUTCOME = (
    _option("--max-error-rate", type=_Figure(parse_share), metavar="SHARE",
            help=f"Exit with 1 when more operations failed.  [default: {MAX_ERROR_RATE:.1%}]"),
    _flag("--calibrate", help="Measure first what this machine reaches against a server that does nothing."),
    _flag("--keep", help="Leave the objects there, for --reuse."),
    _option("--reuse", metavar="RUN", help="Read the objects that an earlier run kept."),
    _option("--clean-up", metavar="RUN", help="Remove what a run has left, and do nothing else."),
    _option("-o", "--output", type=_PATH, metavar="FILE", help="Write the results document here."),
    _flag("--force", help="Let -o, --csv, --trace and --object-log replace files that exist."),
    _flag("--json", "as_json", help="Print the results document to stdout (the default in a pipe without -o)."),
    _option("--format", "form", type=_word(Form), metavar="table|lines|s4|csv",
            help="Print a table, or the lines of s3-benchmark or s4.  [default: table; with -u: lines]"),
    _option("--csv", type=_PATH, metavar="FILE", help="Write a line a second here."),
    _option("--trace", type=_PATH, metavar="FILE", help="Write a line an operation here."),
    _option("--object-log", type=_PATH, metavar="FILE", help="Write key and MD5 of every object written here."),
    _flag("--show-profile", help="Print the profile that would run, as a file for PROFILE, and run nothing."),
    _flag("-q", "--quiet", help="No progress."),
)  # fmt: skip

GROUPS: tuple[tuple[str, tuple[_Option, ...]], ...] = (
    ("Where", _TARGET),
    ("What", _WORKLOAD),
    ("How hard", _INTENSITY),
    ("How long", _EXTENT),
    ("Outcome", _OUTCOME),
)
"""The options by the question that each answers, in the order of `--help`."""


class LoadCommand(click.Command):
    """A command whose help has the options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each group, and one for what click itself adds."""
        records = {name: param.get_help_record(ctx) for param in self.params for name in param.opts}
        for title, options in GROUPS:
            names = [next(name for name in named if name.startswith("-")) for named, _ in options]
            with formatter.section(title):
                formatter.write_dl([record for name in names if (record := records[name]) is not None])
        help_option = self.get_help_option(ctx)
        record = help_option.get_help_record(ctx) if help_option else None
        if record is not None:
            with formatter.section("Else"):
                formatter.write_dl([record])


def load_options(command: Callable[..., None]) -> Callable[..., None]:
    """Attach the PROFILE argument and all options; the command is to be made with `cls=LoadCommand`."""
    for names, settings in reversed(tuple(_all())):
        command = click.option(*names, **settings)(command)
    argument = click.argument("file", required=False, type=_PATH, metavar="[PROFILE]")
    return argument(command)


def _all() -> Iterator[_Option]:
    for _, options in GROUPS:
        yield from options


def option_name(field: str) -> str:
    """Return the long option that fills a field of `LoadOptions`, and `PROFILE` for the argument."""
    if field == "file":
        return "PROFILE"
    for names, _ in _all():
        long = next(name for name in names if name.startswith("--"))
        plain = [name for name in names if not name.startswith("-")]
        if field == (plain[0] if plain else long.removeprefix("--").replace("-", "_")):
            return long
    raise KeyError(field)
