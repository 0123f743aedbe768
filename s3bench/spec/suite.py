"""Suites: the benchmarks that run by default."""

from enum import StrEnum

from s3bench.spec.definition import Definition

SLOW_TAG = "full"
"""The tag of benchmarks that only the full suite runs: large files, thousands of files."""


class Suite(StrEnum):
    """`DEFAULT` has all benchmarks without the tag `full`; `FULL` has all."""

    DEFAULT = "default"
    FULL = "full"

    def of(self, definitions: tuple[Definition, ...]) -> tuple[Definition, ...]:
        """The benchmarks of this suite, in their order."""
        if self is Suite.FULL:
            return definitions
        return tuple(definition for definition in definitions if SLOW_TAG not in definition.tags)

    def without(self, definitions: tuple[Definition, ...]) -> tuple[Definition, ...]:
        """The benchmarks that this suite leaves out, in their order."""
        if self is Suite.FULL:
            return ()
        return tuple(definition for definition in definitions if SLOW_TAG in definition.tags)
