"""Conditions of reads and writes: the order of RFC 9110 13.2.2, and what S3 makes of it."""

import contextlib

import pytest

from s3bench.s3.emulator.conditions import Condition, ObjectState, check_read, check_write
from s3bench.s3.protocol.s3_error import S3Error

BEFORE, AT, AFTER, FUTURE = (f"Tue, 14 Nov 2023 22:13:{second} GMT" for second in (19, 20, 21, 23))
NOW_S = 1_700_000_002.5
STATE = ObjectState(etag="e", modified_s=1_700_000_000.75)  # dates have whole seconds
RIGHT, WRONG = '"e"', '"x"'

READS = [
    ({}, 200),
    ({"if-match": RIGHT}, 200),
    ({"if-match": WRONG}, 412),
    ({"if-match": "e"}, 200),
    ({"if-match": "*"}, 200),
    ({"if-match": f"{WRONG}, {RIGHT}"}, 200),
    ({"if-unmodified-since": AT}, 200),
    ({"if-unmodified-since": BEFORE}, 412),
    ({"if-match": RIGHT, "if-unmodified-since": BEFORE}, 200),
    ({"if-match": WRONG, "if-unmodified-since": AFTER}, 412),
    ({"if-none-match": WRONG}, 200),
    ({"if-none-match": RIGHT}, 304),
    ({"if-none-match": f"W/{RIGHT}"}, 304),
    ({"if-none-match": "*"}, 304),
    ({"if-modified-since": BEFORE}, 200),
    ({"if-modified-since": AT}, 304),
    ({"if-modified-since": AFTER}, 304),
    ({"if-modified-since": FUTURE}, 200),
    ({"if-none-match": WRONG, "if-modified-since": AFTER}, 200),
    ({"if-none-match": RIGHT, "if-modified-since": BEFORE}, 304),
    ({"if-match": RIGHT, "if-none-match": RIGHT}, 304),
    ({"if-match": WRONG, "if-none-match": RIGHT}, 412),
    ({"if-modified-since": "yesterday"}, 200),
    ({"if-unmodified-since": "yesterday"}, 200),
]


def status_of(fields: dict[str, str], prefix: str = "") -> int:
    try:
        outcome = check_read({prefix + name: value for name, value in fields.items()}, STATE, NOW_S, prefix=prefix)
    except S3Error as refusal:
        return refusal.status
    return 304 if outcome is Condition.NOT_MODIFIED else 200


@pytest.mark.parametrize(("fields", "status"), READS)
def test_a_read_goes_on_is_not_modified_or_fails(fields: dict[str, str], status: int) -> None:
    assert status_of(fields) == status


@pytest.mark.parametrize(("second", "status"), [(19, 200), (20, 304)])
@pytest.mark.parametrize(
    "form", ["Tue Nov 14 22:13:{} 2023", "Tuesday, 14-Nov-23 22:13:{} GMT", "Tue, 14 Nov 2023 22:13:{} -0000"]
)
@pytest.mark.usefixtures("in_new_york")
def test_dates_are_in_utc_where_they_name_no_zone(form: str, second: int, status: int) -> None:
    assert status_of({"if-modified-since": form.format(second)}) == status


@pytest.mark.parametrize(("fields", "status"), READS)
def test_a_copy_fails_where_a_read_would_not_be_modified(fields: dict[str, str], status: int) -> None:
    assert status_of(fields, "x-amz-copy-source-") == (412 if status == 304 else status)


@pytest.mark.parametrize(
    ("fields", "state", "status"),
    [
        ({}, None, 200),
        ({"if-none-match": "*"}, None, 200),
        ({"if-none-match": "*"}, STATE, 412),
        ({"if-none-match": RIGHT}, STATE, 501),
        ({"if-match": RIGHT}, STATE, 200),
        ({"if-match": "*"}, STATE, 501),
        ({"if-match": WRONG}, STATE, 412),
        ({"if-match": RIGHT}, None, 404),
        ({"if-match": RIGHT, "if-none-match": "*"}, STATE, 501),
    ],
)
def test_a_write_goes_on_or_is_refused(fields: dict[str, str], state: ObjectState | None, status: int) -> None:
    expected = contextlib.nullcontext() if status == 200 else pytest.raises(S3Error)
    with expected as refused:
        check_write(fields, "k", state)
    assert status == (200 if refused is None else refused.value.status)
