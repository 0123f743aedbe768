"""What `s3bench profile` refuses before it runs anything, and what it prints of scripted runs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from s3bench.cli import client_resolution
from s3bench.cli.profile import action
from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.results.measurement import Failure, Measurement
from s3bench.run.inspection import Unavailable
from s3bench.run.perf import Perf
from s3bench.run.py_spy import PySpy
from tests.bench.scripted_bench import Run, ScriptedBench, failed, measured
from tests.cli.conftest import Here
from tests.profiling.test_live import output_of
from tests.run.fake_perf import fake_perf

ONE = ("-k", "upload and cp and 4KB and not 100 and not 5,000")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "no client was named"),
        (("--client", "s5cmd", "--baseline", "s5cmd", "--candidate", "s5cmd"), "--client cannot be combined with"),
        (("--baseline", "s5cmd"), "--baseline and --candidate need each other"),
        (("--client", "cli-clasic"), "did you mean `cli-classic`?"),
        (("--client", "cli-classic", "-k", "upload and cp"), "a profile needs exactly one benchmark"),
        (("--client", "cli-classic", "-k", "no such thing"), ""),
        (("--client", "cli-classic", "--max-time", "soon"), "'--max-time': is \"soon\", which is not a duration"),
        (
            ("--baseline", "cli-classic", "--candidate", "cli-classic", "--native"),
            "--native cannot be combined with --baseline",
        ),
        (
            ("--baseline", "cli-classic", "--candidate", "cli-classic", "--runs", "4"),
            "--runs 4 cannot be combined with --baseline and --candidate",
        ),
        (("--client", "cli-classic", "--memory", "--cpu"), "--memory cannot be combined with --cpu"),
        (("--client", "cli-classic", "--memory", "--max-time", "5s"), "--memory cannot be combined with --max-time"),
        (("--client", "cli-classic", "--memory", "--format", "speedscope"), "that is a format of sampled stacks"),
        (
            ("--baseline", "cli-classic", "--candidate", "cli-classic", "--format", "collapsed"),
            "folded stacks are of one",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_runs(
    here: Here, bench: ScriptedBench, arguments: tuple[str, ...], expected: str
) -> None:
    finished = here("profile", *arguments)
    assert finished.returncode == 2
    assert expected in finished.stderr
    assert not bench.runs


def test_a_file_that_exists_is_kept(here: Here, bench: ScriptedBench, tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    file.write_text("mine")
    finished = here("profile", "--client", "cli-classic", *ONE, "-o", str(file))
    assert finished.returncode == 2
    assert file.read_text() == "mine"
    assert not bench.runs


def test_a_file_has_one_purpose(here: Here, bench: ScriptedBench, tmp_path: Path) -> None:
    file, new = tmp_path / "mine.json", tmp_path / "new"
    file.write_text("[]")
    for arguments, said in (
        ((*ONE, "-o", str(new), "--html", str(new)), f"-o and --html both write to {new}"),
        ((str(file), "-o", str(file), "--force"), f"-o {file} would overwrite an input file"),
    ):
        finished = here("profile", "--client", "cli-classic", *arguments)
        assert finished.returncode == 2
        assert said in finished.stderr
    assert file.read_text() == "[]"
    assert not bench.runs


def answer(run: Run) -> Measurement | Failure:
    output = output_of(run)
    if output is None:
        return measured(1.0)
    output.write_text("thread (7): MainThread;main (a.py:1);f (a.py:5) 10\nthread (7): MainThread;main (a.py:1) 30\n")
    return measured(1.2)


@pytest.fixture
def profiled(bench: ScriptedBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedBench:
    """Scripted runs of a client that needs not be here."""
    found = FoundClient(kind="cli-classic", version="1", executable=tmp_path / "aws")
    found.executable.write_text("")
    monkeypatch.setattr(client_resolution, "find_or_install", lambda *_: found)
    monkeypatch.setattr(action, "find_profiler", lambda _: PySpy(executable="py-spy"))
    bench.script = answer
    return bench


def test_the_functions_are_shown_with_their_shares_and_the_slowdown(here: Here, profiled: ScriptedBench) -> None:
    finished = here("profile", "--client", "cli-classic@1", *ONE)
    assert finished.returncode == 0, finished.stderr
    assert "a run takes 1.20 s under the profiler, 1.00 s without" in finished.stdout
    assert [line.split()[:4] for line in finished.stdout.splitlines() if line.startswith("a:")] == [
        ["a:main", "150", "ms", "75.0%"],
        ["a:f", "50.0", "ms", "25.0%"],
    ]
    assert len([run for run in profiled.runs if output_of(run)]) == 5, "as few as make the shares known"


def test_a_time_of_too_few_samples_is_not_given(here: Here, profiled: ScriptedBench) -> None:
    def rarely(run: Run) -> Measurement | Failure:
        answered = answer(run)
        if (output := output_of(run)) and run.hash_seed == "1":
            output.write_text(output.read_text() + "thread (7): MainThread;main (a.py:1);rare (a.py:9) 1\n")
        return answered

    profiled.script = rarely
    finished = here("profile", "--client", "cli-classic@1", *ONE, "--runs", "5")
    [rare] = (line.split() for line in finished.stdout.splitlines() if line.startswith("a:rare"))
    assert rare[1:3] == ["<3.00", "ms"], "three samples of 5 ms in five runs"


def test_folded_stacks_go_to_stdout_and_nothing_else(here: Here, profiled: ScriptedBench) -> None:
    finished = here("profile", "--client", "cli-classic@1", *ONE, "--runs", "2", "--format", "collapsed")
    assert finished.stdout == "a:main 60\na:main;a:f 20\n"
    assert profiled.runs


def test_the_page_and_the_record_are_written(here: Here, profiled: ScriptedBench, tmp_path: Path) -> None:
    page, record = tmp_path / "profile.html", tmp_path / "profile.json"
    finished = here("profile", "--client", "cli-classic@1", *ONE, "--runs", "1", "--html", str(page), "-o", str(record))
    assert finished.returncode == 0, finished.stderr
    assert "Profile of cli-classic@1" in page.read_text()
    assert '"profile_version": 2' in record.read_text()
    assert profiled.workspaces_open == 0


def test_by_cpu_time_two_clients_are_compared_in_cpu_time(here: Here, profiled: ScriptedBench) -> None:
    sides = ("--baseline", "cli-classic@1", "--candidate", "cli-classic@1")
    profiled.script = lambda run: replace(answer(run), cpu_time=0.5)
    finished = here("profile", *sides, *ONE, "--cpu", "--runs", "5")
    assert finished.returncode == 0, finished.stderr
    assert "No detectable change of cpu_time of s3.cp.upload" in finished.stdout
    assert "% of it" not in finished.stdout
    assert "no cause stands out from the noise" in finished.stdout


def test_two_clients_that_run_too_few_times_are_not_said_to_be_compared(here: Here, profiled: ScriptedBench) -> None:
    sides = ("--baseline", "cli-classic@1", "--candidate", "cli-classic@1")
    finished = here("profile", *sides, *ONE, "--max-time", "1us")
    assert finished.returncode == 0, finished.stderr
    assert "1 run of each side is too few to compare (5 needed); pass a larger --max-time" in finished.stdout
    assert "no cause stands out" not in finished.stdout
    assert len([run for run in profiled.runs if output_of(run)]) == 2


def test_lines_that_cannot_be_read_are_a_warning_of_the_record(
    here: Here, profiled: ScriptedBench, tmp_path: Path
) -> None:
    def garbled(run: Run) -> Measurement | Failure:
        answered = answer(run)
        if output := output_of(run):
            output.write_text(output.read_text() + "a newer format 7\n")
        return answered

    profiled.script = garbled
    record = tmp_path / "profile.json"
    finished = here("profile", "--client", "cli-classic@1", *ONE, "--runs", "1", "-o", str(record))
    assert "1 line of what the profiler wrote cannot be read, so samples are missing" in finished.stderr
    assert any("cannot be read" in warning for warning in json.loads(record.read_text())["warnings"])


def test_a_client_that_fails_ends_it_with_its_reason(here: Here, profiled: ScriptedBench) -> None:
    profiled.script = lambda _: failed("exited 9", why="no such bucket")
    finished = here("profile", "--client", "cli-classic@1", *ONE)
    assert finished.returncode == 4
    assert "exited 9" in finished.stderr
    assert "no such bucket" in finished.stderr


def test_a_client_that_fails_later_ends_it_with_a_warning_and_keeps_what_was_sampled(
    here: Here, profiled: ScriptedBench, tmp_path: Path
) -> None:
    profiled.script = lambda run: (
        failed("exited 9", why="no such bucket") if output_of(run) and run.hash_seed == "3" else answer(run)
    )
    record = tmp_path / "profile.json"
    finished = here("profile", "--client", "cli-classic@1", *ONE, "-o", str(record))
    assert finished.returncode == 0, finished.stderr
    assert "warning: run 3 failed: exited 9; no such bucket" in finished.stderr
    written = json.loads(record.read_text())
    assert "run 3 failed: exited 9; no such bucket" in written["warnings"]
    assert len(written["profiles"][0]["stacks"]["runs"]) == 2


def test_where_nothing_can_be_sampled_the_remedy_is_told_and_nothing_runs(
    here: Here, profiled: ScriptedBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(action, "find_profiler", lambda _: Unavailable(reason="no py-spy", fix="install it"))
    finished = here("profile", "--client", "cli-classic@1", *ONE)
    assert finished.returncode == 4
    assert "no py-spy\n  install it" in finished.stderr
    assert not profiled.runs


def recorded(run: Run) -> Measurement:
    """What a perf records that shows it as it stands: version 2 spends 20 ms more in `f`."""
    is_slower = run.client.version == "2"
    output = output_of(run)
    if output is None:
        return measured(2.0, cpu_time=0.06 if is_slower else 0.04)
    main, f = "\tc0 main (/opt/s5cmd)\n", "\tb0 f (/opt/s5cmd)\n"
    thread = "s5cmd 7/7 \n"
    output.write_text(f"{thread}{main}\n" * 30 + f"{thread}{f}{main}\n" * (10 + 20 * is_slower))
    return measured(2.5)


@pytest.fixture
def by_perf(bench: ScriptedBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedBench:
    """Scripted runs of a client that is not written in Python; the kernel is not sampled."""

    def found(spec: ClientSpec, *_: object) -> FoundClient:
        return FoundClient(kind=spec.kind, version=spec.version or "", executable=tmp_path / "s5cmd")

    perf = Perf(executable=fake_perf(tmp_path), rate_hz=1000, event="cpu-clock:u")
    monkeypatch.setattr(client_resolution, "find_or_install", found)
    monkeypatch.setattr(
        action, "find_profiler", lambda client: perf if client.kind == "s5cmd" else PySpy(executable="py-spy")
    )
    bench.script = recorded
    return bench


def test_a_client_that_is_not_python_has_its_cpu_time_sampled(
    here: Here, by_perf: ScriptedBench, tmp_path: Path
) -> None:
    record = tmp_path / "profile.json"
    finished = here("profile", "--client", "s5cmd@1", *ONE, "--runs", "1", "-o", str(record))
    assert finished.returncode == 0, finished.stderr
    assert "1 run, 40.0 ms of CPU time sampled in each, every 1.00 ms" in finished.stdout
    assert [line.split()[:4] for line in finished.stdout.splitlines() if line.startswith("s5cmd:")] == [
        ["s5cmd:main", "30.0", "ms", "75.0%"],
        ["s5cmd:f", "10.0", "ms", "25.0%"],
    ]
    written = json.loads(record.read_text())
    assert written["profiler"] == "perf"
    assert any("in the kernel is not sampled" in line for line in written["warnings"])
    assert "in the kernel is not sampled" in finished.stderr
    assert by_perf.workspaces_open == 0


def test_what_two_spend_their_cpu_time_on_is_told(here: Here, by_perf: ScriptedBench) -> None:
    finished = here("profile", "--baseline", "s5cmd@1", "--candidate", "s5cmd@2", *ONE, "--runs", "8")
    assert finished.returncode == 0, finished.stderr
    assert "Why cpu_time of s3.cp.upload FileSize=4KB changed by +20.0 ms (+20.0 ms to +20.0 ms)" in finished.stdout
    assert "+20.0 ms (+20.0 ms to +20.0 ms, 100% of it): call of s5cmd:f, from s5cmd:main" in finished.stdout
    assert "under perf" in finished.stdout
    assert by_perf.runs


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--client", "s5cmd@1", "--native"), "--native cannot be combined with s5cmd"),
        (
            ("--baseline", "s5cmd@1", "--candidate", "boto3-classic@1"),
            "s5cmd@1 is sampled by perf, boto3-classic@1 by py-spy",
        ),
    ],
)
def test_what_perf_cannot_do_is_refused_before_anything_runs(
    here: Here, by_perf: ScriptedBench, arguments: tuple[str, ...], expected: str
) -> None:
    finished = here("profile", *arguments, *ONE)
    assert finished.returncode == 2
    assert expected in finished.stderr
    assert not by_perf.runs


def holding(bytes_of: dict[str, int]) -> Callable[[Run], Measurement]:
    """A client whose function `a:f` holds so many bytes, by version."""

    def script(run: Run) -> Measurement:
        held = bytes_of[run.client.version]
        if file := run.conditions.env.get("S3BENCH_ALLOCATIONS_FILE"):
            report: dict[str, object] = {"version": 2, "start": "imports", "python": "3.14.0"}
            if "S3BENCH_ALLOCATIONS_MOMENTS" in run.conditions.env:
                frames = [["a", "f", "/usr/lib/a.py", 7]]
                report |= {"taken_bytes": held, "frames": frames, "held": [[held, [0]]]}
            else:
                report |= {"peak_bytes": 2 * held, "moments": [[["a.py", 1, "f"], 2]]}
            Path(file).write_text(json.dumps(report))
        return measured(1.0, peak_memory=2 * held)

    return script


def test_what_holds_the_memory_is_shown_and_written(here: Here, profiled: ScriptedBench, tmp_path: Path) -> None:
    page, record = tmp_path / "profile.html", tmp_path / "profile.json"
    profiled.script = holding({"1": 3 << 20})
    finished = here("profile", "--client", "cli-classic@1", *ONE, "--memory", "--html", str(page), "-o", str(record))
    assert finished.returncode == 0, finished.stderr
    assert "peak 6.00 MiB, of which Python held 3.00 MiB" in finished.stdout
    assert ["a:f", "3.00", "MiB", "3.00", "MiB"] in [line.split()[:5] for line in finished.stdout.splitlines()]
    assert "Memory of cli-classic@1" in page.read_text()
    assert '"profiler": "tracemalloc"' in record.read_text()


@pytest.fixture
def versions(profiled: ScriptedBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedBench:
    """Scripted runs of every version of a client."""

    def found(spec: ClientSpec, *_: object) -> FoundClient:
        return FoundClient(kind=spec.kind, version=spec.version or "", executable=tmp_path / "aws")

    monkeypatch.setattr(client_resolution, "find_or_install", found)
    return profiled


VERSIONS = ("--baseline", "cli-classic@1", "--candidate", "cli-classic@2")


def test_what_two_hold_differently_is_told(here: Here, versions: ScriptedBench) -> None:
    versions.script = holding({"1": 3 << 20, "2": 7 << 20})
    finished = here("profile", *VERSIONS, *ONE, "--memory")
    assert finished.returncode == 0, finished.stderr
    assert (
        "Why peak_memory of s3.cp.upload FileSize=4KB changed by +8.00 MiB (+8.00 MiB to +8.00 MiB)" in finished.stdout
    )
    assert "+4.00 MiB (+4.00 MiB to +4.00 MiB, 50% of it): memory allocated in a:f, in a.py:7" in finished.stdout


def test_two_that_hold_the_same_have_no_detectable_change(here: Here, versions: ScriptedBench) -> None:
    versions.script = holding({"1": 3 << 20, "2": 3 << 20})
    finished = here("profile", *VERSIONS, *ONE, "--memory")
    assert finished.returncode == 0, finished.stderr
    assert "No detectable change of peak_memory of s3.cp.upload FileSize=4KB" in finished.stdout
    assert "no cause stands out from the noise" in finished.stdout


def test_a_client_that_fails_while_its_peak_is_measured_ends_it(here: Here, versions: ScriptedBench) -> None:
    held = holding({"1": 3 << 20, "2": 7 << 20})
    versions.script = lambda run: failed("exited 9") if run.debug_name == "plain" else held(run)
    finished = here("profile", *VERSIONS, *ONE, "--memory")
    assert finished.returncode == 4
    assert "exited 9" in finished.stderr


def test_a_client_whose_peak_is_not_known_ends_it(here: Here, versions: ScriptedBench) -> None:
    held = holding({"1": 3 << 20, "2": 7 << 20})
    versions.script = lambda run: replace(held(run), peak_memory=None)
    finished = here("profile", *VERSIONS, *ONE, "--memory")
    assert finished.returncode == 4
    assert "the peak memory of this client is not known here" in finished.stderr


@pytest.mark.parametrize("clients", [("--client", "cli-classic@1"), VERSIONS])
def test_memory_of_a_client_without_the_probe_cannot_be_looked_at(
    here: Here, versions: ScriptedBench, clients: tuple[str, ...]
) -> None:
    versions.script = lambda _: measured(1.0)
    finished = here("profile", *clients, *ONE, "--memory")
    assert finished.returncode == 4
    assert "the client's memory cannot be traced" in finished.stderr
    assert "memory is looked at in clients written in Python alone" in finished.stderr
    assert not any(run.debug_name == "plain" for run in versions.runs)


@pytest.mark.parametrize(
    "clients",
    [("--client", "s5cmd"), ("--client", "s5cmd@1"), ("--baseline", "cli-classic@1", "--candidate", "s5cmd@2")],
)
def test_memory_of_a_program_that_is_not_python_is_refused_before_anything_runs(
    here: Here, versions: ScriptedBench, clients: tuple[str, ...]
) -> None:
    finished = here("profile", *clients, *ONE, "--memory")
    assert finished.returncode == 4
    assert "s5cmd is not written in Python" in finished.stderr
    assert f"s3bench run --client {clients[-1]}\n" in finished.stderr
    assert not versions.runs
