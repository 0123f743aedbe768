"""Prints what on this machine disturbs measurements, and what to do about it."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict

import click

from s3bench.cli.streams import print_styled
from s3bench.cli.terminal import stdout_paints
from s3bench.report.terminal import BOLD, DIM, GREEN, RED, YELLOW, painter
from s3bench.run.doctor import MachineFinding, Severity, machine_findings, surroundings, tool_findings
from s3bench.run.machine import machine_facts

_STYLES = {
    Severity.OK: GREEN,
    Severity.NOTE: YELLOW,
    Severity.WARNING: RED,
    Severity.MISSING: YELLOW,
    Severity.UNKNOWN: DIM,
}

_COUNTED = (
    (Severity.WARNING, "warning", ""),
    (Severity.NOTE, "note", ""),
    (Severity.MISSING, "tool", " missing"),
)


def examine(*, as_json: bool) -> None:
    """Look at this machine and print the findings."""
    machine, tools = machine_findings(machine_facts(), surroundings()), tool_findings()
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in (*machine, *tools)], indent=2))
        return
    lines = (_headline((*machine, *tools)), *_lines("machine", machine), *_lines("tools", tools))
    print_styled("".join(f"{line}\n" for line in lines))


def _headline(findings: Iterable[MachineFinding]) -> str:
    counts = Counter(finding.severity for finding in findings)
    parts = (
        f"{counts[severity]} {word}{'' if counts[severity] == 1 else 's'}{rest}"
        for severity, word, rest in _COUNTED
        if counts[severity]
    )
    return ", ".join(parts) or "nothing disturbs measurements here"


def _lines(heading: str, findings: Iterable[MachineFinding]) -> Iterator[str]:
    paint = painter(color=stdout_paints())
    yield paint(heading, BOLD)
    for finding in findings:
        yield f"  {paint(f'{finding.severity:<7}', _STYLES[finding.severity])}  {finding.subject:<21}  {finding.found}"
        if finding.effect:
            yield f"{'':34}{'it would add: ' if finding.severity is Severity.MISSING else ''}{finding.effect}"
            yield f"{'':34}{paint(finding.remedy, DIM)}"
