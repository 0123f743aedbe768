"""The keys that `environment.config` may set, and the reasons against well-known others.

Allowed are keys that change how a client transfers, retries, signs or prints. Not allowed are keys that run a program,
load code or data, choose credentials or lead to another server. Sources: botocore/configprovider.py, and of aws-cli
2.38.5 awscli/topics/config-vars.rst and awscli/topics/s3-config.rst.
"""

import re
from collections.abc import Mapping

from s3bench.spec.client_traits import KnownClients

PROFILE_KEYS = frozenset({
    "account_id_endpoint_mode",
    "auth_scheme_preference",
    "cli_binary_format",
    "cli_error_format",
    "cli_timestamp_format",
    "defaults_mode",
    "disable_host_prefix_injection",
    "disable_request_compression",
    "max_attempts",
    "output",
    "parameter_validation",
    "region",
    "request_checksum_calculation",
    "request_min_compression_size_bytes",
    "response_checksum_validation",
    "retry_mode",
    "s3_disable_express_session_auth",
    "s3_disable_multiregion_access_points",
    "s3_us_east_1_regional_endpoint",
    "s3_use_arn_region",
    "sigv4a_signing_region_set",
    "sts_regional_endpoints",
    "tcp_keepalive",
    "use_dualstack_endpoint",
    "use_fips_endpoint",
})  # fmt: skip
"""Keys of a profile with a plain value."""

_S3_KEYS = frozenset({
    "addressing_style",
    "direct_io",
    "disable_s3_express_session_auth",
    "disk_throughput",
    "io_chunksize",
    "max_bandwidth",
    "max_concurrent_requests",
    "max_queue_size",
    "multipart_chunksize",
    "multipart_threshold",
    "payload_signing_enabled",
    "preferred_transfer_client",
    "s3_disable_multiregion_access_points",
    "should_stream",
    "signature_version",
    "target_bandwidth",
    "us_east_1_regional_endpoint",
    "use_accelerate_endpoint",
    "use_arn_region",
    "use_dualstack_endpoint",
})  # fmt: skip

_CREDENTIALS = "s3bench sets the credentials"
_ENDPOINT = "s3bench sets the endpoint"
_REASONS = (
    (re.compile(r"credential_process|cli_pager"), "it runs a program"),
    (re.compile(r"cli_auto_prompt"), "it waits for input from a keyboard"),
    (re.compile(r"cli_history"), "it writes a record of every command"),
    (re.compile(r"data_path|api_versions"), "it loads files"),
    (re.compile(r"ca_bundle|client_cert|proxy_.*"), "s3bench gives the client the certificate to trust"),
    (re.compile(r"aws_.*|role_.*|web_identity_.*|sso_.*|login_session|.*_profile|credential_source"), _CREDENTIALS),
    (re.compile(r"external_id|mfa_serial|duration_seconds"), _CREDENTIALS),
    (re.compile(r".*endpoint_url.*|services|endpoint_discovery_enabled|csm_.*"), _ENDPOINT),
    (re.compile(r".*metadata_.*|imds_.*"), "s3bench switches the instance metadata off"),
)
_SECTION_REASONS = (
    (re.compile(r"plugins"), "it loads code"),
    (re.compile(r"services\b.*"), _ENDPOINT),
    (re.compile(r"sso-session\b.*"), _CREDENTIALS),
    (re.compile(r"profile\b.*"), "s3bench sets the profile, so it would never be used"),
)
_SECTIONS = frozenset({"default", "profile default"})


def config_blocks(clients: KnownClients) -> Mapping[str, frozenset[str]]:
    """The blocks of a profile, and their keys. `s3` is the AWS CLI's own block, the others are s3bench's."""
    return {"s3": _S3_KEYS} | {each.config_block: each.config_keys for each in clients.values() if each.config_keys}


def is_allowed_section(heading: str) -> bool:
    """Whether `heading`, without its brackets, is a spelling of the default profile, the only one that is used."""
    return heading in _SECTIONS


def reason_against_section(heading: str) -> str:
    """The reason why a section is not allowed; empty for an unknown one."""
    return next((reason for pattern, reason in _SECTION_REASONS if pattern.fullmatch(heading.strip())), "")


def reason_against_key(key: str) -> str:
    """The reason why a key is not allowed; empty for an unknown one."""
    return next((reason for pattern, reason in _REASONS if pattern.fullmatch(key)), "")
