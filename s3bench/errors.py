"""Error types and exit codes.

Only `s3bench.cli` prints errors and exits; other code raises them. What does not stop the work is not an error but a
warning in the result.
"""

from dataclasses import dataclass
from enum import IntEnum

_PROBLEMS_SHOWN_MAX = 100


class ExitCode(IntEnum):
    """The exit codes of every command; each has one meaning."""

    DONE = 0
    FAIL = 1
    BAD_INPUT = 2
    INCONCLUSIVE = 3
    CLIENT_FAILED = 4
    INTERRUPTED = 130


class S3BenchError(Exception):
    """Base of all expected errors: what happened, why, and how to fix it."""

    exit_code = ExitCode.CLIENT_FAILED

    def __init__(self, what: str, why: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        """The non-empty parts, one per line."""
        return "\n".join(part for part in (self.what, self.why, self.fix) if part)


class BadInput(S3BenchError):
    """The user's option, file or environment variable is wrong; nothing was run."""

    exit_code = ExitCode.BAD_INPUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem in a definition file: its JSON path, what is wrong, and how to fix it."""

    path: str
    what: str
    fix: str

    def __str__(self) -> str:
        """`PATH: what; fix`."""
        return f"{self.path}: {self.what}; {self.fix}"


class BadDefinitions(BadInput):
    """A definition file violates the schema or contradicts itself.

    `problems` has all problems in file order; the message shows the first 100.
    """

    def __init__(self, source: str, problems: tuple[Problem, ...]) -> None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        lines = [f"  {problem}" for problem in problems[:_PROBLEMS_SHOWN_MAX]]
        lines += [f"  and {len(problems) - len(lines)} more"] * (len(problems) > len(lines))
        super().__init__(f"{source}: {count}; nothing was run", "\n".join(lines))
        self.source = source
        self.problems = problems


class ClientNotFound(S3BenchError):
    """A client under test is missing and could not be installed."""


class VersionNotFound(ClientNotFound):
    """The package index has no such version of a client: the user's input is wrong."""

    exit_code = ExitCode.BAD_INPUT


class ShellCommandFailed(S3BenchError):
    """A shell command that the user gave, such as that of --prepare, failed."""


class ClientFailed(S3BenchError):
    """The client under test failed where there is no result to keep it in."""


class MachineError(S3BenchError):
    """The machine or a process of s3bench failed, not the client under test."""
