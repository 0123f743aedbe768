"""Many processes at one history, and processes that are killed: nothing is lost, and nothing is there twice."""

import hashlib
import multiprocessing as mp
import os
import signal
import time
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext

import pytest
import sqlalchemy as sa

from s3bench.history.address import Address
from s3bench.history.entry import Filters
from s3bench.history.store import open_history
from s3bench.history.tables import FIGURES, RESULTS
from tests.compare.documents import client, result
from tests.history import writers
from tests.history.documents import add, text

WRITERS = 8
TIMEOUT_S = 50


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    """Processes that begin with the history's modules loaded."""
    made = mp.get_context("forkserver")
    made.set_forkserver_preload(["tests.history.writers", "psycopg", "sqlalchemy.dialects.postgresql.psycopg"])
    return made


def run_writers(
    context: ForkServerContext, address: Address, each: Sequence[Iterable[bytes]], *, timeout_s: float = TIMEOUT_S
) -> list[list[str]]:
    """Let writers add their documents, all beginning at once; what was new to each."""
    start = context.Barrier(len(each))
    pipes = [context.Pipe(duplex=False) for _ in each]
    processes = [
        context.Process(target=writers.add_all, args=(address, texts, start, answer), daemon=True)
        for texts, (_, answer) in zip(each, pipes, strict=True)
    ]
    for process in processes:
        process.start()
    answers = [listening.recv() for listening, _ in pipes if listening.poll(timeout_s)]
    for process in processes:
        process.join(timeout_s)
    assert all(isinstance(answer, list) for answer in answers), answers
    assert len(answers) == len(each)
    return answers


def assert_whole(address: Address, texts: Iterable[bytes]) -> None:
    """Hold the history against the documents that it should have: each is there once, reads back, and has its rows."""
    with open_history(address) as history:
        identities = [entry.identity for entry in history.list_documents()]
        assert {hashlib.sha256(kept).digest() for _, kept in history.texts(identities)} == {
            hashlib.sha256(given).digest() for given in texts
        }
        assert len(set(identities)) == len(identities)
        with history._database.reading() as connection:
            results, figures = (rows_of_each(connection, table) for table in (RESULTS, FIGURES))
            if address.file:
                assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
                assert connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall() == []
    # The documents here are of one form: all have as many rows.
    assert (len(results), len(figures)) == (len(identities), len(identities))
    assert (len(set(results)), len(set(figures))) == (1, 1)


def rows_of_each(connection: sa.Connection, table: sa.Table) -> list[int]:
    query = sa.select(sa.func.count()).select_from(table).group_by(table.c.document)
    return list(connection.execute(query).scalars())


def test_eight_writers_add_the_same_documents_to_a_history_that_is_not_there_yet(
    context: ForkServerContext, address: Address
) -> None:
    texts = [text(day=number) for number in range(1, 7)]
    turned = [texts[number % 6 :] + texts[: number % 6] for number in range(WRITERS)]
    answers = run_writers(context, address, turned)
    assert sorted(identity for answer in answers for identity in answer) == sorted(
        {identity for answer in answers for identity in answer}
    )
    assert_whole(address, texts)


def test_eight_writers_add_documents_of_their_own(context: ForkServerContext, address: Address) -> None:
    each = [
        [text(result(of=client("s5cmd", str(writer))), day=number) for number in range(1, 5)]
        for writer in range(WRITERS)
    ]
    answers = run_writers(context, address, each)
    assert [len(answer) for answer in answers] == [4] * WRITERS
    assert_whole(address, [given for texts in each for given in texts])


def test_a_writer_that_is_killed_before_its_commit_leaves_nothing_and_locks_nothing(
    context: ForkServerContext, address: Address
) -> None:
    with open_history(address, create=True) as history:
        add(history, text(day=1))
    process = context.Process(target=writers.die_within_an_add, args=(address, text(day=2)))
    process.start()
    process.join(TIMEOUT_S)
    assert process.exitcode == -signal.SIGKILL
    assert_whole(address, [text(day=1)])
    with open_history(address) as history:
        assert add(history, text(day=2)).is_new
    assert_whole(address, [text(day=1), text(day=2)])


def test_what_a_killed_writer_said_it_kept_is_kept(context: ForkServerContext, address: Address) -> None:
    endless = writers.Numbered(text(result((0.5,), of=client("s5cmd", writers.NUMBER))), range(1_000_000))
    reported = kill_some(context, address, endless, after=(3, 7, 11))
    with open_history(address) as history:
        kept = {entry.identity for entry in history.list_documents()}
    assert len(reported) >= 11
    assert reported <= kept
    assert_whole(address, writers.Numbered(endless.template, range(len(kept))))


def kill_some(
    context: ForkServerContext, address: Address, texts: Iterable[bytes], *, after: Sequence[int]
) -> set[str]:
    """Let writers add, kill each when it has told of so many, and give what they told of."""
    pairs = [context.Pipe(duplex=False) for _ in after]
    processes = []
    for _, answer in pairs:
        process = context.Process(target=writers.add_and_report, args=(address, texts, answer), daemon=True)
        process.start()
        answer.close()
        processes.append(process)
    told = set()
    for process, (listening, _), number in zip(processes, pairs, after, strict=True):
        told |= {received for _ in range(number) if (received := _received(listening))}
        assert process.pid
        os.kill(process.pid, signal.SIGKILL)
        process.join(TIMEOUT_S)
        while received := _received(listening):
            told.add(received)
    return told


def _received(listening: Connection) -> str | None:
    try:
        return str(listening.recv()) if listening.poll(TIMEOUT_S) else None
    except EOFError:
        return None


@pytest.mark.campaign
@pytest.mark.timeout(900)
def test_ten_thousand_documents_by_eight_writers_of_which_some_are_killed(
    context: ForkServerContext, address: Address
) -> None:
    template = text(result((0.5,), of=client("s5cmd", writers.NUMBER)), result((0.7,), name="s3.rm"))
    order = range(10_000)
    told = kill_some(context, address, writers.Numbered(template, order), after=(150, 400, 900))
    with open_history(address) as history:
        assert told <= {entry.identity for entry in history.list_documents()}
    twice = (*order, *order)
    each = [writers.Numbered(template, twice[start : start + 2500]) for start in range(0, 10_000, 1250)]
    run_writers(context, address, each, timeout_s=800)  # each document by two of them
    assert_whole(address, writers.Numbered(template, order))
    with open_history(address) as history:
        started_s = time.perf_counter()
        assert len(history.points("total_time", Filters(benchmarks="s5cmd"))) == 10_000
        middle_s = time.perf_counter()
        assert len(history.points("total_time", Filters(client="s5cmd@77"))) == 1
        assert len(history.list_documents(Filters(client="s5cmd@77"))) == 1
        ended_s = time.perf_counter()
    assert middle_s - started_s < 4
    assert ended_s - middle_s < 2
