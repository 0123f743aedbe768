"""Go benchmark text: its lines by the format's rules, and that benchstat itself reads it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from s3bench.errors import BadInput
from s3bench.report.run.gobench import render_gobench
from s3bench.results.document import Document
from tests.compare.documents import client, document, result
from tests.report import loads
from tests.report.runs import hostile, two_clients, with_failures

BENCHSTAT = shutil.which("benchstat") or shutil.which(str(Path.home() / "go" / "bin" / "benchstat"))

needs_benchstat = pytest.mark.skipif(
    BENCHSTAT is None, reason="benchstat is not installed: go install golang.org/x/perf/cmd/benchstat@latest"
)

RESULT_LINE = re.compile(r"Benchmark(?P<name>\S+) (?P<count>\d+)(?P<values>( \S+ \S+)+)")
OTHER_LINE = re.compile(r"# .*|[a-z][a-z-]*: .+|Unit \S+ better=(lower|higher)")
LINE_BYTES_MAX = 64 << 10


def lines(whole: Document) -> list[tuple[str, int, dict[str, float]]]:
    """Name, count and values of each result line; every other line is one that readers know or skip."""
    found = []
    for line in render_gobench(whole).splitlines():
        assert len(line.encode()) < LINE_BYTES_MAX
        if (of_result := RESULT_LINE.fullmatch(line)) is None:
            assert OTHER_LINE.fullmatch(line), line
            continue
        words = of_result["values"].split()
        values = dict(zip(words[1::2], map(float, words[::2]), strict=True))
        found.append((of_result["name"], int(of_result["count"]), values))
    return found


def test_each_measurement_is_a_line() -> None:
    first, *_, last = found = lines(two_clients())
    assert len(found) == 12
    name, count, values = first
    assert (name, count) == ("S3.cp.download/FileSize=32MB/client=cli-crt", 1)
    assert values == {
        "ns/op": 500e6,
        "cpu-ns/op": 410e6,
        "first-call-ns/op": 100e6,
        "peak-memory-B": 80 << 20,
        "B/s": pytest.approx((32 << 20) / 0.5),
        "requests/op": 5,
    }
    assert last[0] == "S3.cp.download/client=s5cmd"


def test_the_machine_and_the_endpoint_are_configuration() -> None:
    text = render_gobench(two_clients())
    assert "\ncpu: Model 1\nendpoint: stub server\n" in text
    assert "\ncores:" not in text  # not known in this document
    assert "\nUnit B/s better=higher\n" in text
    assert "ops/s" not in text


def test_versions_are_comments_so_that_releases_can_be_compared() -> None:
    text = render_gobench(two_clients("2.39.0"))
    assert "# client cli-crt@2.39.0: 2.39.0\n" in text
    assert lines(two_clients("2.39.0")) == lines(two_clients())


def test_failures_are_comments() -> None:
    text = render_gobench(with_failures())
    assert "# BenchmarkS3.cp.download/client=cli-crt: 1 failed\n" in text
    assert "# BenchmarkS3.rm/client=cli-crt: 1 failed, unfinished\n" in text
    assert len(lines(with_failures())) == 6


def test_a_load_run_has_rates_and_latencies_over_its_operations() -> None:
    ((name, count, values),) = lines(loads.document(loads.result("load.get", loads.load(operations=300))))
    assert (name, count) == ("Load.get/client=s3bench", 300)
    assert values["ops/s"] == 30
    assert values["p50-latency-ns"] == 1e6
    assert not {"ns/op", "p99-latency-ns"} & set(values)  # 300 operations carry no 99th percentile


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("startup", "Startup/client=c"),
        ("4k get", "X_4k_get/client=c"),
        ("a/b", "A_b/client=c"),
        ("\u00fcber", "\u00dcber/client=c"),
        ("", "X_/client=c"),
    ],
)
def test_a_name_begins_with_an_upper_case_letter_and_has_no_space(name: str, written: str) -> None:
    ((found, _, _),) = lines(document(result((0.5,), name=name, of=client("c"))))
    assert found == written


def test_digits_at_the_end_are_not_taken_for_processors() -> None:
    ((name, _, _),) = lines(document(result((0.5,), name="n", of=client("aws-2"))))
    assert name == "N/client=aws_2"


def test_names_that_are_alike_are_numbered_as_go_does_it() -> None:
    both = document(result((0.5,), name="a b", of=client("c")), result((0.5,), name="a/b", of=client("c")))
    assert [name for name, _, _ in lines(both)] == ["A_b/client=c", "A_b/client=c#01"]


def test_hostile_texts_are_parts_of_names() -> None:
    assert len(lines(hostile())) == 18
    assert len({name for name, _, _ in lines(hostile())}) == 3
    assert render_gobench(hostile()).replace("\n", "").isprintable()


def test_a_document_without_figures_is_bad_input() -> None:
    with pytest.raises(BadInput, match="nothing to write as gobench"):
        render_gobench(document())


@needs_benchstat
def test_benchstat_compares_two_releases(tmp_path: Path) -> None:
    (tmp_path / "old").write_text(render_gobench(two_clients("1")), encoding="utf-8")
    (tmp_path / "new").write_text(render_gobench(two_clients("2", factor=1.2)), encoding="utf-8")
    said = benchstat(f"old={tmp_path / 'old'}", f"new={tmp_path / 'new'}")
    (row,) = (line for line in said.splitlines() if "cli-crt" in line and "630.0m" in line)
    words = " ".join(row.split())
    assert words == "S3.cp.download/FileSize=32MB/client=cli-crt 525.0m ± 5% 630.0m ± 5% +20.00% (p=0.002 n=6)"
    assert "80.00Mi ± 0%" in said


@needs_benchstat
def test_benchstat_compares_clients_by_the_name(tmp_path: Path) -> None:
    both = document(result(), result((0.4,) * 6, of=client("s5cmd")))
    (tmp_path / "both").write_text(render_gobench(both), encoding="utf-8")
    said = benchstat("-col", "/client", "-filter", ".unit:sec/op", str(tmp_path / "both"))
    assert "-23.81% (p=0.002 n=6)" in said


@needs_benchstat
@pytest.mark.parametrize("name", ["failures", "hostile", "load"])
def test_benchstat_finds_no_fault_with_it(name: str, tmp_path: Path) -> None:
    made = {"failures": with_failures(), "hostile": hostile(), "load": loads.everything()}
    (tmp_path / "made").write_text(render_gobench(made[name]), encoding="utf-8")
    assert benchstat(str(tmp_path / "made")).count("\n") > 3


def benchstat(*arguments: str) -> str:
    assert BENCHSTAT is not None
    finished = subprocess.run((BENCHSTAT, *arguments), capture_output=True, encoding="utf-8", timeout=200, check=False)
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout
