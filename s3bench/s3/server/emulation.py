"""Makes the emulators that the harness asks for, with the objects they hold from the start.

`host` imports it for the first emulator only, since stubs do not need it.
"""

from pathlib import Path

from s3bench.errors import S3BenchError
from s3bench.s3.control import Emulate, StoredFile
from s3bench.s3.emulator.addressing import BucketAddressing, Scheme
from s3bench.s3.emulator.handler import Emulator
from s3bench.s3.emulator.loading import Loaded
from s3bench.s3.network.link import Link
from s3bench.s3.network.networked import Networked
from s3bench.s3.protocol.exchange import Handler
from s3bench.s3.protocol.s3_error import S3Error


def make_emulator(
    question: Emulate, loaded: dict[Path, Loaded], scheme: Scheme
) -> tuple[Handler, Emulator, Link | None]:
    """Make an emulator: what handles its requests, itself, and the link of its network model if it has one.

    `loaded` has the files that are in memory already. Clients reach it by `scheme`. Raises `S3BenchError` when an
    object cannot be held.
    """
    emulator = Emulator(question.settings, before=loaded, scheme=scheme)
    for item in question.objects:
        _load(emulator, item)
    if question.network is None:
        return emulator, emulator, None
    bucket_of = BucketAddressing(question.settings.domain, scheme).bucket_of
    networked = Networked(emulator, question.network, bucket_of=bucket_of)
    return networked, emulator, networked.link


def _load(emulator: Emulator, item: StoredFile) -> None:
    try:
        emulator.load(item.bucket, item.key, Path(item.file))
    except (OSError, S3Error) as error:
        raise S3BenchError(
            f"the emulator cannot hold {item.file} as {item.bucket}/{item.key}",
            str(error),
            "use smaller or fewer objects: they are kept in memory",
        ) from error
