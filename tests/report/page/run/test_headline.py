"""The headline of a run: who is fastest, claimed only where intervals lie apart."""

from msgspec.structs import replace

from s3bench.report.page.run.benchmark import benchmarks_of
from s3bench.report.page.run.headline import run_headline
from s3bench.report.page.run.line import failure_lines
from s3bench.report.page.section import Headline
from s3bench.report.table import Tone
from s3bench.results.document import Result
from s3bench.results.measurement import Failure
from tests.compare.documents import BASE, client, document, result, slower
from tests.report.page.run_documents import classic_beside_crt


def headline(*results: Result) -> Headline:
    found = run_headline(benchmarks_of(document(*results)))
    assert found is not None
    return found


def on(of: str, factor: float, *, name: str = "s3.cp", runs: int = 6) -> Result:
    return result(slower(BASE[:runs], factor), name=name, of=client(of))


def test_one_client_that_is_fastest_everywhere_is_named_with_the_span_of_its_lead() -> None:
    names = (("a", 2.0), ("b", 3.0))
    both = [on(of, factor, name=name) for name, slow in names for of, factor in (("s5cmd", 1.0), ("rclone", slow))]
    found = headline(*both)
    assert found.text == "s5cmd is the fastest client on all 2 benchmarks, 2.0 to 3.0 times as fast as the next"
    assert found.remarks == (
        (
            "Median total time on a: s5cmd 525 ms (500 ms to 550 ms), rclone 1.05 s (1.00 s to 1.10 s). "
            "The 95 % intervals do not overlap."
        ),
    )


def test_a_lead_on_one_benchmark_is_claimed_for_that_one_alone() -> None:
    apart, alike = [on("s5cmd", 1.0), on("rclone", 3.1)], [on("s5cmd", 1.0, name="b"), on("rclone", 1.01, name="b")]
    found = headline(*apart, *alike)
    assert found.text == "s5cmd is 3.1 times as fast as rclone on s3.cp"
    assert found.remarks[0].endswith(" 2 clients may be the fastest on 1 benchmark.")
    third = [on("cli-crt", factor, name=name) for name, factor in (("b", 9.0), ("c", 1.0))]
    more = [on(of, 1.0, name="c") for of in ("s5cmd", "rclone")]
    assert (
        headline(*apart, *alike, *more, *third)
        .remarks[0]
        .endswith(" 2 to 3 clients may be the fastest on 2 benchmarks.")
    )


def test_clients_whose_intervals_overlap_are_not_ranked() -> None:
    assert headline(on("s5cmd", 1.0), on("rclone", 1.05)).text == "The fastest clients cannot be distinguished"


def test_of_fewer_than_six_runs_nothing_is_claimed() -> None:
    found = headline(on("s5cmd", 1.0, runs=5), on("rclone", 9.0, runs=5))
    assert found.text == "Too few runs to rank the clients"


def test_one_client_has_its_time() -> None:
    assert headline(on("s5cmd", 1.0)).text == "s3.cp takes s5cmd 525 ms (500 ms to 550 ms)"
    assert headline(on("s5cmd", 1.0), on("s5cmd", 2.0, name="b")).text == (
        "2 benchmarks of s5cmd: medians from 525 ms to 1.05 s"
    )


def test_failures_stand_before_the_answer() -> None:
    found = run_headline(benchmarks_of(classic_beside_crt()))
    assert found is not None
    assert (found.verdict, found.tone) == ("1 run failed", Tone.BAD)


def test_a_warm_up_that_failed_is_no_run_that_failed() -> None:
    failure = Failure(iteration=None, what="the client failed")
    benchmarks = benchmarks_of(document(replace(on("s5cmd", 1.0), errors=(failure,))))
    found = run_headline(benchmarks)
    assert found is not None
    assert (found.verdict, found.tone) == ("1 failure outside of the iterations", Tone.BAD)
    assert found.figures[-2:] == (("runs failed", "0"), ("failures outside of the iterations", "1"))
    (line,) = failure_lines(benchmarks[0].rows)
    assert line.text.endswith(" failed outside of the iterations: the client failed")


def test_without_a_time_there_is_no_answer_and_without_results_no_headline() -> None:
    assert headline(replace(on("s5cmd", 1.0), measurements=())).text == "No total time was measured"
    assert run_headline(()) is None


def test_a_client_is_the_fastest_only_if_no_interval_of_another_overlaps_its_own() -> None:
    wide = [0.501, *slower(BASE[1:], 4.0)]
    names = ("a", "b")
    others = [on(of, factor, name=name) for name in names for of, factor in (("s5cmd", 1.0), ("rclone", 2.0))]
    third = [result(wide, name=name, of=client("cli-crt")) for name in names]
    assert headline(*others).text.startswith("s5cmd is the fastest client on all 2 benchmarks")
    assert headline(*others, *third).text == "The fastest clients cannot be distinguished"
    assert headline(*others, third[0]).text == "s5cmd is 2.0 times as fast as rclone on b"


def test_a_client_of_too_few_runs_leaves_open_who_is_fastest() -> None:
    found = headline(on("s5cmd", 1.0), on("rclone", 2.0), on("cli-crt", 9.0, runs=5))
    assert found.text == "Too few runs to rank the clients"
