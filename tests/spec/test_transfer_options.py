import pytest

from s3bench.spec.transfer_options import CommandLine, Option, split_command


@pytest.mark.parametrize(
    ("command", "words", "options"),
    [
        ("s3 cp a b", "s3 cp a b", []),
        ("s3 cp --quiet a b", "s3 cp a b", [("--quiet", ())]),
        ("s3 cp --acl private a b", "s3 cp a b", [("--acl", ("private",))]),
        ("s3 cp a b --include=*.x", "s3 cp a b", [("--include", ("*.x",))]),
        ("s3 cp a b --sse --quiet", "s3 cp a b", [("--sse", ()), ("--quiet", ())]),
        ("s3 cp --sse AES256 a b", "s3 cp a b", [("--sse", ("AES256",))]),
        ("s3 cp a b --grants x y z --quiet", "s3 cp a b", [("--grants", ("x", "y", "z")), ("--quiet", ())]),
        ("s3 cp --exclude", "s3 cp", [("--exclude", ())]),
        ("s3 cp - s3://b -- --quiet", "s3 cp - s3://b --quiet", []),
        ("s3 cp --exclude --quiet a", "s3 cp a", [("--exclude", ("--quiet",))]),
    ],
)
def test_options_take_their_values_and_leave_the_words(
    command: str, words: str, options: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert split_command(tuple(command.split())) == CommandLine(
        words=tuple(words.split()),
        words_at_most=tuple(words.split()),
        options=tuple(Option(name=name, values=values, known=True) for name, values in options),
    )


def test_what_follows_an_unknown_option_may_be_a_word() -> None:
    line = split_command(("s3", "cp", "--new", "a", "b", "--newer=x"))
    assert line.words == ("s3", "cp", "b")
    assert line.words_at_most == ("s3", "cp", "a", "b")
    assert line.options == (
        Option(name="--new", values=("a",), known=False),
        Option(name="--newer", values=("x",), known=False),
    )
