"""The profile of a workload: what it plans, the file that it becomes, and that nothing in it names anybody."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.load.fitting.fitted_profile import fitted_profile, render_fitted, summary
from s3bench.load.operation import OperationKind
from s3bench.load.profile.file import parse_profile
from s3bench.load.profile.profile import Arrivals, KeyDistribution
from tests.load.fitting.logs import fitted, many, request

GET, PUT, DELETE = OperationKind.GET, OperationKind.PUT, OperationKind.DELETE
KINDS = tuple(OperationKind)

REQUESTS = st.builds(
    lambda kind, at_s, key, size, body: request(kind, at_s, key=f"secret-{key}", size=size, body=body),
    st.sampled_from(KINDS),
    st.floats(0, 200_000, allow_subnormal=False),
    st.integers(0, 60),
    st.none() | st.integers(0, 6 * 1024**3),
    st.integers(0, 6 * 1024**3),
)


@given(st.lists(REQUESTS, max_size=300))
def test_the_file_of_any_log_is_read_as_the_profile_and_names_nobody(requests: list[LoggedRequest]) -> None:
    workload = fitted([*requests, request(GET)])
    text = render_fitted(workload, version="1.0")
    assert parse_profile(text, "fitted").profile == fitted_profile(workload)
    assert "secret" not in text


def test_rates_of_the_jobs_add_up_to_that_of_the_log_and_shares_to_its_mix() -> None:
    profile = fitted_profile(fitted([*many(GET, 3000), *many(PUT, 1000, keys=1000), *many(DELETE, 500)]))
    [phase] = profile.phases
    assert phase.duration_s == 3000
    rates = {job.name: job.rate.mean_per_s(0, 3000) for job in phase.jobs if job.rate is not None}
    assert {name: round(rate, 3) for name, rate in rates.items()} == {"reads": 1.0, "writes": 0.5}
    weights = {str(share.kind): share.weight for job in phase.jobs for share in job.mix}
    assert weights == {"get": 100.0, "put": 66.667, "delete": 33.333}


def test_deletes_that_cannot_be_made_take_their_part_of_the_rate_with_them() -> None:
    profile = fitted_profile(fitted([*many(PUT, 1000, keys=1000), *many(DELETE, 3000)]))
    [job] = profile.phases[0].jobs
    assert job.rate is not None
    assert job.rate.mean_per_s(0, 3000) == 2000 / 3000
    assert [share.weight for share in job.mix] == [50.0, 50.0]


def test_an_operation_that_is_rare_keeps_its_weight() -> None:
    workload = fitted(many(GET, 300))
    [reads] = workload.jobs
    workload = replace(workload, jobs=(replace(reads, counts={"get": 300_000, "copy": 1}),))
    parsed = parse_profile(render_fitted(workload, version="1.0"), "fitted").profile
    assert [share.weight for share in parsed.phases[0].jobs[0].mix] == [100.0, 0.00033333]


def test_arrivals_that_are_evenly_spaced_are_planned_so() -> None:
    rates = [job.rate for job in fitted_profile(fitted(many(GET, 3000))).phases[0].jobs]
    assert [rate.arrivals for rate in rates if rate is not None] == [Arrivals.CONSTANT]


def test_popular_keys_become_the_exponent_and_the_number_of_objects_of_the_reads() -> None:
    requests = [request(GET, n / 10, key=f"k{rank}") for rank in range(1, 1001) for n in range(2000 // rank)]
    [job] = fitted_profile(fitted(requests)).phases[0].jobs
    assert job.keys is KeyDistribution.ZIPF
    assert 0.95 < job.zipf_exponent < 1.05
    assert job.objects is not None
    assert 1000 <= job.objects < 1200


def test_popular_keys_keep_their_sizes() -> None:
    sizes = {rank: 500 if rank == 1 else 70_000 if rank == 2 else 4000 + rank for rank in range(1, 1001)}
    requests = [
        request(GET, n / 10, key=f"k{rank}", size=size) for rank, size in sizes.items() for n in range(2000 // rank)
    ]
    [job] = fitted_profile(fitted(requests)).phases[0].jobs
    assert job.popular_sizes[:3] == (500, 70_000, 4003)
    assert len(job.popular_sizes) == 64


def test_the_summary_names_what_was_fitted() -> None:
    found = dict(summary(fitted([*many(GET, 3000), *many(PUT, 1000)])))
    assert found["requests"] == "4,000 in 50.0 min"
    assert found["mix"] == "get 75.00 %, put 25.00 %"
    assert found["sizes of reads"].startswith("p50 4.00 KiB, p90 4.00 KiB, p99 4.00 KiB, mean 4.00 KiB")
    assert found["rate"].startswith("1.333 operations/s on average, 1 to 2 in 2 stretches")
