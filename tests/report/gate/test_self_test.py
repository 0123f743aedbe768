"""A self-test in the terminal: whether the gate can be trusted first, nothing cut, nothing that needs color."""

import re
from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from s3bench.gate.planted_fault import FaultKind, FaultVerdict, PlantedFault, SelfTest, count_verdicts, faults_for
from s3bench.gate.policy import Policy
from s3bench.gate.record import ProgramIdentity
from s3bench.gate.row import Verdict
from s3bench.report.gate.self_test import render_self_test, verdict_line

POLICY = Policy(exact=("requests", "modules"))
FAULTS, _ = faults_for(POLICY, usual_s=0.0912, usual_bytes=38.4 * (1 << 20))
HOSTILE = "[red]x[/red]\n\x1b[31m\u202e\x00"
METRICS = {
    FaultKind.WORK: ("total_time",),
    FaultKind.MEMORY: ("peak_memory",),
    FaultKind.REQUEST: ("requests",),
    FaultKind.IMPORT: ("modules",),
}


def answers(fault: PlantedFault, verdicts: Sequence[Verdict], reason: str = "because") -> list[FaultVerdict]:
    return [
        FaultVerdict(
            round=number,
            seed=number,
            verdict=verdict,
            reasons=(reason,),
            found_in=METRICS[fault.kind] if verdict is Verdict.FAIL else (),
            pairs=20,
            sigma=None if fault.kind in {FaultKind.REQUEST, FaultKind.IMPORT} else 0.041,
            elapsed_s=12.0,
        )
        for number, verdict in enumerate(verdicts, start=1)
    ]


def made(caught: dict[str, int], *, rounds: int = 5, missed: Verdict = Verdict.PASS, reason: str = "so") -> SelfTest:
    """A test in which each fault named was caught that many times, all others every time, and nothing never."""
    counts = {fault: caught.get(fault.title, 0 if fault.is_nothing else rounds) for fault in FAULTS}
    return SelfTest(
        s3bench="0.1.0",
        started_at="2026-11-21T00:00:00.000Z",
        policy=POLICY,
        client=ProgramIdentity(label="crt-python@0.38.1", name="crt-python", version="0.38.1"),
        benchmarks=("s3.cp.upload FileSize=4KB",),
        calibrating_runs=15,
        usual_s=0.0912,
        usual_bytes=38.4 * (1 << 20),
        rounds=rounds,
        tallies=tuple(
            count_verdicts(fault, answers(fault, [Verdict.FAIL] * count + [missed] * (rounds - count), reason))
            for fault, count in counts.items()
        ),
    ).concluded()


SMALL_ONES = {"3% more work": 1, "6% more work": 4, "1% more memory": 0}
BELIEVED = made(SMALL_ONES)
TESTS = {
    "believed": BELIEVED,
    "a miss and a false alarm": made({**SMALL_ONES, "20% more work": 4, "0% more work": 1}, missed=Verdict.SMALL),
    "invalid gates": made(
        {"10% more memory": 3}, missed=Verdict.INVALID, reason="the baseline differs from itself: total_time of it: 9 %"
    ),
    "stopped": replace(
        BELIEVED,
        tallies=tuple(
            count_verdicts(each.fault, each.answers[: number % 2]) for number, each in enumerate(BELIEVED.tallies)
        ),
        left_out=("import: none of the gating metrics would show it",),
        warnings=("the machine is busy",),
    )
    .stopped_by("--max-time 10m has passed")
    .concluded(),
    "memory not known": replace(
        BELIEVED, usual_bytes=None, tallies=tuple(each for each in BELIEVED.tallies if each.fault.kind != "memory")
    ),
}


def test_the_texts_are_the_golden_ones(assert_golden: Callable[[str, str], None]) -> None:
    widths = {"believed": (120, 80, 72, 40)}
    text = "".join(
        f"=== {name}, {width} columns\n{render_self_test(test, width=width, color=False)}\n"
        for name, test in TESTS.items()
        for width in widths.get(name, (120,))
    )
    assert_golden("selftest_table.txt", text)


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("width", range(60, 131, 7))
def test_a_table_is_never_wider_than_the_terminal(name: str, width: int) -> None:
    lines = render_self_test(TESTS[name], width=width, color=False).splitlines()
    headings = [number for number, line in enumerate(lines) if line.startswith("planted ")]
    for number in headings:
        table = lines[number : number + 1 + len(TESTS[name].tallies)]
        assert max(map(len, table)) <= width
    assert headings or width < 70


@pytest.mark.parametrize("name", TESTS)
def test_color_adds_nothing(name: str) -> None:
    colored = render_self_test(TESTS[name], width=120, color=True)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render_self_test(TESTS[name], width=120, color=False)


def test_the_first_line_says_whether_the_gate_can_be_believed_and_the_next_ones_why_not() -> None:
    believed, missed = (render_self_test(TESTS[name], width=120, color=False) for name in list(TESTS)[:2])
    assert believed.startswith(
        "self-test: the gate can be trusted on this machine, as faults planted into crt-python@0.38.1 show\nplanted "
    )
    assert missed.splitlines()[:3] == [
        "self-test: the gate cannot be trusted on this machine, as faults planted into crt-python@0.38.1 show",
        "  1 of 5 gates FAILed with nothing planted",
        "  20% more work was caught in only 4 of 5 gates",
    ]


def test_every_width_tells_of_every_fault_how_often_it_was_caught() -> None:
    for width in (120, 80, 72, 40):
        text = " ".join(render_self_test(BELIEVED, width=width, color=False).split())
        for each in BELIEVED.tallies:
            _, _, row = text.partition(f" {each.fault.title}{':' if width == 40 else ''} ")
            row = row[:80]
            assert f"{each.caught} of {each.gates}" in row
            assert f"{each.low:.0%} to {each.high:.0%}" in row


def test_what_comes_from_outside_moves_no_cursor_and_is_no_markup() -> None:
    test = replace(
        made({"10% more memory": 3}, missed=Verdict.INVALID, reason=HOSTILE),
        client=ProgramIdentity(label=HOSTILE, name="", version=""),
        benchmarks=(HOSTILE,),
        warnings=(HOSTILE,),
        left_out=(HOSTILE,),
        stopped=HOSTILE,
    )
    text = render_self_test(test, width=120, color=False)
    assert text.count("[red]x[/red]") == 6
    assert all(character.isprintable() or character == "\n" for character in text)


def test_an_answer_is_one_line() -> None:
    caught, missed = answers(FAULTS[3], [Verdict.FAIL, Verdict.PASS])
    assert verdict_line(FAULTS[3], caught) == "round 1, 10% more work (+9.12 ms): FAIL through total_time (20 pairs)"
    assert verdict_line(FAULTS[-1], missed) == "round 2, 1 more import: PASS (20 pairs)"
