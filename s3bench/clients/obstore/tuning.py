"""obstore for the tuner: parts and their number at once, files at once; Python.

By itself obstore downloads an object by one request, and uploads in parts of 5 MiB, 12 at once.
"""

from collections.abc import Iterable

from s3bench.clients.obstore.settings import (
    CHUNK,
    CHUNK_DEFAULT,
    CONCURRENCY,
    CONCURRENCY_DEFAULT,
    THREADS,
    THREADS_DEFAULT,
)
from s3bench.clients.tuning.client_tuning import PYTHON, ClientRecipe, ClientTuning, Habits, Values
from s3bench.clients.tuning.files_and_parts import FilesAndParts
from s3bench.clients.tuning.parameter import Parameter
from s3bench.clients.tuning.python_lines import keyword_arguments
from s3bench.clients.tuning.workload import Workload

_THREADS = (2, 5, 20, 40, 80)


def _engine(workload: Workload) -> FilesAndParts:
    return FilesAndParts(
        files=THREADS,
        files_default=THREADS_DEFAULT,
        files_choices=_THREADS,
        parts=CONCURRENCY,
        parts_default=CONCURRENCY_DEFAULT,
        part=CHUNK,
        part_default=CHUNK_DEFAULT if workload.is_upload else None,
    )


def _parameters(workload: Workload) -> Iterable[Parameter]:
    return _engine(workload).parameters(workload)


def _requests_at_once(values: Values, workload: Workload, parts: int, _habits: Habits) -> int:
    return _engine(workload).requests_at_once(values, workload, parts)


def _allowed_at_once(name: str, values: Values, workload: Workload) -> int:
    return _engine(workload).allowed_at_once(name, values, workload)


def _in_parts_from(values: Values, workload: Workload) -> int:
    """A download is one request unless parts are asked for."""
    return 0 if workload.is_upload or CHUNK in values else workload.size_bytes


def _download(values: Values) -> str:
    if CHUNK not in values:
        return "obstore.get(store, KEY)"
    threads = values.get(CONCURRENCY, CONCURRENCY_DEFAULT)
    return f"obstore.get_range(store, KEY, start=START, length={values[CHUNK]}) for every part, in {threads} threads"


def _recipe(_version: str, values: Values) -> ClientRecipe:
    arguments = "".join(f", {each}" for each in keyword_arguments({k: v for k, v in values.items() if k != THREADS}))
    lines = [
        "import obstore",
        "from obstore.store import S3Store",
        "",
        "store = S3Store(BUCKET)",
        f"# upload: obstore.put(store, KEY, PATH{arguments})",
        f"# download: {_download(values)}",
    ]
    if THREADS in values:
        lines.append(f"# many files: {values[THREADS]} threads, each with a file of its own")
    return ClientRecipe(where=PYTHON, lines=tuple(lines))


TUNING = ClientTuning(
    parameters=_parameters,
    requests_at_once=_requests_at_once,
    recipe=_recipe,
    more_at_once="max_concurrency, for many files threads",
    allowed_at_once=_allowed_at_once,
    in_parts_from=_in_parts_from,
)
