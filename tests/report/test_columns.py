"""Columns are aligned, named in groups, and left out whole."""

from s3bench.report.columns import TextColumn, fitted, heading_lines, row_lines

NAMES = TextColumn(heading="  kind", cells=("  get", "  multipart"))
RATES = TextColumn(heading="rate/s", cells=("1,234", "5.00"))
P50 = TextColumn(heading="p50", cells=("1.00 ms", "-"), group="latency", rank=1)
P99 = TextColumn(heading="p99", cells=("12.0 ms", "-"), group="latency", rank=1)
EXTRA = TextColumn(heading="±", cells=("±1%", ""), rank=2)
ALL = (NAMES, RATES, EXTRA, P50, P99)


def test_the_first_column_stands_left_and_figures_right() -> None:
    assert row_lines((NAMES, RATES)) == ("  get         1,234", "  multipart    5.00")
    assert heading_lines((NAMES, RATES)) == ("  kind       rate/s",)


def test_groups_are_named_above_their_columns() -> None:
    assert heading_lines(ALL) == (
        "                          ─── latency ────",
        "  kind       rate/s    ±      p50      p99",
    )


def test_a_group_that_is_narrower_than_its_name_keeps_its_place() -> None:
    narrow = TextColumn(heading="p50", cells=("-",), group="latency")
    other = TextColumn(heading="p50", cells=("1.00 ms",), group="first byte")
    assert heading_lines((TextColumn(heading="k", cells=("k",)), narrow, other), gap=1) == (
        "  lat first b",
        "k p50     p50",
    )


def test_columns_of_the_highest_rank_go_first_and_together() -> None:
    width = len(row_lines(ALL)[0])
    assert fitted(ALL, width=width) == ALL
    assert fitted(ALL, width=width - 1) == (NAMES, RATES, P50, P99)
    assert fitted(ALL, width=width - 6) == (NAMES, RATES)
    assert fitted(ALL, width=0) == (NAMES, RATES)


def test_a_gap_counts() -> None:
    width = len(row_lines(ALL)[0])
    assert fitted(ALL, width=width - 4, gap=1) == ALL
    assert fitted(ALL, width=width - 5, gap=1) != ALL


def test_columns_without_rows_have_their_headings() -> None:
    assert heading_lines((TextColumn(heading="a", cells=()), TextColumn(heading="b", cells=()))) == ("a  b",)
