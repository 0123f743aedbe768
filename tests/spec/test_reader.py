import pytest

from s3bench.spec.reader import (
    Complaint,
    JsonObject,
    NotJson,
    Report,
    decode_json,
    nearest,
    one_of,
    quoted,
    render_path,
)


@pytest.mark.parametrize(
    ("at", "path"),
    [
        ((), "$"),
        ((3, "environment", "files", 0, "size"), "$[3].environment.files[0].size"),
        ((0, "headers", "x-amz-meta"), '$[0].headers["x-amz-meta"]'),
        (("", 'a"b', "é"), '$[""]["a\\"b"]["\\u00e9"]'),
        (("a\n",), '$["a\\n"]'),
    ],
)
def test_a_path_is_rendered_so_that_it_can_be_followed(at: tuple[str | int, ...], path: str) -> None:
    assert render_path(at) == path


def test_decoding_keeps_repeated_keys_and_words_that_json_does_not_have() -> None:
    assert decode_json('{"a": 1, "a": [NaN, -Infinity, 1e999, true]}') == JsonObject(
        (("a", 1), ("a", [NotJson("NaN"), NotJson("-Infinity"), float("inf"), True]))
    )


def test_a_number_of_absurd_length_is_no_crash() -> None:
    assert decode_json("9" * 10_000) == float("inf")


def test_problems_come_in_the_order_of_the_document() -> None:
    document = decode_json('[{"b": {"c": 1}, "a": [1, 2]}]')
    report = Report()
    for at in [(0, "missing"), (0, "a", 1), (0, "a", 0), (0, "b", "c"), (0, "renamed", 0, "x"), (0,)]:
        report.add(at, Complaint("what", "fix"))
    assert [problem.path for problem in report.problems(document)] == [
        "$[0]",
        "$[0].b.c",
        "$[0].a[0]",
        "$[0].a[1]",
        "$[0].missing",
        "$[0].renamed[0].x",
    ]


def test_a_report_knows_what_a_problem_touches() -> None:
    report = Report()
    report.add((0, "a", 1), Complaint("what", "fix"))
    assert report.touches((0, "a"))
    assert report.touches((0, "a", 1, "inside"))
    assert not report.touches((0, "a", 0))
    assert not report.touches((0, "b"))
    assert report.touches_whole((0, "a", 1, "inside"))
    assert not report.touches_whole((0, "a"))


def test_the_nearest_word_is_found_whatever_the_case() -> None:
    assert nearest("Enviroment", ("name", "environment")) == "environment"
    assert nearest("NAME", ("name", "environment")) == "name"
    assert nearest("zzz", ("name", "environment")) is None
    assert nearest("x", ()) is None


def test_words_are_listed_with_or() -> None:
    assert one_of(["a"]) == "`a`"
    assert one_of(["a", "b", "c"]) == "`a`, `b` or `c`"


def test_long_text_is_shortened_and_control_characters_escaped() -> None:
    assert quoted("x" * 100) == '"' + "x" * 57 + '..."'
    assert quoted("é\n") == '"\\u00e9\\n"'
