"""`s3bench report` as a page: which sections the files become, its head, and charts as files.

Imported only when a page or a chart is asked for: what draws takes most of a second to load.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from s3bench.cli.report.inputs import Inputs
from s3bench.compare.comparison import compare
from s3bench.compare.matching import DocumentSource
from s3bench.errors import BadInput
from s3bench.report.label import clipped
from s3bench.report.page.bisection_section import bisection_section
from s3bench.report.page.comparison_section import comparison_section
from s3bench.report.page.drawing import png_bytes, svg_bytes
from s3bench.report.page.fitting import all_figures
from s3bench.report.page.gate.section import gate_section
from s3bench.report.page.load.section import load_sections
from s3bench.report.page.machine_section import machine_section
from s3bench.report.page.page import render_page
from s3bench.report.page.profile.section import record_section
from s3bench.report.page.run.section import run_sections
from s3bench.report.page.section import Line, Section
from s3bench.report.page.tune.section import tune_section
from s3bench.report.run.figures import endpoint_text
from s3bench.report.run.problems import run_warnings
from s3bench.report.table import Tone
from s3bench.report.tune.cells import workload_words
from s3bench.results.document import Document
from s3bench.results.file import write_whole
from s3bench.tune.conclusion import conclude
from s3bench.units import counted

_NAME_MAX = 60
_UNSAFE = re.compile(r"[^a-z0-9-]+")
_TITLE_MAX = 120
_NAMED_MAX = 3


def page_html(inputs: Inputs, sections: Sequence[Section]) -> str:
    """The page of the files, whose sections these are."""
    return render_page(_title(inputs, sections), sections, facts=tuple(_facts(inputs)), lines=tuple(_lines(inputs)))


def sections_of(inputs: Inputs) -> tuple[Section, ...]:
    """What the files become: gates and settings, what changed between documents, each document, and the machines."""
    gates = (gate_section(record) for _, record in inputs.gates)
    studies = (tune_section(conclude(study), study) for _, study in inputs.studies)
    bisections = (bisection_section(record) for _, record in inputs.bisections)
    profiles = (record_section(record) for _, record in inputs.profiles)
    machines = [
        *((name, document.machine) for name, document in inputs.documents),
        *((name, record.machine) for name, record in inputs.gates),
        *((name, study.header.machine) for name, study in inputs.studies),
        *((name, record.machine) for name, record in inputs.bisections),
        *((name, record.machine) for name, record in inputs.profiles),
    ]
    return (*gates, *studies, *bisections, *profiles, *_documents(inputs.documents), machine_section(machines))


def check_directory(directory: Path, *, force: bool) -> None:
    """Check that charts may be written into `directory`. Raises `BadInput` for one that holds something."""
    if directory.exists() and not directory.is_dir():
        raise BadInput(f"{directory} is not a directory", fix="Pass a directory for the charts")
    if directory.is_dir() and any(directory.iterdir()) and not force:
        raise BadInput(f"{directory} is not empty", fix="give another directory, or --force to write into this one")


def has_charts(sections: Sequence[Section]) -> bool:
    """Whether any section has a chart."""
    return any(True for _ in all_figures(sections))


def write_charts(sections: Sequence[Section], directory: Path, *, extension: str) -> int:
    """Draw every chart into a file named by its place; return how many there are."""
    draw = {"svg": svg_bytes, "png": png_bytes}[extension]
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"cannot make {directory}",
            error.strerror or str(error),
            "choose another directory, or change its permissions",
        ) from error
    taken: set[str] = set()
    for path, figure in all_figures(sections):
        name = _unique("--".join(_file_name(each) for each in (*path, figure.name)), taken)
        write_whole(draw(figure), directory / f"{name}.{extension}", durable=False)
    return len(taken)


def _file_name(name: str) -> str:
    return _UNSAFE.sub("-", name.lower())[:_NAME_MAX].strip("-") or "chart"


def _unique(name: str, taken: set[str]) -> str:
    """`name`, numbered where another chart has it; short enough for any file system."""
    stem = name[: 3 * _NAME_MAX]
    numbered = chain([stem], (f"{stem}-{number}" for number in range(2, len(taken) + 3)))
    free = next(each for each in numbered if each not in taken)
    taken.add(free)
    return free


def _documents(documents: Sequence[tuple[str, Document]]) -> Iterator[Section]:
    if len(documents) == 1:
        yield from _document(documents[0][1])
        return
    if documents:
        yield _comparison(documents)
    for number, (name, document) in enumerate(documents, start=1):
        yield Section(name=f"document-{number}", title=clipped(name), parts=tuple(_document(document)))


def _document(document: Document) -> Iterator[Section]:
    if not document.is_of_load:
        yield from run_sections(document)
    if document.is_of_load or any(result.loops for result in document.results):
        yield from load_sections(document)


def _comparison(documents: Sequence[tuple[str, Document]]) -> Section:
    try:
        comparison = compare(tuple(DocumentSource(name=name, document=document) for name, document in documents))
    except BadInput as error:
        words = f"Not compared: {error.what}."
        return Section(name="comparison", title="Comparison", lines=(Line(text=words, tone=Tone.WARNING),))
    return comparison_section(comparison)


def _title(inputs: Inputs, sections: Sequence[Section]) -> str:
    records = (*inputs.gates, *inputs.studies, *inputs.bisections, *inputs.profiles)
    names = [name for name, _ in (*records, *inputs.documents)]
    if len(inputs.documents) == len(names) > 1:
        return clipped(f"{', '.join(names[1:])} against {names[0]}", most=_TITLE_MAX)
    if len(names) > 1:
        return clipped(", ".join(names), most=_TITLE_MAX)
    if inputs.gates:
        record = inputs.gates[0][1]
        return clipped(f"Release gate: {record.candidate.label} against {record.baseline.label}", most=_TITLE_MAX)
    if inputs.studies:
        study = inputs.studies[0][1]
        return clipped(f"Settings for {workload_words(study.header.workload)}", most=_TITLE_MAX)
    if inputs.bisections:
        search = inputs.bisections[0][1]
        span = f"{search.versions[0]} to {search.versions[-1]}"
        return clipped(f"Bisection of {search.subject}, {span}: {', '.join(search.benchmarks)}", most=_TITLE_MAX)
    if inputs.profiles:
        return sections[0].title
    document = inputs.documents[0][1]
    return _load_title(document) if document.is_of_load else _run_title(document)


def _run_title(document: Document) -> str:
    """What was measured: `s3.cp.upload and s3.cp.download, 4 clients`."""
    names = list(dict.fromkeys(clipped(result.name) for result in document.results))
    if not names:
        return "Benchmarks"
    shown = ", ".join(names[:_NAMED_MAX]) + (f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else "")
    clients = list(dict.fromkeys(client.label for client in document.clients))
    return clipped(
        f"{shown} on {clients[0] if len(clients) == 1 else counted(len(clients), 'client')}", most=_TITLE_MAX
    )


def _load_title(document: Document) -> str:
    """What was asked for and of whom: `Load: get on http://127.0.0.1:9000`."""
    kinds = list(dict.fromkeys(clipped(result.name.removeprefix("load.")) for result in document.results))
    shown = [kind for kind in kinds if kind != "all"][:_NAMED_MAX]
    where = endpoint_text(document)
    return clipped(f"Load: {', '.join(shown) or 'no results'}{f' on {where}' if where else ''}", most=_TITLE_MAX)


def _facts(inputs: Inputs) -> Iterator[tuple[str, str]]:
    """What was measured when and by which command; of several files a line each."""
    heads = [
        *((name, each.started_at, each.ended_at, each.s3bench, each.command_line) for name, each in inputs.gates),
        *(
            (name, each.header.started_at, None, each.header.s3bench, each.header.command_line)
            for name, each in inputs.studies
        ),
        *((name, each.started_at, each.ended_at, each.s3bench, each.command_line) for name, each in inputs.bisections),
        *((name, each.started_at, None, each.s3bench, each.command_line) for name, each in inputs.profiles),
        *((name, each.started_at, each.ended_at, each.s3bench, each.command_line) for name, each in inputs.documents),
    ]
    for name, started_at, ended_at, version, command in heads:
        end = f" to {_time(ended_at)}" if ended_at else " (start)"
        when = f"{_time(started_at)}{end}" if started_at else "at an unknown time"
        if len(heads) > 1:
            yield name, f"{when}, s3bench {version}"
        else:
            yield from (("File", name), ("Measured", when), ("s3bench", version))
            yield from (("Command", shlex.join(command)),) * bool(command)


def _time(text: str) -> str:
    """A time of a document as people read it; any other text as it is."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except ValueError:
        return text


def _lines(inputs: Inputs) -> Iterator[Line]:
    """The warnings about each document; those of gates and studies are in their sections."""
    for name, document in inputs.documents:
        lead = f"{name}: " if len(inputs.documents) > 1 else ""
        yield from (Line(text=f"{lead}{warning}", tone=Tone.WARNING) for warning in run_warnings(document))
