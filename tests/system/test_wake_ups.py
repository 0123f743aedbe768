from pathlib import Path

import pytest

from s3bench.system.wake_ups import prompt_wake_ups


@pytest.fixture
def latency(tmp_path: Path) -> Path:
    path = tmp_path / "cpu_dma_latency"
    path.touch()
    return path


@pytest.fixture
def timer_slack(tmp_path: Path) -> Path:
    path = tmp_path / "timerslack_ns"
    path.write_text("50000", encoding="ascii")
    return path


def is_open(path: Path) -> bool:
    return any(each.readlink() == path for each in Path("/proc/self/fd").iterdir() if each.is_symlink())


def test_a_latency_of_nothing_is_asked_for_and_held_and_the_timer_slack_is_put_back(
    latency: Path, timer_slack: Path
) -> None:
    with prompt_wake_ups(latency, timer_slack) as cores_awake:
        assert cores_awake
        assert latency.read_bytes() == b"\0\0\0\0"
        assert is_open(latency), "the kernel forgets it when it is closed"
        assert timer_slack.read_text(encoding="ascii") == "1"
    assert not is_open(latency)
    assert timer_slack.read_text(encoding="ascii") == "50000"


def test_the_end_by_an_error_puts_the_timer_slack_back(latency: Path, timer_slack: Path) -> None:
    with pytest.raises(ValueError, match="stop"), prompt_wake_ups(latency, timer_slack):
        raise ValueError("stop")
    assert timer_slack.read_text(encoding="ascii") == "50000"
    assert not is_open(latency)


def test_without_access_to_the_one_the_other_is_still_done(latency: Path, timer_slack: Path, tmp_path: Path) -> None:
    with prompt_wake_ups(tmp_path / "absent", timer_slack) as cores_awake:
        assert not cores_awake
        assert timer_slack.read_text(encoding="ascii") == "1"
    with prompt_wake_ups(latency, tmp_path / "absent") as cores_awake:
        assert cores_awake
