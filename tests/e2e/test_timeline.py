"""What `s3bench run` keeps for charts of a real client: memory and CPU over time, and the requests of one iteration."""

from itertools import groupby, pairwise
from typing import Any

import pytest

from s3bench.results.timeline import POINTS_MAX
from tests.e2e.conftest import MIB, Place, download
from tests.forkserver import ForkServer


@pytest.fixture(scope="module")
def measurements(fork_server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Three iterations of s5cmd with ranged downloads at the same time."""
    settings = "[default]\ns5cmd =\n  concurrency = 4\n  part_size = 5MB\n"
    definition = download(24 * MIB, clients=["s5cmd"])
    definition["environment"]["config"] = settings
    place = Place(tmp_path_factory.mktemp("place"), fork_server)
    finished = place.s3bench("run", "-n", "3", "--data-interval", "0.0005", place.define(definition))
    assert finished.code == 0, finished.err + finished.out
    found: list[dict[str, Any]] = finished.results[0]["measurements"]
    assert len(found) == 3
    return found


def test_a_run_keeps_series_of_all_iterations_and_requests_of_the_median_one(
    measurements: list[dict[str, Any]],
) -> None:
    totals_s = [each["total_time"] for each in measurements]
    (chosen,) = (each for each in measurements if each["requests"])
    assert chosen["total_time"] == sorted(totals_s)[1]
    for each in measurements:
        series = each["series"]
        assert 2 <= len(series["at"]) <= POINTS_MAX
        assert 0 <= series["at"][0] < series["at"][-1] <= each["total_time"] + 0.001
        assert 0 < max(series["memory"]) <= each["max_memory"]
        assert series["cores"][0] is None


def test_requests_lie_within_the_run_and_one_after_another_on_each_connection(
    measurements: list[dict[str, Any]],
) -> None:
    (chosen,) = (each for each in measurements if each["requests"])
    requests = chosen["requests"]
    assert len(requests) == chosen["wire"]["requests"]
    assert chosen["requests_left_out"] == 0
    assert [request["start"] for request in requests] == sorted(request["start"] for request in requests)
    for request in requests:
        moments = [request[name] for name in ("start", "body_end", "first_byte", "end")]
        assert moments == sorted(moments)
        assert request["error"] == request["fault"] == ""
        assert request["status"] in {200, 206}
    assert requests[0]["start"] == pytest.approx(chosen["milestones"]["first_request"], abs=1e-6)
    assert 0 < requests[0]["start"] < max(request["end"] for request in requests) < chosen["total_time"]
    kinds = [request["kind"] for request in requests]
    assert {kind: kinds.count(kind) for kind in kinds} == chosen["requests_by_kind"]
    assert sum(request["bytes_down"] for request in requests) == chosen["wire"]["bytes_sent"]
    by_connection = sorted(requests, key=lambda request: (request["connection"], request["start"]))
    connections = [list(own) for _, own in groupby(by_connection, key=lambda request: request["connection"])]
    # Go's HTTP client may take a connection that comes free while it opens another, which then carries no request.
    assert 1 < len(connections) <= chosen["wire"]["connections"]
    assert all(before["end"] <= after["start"] for own in connections for before, after in pairwise(own))
