"""A matrix: heat-maps and lines with the document's figures, in order, whatever sizes are called."""

from s3bench.report.load.cells import bytes_rate_text
from s3bench.report.page.heat_map import contrast, heat_color, text_color
from s3bench.report.page.load.backdrop import Instance, backdrop
from s3bench.report.page.load.grid import Grid, grid_table, grids
from s3bench.report.page.load.grid_charts import grid_figures
from s3bench.report.page.section import ChartFigure
from s3bench.results.document import Document
from tests.report.loads import EMPTY, document, load, result
from tests.report.page.chart_reader import assert_is_drawn, labels, marks, values

SIZES = {"8 MiB": 8 << 20, "1 KiB": 1024}
THREADS = (16, 1)


def matrix() -> Document:
    """Two sizes times two numbers of threads, not in order, and what wrote the objects."""
    reads = [
        result(
            "load.get",
            load(operations=threads * 1000, size=size_bytes, p50_s=size_bytes * 1e-9),
            dimensions=[{"size": size}, {"threads": f"{threads}"}],
        )
        for size, size_bytes in SIZES.items()
        for threads in THREADS
    ]
    puts = result("load.put", load("put"), dimensions=[{"size": "1 KiB"}, {"threads": "8"}, {"purpose": "preparation"}])
    return document(puts, *reads)


def drawn(grid: Grid, *instances: Instance) -> dict[str, ChartFigure]:
    """The figures by their names."""
    return {each.name: each for each in grid_figures(grid, instances)}


def test_a_matrix_is_in_order_and_without_its_preparation() -> None:
    (grid,) = grids(matrix())
    assert (grid.title, grid.sizes, grid.threads) == ("get", ("1 KiB", "8 MiB"), ("1", "16"))


def test_a_map_says_each_cell_as_the_terminal_does() -> None:
    (grid,) = grids(matrix())
    made = drawn(grid)["map-throughput"]
    assert labels(made.chart) == [
        f"{size}, {threads} threads: throughput {bytes_rate_text(threads * 100 * SIZES[size])}"
        for size in grid.sizes
        for threads in (1, 16)
    ]
    assert {each["text"] for each in values(made.chart, "rect")} >= {"100 KiB/s", "12.5 GiB/s"}


def test_every_chart_of_a_matrix_is_drawn() -> None:
    (grid,) = grids(matrix())
    made = drawn(grid, Instance(name="c5.large", bytes_per_s=949e6))
    assert list(made) == [
        "map-throughput",
        "map-operations-per-s",
        "map-first-byte-p50",
        "map-last-byte-p50",
        "map-last-byte-p99",
        "throughput-by-threads",
        "first-byte-p90-by-threads",
        "last-byte-p90-by-threads",
        "throughput-by-object-size",
    ]
    for each in made.values():
        assert_is_drawn(each)
    assert "c5.large: 905 MiB/s" in made["throughput-by-threads"].description


def test_lines_stand_where_the_figures_are() -> None:
    (grid,) = grids(matrix())
    points = values(drawn(grid)["throughput-by-threads"].chart, "point")
    assert [(each["at"], each["series"], each["value"]) for each in points] == [
        (threads, size, threads * 100 * SIZES[size] / 1024**3) for size in grid.sizes for threads in (1, 16)
    ]


def test_the_table_has_all_figures() -> None:
    (grid,) = grids(matrix())
    table = grid_table(grid)
    titles = [column.title for column in table.columns]
    row = dict(zip(titles, table.rows[-1], strict=True))
    assert (row["size"].value, row["threads"].value, row["rate/s"].text) == (8 << 20, 16, "1,600")
    assert (row["last byte p50"].value, row["errors"].text) == (SIZES["8 MiB"] * 1e-9, "0")


def test_sizes_and_threads_that_are_no_numbers_stand_side_by_side() -> None:
    hostile = "a.b[0]\\ <script>'\n\u202e"
    told = [
        result("load.get", load(operations=operations), dimensions=[{"size": hostile}, {"threads": threads}])
        for operations, threads in ((100, "many'"), (200, "0"))
    ]
    (grid,) = grids(document(*told))
    for each in drawn(grid).values():
        assert_is_drawn(each)
    assert all(text.isprintable() for text in (*grid.sizes, *grid.threads))


def test_a_latency_that_was_not_told_is_no_chart() -> None:
    few = [
        result("load.get", load(operations=3), dimensions=[{"size": "1 KiB"}, {"threads": threads}])
        for threads in ("1", "2")
    ]
    (grid,) = grids(document(*few))
    assert "map-last-byte-p50" not in drawn(grid)
    assert "throughput-by-threads" in drawn(grid)


def test_what_another_tool_did_not_count_is_not_zero() -> None:
    told = load(repeated=None, unfinished=None, attempts=None, retried=None)
    (grid,) = grids(document(result("load.get", told, dimensions=[{"size": "1 KiB"}, {"threads": "1"}])))
    assert [cell.text for cell in grid_table(grid).rows[0]][-3:] == ["-", "-", "0"]


def test_text_in_cells_can_be_read_on_every_colour() -> None:
    for share in (None, *(number / 100 for number in range(101))):
        fill = heat_color(share)
        assert contrast(text_color(fill), fill) >= 4.5


def test_the_colours_of_cells_are_no_colours_of_the_paper() -> None:
    (grid,) = grids(matrix())
    inks = {each["ink"] for each in values(drawn(grid)["map-throughput"].chart, "rect")}
    assert inks <= {"#000000", "#fffffe"}
    assert all(each["mark"]["aria"] is False for each in marks(drawn(grid)["map-throughput"].chart)[1:])


def test_the_backdrop_is_the_link_that_was_imposed() -> None:
    imposed = document_with("ec2:c5.large")
    assert [each.name for each in backdrop(imposed, 700e6)] == ["c5.large"]
    assert backdrop(imposed, 1e6) == ()


def test_without_a_network_model_there_is_no_backdrop() -> None:
    assert backdrop(EMPTY, 300e6) == ()


def document_with(network: str) -> Document:
    """A document of a run behind a network model."""
    return Document(s3bench="0", started_at="", options={"network": {"text": network}})
