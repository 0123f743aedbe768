"""`s3bench run` where the machine fails."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from s3bench.bench.suite import SuiteStatus, run_suite
from s3bench.clients.client import ClientSpec
from s3bench.errors import ClientNotFound, MachineError
from s3bench.results.measurement import Measurement
from tests.bench.scripted_bench import ScriptedBench, failed, measured
from tests.cli.conftest import Here
from tests.e2e.conftest import upload


def test_what_was_measured_before_the_machine_failed_is_printed(
    here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail_at_last(*arguments: Any, **options: Any) -> Iterator[SuiteStatus]:
        yield from run_suite(*arguments, **options)
        raise MachineError("the helper ended")

    monkeypatch.setenv("S3BENCH_TMPDIR", str(tmp_path))
    (tmp_path / "one.json").write_text(json.dumps([upload(1000, clients=["s5cmd"])]))
    monkeypatch.setattr("s3bench.cli.run.action.run_suite", fail_at_last)
    finished = here("run", "-q", str(tmp_path / "one.json"))
    assert finished.returncode == 4
    assert finished.stderr == "s3bench: the helper ended\n"
    assert len(json.loads(finished.stdout)["results"][0]["measurements"]) == 1


def test_results_that_cannot_be_written_are_saved_once_and_the_error_names_the_file(
    here: Here, bench: ScriptedBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = tmp_path / "saved"
    (tmp_path / "results").mkdir()
    saved.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(saved))
    (tmp_path / "one.json").write_text(json.dumps([upload(1000, clients=["s5cmd"])]))

    def lose_the_directory(_: object) -> Measurement:
        shutil.rmtree(tmp_path / "results")
        return measured()

    bench.script = lose_the_directory
    finished = here("run", "-q", str(tmp_path / "one.json"), "-o", str(tmp_path / "results" / "out.json"))
    assert finished.returncode == 4
    [copy] = saved.glob("s3bench-results-*")
    assert f"the results were saved in {copy}" in finished.stderr


def test_a_run_says_on_stderr_what_will_run_and_how_long_that_takes_and_nothing_with_q(
    here: Here, bench: ScriptedBench, tmp_path: Path
) -> None:
    bench.script = lambda _: measured(30.0)
    file = tmp_path / "two.json"
    file.write_text(json.dumps([upload(1000, clients=["s5cmd"]), upload(2000, clients=["s5cmd"]) | {"name": "two"}]))
    loud = here("run", str(file), "-n", "2").stderr.splitlines()
    said = "2 benchmarks on 1 client, 2 iterations each: 4 runs; how long they take is not known yet"
    assert f"s3bench: {said}" in loud
    assert "s3bench: about 2 min left, estimated from the first run" in loud
    assert here("run", str(file), "-n", "2", "-q").stderr == ""


def test_a_run_that_fails_says_why_with_q_too(here: Here, bench: ScriptedBench, tmp_path: Path) -> None:
    bench.script = lambda _: failed("exited 1", why="AccessDenied")
    (tmp_path / "one.json").write_text(json.dumps([upload(1000, clients=["s5cmd"])]))
    finished = here("run", "-q", "one.json", "-o", "out.json", cwd=tmp_path)
    assert (finished.returncode, finished.stdout) == (4, "")
    assert finished.stderr.endswith(": 1 failed: exited 1: AccessDenied\n")
    assert finished.stderr.count("\n") == 1


def test_a_client_that_cannot_be_run_is_told_with_its_fix_and_nothing_is_written(here: Here, tmp_path: Path) -> None:
    (tmp_path / "broken").write_text("no program")
    select = ("-k", "cp and upload and FileSize=4KB", "-o", "out.json")
    finished = here("run", "--client", "s5cmd@./broken", *select, cwd=tmp_path)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.splitlines()[-2:] == [
        f"s3bench: s5cmd@./broken: {tmp_path / 'broken'} is not an executable file",
        "  name the program `s5cmd` itself",
    ]
    assert "0 clients" not in finished.stderr
    both = here("run", "-q", "--client", "s5cmd@./broken", "--client", "rclone@./broken", *select, cwd=tmp_path)
    assert both.returncode == 2
    assert both.stderr.startswith("s3bench: none of 2 clients can be run\n")
    for program in ("s5cmd", "rclone"):
        assert f"  name the program `{program}` itself" in both.stderr
    assert not (tmp_path / "out.json").exists()


def test_a_client_that_is_not_installed_is_no_bad_input(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("s3bench.cli.client_resolution.find_client", raise_missing)
    finished = here("run", "-q", "--client", "obstore", "-k", "cp and upload and FileSize=4KB")
    assert (finished.returncode, finished.stdout) == (4, "")
    assert finished.stderr == "s3bench: obstore is not installed\n  s3bench clients install obstore\n"


def raise_missing(spec: ClientSpec, _store: object) -> None:
    raise ClientNotFound(f"{spec} is not installed", fix=f"s3bench clients install {spec}")


def test_a_client_that_cannot_be_run_is_an_error_of_its_results_beside_one_that_can(
    here: Here, bench: ScriptedBench, tmp_path: Path
) -> None:
    (tmp_path / "broken").write_text("no program")
    select = ("--client", "s5cmd@./broken", "--client", "s5cmd", "-k", "cp and upload and FileSize=4KB")
    finished = here("run", *select, cwd=tmp_path)
    assert finished.returncode == 4
    assert "1 benchmark on 1 client, 1 iteration each: 1 run;" in finished.stderr
    assert "is not an executable file: name the program `s5cmd` itself" in finished.stderr
    assert [each["status"] for each in json.loads(finished.stdout)["results"]] == ["failed", "complete"]


def test_prepare_and_cleanup_run_in_the_users_own_environment_and_are_kept_with_the_results(
    here: Here, bench: ScriptedBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "my own")
    (tmp_path / "one.json").write_text(json.dumps([upload(1000, clients=["s5cmd"])]))
    prepare, cleanup = 'echo "prepare $MINE" >> log', 'echo "cleanup" >> log; echo left >&2; exit 7'
    finished = here("run", "-q", "one.json", "-n", "2", "--prepare", prepare, "--cleanup", cleanup, cwd=tmp_path)
    assert finished.returncode == 4
    assert (tmp_path / "log").read_text().splitlines() == ["prepare my own", "prepare my own", "cleanup"]
    document = json.loads(finished.stdout)
    (result,) = document["results"]
    assert len(result["measurements"]) == 2
    assert [(each["what"], each["why"]) for each in result["errors"]] == [(f"--cleanup `{cleanup}` exited 7", "left")]
    assert (document["options"]["prepare"], document["options"]["cleanup"]) == (prepare, cleanup)
    assert prepare in document["command_line"]


def test_a_definition_cannot_give_a_command_that_prepares(here: Here, tmp_path: Path) -> None:
    for key in ("prepare", "cleanup"):
        (tmp_path / "one.json").write_text(json.dumps([upload(1000) | {key: "true"}]))
        finished = here("run", str(tmp_path / "one.json"))
        assert finished.returncode == 2
        assert f"{key}: is an unknown key" in finished.stderr


def test_each_value_of_a_setting_is_a_benchmark_of_its_own_and_reaches_the_client(here: Here, tmp_path: Path) -> None:
    select = ("-k", "s3.cp.upload and FileSize=32MB", "--client", "s5cmd", "-L", "multipart_chunksize", "8MB,16MB")
    listed = here("run", "--list", *select).stdout.splitlines()
    labels = [f"s3.cp.upload FileSize=32MB multipart_chunksize={size}" for size in ("8MB", "16MB")]
    assert listed == [f"{label}\ts5cmd" for label in labels]
    finished = here("run", "-q", *select)
    assert finished.returncode == 0, finished.stderr
    results = json.loads(finished.stdout)["results"]
    assert [result["dimensions"][1] for result in results] == [
        {"multipart_chunksize": size} for size in ("8MB", "16MB")
    ]
    assert [result["measurements"][0]["wire"]["requests"] for result in results] == [6, 4]


def test_scans_are_lists_and_each_has_its_step(here: Here) -> None:
    select = ("run", "--list", "-k", "s3.cp.upload and FileSize=32MB", "--client", "s5cmd")
    one = here(*select, "-P", "max_concurrent_requests", "5", "15", "-D", "5").stdout.splitlines()
    assert one == here(*select, "-L", "max_concurrent_requests", "5,10,15").stdout.splitlines()
    scans = ("-P", "multipart_chunksize", "8MB", "16MB", "-P", "s5cmd.numworkers", "1", "2")
    assert len(here(*select, *scans, "-D", "8MB", "-D", "1").stdout.splitlines()) == 4
    assert len(here(*select, *scans).stdout.splitlines()) == 18


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-L", "multipart_chunksiz", "8MB"), "--parameter-list multipart_chunksiz"),
        (("-L", "multipart_chunksize", "8MB,x"), "--parameter-list multipart_chunksize: 'x'"),
        (("-P", "multipart_chunksize", "8MB", "4MB"), "--parameter-scan multipart_chunksize"),
        (("-D", "3"), "1 --parameter-step-size for 0 --parameter-scan"),
        (("-P", "max_concurrent_requests", "1", "2", "-D", "1", "-D", "1"), "2 --parameter-step-size for 1"),
        (("-L", "rclone.transfers", "4"), "no benchmark runs on a client with the settings `rclone`"),
        (("-L", "max_queue_size", "4", "-k", "ec2"), "-k ec2: no benchmark is selected"),
    ],
)
def test_settings_that_are_none_are_bad_input(here: Here, arguments: tuple[str, ...], said: str) -> None:
    finished = here("run", *arguments)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert said in finished.stderr


def test_what_a_setting_does_not_vary_is_skipped_and_told(here: Here) -> None:
    own = here(
        "run",
        "--list",
        "-L",
        "s5cmd.numworkers",
        "4",
        "--client",
        "s5cmd",
        "--client",
        "cli-crt",
        "-k",
        "FileSize=32MB and cp",
    )
    assert {line.split("\t")[1] for line in own.stdout.splitlines()} == {"s5cmd"}
    assert "not run on cli-crt: cli-crt has no settings `s5cmd`" in own.stderr
    assert "14 benchmarks: the command is not s3 or s3api, so the settings do not apply" in own.stderr


def test_results_do_not_replace_the_definitions(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps([upload(1000, clients=["s5cmd"])]))
    for given in ((str(file),), ("--benchmark-definitions", str(file))):
        finished = here("run", *given, "-o", str(file), "--force")
        assert finished.returncode == 2
        assert f"-o {file} would overwrite an input file" in finished.stderr
    assert json.loads(file.read_text())[0]["name"]


def test_an_endpoint_that_cannot_be_used_is_refused_before_a_client_is_installed(
    here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def look_for_clients(*_: object) -> None:
        raise AssertionError("it looked for clients")

    monkeypatch.setattr("s3bench.cli.run.action.ready_cells", look_for_clients)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "key")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    file = tmp_path / "one.json"
    file.write_text(json.dumps([upload(1000, clients=["s5cmd"])]))
    live = ("--endpoint-url", "http://127.0.0.1:1", "--bucket", "b", "--allow-unsandboxed")
    finished = here("run", str(file), *live)
    assert finished.returncode == 2
    assert "bucket 'b' at http://127.0.0.1:1 cannot be used" in finished.stderr
