"""A client under test as asked for and as found on this machine: which client, which version, which program.

Owns the facts that the other modules of this package share. What a client is, by its name, is its descriptor's.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSpec:
    """A client as asked for: its name, `kind`, and at most one of `version` and `path`; neither: whichever is there."""

    kind: str
    version: str | None = None
    path: str | None = None

    def __str__(self) -> str:
        """As `parse_client_spec` reads it."""
        where = self.version or self.path
        return f"{self.kind}@{where}" if where else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundClient:
    """A client that can be run.

    `kind` is its name. `version` is the program's own (for `boto3-*` boto3's, for `crt-python` awscrt's, for a packaged
    binary the package's). `executable` is what is executed: the client's binary or script, or the Python interpreter
    for a library. `site` is a directory of Python packages to be imported before the interpreter's own, or `None`.
    `detail` says what else tells this one from others (`awscrt 0.38.1, Python 3.11`). `asked_path` is the path by which
    it was asked for, if it was.
    """

    kind: str
    version: str
    executable: Path
    site: Path | None = None
    detail: str = ""
    asked_path: str | None = None

    @property
    def label(self) -> str:
        """The client as `--client` selects it again: `cli-crt@2.38.5`, or with the path it was asked for by."""
        return f"{self.kind}@{self.asked_path or self.version}"

    @property
    def release(self) -> tuple[int, ...]:
        """The numbers of `version`, for comparing."""
        return release_of(self.version)


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
