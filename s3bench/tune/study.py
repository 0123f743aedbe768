"""The study: all trials of a tuning, one line of JSON each, appended as they are made.

The first line is the `Header`, every other one a `Trial`. The result depends on these lines alone, so that a study can
be concluded again, and continued after an interruption.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from itertools import accumulate
from typing import Any

import msgspec

from s3bench.clients.tuning.workload import Workload
from s3bench.errors import BadInput
from s3bench.results.decoding import decode
from s3bench.results.document import Client
from s3bench.results.measurement import Failure, Measurement
from s3bench.results.versioned import decode_versioned
from s3bench.s3.network.model import parse_network
from s3bench.tune.objective import Objective
from s3bench.tune.setting import Setting

STUDY_VERSION = 3


class Search(StrEnum):
    """How settings are proposed: `race` searches where it is promising, `grid` tries all of them."""

    RACE = "race"
    GRID = "grid"


class Stage(StrEnum):
    """The stage of a study that a trial belongs to."""

    PROBE = "probe"
    SEARCH = "search"
    VERIFICATION = "verification"


class DiskSpeed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The speed of the workspaces' file system without other load, in bytes per second, over `size_bytes` bytes.

    `kind` is the file system's type (`ext4`, `tmpfs`). `read` is null if the page cache could not be bypassed.
    """

    kind: str
    size_bytes: int
    write: float
    read: float | None


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The subject and the options of a study.

    `network` is the network model as given, `None` with a live endpoint, which `endpoint_url` and `bucket` name;
    `endpoint` describes the endpoint in words. `clients` are labels in the order of `--clients`; `programs` is what was
    found for each, with a digest of its files, and empty in former studies. `max_memory_bytes` bounds the peak memory
    of a recommended setting, `budget_s` the time of all trials.
    """

    study_version: int = STUDY_VERSION
    s3bench: str
    started_at: str
    command_line: tuple[str, ...]
    machine: dict[str, Any]
    workload: Workload
    clients: tuple[str, ...]
    programs: tuple[Client, ...] = ()
    network: str | None
    endpoint: str
    endpoint_url: str | None = None
    bucket: str | None = None
    tls: bool = False
    objective: Objective
    search: Search
    budget_s: float
    seed: int
    max_memory_bytes: int | None = None
    disk: DiskSpeed | None = None
    no_disk: bool = False
    warnings: tuple[str, ...] = ()

    def version_of(self, client: str) -> str:
        """The version of a client, by its label; empty in former studies."""
        return next((program.version for program in self.programs if program.label == client), "")

    def check(self) -> None:
        """Raise `BadInput` for an unknown client or network model, and for prices at which a run may cost nothing."""
        if self.network is not None:
            parse_network(self.network)
        for client in self.clients:
            Setting(client=client).check()
        self.objective.check(self.workload, has_requests=self.network is not None)

    def check_trial(self, trial: "Trial") -> None:
        """Raise `BadInput` for a trial whose setting is not known here, or whose client the study does not have."""
        trial.setting.check()
        if trial.setting.client not in self.clients:
            raise BadInput(
                f"`{trial.setting.client}` is not a client of this study",
                f"its first line names {', '.join(self.clients)}",
                "remove that line",
            )


class Trial(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of one setting: its measurement, or why there is none.

    `block` numbers the rounds of a stage; the runs of one block were made next to each other, in one session and in
    random order, and are compared with each other. (Probes are not compared, and may be of several sessions.) `took_s`
    is the time of the run and its preparation. `was_capped`: the run was ended because it took longer than `cap_s`.
    `set_up_s` is the time before the first run of a session: finding clients, measuring the disk, making files.
    """

    number: int
    stage: Stage
    block: int
    setting: Setting
    took_s: float
    cap_s: float | None = None
    was_capped: bool = False
    measurement: Measurement | None = None
    failure: Failure | None = None
    set_up_s: float = 0.0

    @property
    def failure_words(self) -> str:
        """What failed and why; empty if nothing did."""
        return ": ".join(filter(None, (self.failure.what, self.failure.why))) if self.failure else ""

    @property
    def cost_s(self) -> float:
        """The seconds that it takes from the budget."""
        return self.took_s + self.set_up_s


class Study(msgspec.Struct, frozen=True, kw_only=True):
    """A header and its trials, in the order in which they ran."""

    header: Header
    trials: tuple[Trial, ...] = ()

    def of(self, stage: Stage) -> tuple[Trial, ...]:
        """The trials of one stage."""
        return tuple(trial for trial in self.trials if trial.stage is stage)


def encode_line(item: Header | Trial) -> bytes:
    """Encode one line of a study file."""
    return msgspec.json.encode(item) + b"\n"


def parse_study(content: bytes, *, source: str) -> Study:
    """Parse a study file. An unfinished last line, of a killed process, is left out. Raises `BadInput`.

    A block that a former s3bench finished in another session becomes two.
    """
    lines = content.split(b"\n")
    whole, rest = lines[:-1], lines[-1]
    del rest
    fix = "pass a file that `s3bench tune` wrote"
    if not whole:
        raise BadInput(f"{source} is not a study", "its first line is missing", fix)
    header = decode_versioned(
        whole[0],
        Header,
        key="study_version",
        newest=STUDY_VERSION,
        source=f"{source}, line 1",
        noun="study",
        fix=fix,
    )
    with _located(f"{source}, line 1"):
        header.check()
    trials = []
    for number, line in enumerate(whole[1:], start=2):
        try:
            trial = decode(line, Trial)
        except msgspec.DecodeError as error:
            raise BadInput(f"{source}: line {number} is not a trial", str(error), "remove that line") from error
        with _located(f"{source}, line {number}"):
            header.check_trial(trial)
        trials.append(trial)
    return Study(header=header, trials=_in_blocks_of_one_session(trials))


def _in_blocks_of_one_session(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """The same trials; where a block has runs of several sessions, blocks are numbered anew, one for each session."""
    sessions = accumulate(trial.set_up_s > 0 for trial in trials)
    blocks = [
        (trial.stage, trial.block, 0 if trial.stage is Stage.PROBE else session)
        for trial, session in zip(trials, sessions, strict=True)
    ]
    if len(set(blocks)) == len({(stage, number) for stage, number, _ in blocks}):
        return tuple(trials)
    ordered = {stage: [block for block in dict.fromkeys(blocks) if block[0] is stage] for stage in Stage}
    numbers = {block: number for own in ordered.values() for number, block in enumerate(own)}
    return tuple(
        msgspec.structs.replace(trial, block=numbers[block]) for trial, block in zip(trials, blocks, strict=True)
    )


@contextmanager
def _located(place: str) -> Iterator[None]:
    """Say where in the file it is that something is wrong."""
    try:
        yield
    except BadInput as error:
        raise BadInput(f"{place}: {error.what}", error.why, error.fix) from None
