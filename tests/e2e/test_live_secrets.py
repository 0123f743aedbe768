"""Of a live run with `--debug`, nothing that is printed or left on the disk holds a key, a token or a signature."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest

from s3bench.s3.emulator.settings import EmulatorSettings
from tests.e2e.conftest import MIB, Emulators, Place, download, upload

KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIANOTREAL000000001",
    "AWS_SECRET_ACCESS_KEY": "not/A/real+Secret00000000000000000000000",
    "AWS_SESSION_TOKEN": "IQoJb3JpZ2luNOTREAL//token+with/every=kind==",
}
SECRETS = {spelling.encode() for key in KEYS.values() for spelling in (key, quote(key), quote(key, safe=""))}
SIGNATURE = re.compile(rb"(?i)signature.{0,6}[0-9a-f]{64}", re.DOTALL)


@pytest.fixture
def live(emulators: Emulators, place: Place) -> tuple[str, ...]:
    """An emulator in the place of somebody's S3; s3bench has keys for it that look real."""
    place.environment = {**place.environment, **KEYS}
    emulator = emulators.at(tls=False)
    emulator.arm(EmulatorSettings(buckets=("bucket",)))
    return "--endpoint-url", emulator.url, "--bucket", "bucket"


@pytest.mark.usefixtures("aws_cli")
@pytest.mark.parametrize(
    ("client", "names"),
    [
        ("cli-crt", ("upload", "fails")),
        pytest.param("cli-crt", ("download",), marks=pytest.mark.campaign),  # it writes as an upload does
        pytest.param("cli-classic", ("upload", "download", "fails"), marks=pytest.mark.campaign),
    ],
)
def test_no_key_and_no_signature_is_left_of_what_a_client_wrote(
    place: Place, tmp_path: Path, live: tuple[str, ...], client: str, names: tuple[str, ...]
) -> None:
    definitions = (
        upload(9 * MIB, clients=[client], command=["s3", "cp", "file", "s3://any/key", "--debug"]),
        download(9 * MIB, clients=[client], command=["s3", "cp", "s3://bucket/key", "landed", "--debug"]),
        download(1, name="fails", clients=[client], responses=[], command=["s3", "cp", "s3://any/no", "x", "--debug"]),
    )
    file = place.define(*(each for each in definitions if each["name"] in names))
    finished = place.s3bench("run", *live, file, "--debug-dir", "debug", "--keep-workspace", "-o", "r.json")
    assert finished.code == (4 if "fails" in names else 0), finished.err
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    told = [content for path, content in kept.items() if path.name == "stderr" and b"***" in content]
    assert len(told) >= len(names) * 2, "the clients wrote of their keys, in the workspaces and in the copies"
    everything = {**kept, Path("stdout"): finished.out.encode(), Path("stderr"): finished.err.encode()}
    leaks = [path for path, content in everything.items() for secret in SECRETS if secret in content]
    assert leaks == []
    assert [path for path, content in everything.items() if SIGNATURE.search(content)] == []


URLS = ("http://me:hunter2@127.0.0.1:9", "http://hunter2@127.0.0.1:9", "http://me:hun/ter2@127.0.0.1:9", "me:hunter2@h")


@pytest.mark.parametrize(
    ("command", "url"),
    [
        *((command, url) for command in ("run", "load") for url in URLS),
        ("tune", URLS[0]),
        *(pytest.param("tune", url, marks=pytest.mark.campaign) for url in URLS[1:]),  # it checks them as `run` does
    ],
)
def test_a_password_in_the_endpoints_url_is_refused_and_not_repeated(place: Place, command: str, url: str) -> None:
    what: dict[str, tuple[str | Path, ...]] = {
        "run": (place.define(download(1)),),
        "tune": ("upload", "--size", "1MiB"),
        "load": ("-d", "1s"),
    }
    finished = place.s3bench(command, *what[command], "--endpoint-url", url, "--bucket", "b")
    assert (finished.code, finished.out) == (2, "")
    assert "holds a user name or a password" in finished.err
    assert "hunter2" not in finished.err
    assert "ter2" not in finished.err


def test_a_password_in_an_address_is_not_repeated_by_any_error(place: Place) -> None:
    finished = place.s3bench("run", "http://me:hunter2@127.0.0.1/definitions.json")
    assert finished.code == 2
    assert "hunter2" not in finished.err
