"""Settings that vary: which keys and values there are, and what a definition becomes."""

import pytest

from s3bench.clients.awsconfig import block_settings
from s3bench.clients.parameter_list import ParameterList, is_varied, parse_parameter_list, parse_parameter_scan, vary
from s3bench.clients.registry import known_clients
from s3bench.errors import BadInput
from s3bench.spec.awsconfig import check_config
from s3bench.spec.awsconfig_table import config_blocks
from s3bench.spec.definition import Definition, Environment

UPLOAD = Definition(
    name="s3.cp.upload",
    command=("s3", "cp", "a", "s3://b/k"),
    dimensions=(("FileSize", "32MB"),),
    environment=Environment(config="[default]\nregion = eu-west-1\ns3 =\n  multipart_chunksize = 5MB\n"),
)
LIST = Definition(name="ec2", command=("ec2", "describe-regions"))


def scan(*words: str, step: str | None = None) -> tuple[str, ...]:
    name, first, last = words
    return parse_parameter_scan(name, first, last, step).values


def test_a_list_names_a_key_of_the_block_s3_or_of_a_clients_own() -> None:
    assert parse_parameter_list("multipart_chunksize", "8MB, 16MB,1GiB") == ParameterList(
        block="s3", key="multipart_chunksize", values=("8MB", "16MB", "1GiB")
    )
    own = parse_parameter_list("s5cmd.numworkers", "4,256")
    assert (own.block, own.key, own.name) == ("s5cmd", "numworkers", "s5cmd.numworkers")
    assert parse_parameter_list("s3.max_concurrent_requests", "5").name == "max_concurrent_requests"


SWITCHES = {"direct_io", "payload_signing_enabled", "should_stream"}
VALUES = {"addressing_style": "path", "part_size": "7MB", "us_east_1_regional_endpoint": "legacy"}


def test_every_setting_of_a_definition_but_the_transfer_client_can_vary() -> None:
    for block, keys in config_blocks(known_clients()).items():
        for key in keys - {"preferred_transfer_client"}:
            is_switch = block == "s3" and ("use_" in key or "disable_" in key or key in SWITCHES)
            value = VALUES.get(key, "true" if is_switch else "7")
            assert parse_parameter_list(f"{block}.{key}", value, is_live=True).key == key


@pytest.mark.parametrize("name", ["addressing_style", "s3.addressing_style"])
def test_the_addressing_style_varies_on_live_endpoints_alone(name: str) -> None:
    with pytest.raises(BadInput, match=r"s3bench sets it to `path` for its own endpoints") as caught:
        parse_parameter_list(name, "path,virtual")
    assert "--endpoint-url" in caught.value.fix
    assert parse_parameter_list(name, "path,virtual", is_live=True).values == ("path", "virtual")


def test_a_scan_counts_from_min_to_max_in_their_unit() -> None:
    assert scan("max_concurrent_requests", "1", "4") == ("1", "2", "3", "4")
    assert scan("max_concurrent_requests", "5", "20", step="6") == ("5", "11", "17")
    assert scan("multipart_chunksize", "8MB", "24MB", step="8MB") == ("8MB", "16MB", "24MB")
    assert scan("max_bandwidth", "100MB/s", "102MB/s") == ("100MB/s", "101MB/s", "102MB/s")
    assert scan("max_concurrent_requests", "9", "9") == ("9",)


@pytest.mark.parametrize(
    ("name", "values", "what", "fix"),
    [
        ("multipart_chunksiz", "8MB", "multipart_chunksiz: there is no such setting", "did you mean `multipart_chunks"),
        ("s5cmd.workers", "8", "s5cmd.workers: there is no such setting", "did you mean `s5cmd.numworkers`?"),
        ("nothing.at.all", "8", "nothing.at.all: there is no such setting", "the settings are `addressing_style`, "),
        ("multipart_chunksize", "8MB,x", "multipart_chunksize: 'x' is not a value of it", "write bytes, or a size"),
        ("multipart_chunksize", "8MB,", "multipart_chunksize has an empty or unprintable value", "write them as 8MB"),
        ("signature_version", "a\nb", "signature_version has an empty or unprintable value", "write them as 8MB"),
        ("max_concurrent_requests", "0", "max_concurrent_requests: '0' is not a value of it", "write a number above"),
        ("max_queue_size", "many", "max_queue_size: 'many' is not a value of it", "write a number above 0"),
        ("max_bandwidth", "5 miles", "max_bandwidth: '5 miles' is not a value of it", "write a rate such as"),
        (
            "addressing_style",
            "foo",
            "addressing_style: 'foo' is not a value of it",
            "write `auto`, `path` or `virtual`",
        ),
        ("s5cmd.part_size", "100KB", "s5cmd.part_size: '100KB' is not a value of it", "write 64MB, say"),
        ("s5cmd.part_size", "-1", "s5cmd.part_size: '-1' is not a value of it", "write bytes, or a size"),
        ("rclone.transfers", "4MB", "rclone.transfers: '4MB' is not a value of it", "write a number above 0"),
        ("max_concurrent_requests", "5,6,5", "max_concurrent_requests has 5 twice", "write each value once"),
        ("preferred_transfer_client", "crt", "preferred_transfer_client: s3bench sets it", "select clients instead"),
    ],
)
def test_a_key_or_value_that_is_none_is_bad_input_that_names_the_option(
    name: str, values: str, what: str, fix: str
) -> None:
    with pytest.raises(BadInput) as caught:
        parse_parameter_list(name, values)
    assert caught.value.what.startswith(f"--parameter-list {what}")
    assert caught.value.fix.startswith(fix)


def test_a_key_that_no_definition_may_set_is_refused_with_the_reason() -> None:
    with pytest.raises(BadInput) as caught:
        parse_parameter_list("credential_process", "x")
    assert caught.value.why == "it runs a program"


@pytest.mark.parametrize(
    ("words", "step", "what"),
    [
        (("multipart_chunksize", "8MB", "64MB"), "8", "8MB 64MB 8 have different units"),
        (("multipart_chunksize", "512KB", "8MB"), None, "512KB 8MB have different units"),
        (("max_concurrent_requests", "9", "1"), None, "9 is more than 1"),
        (("max_concurrent_requests", "1", "x"), None, "'x' is not a whole number"),
        (("max_concurrent_requests", "1", "1.5"), None, "'1.5' is not a whole number"),
        (("max_concurrent_requests", "1", "9"), "0", "--parameter-step-size is 0"),
        (("max_concurrent_requests", "1", "2000"), None, "has 2,000 values, more than 1,000"),
        (("max_concurrent_requests", "0", "2"), None, "'0' is not a value of it"),
    ],
)
def test_a_scan_without_sense_is_bad_input_that_names_the_option(
    words: tuple[str, ...], step: str | None, what: str
) -> None:
    with pytest.raises(BadInput) as caught:
        scan(*words, step=step)
    assert "--parameter-s" in caught.value.what
    assert what in caught.value.what
    assert caught.value.fix


def test_each_combination_of_values_is_a_definition_with_its_dimensions_and_config() -> None:
    lists = (
        parse_parameter_list("multipart_chunksize", "8MB,16MB"),
        parse_parameter_list("s5cmd.numworkers", "4,8"),
    )
    varied = vary((UPLOAD, LIST), lists)
    assert [definition.dimensions for definition in varied] == [
        (("FileSize", "32MB"), ("multipart_chunksize", chunk), ("s5cmd.numworkers", workers))
        for chunk in ("8MB", "16MB")
        for workers in ("4", "8")
    ]
    config = varied[-1].environment.config
    assert block_settings(config, "s3") == {"multipart_chunksize": "16MB"}
    assert block_settings(config, "s5cmd") == {"numworkers": "8"}
    assert "region = eu-west-1" in config
    assert check_config(config, known_clients()) is None
    assert (is_varied(UPLOAD), is_varied(LIST)) == (True, False)


@pytest.mark.parametrize(
    ("command", "varies"),
    [
        ("--no-cli-pager s3 cp a s3://b/k", True),
        ("--region eu-west-1 s3api head-bucket", True),
        ("--region s3 ec2 describe-regions", False),
        ("--version", False),
    ],
)
def test_options_before_the_service_do_not_hide_it(command: str, *, varies: bool) -> None:
    assert is_varied(Definition(name="x", command=tuple(command.split()))) is varies


def test_values_that_would_clash_or_are_too_many_are_bad_input() -> None:
    chunks = parse_parameter_list("multipart_chunksize", "8MB")
    with pytest.raises(BadInput, match="multipart_chunksize is given by several"):
        vary((UPLOAD,), (chunks, chunks))
    (once,) = vary((UPLOAD,), (chunks,))
    with pytest.raises(BadInput, match="has the dimension multipart_chunksize already"):
        vary((once,), (chunks,))
    many = [parse_parameter_scan(name, "1", "40", None) for name in ("max_concurrent_requests", "max_queue_size")]
    with pytest.raises(BadInput, match="have 1,600 combinations"):
        vary((UPLOAD,), tuple(many))
