"""The study: everything that a tuning found out, one line of JSON each, appended as it is found.

Owns the format. The first line is the `Header`, every other a `Trial`. What follows from a study follows from this
alone, so that it can be concluded again, and gone on with after an interruption. Pure; `cli` reads and writes the file.
"""

from enum import StrEnum
from typing import Any

import msgspec

from s3bench.errors import BadInput
from s3bench.results.decoding import decode
from s3bench.results.measurement import Failure, Measurement
from s3bench.results.versioned import decode_versioned
from s3bench.tune.objective import Objective
from s3bench.tune.setting import Setting
from s3bench.tune.workload import Workload

STUDY_VERSION = 2


class Search(StrEnum):
    """How settings are proposed: `race` looks where it seems good, `grid` tries all of them."""

    RACE = "race"
    GRID = "grid"


class Stage(StrEnum):
    """What a trial was run for."""

    PROBE = "probe"
    SEARCH = "search"
    VERIFICATION = "verification"


class DiskSpeed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the file system of the workspaces does by itself, in bytes per second, over `size_bytes` bytes.

    `kind` is the file system's type (`ext4`, `tmpfs`). `read` is null where the page cache could not be passed by.
    """

    kind: str
    size_bytes: int
    write: float
    read: float | None


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a study is about.

    `network` is the model as asked for, `None` with a live endpoint, which `endpoint_url` and `bucket` name; `endpoint`
    says in words where the bytes go.

    `clients` are labels in the order of `--clients`. `max_memory_bytes` bounds the peak memory of what may be
    recommended, `budget_s` the time of all trials.
    """

    study_version: int = STUDY_VERSION
    s3bench: str
    started_at: str
    command_line: tuple[str, ...]
    machine: dict[str, Any]
    workload: Workload
    clients: tuple[str, ...]
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


class Trial(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of one setting: what it showed, or why it showed nothing.

    `block` numbers the rounds of a stage; runs of one block were made next to each other, in random order, and are
    compared with each other. `took_s` is what it cost the study: the run, and making ready before it. A run that was
    ended because it took longer than `cap_s` has `was_capped`: it is known to be slower than that, and nothing else.
    `set_up_s` is what passed before the first run of a session: finding clients, measuring the disk, making files.
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
    def cost_s(self) -> float:
        """What it takes of the budget."""
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
    """Parse a study file. An unfinished last line, of a run that was killed, is left out; raises `BadInput`."""
    lines = content.split(b"\n")
    whole, rest = lines[:-1], lines[-1]
    del rest
    fix = "give a file that `s3bench tune` wrote"
    if not whole:
        raise BadInput(f"{source} is no study", "its first line is missing", fix)
    header = decode_versioned(
        whole[0],
        Header,
        key="study_version",
        newest=STUDY_VERSION,
        source=f"{source}, line 1",
        noun="study",
        fix=fix,
    )
    trials = []
    for number, line in enumerate(whole[1:], start=2):
        try:
            trials.append(decode(line, Trial))
        except msgspec.DecodeError as error:
            raise BadInput(f"{source}: line {number} is no trial", str(error), "remove that line") from error
    return Study(header=header, trials=tuple(trials))
