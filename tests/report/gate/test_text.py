"""A gate in the terminal: the verdict first, nothing cut, nothing that needs color."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from s3bench.gate.evidence import Role
from s3bench.gate.record import GateRecord
from s3bench.gate.row import Verdict
from s3bench.report.gate.digest import digest
from s3bench.report.gate.text import render_gate

_SENTENCE = re.compile(r"(controls|adjusted|the rest|all|waived|failure|changed|warning|replay|Bound): ")


def test_the_tables_are_the_golden_ones(
    gates: Mapping[str, GateRecord], assert_golden: Callable[[str, str], None]
) -> None:
    text = "".join(f"=== {name}\n{render_gate(gate, width=120, color=False)}\n" for name, gate in gates.items())
    assert_golden("gate_table.txt", text)


def test_all_rows_are_the_golden_ones(
    gates: Mapping[str, GateRecord], assert_golden: Callable[[str, str], None]
) -> None:
    names = ("fail by imports", "waived", "missing side")
    text = "".join(f"=== {name}\n{render_gate(gates[name], width=80, color=False, verbose=True)}\n" for name in names)
    assert_golden("gate_table_verbose.txt", text)


def test_the_gates_made_up_have_all_verdicts(gates: Mapping[str, GateRecord]) -> None:
    def verdict(name: str) -> Verdict:
        conclusion = gates[name].conclusion
        assert conclusion
        return conclusion.verdict

    assert {verdict(name) for name in gates} == set(Verdict)
    assert {name for name in gates if verdict(name) is Verdict.FAIL} == {
        *(
            "fail by size",
            "fail by memory",
            "fail by creep",
            "fail by requests",
            "fail by imports",
            "two documents",
            "adjusted",
            "not adjusted",
        )
    }
    assert verdict("small") is Verdict.SMALL
    assert verdict("waived") is Verdict.PASS


def test_the_first_line_is_the_verdict_and_the_next_ones_what_decided(gates: Mapping[str, GateRecord]) -> None:
    first, heading, benchmark, row, reason, *_ = render_gate(gates["fail by size"], width=120, color=False).splitlines()
    assert first == "FAIL: cli-crt@2.38.5 against cli-crt@2.36.0"
    assert heading.split()[1:] == [
        "metric",
        "bound",
        "medians",
        "change",
        "95",
        "%",
        "interval",
        "limits",
        "pairs",
        "detectable",
    ]
    assert benchmark == "s3.cp.upload FileSize=32MB"
    assert re.fullmatch(
        r"  FAIL +total_time +> \+\d+\.\d% +\d+ ms -> \d+ ms +\+\d+\.\d% slower +\+\d+\.\d% to \+\d+\.\d% +"
        r"2\.0%/6\.0% +20 +\+\d+\.\d%/\+\d+\.\d%",
        row,
    )
    assert reason.startswith("    at least +")


@pytest.mark.parametrize("name", ["pass", "small", "inconclusive", "fail by size", "two documents"])
def test_the_smallest_detectable_effect_is_told_whatever_the_verdict(
    gates: Mapping[str, GateRecord], name: str
) -> None:
    assert re.search(r"detectable: .*total_time from \+\d", render_gate(gates[name], width=120, color=False))


def test_an_exact_count_is_named(gates: Mapping[str, GateRecord]) -> None:
    assert "1 more: PUT (4 -> 5)" in render_gate(gates["fail by requests"], width=120, color=False)
    short = render_gate(gates["fail by imports"], width=120, color=False)
    assert "module_4" in short
    assert "module_6" not in short
    assert "module_6: 0 -> 1" in render_gate(gates["fail by imports"], width=120, color=False, verbose=True)


def test_verbose_shows_every_row(gates: Mapping[str, GateRecord]) -> None:
    for name in ("pass", "waived", "two documents", "invalid by the negative control"):
        gate, told = gates[name], digest(gates[name])
        lines = render_gate(gate, width=200, color=False, verbose=True).splitlines()
        shown = [line for line in lines if re.match(r"  (FAIL|INCONCLUSIVE|SMALL|PASS)[ ,]", line)]
        controls = [row for row in told.controls if row not in told.decided]
        assert len(shown) == len(told.decided) + len(told.waived) + len(told.rest) + len(controls)


def test_every_row_that_can_decide_is_in_one_part_alone(gates: Mapping[str, GateRecord]) -> None:
    for gate in gates.values():
        told = digest(gate)
        assert gate.conclusion
        parts = [row for row in (*told.decided, *told.waived, *told.rest) if row.decides]
        assert sorted(map(id, parts)) == sorted(id(row) for row in gate.conclusion.rows if row.decides)


def test_a_control_that_fails_is_what_decided(gates: Mapping[str, GateRecord]) -> None:
    negative = render_gate(gates["invalid by the negative control"], width=120, color=False)
    assert negative.splitlines()[1].startswith("  the baseline differs from itself: total_time of startup: ")
    assert negative.splitlines()[3] == "startup (negative control)"
    assert "all of it withdrawn" in negative
    positive = digest(gates["invalid by the positive control"])
    assert [row.role.value for row in positive.decided] == ["positive control"]


def test_where_no_delay_was_planted_the_controls_say_why(gates: Mapping[str, GateRecord]) -> None:
    gate = gates["pass"]
    why = "(10 pairs); no delay was planted: it would not show in peak_memory or cpu_time"
    memory_alone = replace(gate, policy=replace(gate.policy, metrics=("peak_memory", "cpu_time")))
    assert why not in render_gate(memory_alone.concluded(), width=200, color=False), "one was planted"
    undelayed = replace(memory_alone, cells=[each for each in gate.cells if each.role is not Role.POSITIVE_CONTROL])
    assert why in render_gate(undelayed.concluded(), width=200, color=False)
    counts_alone = replace(gate, policy=replace(gate.policy, metrics=()), cells=gate.cells[:1])
    assert "controls: none, because only counts decide" in render_gate(counts_alone.concluded(), width=120, color=False)


def test_the_same_reason_of_a_sound_control_does_not_decide(gates: Mapping[str, GateRecord]) -> None:
    gate = gates["invalid by the positive control"]
    assert gate.conclusion
    reasons = {(row.role, row.reason) for row in gate.conclusion.rows if row.metric == "total_time"}
    assert len({reason for role, reason in reasons if role.endswith("control")}) == 1, "the case is worth its name"
    assert len(digest(gate).decided) == 1


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("width", [1, 79, 80, 110])
def test_tables_are_never_wider_than_the_terminal(
    gates: Mapping[str, GateRecord], hostile: GateRecord, width: int, verbose: bool
) -> None:
    names = ("small", "fail by imports", "inconclusive", "missing side", "invalid by the negative control")
    for gate in (*(gates[name] for name in names), hostile):
        lines = render_gate(gate, width=width, color=False, verbose=verbose).splitlines()
        in_table = [line for line in lines if re.match(r"  (verdict|FAIL|INCONCLUSIVE|SMALL|PASS) |─", line)]
        assert all(len(line) <= width for line in in_table)
        assert not any("…" in line for line in lines)


def test_eighty_columns_hold_a_table_and_less_make_sentences(gates: Mapping[str, GateRecord]) -> None:
    table = render_gate(gates["fail by size"], width=80, color=False)
    assert "  verdict" in table
    assert "    slower: at least +" in table
    wide = render_gate(gates["fail by imports"], width=80, color=False, verbose=True)
    assert "  verdict" in wide
    sentences = render_gate(gates["fail by size"], width=40, color=False)
    assert "  verdict" not in sentences
    assert "FAIL total_time of s3.cp.upload FileSize=32MB: at least +" in sentences


def test_color_adds_nothing_but_color(gates: Mapping[str, GateRecord]) -> None:
    for gate in gates.values():
        colored = render_gate(gate, width=100, color=True)
        assert "\x1b[" in colored
        plain = re.sub(r"\x1b\[[0-9;]*m", "", colored)
        assert [line.rstrip() for line in plain.splitlines()] == render_gate(gate, width=100, color=False).splitlines()


def test_nothing_from_outside_moves_the_cursor_or_breaks_a_line(hostile: GateRecord) -> None:
    text = render_gate(hostile, width=120, color=False, verbose=True, kept=Path("a\nb\x1b[2J.json"))
    assert text.replace("\n", "").isprintable()
    tame = render_gate(hostile, width=120, color=False)
    assert all(line.startswith(("FAIL: ", "  ", "a|b")) or _SENTENCE.match(line) for line in tame.splitlines()), (
        "each line is one that we began"
    )


def test_the_way_to_replay_is_told_when_the_record_was_kept(gates: Mapping[str, GateRecord]) -> None:
    kept = render_gate(gates["pass"], width=120, color=False, kept=Path("my gate.json"))
    assert kept.endswith("replay: s3bench gate --replay 'my gate.json'\n")
    assert "replay" not in render_gate(gates["pass"], width=120, color=False)


def test_waivers_are_told_used_or_over(gates: Mapping[str, GateRecord]) -> None:
    text = render_gate(gates["waived"], width=120, color=False)
    assert "waived: total_time of s3.cp.upload FileSize=32MB: at least +" in text
    assert "new hash (https://example.com/issues/7, until 2026-11-21)" in text
    assert "warning: waiver for peak_memory of s3.cp.upload FileSize=32MB expired on 2026-01-01" in text
    rows = render_gate(gates["waived"], width=120, color=False, verbose=True)
    assert re.search(r"  FAIL .*\n    slower: at least .*worse, above 2.0%; waived\n", rows)
    brief = render_gate(gates["waived"], width=80, color=False, verbose=True)
    assert re.search(r"  FAIL  .*\n    slower: at least .*; waived\n", brief)


def test_what_got_better_is_told_and_decides_nothing(gates: Mapping[str, GateRecord]) -> None:
    text = render_gate(gates["faster"], width=120, color=False)
    assert "changed: requests of s3.cp.upload FileSize=32MB: 1 fewer: PUT (4 -> 3)" in text
    assert re.search(r"changed: throughput of .*: \+\d+\.\d% higher", text)


def test_hundreds_of_doubts_are_counted_unless_asked_for(gates: Mapping[str, GateRecord]) -> None:
    gate = replace(gates["pass"], warnings=tuple(f"doubt {number}" for number in range(300)))
    short = render_gate(gate, width=120, color=False)
    assert short.count("warning: ") == 11
    assert "warning: and 291 more, with --verbose" in short
    assert render_gate(gate, width=120, color=False, verbose=True).count("warning: ") == 301


def test_warnings_that_were_printed_at_the_start_are_counted(gates: Mapping[str, GateRecord]) -> None:
    gate = replace(gates["pass"], warnings=("the machine is busy", "no turbo", "no valgrind"))
    table = render_gate(gate, width=120, color=False, said=("the machine is busy", "no turbo"))
    warnings = [line for line in table.splitlines() if line.startswith("warning: ")]
    assert warnings[0] == "warning: no valgrind"
    assert warnings[-1] == "warning: 2 more were printed at the start"
    assert "the machine is busy" not in table


def test_one_warning_of_many_tests_or_runs_is_one_line(gates: Mapping[str, GateRecord]) -> None:
    conclusion = gates["fail by size"].conclusion
    assert conclusion is not None
    rows = tuple(replace(row, warnings=("3 of 10 pairs are outliers",)) for row in conclusion.rows)
    gate = replace(gates["fail by size"], conclusion=replace(conclusion, rows=rows))
    (line,) = (line for line in render_gate(gate, width=120, color=False).splitlines() if "are outliers" in line)
    assert line.startswith(f"warning: {len(rows)} tests (first ")
    assert line.endswith(": 3 of 10 pairs are outliers")


def test_a_client_that_failed_beside_a_regression_is_told(hostile: GateRecord) -> None:
    assert "\nfailure: a|b" in render_gate(hostile, width=120, color=False)


def test_a_client_that_failed_is_told_once(gates: Mapping[str, GateRecord]) -> None:
    assert render_gate(gates["invalid by a failure"], width=120, color=False).count("the client failed") == 1


@pytest.mark.parametrize("name", ["pass", "time limit"])
def test_why_a_gate_stopped_early_is_told_once(gates: Mapping[str, GateRecord], name: str) -> None:
    gate = replace(gates[name], stopped="stopped after 30 minutes").concluded()
    assert render_gate(gate, width=120, color=False).count("\n  stopped after 30 minutes\n") == 1
