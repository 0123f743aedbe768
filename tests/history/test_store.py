"""A history: what is added, found, given back, counted and removed."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from s3bench.errors import BadInput
from s3bench.history.address import Address
from s3bench.history.entry import Filters
from s3bench.history.store import History, open_history, short
from s3bench.history.tables import DOCUMENTS, FIGURES, RESULTS, Words
from s3bench.results.document import Status
from s3bench.results.measurement import Failure
from tests.compare.documents import BASE, MACHINE, client, result, slower
from tests.history.documents import add, load_text, made, text

HOSTILE = "\x00\\0\\\\<script>\x1b[31m\u202e=1+1'\";--%_" + "x" * 10_000
OTHER_MACHINE = {"cpu_model": "Model 2"}


def day(number: int) -> datetime:
    return datetime(2026, 11, number, tzinfo=UTC)


def days(history: History, filters: Filters | None = None) -> list[int]:
    return [entry.started_at.day for entry in history.list_documents(filters)]


def count(history: History) -> tuple[int, ...]:
    with history._database.reading() as connection:
        tables = (DOCUMENTS, RESULTS, FIGURES)
        return tuple(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() for table in tables)


def test_a_document_is_kept_once_however_often_and_in_whatever_form_it_is_added(history: History) -> None:
    first = add(history, text())
    rows = count(history)
    again = add(history, text())
    compact = add(history, msgspec.json.encode(msgspec.json.decode(text()), order="sorted"))
    assert (first.is_new, again.is_new, compact.is_new) == (True, False, False)
    assert first.identity == again.identity == compact.identity
    assert count(history) == rows
    assert rows[:2] == (1, 1)


def test_a_point_is_of_a_run_that_was_cut_short_only_if_its_document_has_no_end(history: History) -> None:
    ends = {1: "2026-11-01T00:01:00.000Z", 2: None}
    for number, ended_at in ends.items():
        add(history, text(day=number, options={"iterations": 5}, ended_at=ended_at))
    add(history, text(day=3, options={}, ended_at=None))
    cut_short = {point.at.day: point.was_cut_short for point in history.points("total_time")}
    assert cut_short == {1: False, 2: True, 3: False}, "a file of another tool may not know its end"


def test_an_iteration_with_several_warnings_is_doubtful_once(history: History) -> None:
    add(history, text(result(BASE, warnings=("stub-bound: busy", "on battery"))))
    (point,) = history.points("total_time")
    assert (point.doubtful, point.n) == (len(BASE), len(BASE))


def test_it_comes_back_byte_for_byte(history: History) -> None:
    given = text(day=2).replace(b"  ", b"\t")
    added = add(history, given)
    assert history.show(added.identity[:12])[1] == given
    assert history.resolve([added.identity[:4], added.identity]) == (added.identity,)
    assert list(history.texts([added.identity])) == [(added.identity, given)]


def test_an_entry_says_what_is_in_the_document(history: History) -> None:
    failed = replace(result(), name="s3.rm", errors=(Failure(iteration=6, what="no"),), status=Status.FAILED)
    given = text(result(), failed, machine={"git_commit": "abc-dirty"}, ended_at=None)
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    entry, _ = history.show(add(history, given).identity)
    assert history.list_documents() == (entry,)
    assert (entry.results, entry.measurements, entry.failures, entry.size_bytes) == (2, 12, 1, len(given))
    assert (entry.started_at, entry.ended_at, entry.commit) == (day(1), None, "abc-dirty")
    assert (entry.clients, entry.s3bench) == (("cli-crt@2.38.5",), "0.1.0")
    assert entry.machine_facts.cpu_model == MACHINE["cpu_model"]
    assert before <= entry.added_at <= datetime.now(UTC)


def test_documents_are_listed_by_the_start_of_their_runs_and_filters_narrow_the_list(history: History) -> None:
    crt, five = result(dimensions={"FileSize": "32MB"}), result(name="s3.rm", of=client("s5cmd", "2.3.0"))
    for number, results, machine in ((3, (crt, five), {}), (1, (crt,), {}), (2, (five,), OTHER_MACHINE)):
        add(history, text(*results, day=number, machine=machine))
    fingerprint = history.list_documents()[1].machine
    assert days(history) == [1, 2, 3]
    assert days(history, Filters(since=day(2))) == [2, 3]
    assert days(history, Filters(until=day(2))) == [1]
    assert days(history, Filters(client="s5cmd")) == [2, 3]
    assert days(history, Filters(client="cli-crt@2.38.5", since=day(2))) == [3]
    assert days(history, Filters(client="cli-crt@2.38")) == []
    assert days(history, Filters(machine=fingerprint[:3])) == [2]
    assert days(history, Filters(benchmarks="32mb")) == [1, 3]
    assert days(history, Filters(benchmarks="rm and not crt", machine=fingerprint)) == [2]
    assert days(history, Filters(benchmarks="nothing")) == []


def test_a_machine_is_reported_by_hexadecimal_digits_alone(history: History) -> None:
    for machine in ("%", "_", "x", "A", "0" * 17):
        with pytest.raises(BadInput, match="is not a machine"):
            history.list_documents(Filters(machine=machine))


def test_a_document_is_reported_by_four_digits_at_least(history: History) -> None:
    add(history, text())
    for prefix, complaint in (
        ("", "is not the ID of a document"),
        ("abc", "is not the ID of a document"),
        ("%%%%", "is not the ID of a document"),
        ("abcd", "has no"),
    ):
        with pytest.raises(BadInput, match=complaint):
            history.show(prefix)


def test_a_beginning_that_two_share_is_refused_and_both_are_named(history: History) -> None:
    identities = [add(history, text(day=number)).identity for number in (1, 2)]
    with history._database.writing() as connection:
        for identity, number in zip(identities, (1, 2), strict=True):
            changed = sa.update(DOCUMENTS).where(DOCUMENTS.c.identity == identity)
            connection.execute(changed.values(identity=f"abcd{number}" + "0" * 59))
    with pytest.raises(BadInput, match="abcd is the start of several") as caught:
        history.show("abcd")
    assert caught.value.why == ", ".join(f"abcd{number}" + "0" * 59 for number in (1, 2))


def test_none_of_several_is_found_when_one_is_not_there(history: History) -> None:
    identity = add(history, text()).identity
    with pytest.raises(BadInput, match="has no document ffff"):
        history.resolve([identity, "ffff"])


def test_points_are_medians_in_the_order_of_time(history: History) -> None:
    for number, factor in ((3, 3.0), (1, 1.0), (2, 2.0)):
        add(history, text(result(slower(BASE, factor)), day=number, machine={"git_commit": f"c{number}"}))
    points = history.points("total_time")
    assert [point.value for point in points] == pytest.approx([0.525, 1.05, 1.575])
    assert [(point.at, point.commit, point.n) for point in points] == [(day(n), f"c{n}", 6) for n in (1, 2, 3)]
    assert {(point.client, point.client_version, point.metric) for point in points} == {
        ("cli-crt", "2.38.5", "total_time")
    }
    assert [point.document for point in points] == [entry.identity for entry in history.list_documents()]
    assert all(left.series == right.series for left, right in pairwise(points))


def test_points_can_be_narrowed_as_lists_can(history: History) -> None:
    small, large = (result(dimensions={"FileSize": size, "Mode": "a"}) for size in ("4KB", "32MB"))
    new = result(name="s3.rm", of=client("cli-crt", "2.39.0"))
    add(history, text(small, large, day=1))
    add(history, text(large, new, day=2, machine=OTHER_MACHINE))
    fingerprint = history.list_documents()[1].machine

    def found(**filters: Any) -> list[tuple[int, str]]:
        points = history.points("cpu_time", Filters(**filters))
        return [(point.at.day, dict(point.dimensions).get("FileSize", "")) for point in points]

    assert found() == [(1, "4KB"), (1, "32MB"), (2, "32MB"), (2, "")]
    assert found(benchmarks="32MB") == [(1, "32MB"), (2, "32MB")]
    assert found(benchmarks="cp or rm", machine=fingerprint[:5]) == [(2, "32MB"), (2, "")]
    assert found(client="cli-crt@2.39.0") == [(2, "")]
    assert found(until=day(2)) == [(1, "4KB"), (1, "32MB")]
    assert found(client="s5cmd") == []
    assert found(benchmarks="nothing") == []


def test_a_metric_that_was_not_measured_has_no_points_and_one_that_does_not_exist_is_refused(history: History) -> None:
    add(history, text())
    assert history.points("milestones.exit") == ()
    with pytest.raises(BadInput, match="unknown metric 'speed'"):
        history.points("speed")


def test_load_runs_of_different_workloads_or_endpoints_are_different_series(history: History) -> None:
    others = {"sizes": "256KiB"}, {"url": "http://two:9000"}, {"retries": 2}, {"network": {"text": "ttfb=5ms"}}
    for day, options in enumerate(({}, {"seed": 7, "bucket": "b", "workers": 2}, *others), start=1):
        add(history, load_text(day=day, **options))  # type: ignore[arg-type]  # (options of any kind)
    first, again, *rest = (point.series for point in history.points("load.latency.p50"))
    assert first == again
    assert len({first, *rest}) == 5


def test_metrics_are_those_that_matching_results_have(history: History) -> None:
    add(history, text())
    add(history, load_text(day=2))
    assert "total_time" in history.metrics()
    assert "load.latency.p50" in history.metrics()
    assert "load.latency.p50" in history.metrics(Filters(benchmarks="load.get"))
    assert "total_time" not in history.metrics(Filters(client="s3bench"))
    assert history.metrics(Filters(benchmarks="nowhere")) == ()


def test_points_carry_the_warnings(history: History) -> None:
    doubted = replace(result().measurements[0], warnings=("stub-bound",))
    add(history, text(replace(result(), measurements=(doubted,), status=Status.FAILED)))
    (point,) = history.points("total_time")
    assert (point.doubtful, point.status, point.n) == (1, Status.FAILED, 1)


def test_pruning_says_what_would_go_and_only_then_removes_it(history: History) -> None:
    for number in range(1, 6):
        add(history, text(day=number, machine=OTHER_MACHINE if number == 2 else None))

    def going(*, before: datetime | None = None, keep_last: int | None = None) -> list[int]:
        return [entry.started_at.day for entry in history.prune(before=before, keep_last=keep_last).entries]

    assert going(before=day(4)) == [1, 2, 3]
    assert going(keep_last=1) == [1, 3, 4]
    assert going(before=day(4), keep_last=3) == [1]
    assert going(before=day(1)) == []
    assert len(history.list_documents()) == 5
    pruned = history.prune(before=day(4), keep_last=1, dry_run=False)
    assert ([entry.started_at.day for entry in pruned.entries], pruned.is_done) == ([1, 3], True)
    assert days(history) == [2, 4, 5]
    assert count(history)[1] == 3
    assert {point.at.day for point in history.points("total_time")} == {2, 4, 5}


def test_pruning_needs_to_be_reported_what(history: History) -> None:
    with pytest.raises(BadInput, match="select the documents to remove"):
        history.prune()


def test_what_was_removed_can_be_added_again(history: History) -> None:
    add(history, text())
    rows = count(history)
    history.prune(before=day(30), dry_run=False)
    assert count(history) == (0, 0, 0)
    assert add(history, text()).is_new
    assert count(history) == rows


def test_hostile_words_are_kept_as_they_are(history: History) -> None:
    hostile = replace(
        result(of=client(HOSTILE, HOSTILE)), name=HOSTILE * 100, dimensions=({HOSTILE: HOSTILE},), tags=(HOSTILE,)
    )
    facts = dict.fromkeys(("cpu_model", "product", "git_commit", "kernel"), HOSTILE)
    given = text(hostile, machine=facts, s3bench=HOSTILE)
    added = add(history, given)
    assert history.show(added.identity)[1] == given
    (point,) = history.points("total_time", Filters(benchmarks="script", client=HOSTILE))
    assert (point.benchmark, point.client, point.dimensions) == (HOSTILE * 100, HOSTILE, ((HOSTILE, HOSTILE),))
    (entry,) = history.list_documents(Filters(client=HOSTILE))
    assert (entry.commit, entry.machine_facts.product, entry.s3bench) == (HOSTILE, HOSTILE, HOSTILE)


@given(st.text())
def test_the_escapes_of_texts_are_taken_back(words: str) -> None:
    column = Words()
    written = column.process_bind_param(words, None)
    assert written is not None
    assert "\0" not in written
    assert column.process_result_value(written, None) == words


def test_a_history_outlives_its_process(address: Address) -> None:
    with open_history(address, create=True) as history:
        identity = add(history, text()).identity
    with open_history(address) as history:
        assert not add(history, text()).is_new
        assert [entry.identity for entry in history.list_documents()] == [identity]
        assert short(identity) == identity[:12]


def test_a_document_without_results_is_kept_too(history: History) -> None:
    add(history, msgspec.json.encode(replace(made(), results=())))
    assert count(history) == (1, 0, 0)
