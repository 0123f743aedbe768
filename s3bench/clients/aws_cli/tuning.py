"""aws-cli for the tuner: the Classic engine's parameters with its own queue, or the CRT's; `aws configure set`."""

from collections.abc import Iterator
from functools import partial

from s3bench.clients.aws_cli.command import transfer_client_word
from s3bench.clients.client import release_of
from s3bench.clients.tuning.classic import classic_parameters, classic_requests_at_once
from s3bench.clients.tuning.client_tuning import SHELL, ClientRecipe, ClientTuning, Values
from s3bench.clients.tuning.crt import crt_parameters, crt_requests_at_once
from s3bench.clients.tuning.parameter import Parameter, ParameterQuantity, ParameterRole, requests_max
from s3bench.clients.tuning.workload import Workload

_QUEUES = (100, 1000, 10_000)


def classic_tuning(transfer_client: str, *, is_tried_by_default: bool) -> ClientTuning:
    """The Classic transfer client, asked for as `transfer_client` (empty: as the config has it)."""
    return ClientTuning(
        parameters=_classic_parameters,
        requests_at_once=classic_requests_at_once,
        recipe=partial(_recipe, transfer_client),
        more_at_once="max_concurrent_requests",
        is_bound_to_one_core=True,
        is_tried_by_default=is_tried_by_default,
    )


def _classic_parameters(workload: Workload) -> Iterator[Parameter]:
    yield from classic_parameters(workload)
    if requests_max(workload) > _QUEUES[0]:
        yield Parameter(
            name="max_queue_size",
            role=ParameterRole.INSIDE,
            quantity=ParameterQuantity.COUNT,
            default=1000,
            choices=_QUEUES,
            is_main=False,
        )


def _recipe(transfer_client: str, version: str, values: Values) -> ClientRecipe:
    return ClientRecipe(where=SHELL, lines=tuple(_lines(transfer_client, version, values)))


def _lines(transfer_client: str, version: str, values: Values) -> Iterator[str]:
    """Comments have no character that a shell would act on: zsh takes a pasted `#` for a command."""
    engine = transfer_client_word(transfer_client, release_of(version))
    if engine:
        yield f"aws configure set default.s3.preferred_transfer_client {engine}"
    for name, value in values.items():
        yield f"aws configure set default.s3.{name} {_QUANTITIES[name].config_value(value)}"
    if not values:
        yield f"# nothing {'else ' if engine else ''}to set: all {'other ' if engine else ''}s3 settings keep defaults"


CRT_TUNING = ClientTuning(
    parameters=partial(crt_parameters, is_concurrency_doubtful=True),
    requests_at_once=crt_requests_at_once,
    recipe=partial(_recipe, "crt"),
    more_at_once="target_bandwidth",
    is_tried_by_default=True,
)


_QUANTITIES = {
    name: parameter.quantity
    for tuning in (classic_tuning("", is_tried_by_default=False), CRT_TUNING)
    for name, parameter in tuning.all_parameters.items()
}
