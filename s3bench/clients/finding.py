"""Finds a client under test on this machine."""

import os
from collections.abc import Mapping

from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.registry import known_client
from s3bench.clients.store import ClientStore
from s3bench.errors import ClientNotFound, ExitCode


class UnusablePath(ClientNotFound):
    """The path that the user gave is not that of the client: the user's input is wrong."""

    exit_code = ExitCode.BAD_INPUT


def find_client(spec: ClientSpec, store: ClientStore, *, environment: Mapping[str, str] | None = None) -> FoundClient:
    """Find the client that `spec` asks for; raises `ClientNotFound` with the command that installs it.

    Each client defines where it is searched for. `environment` has PATH (default: ours).
    """
    path = (os.environ if environment is None else environment).get("PATH", "")
    try:
        return known_client(spec.kind).find(spec, store, path)
    except ClientNotFound as missing:
        if spec.path is None:
            raise
        raise UnusablePath(missing.what, missing.why, missing.fix) from missing
