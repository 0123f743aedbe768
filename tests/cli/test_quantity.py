"""Quantities in options: one notation, and messages that name the option."""

import click
import pytest
from click.testing import CliRunner

from s3bench.cli.quantity import SECONDS, parse_duration, parse_option, parse_size
from s3bench.errors import BadInput
from s3bench.units import parse_bytes
from tests.cli.conftest import Here


@click.command()
@click.option("--timeout", type=SECONDS, default=600)
def command(timeout: float) -> None:
    click.echo(repr(timeout))


@pytest.mark.parametrize(
    ("arguments", "shown"), [((), "600.0"), (("--timeout", "0.5"), "0.5"), (("--timeout", "10m"), "600.0")]
)
def test_seconds_are_a_number_or_have_a_unit(arguments: tuple[str, ...], shown: str) -> None:
    assert CliRunner().invoke(command, arguments).stdout.strip() == shown


@pytest.mark.parametrize("text", ["0", "-1", "nan", "soon"])
def test_seconds_that_make_no_sense_are_refused_by_the_name_of_the_option(text: str) -> None:
    result = CliRunner().invoke(command, ["--timeout", text])
    assert result.exit_code == 2
    assert f"Invalid value for '--timeout': is \"{text}\", which is " in result.stderr


def test_a_duration_has_a_unit_and_a_size_is_at_least_a_byte() -> None:
    assert parse_duration("--max-time", "30m") == 1800.0
    assert parse_size("--size", "10GiB") == 10 * 2**30
    assert parse_option("--memory-limit", "0", parse_bytes) == 0
    for read, text in ((parse_duration, "30"), (parse_duration, "0s"), (parse_size, "0"), (parse_size, "much")):
        with pytest.raises(BadInput, match=f'--it is "{text}", which is not') as caught:
            read("--it", text)
        assert caught.value.fix.startswith("write ")


@pytest.mark.parametrize("text", ["nan", "-nan", "inf", "1e999"])
@pytest.mark.parametrize(
    "option",
    [
        ("gate", "--false-alarm"),
        ("gate", "--miss"),
        ("bisect", "--error"),
        ("tune", "--machine-price"),
        ("tune", "--request-prices", "1"),
    ],
)
def test_a_number_that_is_not_finite_is_refused_by_the_name_of_the_option(
    here: Here, option: tuple[str, ...], text: str
) -> None:
    finished = here(*option, text)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert f"Invalid value for '{option[1]}'" in finished.stderr
    assert "is not a finite number" in finished.stderr or "is not in the range" in finished.stderr
