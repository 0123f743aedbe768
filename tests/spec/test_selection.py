import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.errors import BadInput
from s3bench.spec.selection import Labels, parse_selection

LABELS = Labels(
    name="s3.cp.upload",
    dimensions=(("FileSize", "32MB"), ("FileCount", "5,000"), ("S3TransferClient", "CRT")),
    others=("cli-crt", "two words", "notable", "cli@/opt/a=b"),
)


@pytest.mark.parametrize(
    ("expression", "picked"),
    [
        ("upload", True),
        ("UPLOAD", True),
        ("crt", True),
        ("download", False),
        ("not download", True),
        ("not not upload", True),
        ("upload and 32mb", True),
        ("upload and 64mb", False),
        ("download or crt", True),
        ("upload and not crt", False),
        ("download and crt or upload", True),
        ("download and (crt or upload)", False),
        ("(upload)and(crt)", True),
        ("not (download or sync) AND crt", True),
        ('"two words"', True),
        ('"three words"', False),
        ('"not"', True),
        ("notable", True),
        ("s3.cp", True),
    ],
)
def test_words_and_operators_pick_as_in_pytest(expression: str, picked: bool) -> None:
    assert parse_selection(expression).picks(LABELS) is picked


@pytest.mark.parametrize(
    ("expression", "picked"),
    [
        ("FileSize=32MB", True),
        ("filesize=32mb", True),
        ("FileSize=2MB", False),
        ("FileSize=32", False),
        ("FileCount=5,000", True),
        ("S3TransferClient=Classic", False),
        ("cp and FileSize=32MB and not FileCount=1", True),
        ("cp and FileSize=32MB and not crt", False),
        ("not FileSize=32MB", False),
        ('"s3.cp.upload FileSize=32MB FileCount=5,000 S3TransferClient=CRT"', True),
        ('"s3.cp.upload FileSize=32MB"', False),
        ("FileSize", False),
        ("a=b", True),
    ],
)
def test_a_name_with_its_value_picks_that_dimension_alone(expression: str, picked: bool) -> None:
    assert parse_selection(expression).picks(LABELS) is picked


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("", "-k: expected a word, `not` or `(` at column 1"),
        ("   ", "-k: expected a word, `not` or `(` at column 4"),
        ("a and", "-k: expected a word, `not` or `(` at column 6"),
        ("and a", "-k: expected a word, `not` or `(` at column 1"),
        ("a b", "-k: expected `and`, `or` or the end at column 3"),
        ("(a or b", "-k: expected `)` at column 8"),
        ("a) or b", "-k: expected `and`, `or` or the end at column 2"),
        ("a or  )", "-k: expected a word, `not` or `(` at column 7"),
        ('a or "b', "-k: expected a word between two quotes at column 6"),
        ('a or ""', "-k: expected a word between two quotes at column 6"),
        ("(" * 60 + "a" + ")" * 60, "-k: expected no more than 50 levels of parentheses at column 52"),
    ],
)
def test_bad_syntax_is_reported_with_its_column(expression: str, what: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_selection(expression)
    assert caught.value.what == what
    column = int(what.rpartition(" ")[2])
    assert caught.value.why == f"{expression}\n{' ' * (column - 1)}^"


@given(st.text(alphabet='ab ()"andornt\t', max_size=40) | st.text(max_size=40))
def test_any_text_is_an_expression_or_bad_input(expression: str) -> None:
    try:
        selection = parse_selection(expression)
    except BadInput:
        return
    assert selection.picks(LABELS) in {True, False}
    assert selection.words
