"""The end of a load run: complete, fitted to the width, readable without color, and honest about doubt."""

import re
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from s3bench.report.load.text import render_load
from s3bench.results.document import Status
from s3bench.results.measurement import Failure
from tests.report.loads import EMPTY, document, everything, failures, latency, load, loop, result, second

Golden = Callable[[str, str], None]


@pytest.mark.parametrize("width", [80, 140])
def test_the_table_is_the_golden_one(assert_golden: Golden, width: int) -> None:
    assert_golden(f"load_table_{width}.txt", render_load(everything(), width=width, color=False))


def test_color_adds_nothing_but_color() -> None:
    colored = render_load(everything(), width=140, color=True)
    assert "\x1b[31m" in colored
    plain = re.sub(r"\x1b\[[0-9]+m", "", colored)
    assert [line.rstrip() for line in plain.splitlines()] == render_load(
        everything(), width=140, color=False
    ).splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_columns_are_left_out_and_no_figure_is_cut(width: int) -> None:
    text = render_load(everything(), width=width, color=False)
    assert "…" not in text
    for figure in (" 61,728 ", " 241 MiB/s ", " 1.00 ms ", " 180 ms "):
        assert figure in text
    table = [line for line in text.splitlines() if line.startswith(("  kind", "  get  ", "  put  ", "  all  "))]
    assert len(table) == 5
    if width >= 80:
        assert max(map(len, table)) <= width
    assert ("p99.9" in table[0]) == (width >= 80)
    assert ("Gbit/s" in table[0]) == (width >= 140)


@pytest.mark.parametrize("width", [80, 140])
def test_the_rate_of_each_second_is_a_line_of_bars_and_a_stall_a_gap(width: int) -> None:
    line = history_line([1000, 1000, 500, 0, 1000, 1000], window_s=6.0, width=width)
    assert line == "  ██▄ ██  each second: 0.00 to 1,000 operations/s"


@pytest.mark.parametrize(
    ("counts", "window_s"),
    [
        ([9000, 9000, 1000, 1000, 500, 1000, 1000], 5.0),
        ([9000, 9000, 1000, 1000, 500, 1000, 1000, 30], 5.03),
        ([9000, 9000, 1000, 1000, 500, 1000, 1000], 4.999),
        ([1000, 1000, 500, 1000, 1000, 700], 5.7),
    ],
)
def test_the_line_of_bars_has_the_whole_seconds_after_the_warm_up(counts: list[int], window_s: float) -> None:
    line = history_line(counts, window_s=window_s)
    assert line == "  ██▄██  each second: 500 to 1,000 operations/s"


def history_line(counts: list[int], *, window_s: float, width: int = 80) -> str:
    """The line of bars of a phase whose seconds had so many operations, and whose last `window_s` were measured."""
    seconds = tuple(second(number, operations=count) for number, count in enumerate(counts))
    measured = replace(loop(load(seconds=seconds)), total_time=window_s)
    whole = replace(result("load.get"), measurements=(measured,))
    text = render_load(document(whole), width=width, color=False)
    return next(line for line in text.splitlines() if "█" in line)


def test_a_long_run_has_as_many_bars_as_fit_each_the_mean_of_its_seconds() -> None:
    seconds = tuple(second(number, operations=1000 + number % 2 * 200) for number in range(200))
    measured = replace(loop(load(seconds=seconds)), total_time=200.0)
    text = render_load(document(replace(result("load.get"), measurements=(measured,))), width=80, color=False)
    line = next(line for line in text.splitlines() if "each" in line)
    assert len(line) <= 80
    assert line.endswith("each 9 seconds: 1,089 to 1,111 operations/s")


def test_a_run_of_a_few_seconds_has_no_bars() -> None:
    seconds = tuple(second(number) for number in range(4))
    assert "█" not in render_load(document(result("load.get", load(seconds=seconds))), width=80, color=False)


def test_no_results_are_said() -> None:
    assert render_load(EMPTY, width=80, color=False) == "no results\n"


def test_what_is_not_of_a_load_run_is_left_out() -> None:
    assert render_load(document(result("s3.cp.upload")), width=80, color=False) == "no results\n"


def test_percentiles_that_too_few_operations_carry_are_no_figures() -> None:
    text = render_load(document(result("load.get", load(operations=30))), width=140, color=False)
    row = next(line for line in text.splitlines() if line.startswith("  get "))
    assert " ".join(row.split()) == "get 30 3.00 12.0 KiB/s 1.00 ms - - - 10.0 ms 500 us - 0"


def test_a_run_without_any_success_shows_its_failures_and_no_figures() -> None:
    nothing = load(operations=0, failed=90, failures=(failures("connection refused", 90),))
    text = render_load(document(result("load.get", nothing)), width=80, color=False)
    row = next(line for line in text.splitlines() if line.startswith("  get "))
    label, ops, rate, *nothing_known, errors = row.split()
    assert (label, ops, rate, errors) == ("get", "0", "0.00", "90")
    assert set(nothing_known) == {"-"}
    assert "failed: get: 90 of 90 operations (100 %)" in text
    assert "failure: get: connection refused: 90 attempts, 9.00 s lost" in text


def test_phases_that_nothing_tells_apart_keep_their_notes() -> None:
    parts = [load(kind, in_flight=None) for kind in ("get", "put")]
    mixed = [load("all", stalls=(1,)), *parts]
    results = [result(f"load.{each.kind}", each) for each in (*mixed, load("delete", stalls=(2,)))]
    text = render_load(document(*results), width=80, color=False)
    assert "stalled: all: no operation succeeded in second 1\n" in text
    assert "stalled: delete: no operation succeeded in second 2\n" in text


def test_loops_are_medians_with_their_spread_and_failures_are_summed() -> None:
    loops = [
        load(operations=count, failed=1, failures=(failures("timeout", 2),), stalls=stalls)
        for count, stalls in ((1000, ()), (1100, (3,)), (9000, ()))
    ]
    text = render_load(document(result("load.get", *loops)), width=140, color=False)
    assert re.search(r"\n  get +11,100 +110 +±9.1%", text)
    assert "failure: get: timeout: 6 attempts, 600 ms lost" in text
    assert "stalled: get, loop 2: no operation succeeded in second 3\n" in text
    assert "of 3 loops" in text


def test_the_greatest_time_is_that_of_all_loops() -> None:
    loops = [load(p50_s=p50_s) for p50_s in (1e-3, 6.65e-3, 1e-3)]
    text = render_load(document(result("load.get", *loops)), width=140, color=False)
    row = next(line for line in text.splitlines() if line.startswith("  get "))
    assert " 66.5 ms " in row
    assert "\nmax: the greatest of all loops; ops, errors: of all together\n" in text


def test_gbit_has_a_column_where_any_rate_reaches_one() -> None:
    below = result("load.get", load(window_s=1.0, bytes_down=122_500_000))
    above = result("load.put", load("put", window_s=1.0, bytes_up=250_000_000))
    assert "Gbit/s" not in render_load(document(below), width=140, color=False)
    both = render_load(document(below, above), width=140, color=False)
    assert re.search(r" Gbit/s .*\n  get .* MiB/s +0\.98 .*\n  put .* MiB/s +2\.00 ", both)


def test_an_open_loop_counts_from_the_plan_and_shows_service_beside_it() -> None:
    text = render_load(
        document(result("load.get", load(response=latency(0.5), rate_planned=1000.0))), width=80, color=False
    )
    own, service = (line for line in text.splitlines() if line.startswith("  get "))
    assert " 500 ms" in own
    assert " 1.00 ms" in service
    assert "from the planned start" in text


def test_the_greatest_time_is_at_least_the_age_of_what_was_unfinished() -> None:
    held = load(response=latency(0.5), unfinished=1, oldest=8.0, oldest_attempt=7.5)
    text = render_load(document(result("load.get", held)), width=140, color=False)
    own, service = (line for line in text.splitlines() if line.startswith("  get "))
    assert ("≥8.00 s" in own, "≥7.50 s" in service) == (True, True)
    assert "≥: an operation unfinished at the end had taken this long" in text
    young = render_load(document(result("load.get", load(unfinished=1, oldest=1e-6))), width=140, color=False)
    assert "≥" not in young


def test_time_without_service_is_told_with_the_seconds() -> None:
    down = load(without_service=3.0, stalls=(3, 4, 5), unfinished=2, late=0, oldest=8.0)
    text = render_load(document(result("load.get", down)), width=140, color=False)
    assert "no service: get: no operation succeeded for 3.0 s of 10.0 s\n" in text
    assert "unfinished: get: 2 operations in flight at the end, the oldest for 8.00 s, 0 of them succeeded" in text


def test_without_any_success_the_time_without_service_is_of_the_measured_window() -> None:
    """Which is shorter than the seconds that are kept: these have the warm-up, too."""
    seconds = tuple(second(number, operations=0) for number in range(13))
    down = load(operations=0, failed=9, error_rate=1.0, without_service=9.0, seconds=seconds)
    text = render_load(document(result("load.get", down)), width=100, color=False)
    assert "no service: get: no operation succeeded for 9.0 s of 10.0 s\n" in text


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"slo": "p99<50ms", "found": {"words": "at most 90.0/s held"}}, "slo: p99<50ms: at most 90.0/s held"),
        ({"found": {"words": "at most 90.0/s held"}}, "slo: at most 90.0/s held"),
        ({"slo": "p99<50ms"}, None),
    ],
)
def test_what_the_slo_search_found_is_told(options: dict[str, object], line: str | None) -> None:
    text = render_load(replace(document(result("load.get", load())), options=options), width=100, color=False)
    assert [each for each in text.splitlines() if each.startswith("slo")] == ([line] if line else [])


def test_doubts_are_told_once_with_their_result() -> None:
    broken = "16.0 operations were in flight on average, but rate and latencies give 14.0 (Little's law)"
    one = result("load.get", load(), dimensions=[{"threads": "4"}], warnings=[broken])
    text = render_load(document(one), width=80, color=False)
    assert text.endswith(f"\nwarning: load.get threads=4: {broken}\n")
    both = render_load(document(one, result("load.get", load(), warnings=[broken])), width=80, color=False)
    assert both.endswith(f"\nwarning: 2 results: {broken}\n")


def test_a_result_whose_figures_were_refused_shows_why() -> None:
    refused = Failure(iteration=0, what="the figures contradict each other", why="Little's\nlaw")
    text = render_load(document(result("load.get", errors=(refused,))), width=80, color=False)
    assert text == "no results\nerror: load.get, loop 1: the figures contradict each other: Little's law\n"


def test_what_is_counted_over_all_kinds_alone_is_null_in_each() -> None:
    kinds = [load(kind, in_flight=None, unfinished=None, late=None, waiting_max=None) for kind in ("get", "put")]
    both = load("all", unfinished=1, late=0, waiting_max=1)
    text = render_load(
        document(*(result(f"load.{each.kind}", each) for each in (*kinds, both))),
        width=80,
        color=False,
    )
    waits = "unfinished: all: 1 operation in flight or waiting at the end, 0 of them succeeded afterwards"
    assert text.count(waits) == 1
    assert text.count("waited: all: up to 1 planned operation found no free thread") == 1


def test_the_legend_fits_eighty_columns() -> None:
    lines = render_load(everything(), width=80, color=False).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("rate, throughput: "))
    assert max(map(len, lines[start : start + 5])) <= 80


@pytest.mark.parametrize("bottleneck", ["client", "connections", "network", "server"])
def test_every_bottleneck_has_its_sentence(bottleneck: str) -> None:
    text = render_load(document(result("load.get", load(bottleneck=bottleneck))), width=80, color=False)
    assert re.search(rf"bottleneck: the {bottleneck}\b.* \(busiest worker: 42% of a core\)", text)


def test_what_a_server_wrote_cannot_paint_the_terminal() -> None:
    hostile = load(failures=(failures("503 \x1b[2J\n\u202e", 1),), failed=1, job="\x1b[31mjob\r")
    phase = result("name\x1b[0m", hostile, dimensions=[{"a": "\n"}], warnings=["\x07"])
    text = render_load(document(phase).with_warnings(["\x1b"]), width=80, color=False)
    assert text.replace("\n", "").isprintable()


def test_a_phase_that_was_interrupted_says_so() -> None:
    running = result("load.get", load(), status=Status.RUNNING)
    assert "\n(not complete)\n" in render_load(document(running), width=80, color=False)


@pytest.mark.parametrize("dimensions", [[], [{"size": "4KiB"}, {"threads": "4"}]])
def test_a_run_that_was_cut_short_says_so(dimensions: list[dict[str, str]]) -> None:
    whole = replace(
        document(result("load.get", load(), dimensions=dimensions)),
        ended_at="2026-11-21T00:10:00.000Z",
        options={"phases": []},
    )
    note = "warning: the run is not complete: it ended early, or is still running\n"
    assert note in render_load(replace(whole, ended_at=None), width=80, color=False)
    assert note not in render_load(whole, width=80, color=False)
