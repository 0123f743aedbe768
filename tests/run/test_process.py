import json
import os
import shutil
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from s3bench.errors import ClientNotFound, MachineError, S3BenchError
from s3bench.run import spawner as spawner_module
from s3bench.run.process import Spawner, _kill_below
from s3bench.system.portable import IS_PORTABLE
from tests.processes import await_end
from tests.run.programs import BURN, MIB, Launcher, in_child

linux_only = pytest.mark.skipif(IS_PORTABLE, reason="needs Linux's /proc or subreaper")


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


class TestEnds:
    @pytest.mark.parametrize("code", [0, 1, 7, 255])
    def test_the_exit_code_is_told(self, spawner: Spawner, launch: Launcher, code: int) -> None:
        record = spawner.run(launch(f"import os; os._exit({code})"))
        assert record.exit_code == code

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
    def test_a_signal_is_a_negative_exit_code(self, spawner: Spawner, launch: Launcher, number: int) -> None:
        record = spawner.run(launch(f"import os; os.kill(os.getpid(), {number})"))
        assert record.exit_code == -number

    def test_a_timeout_leaves_no_exit_code(self, spawner: Spawner, launch: Launcher) -> None:
        record = spawner.run(launch("import signal; signal.pause()", timeout_s=0.2))
        assert record.exit_code is None
        assert (record.ended_ns - record.started_ns) / 1e9 >= 0.2
        assert not alive(record.pid)

    def test_a_timeout_that_is_not_reached_changes_nothing(self, spawner: Spawner, launch: Launcher) -> None:
        assert spawner.run(launch("pass", timeout_s=None)).exit_code == 0

    @pytest.mark.parametrize("interval_s", [0.001, None])
    @pytest.mark.parametrize("timeout_s", [1e7, 1e10, 1e300])
    def test_a_timeout_of_any_length_is_none_that_is_reached(
        self, spawner: Spawner, launch: Launcher, timeout_s: float, interval_s: float | None
    ) -> None:
        record = spawner.run(launch(BURN.format(cpu_s=0.01), timeout_s=timeout_s, interval_s=interval_s))
        assert record.exit_code == 0

    def test_the_client_starts_and_ends_within_the_times_told(self, spawner: Spawner, launch: Launcher) -> None:
        job = launch("import time; a = time.monotonic_ns(); print(a, time.monotonic_ns())")
        before = time.monotonic_ns()
        record = spawner.run(job)
        after = time.monotonic_ns()
        first, last = map(int, job.stdout.read_text("ascii").split())
        assert before <= record.started_ns <= first <= last <= record.ended_ns <= after


class TestSurroundings:
    def test_stdout_and_stderr_are_kept_apart_and_stdin_is_empty(self, spawner: Spawner, launch: Launcher) -> None:
        job = launch("import sys; print('out', sys.stdin.read()); print('err', file=sys.stderr)")
        job.stdout.write_text("of the run before, longer than what comes now", "ascii")
        spawner.run(job)
        assert (job.stdout.read_text("ascii"), job.stderr.read_text("ascii")) == ("out \n", "err\n")

    def test_large_output_blocks_nobody(self, spawner: Spawner, launch: Launcher) -> None:
        job = launch(
            "import sys\nfor _ in range(64): sys.stdout.write('x' * (1 << 20)); sys.stderr.write('y' * 999999)"
        )
        assert spawner.run(job).exit_code == 0
        assert job.stdout.stat().st_size == 64 * MIB

    @linux_only
    def test_the_environment_is_exactly_the_one_given(self, spawner: Spawner, launch: Launcher) -> None:
        job = launch(argv=("/bin/cat", "/proc/self/environ"), env={"A": "1", "B": "ü=\udcff"})
        spawner.run(job)
        assert job.stdout.read_bytes().split(b"\0") == [b"A=1", "B=ü=".encode() + b"\xff", b""]

    def test_the_arguments_and_directory_are_the_ones_given(self, spawner: Spawner, launch: Launcher) -> None:
        job = launch("import json, os, sys; print(json.dumps([sys.argv[1:], os.getcwd()]))", "a b", "", "ü", "-x")
        spawner.run(job)
        assert json.loads(job.stdout.read_text("utf-8")) == [["a b", "", "ü", "-x"], str(job.cwd.resolve())]

    @linux_only
    def test_no_signal_is_ignored_or_blocked_for_the_client(self, spawner: Spawner, launch: Launcher) -> None:
        job = launch(argv=("/bin/cat", "/proc/self/status"))
        spawner.run(job)
        status = dict(line.split(":\t", 1) for line in job.stdout.read_text("ascii").splitlines() if ":\t" in line)
        assert {int(status[name], 16) for name in ("SigIgn", "SigBlk")} == {0}

    @linux_only
    def test_the_client_has_three_files_open_and_a_session_of_its_own(self, spawner: Spawner, launch: Launcher) -> None:
        job = launch(
            "import os; print(len(os.listdir('/proc/self/fd')) - 1, os.getsid(0) == os.getpgid(0) == os.getpid())"
        )
        spawner.run(job)
        assert job.stdout.read_text("ascii") == "3 True\n"

    def test_the_program_is_looked_up_in_the_path_given(
        self, spawner: Spawner, launch: Launcher, tmp_path: Path
    ) -> None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "client-of-ours").symlink_to(shutil.which("true") or "/bin/true")
        assert spawner.run(launch(argv=("client-of-ours",), env={"PATH": str(tmp_path / "bin")})).exit_code == 0


class TestWhatCannotStart:
    def test_a_missing_program_is_named(self, spawner: Spawner, launch: Launcher) -> None:
        with pytest.raises(ClientNotFound, match="no-such-client") as caught:
            spawner.run(launch(argv=("/nowhere/no-such-client",)))
        assert "No such file" in str(caught.value)

    def test_a_program_that_is_not_on_the_given_path_is_not_found_on_ours(
        self, spawner: Spawner, launch: Launcher
    ) -> None:
        with pytest.raises(ClientNotFound):
            spawner.run(launch(argv=("true",), env={"PATH": "/nowhere"}))

    def test_a_file_that_is_no_program_is_named(self, spawner: Spawner, launch: Launcher, tmp_path: Path) -> None:
        (tmp_path / "text").write_text("no program", "ascii")
        with pytest.raises(ClientNotFound, match="Permission denied"):
            spawner.run(launch(argv=(str(tmp_path / "text"),)))
        (tmp_path / "text").chmod(0o700)
        with pytest.raises(ClientNotFound, match="format error"):
            spawner.run(launch(argv=(str(tmp_path / "text"),)))

    @pytest.mark.parametrize("name", ["cwd", "stdout", "stderr"])
    def test_a_missing_directory_is_the_machines_fault(
        self, spawner: Spawner, launch: Launcher, tmp_path: Path, name: str
    ) -> None:
        with pytest.raises(MachineError, match=str(tmp_path / "gone")):
            spawner.run(launch("pass", **{name: tmp_path / "gone" / name}))

    def test_an_argument_with_a_null_byte_is_refused(self, spawner: Spawner, launch: Launcher) -> None:
        with pytest.raises(ClientNotFound, match="null"):
            spawner.run(launch("pass", "a\0b"))

    def test_the_next_run_works_after_a_failed_start(self, spawner: Spawner, launch: Launcher) -> None:
        with pytest.raises(S3BenchError):
            spawner.run(launch(argv=("/nowhere/client",)))
        assert spawner.run(launch("pass")).exit_code == 0


FAMILY = """
import os, signal, subprocess, sys
sleeper = [sys.executable, "-I", "-S", "-c", "import signal; signal.signal(15, signal.SIG_IGN); signal.pause()"]
child = subprocess.Popen(sleeper)
stranger = subprocess.Popen(sleeper, start_new_session=True)
reader, writer = os.pipe()
middle = os.fork()
if not middle:
    os.setsid()
    daemon = os.fork()
    if daemon:
        os.write(writer, str(daemon).encode())
        os._exit(0)
    os.execv(sleeper[0], sleeper)
daemon = int(os.read(reader, 32))
os.waitpid(middle, 0)
with open("pids.new", "w") as file:
    file.write(f"{os.getpid()} {child.pid} {stranger.pid} {daemon}")
os.rename("pids.new", "pids")
if sys.argv[2:]:
    open(sys.argv[2], "w").close()
if sys.argv[1] == "stay":
    signal.pause()
"""


def family(work: Path) -> list[int]:
    return [int(word) for word in (work / "pids").read_text("ascii").split()]


@linux_only
class TestNothingOutlivesTheRun:
    def test_a_timeout_kills_children_strangers_and_daemons(self, spawner: Spawner, launch: Launcher) -> None:
        job = launch(FAMILY, "stay", timeout_s=2)
        record = spawner.run(job)
        assert record.exit_code is None
        pids = family(job.cwd)
        assert len(pids) == 4
        assert not [pid for pid in pids if alive(pid)]
        assert record.process_count >= 4

    def test_what_outlives_the_client_is_killed_and_told(self, spawner: Spawner, launch: Launcher) -> None:
        job = launch(FAMILY, "go")
        record = spawner.run(job)
        assert record.exit_code == 0
        assert not [pid for pid in family(job.cwd) if alive(pid)]
        assert [warning for warning in record.warnings if "the client left 3 processes running" in warning]

    def test_a_client_that_waits_for_its_children_gives_no_warning(self, spawner: Spawner, launch: Launcher) -> None:
        record = spawner.run(launch(in_child("pass"), interval_s=None))
        assert not [warning for warning in record.warnings if "running" in warning]


HARNESS = """
import sys
from pathlib import Path
from s3bench.run.process import Launch, Spawner
family, work = sys.argv[1:]
work = Path(work)
launch = Launch(argv=(sys.executable, "-I", "-S", "-c", family, "stay", "ready"), env={}, cwd=work,
                stdout=work / "o", stderr=work / "e", timeout_s=None, interval_s=0.001)
with Spawner() as spawner:
    (work / "spawner").write_text(str(spawner.pid))
    try:
        spawner.run(launch)
    except KeyboardInterrupt:
        pids = (work / "pids").read_text().split()
        left = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        again = spawner.run(Launch(argv=(sys.executable, "-c", ""), env={}, cwd=work, stdout=work / "o",
                                   stderr=work / "e", timeout_s=9, interval_s=None))
        print("interrupted", left, again.exit_code)
"""


@linux_only
class TestTheHarnessIsStopped:
    @pytest.fixture
    def harness(self, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
        os.mkfifo(tmp_path / "ready")
        with subprocess.Popen(
            [sys.executable, "-c", HARNESS, FAMILY, str(tmp_path)],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                (tmp_path / "ready").read_bytes()  # until the client has opened and closed it
                yield process
            finally:
                process.kill()

    def test_a_killed_harness_leaves_no_process(self, harness: subprocess.Popen[str], tmp_path: Path) -> None:
        pids = [*family(tmp_path), int((tmp_path / "spawner").read_text("ascii"))]
        assert all(map(alive, pids))
        harness.kill()
        harness.wait(60)
        await_end(*pids)

    def test_ctrl_c_kills_the_client_before_the_exception_goes_on(
        self, harness: subprocess.Popen[str], tmp_path: Path
    ) -> None:
        os.killpg(harness.pid, signal.SIGINT)  # as a terminal does
        assert harness.communicate(timeout=60)[0] == "interrupted [] 0\n"
        assert not alive(int((tmp_path / "spawner").read_text("ascii")))

    @pytest.mark.usefixtures("harness")
    def test_signals_of_a_closing_terminal_do_not_stop_the_helper_alone(self, tmp_path: Path) -> None:
        helper = int((tmp_path / "spawner").read_text("ascii"))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(helper, number)
        assert all(map(alive, family(tmp_path)))
        assert alive(helper)


class TestTheHelper:
    def test_its_death_is_told_and_the_next_run_starts_another(self, launch: Launcher) -> None:
        with Spawner() as spawner:
            os.kill(spawner.pid, signal.SIGKILL)
            with pytest.raises(MachineError, match="helper process"):
                spawner.run(launch("pass"))
            assert spawner.run(launch("pass")).exit_code == 0

    @linux_only
    def test_its_death_takes_the_client_along(self, launch: Launcher) -> None:
        with Spawner() as spawner:
            job = launch(
                "import os, time; print(os.getpid(), flush=True); os.kill(os.getppid(), 9)\n"
                "limit_s = time.monotonic() + 30\n"  # where this test fails, its client must not run for ever
                "while time.monotonic() < limit_s: pass"
            )
            with pytest.raises(MachineError):
                spawner.run(job)
            await_end(int(job.stdout.read_text("ascii")))

    @linux_only
    def test_its_death_takes_all_that_the_client_started_along(self, launch: Launcher) -> None:
        job = launch(FAMILY + "\nos.kill(os.getppid(), 9)\nsignal.pause()", "go")
        with Spawner() as spawner, pytest.raises(MachineError, match="helper process"):
            spawner.run(job)
        await_end(*family(job.cwd))

    @linux_only
    @pytest.mark.parametrize(
        ("others_uid", "since_s", "is_killed"), [(0, -10.0, True), (0, 10.0, False), (1, -10.0, False)]
    )
    def test_processes_of_others_and_from_before_the_launch_are_left_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others_uid: int, since_s: float, is_killed: bool
    ) -> None:
        uid = os.getuid() + others_uid
        monkeypatch.setattr("os.getuid", lambda: uid)
        with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], cwd=tmp_path) as there:
            try:
                _kill_below(tmp_path, since_s=time.time() + since_s)
                assert (there.poll() is not None) is is_killed
            finally:
                there.kill()

    def test_it_ends_with_the_session(self) -> None:
        with Spawner() as spawner:
            pid = spawner.pid
            assert alive(pid) or sys.platform != "linux"
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    def test_it_stays_small(self) -> None:
        heavy = {
            "typing",
            "contextlib",
            "pathlib",
            "re",
            "json",
            "psutil",
            "msgspec",
            "subprocess",
            "socket",
            "asyncio",
        }
        code = "import sys; sys.path.append(sys.argv[1]); import s3bench.run.spawner; print(*sys.modules)"
        root = str(Path(__file__).parents[2])
        loaded = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code, root], check=True, capture_output=True, text=True
        ).stdout.split()
        assert heavy & set(loaded) == set()

    @linux_only
    def test_hundreds_of_runs_leave_no_file_open_and_no_process(self, spawner: Spawner, launch: Launcher) -> None:
        def open_files() -> tuple[int, int]:
            ours, its = Path("/proc/self/fd"), Path(f"/proc/{spawner.pid}/fd")
            return len(list(ours.iterdir())), len(list(its.iterdir()))

        sampled, plain = launch(argv=("/bin/true",)), launch(argv=("/bin/true",), interval_s=None)
        missing = launch(argv=("/nowhere/client",))
        spawner.run(sampled)
        before = open_files()
        for _ in range(100):
            spawner.run(sampled)
            spawner.run(plain)
        with pytest.raises(ClientNotFound):
            spawner.run(missing)
        assert open_files() == before
        assert Path(f"/proc/{spawner.pid}/task/{spawner.pid}/children").read_text("ascii") == ""


class TestCpu:
    @pytest.mark.parametrize("depth", [0, 1, 2])
    def test_cpu_time_counts_whoever_of_the_tree_uses_it(self, spawner: Spawner, launch: Launcher, depth: int) -> None:
        code = BURN.format(cpu_s=0.2)
        for _ in range(depth):
            code = in_child(code)
        record = spawner.run(launch(code))
        assert 0.2 <= record.usage.cpu_s < 0.5

    @linux_only
    def test_cpu_time_of_children_that_nobody_waited_for_counts(self, spawner: Spawner, launch: Launcher) -> None:
        code = (
            "import os\nreader, writer = os.pipe()\nif os.fork(): os.read(reader, 1); os._exit(0)\n"
            + BURN.format(cpu_s=0.2)
            + "\nos.write(writer, b'x'); import signal; signal.pause()"
        )
        record = spawner.run(launch(code))
        assert record.usage.cpu_s >= 0.2
        assert [warning for warning in record.warnings if "the client left 1 process running" in warning]

    def test_all_threads_count(self, spawner: Spawner, launch: Launcher) -> None:
        burn = "def burn():\n    end = time.thread_time() + 0.1\n    while time.thread_time() < end: pass\n"
        code = f"import threading, time\n{burn}threads = [threading.Thread(target=burn) for _ in range(3)]\n"
        code += "for thread in threads: thread.start()\nfor thread in threads: thread.join()"
        record = spawner.run(launch(code))
        assert record.usage.cpu_s >= 0.3
        assert record.series.cpu_s[-1] >= 0.25


@linux_only
class TestUsageBeforeExec:
    def test_what_the_copy_of_the_helper_used_is_not_the_clients(self, spawner: Spawner, launch: Launcher) -> None:
        usages = []
        for _ in range(10):
            pid = os.posix_spawn("/bin/true", ("true",), {})
            usages.append(os.wait4(pid, 0)[2])
        faults = [spawner.run(launch(argv=("/bin/true",))).usage.minor_faults or 0 for _ in range(10)]
        assert 0 < min(faults) < min(usage.ru_minflt for usage in usages) + 60

    def test_a_client_of_one_thread_uses_and_waits_for_cores_no_longer_than_it_takes(
        self, spawner: Spawner, launch: Launcher
    ) -> None:
        beyond_s = []
        for _ in range(20):
            record = spawner.run(launch(argv=("/bin/true",)))
            used_s = (record.usage.cpu_s or 0) + (record.usage.runqueue_wait_s or 0)
            beyond_s.append(used_s - (record.ended_ns - record.started_ns) / 1e9)
        assert median(beyond_s) <= 0.0001  # of two clocks


class TestSeries:
    def test_samples_are_in_order_and_within_the_run(self, spawner: Spawner, launch: Launcher) -> None:
        record = spawner.run(launch(BURN.format(cpu_s=0.3)))
        series = record.series
        total_s = (record.ended_ns - record.started_ns) / 1e9
        assert len(series.at_s) == len(series.rss_bytes) == len(series.cpu_s) >= 10
        assert list(series.at_s) == sorted(set(series.at_s))
        assert list(series.cpu_s) == sorted(series.cpu_s)
        assert 0 < series.at_s[0] < series.at_s[-1] <= total_s
        assert 0 < record.sampler_cpu_s < total_s
        assert series.cpu_s[-1] <= record.usage.cpu_s + 1e-5
        assert max(series.rss_bytes) <= record.usage.peak_memory_bytes

    @linux_only
    def test_a_childs_cpu_time_is_in_the_series(self, spawner: Spawner, launch: Launcher) -> None:
        record = spawner.run(launch(in_child(BURN.format(cpu_s=0.4))))
        assert record.series.cpu_s[-1] >= 0.3
        assert record.process_count == 2

    def test_without_an_interval_nothing_is_sampled(self, spawner: Spawner, launch: Launcher) -> None:
        record = spawner.run(launch(BURN.format(cpu_s=0.05), interval_s=None))
        assert record.series is None

    @pytest.mark.parametrize(
        ("interval_ns", "sampler_cpu_ns", "warning"),
        [
            (2_000_000, 0, None),
            (1_000_000, 1, "samples are 2 ms apart, not 1 ms: on this machine more would take over 2% of a core"),
            (
                1_000_000,
                20_000_000,
                "samples are 2 ms apart, not 1 ms: on this machine even these take 10.0% of a core",
            ),
        ],
    )
    def test_samples_further_apart_than_was_planned_are_told_with_what_they_cost(
        self,
        launch: Launcher,
        monkeypatch: pytest.MonkeyPatch,
        interval_ns: int,
        sampler_cpu_ns: int,
        warning: str | None,
    ) -> None:
        receive = spawner_module.receive

        def changed(control: int) -> dict[str, object]:
            reply = receive(control)
            at_ns = array("q", range(0, 200_000_000, 2_000_000))
            series = dict.fromkeys(("at_ns", "rss_bytes", "cpu_ns"), at_ns.tobytes())
            cost = {"sampler_cpu_ns": sampler_cpu_ns, "ended_ns": reply["started_ns"] + 200_000_000}
            return {**reply, **series, **cost, "interval_ns": interval_ns, "samples_left_out": 7}

        monkeypatch.setattr(spawner_module, "receive", changed)
        with Spawner() as spawner:
            record = spawner.run(launch("pass"))
        assert [each for each in record.warnings if "apart" in each] == ([warning] if warning else [])
        assert record.series.left_out == 7

    @linux_only
    def test_cpu_time_of_children_too_short_lived_to_be_seen_is_told(self, spawner: Spawner, launch: Launcher) -> None:
        code = (
            "import os, time\nfor _ in range(150):\n    pid = os.fork()\n    if not pid:\n"
            "        end = time.process_time() + 0.001\n        while time.process_time() < end: pass\n"
            "        os._exit(0)\n    os.waitpid(pid, 0)"
        )
        record = spawner.run(launch(code))
        assert record.usage.cpu_s > 0.15
        assert [warning for warning in record.warnings if "too short-lived" in warning]


@linux_only
def test_the_time_that_a_client_waits_for_a_core_is_told(spawner: Spawner, launch: Launcher) -> None:
    core = min(os.sched_getaffinity(0))
    burn = f"import os, time\nos.sched_setaffinity(0, {{{core}}})\n"
    rival = subprocess.Popen((sys.executable, "-c", f"{burn}while True: pass"))
    try:
        work = f"{burn}end = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
        record = spawner.run(launch(work))
        waited_s, used_s = record.usage.runqueue_wait_s, record.usage.cpu_s
        alone_s = spawner.run(launch("pass")).usage.runqueue_wait_s
    finally:
        rival.kill()
        rival.wait()
    if waited_s is None:
        pytest.skip("this kernel does not tell how long a process waits for a core")
    assert used_s is not None
    assert waited_s == pytest.approx((record.ended_ns - record.started_ns) / 1e9 - used_s, rel=0.3, abs=0.02)
    assert alone_s is not None
    assert alone_s < waited_s
