"""The package of one or several clients: installs it and lists its versions.

`index` fetches it, `store` decides where it is kept.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from s3bench.clients import index
from s3bench.clients.client import is_same_version
from s3bench.clients.environment import ServerAddress
from s3bench.clients.search import version_in
from s3bench.clients.store import ClientStore
from s3bench.errors import MachineError


class InstallProgress(Protocol):
    """Receives the current step, and how many bytes of how many are done (0 of 0: not yet known)."""

    def __call__(self, step: str, done_bytes: int, total_bytes: int, /) -> None:
        """Report the progress."""


def by_line(say: Callable[[str], None]) -> InstallProgress:
    """Progress as one line per step."""
    said: set[str] = set()

    def note(step: str, _done_bytes: int, _total_bytes: int, /) -> None:
        if step not in said:
            said.add(step)
            say(step)

    return note


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPackage:
    """A package that pip installs.

    `name` is its name for installing and in the store, `index_name` that on the package index, `requirement` what is
    passed to pip, with `{}` for the version. `program` is its name on PATH, empty for a library.
    `is_in_own_environment`: s3bench's own environment may have it. `is_fetched_on_first_use`: it is installed
    automatically when a run needs it. `is_single`: it has no dependency that could be replaced. `pointing` is the line
    that points it at a server, for people who run it themselves.
    """

    name: str
    index_name: str
    requirement: str
    program: str = ""
    is_in_own_environment: bool = True
    is_fetched_on_first_use: bool = False
    is_single: bool = False
    pointing: Callable[[ServerAddress], str] | None = field(default=None, repr=False)

    def install(self, version: str | None, store: ClientStore, progress: InstallProgress) -> str:
        """Install `version`, or the newest, into the store; returns which, as the package itself writes it.

        Raises `ClientNotFound`.
        """
        if version is None:
            progress(f"looking for {self.name}", 0, 0)
            version = index.available_versions(self.index_name)[0]
            if self.is_at(store.place(self.name, version)):
                return version
        label, requirement = f"{self.name} {version}", self.requirement.format(version)
        with store.building(self.name) as building:
            built = building / "site"
            progress(f"installing {label}", 0, 0)
            index.install_packages(
                requirement,
                built,
                label=label,
                progress=lambda done, total: progress(f"installing {label}", done, total),
            )
            installed = version_in(self.index_name, (built,))
            if installed is None:
                raise MachineError(f"pip installed no {label}", f"{requirement} brought no package {self.index_name}")
            write_origin(built, {"requirement": requirement})
            store.adopt(built, self.name, installed, is_complete=self.is_at)
        return installed

    def is_at(self, place: Path) -> bool:
        """Whether the directory `place` of the store has the package, in the version of the directory's name."""
        version = version_in(self.index_name, (place,))
        return version is not None and is_same_version(version, place.name.partition("+")[0])

    def check_published(
        self,
        version: str,
        store: ClientStore,  # noqa: ARG002 (for packages whose versions have to be looked up)
        progress: InstallProgress,
    ) -> None:
        """Raise `VersionNotFound` if `version` cannot be installed here; installs nothing."""
        progress(f"looking for {self.name} {version}", 0, 0)
        index.check_published(self.requirement.format(version), label=f"{self.name} {version}")

    def releases_between(
        self,
        older: str,
        newer: str,
        store: ClientStore,  # noqa: ARG002 (for packages whose versions have to be looked up)
        progress: InstallProgress,  # noqa: ARG002 (as above)
    ) -> tuple[str, ...]:
        """All published versions from `older` to `newer`, the oldest first. Raises `BadInput` if one is invalid."""
        from s3bench.clients.versions import check_order, published_between  # noqa: PLC0415 (packaging, for those who compare versions alone)

        check_order(self.name, older, newer)
        return published_between(self.index_name, older, newer)

    def is_single_at(self, version: str | None) -> str:  # noqa: ARG002 (for packages that changed)
        """Why no dependency of `version` can be replaced; empty if one can."""
        return "it is a single package" if self.is_single else ""


def write_origin(built: Path, origin: dict[str, str]) -> None:
    """Note beside an installed program where it came from."""
    (built / ".s3bench-origin.json").write_text(json.dumps(origin, indent=1) + "\n", "utf-8")
