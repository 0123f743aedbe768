"""A client under test as found on this machine: which program, which version, and the engine it claims to be.

Owns the facts that the other modules of this folder share. What a client really does is told by the wire alone.
"""

from dataclasses import dataclass
from pathlib import Path

from s3bench.s3.wirelog import TransferEngine
from s3bench.spec.definition import AWS_CLI_KINDS, ClientKind

ENGINES = {
    ClientKind.CLI: None,
    ClientKind.CLI_CLASSIC: TransferEngine.PYTHON,
    ClientKind.CLI_CRT: TransferEngine.CRT,
    ClientKind.BOTO3_CLASSIC: TransferEngine.PYTHON,
    ClientKind.BOTO3_CRT: TransferEngine.CRT,
    ClientKind.CRT_PYTHON: TransferEngine.CRT,
    ClientKind.S5CMD: TransferEngine.GO,
}
"""The engine each client must show on the wire when it moves object data; `None` where its own config chooses."""

PACKAGES = {
    ClientKind.CLI: "aws-cli",
    ClientKind.CLI_CLASSIC: "aws-cli",
    ClientKind.CLI_CRT: "aws-cli",
    ClientKind.BOTO3_CLASSIC: "boto3",
    ClientKind.BOTO3_CRT: "boto3",
    ClientKind.CRT_PYTHON: "awscrt",
    ClientKind.S5CMD: "s5cmd",
}
"""The name under which each client's program is kept in the store and installed."""

_CLASSIC_WORD_SINCE = (2, 17)

DRIVEN_KINDS = frozenset({ClientKind.BOTO3_CLASSIC, ClientKind.BOTO3_CRT, ClientKind.CRT_PYTHON})
"""Clients that are libraries: a driver of ours runs them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundClient:
    """A client that can be run.

    `version` is the program's own (for `boto3-*` boto3's, for `crt-python` awscrt's, for a packaged `s5cmd` the
    package's). `executable` is what is executed: the client's binary or script, or the Python interpreter for the
    driven kinds. `site` is a directory of Python packages to be imported before the interpreter's own, or `None`.
    `detail` says what else tells this one from others (`awscrt 0.38.1, Python 3.11`). `asked_path` is the path by which
    it was asked for, if it was.
    """

    kind: ClientKind
    version: str
    executable: Path
    site: Path | None = None
    detail: str = ""
    asked_path: str | None = None

    @property
    def engine(self) -> TransferEngine | None:
        """The engine that the wire has to show; `None` where the client's own config chooses."""
        return ENGINES[self.kind]

    @property
    def label(self) -> str:
        """The client as `--client` selects it again: `cli-crt@2.38.5`, or with the path it was asked for by."""
        return f"{self.kind}@{self.asked_path or self.version}"

    @property
    def is_aws_cli(self) -> bool:
        """Whether the command of a definition is given to it as it stands."""
        return self.kind in AWS_CLI_KINDS

    @property
    def release(self) -> tuple[int, ...]:
        """The numbers of `version`, for comparing."""
        return release_of(self.version)


def transfer_client_word(kind: ClientKind, release: tuple[int, ...]) -> str:
    """What `preferred_transfer_client` has to be for this aws-cli; empty where it is left alone.

    v1 has one transfer client only, and `cli` takes what comes. Every v2 takes `default` for `classic`, so the border
    between the two words need not be exact; an unknown release is taken for a new one.
    """
    if kind is ClientKind.CLI_CRT:
        return "crt"
    if kind is not ClientKind.CLI_CLASSIC or release[:1] == (1,):
        return ""
    return "default" if release and release < _CLASSIC_WORD_SINCE else "classic"


def release_of(version: str) -> tuple[int, ...]:
    """Take the leading numbers of a version: `2.38.5` and `2.38.5rc1` are both `(2, 38, 5)`."""
    numbers: list[int] = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers)
