"""Machine facts from real and made-up systems, and the doubts they raise."""

import platform
import subprocess
from pathlib import Path

import msgspec
import psutil
import pytest

from s3bench.run import machine
from s3bench.run.disk import file_system_of
from s3bench.run.machine import MachineFacts, machine_facts, machine_warnings


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def quiet(**changes: object) -> MachineFacts:
    """Make the facts of a machine without faults but for `changes`."""
    values: dict[str, object] = dict.fromkeys(MachineFacts.__struct_fields__)
    values |= {"cores_allowed": 8, "cores_logical": 8, "governor": "performance", "load_1min": 0.1, "swap_used": 0}
    return MachineFacts(**{**values, **changes})  # type: ignore[arg-type]


def test_the_facts_of_this_machine_are_read_and_can_be_written_as_json() -> None:
    facts = machine_facts()
    assert facts.cores_logical == psutil.cpu_count()
    assert facts.memory_total == psutil.virtual_memory().total
    assert 0 < facts.memory_available <= facts.memory_total
    assert msgspec.json.decode(msgspec.json.encode(facts), type=MachineFacts) == facts


MOUNTS = (
    "21 1 8:1 / / rw - overlay overlay rw\n"
    "30 21 0:26 / {parent} rw shared:7 - tmpfs tmpfs rw\n"
    "31 30 8:2 / {parent}/elsewhere rw - ext4 /dev/sda2 rw\n"
)


def test_the_file_system_of_workspaces_is_a_fact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("S3BENCH_TMPDIR", str(work))
    root = write(tmp_path / "root", {"proc/self/mountinfo": MOUNTS.format(parent=work)})
    assert machine_facts(root).workspace_file_system == "tmpfs"
    assert machine_facts().workspace_file_system == file_system_of(work)
    write(root, {"proc/self/mountinfo": MOUNTS.format(parent=tmp_path / "other")})
    assert machine_facts(root).workspace_file_system == "overlay"
    write(root, {"proc/self/mountinfo": ""})
    assert machine_facts(root).workspace_file_system is None
    monkeypatch.setenv("S3BENCH_TMPDIR", str(work / "missing"))
    assert machine_facts().workspace_file_system is None


def test_the_facts_name_neither_the_host_nor_the_user() -> None:
    text = msgspec.json.encode(machine_facts()).decode()
    assert platform.node() not in text or len(platform.node()) < 4
    assert str(Path.home()) not in text


@pytest.fixture(autouse=True)
def outside_of_kubernetes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


def test_a_system_without_proc_and_sys_gives_nulls(tmp_path: Path) -> None:
    facts = machine_facts(tmp_path)
    assert (facts.governor, facts.hyperthreading, facts.turbo, facts.cpu_quota_cores) == (None, None, None, None)
    assert (facts.memory_limit, facts.product, facts.address_randomization) == (None, None, None)
    assert facts.virtualization == "none"
    assert facts.memory_total > 0


def test_a_linux_system_is_read_from_proc_and_sys(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "proc/cpuinfo": "processor\t: 0\nmodel name\t: Quick CPU 9\nflags\t\t: fpu hypervisor sse\n",
            "proc/sys/kernel/randomize_va_space": "2\n",
            "proc/self/cgroup": "0::/user.slice/ours\n",
            "sys/devices/system/cpu/smt/active": "1\n",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
            "sys/devices/system/cpu/intel_pstate/no_turbo": "1\n",
            "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
            "sys/class/dmi/id/sys_vendor": "Maker\n",
            "sys/class/dmi/id/product_name": "m7.large\n",
            "sys/fs/cgroup/user.slice/ours/cpu.max": "max 100000\n",
            "sys/fs/cgroup/cpu.max": "300000 100000\n",
            "sys/fs/cgroup/user.slice/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/user.slice/ours/memory.max": "1000\n",
            "sys/fs/cgroup/memory.max": "2000\n",
            "etc/os-release": 'NAME=x\nPRETTY_NAME="Our Linux 1"\n',
            ".dockerenv": "",
        },
    )
    facts = machine_facts(root)
    assert facts.cpu_model == "Quick CPU 9"
    assert facts.address_randomization == 2
    assert facts.hyperthreading is True
    assert facts.governor == "powersave"
    assert facts.turbo is False
    assert facts.clock_source == "tsc"
    assert facts.product == "Maker m7.large"
    assert facts.cpu_quota_cores == 1.5
    assert facts.memory_limit == 1000
    assert facts.system == "Our Linux 1"
    assert facts.virtualization == "hypervisor+container"


def test_limits_of_the_first_version_of_control_groups_are_read(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    facts = machine_facts(root)
    assert facts.cpu_quota_cores == 0.5
    assert facts.memory_limit is None
    write(root, {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n"})
    assert machine_facts(root).cpu_quota_cores is None


V1_LIMITS = {
    "sys/fs/cgroup/cpu/slice/ours/cpu.cfs_quota_us": "-1\n",
    "sys/fs/cgroup/cpu/slice/ours/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/cpu/slice/cpu.cfs_quota_us": "150000\n",
    "sys/fs/cgroup/cpu/slice/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
    "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes": "4096\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
}


@pytest.mark.parametrize(
    ("own", "others", "cores", "limit_bytes"),
    [
        ("4:memory:/jobs/7\n1:cpu,cpuacct:/slice/ours\n", {}, 1.5, 4096),
        ("4:memory:/jobs/7\n1:cpu,cpuacct:/slice/ours\n0::/\n", {}, 1.5, 4096),
        ("4:memory:/of/the/host\n1:cpu,cpuacct:/of/the/host\n", {}, None, None),
        (
            "2:freezer:/\n0::/slice/ours\n",
            {
                "sys/fs/cgroup/unified/slice/cpu.max": "200000 100000\n",
                "sys/fs/cgroup/unified/slice/ours/memory.max": "8192\n",
            },
            2.0,
            8192,
        ),
    ],
    ids=["v1", "hybrid", "v1 in a container", "hybrid with controllers of v2"],
)
def test_limits_of_a_group_below_the_root_are_read_in_every_version(
    tmp_path: Path, own: str, others: dict[str, str], cores: float | None, limit_bytes: int | None
) -> None:
    facts = machine_facts(write(tmp_path, {"proc/self/cgroup": own, **V1_LIMITS, **others}))
    assert (facts.cpu_quota_cores, facts.memory_limit) == (cores, limit_bytes)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"sys/hypervisor/type": "xen\n"}, "hypervisor"),
        ({"sys/class/dmi/id/sys_vendor": "QEMU\n"}, "hypervisor"),
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2\n", "sys/class/dmi/id/product_name": "c7g.large\n"}, "hypervisor"),
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2\n", "sys/class/dmi/id/product_name": "c7g.metal-48xl\n"}, "none"),
        (
            {"sys/class/dmi/id/sys_vendor": "Google\n", "sys/class/dmi/id/product_name": "Google Compute Engine\n"},
            "hypervisor",
        ),
        (
            {
                "sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n",
                "sys/class/dmi/id/product_name": "Virtual Machine\n",
            },
            "hypervisor",
        ),
        (
            {"sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n", "sys/class/dmi/id/product_name": "Surface\n"},
            "none",
        ),
    ],
)
def test_virtual_machines_are_known_without_the_flag_of_x86_processors(
    tmp_path: Path, files: dict[str, str], found: str
) -> None:
    arm = {"proc/cpuinfo": "processor\t: 0\nFeatures\t: fp asimd\n"}
    assert machine_facts(write(tmp_path, {**arm, **files})).virtualization == found


def test_a_pod_of_kubernetes_is_a_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert machine_facts(tmp_path).virtualization == "container"


def test_a_quiet_machine_raises_no_doubt() -> None:
    assert machine_warnings(quiet()) == ()
    assert machine_warnings(quiet(governor=None, load_1min=None, cores_allowed=None, swap_used=None)) == ()
    assert machine_warnings(quiet(cpu_quota_cores=8.0, on_battery=False, load_1min=4.0)) == ()


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        ({"governor": "powersave"}, "governor is 'powersave'"),
        ({"load_1min": 4.1}, "load 4.10 on 8 cores"),
        ({"cores_allowed": 1}, "only 1 core"),
        ({"cpu_quota_cores": 1.5}, "limits us to 1.5 of 8 cores"),
        ({"swap_used": 1}, "swap is in use"),
        ({"on_battery": True}, "on battery"),
    ],
)
def test_each_fault_raises_its_own_doubt(change: dict[str, object], doubt: str) -> None:
    (warning,) = machine_warnings(quiet(**change))
    assert doubt in warning


def test_the_commit_is_that_of_our_own_checkout_only(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false")
        command = ("git", "-C", str(tmp_path), *identity, *arguments)
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert machine.git_commit(tmp_path) is None
    git("init", "-q")
    assert machine.git_commit(tmp_path) is None, "a repository without a commit"
    (tmp_path / "inside").mkdir()
    (tmp_path / "file").write_text("one")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    commit = git("rev-parse", "--short=12", "HEAD")
    assert machine.git_commit(tmp_path) == commit
    assert machine.git_commit(tmp_path / "inside") is None, "installed somewhere inside another repository"
    (tmp_path / "file").write_text("two")
    assert machine.git_commit(tmp_path) == f"{commit}-dirty"
