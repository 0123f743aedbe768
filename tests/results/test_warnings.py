from msgspec.structs import replace

from s3bench.results.document import Client, Result
from s3bench.results.measurement import measure
from s3bench.results.warnings import gather, gather_warnings, places_text

CLIENT = Client(name="s5cmd", version="1", label="s5cmd@1")


def result(name: str, *warnings: str) -> Result:
    measurements = tuple(
        replace(measure(iteration=number, total_s=1.0), warnings=(warning,)) for number, warning in enumerate(warnings)
    )
    return Result(name=name, client=CLIENT, measurements=measurements)


def test_warnings_that_differ_in_figures_alone_are_one() -> None:
    first, second = (
        result("a", "samples are 4.3 ms apart", "samples are 5 ms apart"),
        result("b", "samples are 6 ms apart"),
    )
    (doubt,) = gather_warnings([first, second])
    assert (doubt.example, doubt.count, doubt.places) == ("samples are 4.3 ms apart", 3, (first, second))
    assert doubt.words == "for example: samples are 4.3 ms apart"


def test_other_words_are_another_warning_and_one_alone_is_no_example() -> None:
    doubts = gather_warnings([result("a", "the machine is busy", "the stub is busy")])
    assert [doubt.words for doubt in doubts] == ["the machine is busy", "the stub is busy"]


def test_no_warnings_no_warnings() -> None:
    assert gather_warnings([result("a")]) == ()


def test_texts_are_gathered_with_the_places_that_have_them() -> None:
    (busy,) = gather(
        [("load 5 on 2 cores", "a.json"), ("load 6 on 2 cores", "b.json"), ("load 5 on 2 cores", "a.json")]
    )
    assert (busy.words, busy.count, busy.places) == ("for example: load 5 on 2 cores", 3, ("a.json", "b.json"))


def test_a_few_places_are_named_and_many_are_counted() -> None:
    assert places_text(("a", "b", "a"), "result") == "a, b"
    assert places_text(("a", "b", "c", "d"), "result") == "4 results (first a)"
