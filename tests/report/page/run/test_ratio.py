"""Charts of many benchmarks on one axis: names that can be read, beside or above the marks."""

from xml.etree import ElementTree as ET

from s3bench.report.page.chart import CHARACTER_WIDTH
from s3bench.report.page.drawing import draw
from s3bench.report.page.run.benchmark import benchmarks_of
from s3bench.report.page.run.ratio import timed_rows
from s3bench.report.page.run.section import run_sections
from tests.compare.documents import BASE, client, document, result, slower
from tests.report.page.run_documents import figure_of

LONG = {"FileSize": "4KB", "multipart_chunksize": "8MB", "max_concurrent_requests": "20"}


def test_the_figure_behind_the_longest_interval_is_within_the_chart() -> None:
    fast, slow = (result(slower(BASE, factor), name=f"s3.rm {factor}", dimensions=LONG) for factor in (0.2, 0.22))
    whole = document(fast, slow)
    for picture in draw(figure_of(run_sections(whole), "overview"), element_id="one").split("</svg>")[:2]:
        tree = ET.fromstring(f"{picture}</svg>")
        (frame,) = tree.findall("g")
        left = float(frame.attrib["transform"].removeprefix("translate(").partition(",")[0])
        (longest,) = (each for each in tree.iter("text") if each.text == "116 ms")
        assert left + float(longest.attrib["x"]) + CHARACTER_WIDTH * len("116 ms") <= float(tree.attrib["width"])


def test_the_last_line_of_a_name_in_a_narrow_chart_is_above_its_marks_however_many_lines_it_has() -> None:
    whole = document(result(name="s3.cp.upload", dimensions=LONG), result(name="s3.rm"))
    _, narrow, _ = draw(figure_of(run_sections(whole), "overview"), element_id="one").split("</svg>")
    tree = ET.fromstring(f"{narrow}</svg>")
    names = [each for each in tree.iter("text") if "".join(each.itertext()).startswith("s3.")]
    assert [[line.text for line in each] for each in names] == [
        ["s3.cp.upload FileSize=4KB multipart_chunksize=8MB", "max_concurrent_requests=20"],
        [],
    ]
    last_lines = [float(each.attrib["y"]) + sum(float(line.get("dy", 0)) for line in each) for each in names]
    marks = [float(each.attrib["cy"]) for each in tree.iter("circle") if "data-label" in each.attrib]
    first, second = (mark - last_line for mark, last_line in zip(marks, last_lines, strict=True))
    assert first == second > 0


def test_a_name_that_is_cut_keeps_its_client() -> None:
    both = (result(name="s3.cp.upload" * 9, of=client(name)) for name in ("cli-classic", "cli-crt"))
    names = [each.name for each in timed_rows(benchmarks_of(document(*both)))]
    assert [name.rpartition(" · ")[2] for name in names] == ["cli-classic", "cli-crt"]
    assert {len(name) for name in names} == {90}


def test_a_client_whose_name_is_too_long_is_cut_too() -> None:
    (timed,) = timed_rows(benchmarks_of(document(result(name="s3.rm", of=client("x" * 1000)))))
    assert timed.name.startswith("s3.rm · xxx")
    assert len(timed.name) < 50
