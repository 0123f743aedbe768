"""s5cmd for the tuner: workers, and the parts of one file at once; flags. Source: `s5cmd --help`, `s5cmd cp --help`."""

from collections.abc import Iterator

from s3bench.clients.tuning.client_tuning import SHELL, ClientRecipe, ClientTuning, Habits, Values
from s3bench.clients.tuning.parameter import (
    MIB,
    PART_BYTES_MIN,
    Parameter,
    ParameterQuantity,
    ParameterRole,
    concurrency_choices,
    part_choices,
    parts_of,
)
from s3bench.clients.tuning.workload import Workload

_PART = 50 * MIB
_CONCURRENCY = 5
_WORKERS = 256
_WORKER_CHOICES = (8, 32, 64, 128, 256, 512)
_GLOBAL = ("numworkers",)


def _parameters(workload: Workload) -> Iterator[Parameter]:
    if workload.files > 1:
        yield Parameter(
            name="numworkers",
            role=ParameterRole.CONCURRENCY,
            quantity=ParameterQuantity.COUNT,
            default=_WORKERS,
            choices=concurrency_choices(workload.files, _WORKERS, of=_WORKER_CHOICES),
        )
    if workload.size_bytes > PART_BYTES_MIN:
        yield Parameter(
            name="concurrency",
            role=ParameterRole.CONCURRENCY,
            quantity=ParameterQuantity.COUNT,
            default=_CONCURRENCY,
            choices=concurrency_choices(parts_of(workload, PART_BYTES_MIN), _CONCURRENCY),
        )
        yield Parameter(
            name="part_size",
            role=ParameterRole.PART,
            quantity=ParameterQuantity.SIZE,
            default=_PART,
            choices=part_choices(workload, _PART),
        )


def _requests_at_once(values: Values, workload: Workload, parts: int, _habits: Habits) -> int:
    workers = min(workload.files, values.get("numworkers") or _WORKERS)
    return workers * min(parts, values.get("concurrency") or _CONCURRENCY)


def _allowed_at_once(name: str, values: Values, workload: Workload) -> int:
    """There are workers, one for each file, with their own parts at once."""
    if name == "numworkers":
        return values["numworkers"] * (values.get("concurrency") or _CONCURRENCY)
    return values["concurrency"] * min(workload.files, values.get("numworkers") or _WORKERS)


def _recipe(_version: str, values: Values) -> ClientRecipe:
    flags = {name: value // MIB if name == "part_size" else value for name, value in values.items()}  # in whole MiB
    own = [f"--{name.replace('_', '-')} {value}" for name, value in flags.items() if name not in _GLOBAL]
    general = [f"--{name} {value}" for name, value in flags.items() if name in _GLOBAL]
    command = " ".join(("s5cmd", *general, "cp", *own, "SOURCE", "DESTINATION"))
    note = () if values else ("# nothing to set: all flags keep their defaults",)
    return ClientRecipe(where=SHELL, lines=(*note, command))


TUNING = ClientTuning(
    parameters=_parameters,
    requests_at_once=_requests_at_once,
    recipe=_recipe,
    more_at_once="--concurrency, for many files --numworkers",
    allowed_at_once=_allowed_at_once,
    is_first_part_alone=True,
    is_tried_by_default=True,
)
