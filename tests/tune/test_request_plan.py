"""The requests of a transfer, counted by hand."""

from s3bench.clients.tuning.client_tuning import Habits
from s3bench.clients.tuning.parameter import GIB, MIB
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.results.measurement import Measurement
from s3bench.tune.request_plan import RequestPlan, habits_of, plan_requests
from s3bench.tune.setting import Setting
from tests.tune.transfers import Run, trial

DOWN = Workload(action=Action.DOWNLOAD, size_bytes=256 * MIB)


def plan(client: str, workload: Workload, **values: int) -> RequestPlan:
    setting = Setting.of(client, values)
    return plan_requests(setting, workload, Habits(lookups_per_file=1.0))


def test_a_client_that_is_reported_nothing_goes_by_its_defaults() -> None:
    classic = plan("cli-classic", DOWN)
    assert (classic.requests, classic.lanes, classic.rounds) == (32, 10, 4)
    assert classic.lane_bytes == 4 * 8 * MIB
    s5cmd = plan("s5cmd", Workload(action=Action.UPLOAD, size_bytes=256 * MIB))
    assert (s5cmd.requests, s5cmd.lanes, s5cmd.in_turn) == (6, 5, 3.0)


def test_the_last_part_weighs_only_where_it_begins_a_round() -> None:
    of_13 = Workload(action=Action.UPLOAD, size_bytes=64 * MIB)
    assert (
        plan("boto3-classic", of_13, max_concurrent_requests=4, multipart_chunksize=5 * MIB).lane_bytes
        == (3 * 5 + 4) * MIB
    )
    assert plan("boto3-classic", of_13, max_concurrent_requests=5, multipart_chunksize=5 * MIB).lane_bytes == 15 * MIB
    assert plan("boto3-classic", of_13, max_concurrent_requests=40, multipart_chunksize=40 * MIB).lane_bytes == (
        40 * MIB
    )


def test_s5cmd_downloads_the_first_part_before_all_others() -> None:
    found = plan("s5cmd", Workload(action=Action.DOWNLOAD, size_bytes=64 * MIB))
    assert (found.first_bytes, found.rounds, found.lane_bytes) == (50 * MIB, 1, 14 * MIB)
    assert plan("cli-classic", DOWN).first_bytes == 0


def test_a_file_below_the_threshold_is_one_request() -> None:
    found = plan("cli-classic", DOWN, multipart_threshold=512 * MIB)
    assert (found.requests, found.lanes, found.lane_bytes) == (1, 1, 256 * MIB)
    assert plan("boto3-crt", DOWN, multipart_threshold=512 * MIB).requests == 32, "the CRT heeds it for uploads alone"


def test_an_upload_has_no_more_than_ten_thousand_parts() -> None:
    assert plan("cli-classic", Workload(action=Action.UPLOAD, size_bytes=1000 * GIB)).requests == 10_000


def test_many_files_share_the_connections() -> None:
    many = Workload(action=Action.UPLOAD, size_bytes=1000, files=95)
    found = plan("cli-classic", many)
    assert (found.requests, found.lanes, found.rounds, found.lane_bytes) == (95, 10, 10, 10_000)


def test_the_crt_has_as_many_connections_as_its_target_needs() -> None:
    assert plan("cli-crt", DOWN, multipart_chunksize=5 * MIB).lanes == 25
    assert plan("cli-crt", DOWN, multipart_chunksize=5 * MIB, target_bandwidth=GIB // 8).lanes == 10
    assert plan("cli-crt", DOWN, multipart_chunksize=5 * MIB, max_concurrent_requests=2).lanes == 2


def test_parts_that_a_client_chose_by_itself_are_read_from_its_runs() -> None:
    habits = Habits(part_bytes=((None, 32 * MIB), (GIB // 8, 16 * MIB)), lanes=12)
    own, reported = Setting(client="cli-crt"), Setting.of("cli-crt", {"target_bandwidth": GIB // 8})
    assert plan_requests(own, DOWN, habits).requests == 8
    assert plan_requests(reported, DOWN, habits).requests == 16
    assert plan_requests(own, Workload(action=Action.DOWNLOAD, size_bytes=10 * GIB), habits).lanes == 12


def seen(setting: Setting, *, parts: int, part_bytes: int, in_flight: int) -> Measurement:
    """A download of `DOWN` as the wire showed it."""
    run = Run(
        values={},
        total_s=2.0,
        first_s=0.4,
        last_s=1.9,
        user_s=0.5,
        system_s=0.1,
        server_s=0.0,
        in_flight=in_flight,
        part_bytes=part_bytes,
        kinds={"GET ranged": parts, "HEAD": 1},
    )
    found = trial(setting, run, DOWN).measurement
    assert found is not None
    return found


def test_habits_are_read_from_the_runs_in_which_the_client_was_left_to_itself() -> None:
    own, reported = Setting(client="cli-crt"), Setting.of("cli-crt", {"target_bandwidth": GIB // 8})
    asked = Setting.of("cli-crt", {"multipart_chunksize": 5 * MIB, "max_concurrent_requests": 20})
    runs = {
        own: [
            seen(own, parts=32, part_bytes=8 * MIB, in_flight=12),
            seen(own, parts=32, part_bytes=8 * MIB, in_flight=9),
        ],
        reported: [seen(reported, parts=16, part_bytes=16 * MIB, in_flight=4)],
        asked: [seen(asked, parts=52, part_bytes=5 * MIB, in_flight=20)] * 3,
    }
    assert habits_of(runs, DOWN) == Habits(
        lookups_per_file=1.0,
        part_bytes=((None, 8 * MIB), (GIB // 8, 16 * MIB)),
        lanes=12,
    )


def test_with_no_more_requests_than_were_in_flight_the_lanes_are_not_known() -> None:
    own = Setting(client="cli-crt")
    few = {own: [seen(own, parts=8, part_bytes=32 * MIB, in_flight=8)]}
    assert habits_of(few, DOWN).lanes is None
    assert habits_of({}, DOWN) == Habits()


MIXED = Workload(action=Action.UPLOAD, size_bytes=100 * MIB, files=101, sizes=((4096, 100), (100 * MIB, 1)))


def test_files_of_several_sizes_make_the_requests_of_each() -> None:
    found = plan("cli-classic", MIXED)
    assert (found.total_bytes, found.requests, found.lanes) == (100 * 4096 + 100 * MIB, 100 + 13, 10)
    assert found.rounds == 12
    larger = plan("cli-classic", MIXED, multipart_chunksize=64 * MIB)
    assert larger.requests == 100 + 2
    assert larger.lane_bytes == 64 * MIB, "the largest file takes as long as its largest part"


def test_equal_files_are_planned_alike_in_both_forms() -> None:
    equal = Workload(action=Action.UPLOAD, size_bytes=100 * MIB, files=4)
    nearly = Workload(action=Action.UPLOAD, size_bytes=100 * MIB, files=4, sizes=((100 * MIB - 1, 2), (100 * MIB, 2)))
    one, other = plan("cli-classic", equal), plan("cli-classic", nearly)
    assert (one.requests, one.lanes, one.rounds) == (other.requests, other.lanes, other.rounds)
    assert abs(one.lane_bytes / other.lane_bytes - 1) < 0.1
