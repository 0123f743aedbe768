"""A gate as Markdown for GitHub: the summary of a step, and a comment on a pull request.

What decided comes first. Where a report would grow too large, rows are left out from its end, and counted by verdict.

Limits: a step's summary may have 1 MiB, or all of it is dropped ("$GITHUB_STEP_SUMMARY upload aborted, supports content
up to a size of 1024k"); a comment 65,536 characters ("Body is too long"). Bytes of UTF-8 are at least as many as
characters, so bytes are counted.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from s3bench.gate.record import GateRecord
from s3bench.gate.row import GateRow, Verdict
from s3bench.report.explanation import explanation_lines, explanation_title
from s3bench.report.gate import digest as words
from s3bench.report.gate.digest import Digest, digest
from s3bench.report.gate.tables import LEGEND, gate_table
from s3bench.report.label import clipped, sentence
from s3bench.report.markdown import code, escaped, table_lines
from s3bench.units import counted

SUMMARY_BYTES_MAX = 1_000_000  # other tools may write into the same summary
COMMENT_CHARACTERS_MAX = 65_536
COMMENT_BYTES_MAX = 65_000
_KEPT_FREE = 8  # an eighth is kept for what is no row that decided
_ENDING_BYTES = 1_000


def render_summary(record: GateRecord) -> str:
    """Render a concluded gate for `$GITHUB_STEP_SUMMARY`: all rows and all counts that differ."""
    content = digest(record)
    return _fitted([*_sections(record, content), *_all(content)], SUMMARY_BYTES_MAX)


def render_comment(record: GateRecord) -> str:
    """Render a concluded gate for a comment on a pull request: what decided, controls, and the rest in a line."""
    content = digest(record)
    return _fitted([*_sections(record, content)], COMMENT_BYTES_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """Lines of which any number from the first may stand between `opening` and `closing`.

    A line that is a row has its verdict, by which it is counted when it is left out. A section that `decides` may fill
    all but the room that is kept free.
    """

    opening: tuple[str, ...] = ()
    lines: tuple[tuple[str, Verdict | None], ...]
    closing: tuple[str, ...] = ("",)
    is_rows: bool = False
    decides: bool = False


def _fitted(sections: Sequence[_Section], bytes_max: int) -> str:
    """Join sections, lines left out from the end of each where there is no room, and count those at the end."""
    written: list[str] = []
    room = bytes_max - _ENDING_BYTES
    left_out: list[Verdict | None] = []
    dropped = 0
    for section in sections:
        free = room - _size((*section.opening, *section.closing))
        free -= bytes_max // _KEPT_FREE if section.decides else 0
        kept: list[str] = []
        for line, _ in section.lines:
            free -= _size((line,))
            if free < 0:
                break
            kept.append(line)
        if kept:
            written += [*section.opening, *kept, *section.closing]
            room -= _size((*section.opening, *kept, *section.closing))
        missing = section.lines[len(kept) :]
        left_out += [verdict for _, verdict in missing if section.is_rows]
        dropped += 0 if section.is_rows else len(missing)
    return "\n".join((*written, *_left_out(left_out, dropped)))


def _left_out(rows: Sequence[Verdict | None], lines: int) -> Iterator[str]:
    if not rows and not lines:
        return
    parts = [
        *((words.tally_of(rows),) if rows else ()),
        *((counted(lines, "other line"),) if lines else ()),
    ]
    yield f"**Left out to keep the report small: {' and '.join(parts)}.** The gate's record has all of it."
    yield ""


def _size(lines: Iterable[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _sections(record: GateRecord, content: Digest) -> Iterator[_Section]:
    yield _plain([f"## {content.verdict}: {_code(content.candidate)} against {_code(content.baseline)}", ""])
    if content.notes:
        yield _list(content.notes, decides=True)
    if content.decided:
        yield _table(content.decided, content, decides=True)
        yield _reasons(content.decided)
    for explanation in record.explanations:
        yield _list(tuple(explanation_lines(explanation)), title=explanation_title(explanation))
    yield _plain([f"Controls: {_text(words.controls_in_words(record, content))}.", ""])
    if adjusted := words.adjusted_in_words(content):
        yield _plain([f"Adjusted {_text(adjusted)}.", ""])
    if rest := words.rest_in_words(content):
        yield _plain([f"{'The rest' if content.decided else 'All'}: {_text(rest)}.", ""])
    if content.waived:
        yield _table(content.waived, content, title="Waived")
        yield _list([f"{words.subject(row)}: {row.waived_by}" for row in content.waived])
    for title, lines in (("Failures", content.failures), ("Warnings", content.warnings)):
        if lines:
            yield _list(lines, title=title)
    if content.changed:
        yield _table(content.changed, content, title="Also changed, which decides nothing", is_folded=True)
    yield _plain([LEGEND, ""])


def _all(content: Digest) -> Iterator[_Section]:
    if content.rest:
        yield _table(content.rest, content, title="The rest of the rows", is_folded=True)
    if content.controls:
        yield _table(content.controls, content, title="Controls", is_folded=True)
    for row in (*content.decided, *content.waived, *content.changed, *content.rest):
        if row.changes:
            title = f"<summary>{len(row.changes)} counts of {_text(words.subject(row))} differ</summary>"
            opening = (f"<details>{title}", "")
            yield _Section(
                opening=opening,
                lines=tuple((f"- {_code(words.change_line(found))}", None) for found in row.changes),
                closing=("", "</details>", ""),
            )


def _plain(lines: Sequence[str]) -> _Section:
    return _Section(lines=tuple((line, None) for line in lines), closing=())


def _list(texts: Sequence[str], *, title: str = "", decides: bool = False) -> _Section:
    return _Section(
        opening=(f"{title}:", "") if title else (),
        lines=tuple((f"- {_text(text)}", None) for text in texts),
        decides=decides,
    )


def _reasons(rows: Sequence[GateRow]) -> _Section:
    """Why each row has its verdict; of counts, which."""
    lines = (f"- `{row.metric}` of {_code(words.benchmark(row))}: {_text(row.reason)}" for row in rows)
    return _Section(lines=tuple((line, None) for line in lines), decides=True)


def _table(
    rows: Sequence[GateRow], content: Digest, *, title: str = "", is_folded: bool = False, decides: bool = False
) -> _Section:
    heading, rule, *lines = table_lines(gate_table(rows, content))
    opening: tuple[str, ...] = (heading, rule)
    if is_folded:
        opening = (f"<details><summary>{title}: {len(rows)}</summary>", "", *opening)
    elif title:
        opening = (f"{title}:", "", *opening)
    return _Section(
        opening=opening,
        lines=tuple((line, row.verdict) for line, row in zip(lines, rows, strict=True)),
        closing=("", "</details>", "") if is_folded else ("",),
        is_rows=True,
        decides=decides,
    )


def _code(text: str) -> str:
    return code(clipped(text))


def _text(text: str) -> str:
    return escaped(sentence(text))
