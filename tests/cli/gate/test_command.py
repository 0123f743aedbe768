"""What `s3bench gate` refuses, before anything runs. What it does is tests/e2e/test_gate.py's."""

import json
from pathlib import Path

import pytest

from tests.bench.scripted_bench import ScriptedBench, measured
from tests.cli.conftest import Here


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "one of three things"),
        (("--baseline", "s5cmd"), "--baseline and --candidate need each other"),
        (("a.json",), "takes two, not 1"),
        (("--baseline", "s5cmd", "--candidate", "s5cdm"), "did you mean `s5cmd`"),
        (("--baseline", "s5cmd", "--candidate", "cli-classic@9.9.9", "-k", "4KB"), "no aws-cli 9.9.9"),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--pairs", "10,9"), "--pairs 10,9"),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--pairs", "4"), "nothing could ever FAIL"),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--metric", "totaltime"), "did you mean total_time"),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--exact", "request"), "did you mean requests"),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--zone", "total_time=6%,2%"), "--zone"),
        (
            ("--baseline", "s5cmd", "--candidate", "s5cmd", "--max-time", "soon"),
            "'--max-time': is \"soon\", which is not",
        ),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--seed", "-1"), "-1 is not in the range x>=0"),
        (
            ("--baseline", "s5cmd", "--candidate", "s5cmd", "--metric", "p95_memory"),
            "--metric p95_memory needs samples",
        ),
        (("--self-test", "--metric", "p50_memory"), "--metric p50_memory needs samples"),
        (
            ("--baseline", "s5cmd", "--candidate", "s5cmd", "--metric", "load.latency.p99"),
            "--metric load.latency.p99: clients run no load",
        ),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--rounds", "3"), "--rounds needs --self-test"),
        (("a.json", "b.json", "--tls"), "--tls needs --baseline and --candidate"),
        (("a.json", "b.json", "--no-explain"), "--no-explain needs --baseline and --candidate"),
        (("a.json", "b.json", "--pairs", "10,20"), "--pairs needs --baseline and --candidate"),
        (("--replay", "missing.json", "--timeout", "9"), "--timeout needs --baseline and --candidate"),
        (("a.json", "b.json", "--max-time", "9s", "--rounds", "3"), "leave --max-time and --rounds out"),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--metric", "none", "--no-exact"), "contradict each other"),
        (("--metric", "none", "--metric", "cpu_time"), "--metric none and another --metric contradict each other"),
        (("--replay", "missing.json"), "cannot read missing.json"),
        (("--replay", "missing.json", "--baseline", "s5cmd", "--candidate", "s5cmd"), "one of three things"),
        (("--replay", "missing.json", "--waivers", "missing"), "--waivers cannot be combined with --replay"),
        (("--replay", "missing.json", "--metric", "cpu_time"), "--metric cannot be combined with --replay"),
        (("--replay", "missing.json", "--zone", "total_time=1%,2%"), "--zone cannot be combined with --replay"),
        (("--replay", "missing.json", "--exact", "requests"), "--exact cannot be combined with --replay"),
        (("--replay", "missing.json", "--no-exact"), "--no-exact cannot be combined with --replay"),
        (("--replay", "missing.json", "--false-alarm", "0.1"), "--false-alarm cannot be combined with --replay"),
        (("--replay", "missing.json", "--miss", "0.05", "--no-exact"), "leave --no-exact and --miss out"),
        (("--replay", "missing.json", "--no-adjust"), "--no-adjust needs --baseline and --candidate"),
        (("--replay", "missing.json", "-k", "4KB"), "-k needs --baseline and --candidate"),
        (("--replay", "missing.json", "--suite", "full"), "--suite needs --baseline and --candidate"),
        (("a.json", "b.json", "-k", "4KB"), "-k needs --baseline and --candidate"),
        (("a.json", "b.json", "--suite", "full"), "--suite needs --baseline and --candidate"),
        (("a.json", "b.json", "--no-adjust"), "--no-adjust needs --baseline and --candidate"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(
    here: Here, arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    finished = here("gate", *arguments, cwd=tmp_path)
    unreachable = "is the package index reachable" in finished.stderr
    assert finished.returncode == (4 if unreachable else 2), finished.stderr
    assert said in finished.stderr
    assert not finished.stdout
    assert "Traceback" not in finished.stderr
    assert list(tmp_path.iterdir()) == []


ONE = ("--baseline", "s5cmd", "--candidate", "s5cmd", "-k", "upload and cp and 4KB and not 100 and not 5,000")
CRT = ("--baseline", "crt-python", "--candidate", "crt-python", *ONE[4:])
SIX = ("--baseline", "s5cmd", "--candidate", "s5cmd", "6.json")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*ONE, "--data-interval", "1e-10"), "--data-interval is shorter than 100us"),
        ((*ONE, "--pairs", "4"), "2 tests of 1 benchmark share a chance of a false alarm of 0.01"),
        ((*ONE, "--pairs", "6", "--metric", "total_time"), "with 6 pairs nothing could ever FAIL by size"),
        ((*SIX, "--pairs", "8"), "14 tests of 6 benchmarks share a chance of a false alarm of 0.01"),
        ((*SIX, "--pairs", "6,8"), "ask for at least 10 pairs at the last look"),
        ((*SIX, "--pairs", "12", "--false-alarm", "0.001"), "at least 14 pairs"),
    ],
)
def test_too_few_pairs_for_the_number_of_tests_are_refused_before_anything_runs(
    here: Here, six: Path, bench: ScriptedBench, arguments: tuple[str, ...], said: str
) -> None:
    finished = here("gate", *arguments, cwd=six)
    assert finished.returncode == 2, finished.stderr
    assert said in finished.stderr
    assert not bench.runs


@pytest.mark.parametrize("option", ["--metric", "--exact"])
@pytest.mark.parametrize("clients", [("s5cmd", "s5cmd"), ("rclone", "rclone"), ("obstore", "crt-python")])
def test_instructions_of_clients_whose_counts_do_not_repeat_are_refused_before_anything_runs(
    here: Here, bench: ScriptedBench, clients: tuple[str, str], option: str
) -> None:
    finished = here("gate", "--baseline", clients[0], "--candidate", clients[1], *ONE[4:], option, "instructions")
    assert finished.returncode == 2, finished.stderr
    assert f"{option} instructions: equal runs of {clients[0]} are not known to execute equally many" in finished.stderr
    assert not bench.runs


@pytest.mark.parametrize(
    "arguments",
    [
        (*ONE, "--pairs", "8"),
        (*ONE, "--pairs", "6,8"),
        (*ONE, "--pairs", "2", "--metric", "none"),
        (*CRT, "--pairs", "2", "--metric", "instructions"),
        (*ONE, "--metric", "p95_memory", "--data-interval", "10ms"),
        (*SIX, "--pairs", "12"),
        (*SIX, "--pairs", "10", "--metric", "total_time"),
    ],
)
def test_pairs_with_which_something_can_fail_are_taken(
    here: Here, six: Path, bench: ScriptedBench, arguments: tuple[str, ...]
) -> None:
    bench.script = lambda _: measured(peak_memory=10**8)
    finished = here("gate", *arguments, cwd=six)
    assert finished.returncode != 2, finished.stderr
    assert bench.runs


@pytest.fixture
def six(tmp_path: Path) -> Path:
    """A directory with a file of six benchmarks."""
    upload = {
        "command": ["s3", "cp", "file", "s3://bucket/key"],
        "clients": ["s5cmd"],
        "environment": {"files": [{"name": "file", "size": 4096}]},
        "responses": [{"match": {"method": "PUT"}, "instances": "any"}],
    }
    (tmp_path / "6.json").write_text(json.dumps([{"name": f"upload {number}", **upload} for number in range(6)]))
    return tmp_path
