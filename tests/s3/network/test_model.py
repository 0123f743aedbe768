"""What people can write as a network model, and what they are told when it is wrong."""

import contextlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.errors import BadInput
from s3bench.s3.network.model import KEYS, NetworkModel, describe, parse_network, quantile
from s3bench.s3.network.presets import EC2_BYTES_PER_S


def test_a_preset_is_the_measured_link_of_that_instance() -> None:
    model = parse_network("ec2:t2.large")
    assert model == NetworkModel(
        text="ec2:t2.large",
        ttfb_p50_s=0.02,
        ttfb_p90_s=0.02,
        connection_bytes_per_s=93e6,
        nic_up_bytes_per_s=109e6,
        nic_down_bytes_per_s=109e6,
    )


def test_the_presets_are_the_155_instances_of_the_table() -> None:
    assert len(EC2_BYTES_PER_S) == 155
    assert EC2_BYTES_PER_S["c5n.18xlarge"] == 8003e6
    assert EC2_BYTES_PER_S["c5.large"] == 949e6
    assert EC2_BYTES_PER_S["t2.small"] == 39e6


def test_the_express_preset_delays_first_bytes_by_single_digit_milliseconds_and_limits_nothing() -> None:
    model = parse_network("express")
    assert model.ttfb_p50_s == model.ttfb_p90_s
    assert 0.001 <= model.ttfb_p90_s < 0.010
    assert model == NetworkModel(text="express", ttfb_p50_s=model.ttfb_p50_s, ttfb_p90_s=model.ttfb_p90_s)


def test_later_pairs_override_the_preset() -> None:
    model = parse_network("ec2:c5.large, ttfb=lognormal:15ms:40ms, nic_up=10Mbit/s, seed=7")
    assert (model.ttfb_p50_s, model.ttfb_p90_s) == (0.015, 0.04)
    assert (model.nic_up_bytes_per_s, model.nic_down_bytes_per_s) == (1.25e6, 949e6)
    assert model.seed == 7


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("ttfb=20ms", {"ttfb_p50_s": 0.02, "ttfb_p90_s": 0.02}),
        ("ttfb=0.5", {"ttfb_p50_s": 0.5, "ttfb_p90_s": 0.5}),
        ("bandwidth=93MB/s", {"connection_bytes_per_s": 93e6}),
        ("bandwidth=1MiB", {"connection_bytes_per_s": 1048576.0}),
        ("nic=949MB/s", {"nic_up_bytes_per_s": 949e6, "nic_down_bytes_per_s": 949e6}),
        ("nic=1gbit/s,nic_down=2Gbit/s", {"nic_up_bytes_per_s": 125e6, "nic_down_bytes_per_s": 250e6}),
        ("writes=3500,reads=5500/s", {"writes_per_s": 3500.0, "reads_per_s": 5500.0}),
        ("errors=0.01,resets=1e-3", {"error_rate": 0.01, "reset_rate": 0.001}),
        ("stalls=0.01:5s", {"stall_rate": 0.01, "stall_s": 5.0}),
    ],
)
def test_every_key_sets_its_own(text: str, changes: dict[str, Any]) -> None:
    assert parse_network(text) == NetworkModel(text=text, **changes)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the network model is empty"),
        ("ec2:c5.lage", "ec2:c5.large"),
        ("bandwith=1MB/s", "did you mean 'bandwidth'?"),
        ("ttfb=20 parsecs", 'ttfb is "20 parsecs", which is not a duration'),
        ("ttfb=lognormal:40ms:15ms", "the second not below the first"),
        ("ttfb=lognormal:40ms", "two durations"),
        ("ttfb=2h", "longer than 3600 s"),
        ("ttfb=3601s", "longer than 3600 s"),
        ("ttfb=samples:/nowhere", "cannot be read"),
        ("bandwidth=93", "not a bandwidth"),
        ("bandwidth=1B/s", "below 1000 B/s"),
        ("writes=0", 'writes is "0", which is not above 0'),
        ("errors=1.5", "more than the whole"),
        ("errors=0.5,resets=0.4,stalls=0.2:1s", "more than all requests"),
        ("stalls=0.01", "stalls needs the length of a stall"),
        ("seed=-1", "not a whole number"),
        ("seed=7,ec2:c5.large", "not a key=value pair"),
        ("/nowhere.json", "cannot be read"),
    ],
)
def test_what_is_wrong_is_told_with_what_is_right(text: str, told: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_network(text)
    assert told in str(caught.value)
    assert all(f"  {key}=" in caught.value.fix for key in KEYS)


def test_a_file_holds_the_same_keys_and_its_paths_are_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "first-bytes.txt").write_text("30ms\n\n0.01\n20ms\n")
    file = tmp_path / "link.json"
    content = {"preset": "ec2:m4.large", "ttfb": "samples:first-bytes.txt", "reads": 5500, "errors": 0.00001}
    file.write_text(json.dumps(content))
    model = parse_network(f"{file},seed=3")
    assert model.ttfb_samples_s == (0.01, 0.02, 0.03)
    assert (model.ttfb_p50_s, model.ttfb_p90_s) == (0.02, 0.03)
    assert (model.nic_up_bytes_per_s, model.reads_per_s, model.error_rate, model.seed) == (53e6, 5500.0, 1e-5, 3)


@pytest.mark.parametrize("content", ["[]", "{", '{"ttfb": null}', '{"seed": true}', '{"speed": 1}'])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "link.json"
    file.write_text(content)
    with pytest.raises(BadInput):
        parse_network(str(file))


@pytest.mark.parametrize("content", ["", "fast\n", "20ms 30ms\n"])
def test_samples_that_are_none_are_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "samples"
    file.write_text(content)
    with pytest.raises(BadInput):
        parse_network(f"ttfb=samples:{file}")


def test_a_new_ttfb_replaces_samples(tmp_path: Path) -> None:
    (tmp_path / "samples").write_text("1s\n")
    assert parse_network(f"ttfb=samples:{tmp_path}/samples,ttfb=20ms").ttfb_samples_s == ()


@given(st.text())
def test_any_text_is_a_model_or_bad_input(text: str) -> None:
    with contextlib.suppress(BadInput):
        assert parse_network(text).text == text


def test_a_model_crosses_a_channel_unchanged() -> None:
    model = parse_network("ec2:c5.large,ttfb=lognormal:15ms:40ms,stalls=0.01:5s,seed=7")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(model), type=NetworkModel) == model


def test_a_model_is_described_in_one_line() -> None:
    text = "ec2:t2.large,ttfb=lognormal:15ms:40ms,writes=3500,errors=0.01,stalls=0.001:5s,seed=7"
    assert describe(parse_network(text)) == (
        "first byte after 15 ms (p50), 40 ms (p90); 93 MB/s per connection; 109 MB/s up in all; 109 MB/s down in all; "
        "3500 writes/s per prefix; 0.01 errors; 0.001 stalls of 5 s; seed 7"
    )
    assert describe(parse_network("ttfb=20ms")) == "first byte after 20 ms; seed 0"


def test_the_quantile_is_what_a_draw_of_that_share_takes() -> None:
    values = tuple(float(number) for number in range(10))
    assert [quantile(values, share) for share in (0.0, 0.5, 0.9, 0.9999, 1.0)] == [0.0, 5.0, 9.0, 9.0, 9.0]
