"""Tables for a pull request."""

from collections.abc import Callable

from msgspec.structs import replace

from s3bench.report.run.markdown import render_markdown
from tests.compare.documents import document
from tests.report import loads
from tests.report.run.test_text import document as mixed_document
from tests.report.runs import HOSTILE, hostile, two_clients, with_failures


def test_the_tables_are_the_golden_ones(assert_golden: Callable[[str, str], None]) -> None:
    assert_golden("run_markdown.md", render_markdown(mixed_document()))
    assert_golden("run_markdown_load.md", render_markdown(loads.everything()))


def test_a_benchmark_has_one_table_with_its_results_below_each_other() -> None:
    text = render_markdown(two_clients())
    assert text.count("### `s3.cp.download`") == text.count("| dimensions |") == 1
    assert "| FileSize=32MB | cli-crt | 6 | 525 ms (500 ms to 550 ms) | " in text
    assert "|  | s5cmd | 6 | 262 ms (250 ms to 275 ms) | " in text


def test_below_six_iterations_there_is_no_interval() -> None:
    tables, _, _ = render_markdown(mixed_document()).partition("Medians")
    assert "| 300 ms | 310 ms |" in tables
    assert "(" not in tables


def test_failures_and_doubts_are_folded_away_below() -> None:
    text = render_markdown(with_failures())
    tables, _, folded = text.partition("<details>")
    assert "| **1 failed** |" in tables
    assert "|  | cli-crt | 0 | **unfinished** |" in tables
    assert "iteration 6: the client failed (exit code 1); request PUT /b/k: no such bucket" in folded
    assert "the machine is busy" in folded


def test_the_latency_of_an_open_loop_counts_from_the_plan() -> None:
    (row,) = (line for line in render_markdown(loads.everything()).splitlines() if line.startswith("| rate="))
    assert "| 500 ms | 1.00 s | 500 us |" in row


def test_an_empty_document_says_so() -> None:
    assert "no results" in render_markdown(document())


def test_hostile_texts_are_shown_and_do_nothing() -> None:
    text = render_markdown(hostile())
    assert "</script>" not in text
    assert text.replace("\n", "").isprintable()
    assert len(text) < 20_000
    assert HOSTILE not in text
    for line in text.splitlines():
        assert line.count("|") == (10 if line.startswith("|") else 0)


def test_a_run_that_was_cut_short_says_so_above_its_tables() -> None:
    note = "**the run is not complete: it ended early, or is still running**"
    text = render_markdown(replace(two_clients(), ended_at=None))
    assert text.index(note) < text.index("###")
    assert note not in render_markdown(two_clients())
