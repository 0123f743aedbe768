"""What no machine can do is refused with a reason; what is merely large is not."""

from pathlib import Path

import msgspec
import pytest

from s3bench.errors import BadInput
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Job, Phase, Profile, Rate, Share
from s3bench.load.profile.sizes import fixed
from s3bench.load.session.capacity import DESCRIPTORS_OWN, Capacity, capacity_of, check_capacity, check_ports
from s3bench.run.machine import machine_facts

GIB = 1024**3
MACHINE = Capacity(descriptors=20_000, ports=28_000, memory_bytes=16 * GIB)


def profile(
    *kinds: OperationKind, threads: int = 16, rate: float | None = None, objects: int | None = 100, size: int = 4096
) -> Profile:
    job = Job(
        mix=tuple(Share(kind=kind) for kind in kinds or (OperationKind.GET,)),
        sizes=fixed(size),
        threads=threads,
        rate=None if rate is None else Rate(per_s=rate),
        objects=objects,
    )
    return Profile(phases=(Phase(jobs=(job,), duration_s=1.0),))


def refusal(made: Profile, capacity: Capacity = MACHINE, *, workers: int = 2, emulated: bool = False) -> str:
    with pytest.raises(BadInput) as refused:
        check_capacity(made, capacity, workers=workers, emulated=emulated)
    assert refused.value.why
    assert refused.value.fix
    return str(refused.value)


def test_a_rate_that_no_worker_can_start_is_refused() -> None:
    told = refusal(profile(rate=1e9))
    assert "a rate of 1,000,000,000 operations a second can never be reached" in told
    assert "plan 2,000,000 or less" in told
    check_capacity(profile(rate=2e6), MACHINE, workers=2)


def test_workers_without_a_thread_start_nothing() -> None:
    assert "plan 1,000,000 or less" in refusal(profile(rate=2e6, threads=1), workers=8)


def test_threads_need_descriptors_in_each_worker() -> None:
    few = msgspec.structs.replace(MACHINE, descriptors=64)
    told = refusal(profile(threads=100), few)
    assert "82 open files are needed in each worker, and this machine allows 64" in told
    assert "ulimit -n 82" in told
    check_capacity(profile(threads=2 * (64 - DESCRIPTORS_OWN)), few, workers=2)
    with pytest.raises(BadInput, match="65 open files"):
        check_capacity(profile(threads=2 * (64 - DESCRIPTORS_OWN) + 1), few, workers=2)


def test_jobs_of_few_threads_share_the_workers_and_their_descriptors() -> None:
    few = msgspec.structs.replace(MACHINE, descriptors=DESCRIPTORS_OWN + 10)
    [phase] = profile(threads=1).phases
    jobs = tuple(msgspec.structs.replace(phase.jobs[0], name=str(number)) for number in range(40))
    check_capacity(Profile(phases=(msgspec.structs.replace(phase, jobs=jobs),)), few, workers=4)


def test_writing_the_data_set_needs_descriptors_too() -> None:
    few = msgspec.structs.replace(MACHINE, descriptors=DESCRIPTORS_OWN + 15)
    assert "48 open files" in refusal(profile(threads=1), few, workers=1)


def test_a_node_is_told_by_its_name() -> None:
    few = msgspec.structs.replace(MACHINE, descriptors=64)
    with pytest.raises(BadInput, match="node-2 allows 64"):
        check_capacity(profile(threads=400), few, workers=4, nodes=2, name="node-2")
    check_capacity(profile(threads=128), few, workers=4, nodes=2, name="node-2")


def test_the_emulator_needs_connections_for_all_threads() -> None:
    few = msgspec.structs.replace(MACHINE, descriptors=64)
    told = refusal(profile(threads=33), few, emulated=True)
    assert "it can have 32 here, where the hard limit on open files (ulimit -Hn) is 64" in told
    check_capacity(profile(threads=32), few, workers=2, emulated=True)
    many = msgspec.structs.replace(MACHINE, descriptors=10**6)
    assert "use fewer --threads, or name an endpoint" in refusal(profile(threads=60_000), many, emulated=True)


def test_the_emulator_holds_no_more_than_its_memory() -> None:
    told = refusal(profile(objects=10**12), emulated=True)
    assert "of objects do not fit into the S3 in memory" in told
    check_capacity(profile(objects=1000, size=2 * 1024**2), MACHINE, workers=2, emulated=True)


def test_workers_and_what_they_remember_of_reads_fit_into_memory() -> None:
    assert "1,024 workers need about" in refusal(profile(threads=2000), workers=1024)
    assert "a byte for each object that it reads" in refusal(profile(objects=10**12))
    check_capacity(profile(objects=10**9), MACHINE, workers=2)
    check_capacity(profile(OperationKind.DELETE, objects=10**12), MACHINE, workers=2)
    check_capacity(profile(objects=10**12), msgspec.structs.replace(MACHINE, memory_bytes=None), workers=2)


def test_connections_need_local_ports_for_each_address() -> None:
    with pytest.raises(BadInput, match="30,000 connections from one machine need more local ports"):
        check_ports(profile(threads=30_000), MACHINE, workers=2)
    check_ports(profile(threads=30_000), MACHINE, workers=2, addresses=2)
    check_ports(profile(threads=30_000), MACHINE, workers=2, nodes=2)
    check_ports(profile(threads=30_000), msgspec.structs.replace(MACHINE, ports=None), workers=2)


def test_the_capacity_of_this_machine_is_known(tmp_path: Path) -> None:
    here = capacity_of(machine_facts())
    assert here.descriptors > DESCRIPTORS_OWN
    assert here.memory_bytes is None or here.memory_bytes > GIB // 4
    assert capacity_of(machine_facts(), tmp_path).ports is None
    place = tmp_path / "proc/sys/net/ipv4"
    place.mkdir(parents=True)
    (place / "ip_local_port_range").write_text("32768\t60999\n", encoding="ascii")
    assert capacity_of(machine_facts(), tmp_path).ports == 28_232
