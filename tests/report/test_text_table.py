"""Tables in a terminal are aligned, named in groups, and left out by whole columns."""

from s3bench.report.table import Table, Tone, column
from s3bench.report.terminal import painter
from s3bench.report.text_table import fits, fitted, heading_lines, row_lines, table_lines

ROWS = ("get", "multipart")
NAMES = column("kind", ROWS, str)
RATES = column("rate/s", ("1,234", "5.00"), str, is_number=True)
P50 = column("p50", ("1.00 ms", "-"), str, is_number=True, group="latency", rank=1)
P99 = column("p99", ("12.0 ms", "-"), str, is_number=True, group="latency", rank=1)
EXTRA = column("±", ("±1%", ""), str, is_number=True, rank=2)
TIMES = column("time", ("1.0 s", "2.0 s"), str, more=lambda _: " ±3%", is_number=True)
ALL = Table(columns=(NAMES, RATES, EXTRA, P50, P99))


def test_texts_stand_left_and_numbers_right() -> None:
    table = Table(columns=(NAMES, RATES))
    assert heading_lines(table) == ("kind       rate/s",)
    assert row_lines(table) == ("get         1,234", "multipart    5.00")


def test_groups_are_named_above_their_columns() -> None:
    assert heading_lines(ALL) == (
        "                        ─── latency ────",
        "kind       rate/s    ±      p50      p99",
    )


def test_a_group_that_is_narrower_than_its_name_keeps_its_place() -> None:
    narrow = column("p50", ("-",), str, is_number=True, group="latency")
    other = column("p50", ("1.00 ms",), str, is_number=True, group="first byte")
    assert heading_lines(Table(columns=(column("k", ("k",), str), narrow, other)), gap=1) == (
        "  lat first b",
        "k p50     p50",
    )


def test_columns_of_the_highest_rank_go_first_and_together() -> None:
    width = len(row_lines(ALL)[0])
    assert fitted(ALL, width=width) == ALL
    assert fitted(ALL, width=width - 1).columns == (NAMES, RATES, P50, P99)
    assert fitted(ALL, width=width - 6).columns == (NAMES, RATES)
    assert fitted(ALL, width=0).columns == (NAMES, RATES)


def test_what_follows_a_text_goes_before_any_column() -> None:
    table = Table(columns=(NAMES, TIMES, EXTRA))
    width = len(row_lines(table)[0])
    assert "±3%" in row_lines(fitted(table, width=width))[0]
    narrow = fitted(table, width=width - 1)
    assert row_lines(narrow)[0] == "get        1.0 s  ±1%"
    assert not fits(table, width=width - 1)


def test_a_gap_counts() -> None:
    width = len(row_lines(ALL)[0])
    assert fitted(ALL, width=width - 4, gap=1) == ALL
    assert fitted(ALL, width=width - 5, gap=1) != ALL


def test_a_table_without_rows_has_its_headings() -> None:
    empty: tuple[str, ...] = ()
    assert heading_lines(Table(columns=(column("a", empty, str), column("b", empty, str)))) == ("a  b",)


def test_titles_stand_once_above_their_rows_and_notes_beneath() -> None:
    titles = column("benchmark", ("up", "up", "down"), str, is_title=True)
    values = column("client", ("a", "b", "c"), str)
    table = Table(columns=(titles, values), notes=("medians",))
    assert list(table_lines(table, width=80, below=lambda row: ("    why",) if row == 1 else ())) == [
        "  client", "up", "  a", "  b", "    why", "down", "  c", "medians",
    ]  # fmt: skip


def test_a_tone_is_a_color_and_changes_no_width() -> None:
    verdicts = column("verdict", ROWS, lambda _: "PASS", tone=lambda _: Tone.GOOD)
    lines = row_lines(Table(columns=(verdicts, RATES)), paint=painter(color=True))
    assert lines[0] == "\x1b[32mPASS\x1b[0m      1,234"


def test_what_a_cell_holds_cannot_move_the_cursor() -> None:
    assert row_lines(Table(columns=(column("a", ("\x1b[2Jx\n",), str),))) == (" [2Jx",)


def test_rows_become_sentences_of_all_columns_where_no_table_has_room() -> None:
    assert list(table_lines(ALL, width=12)) == [
        "get:", "    rate/s 1,234,", "    ± ±1%,", "    latency p50 1.00 ms,", "    latency p99 12.0 ms",
        "multipart:", "    rate/s 5.00,", "    latency p50 -,", "    latency p99 -",
    ]  # fmt: skip


def test_a_note_names_the_columns_and_figures_that_are_left_out() -> None:
    assert list(table_lines(ALL, width=35))[-2:] == ["left out at 35 columns: ±; 40", "columns show all"]
    assert list(table_lines(ALL, width=20))[-4:] == [
        "left out at 20", "columns: ±, latency", "(p50, p99); 40", "columns show all",
    ]  # fmt: skip
    table = Table(columns=(NAMES, TIMES))
    assert list(table_lines(table, width=18))[3:] == [
        "left out at 18", "columns: deviation", "of time; 20", "columns show all",
    ]  # fmt: skip


def test_texts_are_wrapped_between_words_before_a_table_becomes_sentences() -> None:
    texts = column("why", ("too few runs of it", "slower"), str)
    assert list(table_lines(Table(columns=(NAMES, texts, RATES)), width=28)) == [
        "kind       why      rate/s",
        "get        too few   1,234",
        "           runs of",
        "           it",
        "multipart  slower     5.00",
    ]
