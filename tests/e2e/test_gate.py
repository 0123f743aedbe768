"""The gate end to end: s5cmd against itself, and against itself made worse in known ways."""

import json
import os
import shutil
import signal
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from s3bench.bench.endpoints import stub_server
from s3bench.bench.local import open_bench
from s3bench.bench.runner import Settings
from s3bench.clients.client import FoundClient
from s3bench.gate.evidence import Side
from s3bench.gate.exact_metric import CONFIRMING_RUNS
from s3bench.gate.indifference_zone import IndifferenceZone
from s3bench.gate.instruction_counting import InstructionCounting
from s3bench.gate.live import GateRules, run_gate
from s3bench.gate.looks import Looks
from s3bench.gate.multiple_testing import decide_rows
from s3bench.gate.policy import Policy
from s3bench.gate.row import Verdict
from s3bench.run.inspection import Unavailable
from s3bench.run.instructions import instruction_counter
from s3bench.spec.definition import Definition
from tests.e2e.conftest import Finished, Place
from tests.e2e.programs import found
from tests.forkserver import ForkServer

Run = Callable[..., Finished]
Define = Callable[..., Path]

UPLOAD = {
    "name": "upload",
    "command": ["s3", "cp", "file", "s3://bucket/key"],
    "clients": ["s5cmd"],
    "environment": {"files": [{"name": "file", "size": 4096}]},
    "responses": [{"match": {"method": "PUT"}, "instances": "any"}],
}
# Few pairs and a generous level, so that a gate takes seconds.
QUICK = ("--pairs", "6", "--false-alarm", "0.1", "--seed", "1")

# Where a verdict is expected, a noisy machine gets the further looks that a gate takes by itself, and clients that
# sleep so long that what other programs do to them is little of it: else a control fails, and the gate is rightly
# INVALID.
PATIENT = ("--pairs", "10,20,40", "--false-alarm", "0.05", "--seed", "1")


PROGRAM = """#!/bin/bash
if [ "$1" = version ]; then echo v9.9.9; exit; fi
{first}
server=${{2#http://}}
exec 3<>"/dev/tcp/${{server%:*}}/${{server#*:}}"
printf 'PUT /bucket/key HTTP/1.1\\r\\nHost: s3\\r\\nUser-Agent: aws-sdk-go/1\\r\\nContent-Length: 4096\\r\\n\\r\\n' >&3
cat file >&3
read -r _ status _ <&3
[ "$status" = 200 ]
"""
"""A client that starts in a tenth of s5cmd's time, and uploads the file as that does."""


def make_worse(directory: Path, first: str) -> str:
    """A client that does what the shell is told, and then uploads."""
    program = directory / f"s5cmd-worse-{len(list(directory.glob('s5cmd-worse*')))}"
    program.write_text(PROGRAM.format(first=first))
    program.chmod(0o755)
    return f"s5cmd@{program}"


@pytest.fixture
def worse(tmp_path: Path) -> Callable[[str], str]:
    return partial(make_worse, tmp_path)


@pytest.fixture(scope="module")
def documents(fork_server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Documents of s5cmd, of the same again, and of a client that sleeps before."""
    directory = tmp_path_factory.mktemp("documents")
    place = Place(directory, fork_server)
    definition = place.define(UPLOAD)
    clients = {"one": "s5cmd", "again": "s5cmd", "slow": make_worse(directory, "sleep 0.2")}
    for name, client in clients.items():
        finished = place.s3bench("run", "-n", "10", "-q", "--client", client, "-o", f"{name}.json", definition)
        assert finished.code == 0, finished.err
    return {name: directory / f"{name}.json" for name in clients}


def row_of(record: dict[str, Any], metric: str, role: str = "benchmark") -> dict[str, Any]:
    rows = [row for row in record["conclusion"]["rows"] if (row["metric"], row["role"]) == (metric, role)]
    assert rows, metric
    row: dict[str, Any] = rows[0]
    return row


def test_a_client_against_itself_is_no_pass_and_shows_no_difference(s3bench: Run, define: Define) -> None:
    finished = s3bench("gate", "--baseline", "s5cmd", "--candidate", "s5cmd", *QUICK, "--json", define(UPLOAD))
    record = finished.document
    assert record["conclusion"]["verdict"] in {"INCONCLUSIVE", "INVALID"}, record["conclusion"]["reasons"]
    assert finished.code in {3, 4}
    assert record["same_program"] is True
    for metric in ("requests", "bytes"):
        assert row_of(record, metric)["reason"] == "no difference"
    [cell, negative, positive] = record["cells"]
    assert len(cell["pairs"]) == 6
    assert sorted(pair["order"] for pair in cell["pairs"]) == ["AB"] * 3 + ["BA"] * 3
    assert len({pair["hash_seed"] for pair in cell["pairs"]}) == 6
    assert (negative["role"], positive["role"]) == ("negative control", "positive control")
    assert positive["planted_s"] > 0
    assert not negative["failures"]
    assert not positive["failures"]


def test_one_program_under_two_names_is_refused_before_anything_runs(
    s3bench: Run, define: Define, tmp_path: Path
) -> None:
    copied = shutil.copy2(found("s5cmd").executable, tmp_path / "s5cmd")
    finished = s3bench("gate", "--baseline", "s5cmd", "--candidate", f"s5cmd@{copied}", *QUICK, define(UPLOAD))
    assert (finished.code, finished.out) == (2, "")
    assert "are the same program" in finished.err
    assert "pairs of" not in finished.err


def test_where_a_delay_would_not_show_none_is_planted_and_takes_no_verdict_away(s3bench: Run, define: Define) -> None:
    told = s3bench(
        "gate", "--baseline", "s5cmd", "--candidate", "s5cmd", *QUICK, "--metric", "peak_memory", "--exact", "requests",
        "--json", define(UPLOAD),
    )  # fmt: skip
    record = told.document
    assert [cell["role"] for cell in record["cells"]] == ["benchmark", "negative control"]
    assert row_of(record, "requests")["pairs"] == 6


def test_a_slower_candidate_fails_and_every_report_says_so(
    s3bench: Run, define: Define, worse: Callable[[str], str], tmp_path: Path
) -> None:
    places = {name: tmp_path / name for name in ("record.json", "gate.xml", "summary.md", "comment.md")}
    finished = s3bench(
        "gate", "--baseline", worse("sleep 0.1"), "--candidate", worse("sleep 0.2"), *PATIENT, "--no-exact",
        "--annotations", "--metric", "total_time",
        "-o", places["record.json"], "--junit", places["gate.xml"], "--markdown", places["summary.md"],
        "--comment", places["comment.md"], define(UPLOAD),
    )  # fmt: skip
    assert finished.code == 1, finished.out + finished.err
    assert finished.out.startswith("FAIL")
    assert "::error" in finished.err
    record = json.loads(places["record.json"].read_text())
    row = row_of(record, "total_time")
    assert row["verdict"] == "FAIL"
    assert row["d0"] < row["at_least"] < 1  # 100 ms more on some 120, where the machine is quiet
    [cell] = [cell for cell in record["cells"] if cell["role"] == "benchmark"]
    more_s = [pair["candidate"]["total_time"] - pair["baseline"]["total_time"] for pair in cell["pairs"]]
    assert 0.07 < statistics.median(more_s) < 0.15, "noise is on both sides of a pair alike"
    assert len(cell["sizing"]) == 12
    assert row["fresh_pairs"] == 12
    assert row_of(record, "total_time", "positive control")["verdict"] in {"FAIL", "SMALL"}
    cases = ET.fromstring(places["gate.xml"].read_bytes()).iter("testcase")
    assert "total_time" in {case.get("name") for case in cases if case.find("failure") is not None}
    assert "FAIL" in places["summary.md"].read_text()
    assert "FAIL" in places["comment.md"].read_text()
    again = s3bench("gate", "--replay", places["record.json"], "--json")
    assert again.code == 1
    assert again.document["conclusion"] == record["conclusion"]
    assert "differs" not in again.err


def test_a_candidate_that_opens_another_file_fails_by_its_name(
    s3bench: Run, define: Define, worse: Callable[[str], str], tmp_path: Path
) -> None:
    (tmp_path / "one-more").write_text("")
    baseline = worse(":")  # the same shell, which opens nothing more
    candidate = worse(f": <{tmp_path}/one-more")
    finished = s3bench(
        "gate", "--baseline", baseline, "--candidate", candidate, *QUICK, "--metric", "peak_memory", "--exact", "files",
        "--json", define(UPLOAD),
    )  # fmt: skip
    if any("not compared" in warning for warning in finished.document["warnings"]):
        pytest.skip("strace is missing here, or may not trace")
    row = row_of(finished.document, "files")
    assert row["verdict"] == "FAIL", row
    assert "one-more (0 -> 1)" in row["reason"]
    assert len(finished.document["cells"][0]["candidate_inspections"]) == CONFIRMING_RUNS


def test_a_candidate_that_fails_makes_the_gate_invalid(
    s3bench: Run, define: Define, worse: Callable[[str], str]
) -> None:
    broken = worse("echo out of luck >&2; exit 7")
    finished = s3bench("gate", "--baseline", "s5cmd", "--candidate", broken, *QUICK, define(UPLOAD))
    assert finished.code == 4
    assert finished.out.startswith("INVALID")
    assert "exited 7: out of luck" in finished.out


def test_waivers_let_a_known_regression_pass(s3bench: Run, documents: dict[str, Path], tmp_path: Path) -> None:
    def waive(ceiling: str) -> Path:
        waiver = {
            "benchmark": "upload", "metric": "total_time", "ceiling": ceiling, "reason": "sleeps by design",
            "link": "https://example.com/1", "expires": "2999-12-31",
        }  # fmt: skip
        path = tmp_path / "waivers.json"
        path.write_text(json.dumps({"waivers": [waiver]}))
        return path

    arguments = ("gate", documents["one"], documents["slow"], "--no-exact", "--json")
    wide = s3bench(*arguments, "--waivers", waive("5000%"))
    row = row_of(wide.document, "total_time")
    assert row["verdict"] == "FAIL"
    assert "sleeps by design" in row["waived_by"]
    assert wide.code != 1
    narrow = s3bench(*arguments, "--waivers", waive("1%"))
    assert narrow.code == 1
    assert "has a ceiling of 1%" in "".join(narrow.document["conclusion"]["warnings"])


def test_two_documents_are_judged_with_doubts(s3bench: Run, documents: dict[str, Path]) -> None:
    finished = s3bench("gate", documents["one"], documents["again"], "--json")
    assert finished.code in {3, 4}, "4: where the machine changed in between, the program differs from itself"
    assert finished.document["is_paired"] is False
    assert "one after the other" in "".join(finished.document["warnings"])
    assert row_of(finished.document, "requests")["reason"] == "no difference"
    itself = s3bench("gate", documents["one"], documents["one"], "--json")
    assert itself.code == 3
    assert row_of(itself.document, "total_time")["change"] == 0


def test_ctrl_c_keeps_what_was_measured(
    fork_server: ForkServer, define: Define, environment: dict[str, str], tmp_path: Path
) -> None:
    output = tmp_path / "record.json"
    arguments = ("gate", "--baseline", "s5cmd", "--candidate", "s5cmd", "-o", str(output), str(define(UPLOAD)))
    with fork_server.start(arguments, cwd=tmp_path, env=environment) as process:
        for line in process.stderr:
            if b"look 1" in line:
                os.kill(process.pid, signal.SIGINT)
                break
        process.stderr.read()
        assert process.wait(200) == 130
    record = json.loads(output.read_text())
    assert record["stopped"] == "interrupted"
    assert record["conclusion"]["verdict"] in {"INCONCLUSIVE", "INVALID"}
    assert list((tmp_path / "workspaces").iterdir()) == []


@pytest.mark.campaign  # the same by the action: tests/test_pipelines.py; its record: tests/cli/test_interruption.py
def test_a_gate_that_runs_out_of_time_is_inconclusive_and_says_so(s3bench: Run, define: Define) -> None:
    finished = s3bench("gate", "--baseline", "s5cmd", "--candidate", "s5cmd", "--max-time", "0.01s", define(UPLOAD))
    assert finished.code == 3, finished.out + finished.err
    assert finished.out.startswith("INCONCLUSIVE")
    assert "--max-time 0.01s has passed" in finished.out


@pytest.mark.campaign  # by a bench of our own: tests/gate/test_instruction_counting.py; valgrind: test_confinement.py
def test_instructions_of_a_program_are_counted_where_its_time_is_undecided(tmp_path: Path) -> None:
    counter = instruction_counter()
    if isinstance(counter, Unavailable):
        pytest.skip(f"needs a counter of instructions: {counter}")
    program = tmp_path / "aws"
    program.write_text("#!/bin/sh\nfor number in 1 2 3; do echo $number; done\n")
    program.chmod(0o755)
    client = FoundClient(kind="cli-classic", version="1", executable=program)
    undecidable = IndifferenceZone(d0=0.0, d1=1e-6, floor=0.0)
    looks = Looks(pairs=(4,))  # too few to show anything
    policy = Policy(metrics=("total_time",), zones={"total_time": undecidable}, looks=looks, false_alarm=0.05)
    rules = GateRules(policy=policy, settings=Settings(interval_s=None), seed=1, has_controls=False)
    definition = Definition(name="version", command=("--version",))
    with open_bench(stub_server(), parent=tmp_path) as bench:
        counting = InstructionCounting(directory=bench.root / "instructions", find=lambda: counter)
        sides = dict.fromkeys(Side, client)
        last = list(run_gate(bench, (definition,), sides, rules, None, now=monotonic, counting=counting))[-1]
    assert last.warnings == counter.warnings
    (row,) = (row for row in decide_rows(last.cells, policy).rows if row.metric == "instructions")
    assert (row.verdict, row.pairs) == (Verdict.PASS, 2)
    assert row.baseline is not None
    assert row.baseline > 10_000


def test_nothing_is_overwritten_unasked(s3bench: Run, define: Define, tmp_path: Path) -> None:
    for option in ("-o", "--junit", "--comment"):
        path = tmp_path / "precious"
        path.write_text("precious")
        finished = s3bench("gate", "--baseline", "s5cmd", "--candidate", "s5cmd", option, path, define(UPLOAD))
        assert finished.code == 2
        assert path.read_text() == "precious"
