"""Labels of benchmarks: a name with its dimensions, as in all reports, messages and records."""

from collections.abc import Iterable, Mapping


def dimension_pairs(dimensions: Iterable[Mapping[str, str]]) -> tuple[tuple[str, str], ...]:
    """The dimensions of a document, objects of one key each, as pairs of name and value."""
    return tuple(pair for dimension in dimensions for pair in dimension.items())


def dimensions_label(pairs: Iterable[tuple[str, str]]) -> str:
    """`FileSize=32MB Direction=up`; empty without dimensions."""
    return " ".join(f"{name}={value}" for name, value in pairs)


def benchmark_label(name: str, pairs: Iterable[tuple[str, str]]) -> str:
    """`s3.cp.upload FileSize=32MB`."""
    return f"{name} {dimensions_label(pairs)}".rstrip()
