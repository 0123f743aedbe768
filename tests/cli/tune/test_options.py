"""The options of `s3bench tune`: what they ask for, and what they refuse before anything runs."""

import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from s3bench.cli.main import s3bench_command
from s3bench.cli.pair_options import typed_names
from s3bench.cli.tune.command import tune_command
from s3bench.cli.tune.options import TuneOptions
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.errors import BadInput, MachineError
from s3bench.tune.objective import Aim, Objective

GIB = 1 << 30
PLAIN = "upload --size 10GiB --network ec2:c5.large"
LIVE = "--endpoint-url http://127.0.0.1:9 --bucket b"


def typed(line: str) -> TuneOptions:
    """The options that click makes of a command line."""
    taken: list[TuneOptions] = []

    @click.command("tune", params=tune_command.params)
    def command(**options: Any) -> None:
        taken.append(TuneOptions.of(options, typed_names(click.get_current_context(), options)))

    result = CliRunner().invoke(command, shlex.split(line), standalone_mode=False)
    if result.exception:
        raise result.exception
    return taken[0]


def test_a_workload_is_a_direction_and_the_size_and_number_of_files() -> None:
    options = typed(f"{PLAIN} --files 20")
    assert options.workload == Workload(action=Action.UPLOAD, size_bytes=10 * GIB, files=20)
    assert typed(PLAIN).workload.files == 1


def test_without_clients_those_of_the_field_are_tried() -> None:
    usual = ("cli-classic", "cli-crt", "boto3-classic", "boto3-crt", "s5cmd")
    assert tuple(spec.kind for spec in typed(PLAIN).specs) == usual
    specs = typed(f"{PLAIN} --clients cli-crt@2.38.5,s5cmd").specs
    assert [str(spec) for spec in specs] == ["cli-crt@2.38.5", "s5cmd"]


def test_the_budget_is_ten_minutes_unless_told() -> None:
    assert typed(PLAIN).budget_s == 600
    assert typed(f"{PLAIN} --budget 90s").budget_s == 90


@pytest.mark.parametrize(
    ("option", "text"),
    [("size", "much"), ("size", "0"), ("budget", "soon"), ("max-memory", "0"), ("sample-size", "0")],
)
def test_a_quantity_that_makes_no_sense_is_refused_by_the_name_of_its_option(option: str, text: str) -> None:
    with pytest.raises(click.BadParameter, match=f'is "{text}", which is not') as caught:
        typed(f"{PLAIN} --{option} {text}")
    assert caught.value.param is not None
    assert caught.value.param.opts == [f"--{option}"]


def test_prices_are_those_of_the_objective() -> None:
    options = typed(f"{PLAIN} --objective cost-weighted --machine-price 2 --request-prices 0.01 0.001")
    assert options.aim == Objective(aim=Aim.COST, machine_per_hour=2.0, writes_per_1000=0.01, reads_per_1000=0.001)


def test_predictions_are_of_another_size_number_or_machine() -> None:
    options = typed(f"{PLAIN} --predict size=1GiB,files=3,instance=c5n.18xlarge --predict files=7")
    first, second = options.others(options.workload, is_live=False)
    assert first.workload == Workload(action=Action.UPLOAD, size_bytes=GIB, files=3)
    assert first.network is not None
    assert first.network.nic_up_bytes_per_s == 8003e6
    assert second.workload == Workload(action=Action.UPLOAD, size_bytes=10 * GIB, files=7)
    assert second.network is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "the transfer to tune is missing"),
        ("upload --network ec2:c5.large", "the transfer to tune is missing"),
        ("upload --size 1GiB", "needs one network"),
        (f"{PLAIN} --endpoint-url http://127.0.0.1:9 --bucket b", "needs one network"),
        ("upload --size 1GiB --endpoint-url http://127.0.0.1:9", "--endpoint-url and --bucket need each other"),
        (
            "upload --size 1GiB --endpoint-url http://me:secret@127.0.0.1:9 --bucket b",
            "holds a user name or a password",
        ),
        ("upload --size 1GiB --endpoint-url http://127.0.0.1:9 --bucket b --tls", "--tls"),
        (f"{PLAIN} --bucket b", "--endpoint-url and --bucket need each other"),
        ("upload --size 1GiB --network ec2:c5.larg", "there is no preset"),
        (f"{PLAIN} --clients cli-classik", "there is no client"),
        (f"{PLAIN} --clients s5cmd,s5cmd", "named twice"),
        (f"{PLAIN} --machine-price 1", "cost-weighted"),
        (f"{PLAIN} --predict speed=1", "'speed' cannot be read"),
        (f"{PLAIN} --predict files=0", "'0' is not a number of files"),
        (f"{PLAIN} --predict instance=c5.larg", "there is no preset"),
        (f"{PLAIN} --compare-clients --study x.jsonl", "--compare-clients keeps no study"),
        (f"{PLAIN} --rounds 3", "--rounds cannot be used without --compare-clients"),
        (f"{PLAIN} --predict files=²", "'²' is not a number of files"),
        (f"{PLAIN} --predict files={'9' * 5000}", "is not a number of files"),
        (f"upload --size 1GiB {LIVE} --predict size=2GiB", "--predict needs a network model"),
        (
            f"upload --size 1GiB {LIVE} --objective throughput",
            "--endpoint-url cannot be combined with --objective throughput",
        ),
        (
            f"upload --size 1GiB {LIVE} --objective cost-weighted --request-prices 1 1",
            "--endpoint-url cannot be combined with --request-prices",
        ),
        (f"{PLAIN} --predict size=1GiB,size=2GiB", "--predict size=1GiB,size=2GiB: a key is given twice"),
        (f"{PLAIN} --compare-clients --budget 10m", "--compare-clients cannot be combined with --budget"),
        (f"{PLAIN} --compare-clients --search grid", "--compare-clients cannot be combined with --search"),
        (f"{PLAIN} --compare-clients --max-memory 1GiB", "--compare-clients cannot be combined with --max-memory"),
        (f"{PLAIN} --compare-clients --objective throughput", "--compare-clients cannot be combined with --objective"),
        (f"{PLAIN} --compare-clients --predict size=1GiB", "--compare-clients cannot be combined with --predict"),
        # Equal to the defaults:
        (f"{PLAIN} --rounds 6", "--rounds cannot be used without --compare-clients"),
        (f"{PLAIN} --sample-size 2GiB", "--sample-files and --sample-size cannot be used without FOLDER or --like"),
        (f"{PLAIN} --compare-clients --search race", "--compare-clients cannot be combined with --search"),
        ("upload . --files 1 --network ec2:c5.large", "FOLDER cannot be combined with --files"),
        ("--resume a --replay b", "cannot be combined"),
        ("upload --resume a", "--resume cannot be combined with the direction"),
        ("--replay a --network ec2:c5.large", "--replay cannot be combined with --network"),
    ],
)
def test_what_contradicts_itself_is_told(line: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        typed(line)
    assert said in caught.value.what


@pytest.mark.parametrize("mode", ["--resume", "--replay"])
@pytest.mark.parametrize(
    "given",
    [
        "--files 3",
        "--sample-files 3",
        "--sample-size 1GiB",
        "--endpoint-url http://127.0.0.1:9",
        "--bucket b",
        "--tls",
        "--objective throughput",
        "--machine-price 1",
        "--request-prices 1 1",
        "--search grid",
        "--no-disk",
        "--rounds 3",
        "--max-memory 1GiB",
        "--compare-clients",
        # Equal to the defaults:
        "--files 1",
        "--sample-files 1000",
        "--objective time",
        "--search race",
        "--rounds 6",
    ],
)
def test_what_a_study_already_tells_is_refused_with_it(mode: str, given: str) -> None:
    option = given.partition(" ")[0]
    with pytest.raises(BadInput, match=f"^{mode} cannot be combined with {option}"):
        typed(f"{mode} a {given}")


@pytest.mark.parametrize("given", ["--budget 1m", "--timeout 5", "--timeout 3600", "--allow-unsandboxed"])
def test_what_changes_runs_is_refused_where_none_are_made(given: str) -> None:
    assert typed(f"--resume a {given}").resume == Path("a")
    option = given.partition(" ")[0]
    with pytest.raises(BadInput, match=f"^--replay cannot be combined with {option}"):
        typed(f"--replay a {given}")


def test_what_shows_a_result_is_taken_with_a_study() -> None:
    for mode in ("--resume", "--replay"):
        options = typed(f"{mode} a --predict size=1GiB --json --markdown b --verbose --force -q")
        assert options.predict == ("size=1GiB",)


@pytest.mark.parametrize(
    ("line", "free"),
    [
        (f"upload --size 1GiB {LIVE} --machine-price 0", True),
        (f"upload --size 1GiB {LIVE} --machine-price 1", False),
        (f"{PLAIN} --machine-price 0", False),
        (f"{PLAIN} --machine-price 0 --request-prices 0 1", True),
        (f"{PLAIN} --machine-price 0 --request-prices 1 0", False),
        (f"{PLAIN} --machine-price 1 --request-prices 0 0", False),
        ("download --size 1MiB --network ec2:c5.large --machine-price 0 --request-prices 0 1", False),
        ("download --size 1MiB --network ec2:c5.large --machine-price 0 --request-prices 1 0", True),
        ("sync --size 1MiB --network ec2:c5.large --machine-price 0 --request-prices 0 1", True),
    ],
)
def test_prices_at_which_a_run_could_cost_nothing_are_refused(line: str, free: bool) -> None:
    priced = f"{line} --objective cost-weighted"
    if not free:
        assert typed(priced).aim.aim is Aim.COST
        return
    with pytest.raises(BadInput, match="a run could cost nothing"):
        typed(priced)


def tune(*arguments: str) -> Result:
    return CliRunner().invoke(s3bench_command, ["tune", *arguments])


def test_help_has_examples_and_exit_codes() -> None:
    result = tune("--help")
    assert result.exit_code == 0
    assert "s3bench tune upload --size 10GiB" in result.stdout
    assert "Exit code 0" in result.stdout


def test_a_study_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    path.write_text("mine")
    result = tune(*shlex.split(PLAIN), "--study", str(path))
    assert isinstance(result.exception, BadInput)
    assert path.read_text() == "mine"


def test_a_download_that_fits_no_memory_is_refused_before_a_file_is_written(tmp_path: Path) -> None:
    study = tmp_path / "tune.jsonl"
    result = tune("download", "--size", "900TiB", "--network", "ec2:c5.large", "--study", str(study))
    assert isinstance(result.exception, MachineError)
    assert "not enough memory" in result.exception.what
    assert "--predict" in result.exception.fix
    assert not study.exists()
