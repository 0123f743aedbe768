"""The emulator's door: every request comes in here, and its reply goes out."""

from pathlib import Path

from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.exchange import Body, Reply, Sink
from s3bench.s3.http import RequestHead
from s3bench.s3.refusal import refuse


class Emulator:
    """The `exchange.Handler` that is an S3; raises `S3BenchError` when its data directory cannot be read."""

    def __init__(self, settings: EmulatorSettings) -> None:
        self._settings = settings

    @property
    def objects(self) -> int:
        """How many object versions are stored."""
        return 0

    @property
    def held_bytes(self) -> int:
        """What they and what is kept about them take of the memory limit."""
        return 0

    def load(self, bucket: str, key: str, file: Path) -> None:
        """Store the content of `file` as `key`, before the first request; `bucket` is made where it is missing."""

    def begin(self, head: RequestHead) -> Sink | None:
        """Where the body of `head` goes."""

    def finish(self, head: RequestHead, body: Body, date_line: bytes) -> Reply:
        """Answer a whole request."""
        return refuse(head, status=501, code="NotImplemented", message="not yet", date_line=date_line)
