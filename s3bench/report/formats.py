"""The formats of `s3bench report`, by the names that `--format` takes."""

from enum import StrEnum

HTML = "html"
"""The page; it is made of all documents together, by `s3bench.report.page`."""


class Format(StrEnum):
    """The formats by their names on the command line."""

    CSV = "csv"
    MARKDOWN = "markdown"
    PYPERF = "pyperf"
    HYPERFINE = "hyperfine"
    GOBENCH = "gobench"
    GITHUB = "github-action-benchmark"
    BENCHER = "bencher"
    OPENMETRICS = "openmetrics"
    JUNIT = "junit"
    PERFETTO = "perfetto"
    CLOUDWATCH = "cloudwatch"
    OTAVA = "otava"
    OTAVA_CONFIG = "otava-config"
