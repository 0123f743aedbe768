"""The parameters of each client and their defaults."""

from s3bench.clients.registry import known_client
from s3bench.clients.tuning.parameter import MIB
from s3bench.clients.tuning.workload import Action, Workload

DOWN = Workload(action=Action.DOWNLOAD, size_bytes=64 * MIB)


def defaults_of(client: str) -> dict[str, int | None]:
    return {name: parameter.default for name, parameter in known_client(client).tuning.all_parameters.items()}


def test_every_parameter_has_its_clients_own_default() -> None:
    assert defaults_of("s5cmd") == {"numworkers": 256, "concurrency": 5, "part_size": 50 * MIB}
    assert defaults_of("cli-crt")["multipart_chunksize"] is None
    assert defaults_of("cli-classic")["io_chunksize"] == 256 * 1024
    known = known_client("cli-classic").tuning.parameters_for(DOWN)
    assert defaults_of("cli-classic").items() >= {(each.name, each.default) for each in known}
