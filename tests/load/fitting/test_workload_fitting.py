"""Workloads fitted to logs: operations, sizes, ranges, uploads, distances, and what is left out."""

import random

import pytest

from s3bench.errors import BadInput
from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.load.fitting.fitted_workload import FittedJob, FittedWorkload, JobName
from s3bench.load.operation import OperationKind
from tests.load.fitting.logs import fitted, many, request

GET, PUT, HEAD, DELETE = OperationKind.GET, OperationKind.PUT, OperationKind.HEAD, OperationKind.DELETE


def job(workload: FittedWorkload, name: JobName) -> FittedJob:
    [found] = [each for each in workload.jobs if each.name is name]
    return found


def left_out(workload: FittedWorkload) -> str:
    return "\n".join(workload.left_out)


def test_operations_are_counted_and_split_into_reads_writes_and_uploads() -> None:
    workload = fitted([
        *many(GET, 70), *many(HEAD, 10), *many(PUT, 15), *many(DELETE, 5), *many(OperationKind.LIST, 3),
        *many(OperationKind.MULTIPART_COMPLETE, 2),
    ])  # fmt: skip
    assert workload.counts == {"get": 70, "head": 10, "list": 3, "put": 15, "delete": 5, "multipart": 2}
    assert [each.name for each in workload.jobs] == [JobName.READS, JobName.WRITES, JobName.UPLOADS]


def test_failures_and_unknown_operations_are_left_out_by_name() -> None:
    workload = fitted([
        *many(GET, 99), request(GET, status=404), request(None, operation="REST.GET.ACL"),
        request(None, operation="REST.GET.\x1b[31m"),
    ])  # fmt: skip
    assert workload.counts == {"get": 99}
    assert "requests that did not succeed: 1 (1.00%), 1 with status 404" in left_out(workload)
    assert "operations that no profile has: REST.GET.ACL (1), REST.GET.\\u001b[31m (1)" in left_out(workload)


def test_redirects_and_what_was_not_modified_are_no_reads() -> None:
    workload = fitted(
        [*many(GET, 90), *(request(GET, n, body=0, status=304) for n in range(9)), request(GET, status=301)]
    )
    assert workload.counts == {"get": 90}
    assert "requests that did not succeed: 10 (10.00%), 9 with status 304, 1 with status 301" in left_out(workload)


def test_reads_and_writes_have_sizes_of_their_own() -> None:
    workload = fitted([*many(GET, 500, size=1024), *many(PUT, 500, size=1024**2)])
    reads, writes = job(workload, JobName.READS).sizes, job(workload, JobName.WRITES).sizes
    assert reads is not None
    assert writes is not None
    assert (reads.sizes.text, writes.sizes.text) == ("1KiB", "1MiB")


def keys_and_sizes(*, popular_size: int, other_size: int) -> list[LoggedRequest]:
    """Two hundred keys that are read forty times, and two thousand that are read once."""
    popular = [request(GET, n, key=f"p{n % 200}", size=popular_size) for n in range(8000)]
    return popular + [request(GET, n, key=f"o{n}", size=other_size) for n in range(2000)]


def test_sizes_are_those_of_keys_unless_popular_keys_have_other_sizes() -> None:
    alike = job(fitted(keys_and_sizes(popular_size=1024, other_size=1024)), JobName.READS).sizes
    workload = fitted(keys_and_sizes(popular_size=1024, other_size=1024**2))
    other = job(workload, JobName.READS).sizes
    assert alike is not None
    assert other is not None
    assert (alike.is_by_key, alike.count) == (True, 2200)
    assert (other.is_by_key, other.count) == (False, 10_000)
    assert other.mean_bytes == pytest.approx(0.8 * 1024 + 0.2 * 1024**2)
    assert "popular keys have other sizes" in left_out(workload)


def test_a_not_modified_answer_does_not_show_the_size_of_an_object() -> None:
    sizes = job(fitted([*many(GET, 50, size=1000), request(GET, size=None, body=0, status=304)]), JobName.READS).sizes
    assert sizes is not None
    assert sizes.mean_bytes == 1000


def test_ranges_have_the_median_length_and_what_differs_is_left_out() -> None:
    ranges = [
        request(OperationKind.RANGE, n, key=f"k{n}", size=10_000, body=length)
        for n, length in enumerate([100, 200, 200, 200, 5000] * 20)
    ]
    workload = fitted(ranges)
    assert job(workload, JobName.READS).range_bytes == 200
    assert "the lengths of ranges, 100 B to 4.88 KiB" in left_out(workload)


def test_the_size_of_an_upload_is_that_of_its_parts_where_its_end_has_none() -> None:
    mib = 1024**2
    parts = [request(OperationKind.MULTIPART_PART, n, size=None, body=16 * mib) for n in range(40)]
    ends = [request(OperationKind.MULTIPART_COMPLETE, n, key=f"u{n}", size=None, body=0) for n in range(10)]
    upload = job(fitted(parts + ends), JobName.UPLOADS)
    assert upload.sizes is not None
    assert (upload.sizes.sizes.text, upload.part_bytes) == ("64MiB", 16 * mib)


def test_puts_to_known_keys_overwrite_where_they_are_most() -> None:
    assert job(fitted(many(PUT, 1000, keys=10)), JobName.WRITES).overwrites
    assert not job(fitted(many(PUT, 1000, keys=1000)), JobName.WRITES).overwrites
    mixed = fitted(many(PUT, 1000, keys=800))
    assert "20.0% of the puts are to keys that were known already; those of the profile are all to new" in left_out(
        mixed
    )


def test_the_sizes_of_objects_that_are_overwritten_count_each_once() -> None:
    hot = [request(PUT, n, key="hot", size=10) for n in range(5000)]
    others = [request(PUT, n, key=f"k{n % 500}", size=1000 + n % 500) for n in range(5000)]
    sizes = job(fitted(hot + others), JobName.WRITES).sizes
    assert sizes is not None
    assert (sizes.is_by_key, sizes.count) == (True, 501)


def test_deletes_beyond_what_was_written_are_left_out() -> None:
    assert "5 of 15 deletes" in left_out(fitted([*many(PUT, 10), *many(DELETE, 15)]))


def test_the_distance_from_a_write_to_the_first_read_is_measured_in_time_and_operations() -> None:
    requests = [request(HEAD, float(second), key=f"other-{second % 50}") for second in range(3000)]
    for n in range(100):
        requests.append(request(PUT, 10.0 * n, key=f"w{n}"))
        if n % 2:
            requests += [request(GET, 10.0 * n + 30, key=f"w{n}"), request(GET, 10.0 * n + 900, key=f"w{n}")]
    random.Random(1).shuffle(requests)
    workload = fitted(requests)
    found = workload.read_after_write
    assert found is not None
    assert (found.written, found.read, found.p50_s, found.p90_s) == (100, 50, 30, 30)
    assert found.p50_operations == pytest.approx(30 * 1.1, rel=0.3)
    assert "50.0% of the written keys were read later" in left_out(workload)


def test_threads_suffice_for_the_highest_rate() -> None:
    requests = [request(GET, n // 100, key=f"k{n % 99}", elapsed_s=0.5) for n in range(3000)]
    assert fitted(requests).threads == pytest.approx(2 * 100 * 0.5, rel=0.05)


def test_a_log_of_reads_of_a_few_keys_reads_all_objects_alike() -> None:
    workload = fitted(many(GET, 100, keys=5))
    assert workload.popularity is None
    assert "too few keys or reads" in left_out(workload)


def test_a_key_that_is_far_too_popular_for_the_law_is_named() -> None:
    usual = [request(GET, n, key=f"k{rank}") for rank in range(1, 1000) for n in range(round(100 / rank**0.5))]
    hot = [request(GET, n, key="hot") for n in range(len(usual) // 2)]
    assert "the most popular key, " not in left_out(fitted(usual))
    assert "the most popular key, which has 33.3% of the reads" in left_out(fitted(usual + hot))


def test_the_key_of_a_copy_is_written_and_not_read() -> None:
    workload = fitted([*many(GET, 300), *(request(OperationKind.COPY, n, key=f"new-{n}") for n in range(50))])
    assert workload.popularity is not None
    assert (workload.popularity.reads, workload.popularity.keys) == (300, 100)
    assert workload.read_after_write is not None
    assert (workload.read_after_write.written, workload.read_after_write.read) == (50, 0)


def test_a_log_of_writes_says_nothing_of_popularity() -> None:
    assert "popular" not in left_out(fitted(many(PUT, 100, keys=100)))


def test_a_log_without_what_a_profile_has_is_refused() -> None:
    with pytest.raises(BadInput, match="no request of the log can be fitted") as caught:
        fitted([request(None, operation="REST.GET.ACL"), request(GET, status=403)])
    assert "REST.GET.ACL" in caught.value.why
