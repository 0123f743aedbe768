"""What the processes do that use one history at once."""

import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

from s3bench.history.address import Address
from s3bench.history.database import open_database
from s3bench.history.indexing import index_document
from s3bench.history.store import History, open_history
from tests.history.documents import add

NUMBER = "«number»"


@dataclass(frozen=True)
class Numbered:
    """Many documents of one form, each made when it is needed: `template` with a number in the place of `NUMBER`."""

    template: bytes
    numbers: Sequence[int]

    def __iter__(self) -> Iterator[bytes]:
        return (self.template.replace(NUMBER.encode(), str(number).encode()) for number in self.numbers)


def add_all(address: Address, texts: Iterable[bytes], start: Barrier, answer: Connection) -> None:
    """Open, all at the same moment, add one after the other, and answer with what was new."""
    try:
        start.wait()
        with open_history(address, create=True) as history:
            answer.send([added.identity for added in (add(history, text) for text in texts) if added.is_new])
    except Exception as error:  # noqa: BLE001 (the test is reported)
        answer.send(repr(error))


def add_and_report(address: Address, texts: Iterable[bytes], answer: Connection) -> None:
    """Add one after the other and tell of each that is kept."""
    with open_history(address, create=True) as history:
        for text in texts:
            answer.send(add(history, text).identity)
    answer.close()


def die_within_an_add(address: Address, text: bytes) -> None:
    """Be killed when all rows are written and nothing is committed."""
    with open_database(address, create=True) as database, database.writing() as connection:
        assert History(database)._insert(connection, index_document(text, source="x"))
        os.kill(os.getpid(), signal.SIGKILL)
