"""The JSON Schema of definition files (draft 2020-12), for editors and other tools.

It is made from the same table as the parser. It describes single values; only `s3bench validate` checks rules between
values.
"""

from typing import Any

from s3bench.spec.client_traits import KnownClients
from s3bench.spec.table import definitions_shape


def json_schema(clients: KnownClients) -> dict[str, Any]:
    """Return the schema as a JSON document; definitions may name `clients`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "s3bench benchmark definitions",
        "description": "Commands to benchmark, the environments they run in, and the responses they are given. "
        "Sizes are bytes, times are seconds.",
        **definitions_shape(clients).schema(),
    }
