import json

import pytest

from s3bench.clients.registry import known_clients
from s3bench.errors import BadDefinitions
from s3bench.spec.awsconfig import check_config, transfer_kind
from s3bench.spec.awsconfig_table import PROFILE_KEYS, config_blocks
from s3bench.spec.parse import parse_definitions


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[default]", None),
        ("", None),
        ("[default]\ns3 =\n preferred_transfer_client = crt", "cli-crt"),
        ("[default]\ns3 =\n preferred_transfer_client = classic", "cli-classic"),
        ("[default]\ns3 =\n preferred_transfer_client = default", "cli-classic"),
        ("[default]\ns3=\n\tmultipart_chunksize=8MB\n\tpreferred_transfer_client=crt\nregion=x", "cli-crt"),
        ("[default]\ns3 =\n preferred_transfer_client = auto", None),
        ("[default]\npreferred_transfer_client = crt", None),
        ("[profile default]\nS3 =\n preferred_transfer_client = crt", "cli-crt"),
        ("[profile x]\ns3 =\n preferred_transfer_client = crt", None),
        ("[DEFAULT]\ns3 =\n preferred_transfer_client = crt\n[default]", None),
        ("no section", None),
    ],
)
def test_the_transfer_client_is_that_of_the_default_profile(text: str, kind: str | None) -> None:
    assert transfer_kind(text, known_clients()) == kind


@pytest.mark.parametrize(
    "text",
    ["region = x", "[default", "[default]\n[default]", "[a]\nx = 1\nx = 2", "[a]\nloose", "[default]\ns3 =\n  loose"],
)
def test_what_the_clients_cannot_read_is_reported(text: str) -> None:
    complaint = check_config(text, known_clients())
    assert complaint is not None
    assert complaint.what.startswith("is not an AWS config: ")
    assert "\n" not in complaint.what
    assert complaint.fix


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[default]",
        "# only a comment",
        "[default]\nregion=%(x)s",
        "[profile default]\noutput: json\nRetry_Mode = adaptive",
        "[default]\ns3 =\n  # a comment\n\n  max_bandwidth = 5MB/s\nregion = x",
        "[default]\ns3 =\n  multipart_chunksize = 8MB\ns5cmd =\n  numworkers = 8\n  part_size = 64MB",
    ],
)
def test_what_the_clients_can_read_is_right(text: str) -> None:
    assert check_config(text, known_clients()) is None


SWITCHES = {key for key in PROFILE_KEYS if key.startswith(("disable_", "s3_disable_", "use_"))} | {
    "parameter_validation", "s3_use_arn_region", "tcp_keepalive",
}  # fmt: skip
VALUES = {
    "account_id_endpoint_mode": "Preferred",
    "cli_binary_format": "base64",
    "cli_timestamp_format": "wire",
    "defaults_mode": "In-Region",
    "max_attempts": "3",
    "output": "yaml-stream",
    "request_checksum_calculation": "WHEN_REQUIRED",
    "request_min_compression_size_bytes": "0",
    "response_checksum_validation": "when_supported",
    "retry_mode": "adaptive",
    "s3_us_east_1_regional_endpoint": "legacy",
    "sts_regional_endpoints": "regional",
}


@pytest.mark.parametrize("key", sorted(PROFILE_KEYS))
def test_a_key_that_changes_how_a_client_works_is_allowed(key: str) -> None:
    value = VALUES.get(key, "true" if key in SWITCHES else "x")
    assert check_config(f"[profile default]\n{key} = {value}", known_clients()) is None


BLOCKS = config_blocks(known_clients())


@pytest.mark.parametrize(("block", "key"), [(block, key) for block, keys in BLOCKS.items() for key in sorted(keys)])
def test_a_setting_of_transfers_is_allowed(block: str, key: str) -> None:
    values = {
        "addressing_style": "path", "part_size": "1MB", "preferred_transfer_client": "crt",
        "us_east_1_regional_endpoint": "legacy",
    }  # fmt: skip
    is_switch = block == "s3" and ("use_" in key or "disable_" in key or key in {"direct_io", "should_stream"})
    value = "true" if is_switch or key == "payload_signing_enabled" else values.get(key, "1")
    assert check_config(f"[default]\n{block} =\n  {key} = {value}", known_clients()) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("max_concurrent_requests", value) for value in ("0", "-1", "many", "", "1KB", "20 # x", "9" * 23)),
        ("max_concurrent_requests", "9" * 5000),
        *(("max_queue_size", value) for value in ("0", "1e3")),
        *(("multipart_chunksize", value) for value in ("8Mi", "8M", "8B", "0", "-8MB", "8 apples", "9999999TB")),
        *(("multipart_threshold", value) for value in ("0KB", "8.5MB", "MB")),
        ("io_chunksize", "0"),
        *(("max_bandwidth", value) for value in ("fast", "10M", "10MB", "10MB/S", "7b/s", "0B/s", "B/s", "-1MB/s")),
        ("target_bandwidth", "10 apples/s"),
        ("disk_throughput", "0"),
        *(("preferred_transfer_client", value) for value in ("crtt", "CRT", "")),
        *(("addressing_style", value) for value in ("foo", "Path")),
        *(("use_accelerate_endpoint", value) for value in ("yes", "1", "")),
    ],
)  # fmt: skip
def test_a_value_that_no_client_can_use_is_reported_with_its_place(key: str, value: str) -> None:
    complaint = check_config(f"[profile default]\ns3 =\n  {key} = {value}", known_clients())
    assert complaint is not None
    assert complaint.what.startswith(f'sets `{key}` under `s3 =` in `[profile default]` to "{value[:50]}')
    assert complaint.fix.startswith("write ")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("max_concurrent_requests", value) for value in ("1", "+20", "1_000", "1000000")),
        *(("multipart_chunksize", value) for value in ("8388608", "8MB", "8mb", "8Mb", "8 MB", "8MiB", "1Tib")),
        *(("max_bandwidth", value) for value in ("1048576", "10MB/s", "10 MB/s", "10mB/s", "10MiB/s", "100B/s")),
        *(("target_bandwidth", value) for value in ("100Gb/s", "10000000000b/s", "5gb/s")),
        ("disk_throughput", "4GB/s"),
        *(("preferred_transfer_client", value) for value in ("auto", "classic", "crt", "default")),
        *(("addressing_style", value) for value in ("auto", "path", "virtual")),
        *(("payload_signing_enabled", value) for value in ("true", "False")),
        ("signature_version", "s3v4"),
    ],
)  # fmt: skip
def test_a_value_that_aws_cli_takes_is_right(key: str, value: str) -> None:
    assert check_config(f"[default]\ns3 =\n  {key} = {value}", known_clients()) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("retry_mode", value) for value in ("adaptve", "Standard", "")),
        *(("tcp_keepalive", value) for value in ("yes", "on", "1")),
        ("request_checksum_calculation", "always"),
        *(("max_attempts", value) for value in ("0", "many")),
        *(("request_min_compression_size_bytes", value) for value in ("-1", "10485761", "10KB")),
        ("defaults_mode", "fast"),
        ("output", "xml"),
    ],
)
def test_a_value_of_a_profile_that_botocore_rejects_or_misunderstands_is_reported(key: str, value: str) -> None:
    complaint = check_config(f"[profile default]\n{key} = {value}", known_clients())
    assert complaint is not None
    assert complaint.what.startswith(f'sets `{key}` in `[profile default]` to "{value}": ')
    assert complaint.fix.startswith("write ")


def test_a_value_that_no_client_can_use_is_a_problem_of_the_definition() -> None:
    config = "[default]\ns3 =\n  max_concurrent_requests = 0"
    definition = {"name": "a", "command": ["s3", "ls"], "environment": {"config": config}}
    with pytest.raises(BadDefinitions) as caught:
        parse_definitions(json.dumps([definition]), "mine.json", known_clients())
    assert [problem.path for problem in caught.value.problems] == ["$[0].environment.config"]


@pytest.mark.parametrize(
    ("block", "line", "said"),
    [
        ("s5cmd", "numworkers = 0", 'to "0": it is not a whole number'),
        ("s5cmd", "part_size = 100KB", 'to "100KB": its parts are whole MiB'),
        ("obstore", "chunk_size = much", 'to "much": it is not a size'),
        ("rclone", "transfers = 4MB", 'to "4MB": it is not a whole number'),
    ],
)
def test_a_value_of_a_clients_own_block_is_checked_too(block: str, line: str, said: str) -> None:
    complaint = check_config(f"[default]\n{block} =\n  {line}", known_clients())
    assert complaint is not None
    key = line.partition(" ")[0]
    assert complaint.what.startswith(f"sets `{key}` under `{block} =` in `[default]` {said}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[plugins]\ncli_legacy_plugin_path = .\nevil = evil",
            'the section "[plugins]", which is not allowed: it loads',
        ),
        (
            "[default]\n[services x]\ns3 =\n  endpoint_url = http://x",
            '"[services x]", which is not allowed: s3bench sets',
        ),
        ("[sso-session x]\nsso_region = y", "s3bench sets the credentials"),
        ("[DEFAULT]\ncredential_process = x", 'the section "[DEFAULT]", which is not allowed'),
        ("[ default ]\nregion = x", "is not allowed"),
        ("[profile a\\b]\nregion = x", "is not allowed"),
        ("[default]\ncredential_process = ./x", "`credential_process` in `[default]`, which is not allowed: it runs a"),
        ("[profile default]\ncli_pager = ./x", "it runs a program"),
        ("[default]\n[profile x]\nregion = x", '"[profile x]", which is not allowed: s3bench sets the profile'),
        ("[profile default]\nregion = x\n[default]", "both `[default]` and `[profile default]`"),
        ("[default]\nCLI_Pager = ./x", "it runs a program"),
        ("[default]\ncli_history = enabled", "it writes a record"),
        ("[default]\nrole_arn = x", "s3bench sets the credentials"),
        ("[default]\nweb_identity_token_file = x", "s3bench sets the credentials"),
        ("[default]\nsource_profile = x", "s3bench sets the credentials"),
        ("[default]\nsso_start_url = x", "s3bench sets the credentials"),
        ("[default]\naws_access_key_id = x", "s3bench sets the credentials"),
        ("[default]\nca_bundle = x", "the certificate"),
        ("[default]\nclient_cert = x", "the certificate"),
        ("[default]\nendpoint_url = http://x", "s3bench sets the endpoint"),
        ("[default]\nservices = x", "s3bench sets the endpoint"),
        (
            "[default]\ns3 =\n  endpoint_url = http://x",
            "`endpoint_url` under `s3 =` in `[default]`, which is not allowed",
        ),
        ("[default]\ndata_path = x", "it loads files"),
        ("[default]\napi_versions =\n  s3 = ../../x", "it loads files"),
        ("[default]\ncsm_host = x", "s3bench sets the endpoint"),
        ("[default]\nunheard_of = x", "`unheard_of` in `[default]`, which is not allowed"),
        ("[default]\ns3 =\n  unheard_of = x", "`unheard_of` under `s3 =`"),
        ("[default]\ns3 = crt", "sets `s3` in `[default]` to a value"),
        ("[default]\ns3 = a\n  max_queue_size = 1", "sets `s3` in `[default]` to a value"),
        ("[default]\nregion =\n  a = b", "a block `region`"),
        ("[default]\nregion = x\n  [plugins]", "a value of several lines"),
        ("[default]\nregion = x\r[plugins]\rcli_legacy_plugin_path = .", "has the character"),
        ("[default]\nregion = x\u2028[plugins]\u2028a = b", "has the character"),
        ("[default]\nregion = x\x0b[plugins]\x0ba = b", "has the character"),
        ("[default]\nregion = x\x85[plugins]", "has the character"),
    ],
)
def test_what_runs_code_or_leads_elsewhere_is_refused_with_its_reason(text: str, expected: str) -> None:
    complaint = check_config(text, known_clients())
    assert complaint is not None
    assert expected in complaint.what
    assert complaint.fix


def test_a_misspelt_key_gets_the_right_one() -> None:
    complaint = check_config("[default]\ns3 =\n  multipart_chunk_size = 8MB", known_clients())
    assert complaint is not None
    assert complaint.fix.startswith("did you mean `multipart_chunksize`? allowed are `addressing_style`, ")
