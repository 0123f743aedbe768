"""The text table: complete, aligned, and readable without color."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from s3bench.report.run.text import render_table, result_line
from s3bench.results.document import Client, Document, Result, Status
from s3bench.results.measurement import Failure, Measurement, UsageFacts, measure
from tests.report.machine_samples import upload_facts

GOLDEN = Path(__file__).parents[1] / "table.txt"

EMPTY = Document(s3bench="0.1.0", started_at="2026-11-21T00:00:00.000Z")
CRT = Client(name="cli-crt", version="2.38.5", label="cli-crt@2.38.5")
S5CMD = Client(name="s5cmd", version="2.3.0", label="s5cmd@2.3.0")


def measurement(total_s: float, *, peak: int = 80 << 20, requests: int = 5, engine: str = "crt") -> Measurement:
    wire = upload_facts(
        requests=requests,
        first_request_s=0.1,
        last_response_s=0.2,
        engine=engine,
        server_cpu_s=total_s * 0.8 if total_s > 1 else 0.0,
    )
    usage = UsageFacts(user_cpu_s=total_s, system_cpu_s=0.01, peak_memory_bytes=peak)
    return measure(iteration=0, total_s=total_s, usage=usage, wire=wire)


def document() -> Document:
    upload = Result(
        name="s3.cp.upload",
        dimensions=({"FileSize": "32MB"}, {"S3TransferClient": "CRT"}),
        client=CRT,
        status=Status.COMPLETE,
        measurements=tuple(measurement(total_s) for total_s in (0.250, 0.300, 0.900)),
    )
    mixed = Result(
        name="s3.cp.upload",
        client=S5CMD,
        measurements=(measurement(2.0, engine="go"), measurement(2.5, requests=7, engine="other")),
        errors=(
            Failure(iteration=2, what="the client failed", exit_code=1, why="ERROR\n\x1b[31mno such\tbucket"),
            Failure(iteration=3, what="a response is left over", request="PUT /bucket/key"),
        ),
        status=Status.FAILED,
    )
    bare = Result(name="startup.version", client=CRT, measurements=(measure(iteration=0, total_s=0.0123),))
    never = Result(name="s3.rm", client=CRT)
    whole = EMPTY.with_warnings(["the machine is busy"])
    for result in (upload, mixed, bare, never):
        whole = whole.with_result(result)
    return whole


def test_the_table_is_the_golden_one(assert_golden: Callable[[str, str], None]) -> None:
    assert_golden("table.txt", render_table(document(), width=150, color=False))


def test_color_adds_nothing_but_color() -> None:
    colored = render_table(document(), width=150, color=True)
    assert "\x1b[31m" in colored
    plain = "".join(part.partition("m")[2] if index else part for index, part in enumerate(colored.split("\x1b[")))
    assert [line.rstrip() for line in plain.splitlines()] == GOLDEN.read_text(encoding="utf-8").splitlines()


def test_what_a_client_wrote_cannot_paint_the_terminal() -> None:
    failure = Failure(iteration=0, what="x", why="\x1b[2Jgone\r[red]not markup[/red]\u202e")
    text = render_table(EMPTY.with_result(Result(name="n", client=CRT, errors=(failure,))), width=100, color=False)
    assert "[2Jgone [red]not markup[/red]" in text
    assert not {"\x1b", "\r", "\u202e"} & set(text)


@pytest.mark.parametrize("width", [80, 103])
def test_a_narrow_terminal_loses_spreads_and_throughput_but_cuts_no_figure(width: int) -> None:
    text = render_table(document(), width=width, color=False)
    assert "…" not in text
    assert "±" not in text
    for figure in (" 300 ms ", " 80.0 MiB ", " 5 to 7 ", "S3TransferClient=CRT", "unfinished"):
        assert figure in text


def test_a_terminal_of_80_columns_holds_the_table() -> None:
    table, _, _ = render_table(document(), width=80, color=False).partition("warning:")
    assert max(map(len, table.splitlines())) <= 80


def test_an_empty_document_says_so() -> None:
    assert render_table(EMPTY, width=80, color=False) == "no results\n"


def test_a_single_iteration_shows_no_spread() -> None:
    one = Result(name="n", client=CRT, measurements=(measurement(0.5),))
    assert "500 ms ±" not in render_table(EMPTY.with_result(one), width=150, color=False)
    two = msgspec.structs.replace(one, measurements=(measurement(0.5), measurement(0.5)))
    assert "500 ms ±" in render_table(EMPTY.with_result(two), width=150, color=False)


def test_a_result_is_told_in_one_line() -> None:
    good, bad, *_ = document().results
    assert result_line(good) == (
        "s3.cp.upload FileSize=32MB S3TransferClient=CRT on cli-crt@2.38.5: 300 ms ±17% total time, n=3"
    )
    assert result_line(bad) == "s3.cp.upload on s5cmd@2.3.0: 2 failed: the client failed: [31mno such bucket"


@pytest.mark.parametrize(
    ("why", "told"),
    [
        ("", "1 failed: exited 1"),
        ("aws: [ERROR]: no credentials\n", "1 failed: exited 1: aws: [ERROR]: no credentials"),
        ('Traceback (most recent call last):\n  File "x.py"\nOSError: no\n', "1 failed: exited 1: OSError: no"),
        ("e" * 300, "1 failed: exited 1: " + "e" * 191 + "~f90dbddc"),
    ],
)
def test_a_failed_result_is_told_with_the_last_line_of_its_reason(why: str, told: str) -> None:
    failed = Result(name="n", client=CRT, errors=(Failure(iteration=0, what="exited 1", exit_code=1, why=why),))
    assert result_line(failed) == f"n on cli-crt@2.38.5: {told}"
    warm_up = msgspec.structs.replace(failed, errors=(msgspec.structs.replace(failed.errors[0], iteration=None),))
    assert result_line(warm_up) == f"n on cli-crt@2.38.5: {told.removeprefix('1 ')}"


def test_warnings_that_were_printed_at_the_start_are_counted() -> None:
    warned = EMPTY.with_warnings(("the machine is busy", "no turbo"))
    text = render_table(warned, width=100, color=False, said=("the machine is busy",))
    assert text.endswith("warning: no turbo\nwarning: 1 more was printed at the start\n")
    assert render_table(warned, width=100, color=False).count("warning: ") == 2


def test_a_run_that_was_cut_short_says_so_even_if_all_its_results_are_complete() -> None:
    whole = msgspec.structs.replace(document(), ended_at="2026-11-21T00:10:00.000Z", options={"warmup": 0})
    killed = msgspec.structs.replace(whole, ended_at=None)
    note = "\nwarning: the run is not complete: it ended early, or is still running\n"
    assert note in render_table(killed, width=150, color=False)
    assert note not in render_table(whole, width=150, color=False)
