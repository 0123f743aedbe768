"""The uploads of a key by their ids: which parts each has, when it begins, and what is not completed."""

from collections.abc import Iterable

from s3bench.load.engine.replay_file import KIND_NUMBERS, PlannedOperation
from s3bench.load.operation import OperationKind
from s3bench.load.session.key_history import PART_BYTES, PARTS_MAX, UNKNOWN, KeyHistory, Outcome

MIB = 1024**2
CREATE, PART = OperationKind.MULTIPART_CREATE, OperationKind.MULTIPART_PART
COMPLETE, ABORT = OperationKind.MULTIPART_COMPLETE, OperationKind.MULTIPART_ABORT
GET = OperationKind.GET
A, B, C = 1, 2, 3  # ids of uploads


def row(
    kind: OperationKind, upload: int = UNKNOWN, *, part: int = UNKNOWN, size_bytes: int = UNKNOWN
) -> PlannedOperation:
    return PlannedOperation(
        start_ns=0,
        key=7,
        order=0,
        size_bytes=size_bytes,
        first=upload,
        length_bytes=part,
        version=0,
        kind=KIND_NUMBERS[kind],
        flags=0,
    )


def followed(*rows: PlannedOperation, initial_bytes: int | None = None) -> tuple[list[PlannedOperation], Outcome]:
    """The operations that rows become, one each nanosecond, and what became of the rest."""
    outcome = Outcome()
    ordered: Iterable[PlannedOperation] = [each._replace(start_ns=n, order=n) for n, each in enumerate(rows)]
    return list(KeyHistory(outcome, lambda _: 77).operations(7, ordered, initial_bytes)), outcome


def test_a_part_that_is_sent_again_replaces_the_first() -> None:
    for known in (UNKNOWN, 5 * MIB + 1000):
        (upload, get), outcome = followed(
            row(CREATE),
            row(PART, A, part=1, size_bytes=5 * MIB),
            row(PART, A, part=1, size_bytes=5 * MIB),
            row(PART, A, part=2, size_bytes=1000),
            row(COMPLETE, A, size_bytes=known),
            row(GET, size_bytes=5 * MIB + 1000),
        )
        assert (upload.size_bytes, upload.length_bytes, upload.start_ns) == (5 * MIB + 1000, 5 * MIB, 0)
        assert (get.size_bytes, outcome.resized, outcome.joined) == (5 * MIB + 1000, 0, 4)


def test_uploads_of_one_key_that_overlap_have_their_own_parts() -> None:
    (first, second), outcome = followed(
        row(CREATE),
        row(CREATE),
        row(PART, A, part=1, size_bytes=5 * MIB),
        row(PART, B, part=1, size_bytes=6 * MIB),
        row(COMPLETE, A),
        row(COMPLETE, B),
    )
    assert (first.size_bytes, first.version) == (5 * MIB, 1)
    assert (second.size_bytes, second.version) == (6 * MIB, 2)
    assert first.start_ns < second.start_ns == 5, "the second is made when it was completed: it replaces the first"
    assert not outcome.not_replayed
    assert outcome.joined == 4


def test_an_upload_that_was_left_lends_neither_its_parts_nor_its_time_to_the_next() -> None:
    (upload,), outcome = followed(
        row(CREATE),
        row(PART, A, part=1, size_bytes=5 * MIB),
        row(CREATE),
        row(CREATE),
        row(PART, B, part=1, size_bytes=6 * MIB),
        row(COMPLETE, B),
    )
    assert (upload.size_bytes, upload.start_ns) == (6 * MIB, 3)
    assert outcome.not_replayed == {"multipart upload: not completed in the log": 3}


def test_only_the_upload_that_is_aborted_ends() -> None:
    (upload,), outcome = followed(
        row(PART, A, part=1, size_bytes=5 * MIB),
        row(PART, B, part=1, size_bytes=6 * MIB),
        row(ABORT, A),
        row(COMPLETE, B),
    )
    assert upload.size_bytes == 6 * MIB
    assert outcome.not_replayed == {"multipart upload: aborted in the log": 2}


def test_requests_that_the_log_has_after_the_end_of_their_upload_belong_to_it() -> None:
    uploads, outcome = followed(
        row(CREATE),
        row(PART, A, part=2, size_bytes=1000),
        row(COMPLETE, A, size_bytes=5 * MIB + 1000),
        row(PART, A, part=1, size_bytes=5 * MIB),
        row(COMPLETE, A, size_bytes=5 * MIB + 1000),
    )
    assert [upload.size_bytes for upload in uploads] == [5 * MIB + 1000]
    assert (outcome.joined, outcome.not_replayed) == (4, {})


def test_an_upload_of_which_parts_are_missing_has_its_size_and_parts_that_s3_allows() -> None:
    (small,), _ = followed(row(PART, A, part=9, size_bytes=1000), row(COMPLETE, A, size_bytes=64 * MIB))
    assert (small.size_bytes, small.length_bytes) == (64 * MIB, PART_BYTES)
    (large,), _ = followed(row(COMPLETE, A, size_bytes=1024**4))
    assert large.length_bytes * PARTS_MAX >= 1024**4


def test_without_ids_a_request_belongs_to_the_upload_with_the_latest_request() -> None:
    (upload, again), outcome = followed(
        row(CREATE),
        row(PART, size_bytes=MIB),
        row(CREATE),
        row(PART, size_bytes=2 * MIB),
        row(PART, size_bytes=2 * MIB),
        row(COMPLETE),
        row(COMPLETE),
    )
    assert (upload.size_bytes, upload.length_bytes, upload.start_ns) == (4 * MIB, 2 * MIB, 2)
    assert (again.size_bytes, again.start_ns) == (MIB, 6)
    assert not outcome.not_replayed


def test_of_many_uploads_that_are_not_completed_the_oldest_are_given_up() -> None:
    many = [row(PART, 100 + number, part=1, size_bytes=MIB) for number in range(1000)]
    uploads, outcome = followed(*many, row(COMPLETE, 100), row(COMPLETE, 1099))
    assert [upload.size_bytes for upload in uploads] == [MIB]
    assert outcome.not_replayed == {
        "multipart upload: not completed in the log": 999,
        "multipart upload: no part and no size in the log": 1,
    }
