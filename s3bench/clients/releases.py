"""Lists the published versions of a client between two, and replaces one dependency of it with all others held fixed.

Decides which versions can be combined from the metadata of packages (`Requires-Dist`, PyPA's core metadata
specification, versions and specifiers of PEP 440, parsed by `packaging`), and installs a combination.
"""

import importlib.metadata
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from s3bench.clients import index
from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.finding import find_client
from s3bench.clients.installing import install
from s3bench.clients.package import InstallProgress
from s3bench.clients.registry import known_client
from s3bench.clients.store import ClientStore
from s3bench.errors import BadInput, ClientNotFound

_NAMED_MAX = 3
_NEITHER_LETTER_NOR_DIGIT = re.compile(r"[^0-9A-Za-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A client in the store, of which one dependency may be replaced: `pins` has every package in its directory."""

    kind: str
    version: str
    site: Path
    pins: dict[str, str]

    @property
    def name(self) -> str:
        """The client with its version, for messages: `boto3 1.44.5`."""
        return f"{known_client(self.kind).package.name} {self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Combinable:
    """Versions of a dependency, ascending: those that can be combined, and why others cannot."""

    versions: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def releases_between(
    kind: str, older: str, newer: str, store: ClientStore, progress: InstallProgress
) -> tuple[str, ...]:
    """All published versions of a client from `older` to `newer`, both included, the oldest first.

    Raises `BadInput` if an end is not published or they are in the wrong order.
    """
    return known_client(kind).package.releases_between(older, newer, store, progress)


def installed_release(kind: str, version: str, store: ClientStore, progress: InstallProgress) -> FoundClient:
    """The client of this version in the store, installed there first if necessary.

    Always from the store, so that every version runs from the same kind of path. Raises `ClientNotFound`.
    """
    install(f"{known_client(kind).package.name}@{version}", store, progress)
    return find_client(ClientSpec(kind=kind, version=version), store)


def base_of(kind: str, version: str | None, dependency: str, store: ClientStore, progress: InstallProgress) -> Base:
    """The client whose `dependency` is to be replaced; raises `BadInput` if it has no such dependency."""
    package = known_client(kind).package
    if reason := package.is_single_at(version):
        raise BadInput(
            f"--dependency {dependency}: {kind} has no dependency that could be exchanged",
            reason,
            "name boto3-classic or boto3-crt, or cli-classic with a version of v1, as cli-classic@1.46.2",
        )
    known = version or find_client(ClientSpec(kind=kind), store).version
    found = installed_release(kind, known, store, progress)
    assert found.site is not None, "what the store has of packages is a directory of them"
    pins = {str(canonicalize_name(each.name)): each.version for each in _distributions(found.site)}
    if canonicalize_name(dependency) not in pins or dependency == package.index_name:
        others = ", ".join(sorted(pins.keys() - {package.index_name}))
        raise BadInput(
            f"--dependency {dependency}: {package.name} {known} has none", f"it has {others}", "name one of these"
        )
    return Base(kind=kind, version=known, site=found.site, pins=pins)


def combinable(base: Base, dependency: str, versions: Sequence[str]) -> Combinable:
    """Which of `versions` of `dependency` the packages of `base` allow by their declared requirements.

    The requirements of the dependency itself are known only when it is fetched: pip rejects a conflict then.
    """
    left, left_out, notes = tuple(versions), [], []
    for owner, requirement in _requirements(base, dependency):
        refused = [each for each in left if not requirement.specifier.contains(each, prereleases=True)]
        if not refused:
            continue
        asks = f"{owner} asks for {dependency}{requirement.specifier}"
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            notes.append(f"{asks} in an extra; the others are combined without that extra")
            continue
        left = tuple(each for each in left if each not in refused)
        named, more = ", ".join(refused[:_NAMED_MAX]), len(refused) - _NAMED_MAX
        left_out.append(f"{dependency} {named}{f' and {more} more' if more > 0 else ''}: {asks}")
    return Combinable(versions=left, left_out=tuple(left_out), notes=tuple(notes))


def _requirements(base: Base, dependency: str) -> Iterator[tuple[str, Requirement]]:
    """The requirements on `dependency`, and whose they are; those of extras too, but not those for other machines."""
    wanted = canonicalize_name(dependency)
    for owner in _distributions(base.site):
        for requirement in _parsed(owner.requires or ()):
            marker = requirement.marker
            is_of_here = marker is None or marker.evaluate({"extra": ""}) or "extra" in str(marker)
            if canonicalize_name(requirement.name) == wanted and is_of_here:
                yield f"{owner.name} {owner.version}", requirement


def _parsed(texts: Sequence[str]) -> Iterator[Requirement]:
    for text in texts:
        try:
            yield Requirement(text)
        except InvalidRequirement:
            continue  # pip, which installed the package, accepted it too


def _distributions(site: Path) -> tuple[importlib.metadata.Distribution, ...]:
    found = importlib.metadata.distributions(path=[str(site)])
    return tuple(sorted(found, key=lambda each: canonicalize_name(each.name)))


def installed_combination(
    base: Base, dependency: str, version: str, store: ClientStore, progress: InstallProgress
) -> FoundClient:
    """`base` with `version` of one dependency and all others unchanged, in the store as `1.44.5+botocore.1.44.2`.

    Raises `ClientNotFound` if it is not available, or pip finds that the packages conflict.
    """
    wanted = canonicalize_name(dependency)
    if base.pins[wanted] == version:
        return find_client(ClientSpec(kind=base.kind, version=base.version), store)
    package = known_client(base.kind).package
    combined = f"{base.version}+{_NEITHER_LETTER_NOR_DIGIT.sub('.', wanted)}.{version}"
    if not package.is_at(store.place(package.name, combined)):
        label = f"{base.name} with {dependency} {version}"
        with store.building(package.name) as building:
            _install_pins({**base.pins, wanted: version}, building, label, progress)
            store.adopt(building / "site", package.name, combined, is_complete=package.is_at)
    return find_client(ClientSpec(kind=base.kind, version=combined), store)


def _install_pins(pins: dict[str, str], building: Path, label: str, progress: InstallProgress) -> None:
    """Install exactly these: pip rejects them if one requires another version of another."""
    file = building / "requirements.txt"
    file.write_text("".join(f"{name}=={version}\n" for name, version in sorted(pins.items())), "utf-8")
    progress(f"installing {label}", 0, 0)
    try:
        index.install_packages(
            f"--requirement={file}",
            building / "site",
            label=label,
            progress=lambda done, total: progress(f"installing {label}", done, total),
        )
    except ClientNotFound as error:
        raise ClientNotFound(f"{label} could not be installed", error.why, error.fix) from error
