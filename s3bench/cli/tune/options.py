"""The options of `s3bench tune`: their meaning, and the checks of combinations."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from s3bench.cli.quantity import Duration, parse_size
from s3bench.clients.client import ClientSpec
from s3bench.clients.environment import check_endpoint_url
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.registry import known_clients
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.errors import BadInput
from s3bench.run.description import DescribedFiles, describe_path
from s3bench.s3.network.model import NetworkModel, parse_network
from s3bench.s3.network.presets import PREFIX
from s3bench.spec.file_sizes import FileSizes, sample_words
from s3bench.spec.reader import one_of
from s3bench.tune.objective import Aim, Objective

BUDGET = Duration("10m")
COMPARED_ROUNDS = 6  # the fewest with an interval
FILES_MAX = 100_000
RUN_LIMIT_S = 3600
SAMPLE_FILES = 1000
SEEDS = 2**31
_DIGITS_MAX = len(str(FILES_MAX))
_RESULT_OPTIONS = frozenset({"resume", "replay", "predict", "as_json", "markdown", "verbose", "force", "quiet"})
_RUN_OPTIONS = frozenset({"budget", "timeout", "allow_unsandboxed"})
_SEARCH_OPTIONS = frozenset({"budget", "search", "max_memory", "objective", "predict"})
_OTHER_NAMES = {"action": "the direction", "folder": "FOLDER"}
_PREDICTED = ("size", "files", "instance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """What a prediction is asked for: a workload, and a network where it differs."""

    workload: Workload
    network: NetworkModel | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """The options of `s3bench tune`, by the names of its parameters."""

    action: str | None
    folder: Path | None
    like: Path | None
    sample_files: int
    sample_size: int
    size: int | None
    files: int
    clients: str | None
    endpoint_url: str | None
    bucket: str | None
    allow_unsandboxed: bool
    network: str | None
    tls: bool
    budget: Duration | None
    max_memory: int | None
    objective: str
    machine_price: float | None
    request_prices: tuple[float, float] | None
    search: str
    compare_clients: bool
    rounds: int
    no_disk: bool
    predict: tuple[str, ...]
    study: Path | None
    resume: Path | None
    replay: Path | None
    seed: int | None
    timeout: float
    as_json: bool
    markdown: Path | None
    verbose: bool
    force: bool
    quiet: bool
    described: DescribedFiles | None = None

    @classmethod
    def of(cls, typed: Mapping[str, Any], given: frozenset[str]) -> Self:
        """Take the options as typed, of which `given` were; refuse what contradicts. Raises `BadInput`."""
        options = cls(**typed)
        if not options.is_new:
            options._check_old(given)
            return options
        source = options.folder or options.like
        if source is not None:
            options._check_like(given)
            options = replace(options, described=describe_path(source))
        options._check(given)  # noqa: SLF001 (its own class)
        return options

    @property
    def is_new(self) -> bool:
        """Whether a study is begun, rather than resumed or replayed."""
        return self.resume is None and self.replay is None

    @property
    def workload(self) -> Workload:
        """What is to be moved. Raises `BadInput`."""
        if self.action is not None and self.described is not None:
            return Workload.like(Action(self.action), self._sample(self.described))
        if self.action is None or self.size is None:
            raise BadInput(
                "the transfer to tune is missing",
                "the direction and the size of each file are needed",
                "s3bench tune upload --size 10GiB --network ec2:c5.large",
            )
        return Workload(action=Action(self.action), size_bytes=self.size, files=self.files)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the files that are transferred leave out of those they are like."""
        if self.described is None:
            return ()
        sample = sample_words(self.described.sizes, self._sample(self.described))
        return (*self.described.warnings, *((f"tuned with {sample}",) if sample else ()))

    def _sample(self, described: DescribedFiles) -> FileSizes:
        """At most as many files as asked for, and few distinct sizes."""
        return described.sizes.sample(files_max=self.sample_files, bytes_max=self.sample_size).condensed()

    @property
    def specs(self) -> tuple[ClientSpec, ...]:
        """The clients as asked for. Raises `BadInput`."""
        if self.clients is None:
            clients = known_clients().values()
            return tuple(ClientSpec(kind=each.name) for each in clients if each.tuning.is_tried_by_default)
        specs = tuple(parse_client_spec(word.strip()) for word in self.clients.split(","))
        if len(set(specs)) < len(specs):
            raise BadInput(f"--clients {self.clients}: a client is named twice", fix="name each once")
        return specs

    @property
    def model(self) -> NetworkModel | None:
        """The network model. Raises `BadInput`."""
        return None if self.network is None else parse_network(self.network)

    @property
    def budget_s(self) -> float:
        """The seconds of all runs."""
        return float(BUDGET if self.budget is None else self.budget)

    @property
    def aim(self) -> Objective:
        """What is to be small."""
        prices = {} if self.machine_price is None else {"machine_per_hour": self.machine_price}
        if self.request_prices is not None:
            prices |= dict(zip(("writes_per_1000", "reads_per_1000"), self.request_prices, strict=True))
        return Objective(aim=Aim(self.objective), **prices)

    def others(self, workload: Workload, *, is_live: bool) -> tuple[Other, ...]:
        """What predictions are asked for, beside `workload`. Raises `BadInput`, always if `is_live`."""
        if self.predict and is_live:
            raise BadInput(
                "--predict needs a network model",
                "the latency and the bandwidths of a live endpoint are not known",
                "leave out --predict, or tune with --network",
            )
        return tuple(_other(text, workload) for text in self.predict)

    def _check(self, given: frozenset[str]) -> None:
        assert self.specs
        workload = self.workload
        self._check_endpoint()
        self.others(workload, is_live=self.network is None)
        self._check_prices(workload)
        self._need(self.compare_clients or "rounds" not in given, "--rounds", "--compare-clients")
        is_bounded = not given.isdisjoint({"sample_files", "sample_size"})
        self._need(self.described is not None or not is_bounded, "--sample-files and --sample-size", "FOLDER or --like")
        if self.compare_clients:
            self._check_comparison(given)

    def _check_live(self) -> None:
        """Refuse what needs the requests of each run. Raises `BadInput`."""
        self._refuse(
            "--endpoint-url",
            {
                "--objective throughput": self.objective == Aim.THROUGHPUT,
                "--request-prices": self.request_prices is not None,
            },
            "s3bench does not see the requests to a live endpoint",
        )

    def _check_prices(self, workload: Workload) -> None:
        """Refuse prices that nothing uses, and those at which a run may cost nothing: costs are compared by ratios."""
        if self.machine_price is not None or self.request_prices is not None:
            self._need(self.objective == Aim.COST, "prices", "--objective cost-weighted")
        self.aim.check(workload, has_requests=self.network is not None)

    def _check_comparison(self, given: frozenset[str]) -> None:
        """Refuse what only a search uses. Prices need an objective, which is refused here."""
        if self.study is not None:
            raise BadInput("--compare-clients keeps no study", "it searches nothing", "keep its --json or --markdown")
        self._refuse(
            "--compare-clients",
            {text: name in _SEARCH_OPTIONS for name, text in _texts(given).items()},
            "every client runs --rounds times with its defaults; nothing is searched",
        )

    def _check_like(self, given: frozenset[str]) -> None:
        """Refuse what contradicts FOLDER and --like, before they are read."""
        if self.folder is not None and self.like is not None:
            raise BadInput("FOLDER and --like cannot be combined", "both tell the sizes", "leave one of them out")
        option = "FOLDER" if self.folder is not None else "--like"
        for name in ("size", "files"):
            if name in given:
                raise BadInput(
                    f"{option} cannot be combined with --{name}",
                    f"{option} tells the number and the sizes of files",
                    f"leave out --{name}; --sample-files and --sample-size bound a sample",
                )
        if self.folder is not None and self.action == Action.DOWNLOAD:
            raise BadInput(
                "a download has no FOLDER to read",
                "its files are objects of a bucket",
                f"s3bench tune download --like {self.folder} --network ec2:c5.large",
            )
        if self.folder is not None and not self.folder.is_dir():
            raise BadInput(
                f"{self.folder} is not a directory",
                "FOLDER is the directory to upload",
                "for a listing or sizes.json use --like",
            )

    def _check_endpoint(self) -> None:
        if (self.endpoint_url is None) is (self.network is None):
            raise BadInput(
                "a tuning needs one network",
                "which settings are best depends on the link to S3",
                "name the endpoint itself (--endpoint-url URL --bucket NAME), or a model (--network ec2:c5.large)",
            )
        if (self.endpoint_url is None) is not (self.bucket is None):
            raise BadInput(
                "--endpoint-url and --bucket need each other",
                fix="Pass both: the endpoint and the bucket to use there.",
            )
        if self.endpoint_url is not None:
            check_endpoint_url(self.endpoint_url)
            self._check_live()
        self._need(self.endpoint_url is None or not self.tls, "--tls", "--network")
        assert self.model is None or self.model.text

    def _check_old(self, given: frozenset[str]) -> None:
        """Refuse what a study already says, and with --replay what only its runs use. Raises `BadInput`."""
        option = "--resume" if self.resume is not None else "--replay"
        if self.resume is not None and self.replay is not None:
            raise BadInput("--resume and --replay cannot be combined", fix="leave one of them out")
        names = _texts(given)
        described = {text: name not in _RESULT_OPTIONS | _RUN_OPTIONS for name, text in names.items()}
        self._refuse(option, described, "the study says what it is about")
        if self.replay is not None:
            of_runs = {text: name in _RUN_OPTIONS for name, text in names.items()}
            self._refuse(option, of_runs, "the result is printed again and nothing is run")

    def _refuse(self, option: str, given: Mapping[str, bool], why: str) -> None:
        """Refuse the first of the `given` options beside `option`. Raises `BadInput`."""
        named = next((name for name, is_given in given.items() if is_given), None)
        if named is not None:
            raise BadInput(f"{option} cannot be combined with {named}", why, f"Leave out {named}.")

    def _need(self, holds: bool, what: str, other: str) -> None:  # noqa: FBT001 (a condition, not a mode)
        if not holds:
            raise BadInput(f"{what} cannot be used without {other}", fix=f"add {other}, or leave them out")


def _texts(given: frozenset[str]) -> dict[str, str]:
    """Each of the parameters `given` as it is typed."""
    return {name: _OTHER_NAMES.get(name, f"--{name.replace('_', '-')}") for name in sorted(given)}


def _other(text: str, workload: Workload) -> Other:
    """Parse `size=20GiB,files=10,instance=c5n.18xlarge`, each part optional."""
    parts = [part.strip().partition("=")[::2] for part in text.split(",")]
    pairs = dict(parts)
    if len(pairs) < len(parts):
        raise BadInput(
            f"--predict {text}: a key is given twice", fix="name each key once; repeat --predict for another prediction"
        )
    unknown = [key for key in pairs if key not in _PREDICTED]
    if unknown or "" in pairs.values():
        raise BadInput(
            f"--predict {text}: {(unknown or [text])[0]!r} cannot be read",
            f"it takes {one_of(_PREDICTED)}, each with a value",
            "as in --predict size=100GiB,files=20,instance=c5n.18xlarge",
        )
    if workload.sizes and "size" not in pairs:
        if "files" in pairs:
            raise BadInput(
                f"--predict {text}: the size of files is missing",
                "the files of this tuning differ in size",
                "add size=SIZE",
            )
        return Other(workload=workload, network=parse_network(PREFIX + pairs["instance"]))
    files = pairs.get("files", str(workload.files))
    if not files.isdecimal() or len(files) > _DIGITS_MAX or not 0 < int(files) <= FILES_MAX:
        raise BadInput(f"--predict {text}: {files!r} is not a number of files", fix=f"write 1 to {FILES_MAX}")
    size_bytes = parse_size("--predict size", pairs["size"]) if "size" in pairs else workload.size_bytes
    return Other(
        workload=Workload(action=workload.action, size_bytes=size_bytes, files=int(files)),
        network=parse_network(PREFIX + pairs["instance"]) if "instance" in pairs else None,
    )
