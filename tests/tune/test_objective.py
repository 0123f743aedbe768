"""What is to be small: times and dollars of a run."""

import pytest
from msgspec.structs import replace

from s3bench.results.measurement import Measurement, Wire, WireFacts, measure
from s3bench.tune.objective import Aim, Objective


def a_run() -> Measurement:
    return measure(
        iteration=0,
        total_s=36.0,
        wire=WireFacts(
            counts=Wire(
                requests=7,
                retries=0,
                connections=1,
                requests_in_flight_max=1,
                bytes_received=5,
                bytes_sent=0,
                part_size_max=5,
                checksums_verified=0,
            ),
            first_request_s=1.0,
            last_response_s=31.0,
            requests_by_kind={
                "PUT partNumber": 1,
                "POST uploads": 1,
                "GET list-type": 2,
                "GET ranged": 1,
                "DELETE": 1,
                "HEAD": 1,
            },
            engine="python",
            server_cpu_s=0.1,
        ),
    )


def test_time_is_that_of_the_whole_command() -> None:
    assert Objective().value(a_run()) == 36.0
    assert Objective().unit == "s"


def test_throughput_is_by_the_time_between_the_first_request_and_the_last_response() -> None:
    assert Objective(aim=Aim.THROUGHPUT).value(a_run()) == 30.0


def test_without_a_server_of_ours_the_whole_command_stands_for_the_transfer() -> None:
    live = replace(a_run(), milestones=replace(a_run().milestones, first_request=None, last_response=None))
    assert Objective(aim=Aim.THROUGHPUT).value(live) == 36.0


def test_a_run_costs_its_machine_and_its_requests_and_deleting_is_free() -> None:
    objective = Objective(aim=Aim.COST, machine_per_hour=1.0, writes_per_1000=5.0, reads_per_1000=1.0)
    # 36 s are a hundredth of an hour; four writes (a LIST is priced as one), two reads.
    assert objective.value(a_run()) == pytest.approx(0.01 + 4 * 0.005 + 2 * 0.001)
    assert objective.unit == "$"
