"""What the options of `s3bench run` accept, and what of them is kept or shown."""

import json
from pathlib import Path

import pytest

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
