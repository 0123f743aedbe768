"""`s3bench load` as users start it: against the S3 in memory, and with the options of the tools that it replaces."""

import csv
import json
import os
import pty
import re
import select
import shlex
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from s3bench.clients.environment import FAKE_CREDENTIALS
from s3bench.load.session.bucket import LiveBucket
from s3bench.results.document import parse_document
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.s3.network.model import parse_network
from s3bench.system.processes import cores_allowed
from tests.e2e.conftest import COMMAND, Emulators, Finished
from tests.forkserver import ForkServer
from tests.load.phases import Scripted, request_on, response

DATA = Path(__file__).parents[1] / "load" / "data"
BUCKET = "s3-benchmark"
_LIMIT_S = 120.0


@pytest.fixture
def endpoint(emulators: Emulators) -> Iterator[EmulatorEndpoint]:
    """An S3 that takes its time, so that a second of load is not as much as a core can do."""
    settings = EmulatorSettings(buckets=(BUCKET,))
    with emulators.armed(tls=False, settings=settings) as emulator:
        emulator.arm(settings, network=parse_network("ttfb=10ms"))
        yield emulator


@pytest.mark.campaign  # how many there can be: tests/load/session/test_capacity.py; the error: tests/cli/load
def test_too_few_descriptors_are_told_before_anything_is_sent(environment: dict[str, str]) -> None:
    arguments = shlex.join([*COMMAND, "load", "--workers", "2", "-t", "100", "--operation", "get", "-d", "1s"])
    ended = subprocess.run(
        ["/bin/sh", "-c", f"ulimit -n 64; exec {arguments}"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "100 threads need more connections than the S3 in memory can have" in ended.stderr
    assert "ulimit -n" in ended.stderr


def keys_in(endpoint: EmulatorEndpoint, directory: Path) -> str:
    """The bucket's keys, a line each."""
    listing = directory / "listing"
    LiveBucket.at(endpoint.url, BUCKET, credentials=FAKE_CREDENTIALS).write_key_file("", listing, keys_max=10)
    return listing.read_text(encoding="utf-8")


def where(endpoint: EmulatorEndpoint) -> tuple[str, ...]:
    """The options of the s3-benchmark tools that say where."""
    keys = FAKE_CREDENTIALS
    return ("-a", keys.access_key, "-s", keys.secret_key, "-b", BUCKET, "-u", endpoint.url)


def loads(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [measurement["load"] for result in document["results"] for measurement in result["measurements"]]


def dimensions_of(result: dict[str, Any]) -> dict[str, str]:
    return {name: text for each in result["dimensions"] for name, text in each.items()}


def lines_of(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV file."""
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


# Without an endpoint.


def test_alone_it_is_a_demonstration_whose_document_and_files_agree(
    s3bench: Callable[..., Finished], workspaces: Path, tmp_path: Path
) -> None:
    files = ("--csv", "seconds.csv", "--trace", "trace.csv")
    small = ("--size", "64KiB", "--objects", "50", "--workers", "2", "--network", "ttfb=10ms")
    finished = s3bench("load", "--duration", "500ms", *small, *files)
    assert finished.code == 0, finished.err
    parse_document(finished.out.encode(), source="stdout")
    assert list(workspaces.iterdir()) == []
    wholes = {load["kind"]: load for load in loads(finished.document) if load["seconds"]}
    assert set(wholes) == {"put", "get", "all"}
    assert "phase 3 of 3: mixed" in finished.err
    rows = lines_of(tmp_path / "seconds.csv")
    told = [(row["phase"], row["second"], row["kind"]) for row in rows]
    assert len(set(told)) == len(told), "no second comes twice"
    traced = lines_of(tmp_path / "trace.csv")
    assert {line["worker"] for line in traced} == {"0", "1"}
    for phase, load in zip(("put", "get", "mixed"), wholes.values(), strict=True):
        of_phase = [row for row in rows if row["phase"] == phase]
        assert sum(int(row["operations"]) for row in of_phase if row["kind"] == load["kind"]) == load["operations"]
        assert sum(line["phase"] == phase and line["outcome"] == "200" for line in traced) == load["operations"]


OnTerminal = Callable[..., str]


@pytest.fixture
def on_terminal(fork_server: ForkServer, environment: dict[str, str], tmp_path: Path) -> OnTerminal:
    """What `s3bench load` shows on a terminal; it must end well."""

    def run(*options: str) -> str:
        controller, terminal = pty.openpty()
        variables = {**environment, "TERM": "xterm", "COLUMNS": "120"}
        with fork_server.start(("load", *options), cwd=tmp_path, env=variables, terminal=terminal) as command:
            os.close(terminal)
            shown = b""
            with suppress(OSError):  # Linux tells the other side's end so
                while select.select((controller,), (), (), _LIMIT_S)[0] and (piece := os.read(controller, 65536)):
                    shown += piece
            os.close(controller)
            assert command.wait(_LIMIT_S) == 0, shown
        return shown.decode()

    return run


SMALL = ("--operation", "get", "--objects", "20", "--size", "16KiB", "--operations", "200")
CLEARED = "\x1b[2K"
"""What erases a line of the live view."""


def test_on_a_terminal_it_shows_how_the_run_stands_and_then_a_table(on_terminal: OnTerminal) -> None:
    view, _, rest = on_terminal(*SMALL).rpartition(CLEARED)
    assert "in flight  client CPU" in view
    assert re.search(r"kind +ops +rate/s +throughput", rest)
    assert re.search(r"get +[\d,]+ +[\d,]+ ", rest)
    assert "the results were not saved; use -o FILE" in rest


@pytest.mark.parametrize(("form", "line"), [("lines", "Loop [12]: GET time"), ("s4", "[0-9/: ]+queued/read:")])
def test_lines_of_other_tools_stand_above_the_live_view(on_terminal: OnTerminal, form: str, line: str) -> None:
    shown = on_terminal(*SMALL, "--format", form, "--loops", "2")
    before = [shown[: found.start()] for found in re.finditer(line, shown)]
    assert len(before) >= 2
    assert all(text.endswith((CLEARED, "\n")) for text in before)


# Outcomes.


def test_failures_beyond_what_is_allowed_end_with_1_and_are_all_told(load: Callable[..., Finished]) -> None:
    options = ("--operation", "put", "--size", "1KiB", "--operations", "300", "--network", "errors=0.2,seed=1")
    result = load(*options, "-o", "results.json")
    assert result.code == 1
    [found] = loads(json.loads(Path("results.json").read_text(encoding="utf-8")))
    [failures] = found["failures"]
    assert failures["label"] == "500 InternalError"
    assert (failures["count"], found["operations"]) == (found["failed"], 300 - found["failed"])
    assert 30 < found["failed"] < 90
    allowed = load(*options, "-o", "results.json", "--force", "--max-error-rate", "50%")
    assert allowed.code == 0


def test_loops_and_rates_are_kept(load: Callable[..., Finished]) -> None:
    pace = ("--rate", "200", "--arrivals", "constant", "--loops", "2", "--duration", "1")
    result = load("--mix", "head=1,get=1", "--objects", "20", "--size", "1KiB", *pace, "--json")
    assert result.code == 0
    document = result.document
    whole = next(each for each in document["results"] if each["name"] == "load.all")
    assert [each["iteration"] for each in whole["measurements"]] == [0, 1]
    for each in whole["measurements"]:
        assert each["load"]["rate_planned"] == 200.0
        assert 195 <= each["load"]["operations"] <= 200
        assert each["load"]["response"]["count"] == each["load"]["operations"]


def test_a_matrix_has_a_cell_for_every_size_and_number_of_threads(
    load: Callable[..., Finished], s3bench: Callable[..., Finished], tmp_path: Path
) -> None:
    result = load("--matrix-sizes", "1KiB-2KiB", "--matrix-threads", "1,2", "--matrix-samples", "40", "-o", "a.json")
    assert result.code == 0
    document = json.loads(Path("a.json").read_text(encoding="utf-8"))
    dimensions = [dimensions_of(result) for result in document["results"]]
    cells = [(each["size"], each["threads"]) for each in dimensions if "purpose" not in each]
    assert cells == [("1 KiB", "1"), ("1 KiB", "2"), ("2 KiB", "1"), ("2 KiB", "2")]
    assert all(load["operations"] == 40 for load in loads(document) if load["kind"] == "get")
    same = s3bench("compare", tmp_path / "a.json", tmp_path / "a.json")
    assert same.code == 0, same.err
    assert same.out.startswith("no difference")


# The tools it replaces.


def shape(line: str) -> str:
    """A line without its figures."""
    return re.sub(r"\d+(\.\d+)?", "0", line)


def test_the_command_line_of_s3_benchmark_gives_its_lines(
    load: Callable[..., Finished], endpoint: EmulatorEndpoint, tmp_path: Path
) -> None:
    result = load(*where(endpoint), "-t", "2", "-d", "1", "-l", "1", "-z", "64K")
    assert result.code == 0, result.err
    theirs = (DATA / "s3_benchmark_run.txt").read_text(encoding="utf-8").splitlines()[2:]
    ours = result.out.splitlines()
    assert ours[1] == f"Parameters: url={endpoint.url}, bucket={BUCKET}, duration=1, threads=2, loops=1, size=64K"
    assert [shape(line) for line in (ours[0], *ours[2:])] == [shape(line) for line in (theirs[0], *theirs[2:])]
    assert keys_in(endpoint, tmp_path) == ""


def test_a_configuration_of_s4_runs_as_it_stands_and_prints_its_lines(
    load: Callable[..., Finished], endpoint: EmulatorEndpoint, tmp_path: Path
) -> None:
    text = (DATA / "s4.yaml").read_text(encoding="utf-8")
    small = text.replace("iterations: 100", "iterations: 2").replace("read_range_max: 100", "read_range_max: 3")
    Path("s4.yaml").write_text(small, encoding="utf-8")
    keys = FAKE_CREDENTIALS
    result = load("s4.yaml", "--endpoint-url", endpoint.url, "-b", BUCKET, "-a", keys.access_key, "-s", keys.secret_key,
                  "--format", "s4")  # fmt: skip
    assert result.code == 0, result.err
    config, *seconds, elapsed, total = [line for line in result.out.splitlines() if line][1:]
    jobs = "[{job1 1mib 10 2} {job2 4mib 10 2}]"
    assert config == f"{{{endpoint.url} false {BUCKET} 3 false {jobs} {jobs}}}"
    assert seconds != []
    assert all("queued/read:" in line and "queued/write:" in line and "byte/s:" in line for line in seconds)
    assert "Elapsed time in seconds: " in elapsed
    assert "Total OPS: 80, operations per second: " in total
    assert keys_in(endpoint, tmp_path) == ""


# What takes longer.


@pytest.mark.campaign
def test_calibration_tells_what_this_machine_can_do_at_most(load: Callable[..., Finished]) -> None:
    result = load("--operation", "get", "--objects", "50", "--size", "1KiB", "--duration", "2", "--calibrate", "--json")
    assert result.code == 0
    [found] = loads(result.document)
    assert found["ceiling"] > 100


@pytest.mark.campaign
@pytest.mark.timeout(300)
def test_a_promise_is_searched_until_it_breaks(load: Callable[..., Finished]) -> None:
    model = "ttfb=5ms,bandwidth=1MB/s"
    result = load("--operation", "get", "--objects", "50", "--size", "1KiB", "--threads", "4", "--duration", "2",
                  "--network", model, "--slo", "p90<50ms,errors<1%", "--json")  # fmt: skip
    assert result.code == 0
    document = result.document
    rates = [dimensions_of(result)["rate"] for result in document["results"]]
    assert len(rates) >= 4
    assert all(rate.endswith("/s") for rate in rates)
    assert "held" in document["options"]["found"]["words"]


@pytest.mark.campaign
def test_a_phase_ends_when_its_throughput_has_settled(load: Callable[..., Finished]) -> None:
    model = "ttfb=20ms"
    result = load("--operation", "get", "--objects", "50", "--size", "1KiB", "--threads", "2", "--duration", "45",
                  "--network", model, "--stable", "--json")  # fmt: skip
    assert result.code == 0
    [found] = loads(result.document)
    assert 10 <= len(found["seconds"]) < 45


def test_half_of_the_cores_are_left_to_a_server_on_this_machine(
    load: Callable[..., Finished], endpoint: EmulatorEndpoint
) -> None:
    cores = cores_allowed() or 1
    options = ("--operation", "put", "-z", "1KiB", "--operations", str(cores), "-t", str(cores), "--json")
    result = load(*where(endpoint), *options)
    assert result.code == 0, result.err
    assert result.document["options"]["workers"] == max(1, cores // 2)


def test_two_runs_are_merged_as_loops_or_as_one_load_by_the_times_at_which_they_were(
    s3bench: Callable[..., Finished], endpoint: EmulatorEndpoint, tmp_path: Path
) -> None:
    for name in ("a.json", "b.json"):
        options = ("--operation", "put", "-d", "500ms", "-t", "2", "-z", "4KiB", "--workers", "1", "-q", "-o", name)
        assert s3bench("load", *where(endpoint), *options).code == 0
    merged = s3bench("load", "merge", "a.json", "b.json")
    assert merged.code == 0, merged.err
    assert merged.document["options"]["merged"]["arrangement"] == "sequential"
    first, second = loads(merged.document)
    assert [first["operations"] > 0, second["operations"] > 0] == [True, True]
    later = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))
    earlier = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    later["started_at"] = earlier["started_at"]
    later["results"][0]["measurements"][0]["started_at"] = earlier["results"][0]["measurements"][0]["started_at"]
    (tmp_path / "b.json").write_text(json.dumps(later), encoding="utf-8")
    assert s3bench("load", "merge", "a.json", "b.json", "-o", "both.json").code == 0
    both = parse_document((tmp_path / "both.json").read_bytes(), source="both.json")
    [load] = [loop.load for result in both.results for loop in result.loops]
    assert load.operations == load.latency.count == first["operations"] + second["operations"]
    refused = s3bench("load", "merge", "a.json", "b.json", "-o", "both.json")
    assert (refused.code, "both.json exists" in refused.err) == (2, True)


# Runs that go wrong.


def answering_all_but_puts(sock: socket.socket, _: int) -> None:
    """Serve an empty bucket, and never answer a PUT."""
    while True:
        request = request_on(sock)
        if request.startswith(b"PUT"):
            while sock.recv(65536):
                pass
            return
        root = b"ListMultipartUploadsResult" if b"?uploads" in request else b"ListBucketResult"
        body = b"" if request.startswith(b"HEAD") else b"<%s><IsTruncated>false</IsTruncated></%s>" % (root, root)
        sock.sendall(response(body))


@pytest.mark.parametrize("rate", [(), ("--rate", "20")])
def test_a_server_that_takes_requests_and_answers_none_is_no_success(
    load: Callable[..., Finished], rate: tuple[str, ...]
) -> None:
    with Scripted(answering_all_but_puts) as server:
        keys = ("-a", FAKE_CREDENTIALS.access_key, "-s", FAKE_CREDENTIALS.secret_key)
        live = ("--endpoint-url", f"http://127.0.0.1:{server.port}", "-b", BUCKET, *keys)
        short = ("-t", "2", "-d", "500ms", "--idle-timeout", "1s", "--workers", "1", "-q")
        result = load(*live, "--operation", "put", "-z", "1KiB", *short, *rate)
    assert result.code == 1, result.err
    assert "put: no operation ended in the 0.5 s that were measured" in result.err


def test_a_worker_that_is_killed_leaves_its_loop_and_a_warning_in_the_document(
    fork_server: ForkServer, environment: dict[str, str], endpoint: EmulatorEndpoint, tmp_path: Path
) -> None:
    options = ("--operation", "put", "-z", "1KiB", "-t", "4", "--workers", "2", "--loops", "4", "-o", "results.json")
    arguments = ("load", *where(endpoint), *options, "--stable", "-d", "60s")
    with fork_server.start(arguments, cwd=tmp_path, env=environment) as process:
        while b" of 60 s" not in process.stderr.readline():
            pass
        psutil.Process(process.pid).children()[0].kill()
        assert process.wait(_LIMIT_S) == 4
        said = process.stderr.read().decode()
    document = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    [result] = document["results"]
    assert len(result["measurements"]) == 1
    assert result["measurements"][0]["load"]["operations"] > 0
    assert result["status"] == "failed"
    assert "ended with exit code -9" in result["errors"][0]["what"]
    early = "the run ended early, with 0 of 4 phases complete: put: "
    assert any(warning.startswith(early) and "exit code -9" in warning for warning in document["warnings"])
    assert said.count("s3bench: put: the phase ended early: load worker") == 1
    assert keys_in(endpoint, tmp_path) == ""


def test_runs_that_reuse_the_same_objects_write_none_of_the_same_keys(
    load: Callable[..., Finished], endpoint: EmulatorEndpoint, tmp_path: Path
) -> None:
    small = ("-z", "1KiB", "-t", "2", "--operations", "20")
    kept = load(*where(endpoint), *small, "--operation", "get", "--objects", "5", "--keep", "--json")
    assert kept.code == 0, kept.err
    former, data_set = kept.document["options"]["run"], keys_in(endpoint, tmp_path)
    mix = ("--mix", "get=1,put=1,copy=1,multipart=1,delete=1", "--part-size", "5MiB", "--reuse", former)
    written: list[set[str]] = []
    for trace in ("a.csv", "b.csv"):
        again = load(*where(endpoint), *small, *mix, "--trace", trace, "--json")
        assert again.code == 0, again.err
        assert keys_in(endpoint, tmp_path) == data_set
        lines = lines_of(tmp_path / trace)
        assert {line["outcome"] for line in lines} <= {"200", "204"}
        written.append(
            {line["key"] for line in lines if line["kind"] not in {"get", "copy"}}
        )  # a copy has its source's
        ours = f"s3bench/{again.document['options']['run']}/"
        assert [key for key in written[-1] if not key.startswith(ours)] == []
    assert written[0].isdisjoint(written[1])
