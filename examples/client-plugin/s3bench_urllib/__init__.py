"""urllib as a client of s3bench: unsigned requests, one after the other."""

import platform
import sys
from pathlib import Path

from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.descriptor import ClientDescriptor
from s3bench.clients.driver import invoke_driver
from s3bench.clients.launch import ClientLaunch, Invocation
from s3bench.clients.package import ClientPackage
from s3bench.clients.store import ClientStore
from s3bench.clients.tuning.client_tuning import PYTHON, ClientRecipe, ClientTuning
from s3bench.s3.wirelog import TransferEngine

DRIVER = Path(__file__).parent / "driver"


def find(spec: ClientSpec, _store: ClientStore, _path: str) -> FoundClient:
    """It comes with every Python: its version is Python's."""
    return FoundClient(kind=spec.kind, version=platform.python_version(), executable=Path(sys.executable))


def invoke(launch: ClientLaunch) -> Invocation:
    """s3bench's own driver runs it, with the backend in `driver`."""
    return invoke_driver(launch, DRIVER)


CLIENTS = (
    ClientDescriptor(
        name="urllib",
        runs_unnamed=True,
        package=ClientPackage(name="urllib", index_name="s3bench-urllib", requirement="s3bench-urllib=={}"),
        find=find,
        invoke=invoke,
        engine=TransferEngine.OTHER,
        tuning=ClientTuning(
            parameters=lambda _workload: (),
            requests_at_once=lambda _values, _workload, _parts, _habits: 1,
            recipe=lambda _version, _values: ClientRecipe(where=PYTHON, lines=("import urllib.request",)),
            more_at_once="(it makes one request at a time)",
            in_parts_from=lambda _values, workload: workload.size_bytes,
            is_bound_to_one_core=True,
        ),
        driver=DRIVER,
        libraries=("urllib", "http"),
    ),
)
