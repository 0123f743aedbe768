"""What a transfer waited for, told by its figures."""

from collections.abc import Sequence

import pytest

from s3bench.clients.tuning.parameter import MIB
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.results.measurement import Measurement, UsageFacts, Wire, WireFacts, measure
from s3bench.s3.network.model import parse_network
from s3bench.tune.bottleneck import Bottleneck, TransferLimit, find_bottleneck
from s3bench.tune.setting import Setting
from s3bench.tune.study import DiskSpeed

SIZE = 250_000_000
DOWN = Workload(action=Action.DOWNLOAD, size_bytes=SIZE)
UP = Workload(action=Action.UPLOAD, size_bytes=SIZE)
CRT, CLASSIC, S5CMD = (Setting(client=name) for name in ("cli-crt", "cli-classic", "s5cmd"))


def run(
    transfer_s: float,
    *,
    start_up_s: float = 0.5,
    transfer_cpu_s: float = 0.2,
    server_s: float | None = None,
    in_flight: int = 10,
    requests: int = 30,
) -> Measurement:
    """A run whose start-up used one core, and its transfer `transfer_cpu_s`."""
    total_s = start_up_s + transfer_s
    wire = WireFacts(
        counts=Wire(
            requests=requests + 1,
            retries=0,
            connections=in_flight,
            requests_in_flight_max=in_flight,
            bytes_received=0,
            bytes_sent=SIZE,
            part_size_max=8 * MIB,
            checksums_verified=0,
        ),
        first_request_s=start_up_s,
        last_response_s=total_s,
        requests_by_kind={"GET ranged": requests, "HEAD": 1},
        engine="crt",
        server_cpu_s=server_s,
    )
    usage = UsageFacts(user_cpu_s=start_up_s + transfer_cpu_s, system_cpu_s=0.0)
    return measure(iteration=0, total_s=total_s, usage=usage, wire=wire)


def found(
    runs: Measurement | Sequence[Measurement],
    network: str | None = "ttfb=20ms,bandwidth=93MB/s,nic=949MB/s",
    *,
    setting: Setting = CRT,
    workload: Workload = DOWN,
    disk: DiskSpeed | None = None,
    cores: int = 4,
) -> Bottleneck:
    each = (runs,) if isinstance(runs, Measurement) else runs
    return find_bottleneck(each, setting, workload, (network and parse_network(network)) or None, disk, cores)


def test_a_full_link_is_the_limit_and_only_another_machine_moves_it() -> None:
    reported = found(run(2.6), "ttfb=20ms,bandwidth=93MB/s,nic=100MB/s")
    assert reported.limit is TransferLimit.NIC
    assert reported.evidence[0] == "network: 96 MB/s of 100 MB/s in the transfer (96%)"
    assert reported.remedies == ("an instance with a faster NIC: the link is full, so no setting helps",)


def test_each_direction_has_its_own_link() -> None:
    model = "nic_up=100MB/s,nic_down=900MB/s"
    assert found(run(2.6), model, workload=UP).limit is TransferLimit.NIC
    assert found(run(2.6), model, workload=DOWN).limit is TransferLimit.NONE


def test_connections_that_are_all_full_are_the_limit() -> None:
    reported = found(run(3.0, in_flight=4), "ttfb=20ms,bandwidth=25MB/s,nic=949MB/s")
    assert reported.limit is TransferLimit.CONNECTIONS
    assert reported.evidence[0] == "connections: 83 MB/s of 100 MB/s, 4 in flight x 25 MB/s (83%)"
    assert reported.remedies == ("more requests at once: a higher target_bandwidth",)


@pytest.mark.parametrize(
    ("setting", "words"), [(CLASSIC, "max_concurrent_requests"), (S5CMD, "--concurrency"), (CRT, "target_bandwidth")]
)
def test_each_client_is_reported_its_own_parameter(setting: Setting, words: str) -> None:
    reported = found(run(3.0, in_flight=4), "bandwidth=25MB/s", setting=setting)
    assert words in reported.remedies[0]


def test_with_no_more_parts_than_connections_parts_are_too_large() -> None:
    reported = found(run(3.0, in_flight=4, requests=4), "bandwidth=25MB/s")
    assert reported.remedies == ("smaller parts: all parts are already in flight",)
    s5cmd = found(run(3.0, in_flight=4, requests=5), "bandwidth=25MB/s", setting=S5CMD)
    assert s5cmd.remedies == reported.remedies, "its first part is fetched alone"
    assert found(run(3.0, in_flight=4, requests=5), "bandwidth=25MB/s").remedies != reported.remedies


@pytest.mark.parametrize(
    ("setting", "size_bytes"),
    [
        (Setting.of("s5cmd", {"part_size": 5 * MIB}), 20 * MIB),  # parts of the least size
        (S5CMD, 5 * MIB),  # a file that cannot be cut
    ],
)
def test_parts_that_s3_takes_no_smaller_are_not_advised_to_be_smaller(setting: Setting, size_bytes: int) -> None:
    full = run(size_bytes / 90e6, start_up_s=0.01, transfer_cpu_s=0.01, in_flight=4, requests=4)
    up, down = (
        found(full, "bandwidth=25MB/s", setting=setting, workload=Workload(action=action, size_bytes=size_bytes))
        for action in (Action.UPLOAD, Action.DOWNLOAD)
    )
    assert up.remedies == ("more files in one command: all parts are in flight, and S3 takes none below 5.00 MiB",)
    assert down.remedies == ("smaller parts: all parts are already in flight",), "a range may have any size"


def test_parts_above_the_least_size_can_be_smaller() -> None:
    full = run(0.25, start_up_s=0.01, transfer_cpu_s=0.01, in_flight=4, requests=4)
    for client, size_bytes in ((S5CMD, 20 * MIB), (CRT, 24 * MIB)):
        workload = Workload(action=Action.UPLOAD, size_bytes=size_bytes)
        reported = found(full, "bandwidth=25MB/s", setting=client, workload=workload)
        assert reported.remedies == ("smaller parts: all parts are already in flight",)


def test_round_trips_that_take_the_time_are_the_limit() -> None:
    reported = found(run(1.5, in_flight=5, requests=50), "ttfb=100ms,nic=949MB/s")
    assert reported.limit is TransferLimit.LATENCY
    assert reported.evidence[0] == "latency: 10.0 requests on each connection x 100 ms of 1.50 s (67%)"
    assert reported.remedies[0] == "larger parts: fewer round trips"


def test_files_that_are_not_split_need_no_larger_parts() -> None:
    many = Workload(action=Action.DOWNLOAD, size_bytes=1000, files=50)
    reported = found(run(1.5, in_flight=5, requests=50), "ttfb=100ms,nic=949MB/s", workload=many)
    assert reported.limit is TransferLimit.LATENCY
    assert not any("parts" in words for words in reported.remedies)


def test_one_full_core_limits_python_but_not_the_crt() -> None:
    full = run(1.0, transfer_cpu_s=0.95)
    reported = found(full, setting=CLASSIC)
    assert reported.limit is TransferLimit.CORE
    assert reported.evidence[0].startswith(
        "cores: 0.95 in the transfer, besides a start-up on one core (1.45 s of CPU time in all)"
    )
    assert reported.remedies[0] == "cli-crt or s5cmd: they use more than one core"
    assert found(full, setting=CRT).limit is TransferLimit.NONE


def test_all_cores_busy_is_the_limit_and_the_server_counts() -> None:
    assert found(run(1.0, transfer_cpu_s=1.8), cores=2).limit is TransferLimit.CPU
    shared = found(run(1.0, transfer_cpu_s=1.1, server_s=0.8), cores=2)
    assert shared.limit is TransferLimit.CPU
    assert "0.80 by the server, which also runs on this machine" in shared.evidence[0]
    assert "S3 itself" in shared.remedies[1]


def test_a_busy_server_is_said_to_be_this_machines_limit() -> None:
    assert not any("stub-bound" in words for words in found(run(1.0, server_s=0.3)).evidence)
    assert (
        found(run(1.0, server_s=0.6)).evidence[-1].startswith("stub-bound: the server was busy for 60% of the transfer")
    )


def test_a_slow_disk_is_the_limit_of_what_it_does() -> None:
    disk = DiskSpeed(kind="ext4", size_bytes=1 << 30, write=280e6, read=2e9)
    reported = found(run(1.0), disk=disk)
    assert reported.limit is TransferLimit.DISK
    assert reported.evidence[0] == "disk: 250 MB/s in the transfer, of the 280 MB/s that it can write (89%)"
    assert found(run(1.0), disk=disk, workload=UP).limit is TransferLimit.NONE
    unread = DiskSpeed(kind="tmpfs", size_bytes=1 << 30, write=1.0, read=None)
    assert not any("disk" in words for words in found(run(1.0), disk=unread, workload=UP).evidence)


def test_a_client_that_starts_longer_than_it_transfers_is_limited_by_that() -> None:
    reported = found(run(0.4, start_up_s=1.2))
    assert reported.limit is TransferLimit.START_UP
    assert reported.evidence[0] == "start-up and end of the client: 1.20 s of 1.60 s (75%)"


@pytest.mark.parametrize("client", ["s5cmd", "boto3-classic", "rclone"])
def test_another_client_against_the_start_up_is_advised_for_the_aws_cli_alone(client: str) -> None:
    first, *more = found(run(0.4, start_up_s=1.2), setting=Setting(client=client)).remedies
    assert first == "more bytes in one command: the start-up is paid once"
    assert more == []
    aws_cli = found(run(0.4, start_up_s=1.2), setting=CLASSIC)
    assert aws_cli.remedies[1:] == ("s5cmd, or boto3 in a running program: both avoid the start-up of aws-cli",)


def test_a_disk_that_was_outrun_is_known_to_have_been_helped() -> None:
    reported = found(run(1.0), disk=DiskSpeed(kind="ext4", size_bytes=1 << 30, write=200e6, read=2e9))
    assert reported.evidence[-1].endswith("(125%): more than the disk delivers, so the page cache helped")
    assert reported.limit is TransferLimit.NONE
    assert reported.remedies == found(run(1.0)).remedies, "a faster disk would change nothing"


def test_where_no_limit_was_reached_the_nearest_one_is_reported_and_what_would_move_it() -> None:
    reported = found(run(1.28, start_up_s=0.72), None)
    assert reported.limit is TransferLimit.NONE
    assert reported.evidence[0] == "start-up and end of the client: 0.72 s of 2.00 s (36%)"
    assert reported.remedies[0] == "more bytes in one command: the start-up is paid once"


def test_no_limit_is_claimed_where_nothing_is_near_one() -> None:
    reported = found(run(2.0))
    assert reported.limit is TransferLimit.NONE
    assert len(reported.evidence) == 5, "all figures are told nevertheless"


def test_the_median_run_counts() -> None:
    model = "ttfb=20ms,bandwidth=93MB/s,nic=100MB/s"
    assert found([run(2.6), run(9.0), run(2.6)], model).limit is TransferLimit.NIC
    assert found([run(2.6), run(9.0), run(9.0)], model).limit is not TransferLimit.NIC


def test_a_live_run_shows_its_cpu_alone() -> None:
    usage = UsageFacts(user_cpu_s=1.9, system_cpu_s=0.0)
    live = measure(iteration=0, total_s=1.0, usage=usage)
    reported = found(live, None, cores=2)
    assert reported.limit is TransferLimit.CPU
    assert reported.evidence == ("CPU: 1.90 cores by the client, of 2 (95%)",)


def test_without_runs_nothing_is_known() -> None:
    assert found(()).limit is TransferLimit.UNKNOWN
