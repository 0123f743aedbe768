"""Labels in reports: results, benchmarks and clients by names of one printable line and a bounded length.

A result's name has the client's name and not its version, so that a series of releases is one series; where a document
holds several versions of one client, it has the label, which tells them apart.
"""

from collections.abc import Callable, Iterable, Iterator
from zlib import crc32

from s3bench.report.terminal import printable
from s3bench.results.document import Document, Result

NAME_MAX = 200
"""The most characters of a name or a value; what is longer ends in a checksum of the whole."""
_SENTENCE_MAX = 600


def clipped(text: str, *, most: int = NAME_MAX) -> str:
    """`text` as one printable line, cut to `most` characters; texts that differ stay different."""
    if len(text) <= most:
        return printable(text)
    mark = f"~{crc32(text.encode('utf-8', 'surrogatepass')):08x}"
    return printable(text[: most - len(mark)]) + mark


def sentence(text: str) -> str:
    """A text that may have several names in it as one printable line, cut where it is too long to be read."""
    return clipped(text, most=_SENTENCE_MAX)


def one_line(text: str, *, characters_max: int = NAME_MAX) -> str:
    """`clipped` without spaces around it."""
    return clipped(text, most=characters_max).strip()


def benchmark_text(result: Result) -> str:
    """The benchmark with its dimensions: `s3.cp.upload FileSize=32MB`."""
    return one_line(result.benchmark)


def client_text(document: Document, result: Result) -> str:
    """The client's name, or its label where the document has several clients of that name."""
    labels = {each.client.label for each in document.results if each.client.name == result.client.name}
    return one_line(result.client.label if len(labels) > 1 else result.client.name)


def result_names(document: Document) -> tuple[str, ...]:
    """A name for each result, unique in the document: `s3.cp.upload FileSize=32MB on cli-crt`."""
    names = (f"{benchmark_text(each)} on {client_text(document, each)}" for each in document.results)
    return tuple(unique(names))


def unique(names: Iterable[str], numbered: Callable[[str, int], str] = "{} ({})".format) -> Iterator[str]:
    """The names, those that came before already with a number, from 2: texts that differ may be one line alike."""
    taken: dict[str, int] = {}
    for name in names:
        number, free = taken.get(name, 0) + 1, name
        while number > 1 and (free := numbered(name, number)) in taken:
            number += 1
        taken[name] = number
        taken.setdefault(free, 1)
        yield free
