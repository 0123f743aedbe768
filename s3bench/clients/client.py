"""A client under test as requested and as found on this machine: which client, which version, which program.

The other modules of this package share these facts. The properties of each client are in its descriptor.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSpec:
    """A client as requested: its name, `kind`, and at most one of `version` and `path`; neither: any that is found."""

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

    `kind` is its name. `version` is that of the program (for `boto3-*` of boto3, for `crt-python` of awscrt, for a
    packaged binary of the package). `executable` is what is executed: the client's binary or script, or for a library
    the Python interpreter. `site` is a directory of Python packages: for a library those that are imported instead of
    the interpreter's own, for a script before them; or `None`. `detail` has further distinguishing facts
    (`awscrt 0.38.1, Python 3.11`). `asked_path` is the path in the request, if there was one.
    """

    kind: str
    version: str
    executable: Path
    site: Path | None = None
    detail: str = ""
    asked_path: str | None = None

    @property
    def label(self) -> str:
        """The client as `--client` selects it again: `cli-crt@2.38.5`, or with the path that was requested."""
        return f"{self.kind}@{self.asked_path or self.version}"

    @property
    def release(self) -> tuple[int, ...]:
        """The numbers of `version`, for comparing."""
        return release_of(self.version)


def is_same_version(one: str, other: str) -> bool:
    """Whether two versions are equal by PEP 440, as `0.3.2` and `00.3.2.0` are."""
    if one == other:
        return True
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 (for versions written in two ways alone)

    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return False


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
