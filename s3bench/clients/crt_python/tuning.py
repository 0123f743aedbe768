"""awscrt for the tuner: the CRT's parameters, and `S3Client`."""

from collections.abc import Iterator
from functools import partial

from s3bench.clients.tuning.client_tuning import PYTHON, ClientRecipe, ClientTuning, Values
from s3bench.clients.tuning.crt import crt_parameters, crt_requests_at_once
from s3bench.clients.tuning.python_lines import keyword_arguments

_BITS_PER_GIGABIT = 10**9
_NAMES = {"multipart_chunksize": "part_size", "multipart_threshold": "multipart_upload_threshold"}


def _recipe(_version: str, values: Values) -> ClientRecipe:
    return ClientRecipe(where=PYTHON, lines=tuple(_lines(values)))


def _lines(values: Values) -> Iterator[str]:
    target, concurrency = values.get("target_bandwidth"), values.get("max_concurrent_requests")
    named = {_NAMES[name]: value for name, value in values.items() if name in _NAMES}
    names = ("S3Client",) if target else ("S3Client", "get_recommended_throughput_target_gbps")
    gbps = repr(target * 8 / _BITS_PER_GIGABIT) if target else "get_recommended_throughput_target_gbps() or 10.0"
    yield "from awscrt.auth import AwsCredentialsProvider"
    yield f"from awscrt.s3 import {', '.join(names)}"
    yield ""
    yield "client = S3Client("
    yield '    region="us-east-1",  # the region of your bucket'
    yield "    credential_provider=AwsCredentialsProvider.new_default_chain(),"
    yield from (f"    {argument}," for argument in keyword_arguments(named))
    yield f"    throughput_target_gbps={gbps},"
    yield ")"
    if concurrency:
        yield f'options = {{"max_active_connections_override": {concurrency}}}'
        yield "# for each request: client.make_request(..., **options)"


TUNING = ClientTuning(
    parameters=partial(crt_parameters, is_concurrency_doubtful=False),
    requests_at_once=crt_requests_at_once,
    recipe=_recipe,
    more_at_once="target_bandwidth",
    is_first_part_alone=True,
    threshold_is_for_uploads=True,
)
