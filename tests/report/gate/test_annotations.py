"""A gate as GitHub annotations: escaped, at most ten of a level, what decided first."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from urllib.parse import unquote

import pytest
from msgspec.structs import replace

from s3bench.gate.record import GateRecord
from s3bench.gate.row import Verdict
from s3bench.profiling.explanation import Cause, CauseKind, Explanation
from s3bench.report.gate.annotations import render_annotations
from s3bench.report.gate.digest import digest, subject
from s3bench.report.terminal import printable

_COMMAND = re.compile(r"::(error|warning|notice) (?:file=[^:,\r\n]*,line=\d+,)?title=([^:,\r\n]*)::([^\r\n]*)")


def commands(gate: GateRecord) -> list[tuple[str, str, str]]:
    """Level, title and message of each, as the runner reads them."""
    found = []
    for line in render_annotations(gate).splitlines():
        matched = _COMMAND.fullmatch(line)
        assert matched, line
        found.append((matched[1], unquote(matched[2]), unquote(matched[3])))
    return found


def test_the_annotations_are_the_golden_ones(
    gates: Mapping[str, GateRecord], assert_golden: Callable[[str, str], None]
) -> None:
    text = "".join(f"=== {name}\n{render_annotations(gate)}" for name, gate in gates.items())
    assert_golden("gate_annotations.txt", text)


@pytest.mark.parametrize(
    ("verdict", "level"),
    [
        (Verdict.FAIL, "error"),
        (Verdict.INVALID, "error"),
        (Verdict.INCONCLUSIVE, "warning"),
        (Verdict.SMALL, "warning"),
        (Verdict.PASS, "notice"),
    ],
)
def test_the_verdict_sets_the_level(gates: Mapping[str, GateRecord], verdict: Verdict, level: str) -> None:
    for gate in gates.values():
        assert gate.conclusion
        if gate.conclusion.verdict is verdict:
            levels = [each for each, _, _ in commands(gate)]
            assert (levels[0] == level) or level == "notice"
            assert ("error" in levels) == (level == "error")


def test_a_small_change_is_an_error_of_a_strict_gate(gates: Mapping[str, GateRecord]) -> None:
    for gate in gates.values():
        assert gate.conclusion
        strict = replace(gate, options={**gate.options, "strict": True})
        level, title, _ = commands(strict)[0]
        if gate.conclusion.verdict is Verdict.SMALL:
            assert (level, title) == ("error", "SMALL: total_time of s3.cp.upload FileSize=32MB")
        else:
            assert commands(strict) == commands(gate)


def test_what_decided_comes_first(gates: Mapping[str, GateRecord]) -> None:
    level, title, message = commands(gates["fail by size"])[0]
    assert (level, title) == ("error", "FAIL: total_time of s3.cp.upload FileSize=32MB")
    assert re.match(
        r"at least \+\d+\.\d% worse, above 2\.0%; \+\d+\.\d% slower \(\d+ ms -> \d+ ms\), 95 % interval \+", message
    )
    assert "% detectable" not in message
    assert "detectable from +" in message


def test_a_passing_gate_says_what_it_could_have_seen(gates: Mapping[str, GateRecord]) -> None:
    notices = [message for level, _, message in commands(gates["pass"]) if level == "notice"]
    assert any("detectable: total_time from +" in message for message in notices)


def test_nothing_gets_out_of_its_command(hostile: GateRecord) -> None:
    text = render_annotations(hostile)
    assert all(line.startswith(("::error title=", "::warning title=", "::notice title=")) for line in text.splitlines())
    assert printable(hostile.cells[0].name) in commands(hostile)[0][1]
    assert "%25" in text
    assert "%2C" in text
    assert "%3A" in text


def test_github_shows_ten_of_a_level_and_the_last_sums_up_the_rest(many: GateRecord) -> None:
    found = commands(many)
    assert max(Counter(level for level, _, _ in found).values()) <= 10
    errors = [each for each in found if each[0] == "error"]
    decided = digest(many).decided
    assert len(errors) == 10
    assert errors[-1][1] == f"and {len(decided) - 9} more"
    assert errors[-1][2].startswith("FAIL: total_time of benchmark ")
    assert all(len(message) <= 4096 for _, _, message in found)


def test_ten_need_no_summing_up(gates: Mapping[str, GateRecord]) -> None:
    assert not any(title.startswith("and ") for gate in gates.values() for _, title, _ in commands(gate))


def test_what_looks_like_an_escape_is_none(gates: Mapping[str, GateRecord]) -> None:
    gate = replace(gates["pass"], warnings=("100 %, %0A, %25: and 5%3A",))
    assert ("warning", "s3bench gate", "100 %, %0A, %25: and 5%3A") in commands(gate)


def test_the_order_is_that_of_what_decided(many: GateRecord) -> None:
    titles = [title for level, title, _ in commands(many) if level == "error"][:-1]
    expected = [f"FAIL: {subject(row)}" for row in digest(many).decided[: len(titles)]]
    assert [title[:60] for title in titles] == [title[:60] for title in expected]


def test_a_cause_is_annotated_at_its_line_if_its_file_is_in_the_repository(gates: Mapping[str, GateRecord]) -> None:
    causes = (
        Cause(kind=CauseKind.IMPORT, place="b.docs", caller="b:<module>", file="b/__init__.py", line=7, change=0.033),
        Cause(kind=CauseKind.FUNCTION, place="copy:copy", file="copy.py", line=9, change=0.002),
        Cause(kind=CauseKind.REQUEST, place="HEAD", counts=(0, 1)),
    )
    why = Explanation(benchmark="s3.ls", metric="total_time", change=0.04, causes=causes)
    gate = replace(gates["fail by size"], explanations=(why,))
    there = {"b/__init__.py": "src/b/__init__.py"}
    text = render_annotations(gate, source_of=lambda file: there.get(file, ""))
    [annotated] = (line for line in text.splitlines() if "file=" in line)
    assert annotated.startswith("::warning file=src/b/__init__.py,line=7,title=Why total_time of s3.ls changed by +40")
    assert "import of b.docs" in annotated
    assert "file=" not in render_annotations(gate)
