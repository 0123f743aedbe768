"""Real clients of an emulator in a process of its own."""

from typing import Any

import boto3
from botocore.config import Config

from s3bench.s3.endpoint import EmulatorEndpoint


def boto3_client(endpoint: EmulatorEndpoint, *, signature_version: str | None = None) -> Any:
    """A client that tries each request once."""
    return boto3.client(
        "s3",
        endpoint_url=endpoint.url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        verify=None if endpoint.ca_bundle is None else str(endpoint.ca_bundle),
        config=Config(retries={"total_max_attempts": 1}, signature_version=signature_version),
    )
