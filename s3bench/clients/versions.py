"""Sorts published versions by PEP 440, and selects those between two. pip lists the versions."""

from collections.abc import Sequence

from packaging.version import InvalidVersion, Version

from s3bench.clients import index
from s3bench.errors import BadInput


def ascending(versions: Sequence[str]) -> tuple[str, ...]:
    """The versions in the order of PEP 440, each once; invalid ones are left out."""
    known: dict[Version, str] = {}
    for version in versions:
        try:
            known.setdefault(Version(version), version)
        except InvalidVersion:
            continue
    return tuple(known[version] for version in sorted(known))


def published_between(package: str, older: str, newer: str) -> tuple[str, ...]:
    """All versions of a package from `older` to `newer` that pip would install here."""
    check_order(package, older, newer)
    return cut(package, ascending(index.available_versions(package)), older, newer)


def check_order(package: str, older: str, newer: str) -> None:
    """Raise `BadInput` unless both are versions and `older` is."""
    for version in (older, newer):
        try:
            Version(version)
        except InvalidVersion as error:
            raise BadInput(f"{version!r} is not a version of {package}", fix="write one as 2.38.5") from error
    if Version(older) >= Version(newer):
        raise BadInput(
            f"{package} {older} is not older than {newer}",
            "--good is the older end and --bad the newer one; whether it got worse or better is found out",
            "change them over" if Version(older) > Version(newer) else "name two versions that differ",
        )


def cut(package: str, versions: tuple[str, ...], older: str, newer: str) -> tuple[str, ...]:
    """Those of `versions`, which ascend, from `older` to `newer`. Raises `BadInput` if an end is not among them."""
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
