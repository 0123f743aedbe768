import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from s3bench.errors import ClientNotFound, MachineError, S3BenchError
from s3bench.run import spawner as spawner_module
from s3bench.run import speed_probe
from s3bench.run.process import Launch, PeakSource, ProcessRecord, Spawner
from tests.processes import await_end

MIB = 1 << 20
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc or subreaper")

Launcher = Callable[..., Launch]


@pytest.fixture(scope="module")
def spawner() -> Iterator[Spawner]:
    with Spawner() as spawner:
        yield spawner


@pytest.fixture
def launch(tmp_path: Path) -> Launcher:
    """Make launches of Python code, or of `argv`, whose output goes below `tmp_path`."""
    (tmp_path / "work").mkdir()

    def make(code: str = "", *args: str, argv: tuple[str, ...] = (), **changes: object) -> Launch:
        return replace(
            Launch(
                argv=argv or (sys.executable, "-I", "-S", "-c", code, *args),
                env={},
                cwd=tmp_path / "work",
                stdout=tmp_path / "stdout",
                stderr=tmp_path / "stderr",
                timeout_s=30,
                interval_s=0.001,
            ),
            **changes,  # type: ignore[arg-type]
        )

    return make


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
        harness.wait(20)
        await_end(*pids)

    def test_ctrl_c_kills_the_client_before_the_exception_goes_on(
        self, harness: subprocess.Popen[str], tmp_path: Path
    ) -> None:
        os.killpg(harness.pid, signal.SIGINT)  # as a terminal does
        assert harness.communicate(timeout=20)[0] == "interrupted [] 0\n"
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


HOLD = "held = bytearray(b'x') * ({mib} << 20)"
BURN = "import time\nend = time.process_time() + {cpu_s}\nwhile time.process_time() < end: pass"


def in_child(code: str) -> str:
    """Code that runs `code` in a child and waits for it."""
    return f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-S', '-c', {code!r}], check=True)"


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


def test_the_core_is_probed_while_the_client_runs_and_not_while_it_waits(spawner: Spawner, launch: Launcher) -> None:
    if speed_probe.missing():
        pytest.skip(f"the speed of the machine is not measured: {speed_probe.missing()}")
    code = (
        "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"
        "print(time.monotonic_ns())\ntime.sleep(0.3)\nprint(time.monotonic_ns())"
    )
    client = launch(code, interval_s=None, measures_speed=True)
    record = spawner.run(client)
    assert record.speed is not None
    assert len(record.speed.at_s) == len(record.speed.work_s) > 10
    assert all(0 < each < 0.01 for each in sorted(record.speed.work_s)[: len(record.speed.work_s) // 2])
    asleep_s, awake_s = ((int(line) - record.started_ns) / 1e9 for line in client.stdout.read_text().split())
    assert not [at_s for at_s in record.speed.at_s if asleep_s + 0.01 < at_s < awake_s]


def test_a_client_of_many_threads_is_followed_to_the_one_that_runs(spawner: Spawner, launch: Launcher) -> None:
    if speed_probe.missing():
        pytest.skip(f"the speed of the machine is not measured: {speed_probe.missing()}")
    code = (
        "import threading, time\n"
        "def work():\n"
        "    end = time.thread_time() + 0.3\n"
        "    while time.thread_time() < end: pass\n"
        "idle = [threading.Thread(target=time.sleep, args=(0.5,)) for _ in range(8)]\n"
        "busy = threading.Thread(target=work)\n"
        "for each in (*idle, busy): each.start()\n"
        "for each in (*idle, busy): each.join()\n"
    )
    record = spawner.run(launch(code, interval_s=None, measures_speed=True))
    assert record.speed is not None
    assert len(record.speed.at_s) > 5


def test_without_being_asked_for_the_core_is_not_probed(spawner: Spawner, launch: Launcher) -> None:
    assert spawner.run(launch("sum(range(10**6))")).speed is None


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
