"""The plan of a replay: what of a log is done, when, with which sizes, and what must be there before."""

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from s3bench.errors import BadInput
from s3bench.load.access_log.nginx import COMBINED
from s3bench.load.access_log.reading import read_log
from s3bench.load.engine.replay_file import KINDS, PlannedOperation, RowFlag, plan_path, rows_of
from s3bench.load.operation import OperationKind
from s3bench.load.profile.sizes import fixed
from s3bench.load.session.replay_plan import OBJECTS, OPERATIONS, ReplayPlan, ReplayRules, plan_replay
from tests.load.access_log.examples import s3_line

PUT, GET, RANGE, HEAD = OperationKind.PUT, OperationKind.GET, OperationKind.RANGE, OperationKind.HEAD
SECOND = 1_000_000_000


class Planned:
    """A plan that was made, and its rows."""

    def __init__(self, directory: Path, plan: ReplayPlan, shares: int) -> None:
        self.summary = plan.summary
        self.job = plan.phase.jobs[0]
        self.by_share = [self._read(plan_path(directory, OPERATIONS, share)) for share in range(shares)]
        self.operations = sorted(row for rows in self.by_share for row in rows)
        self.objects = [row for share in range(shares) for row in self._read(plan_path(directory, OBJECTS, share))]

    @staticmethod
    def _read(path: Path) -> list[PlannedOperation]:
        return [PlannedOperation._make(row) for rows in rows_of(path) for row in rows.tolist()]

    @property
    def kinds(self) -> list[OperationKind]:
        return [KINDS[row.kind] for row in self.operations]


def planned(tmp_path: Path, *lines: str, shares: int = 1, nginx_format: str = COMBINED, **rules: float) -> Planned:
    log, directory = tmp_path / "log", tmp_path / "plan"
    log.write_text("\n".join(lines))
    directory.mkdir()
    plan = plan_replay(
        read_log(log, nginx_format=nginx_format),
        ReplayRules(usual_sizes=fixed(77), **rules),
        directory=directory,
        shares=shares,
        threads=8,
    )
    assert {path.name.partition(".")[0] for path in directory.iterdir()} == {OBJECTS, OPERATIONS}
    return Planned(directory, plan, shares)


def test_starts_are_those_of_the_log_divided_by_the_speed(tmp_path: Path) -> None:
    plan = planned(
        tmp_path, "2500 REST.GET.OBJECT b 9 0 8", "1000 REST.GET.OBJECT a 9 0 8", "1001 REST.PUT.OBJECT a 5", speed=2.0
    )
    assert [row.start_ns for row in plan.operations] == [0, 500_000, SECOND * 3 // 4]
    assert plan.kinds == [GET, PUT, GET]
    assert plan.summary.duration_s == 0.75
    assert (plan.summary.first_s, plan.summary.last_s) == (1.0, 2.5)
    assert not plan.summary.whole_seconds


def test_operations_of_a_whole_second_are_spread_over_it_in_the_order_of_lines(tmp_path: Path) -> None:
    lines = [s3_line("REST.HEAD.OBJECT", f"k{number}", size=number) for number in range(4)]
    late = s3_line("REST.HEAD.OBJECT", "z", time="06/Feb/2019:00:00:40 +0000", size=9)
    plan = planned(tmp_path, late, *lines)
    assert [row.start_ns for row in plan.operations] == [0, SECOND // 4, SECOND // 2, SECOND * 3 // 4, 2 * SECOND]
    assert [row.size_bytes for row in plan.operations] == [0, 1, 2, 3, 9]
    assert plan.summary.whole_seconds


@pytest.mark.parametrize("clock", ["$time_local", "$msec"])
def test_an_even_load_is_replayed_evenly_by_either_clock_of_nginx(tmp_path: Path, clock: str) -> None:
    chance = random.Random(1)
    elapsed_s = [chance.randint(2, 20) / 1000 for _ in range(2400)]
    ends = sorted((1549411238.0 + number / 200 + took_s, took_s) for number, took_s in enumerate(elapsed_s))
    log_format = f'[{clock}] "$request" $status $body_bytes_sent $request_time'
    plan = planned(
        tmp_path,
        *(
            f'[{nginx_time(clock, end_s)}] "GET /b/k{number} HTTP/1.1" 200 10 {took_s:.3f}'
            for number, (end_s, took_s) in enumerate(ends)
        ),
        nginx_format=log_format,
    )
    buckets = Counter(row.start_ns // (SECOND // 20) for row in plan.operations)
    middle = [buckets[number] for number in range(20, 220)]
    assert min(middle) >= 5
    assert max(middle) <= 15
    assert plan.summary.whole_seconds is (clock == "$time_local")
    assert plan.summary.duration_s == pytest.approx(12, abs=1)


def nginx_time(clock: str, at_s: float) -> str:
    if clock == "$msec":
        return f"{at_s:.3f}"
    return time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(at_s))


def test_a_line_with_a_time_that_no_log_has_is_skipped(tmp_path: Path) -> None:
    plan = planned(
        tmp_path, "1 REST.GET.OBJECT a 9 0 8", "999999999999999999 REST.GET.OBJECT a 9", "3 REST.PUT.OBJECT a 5"
    )
    assert plan.kinds == [GET, PUT]
    assert plan.summary.skipped == ("line 2: a time, a duration or a size that no request has",)


def test_a_delete_of_a_version_leaves_the_object_and_is_counted(tmp_path: Path) -> None:
    plan = planned(
        tmp_path,
        s3_line("REST.PUT.OBJECT", "k", size=9),
        s3_line("REST.DELETE.OBJECT", "k", status=204, query="?versionId=A"),
        s3_line("REST.GET.OBJECT", "k", sent=9, size=9),
    )
    assert plan.kinds == [PUT, GET]
    assert plan.summary.not_replayed == {"delete of a version": 1}


def test_objects_that_are_read_first_are_there_before_with_their_largest_size(tmp_path: Path) -> None:
    plan = planned(
        tmp_path,
        "1 REST.HEAD.OBJECT read 500",
        "2 REST.GET.OBJECT read 900 100 299",
        "3 REST.PUT.OBJECT read 5000",
        "4 REST.GET.OBJECT read 5000 0 4999",
        "5 REST.PUT.OBJECT written 10",
        "6 REST.GET.OBJECT written 10 0 9",
        "7 REST.DELETE.OBJECT deleted",
        "8 REST.HEAD.OBJECT unknown",
    )
    assert sorted(row.size_bytes for row in plan.objects) == [77, 77, 900]
    assert plan.summary.sizes_unknown == 2
    assert plan.summary.bytes_before == 900 + 2 * 77
    head, part, put, get, *_ = plan.operations
    assert (head.size_bytes, head.version) == (900, 0)
    assert (part.first, part.length_bytes, part.size_bytes) == (100, 200, 900)
    assert (put.size_bytes, put.version) == (5000, 1)
    assert (get.size_bytes, get.version) == (5000, 1)
    assert [bool(row.flags & RowFlag.AGAIN) for row in plan.operations[:4]] == [False, False, False, True]


def test_parts_are_one_upload_from_the_moment_on_at_which_it_began(tmp_path: Path) -> None:
    at = {second: f"06/Feb/2019:00:00:{second:02d} +0000" for second in range(10)}
    plan = planned(
        tmp_path,
        s3_line("REST.POST.UPLOADS", "u", time=at[0]),
        s3_line("REST.PUT.PART", "u", time=at[2], size=700),
        s3_line("REST.PUT.PART", "u", time=at[1], size=1000),
        s3_line("REST.POST.UPLOAD", "u", time=at[3]),
        s3_line("REST.GET.OBJECT", "u", time=at[4], sent=1700, size=1700),
        s3_line("REST.POST.UPLOADS", "v", time=at[5]),
        s3_line("REST.PUT.PART", "v", time=at[6], size=700),
    )
    upload, get = plan.operations
    assert plan.kinds == [OperationKind.MULTIPART, GET]
    assert (upload.start_ns, upload.size_bytes, upload.length_bytes, upload.version) == (0, 1700, 1000, 1)
    assert (get.size_bytes, get.version) == (1700, 1)
    assert plan.summary.requests_joined == 3
    assert plan.summary.not_replayed == {"multipart upload: not completed in the log": 2}
    assert plan.summary.resized == 0


def s3_upload_line(second: int, operation: str, query: str, size: int | None) -> str:
    return s3_line(operation, "u", time=f"06/Feb/2019:00:00:{second:02d} +0000", sent=size, size=size, query=query)


def nginx_upload_line(second: int, operation: str, query: str, size: int | None) -> str:
    method = operation.split(".")[1]
    sent, received = (size, 0) if method == "GET" else (0, size if method == "PUT" else 9)
    return f'{1549411238 + second}.000 "{method} /b/u{query} HTTP/1.1" 200 {sent} {received}'


UPLOADS_FORMAT = '$msec "$request" $status $body_bytes_sent $content_length'


@pytest.mark.parametrize("line", [s3_upload_line, nginx_upload_line])
def test_parts_belong_to_their_upload_by_the_ids_of_the_log_and_a_repeated_one_counts_once(
    tmp_path: Path, line: Callable[[int, str, str, int | None], str]
) -> None:
    mib = 1024**2
    size = 5 * mib + 1000
    plan = planned(
        tmp_path,
        line(0, "REST.POST.UPLOADS", "?uploads", None),
        line(1, "REST.POST.UPLOADS", "?uploads", None),
        line(2, "REST.PUT.PART", "?partNumber=1&uploadId=A", 5 * mib),
        line(3, "REST.PUT.PART", "?partNumber=1&uploadId=B", 6 * mib),
        line(4, "REST.PUT.PART", "?partNumber=1&uploadId=A", 5 * mib),
        line(5, "REST.PUT.PART", "?partNumber=2&uploadId=A", 1000),
        line(6, "REST.POST.UPLOAD", "?uploadId=A", size),
        line(7, "REST.GET.OBJECT", "", size),
        line(8, "REST.POST.UPLOAD", "?uploadId=B", 6 * mib),
        line(9, "REST.GET.OBJECT", "", 6 * mib),
        nginx_format=UPLOADS_FORMAT,
    )
    assert plan.kinds == [OperationKind.MULTIPART, GET] * 2
    assert [row.size_bytes for row in plan.operations] == [size, size, 6 * mib, 6 * mib]
    assert [row.version for row in plan.operations] == [1, 1, 2, 2]
    assert [row.length_bytes for row in plan.operations[::2]] == [5 * mib, 6 * mib]
    assert plan.objects == []
    assert (plan.summary.not_replayed, plan.summary.resized, plan.summary.requests_joined) == ({}, 0, 6)


def test_an_upload_during_which_its_key_is_read_is_made_when_it_was_completed(tmp_path: Path) -> None:
    at = {second: f"06/Feb/2019:00:00:{second:02d} +0000" for second in range(10)}
    plan = planned(
        tmp_path,
        s3_line("REST.POST.UPLOADS", "u", time=at[0]),
        s3_line("REST.GET.OBJECT", "u", time=at[1], sent=5, size=5),
        s3_line("REST.POST.UPLOAD", "u", time=at[3], size=1700),
    )
    assert plan.kinds == [GET, OperationKind.MULTIPART]
    assert [row.size_bytes for row in plan.operations] == [5, 1700]
    assert [row.size_bytes for row in plan.objects] == [5]


def test_what_is_not_replayed_is_counted_by_name(tmp_path: Path) -> None:
    plan = planned(
        tmp_path,
        s3_line("REST.COPY.OBJECT", "k"),
        s3_line("REST.GET.ACL", "k"),
        s3_line("REST.GET.ACL", "k"),
        s3_line("REST.PUT.OBJECT", "k", status=503),
        s3_line("REST.GET.OBJECT", "k", status=304),
        s3_line("REST.DELETE.OBJECT", "k", status=204),
        s3_line("REST.GET.OBJECT", "k", sent=5, size=5),
    )
    assert plan.kinds == [OperationKind.DELETE]
    assert plan.summary.not_replayed == {
        "REST.GET.ACL": 2,
        "REST.COPY.OBJECT": 1,
        "REST.PUT.OBJECT with status 503": 1,
        "REST.GET.OBJECT with status 304": 1,
        "get of an object that the log has deleted before": 1,
    }
    assert any("REST.GET.ACL" in line for line in plan.summary.words)


def test_what_was_not_found_goes_to_a_key_of_its_own(tmp_path: Path) -> None:
    plan = planned(tmp_path, s3_line("REST.HEAD.OBJECT", "k", status=404), s3_line("REST.PUT.OBJECT", "k", size=5))
    head, put = plan.operations
    assert head.flags & RowFlag.MISSING
    assert head.key != put.key
    assert plan.objects == []


def test_a_length_counts_from_the_time_at_which_the_part_begins(tmp_path: Path) -> None:
    lines = [f"{second}000 REST.GET.OBJECT k 9 0 8" for second in range(3, 10)]
    plan = planned(tmp_path, *lines, from_s=1.0, span_s=4.0)
    assert [row.start_ns // SECOND for row in plan.operations] == [0, 1]
    assert plan.summary.outside == 5


def test_all_operations_on_a_key_are_one_workers_in_order(tmp_path: Path) -> None:
    lines = [f"{number} REST.PUT.OBJECT k{number * 7 % 50} {number}" for number in range(1000)]
    plan = planned(tmp_path, *lines, shares=3)
    keys = [{row.key for row in rows} for rows in plan.by_share]
    assert sum(map(len, keys)) == len(set.union(*keys)) == 50
    assert all(rows for rows in plan.by_share)
    for rows in plan.by_share:
        assert [row.start_ns for row in rows] == sorted(row.start_ns for row in rows)
    assert Counter(row.version for row in plan.operations) == dict.fromkeys(range(1, 21), 50)


def test_a_part_of_the_log_is_selected(tmp_path: Path) -> None:
    lines = [f"{second}000 REST.GET.OBJECT k 9 0 8" for second in range(10)]
    plan = planned(tmp_path, *lines, from_s=2.0, to_s=8.0, span_s=3.0)
    assert [row.start_ns // SECOND for row in plan.operations] == [0, 1, 2]
    assert plan.summary.outside == 7
    with pytest.raises(BadInput, match="nothing of the log can be replayed"):
        plan_replay(
            read_log(tmp_path / "log"),
            ReplayRules(usual_sizes=fixed(1), from_s=99.0),
            directory=tmp_path,
            shares=1,
            threads=1,
        )


def test_keys_are_others_in_every_plan(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one = planned(tmp_path, "1 REST.PUT.OBJECT k 5")
    other = planned(tmp_path / "other", "1 REST.PUT.OBJECT k 5")
    assert one.operations[0].key != other.operations[0].key


def test_the_job_has_the_mix_and_the_sizes_of_the_log(tmp_path: Path) -> None:
    lines = [f"{number} REST.PUT.OBJECT k{number} {number + 1}" for number in range(1000)]
    job = planned(tmp_path, *lines, "1001 REST.HEAD.OBJECT k1 2").job
    assert {share.kind: share.weight for share in job.mix} == {PUT: 1000.0, HEAD: 1.0}
    assert job.operations == 1001
    assert np.median(job.sizes.slots) == pytest.approx(500, rel=0.01)
