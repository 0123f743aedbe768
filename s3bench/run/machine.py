"""The facts about this machine that figures depend on, and warnings about them.

Read from /proc, /sys and psutil. What a system does not report is null. Names of the host and of users are left out,
since results are shared.
"""

import os
import platform
import shutil
import subprocess
import time
from pathlib import Path

import msgspec
import psutil

import s3bench
from s3bench.errors import BadInput
from s3bench.run.disk import UNKNOWN, file_system_of
from s3bench.run.landlock import abi_version
from s3bench.run.owner import workspace_parent
from s3bench.system.portable import IS_PORTABLE
from s3bench.system.processes import cores_allowed

_GIT_TIMEOUT_S = 5.0
_BUSY_LOAD_PER_CORE = 0.5
_CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")
_CGROUP = Path("sys/fs/cgroup")
_VIRTUAL_MAKES = (
    "Amazon EC2",
    "Apple Virtualization",
    "BHYVE",
    "Bochs",
    "Google Compute Engine",
    "KVM",
    "KubeVirt",
    "OpenStack",
    "Parallels",
    "QEMU",
    "VMW",
    "VMware",
    "Virtual Machine",
    "VirtualBox",
    "Xen",
    "innotek GmbH",
)
"""How makes and models of virtual machines begin (systemd's src/basic/virt.c); `Virtual Machine` is Hyper-V's model."""
_BARE_METAL = ".metal"
"""In the model of a machine of Amazon EC2 that is not virtual."""
_PORTABLE_WARNING = (
    "CPU time and memory are not the Linux kernel's own accounts (this is another system, or S3BENCH_PORTABLE=1 is "
    "set): samples are coarser and cost more, processes that outlive their parent are not counted, and delays of a "
    "network model are up to 1 ms longer"
)
_CGROUP_UNLIMITED_BYTES = 1 << 60  # cgroup v1 writes the largest page count instead of a word


class MachineFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The machine as it is when a run starts. Sizes are bytes, frequencies MHz; null if not reported.

    `cores_allowed` is how many logical cores we may be scheduled on, `cpu_quota_cores` the cgroup's limit on CPU time.
    `virtualization` is `hypervisor`, `container`, both joined by `+`, or `none`. `address_randomization` is 0 (off), 1
    or 2 (full), see proc(5). `workspace_file_system` is the type of the file system in which workspaces are made by
    default. `landlock_abi` is the version of the kernel's Landlock, with which clients can write only to their
    workspace (`landlock`); 0 where there is none. `git_commit` names our own checkout, `-dirty` at its end when it was
    changed.
    """

    cpu_model: str | None
    architecture: str
    cores_logical: int | None
    cores_physical: int | None
    cores_allowed: int | None
    cpu_quota_cores: float | None
    hyperthreading: bool | None
    governor: str | None
    frequency_mhz: float | None
    frequency_max_mhz: float | None
    turbo: bool | None
    load_1min: float | None
    load_5min: float | None
    load_15min: float | None
    memory_total: int
    memory_available: int
    memory_limit: int | None
    swap_total: int | None
    swap_used: int | None
    system: str
    kernel: str
    virtualization: str
    product: str | None
    on_battery: bool | None
    clock_source: str | None
    address_randomization: int | None
    workspace_file_system: str | None
    landlock_abi: int
    python: str
    git_commit: str | None


def machine_facts(root: Path = Path("/")) -> MachineFacts:
    """Read the facts. `root` is where /proc, /sys and /etc are looked for."""
    memory = psutil.virtual_memory()
    swap_total, swap_used = _swap()
    load = _load()
    frequency, frequency_max = _frequency()
    return MachineFacts(
        cpu_model=_cpu_model(root),
        architecture=platform.machine(),
        cores_logical=psutil.cpu_count(),
        cores_physical=psutil.cpu_count(logical=False),
        cores_allowed=cores_allowed(),
        cpu_quota_cores=_cpu_quota(root),
        hyperthreading=_flag(root, "sys/devices/system/cpu/smt/active"),
        governor=_read(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        frequency_mhz=frequency,
        frequency_max_mhz=frequency_max,
        turbo=_turbo(root),
        load_1min=load[0],
        load_5min=load[1],
        load_15min=load[2],
        memory_total=memory.total,
        memory_available=memory.available,
        memory_limit=_memory_limit(root),
        swap_total=swap_total,
        swap_used=swap_used,
        system=_system(root),
        kernel=f"{platform.system()} {platform.release()}",
        virtualization=_virtualization(root),
        product=" ".join(_make(root)) or None,
        on_battery=_on_battery(),
        clock_source=_clock_source(root),
        address_randomization=_integer(_read(root, "proc/sys/kernel/randomize_va_space")),
        workspace_file_system=_workspace_file_system(root),
        landlock_abi=abi_version(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        git_commit=git_commit(Path(s3bench.__file__).resolve().parent.parent),
    )


def machine_warnings(facts: MachineFacts) -> tuple[str, ...]:
    """What about the machine makes figures doubtful, and what to do about it."""
    warnings = []
    cores = facts.cores_allowed or facts.cores_logical
    if facts.governor not in {None, "performance"}:
        warnings.append(
            f"the CPU frequency governor is {facts.governor!r}: clock speed changes while measuring; "
            "set it with `cpupower frequency-set -g performance`"
        )
    if is_busy(facts):
        warnings.append(f"the machine is busy: load {facts.load_1min:.2f} on {cores} cores; stop other programs")
    if cores == 1:
        warnings.append("only 1 core: the client, the server and the sampler take turns on it; use 2 or more")
    if facts.cpu_quota_cores is not None and facts.cpu_quota_cores < (cores or 0):
        warnings.append(
            f"the control group limits us to {facts.cpu_quota_cores:g} of {cores} cores by pausing processes; "
            "raise its limit (cpu.max)"
        )
    if facts.swap_used:
        warnings.append("swap is in use: resident memory may be understated and times overstated; free memory first")
    if IS_PORTABLE:
        warnings.append(_PORTABLE_WARNING)
    if facts.on_battery:
        warnings.append("running on battery: the CPU may be slowed to save power; plug it in")
    return tuple(warnings)


def is_busy(facts: MachineFacts) -> bool:
    """Whether other programs used more than half of the cores in the last minute."""
    cores = facts.cores_allowed or facts.cores_logical
    return cores is not None and facts.load_1min is not None and facts.load_1min > cores * _BUSY_LOAD_PER_CORE


def _read(root: Path, name: str) -> str | None:
    try:
        return (root / name).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _integer(text: str | None) -> int | None:
    return int(text) if text is not None and text.lstrip("-").isdecimal() else None


def _flag(root: Path, name: str) -> bool | None:
    value = _integer(_read(root, name))
    return None if value is None else value == 1


def _cpu_model(root: Path) -> str | None:
    for line in (_read(root, "proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in {"model name", "Model", "cpu model", "cpu"}:
            return value.strip()
    return platform.processor() or None


def _frequency() -> tuple[float | None, float | None]:
    try:
        frequency = psutil.cpu_freq()
    except (OSError, RuntimeError, NotImplementedError):  # psutil differs by system and by sandbox
        return None, None
    return (frequency.current or None, frequency.max or None) if frequency else (None, None)


def _turbo(root: Path) -> bool | None:
    no_turbo = _flag(root, "sys/devices/system/cpu/intel_pstate/no_turbo")
    return _flag(root, "sys/devices/system/cpu/cpufreq/boost") if no_turbo is None else not no_turbo


def _load() -> tuple[float, float, float] | tuple[None, None, None]:
    try:
        return os.getloadavg()
    except OSError:
        return None, None, None


def _swap() -> tuple[int, int] | tuple[None, None]:
    try:
        swap = psutil.swap_memory()
    except (OSError, RuntimeError):  # no /proc/vmstat, or no rights
        return None, None
    return swap.total, swap.used


def _own_cgroup(root: Path, controller: str) -> str:
    """Find our control group (cgroups(7)) under a controller of version 1, or of version 2 where that is empty.

    Inside a container it is the root, or a path of the host that is not mounted here.
    """
    for line in (_read(root, "proc/self/cgroup") or "").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controller in controllers.split(","):
            return path.strip("/")
    return ""


def _cgroup_levels(root: Path, controller: str, mount: Path) -> list[Path]:
    """The directories of our control group and of each above it: the tightest limit counts."""
    group = mount / _own_cgroup(root, controller)
    return [level for level in (group, *group.parents) if level.is_relative_to(mount)]


def _cgroup_limits(root: Path, controller: str, file: str, files_v1: tuple[str, ...]) -> list[list[str]]:
    """The words of `file` at each level of version 2, and those of `files_v1` at each level of version 1.

    Where both versions are mounted, version 2 is in the subdirectory `unified`.
    """
    places = [
        *((level, (file,)) for mount in (_CGROUP, _CGROUP / "unified") for level in _cgroup_levels(root, "", mount)),
        *((level, files_v1) for level in _cgroup_levels(root, controller, _CGROUP / controller)),
    ]
    return [" ".join(_read(root, str(level / name)) or "" for name in names).split() for level, names in places]


def _cpu_quota(root: Path) -> float | None:
    quotas = _cgroup_limits(root, "cpu", "cpu.max", ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
    cores = [
        int(quota) / int(period)
        for quota, period in (words for words in quotas if len(words) == 2)  # noqa: PLR2004 (quota and period)
        if quota.isdecimal() and period.isdecimal() and int(period)
    ]
    return min(cores, default=None)


def _memory_limit(root: Path) -> int | None:
    texts = _cgroup_limits(root, "memory", "memory.max", ("memory.limit_in_bytes",))
    limits = [int(text) for words in texts for text in words if text.isdecimal()]
    return min((limit for limit in limits if limit < _CGROUP_UNLIMITED_BYTES), default=None)


def _system(root: Path) -> str:
    for line in (_read(root, "etc/os-release") or "").splitlines():
        key, _, value = line.partition("=")
        if key == "PRETTY_NAME":
            return value.strip('"')
    release = platform.mac_ver()[0]
    return f"macOS {release}" if release else platform.system()


def _virtualization(root: Path) -> str:
    marks = []
    if _has_hypervisor(root):
        marks.append("hypervisor")
    if _is_container(root):
        marks.append("container")
    return "+".join(marks) or "none"


def _has_hypervisor(root: Path) -> bool:
    """By the flag of x86 processors; where there is none, as on ARM, by what the hypervisor tells of itself."""
    cpuinfo = _read(root, "proc/cpuinfo") or ""
    if any(line.startswith("flags") and "hypervisor" in line.split() for line in cpuinfo.splitlines()):
        return True
    if _read(root, "sys/hypervisor/type"):
        return True
    make = _make(root)
    return any(name.startswith(_VIRTUAL_MAKES) for name in make) and not any(_BARE_METAL in name for name in make)


def _is_container(root: Path) -> bool:
    """By the files of Docker and Podman, the variable of others, and the one that every pod of Kubernetes has."""
    return (
        any((root / mark.lstrip("/")).exists() for mark in _CONTAINER_MARKS)
        or "container=" in (_read(root, "proc/1/environ") or "")
        or "KUBERNETES_SERVICE_HOST" in os.environ
    )


def _make(root: Path) -> list[str]:
    """The make and model of the machine, or the kind of cloud instance (DMI); never serial numbers."""
    names = (_read(root, f"sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name"))
    return [name for name in names if name]


def _on_battery() -> bool | None:
    try:
        battery = psutil.sensors_battery()
    except (AttributeError, OSError, RuntimeError):  # not on every system
        return None
    return None if battery is None or battery.power_plugged is None else not battery.power_plugged


def _clock_source(root: Path) -> str | None:
    """Name the kernel's clock source; elsewhere what Python's monotonic clock is made from."""
    kernel = _read(root, "sys/devices/system/clocksource/clocksource0/current_clocksource")
    return kernel or time.get_clock_info("monotonic").implementation


def _workspace_file_system(root: Path) -> str | None:
    try:
        kind = file_system_of(workspace_parent(os.environ), _read(root, "proc/self/mountinfo") or "")
    except BadInput:  # no workspace can be made there; what makes one says so
        return None
    return None if kind == UNKNOWN else kind


def git_commit(checkout: Path) -> str | None:
    """Name the commit of `checkout`, if that is the top of a repository itself and git is there and quick."""
    git = shutil.which("git")
    if git is None or not (checkout / ".git").exists():
        return None
    try:
        commit, changes = (
            subprocess.run(
                (git, "--no-optional-locks", "-C", str(checkout), *arguments),
                capture_output=True,
                check=True,
                timeout=_GIT_TIMEOUT_S,
                stdin=subprocess.DEVNULL,
            ).stdout.decode(errors="replace")
            for arguments in (("rev-parse", "--short=12", "HEAD"), ("status", "--porcelain"))
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return commit.strip() + ("-dirty" if changes else "")
