"""obstore for the tuner: parts and their number at once, files at once; Python.

By itself obstore downloads an object by one request, and uploads in parts of 5 MiB, 12 at once.
"""

from collections.abc import Iterator

from s3bench.clients.obstore.settings import (
    CHUNK,
    CHUNK_DEFAULT,
    CONCURRENCY,
    CONCURRENCY_DEFAULT,
    THREADS,
    THREADS_DEFAULT,
)
from s3bench.clients.tuning.client_tuning import PYTHON, ClientRecipe, ClientTuning, Habits, Values
from s3bench.clients.tuning.parameter import (
    PART_BYTES_MIN,
    Parameter,
    ParameterQuantity,
    ParameterRole,
    concurrency_choices,
    part_choices,
    parts_of,
)
from s3bench.clients.tuning.python_lines import keyword_arguments
from s3bench.clients.tuning.workload import Workload

_THREADS = (2, 5, 20, 40, 80)


def _parameters(workload: Workload) -> Iterator[Parameter]:
    if workload.files > 1:
        yield Parameter(
            name=THREADS,
            role=ParameterRole.CONCURRENCY,
            quantity=ParameterQuantity.COUNT,
            default=THREADS_DEFAULT,
            choices=concurrency_choices(workload.files, THREADS_DEFAULT, of=_THREADS),
        )
    if workload.size_bytes <= PART_BYTES_MIN:
        return
    yield Parameter(
        name=CONCURRENCY,
        role=ParameterRole.CONCURRENCY,
        quantity=ParameterQuantity.COUNT,
        default=CONCURRENCY_DEFAULT,
        choices=concurrency_choices(parts_of(workload, PART_BYTES_MIN), CONCURRENCY_DEFAULT),
    )
    default = CHUNK_DEFAULT if workload.is_upload else None
    sizes = part_choices(workload, default)
    yield Parameter(
        name=CHUNK,
        role=ParameterRole.PART,
        quantity=ParameterQuantity.SIZE,
        default=default,
        choices=sizes if workload.is_upload else (None, *sizes),
    )


def _requests_at_once(values: Values, workload: Workload, parts: int, _habits: Habits) -> int:
    files = min(workload.files, values.get(THREADS) or THREADS_DEFAULT)
    return files * min(parts, values.get(CONCURRENCY) or CONCURRENCY_DEFAULT)


def _allowed_at_once(name: str, values: Values, workload: Workload) -> int:
    if name == THREADS:
        return values[THREADS] * (values.get(CONCURRENCY) or CONCURRENCY_DEFAULT)
    return values[CONCURRENCY] * min(workload.files, values.get(THREADS) or THREADS_DEFAULT)


def _in_parts_from(values: Values, workload: Workload) -> int:
    """A download is one request unless parts are asked for."""
    return 0 if workload.is_upload or CHUNK in values else workload.size_bytes


def _recipe(_version: str, values: Values) -> ClientRecipe:
    arguments = "".join(f", {each}" for each in keyword_arguments({k: v for k, v in values.items() if k != THREADS}))
    lines = [
        "import obstore",
        "from obstore.store import S3Store",
        "",
        "store = S3Store(BUCKET)",
        f"# upload: obstore.put(store, KEY, PATH{arguments})",
    ]
    if CHUNK in values:
        lines.append(f"# download: obstore.get_range for every {values[CHUNK]} bytes, in as many threads as at once")
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
