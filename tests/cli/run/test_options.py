"""What the options of `s3bench run` accept, and what of them is kept or shown."""

import errno
import json
from pathlib import Path

import pytest

from s3bench.clients.environment import check_endpoint_url
from tests.bench.scripted_bench import ScriptedBench
from tests.cli.conftest import Here

RUN = ("run", "-q", "--client", "s5cmd", "-k", "upload and 4KB and cp and not 100 and not 5,000")
SECRETS = ("hunter2", "ABCsecret", "me:pw2", "tok123")


@pytest.mark.parametrize(("timeout", "code"), [("86400", 0), ("24h", 0), ("86401", 2), ("1e10", 2)])
def test_a_run_takes_a_day_at_most_as_in_a_definition(here: Here, timeout: str, code: int) -> None:
    finished = here(*RUN, "--list", "--timeout", timeout)
    assert finished.returncode == code
    assert ("--timeout is more than a day" in finished.stderr) == (code == 2)


@pytest.mark.parametrize(("interval", "code"), [("0.0001", 0), ("100us", 0), ("0.00009", 2), ("1e-10", 2)])
def test_samples_are_at_least_a_tenth_of_a_millisecond_apart(here: Here, interval: str, code: int) -> None:
    finished = here(*RUN, "--list", "--data-interval", interval)
    assert finished.returncode == code
    assert ("--data-interval is shorter than 100us" in finished.stderr) == (code == 2)


@pytest.mark.parametrize(("interval", "code"), [("24h", 0), ("86401", 2), ("1e30", 2)])
def test_samples_are_at_most_a_day_apart(here: Here, interval: str, code: int) -> None:
    finished = here(*RUN, "--list", "--data-interval", interval)
    assert finished.returncode == code
    assert ("--data-interval is longer than 86,400 seconds, a day" in finished.stderr) == (code == 2)


def test_secrets_in_commands_around_the_runs_are_not_in_the_document(
    here: Here, bench: ScriptedBench, tmp_path: Path
) -> None:
    prepare = "true --password hunter2 --secret-key ABCsecret; curl -u me:pw2 x; true"
    cleanup = (
        'true -H "Authorization: Bearer tok123"; echo --password=hunter2 AWS_SECRET_ACCESS_KEY=ABCsecret >&2; false'
    )
    finished = here(*RUN, f"--prepare={prepare}", "--cleanup", cleanup, "-o", str(tmp_path / "out.json"))
    text = (tmp_path / "out.json").read_text()
    assert not [secret for secret in SECRETS if secret in text + finished.stdout + finished.stderr]
    document = json.loads(text)
    assert document["options"]["prepare"] == "true --password *** --secret-key ***; curl -u *** x; true"
    assert f"--prepare={document['options']['prepare']}" in document["command_line"]
    assert document["results"][0]["errors"][0]["why"] == "--password=*** AWS_SECRET_ACCESS_KEY=***"


@pytest.mark.parametrize(
    "url", ["localhost:9000", "", "http://", "http://[::1", "http://h:x", "http://h:99999", "s3://bucket", "http://a b"]
)
def test_a_url_that_is_no_endpoint_is_bad_input_that_shows_one(here: Here, url: str) -> None:
    finished = here(*RUN, "--endpoint-url", url, "--bucket", "b")
    assert finished.returncode == 2
    assert f"{url!r} is not the URL of an endpoint" in finished.stderr
    assert "write it like http://localhost:9000" in finished.stderr


@pytest.mark.parametrize(
    "url", ["http://localhost:9000", "https://s3.eu-west-1.amazonaws.com", "http://[::1]:9000/", "HTTP://h/path"]
)
def test_a_url_of_an_endpoint_is_right(url: str) -> None:
    check_endpoint_url(url)


def test_an_empty_url_is_an_endpoint_like_any_other_url(here: Here) -> None:
    finished = here(*RUN, "--list", "--endpoint-url", "")
    assert finished.returncode == 2
    assert "--endpoint-url and --bucket need each other" in finished.stderr


def test_a_directory_for_output_that_cannot_be_read_is_bad_input(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(_: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", denied)
    finished = here(*RUN, "--list", "--debug-dir", str(tmp_path))
    assert finished.returncode == 2
    assert f"--debug-dir {tmp_path} cannot be read: Permission denied" in finished.stderr
