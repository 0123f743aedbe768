"""The config's blocks `s3` and `obstore` as our backend for obstore takes them. Pure.

The block `obstore` is ours: `chunk_size` and `max_concurrency` are those of `obstore.put`; our backend uses them for
ranged GETs as well. `threads` is the number of files that it moves at once.
"""

from collections.abc import Mapping

from s3bench.clients.awsconfig import block_settings
from s3bench.clients.transfer_settings import transfer_settings
from s3bench.errors import BadInput
from s3bench.spec.awsconfig_value import count_of, size_of
from s3bench.spec.command import Transfer

CHUNK, CONCURRENCY, THREADS = "chunk_size", "max_concurrency", "threads"
CHUNK_DEFAULT, CONCURRENCY_DEFAULT, THREADS_DEFAULT = 5 << 20, 12, 10
CONFIG_KEYS = frozenset({CHUNK, CONCURRENCY, THREADS})
"""The keys of the block."""


def obstore_settings(config: str, transfer: Transfer) -> dict[str, int | str]:
    """The settings of the block `obstore`, and where they say nothing, what the block `s3` comes to.

    Requests at once are files at once where there are several files. Raises `BadInput`.
    """
    own = own_settings(block_settings(config, "obstore"))
    general = transfer_settings(block_settings(config, "s3"))
    names = {
        "multipart_chunksize": CHUNK,
        "max_concurrent_requests": THREADS if transfer.recursive else CONCURRENCY,
    }
    return {name: general[key] for key, name in names.items() if key in general} | own


def own_settings(block: Mapping[str, str]) -> dict[str, int]:
    """Parse the block `obstore`. Raises `BadInput` for a key or a value that it does not have."""
    if unknown := block.keys() - CONFIG_KEYS:
        raise BadInput(
            f"config: `{min(unknown)}` is not a setting of the block `obstore`",
            fix=f"it knows {', '.join(sorted(CONFIG_KEYS))}",
        )
    return {key: size_of(key, text) if key == CHUNK else count_of(key, text) for key, text in block.items()}
