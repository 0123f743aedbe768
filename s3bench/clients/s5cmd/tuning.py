"""s5cmd for the tuner: workers, and the parts of one file at once; flags. Source: `s5cmd --help`, `s5cmd cp --help`."""

from s3bench.clients.tuning.client_tuning import SHELL, ClientRecipe, ClientTuning, Habits, Values
from s3bench.clients.tuning.files_and_parts import FilesAndParts
from s3bench.clients.tuning.parameter import MIB
from s3bench.clients.tuning.workload import Workload

_GLOBAL = ("numworkers",)
_ENGINE = FilesAndParts(
    files="numworkers",
    files_default=256,
    files_choices=(8, 32, 64, 128, 256, 512),
    parts="concurrency",
    parts_default=5,
    part="part_size",
    part_default=50 * MIB,
)


def _requests_at_once(values: Values, workload: Workload, parts: int, _habits: Habits) -> int:
    return _ENGINE.requests_at_once(values, workload, parts)


def _recipe(_version: str, values: Values) -> ClientRecipe:
    flags = {name: value // MIB if name == "part_size" else value for name, value in values.items()}  # in whole MiB
    own = [f"--{name.replace('_', '-')} {value}" for name, value in flags.items() if name not in _GLOBAL]
    general = [f"--{name} {value}" for name, value in flags.items() if name in _GLOBAL]
    command = " ".join(("s5cmd", *general, "cp", *own, "SOURCE", "DESTINATION"))
    note = () if values else ("# nothing to set: all flags keep their defaults",)
    return ClientRecipe(where=SHELL, lines=(*note, command))


TUNING = ClientTuning(
    parameters=_ENGINE.parameters,
    requests_at_once=_requests_at_once,
    recipe=_recipe,
    more_at_once="--concurrency, for many files --numworkers",
    allowed_at_once=_ENGINE.allowed_at_once,
    is_first_part_alone=True,
    is_tried_by_default=True,
)
