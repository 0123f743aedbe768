"""What on this machine disturbs measurements, what is missing for some of them, and the remedy of each.

The checks follow those of pyperf's `system show`, where they apply to programs that are not pinned to a core, with
those that matter to transfers beside them: cores, disk, and the tools that some commands need.
"""

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import psutil

from s3bench.errors import BadInput
from s3bench.extras import install_command
from s3bench.run import speed_probe
from s3bench.run.disk import file_system_of
from s3bench.run.inspection import Unavailable
from s3bench.run.instructions import instruction_counter
from s3bench.run.machine import MachineFacts, is_busy
from s3bench.run.owner import workspace_parent
from s3bench.run.perf import Perf, find_perf
from s3bench.run.py_spy import find_py_spy
from s3bench.run.tracing import find_tracer
from s3bench.s3.server.fast_path import fast_path
from s3bench.s3.signing import sigv4
from s3bench.system.portable import IS_PORTABLE
from s3bench.system.wake_ups import CPU_LATENCY
from s3bench.units import render_bytes

STEAL_SHARE_MAX = 0.01
FREE_BYTES_MIN = 2 << 30
"""Enough for files of 256 MB on both sides of a gate, which the full suite transfers."""

_NETWORK_FILE_SYSTEMS = ("nfs", "cifs", "smb", "9p", "ceph", "glusterfs", "lustre", "fuse")
_RANDOMIZATION = ("off", "partial", "full")
_SLOW_CLOCKS = frozenset({"hpet", "acpi_pm", "jiffies", "refined-jiffies"})


class Severity(StrEnum):
    """How much a finding matters: `WARNING` disturbs every figure, `NOTE` some, `MISSING` is a tool not installed."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFinding:
    """One thing that was looked at: what was found, what it does to figures, and how to change it."""

    subject: str
    found: str
    severity: Severity = Severity.OK
    effect: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What matters here beside the facts that results store.

    `steal_share` is the share of CPU time since boot in which the hypervisor ran something else, `free_bytes` what is
    free in `directory`, where workspaces are made; `wanted_directory` is what the variable `wanted_by` names, if it
    cannot be used.
    `huge_pages` is the kernel's setting of transparent huge pages. `keeps_cores_awake`: whether a load test in open
    loop can keep the cores out of idle states.
    """

    huge_pages: str | None
    steal_share: float | None
    directory: Path
    file_system: str
    free_bytes: int
    wanted_directory: str = ""
    wanted_by: str = "TMPDIR"
    keeps_cores_awake: bool


def surroundings(root: Path = Path("/")) -> Surroundings:
    """Read them. `root` is where /sys is looked for."""
    try:
        setting = (root / "sys/kernel/mm/transparent_hugepage/enabled").read_text(encoding="utf-8")
    except OSError:
        setting = ""
    variable = "S3BENCH_TMPDIR" if os.environ.get("S3BENCH_TMPDIR") else "TMPDIR"
    wanted = os.environ.get(variable, "")
    try:
        directory = workspace_parent(os.environ)
    except BadInput:  # it cannot be used, and no command works in another
        directory = Path(tempfile.gettempdir())
    times = psutil.cpu_times()
    steal_s = getattr(times, "steal", None)
    return Surroundings(
        huge_pages=setting.partition("[")[2].partition("]")[0] or None,
        steal_share=None if steal_s is None else steal_s / max(sum(times), 1.0),
        directory=directory,
        file_system=file_system_of(directory),
        free_bytes=shutil.disk_usage(directory).free,
        wanted_directory="" if Path(wanted).resolve() == directory.resolve() else wanted,
        wanted_by=variable,
        keeps_cores_awake=os.access(CPU_LATENCY, os.W_OK),
    )


def machine_findings(facts: MachineFacts, around: Surroundings) -> tuple[MachineFinding, ...]:
    """Judge the machine, most frequent causes of doubtful figures first."""
    return (
        *_processor(facts, around),
        *_neighbours(facts, around),
        *_memory(facts, around),
        _disk(around),
        _sandbox(facts),
    )


def tool_findings() -> tuple[MachineFinding, ...]:
    """Look for the tools and libraries that some commands need, and try the ones that a machine may forbid."""
    tracer, counter = find_tracer(), instruction_counter()
    reason = speed_probe.missing()
    probe = Unavailable(reason=reason, fix="install one (apt-get install gcc), and s3bench again") if reason else None
    return (
        _tool("strace", tracer, "the gate compares files opened and system calls"),
        _tool("instructions", counter, "the gate counts instructions where noise leaves a time undecided"),
        _tool("machine speed", probe, "the gate takes the speed of the machine out of times"),
        _tool("server in C", _in_c(fast_path), "the stub and the emulator take less CPU time for small requests"),
        _tool(
            "signatures in C",
            _in_c(sigv4.in_c, needs=", or the system has no libcrypto of OpenSSL 3 or 1.1"),
            "load and the emulator take less CPU time for new keys",
        ),
        _tool("py-spy", find_py_spy(), "`s3bench profile` and a gate that FAILs show where Python clients spend time"),
        _perf(find_perf()),
        _library("altair", extra="charts", adds="charts in HTML pages"),
        _library("ray", extra="cluster", adds="`s3bench run --cluster` and `s3bench load --cluster`"),
        _library("psycopg", extra="postgresql", adds="a history in PostgreSQL"),
    )


def _processor(facts: MachineFacts, around: Surroundings) -> Iterator[MachineFinding]:
    cores = facts.cores_allowed or facts.cores_logical
    yield _check(
        "cores",
        None if cores is None else f"{cores} usable",
        Severity.WARNING if cores == 1 else Severity.OK,
        "the client, the server and the sampler take turns on it",
        "use a machine with 2 or more",
    )
    yield _check(
        "frequency governor",
        facts.governor,
        Severity.OK if facts.governor == "performance" else Severity.WARNING,
        "clock speed changes while measuring",
        "cpupower frequency-set -g performance",
    )
    yield _check(
        "turbo",
        _on_or_off(facts.turbo),
        Severity.NOTE if facts.turbo else Severity.OK,
        "clock speed depends on temperature and on what other cores do",
        "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > /sys/devices/system/cpu/cpufreq/boost",
    )
    yield _check(
        "hyper-threading",
        _on_or_off(facts.hyperthreading),
        Severity.NOTE if facts.hyperthreading else Severity.OK,
        "what runs on the other thread of a core slows the client by up to a half",
        "echo off > /sys/devices/system/cpu/smt/control",
    )
    yield _check(
        "power supply",
        None if facts.on_battery is None else ("battery" if facts.on_battery else "mains"),
        Severity.WARNING if facts.on_battery else Severity.OK,
        "the CPU may be slowed to save power",
        "plug it in",
    )
    yield _check(
        "clock source",
        facts.clock_source,
        Severity.NOTE if facts.clock_source in _SLOW_CLOCKS else Severity.OK,
        "reading the time takes a microsecond or more, which load tests feel",
        "boot with clocksource=tsc if the CPU's counter is reliable",
    )
    yield _check(
        "idle states",
        "prevented in open loop" if around.keeps_cores_awake else "cannot be prevented",
        Severity.OK if around.keeps_cores_awake else Severity.NOTE,
        "leaving them delays the operations that `s3bench load --rate` or `--replay` has planned",
        f"run load tests in open loop as root; in a container add --device {CPU_LATENCY}",
    )


def _neighbours(facts: MachineFacts, around: Surroundings) -> Iterator[MachineFinding]:
    cores = facts.cores_allowed or facts.cores_logical
    yield _check(
        "load",
        None if facts.load_1min is None else f"{facts.load_1min:.2f} on {cores or 'unknown'} cores",
        Severity.WARNING if is_busy(facts) else Severity.OK,
        "other programs take CPU time from the clients",
        "stop them, or wait until they are done",
    )
    limited = facts.cpu_quota_cores is not None and facts.cpu_quota_cores < (cores or 0)
    yield _check(
        "CPU limit",
        "none" if facts.cpu_quota_cores is None else f"{facts.cpu_quota_cores:g} cores",
        Severity.WARNING if limited else Severity.OK,
        "the control group keeps to it by pausing processes",
        "raise its limit (cpu.max)",
    )
    steal = around.steal_share
    yield _check(
        "time stolen",
        None if steal is None else f"{steal:.1%} since boot",
        Severity.WARNING if steal is not None and steal > STEAL_SHARE_MAX else Severity.OK,
        "the hypervisor gave the cores to other virtual machines",
        "use an instance with dedicated cores",
    )
    yield _check(
        "virtualization",
        facts.virtualization,
        Severity.NOTE if "hypervisor" in facts.virtualization else Severity.OK,
        "what the neighbours on the host do is not visible here",
        "compare in pairs (`s3bench gate`), or measure on bare metal",
    )


def _memory(facts: MachineFacts, around: Surroundings) -> Iterator[MachineFinding]:
    yield _check(
        "swap",
        None if facts.swap_used is None else f"{render_bytes(facts.swap_used)} used",
        Severity.WARNING if facts.swap_used else Severity.OK,
        "resident memory may be understated and times overstated",
        "free memory, then swapoff -a",
    )
    yield _check(
        "address randomization",
        None if facts.address_randomization is None else _RANDOMIZATION[min(facts.address_randomization, 2)],
        Severity.NOTE if facts.address_randomization in {0, 1} else Severity.OK,
        "all runs have one memory layout, which shifts their times alike",
        "sysctl kernel.randomize_va_space=2",
    )
    yield _check(
        "huge pages",
        around.huge_pages,
        Severity.NOTE if around.huge_pages == "always" else Severity.OK,
        "peak memory depends on how many huge pages the kernel has free",
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
    )


def _disk(around: Surroundings) -> MachineFinding:
    subject, found = "disk of workspaces", f"{around.file_system}, {render_bytes(around.free_bytes)} free"
    if around.wanted_directory:
        return _check(
            subject,
            f"{found}, in {around.directory}",
            Severity.WARNING,
            f"{around.wanted_by} names {around.wanted_directory}, which is no directory to write to",
            f"set {around.wanted_by} to one that is, or unset it",
        )
    if around.file_system.startswith(_NETWORK_FILE_SYSTEMS):
        return _check(
            subject,
            found,
            Severity.WARNING,
            "times depend on a file server or a program, and on what others do there",
            "set S3BENCH_TMPDIR to a directory on a local disk or in memory",
        )
    return _check(
        subject,
        found,
        Severity.OK if around.free_bytes >= FREE_BYTES_MIN else Severity.WARNING,
        "benchmarks of large files may not fit",
        f"free some of {around.directory}, or set S3BENCH_TMPDIR to a directory with room",
    )


def _sandbox(facts: MachineFacts) -> MachineFinding:
    return _check(
        "sandbox of clients",
        f"Landlock {facts.landlock_abi}" if facts.landlock_abi else "none",
        Severity.OK if facts.landlock_abi else Severity.NOTE,
        "clients could write outside of their workspaces, so --endpoint-url needs --allow-unsandboxed",
        "use Linux 5.13 or later with `landlock` in the boot option lsm=",
    )


def _in_c(module: object, *, needs: str = "") -> Unavailable | None:
    """Whether a module in C is in use, which also `needs` this."""
    if module is not None:
        return None
    if IS_PORTABLE:
        return Unavailable(reason="only Linux has it")
    reason = f"s3bench was installed without a C compiler or Python's headers{needs}"
    return Unavailable(reason=reason, fix="install them (apt-get install gcc python3-dev), and s3bench again")


def _tool(name: str, found: object, adds: str) -> MachineFinding:
    if isinstance(found, Unavailable):
        reason = " ".join(found.reason.split())  # what a program printed may have several lines
        remedy = found.fix or "none known here; use another machine for it"
        return MachineFinding(subject=name, found=reason, severity=Severity.MISSING, effect=adds, remedy=remedy)
    return MachineFinding(subject=name, found="works")


def _perf(found: Perf | Unavailable) -> MachineFinding:
    if isinstance(found, Perf) and found.warnings:
        remedy = "run as root, or sysctl kernel.perf_event_paranoid=1"
        return _check("perf", "works in user space", Severity.NOTE, "; ".join(found.warnings), remedy)
    return _tool("perf", found, "`s3bench profile` samples programs that are not written in Python, such as s5cmd")


def _library(module: str, *, extra: str, adds: str) -> MachineFinding:
    if importlib.util.find_spec(module) is None:
        return _check(module, "not installed", Severity.MISSING, adds, install_command(extra))
    return MachineFinding(subject=module, found="installed")


def _check(subject: str, found: str | None, severity: Severity, effect: str, remedy: str) -> MachineFinding:
    """A finding whose effect and remedy count where `severity` is not `OK`; `found` is `None` if not reported."""
    if found is None:
        return MachineFinding(subject=subject, found="not reported", severity=Severity.UNKNOWN)
    if severity is Severity.OK:
        return MachineFinding(subject=subject, found=found)
    return MachineFinding(subject=subject, found=found, severity=severity, effect=effect, remedy=remedy)


def _on_or_off(flag: bool | None) -> str | None:  # noqa: FBT001 (a fact)
    return None if flag is None else ("on" if flag else "off")
