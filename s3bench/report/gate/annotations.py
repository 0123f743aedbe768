"""A gate as workflow commands, which GitHub Actions shows as annotations of the run.

Limits of GitHub: of each level, the first ten of a step become annotations, and a message is cut at 4,096 characters
(actions/runner, ExecutionContext). So what decided comes first, and where there is more, the last one sums it up.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from s3bench.gate.evidence import Role
from s3bench.gate.record import GateRecord
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.report.explanation import cause_lines, explanation_lines, explanation_title
from s3bench.report.gate import digest as words
from s3bench.report.gate.digest import Digest, digest
from s3bench.report.terminal import printable

_SHOWN_MAX = 10
_MESSAGE_MAX = 4_000
_TITLE_MAX = 200
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Annotation:
    title: str
    message: str
    file: str = ""
    line: int = 0


def _nowhere(_file: str) -> str:
    return ""


def render_annotations(record: GateRecord, *, source_of: Callable[[str], str] = _nowhere) -> str:
    """Render a concluded gate as workflow commands, one a line: errors, then warnings, then notices.

    `source_of` gives a cause's file as a path in the repository, or nothing if it is not there; causes whose file is
    there are annotated at their line. Of a strict gate, SMALL is an error.
    """
    content = digest(record)
    decided = [_of_row(row, content) for row in content.decided]
    why = [
        _Annotation(title=explanation_title(each), message="; ".join(explanation_lines(each)))
        for each in record.explanations
    ]
    why += [
        _Annotation(title=explanation_title(each), message=text, file=file, line=cause.line)
        for each in record.explanations
        for cause, text in cause_lines(each)
        if cause.line and (file := source_of(cause.file))
    ]
    notes = [_Annotation(title=content.headline, message=note) for note in content.notes]
    failures = [_Annotation(title="a run failed", message=failure) for failure in content.failures]
    warnings = [*failures, *(_Annotation(title="s3bench gate", message=warning) for warning in content.warnings)]
    waived = [
        _Annotation(title=f"waived: {words.subject(row)}", message=_waived(row, content)) for row in content.waived
    ]
    others = [_of_change(row, content) for row in content.changed]
    rest = words.rest_in_words(content)
    summary = [_Annotation(title=content.headline, message=rest)] if rest else []
    match Verdict.FAIL if record.is_strict and content.verdict is Verdict.SMALL else content.verdict:
        case Verdict.FAIL:
            levels = (decided, [*why, *notes, *warnings], [*summary, *waived, *others])
        case Verdict.INVALID:
            levels = (notes, [*decided, *warnings], [*summary, *waived, *others])
        case Verdict.INCONCLUSIVE | Verdict.SMALL:
            levels = ([], [*decided, *notes, *warnings], [*summary, *waived, *others])
        case Verdict.PASS:
            whole = _Annotation(title=content.headline, message="; ".join((*content.notes, *filter(None, (rest,)))))
            levels = ([], warnings, [whole, *waived, *others])
    lines = [
        _command(level, annotation)
        for level, found in zip(("error", "warning", "notice"), levels, strict=True)
        for annotation in _shown(found)
    ]
    return "".join(f"{line}\n" for line in lines)


def _of_row(row: GateRow, content: Digest) -> _Annotation:
    role = "" if row.role is Role.BENCHMARK else f"{row.role} "
    return _Annotation(title=f"{role}{row.verdict}: {words.subject(row)}", message=words.sentence(row, content))


def _of_change(row: GateRow, content: Digest) -> _Annotation:
    message = printable(row.reason) if row.kind is RowKind.EXACT else words.sentence(row, content)
    return _Annotation(title=f"changed: {words.subject(row)}", message=f"{message}; decides nothing")


def _waived(row: GateRow, content: Digest) -> str:
    return f"{words.sentence(row, content)}; {printable(row.waived_by)}"


def _shown(found: Sequence[_Annotation]) -> Sequence[_Annotation]:
    """As many as GitHub shows, the last one telling of all those that it would not show."""
    if len(found) <= _SHOWN_MAX:
        return found
    hidden = found[_SHOWN_MAX - 1 :]
    titles = "; ".join(dict.fromkeys(each.title for each in hidden))
    return (*found[: _SHOWN_MAX - 1], _Annotation(title=f"and {len(hidden)} more", message=titles))


def _command(level: str, annotation: _Annotation) -> str:
    title = _clipped(printable(annotation.title), _TITLE_MAX).translate(_PROPERTY)
    file = printable(annotation.file).translate(_PROPERTY)
    place = f"file={file},line={annotation.line}," if file else ""
    return f"::{level} {place}title={title}::{_clipped(annotation.message, _MESSAGE_MAX).translate(_DATA)}"


def _clipped(text: str, length_max: int) -> str:
    return text if len(text) <= length_max else text[: length_max - 3] + "..."
