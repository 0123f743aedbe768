"""boto3 for the tuner: the parameters of its two engines, and `TransferConfig`.

For what that cannot say, the recipe does as our driver does.
"""

from collections.abc import Iterator
from functools import partial

from s3bench.clients.tuning.classic import classic_parameters, classic_requests_at_once
from s3bench.clients.tuning.client_tuning import PYTHON, ClientRecipe, ClientTuning, Values
from s3bench.clients.tuning.crt import crt_parameters, crt_requests_at_once
from s3bench.clients.tuning.parameter import ParameterQuantity
from s3bench.clients.tuning.python_lines import keyword_arguments, python_number

_POOL = 10  # connections of a botocore client (`Config(max_pool_connections=)`)
_NAMES = {"max_concurrent_requests": "max_concurrency"}


def _recipe(engine: str, _version: str, values: Values) -> ClientRecipe:
    return ClientRecipe(where=PYTHON, lines=tuple(_lines(engine, values)))


def _lines(engine: str, values: Values) -> Iterator[str]:
    target = values.get("target_bandwidth")
    pool = 0 if engine == "crt" else values.get("max_concurrent_requests", 0)
    named = {_NAMES.get(name, name): value for name, value in values.items() if name != "target_bandwidth"}
    arguments = ", ".join((*keyword_arguments(named), f'preferred_transfer_client="{engine}"'))
    yield "import boto3"
    if target:
        yield "import boto3.crt"
    yield "from boto3.s3.transfer import TransferConfig, create_transfer_manager"
    if pool > _POOL:
        yield "from botocore.config import Config"
    yield from _target_lines(target) if target else ()
    yield ""
    yield f'client = boto3.client("s3"{f", config=Config(max_pool_connections={pool})" if pool > _POOL else ""})'
    yield f"config = TransferConfig({arguments})"
    yield "# one file: client.upload_file(FILE, BUCKET, KEY, Config=config), download_file in the same way"
    yield "# many: with create_transfer_manager(client, config) as manager: manager.upload(FILE, BUCKET, KEY) for each"


def _target_lines(target: int) -> Iterator[str]:
    """The CRT's target throughput, which neither TransferConfig nor boto3's reading of the AWS config knows.

    boto3.crt makes one CRT client a process, without a target; our own driver replaces the same function.
    """
    yield "from s3transfer.crt import create_s3_crt_client"
    yield ""
    yield ""
    yield "def create_crt_client(session, config, region_name, credentials):"
    yield f"    target = {python_number(target)}  # bytes per second: {ParameterQuantity.RATE.render(target)}"
    yield "    return create_s3_crt_client("
    yield "        region=region_name, crt_credentials_provider=credentials, target_throughput=target"
    yield "    )"
    yield ""
    yield ""
    yield "boto3.crt._create_crt_client = create_crt_client  # no setting of boto3 does it; before the first transfer"


CLASSIC_TUNING = ClientTuning(
    parameters=classic_parameters,
    requests_at_once=classic_requests_at_once,
    recipe=partial(_recipe, "classic"),
    more_at_once="max_concurrent_requests",
    is_bound_to_one_core=True,
    is_tried_by_default=True,
)
CRT_TUNING = ClientTuning(
    parameters=partial(crt_parameters, is_concurrency_doubtful=True),
    requests_at_once=crt_requests_at_once,
    recipe=partial(_recipe, "crt"),
    more_at_once="target_bandwidth",
    threshold_is_for_uploads=True,
    is_tried_by_default=True,
)
