"""Quantities in options: one notation, and messages that name the option."""

import copy
import pickle
from collections.abc import Callable

import click
import pytest
from click.testing import CliRunner

from s3bench.cli.quantity import CHANCE, DURATION, SECONDS, SIZE, Duration, parse_option, parse_size
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


def test_a_duration_is_a_number_that_prints_as_it_was_typed() -> None:
    typed = DURATION.convert("1m30s", None, None)
    assert (typed, f"{typed}", DURATION.convert(typed, None, None)) == (90.0, "1m30s", 90.0)
    assert DURATION.convert("90", None, None) == 90.0
    assert SIZE.convert("1KiB", None, None) == 1024


@pytest.mark.parametrize(("text", "chance"), [("0.01", 0.01), ("1%", 0.01), ("0.5%", 0.005), (" 5 % ", 0.05)])
def test_a_chance_is_a_share_or_a_percentage(text: str, chance: float) -> None:
    assert CHANCE.convert(text, None, None) == pytest.approx(chance)


@pytest.mark.parametrize("text", ["0", "0%", "50%", "0.5", "1", "2%%"])
def test_a_chance_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="which is "):
        CHANCE.convert(text, None, None)


@pytest.mark.parametrize("command", ["gate", "bisect", "profile"])
@pytest.mark.parametrize("text", ["0s", "-1", "soon"])
def test_a_duration_that_makes_no_sense_is_refused_by_the_name_of_the_option(
    here: Here, command: str, text: str
) -> None:
    finished = here(command, "--max-time", text)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert f"Invalid value for '--max-time': is \"{text}\", which is " in finished.stderr
    assert "; write it like 20ms, 90s, 30m, 2h or 1m30s" in finished.stderr


@pytest.mark.parametrize("text", ["0", "-1", "nan", "soon"])
def test_seconds_that_make_no_sense_are_refused_by_the_name_of_the_option(text: str) -> None:
    result = CliRunner().invoke(command, ["--timeout", text])
    assert result.exit_code == 2
    assert f"Invalid value for '--timeout': is \"{text}\", which is " in result.stderr


def test_a_size_is_at_least_a_byte() -> None:
    assert parse_size("--size", "10GiB") == 10 * 2**30
    assert parse_option("--memory-limit", "0", parse_bytes) == 0
    for text in ("0", "much"):
        with pytest.raises(BadInput, match=f'--it is "{text}", which is not') as caught:
            parse_size("--it", text)
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
    assert "is not a finite number" in finished.stderr or "which is not a share" in finished.stderr


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_of_a_duration_prints_as_it_was_typed(copied: Callable[[Duration], Duration]) -> None:
    assert (copied(Duration("30m")), str(copied(Duration("30m")))) == (1800.0, "30m")
