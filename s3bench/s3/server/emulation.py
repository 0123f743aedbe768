"""Makes the emulators that the harness asks for, with the objects they hold from the start.

`host` imports this for the first of them, since a stub needs nothing of it.
"""

from pathlib import Path

from s3bench.errors import S3BenchError
from s3bench.s3.control import Emulate, StoredFile
from s3bench.s3.emulator.handler import Emulator
from s3bench.s3.emulator.loading import Loaded
from s3bench.s3.network.networked import Networked
from s3bench.s3.protocol.s3_error import S3Error


def make_emulator(question: Emulate, before: dict[Path, Loaded]) -> tuple[Emulator, Networked | None]:
    """The emulator, and its network in front of it where it has one; `before` has files that are in memory."""
    emulator = Emulator(question.settings, before=before)
    for item in question.objects:
        _load(emulator, item)
    return emulator, None if question.network is None else Networked(emulator, question.network)


def _load(emulator: Emulator, item: StoredFile) -> None:
    try:
        emulator.load(item.bucket, item.key, Path(item.file))
    except (OSError, S3Error) as error:
        raise S3BenchError(
            f"the emulator cannot hold {item.file} as {item.bucket}/{item.key}",
            str(error),
            "use smaller or fewer objects: they are kept in memory",
        ) from error
