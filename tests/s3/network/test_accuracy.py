"""Achieved against asked, on logs written by hand."""

from typing import Any

import pytest

from s3bench.s3.network.accuracy import AccuracyFigure, accuracy
from s3bench.s3.network.model import NetworkModel, parse_network
from s3bench.s3.wirelog import InjectedFault, TransferEngine, WireLog, WireRequest

MS = 1_000_000


def request(begun_ms: float, ended_ms: float, size_bytes: int, **changes: Any) -> WireRequest:
    """A download on the link from `begun_ms` to `ended_ms`, asked and answered 20 ms before."""
    facts: dict[str, Any] = {
        "method": "GET",
        "path": "/b/k",
        "query": "",
        "byte_range": "",
        "connection": 1,
        "attempt": 1,
        "engine": TransferEngine.OTHER,
        "started_ns": round((begun_ms - 20) * MS),
        "body_ended_ns": round((begun_ms - 20) * MS),
        "response_started_ns": round(begun_ms * MS),
        "ended_ns": round(ended_ms * MS),
        "status": 200,
        "body_bytes": 0,
        "wire_bytes": 0,
        "response_bytes": size_bytes,
        "checksums": {},
        "file": "",
        "served_start": 0,
        "served_end": 0,
        "complete": True,
        "error": "",
        "asked_ttfb_s": 0.02,
    }
    return WireRequest(**facts | changes)


def judged(model: NetworkModel, *requests: WireRequest) -> tuple[dict[str, AccuracyFigure], tuple[str, ...]]:
    log = WireLog(
        requests=requests,
        leftover=(),
        connections=1,
        connections_open_max=1,
        requests_in_flight_max=1,
        server_cpu_s=0,
        faults=(),
    )
    result = accuracy(log, model)
    return {figure.name: figure for figure in result.figures}, result.warnings


def test_a_link_that_does_as_asked_is_not_warned_about() -> None:
    model = parse_network("ttfb=20ms,bandwidth=10MB/s")
    figures, warnings = judged(model, *(request(at, at + 100, 1_000_000) for at in range(100, 2000, 130)))
    assert warnings == ()
    assert set(figures) == {
        "time to first byte, p50",
        "time to first byte, p90",
        "bandwidth down of a connection, p50",
        "bandwidth down of a connection, p90",
        "bandwidth down in all, while busy",
    }
    assert all(figure.off == pytest.approx(0) for figure in figures.values())
    assert figures["bandwidth down in all, while busy"].asked == pytest.approx(10e6)


def test_a_late_first_byte_is_warned_about() -> None:
    late = request(100, 101, 0, body_ended_ns=79 * MS)
    figures, (warning,) = judged(parse_network("ttfb=20ms"), late)
    assert figures["time to first byte, p50"].off == pytest.approx(0.05)
    assert "21 ms achieved, 20 ms asked (+5.0%, over 1 requests)" in warning


def test_the_nic_is_shared_by_whoever_is_on_it() -> None:
    model = parse_network("nic=10MB/s,bandwidth=8MB/s")
    alone_then_shared = request(100, 300, 800_000 + 500_000)
    shared_then_alone = request(200, 400, 500_000 + 800_000)
    figures, warnings = judged(model, alone_then_shared, shared_then_alone)
    assert warnings == ()
    assert figures["bandwidth down of a connection, p50"].asked == pytest.approx(6.5e6)
    assert figures["bandwidth down in all, while busy"].achieved == pytest.approx(2_600_000 / 0.3)


def test_too_little_and_too_much_are_both_warned_about() -> None:
    model = parse_network("bandwidth=10MB/s")
    for size in (960_000, 1_040_000):
        _, warnings = judged(model, request(100, 200, size))
        assert len(warnings) == 2
    assert judged(model, request(100, 200, 980_000))[1] == ()


def test_short_transfers_have_their_share_of_the_nic_and_are_not_judged_themselves() -> None:
    model = parse_network("nic_down=20MB/s")
    large = request(100, 1100, 10_000_000)
    small = [request(100 + 4 * number, 104 + 4 * number, 40_000) for number in range(250)]
    figures, warnings = judged(model, large, *small)
    assert warnings == ()
    assert figures["bandwidth down of a connection, p50"].asked == pytest.approx(10e6)
    assert figures["bandwidth down in all, while busy"].asked == pytest.approx(10e6)
    assert {figure.count for name, figure in figures.items() if "down" in name} == {1}


def test_short_transfers_that_carry_little_leave_the_rest_of_the_nic() -> None:
    model = parse_network("nic_down=20MB/s")
    large = request(100, 1100, 17_000_000)
    small = [request(100 + number, 101 + number, 3000) for number in range(1000)]
    figures, warnings = judged(model, large, *small, request(300, 300, 100))
    assert warnings == ()
    assert figures["bandwidth down of a connection, p50"].asked == pytest.approx(17e6)


def test_a_short_transfer_that_came_late_says_nothing_about_bandwidth() -> None:
    late = [request(at, at + 6, 1000) for at in range(100, 200, 20)]
    figures, warnings = judged(parse_network("bandwidth=20MB/s"), request(100, 1100, 20_000_000), *late)
    assert warnings == ()
    assert figures["bandwidth down of a connection, p50"].count == 1


def test_uploads_are_judged_by_what_they_brought() -> None:
    model = parse_network("nic_up=10MB/s")
    upload = request(320, 320, 0, method="PUT", started_ns=200 * MS, body_ended_ns=300 * MS, wire_bytes=900_000)
    figures, warnings = judged(model, upload)
    assert figures["bandwidth up of a connection, p50"].achieved == pytest.approx(9e6)
    assert len(warnings) == 2


@pytest.mark.parametrize("fault", [InjectedFault.RESET, InjectedFault.STALL])
def test_replies_that_broke_say_nothing_about_bandwidth(fault: InjectedFault) -> None:
    figures, _ = judged(parse_network("bandwidth=10MB/s"), request(100, 5000, 1_000_000, fault=fault))
    assert set(figures) == {"time to first byte, p50"}


def test_what_was_too_short_or_never_sent_gives_no_figure() -> None:
    model = parse_network("bandwidth=10MB/s")
    figures, _ = judged(model, request(100, 101, 10_000), request(100, 100, 0, status=0, asked_ttfb_s=0.0))
    assert set(figures) == {"time to first byte, p50"}
    assert judged(model) == ({}, ())
