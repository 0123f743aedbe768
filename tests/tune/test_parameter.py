"""The knobs of each client and their defaults."""

from s3bench.spec.definition import ClientKind
from s3bench.tune.parameter import (
    MIB,
    Parameter,
    defaults_of,
    knobs_of,
)
from s3bench.tune.workload import Action, Workload

DOWN = Workload(action=Action.DOWNLOAD, size_bytes=64 * MIB)


def test_every_parameter_has_its_clients_own_default() -> None:
    assert defaults_of(ClientKind.S5CMD) == {"numworkers": 256, "concurrency": 5, "part_size": 50 * MIB}
    assert defaults_of(ClientKind.CLI_CRT)["multipart_chunksize"] is None
    assert defaults_of(ClientKind.CLI_CLASSIC)["io_chunksize"] == 256 * 1024
    known: tuple[Parameter, ...] = knobs_of(ClientKind.CLI_CLASSIC, DOWN)
    assert defaults_of(ClientKind.CLI_CLASSIC).items() >= {(knob.name, knob.default) for knob in known}
