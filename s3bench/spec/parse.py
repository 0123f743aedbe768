"""Parses definitions: checks the JSON syntax, the keys, and the rules between keys; reports all problems at once."""

from dataclasses import replace
from pathlib import Path

from s3bench.errors import BadDefinitions, BadInput, Problem
from s3bench.spec.client_traits import KnownClients
from s3bench.spec.definition import Definition
from s3bench.spec.definition_rules import check_definition, check_names
from s3bench.spec.fixture_rules import check_fixtures
from s3bench.spec.like import SIZES_DIMENSION, identity_of, like_directory
from s3bench.spec.reader import Complaint, Report, Steps, decode_json
from s3bench.spec.response_rules import check_response
from s3bench.spec.table import definitions_shape


def read_definitions(path: Path, clients: KnownClients) -> tuple[Definition, ...]:
    """Return the definitions of the file `path`. Raises `BadInput` if it cannot be read; see `parse_definitions`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(
            f"{path}: cannot be read: {error.strerror}",
            fix="pass a file of benchmark definitions, e.g. benchmarks.json",
        ) from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        complaint = Complaint(
            f"is not UTF-8: byte {error.start} is 0x{content[error.start]:02x}", "save the file as UTF-8"
        )
        raise _whole_file(str(path), complaint) from error
    return parse_definitions(text, str(path), clients, beside=path.parent)


def parse_definitions(
    text: str, source: str, clients: KnownClients, *, beside: Path | None = None
) -> tuple[Definition, ...]:
    """Return the definitions in `text`, in order; they may name `clients`. `source` names the text in messages.

    `beside` is the directory that files of sizes (`environment.like`) are read from.

    Raises `BadDefinitions` with every problem, each with its JSON path, in the order of the file.
    """
    document = decode_json(text)
    if isinstance(document, Complaint):
        raise _whole_file(source, document)
    report = Report()
    read = definitions_shape(clients).read(document, (), report)
    definitions = tuple(_with_like(each, (index,), report, beside) for index, each in enumerate(read))
    for index, definition in enumerate(definitions):
        _check(definition, (index,), report, clients)
    check_names(definitions, report)
    problems = report.problems(document)
    if problems:
        raise BadDefinitions(source, problems)
    return definitions


def _with_like(definition: Definition, at: Steps, report: Report, beside: Path | None) -> Definition:
    """The definition with the files of `environment.like` as a directory, and with a dimension that identifies them.

    So results of other sizes are not compared with it, whatever the name of the file.
    """
    place = (*at, "environment", "like")
    if definition.environment.like is None or report.touches(place):
        return definition
    made = like_directory(definition.environment.like, beside)
    if isinstance(made, Complaint):
        report.add(place, made)
        return definition
    if SIZES_DIMENSION in dict(definition.dimensions):
        what = f"gives results the dimension {SIZES_DIMENSION}, which `dimensions` has too"
        report.add(place, Complaint(what, "give the one in `dimensions` another name"))
        return definition
    return replace(
        definition,
        dimensions=(*definition.dimensions, (SIZES_DIMENSION, identity_of(made))),
        environment=replace(definition.environment, file_dirs=(*definition.environment.file_dirs, made), like=None),
    )


def _check(definition: Definition, at: Steps, report: Report, clients: KnownClients) -> None:
    check_definition(definition, at, report, clients)
    fixtures = check_fixtures(definition.environment, (*at, "environment"), report)
    for index, response in enumerate(definition.responses or ()):
        check_response(response, (*at, "responses", index), fixtures, report)


def _whole_file(source: str, complaint: Complaint) -> BadDefinitions:
    return BadDefinitions(source, (Problem(path="$", what=complaint.what, fix=complaint.fix),))
