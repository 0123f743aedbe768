import pytest

from s3bench.run import speed_probe
from s3bench.run.process import Spawner
from tests.run.programs import Launcher

pytestmark = pytest.mark.skipif(
    bool(speed_probe.missing()), reason=f"the speed of the machine is not measured: {speed_probe.missing()}"
)


def test_the_core_is_probed_while_the_client_runs_and_not_while_it_waits(spawner: Spawner, launch: Launcher) -> None:
    code = (
        "import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end: pass\n"
        "print(time.monotonic_ns())\ntime.sleep(0.3)\nprint(time.monotonic_ns())"
    )
    client = launch(code, interval_s=None, measures_speed=True)
    record = spawner.run(client)
    assert record.speed is not None
    assert len(record.speed.at_s) == len(record.speed.work_s) > 10
    assert all(0 < each < 0.01 for each in sorted(record.speed.work_s)[: len(record.speed.work_s) // 2])
    asleep_s, awake_s = ((int(line) - record.started_ns) / 1e9 for line in client.stdout.read_text().split())
    falling_asleep_s = 0.1  # the client may lose its core before it sleeps
    assert not [at_s for at_s in record.speed.at_s if asleep_s + falling_asleep_s < at_s < awake_s]


def test_a_client_of_many_threads_is_followed_to_the_one_that_runs(spawner: Spawner, launch: Launcher) -> None:
    code = (
        "import threading, time\n"
        "def work():\n"
        "    while time.thread_time() < 0.2: pass\n"
        "    print(time.monotonic_ns())\n"
        "    while time.thread_time() < 0.6: pass\n"
        "idle = [threading.Thread(target=time.sleep, args=(0.8,)) for _ in range(8)]\n"
        "busy = threading.Thread(target=work)\n"
        "for each in (*idle, busy): each.start()\n"
        "for each in (*idle, busy): each.join()\n"
    )
    client = launch(code, interval_s=None, measures_speed=True)
    record = spawner.run(client)
    assert record.speed is not None
    assert len(record.speed.at_s) > 5
    after_a_third_s = (int(client.stdout.read_text()) - record.started_ns) / 1e9
    assert record.speed.at_s[0] < after_a_third_s  # a thread of a young process is found soon


def test_without_being_asked_for_the_core_is_not_probed(spawner: Spawner, launch: Launcher) -> None:
    assert spawner.run(launch("sum(range(10**6))")).speed is None
