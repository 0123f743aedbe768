"""rclone for the tuner: files at once, and the parts of one file at once in either direction; flags.

Defaults of rclone 1.75, whose requests were read on the wire: uploads below 200 MiB and downloads below 256 MiB are
single requests; above, uploads have parts of 5 MiB and downloads of 64 MiB, four at once.
"""

from collections.abc import Iterator

from s3bench.clients.rclone.command import (
    DEFAULTS,
    DOWNLOAD_CHUNK,
    DOWNLOAD_STREAMS,
    TRANSFERS,
    UPLOAD_CHUNK,
    UPLOAD_STREAMS,
    cutoff_of,
    flags,
)
from s3bench.clients.tuning.client_tuning import SHELL, ClientRecipe, ClientTuning, Habits, Values
from s3bench.clients.tuning.parameter import (
    PART_BYTES_MIN,
    Parameter,
    ParameterQuantity,
    ParameterRole,
    concurrency_choices,
    part_choices,
    parts_of,
)
from s3bench.clients.tuning.workload import Workload

_TRANSFERS = (2, 8, 16, 32, 64, 128)


def _parameters(workload: Workload) -> Iterator[Parameter]:
    if workload.files > 1:
        yield Parameter(
            name=TRANSFERS,
            role=ParameterRole.CONCURRENCY,
            quantity=ParameterQuantity.COUNT,
            default=DEFAULTS[TRANSFERS],
            choices=concurrency_choices(workload.files, DEFAULTS[TRANSFERS], of=_TRANSFERS),
        )
    if workload.size_bytes <= PART_BYTES_MIN:
        return
    chunk, streams = _names(workload)
    yield Parameter(
        name=streams,
        role=ParameterRole.CONCURRENCY,
        quantity=ParameterQuantity.COUNT,
        default=DEFAULTS[streams],
        choices=concurrency_choices(parts_of(workload, PART_BYTES_MIN), DEFAULTS[streams]),
    )
    yield Parameter(
        name=chunk,
        role=ParameterRole.PART,
        quantity=ParameterQuantity.SIZE,
        default=DEFAULTS[chunk],
        choices=part_choices(workload, DEFAULTS[chunk]),
    )


def _names(workload: Workload) -> tuple[str, str]:
    return (UPLOAD_CHUNK, UPLOAD_STREAMS) if workload.is_upload else (DOWNLOAD_CHUNK, DOWNLOAD_STREAMS)


def _value(values: Values, name: str) -> int:
    return values.get(name) or DEFAULTS[name]


def _requests_at_once(values: Values, workload: Workload, parts: int, _habits: Habits) -> int:
    return min(workload.files, _value(values, TRANSFERS)) * min(parts, _value(values, _names(workload)[1]))


def _allowed_at_once(name: str, values: Values, workload: Workload) -> int:
    streams = _names(workload)[1]
    if name == TRANSFERS:
        return values[TRANSFERS] * _value(values, streams)
    return values[name] * min(workload.files, _value(values, TRANSFERS))


def _in_parts_from(values: Values, workload: Workload) -> int:
    return cutoff_of(values, is_upload=workload.is_upload)


def _recipe(_version: str, values: Values) -> ClientRecipe:
    is_upload = not values.keys() & {DOWNLOAD_CHUNK, DOWNLOAD_STREAMS}
    own = flags(values, is_upload=is_upload, is_recursive=True)
    note = () if values else ("# nothing to set: all flags keep their defaults",)
    return ClientRecipe(where=SHELL, lines=(*note, " ".join(("rclone", "copy", *own, "SOURCE", "DESTINATION"))))


TUNING = ClientTuning(
    parameters=_parameters,
    requests_at_once=_requests_at_once,
    recipe=_recipe,
    more_at_once="--s3-upload-concurrency or --multi-thread-streams, for many files --transfers",
    allowed_at_once=_allowed_at_once,
    in_parts_from=_in_parts_from,
)
