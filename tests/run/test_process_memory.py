import sys
from dataclasses import replace

import pytest

from s3bench.run import spawner as spawner_module
from s3bench.run.process import Launch, PeakSource, ProcessRecord, Spawner
from tests.run.programs import BURN, HOLD, MIB, Launcher, in_child

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc")


class TestMemory:
    @pytest.mark.parametrize("depth", [0, 1, 2])
    @pytest.mark.parametrize("interval_s", [0.001, None])
    def test_memory_counts_whoever_of_the_tree_holds_it(
        self, spawner: Spawner, launch: Launcher, depth: int, interval_s: float | None
    ) -> None:
        code = HOLD.format(mib=64)
        for _ in range(depth):
            code = in_child(code)
        record = spawner.run(launch(code, interval_s=interval_s))
        assert record.exit_code == 0
        assert 64 * MIB < record.usage.peak_memory_bytes < (64 + 16 * (depth + 1)) * MIB

    @linux_only
    def test_memory_held_by_two_processes_at_once_adds_up(self, spawner: Spawner, launch: Launcher) -> None:
        code = HOLD.format(mib=48) + "\n" + in_child(HOLD.format(mib=48) + "\nimport time; time.sleep(0.5)")
        record = spawner.run(launch(code))
        assert record.peak_memory_source == PeakSource.TREE
        assert record.usage.peak_memory_bytes > 96 * MIB
        assert max(record.series.rss_bytes) >= record.usage.peak_memory_bytes  # a sample counts shared pages twice

    def test_the_size_of_the_harness_does_not_show(self, launch: Launcher) -> None:
        ballast = bytearray(b"x") * (256 * MIB)
        with Spawner() as started_from_a_large_harness:
            record = started_from_a_large_harness.run(launch(HOLD.format(mib=32)))
        assert len(ballast) == 256 * MIB
        assert 32 * MIB < record.usage.peak_memory_bytes < 56 * MIB
        assert record.peak_memory_source == PeakSource.KERNEL

    @linux_only
    def test_a_client_smaller_than_the_helper_is_said_to_be_uncertain(self, spawner: Spawner, launch: Launcher) -> None:
        record = spawner.run(launch(argv=("/bin/true",), interval_s=None))
        assert [warning for warning in record.warnings if "upper bound" in warning]


HELD_MIB, HELPER_MIB = 48, 32
TELL = """
import os, time
status = open("/proc/self/status").read()
os.write(1, status[status.index("RssAnon:") + 8 :].split()[0].encode() + b"\\n")
"""
HELPER = f"{TELL}{HOLD.format(mib=HELPER_MIB)}\ntime.sleep(0.4)\n"
START = "import subprocess, sys\nhelper = subprocess.Popen([sys.executable, '-I', '-S', '-c', {code!r}])\n"
WITH_HELPERS = {
    "a helper that lives as long as its parent": START.format(code=HELPER) + "helper.wait()",
    "a helper that ends early": START.format(code=HELPER) + f"helper.wait()\n{BURN.format(cpu_s=0.1)}",
    "a helper of a helper": START.format(
        code=START.replace("helper =", TELL + "helper =").format(code=HELPER) + "helper.wait()"
    )
    + "helper.wait()",
    "a fork": f"import os, time\nif not os.fork():\n    more = bytearray(b'x') * ({HELPER_MIB} << 20)\n"
    "    time.sleep(0.4)\n    os._exit(0)\nos.wait()",
    "a fork that writes to its parent's pages": "import os, time\nif not os.fork():\n"
    f"    for at in range(0, {HELPER_MIB} << 20, 4096): held[at] = 1\n    time.sleep(0.4)\n    os._exit(0)\nos.wait()",
}


FORKS = """
import os, time
reader, writer = os.pipe()
for _ in range(30):
    if not os.fork():
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
time.sleep(0.4)
os.close(writer)
for _ in range(30): os.wait()
"""

TREE = {
    "bytes_max": 30 * MIB,
    "is_upper_bound": False,
    "ceiling_bytes": 0,
    "unseen_bytes": 0,
    "high_water_max": 20 * MIB,
    "last_rest_bytes": 0,
}
"""The helper's looks at processes, as in its reply."""


def run_and_run_with(
    looks: dict[str, int], job: Launch, monkeypatch: pytest.MonkeyPatch
) -> tuple[ProcessRecord, ProcessRecord]:
    """Run a job as it is, and once as if these were the helper's looks at two processes."""
    receive = spawner_module.receive

    def changed(control: int) -> dict[str, object]:
        reply = receive(control)
        return {**reply, "process_count": 2, "tree": reply["tree"] | looks}

    with Spawner() as spawner:
        plain = spawner.run(replace(job, interval_s=None))
        monkeypatch.setattr(spawner_module, "receive", changed)
        return plain, spawner.run(replace(job, interval_s=None))


@linux_only
class TestMemoryOfHelperProcesses:
    @pytest.mark.parametrize(
        ("helpers", "interval_s"),
        [*((name, None) for name in WITH_HELPERS), ("a helper that ends early", 0.001), ("a fork", 0.001)],
    )
    def test_the_peak_is_what_all_hold_together(
        self, spawner: Spawner, launch: Launcher, helpers: str, interval_s: float | None
    ) -> None:
        code = f"import subprocess\n{HOLD.format(mib=HELD_MIB)}\n"
        alone = spawner.run(launch(code, interval_s=None))
        job = launch(code + WITH_HELPERS[helpers], interval_s=interval_s)
        record = spawner.run(job)
        own_bytes = sum(int(line) * 1024 for line in job.stdout.read_text("ascii").split())
        truth_bytes = alone.usage.peak_memory_bytes + own_bytes + HELPER_MIB * MIB
        assert record.usage.peak_memory_bytes == pytest.approx(truth_bytes, rel=0.03)
        assert record.peak_memory_source == PeakSource.TREE
        assert not [warning for warning in record.warnings if "bound" in warning]

    def test_helpers_too_short_lived_to_be_seen_make_the_peak_a_lower_bound(
        self, spawner: Spawner, launch: Launcher
    ) -> None:
        code = (
            f"import os\n{HOLD.format(mib=HELD_MIB)}\nfor _ in range(40):\n    if not os.fork():\n"
            "        more = bytearray(b'x') * (1 << 20)\n        os._exit(0)\n    os.wait()"
        )
        record = spawner.run(launch(code, interval_s=None))
        assert [warning for warning in record.warnings if "lower bound" in warning]

    def test_growth_of_the_largest_after_the_last_look_is_added_to_what_the_others_held(
        self, launch: Launcher, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looks = {"bytes_max": 40 * MIB, "high_water_max": 30 * MIB, "last_rest_bytes": HELPER_MIB * MIB}
        alone, record = run_and_run_with(looks, launch(HOLD.format(mib=HELD_MIB)), monkeypatch)
        assert record.peak_memory_source == PeakSource.TREE
        assert record.usage.peak_memory_bytes == pytest.approx(
            alone.usage.peak_memory_bytes + HELPER_MIB * MIB, abs=MIB
        )

    @pytest.mark.parametrize("is_upper_bound", [True, False])
    def test_a_peak_with_shared_pages_counted_for_each_is_an_upper_bound(
        self, launch: Launcher, monkeypatch: pytest.MonkeyPatch, is_upper_bound: bool
    ) -> None:
        looks = {"bytes_max": 90 * MIB, "is_upper_bound": is_upper_bound, "high_water_max": 90 * MIB}
        _, record = run_and_run_with(looks, launch(HOLD.format(mib=HELD_MIB)), monkeypatch)
        assert record.usage.peak_memory_bytes == 90 * MIB
        assert bool([warning for warning in record.warnings if "upper bound" in warning]) == is_upper_bound

    def test_pages_that_forks_of_a_small_client_share_count_once_with_samples_too(
        self, spawner: Spawner, launch: Launcher
    ) -> None:
        plain, sampled = (spawner.run(launch(FORKS, interval_s=interval_s)) for interval_s in (None, 0.001))
        assert (plain.peak_memory_source, sampled.peak_memory_source) == (PeakSource.TREE, PeakSource.TREE)
        assert sampled.usage.peak_memory_bytes == pytest.approx(plain.usage.peak_memory_bytes, rel=0.05)
        assert max(sampled.series.rss_bytes) > 4 * sampled.usage.peak_memory_bytes

    @pytest.mark.parametrize(
        ("changes", "source", "peak_mib", "is_upper_bound"),
        [
            ({"process_count": 1}, PeakSource.SAMPLED, 90, False),
            ({"tree": TREE}, PeakSource.TREE, 30, False),
            ({"tree": TREE | {"is_upper_bound": True}}, PeakSource.TREE, 30, True),
            ({"tree": TREE | {"high_water_max": 35 * MIB}}, PeakSource.TREE, 35, False),
            ({"tree": TREE | {"bytes_max": 0, "high_water_max": 0}}, PeakSource.SAMPLED, 90, True),
            ({"tree": None}, PeakSource.SAMPLED, 90, True),
        ],
    )
    def test_the_peak_of_a_client_smaller_than_the_helper_is_from_looks_at_its_processes_or_from_samples(
        self,
        launch: Launcher,
        monkeypatch: pytest.MonkeyPatch,
        changes: dict[str, object],
        source: PeakSource,
        peak_mib: int,
        is_upper_bound: bool,
    ) -> None:
        receive = spawner_module.receive
        hidden = {"process_count": 2, "rss_bytes_floor": 1 << 40, "sampled_rss_bytes_max": 90 * MIB, **changes}
        monkeypatch.setattr(spawner_module, "receive", lambda control: {**receive(control), **hidden})
        with Spawner() as spawner:
            record = spawner.run(launch(BURN.format(cpu_s=0.05)))
        assert (record.peak_memory_source, record.usage.peak_memory_bytes) == (source, peak_mib * MIB)
        assert bool([warning for warning in record.warnings if "upper bound" in warning]) == is_upper_bound

    def test_helpers_that_hold_next_to_nothing_give_no_warning(self, spawner: Spawner, launch: Launcher) -> None:
        code = f"import subprocess\n{HOLD.format(mib=HELD_MIB)}\nfor _ in range(3): subprocess.run(['/bin/true'])"
        record = spawner.run(launch(code, interval_s=None))
        assert record.warnings == ()

    def test_a_shell_around_a_client_that_frees_and_takes_memory_again_gives_no_warning(
        self, spawner: Spawner, launch: Launcher
    ) -> None:
        code = "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: bytearray(8 << 20)"
        shell = ("/bin/sh", "-c", f"'{sys.executable}' -I -S -c '{code}'; exit $?")
        record = spawner.run(launch(argv=shell, interval_s=None))
        assert record.exit_code == 0
        assert not [warning for warning in record.warnings if "lower bound" in warning]
