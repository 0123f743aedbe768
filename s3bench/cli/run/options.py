"""The options of `s3bench run`: their meaning, what the document keeps of them, and the checks of combinations."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import msgspec

from s3bench.clients.environment import check_endpoint_url
from s3bench.clients.parameter_list import SCAN, STEP, ParameterList, parse_parameter_list, parse_parameter_scan
from s3bench.clients.plan import parse_client_spec
from s3bench.errors import BadInput
from s3bench.results.redaction import redact_text
from s3bench.run.process import check_interval
from s3bench.s3.network.model import NetworkModel, describe, parse_network
from s3bench.s3.network.presets import EXPRESS, PREFIX
from s3bench.spec.table import TIMEOUT_S_MAX
from s3bench.system.home import expand_home

_CLUSTER = re.compile(r"auto|ray://\S+:[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of `s3bench run`, by the names of its parameters; the network model is parsed."""

    files: tuple[Path, ...]
    named_files: tuple[Path, ...]
    num_iterations: int
    warmup: int
    select: str | None
    suite: str | None
    parameter_list: tuple[tuple[str, str], ...]
    parameter_scan: tuple[tuple[str, str, str], ...]
    parameter_step_size: tuple[str, ...]
    clients: tuple[str, ...]
    num_chunks: int
    chunk_id: int
    cluster: str | None
    nodes: int | None
    output: Path | None
    force: bool
    as_json: bool
    data_interval: float
    timeout: float
    endpoint: str
    network: NetworkModel | None
    tls: bool
    verify: bool
    stub: str
    endpoint_url: str | None
    bucket: str | None
    allow_unsandboxed: bool
    debug_dir: Path | None
    keep_workspace: bool
    audit: bool
    prepare: str | None
    cleanup: str | None
    list_only: bool
    quiet: bool

    @classmethod
    def of(cls, typed: Mapping[str, Any]) -> Self:
        """Take the options as typed. Raises `BadInput` for a network model that cannot be read."""
        network = typed["network"]
        return cls(**{**typed, "network": None if network is None else parse_network(network)})

    @property
    def parameter_lists(self) -> tuple[ParameterList, ...]:
        """The settings to vary: lists first, then scans. Raises `BadInput`."""
        steps: tuple[str | None, ...] = self.parameter_step_size
        if len(steps) <= 1:
            steps = (*(steps or (None,)),) * max(1, len(self.parameter_scan))
        if self.parameter_step_size and len(steps) != len(self.parameter_scan):
            raise BadInput(
                f"{len(self.parameter_step_size)} {STEP} for {len(self.parameter_scan)} {SCAN}",
                "a step belongs to a scan, in the order given",
                f"give one for all {SCAN}, or one for each",
            )
        return (
            *(
                parse_parameter_list(name, values, is_live=self.endpoint_url is not None)
                for name, values in self.parameter_list
            ),
            *(parse_parameter_scan(*scan, step) for scan, step in zip(self.parameter_scan, steps, strict=False)),
        )

    @property
    def recorded(self) -> dict[str, object]:
        """What the document keeps of them: all that can change a figure."""
        return {
            "num_iterations": self.num_iterations,
            "warmup": self.warmup,
            "data_interval": self.data_interval,
            "timeout": self.timeout,
            "endpoint": self._endpoint,
            "network": None if self.network is None else network_facts(self.network),
            "tls": self.tls,
            "verify": self.verify,
            "audit": self.audit,
            "prepare": _redacted(self.prepare),
            "cleanup": _redacted(self.cleanup),
        }

    @property
    def _endpoint(self) -> str:
        if self.endpoint_url is not None:
            return "live"
        return "emulator" if self.endpoint == "emulator" else f"stub {self.stub}"


def _redacted(command: str | None) -> str | None:
    return None if command is None else redact_text(command)


def check_options(options: RunOptions) -> None:
    """Refuse options that contradict each other. Raises `BadInput`."""
    if (options.endpoint_url is None) is not (options.bucket is None):
        raise BadInput(
            "--endpoint-url and --bucket need each other", fix="Pass both: the endpoint and the bucket to use there."
        )
    if options.endpoint_url is not None:
        check_endpoint_url(options.endpoint_url)
    check_interval(options.data_interval, option="--data-interval")
    if options.timeout > TIMEOUT_S_MAX:
        raise BadInput(
            "--timeout is more than a day", "a timeout in a definition has the same limit", "Write 24h or less."
        )
    _check_emulator(options)
    if options.endpoint_url is not None and (options.tls or options.stub == "in-process"):
        raise BadInput(
            "--tls and --stub cannot be combined with --endpoint-url", "they are about the stub", "Leave them out."
        )
    if options.tls and options.stub == "in-process":
        raise BadInput(
            "--tls cannot be combined with --stub in-process",
            "the stub in the client's process has no sockets",
            "Leave one of them out.",
        )
    if options.debug_dir is not None and not options.force:
        _check_empty(options.debug_dir)
    _check_cluster(options)


def _check_empty(directory: Path) -> None:
    try:
        is_used = directory.is_dir() and any(directory.iterdir())
    except OSError as error:
        raise BadInput(
            f"--debug-dir {directory} cannot be read: {error.strerror or error}", fix="Name another directory."
        ) from error
    if is_used:
        raise BadInput(
            f"{directory} is not empty", "nothing is overwritten", "Name another directory, or pass --force."
        )


def _check_cluster(options: RunOptions) -> None:
    if options.cluster is None:
        if options.nodes is not None:
            raise BadInput(
                "--nodes needs --cluster", "it is the number of machines of the cluster", "Add --cluster auto."
            )
        return
    if not _CLUSTER.fullmatch(options.cluster):
        raise BadInput(f"--cluster is {options.cluster!r}", fix="write auto or ray://HOST:PORT")
    for name, why in _bound_to_this_machine(options):
        raise BadInput(f"--cluster cannot be combined with {name}", why, "leave one of them out")


def _bound_to_this_machine(options: RunOptions) -> Iterator[tuple[str, str]]:
    """The options that mean nothing, or something else, on other machines; and why."""
    if options.debug_dir is not None:
        yield "--debug-dir", "the output of the clients stays on the nodes"
    if options.keep_workspace:
        yield "--keep-workspace", "the working directories are on the nodes"
    for name, command in (("--prepare", options.prepare), ("--cleanup", options.cleanup)):
        if command is not None:
            yield name, "it is a command of this machine, and the clients run on the nodes"
    for text in options.clients:
        path = parse_client_spec(text).path
        if path is not None and not expand_home(path).is_absolute():
            yield f"--client {text}", "a relative path leads elsewhere on other machines; an absolute one is allowed"
    if options.network is not None and _names_a_file(options.network):
        yield "files in --network", "they are on this machine; a preset and key=value pairs are allowed"


def _names_a_file(network: NetworkModel) -> bool:
    first = network.text.partition(",")[0].strip()
    return bool(network.ttfb_samples_s) or not ("=" in first or first.startswith(PREFIX) or first == EXPRESS)


def _check_emulator(options: RunOptions) -> None:
    if options.endpoint != "emulator":
        if options.network is not None:
            raise BadInput(
                "--network needs --endpoint emulator", "the stub has no network model", "Add --endpoint emulator."
            )
        return
    if options.endpoint_url is not None or options.stub == "in-process":
        other = "--stub in-process" if options.endpoint_url is None else "--endpoint-url"
        raise BadInput(
            f"--endpoint emulator cannot be combined with {other}", "a run has one endpoint", f"Leave out {other}."
        )
    if not options.verify:
        raise BadInput(
            "--no-verify cannot be combined with --endpoint emulator",
            "the emulator verifies checksums as S3 does",
            "Leave it out.",
        )


def network_facts(model: NetworkModel) -> dict[str, object]:
    """What the document keeps of a network model: all but a file of samples, of which the number and quantiles stay."""
    facts: dict[str, object] = {"description": describe(model), **msgspec.to_builtins(model)}
    facts["ttfb_samples"] = len(model.ttfb_samples_s)
    del facts["ttfb_samples_s"]
    return facts
