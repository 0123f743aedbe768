"""rclone for the tuner: files at once, and the parts of one file at once in either direction; flags.

Defaults of rclone 1.75, whose requests were read on the wire: uploads below 200 MiB and downloads below 256 MiB are
single requests; above, uploads have parts of 5 MiB and downloads of 64 MiB, four at once.
"""

from collections.abc import Iterable

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
from s3bench.clients.tuning.files_and_parts import FilesAndParts
from s3bench.clients.tuning.parameter import Parameter
from s3bench.clients.tuning.workload import Workload

_TRANSFERS = (2, 8, 16, 32, 64, 128)


def _engine(workload: Workload) -> FilesAndParts:
    chunk, streams = (UPLOAD_CHUNK, UPLOAD_STREAMS) if workload.is_upload else (DOWNLOAD_CHUNK, DOWNLOAD_STREAMS)
    return FilesAndParts(
        files=TRANSFERS,
        files_default=DEFAULTS[TRANSFERS],
        files_choices=_TRANSFERS,
        parts=streams,
        parts_default=DEFAULTS[streams],
        part=chunk,
        part_default=DEFAULTS[chunk],
    )


def _parameters(workload: Workload) -> Iterable[Parameter]:
    return _engine(workload).parameters(workload)


def _requests_at_once(values: Values, workload: Workload, parts: int, _habits: Habits) -> int:
    return _engine(workload).requests_at_once(values, workload, parts)


def _allowed_at_once(name: str, values: Values, workload: Workload) -> int:
    return _engine(workload).allowed_at_once(name, values, workload)


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
