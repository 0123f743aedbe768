"""The options of `s3bench profile`: their meaning, and the checks of combinations."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from s3bench.bench.runner import Settings
from s3bench.errors import BadInput
from s3bench.profiling.explanation import RUNS_MIN
from s3bench.profiling.stack_profile import Sampled

FORMATS = ("text", "json", "collapsed", "speedscope")
_STACK_FORMATS = frozenset({"collapsed", "speedscope"})
_OF_STACKS = frozenset({"cpu", "native", "runs", "max_time"})
RUNS_MAX = 60
MAX_TIME = "60s"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileOptions:
    """The options of `s3bench profile`, by the names of its parameters."""

    files: tuple[Path, ...]
    client: str | None
    baseline: str | None
    candidate: str | None
    select: str | None
    suite: str | None
    cpu: bool
    native: bool
    memory: bool
    runs: int
    max_time: float
    timeout: float
    tls: bool
    form: str
    output: Path | None
    html: Path | None
    force: bool
    quiet: bool

    @classmethod
    def of(cls, typed: Mapping[str, Any], given: Mapping[str, str]) -> Self:
        """Take the options as typed, those `given` with their flags; refuse what contradicts. Raises `BadInput`."""
        options = cls(**typed)
        if options.memory and (refused := [option for name, option in given.items() if name in _OF_STACKS]):
            raise BadInput(
                f"--memory cannot be combined with {refused[0]}",
                "that is about sampled stacks, and --memory samples none",
                "leave one of them out",
            )
        if options.memory and options.form in _STACK_FORMATS:
            raise BadInput(
                f"--memory cannot be combined with --format {options.form}",
                "that is a format of sampled stacks",
                "pass --format text or json",
            )
        if options.client and (options.baseline or options.candidate):
            raise BadInput(
                "--client cannot be combined with --baseline and --candidate",
                "it profiles one client by itself",
                "pass --client, or the other two",
            )
        if (options.baseline is None) is not (options.candidate is None):
            raise BadInput(
                "--baseline and --candidate need each other", fix="name the client on both sides, as cli-classic@2.38.5"
            )
        if not options.clients:
            raise BadInput("no client was named", fix="s3bench profile --client cli-classic -k 'upload and cp and 4KB'")
        if options.form == "collapsed" and len(options.clients) > 1:
            raise BadInput(
                "--format collapsed cannot be combined with --baseline and --candidate",
                "folded stacks are of one client",
                "profile each with --client",
            )
        if options.runs < RUNS_MIN and len(options.clients) > 1:
            raise BadInput(
                f"--runs {options.runs} cannot be combined with --baseline and --candidate",
                f"to compare them, {RUNS_MIN} runs of each client are needed",
                f"pass --runs {RUNS_MIN} or more",
            )
        if options.native and len(options.clients) > 1:
            raise BadInput(
                "--native cannot be combined with --baseline and --candidate",
                "two clients are compared by their Python functions",
                "profile each with --client",
            )
        return options

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients: one, or the baseline and the candidate."""
        return tuple(each for each in (self.client, self.baseline, self.candidate) if each is not None)

    @property
    def sampled(self) -> Sampled:
        """What is sampled."""
        return Sampled.CPU_TIME if self.cpu else Sampled.WALL_TIME

    @property
    def settings(self) -> Settings:
        """How the client runs: nothing else observes it."""
        return Settings(interval_s=None, measures_speed=False, timeout_s=self.timeout)
