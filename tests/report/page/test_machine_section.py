"""The facts of machines, and in what several differ."""

from s3bench.report.page.machine_section import machine_section
from s3bench.report.page.section import Section
from s3bench.report.table import Tone

MACHINE = {"cpu_model": "Model 1", "memory_total": 8 << 30, "turbo": None, "on_battery": False, "load_1min": 0.25}


def facts(section: Section, table: int = 0) -> list[list[str]]:
    return [[cell.text for cell in row] for row in section.tables[table].rows]


def test_one_machine_has_all_its_facts() -> None:
    section = machine_section([("a.json", {**MACHINE, "frequency_max_mhz": 3500.0})])
    assert facts(section) == [
        ["cpu model", "Model 1"],
        ["memory total", "8.00 GiB"],
        ["turbo", "-"],
        ["on battery", "no"],
        ["load 1min", "0.25"],
        ["frequency max [MHz]", "3500"],
    ]
    assert section.lines == ()


def test_what_differs_stands_first_and_is_said() -> None:
    section = machine_section([("a.json", MACHINE), ("b.json", {**MACHINE, "cpu_model": "Model 2", "load_1min": 2.0})])
    assert facts(section) == [["cpu model", "Model 1", "Model 2"], ["load 1min", "0.25", "2"]]
    assert len(section.tables[1].rows) == 3
    assert section.lines[0].tone is Tone.WARNING
    assert "cpu model" in section.lines[0].text
    assert "load" not in section.lines[0].text


def test_a_state_of_the_moment_is_no_doubt() -> None:
    section = machine_section([("a.json", MACHINE), ("b.json", {**MACHINE, "load_1min": 2.0})])
    assert section.lines[0].tone is Tone.PLAIN


def test_a_fact_that_one_document_lacks_differs() -> None:
    section = machine_section([("a.json", {"kernel": "Linux 6.1"}), ("b.json", {})])
    assert facts(section) == [["kernel", "Linux 6.1", "-"]]


def test_a_document_that_tells_nothing_says_so() -> None:
    assert "Nothing was recorded" in machine_section([("a.json", {})]).lines[0].text


def test_hostile_facts_are_clipped_and_printable() -> None:
    section = machine_section([("a.json", {"x\x00" * 1000: "\u202e" * 1_000_000})])
    for text in facts(section)[0]:
        assert text.isprintable()
        assert len(text) <= 200
