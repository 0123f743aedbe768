"""Which machines are one, and which are two."""

from typing import Any

import pytest

from s3bench.history.machine import machine_of

FACTS: dict[str, Any] = {
    "cpu_model": "Xeon 1",
    "architecture": "x86_64",
    "cores_logical": 8,
    "cores_allowed": 4,
    "cpu_quota_cores": None,
    "memory_total": 16_700_000_000,
    "memory_limit": None,
    "kernel": "Linux 6.1.0-18-amd64",
    "virtualization": "hypervisor",
    "product": "Amazon EC2 c5.2xlarge",
    "load_1min": 0.1,
    "python": "CPython 3.11.7",
}


def fingerprint(**changes: Any) -> str:
    return machine_of({**FACTS, **changes}).fingerprint


def test_the_fingerprint_never_changes_between_releases_of_s3bench() -> None:
    assert fingerprint() == "d17cd44f70097992"


@pytest.mark.parametrize(
    "changes",
    [
        {"load_1min": 3.0},
        {"python": "CPython 3.12.1"},
        {"kernel": "Linux 6.1.99-2-amd64"},
        {"memory_total": 16_690_000_000},
        {"cores_logical": 64},
        {"cores_allowed": 4.0},
        {"cpu_quota_cores": 8.0},
    ],
)
def test_what_no_figure_depends_on_does_not_make_another_machine(changes: dict[str, Any]) -> None:
    assert fingerprint(**changes) == fingerprint()


@pytest.mark.parametrize(
    "changes",
    [
        {"cpu_model": "Xeon 2"},
        {"architecture": "aarch64"},
        {"cores_allowed": 2},
        {"cpu_quota_cores": 1.5},
        {"memory_total": 32 << 30},
        {"memory_limit": 2 << 30},
        {"kernel": "Linux 6.2.0"},
        {"virtualization": "hypervisor+container"},
        {"product": None},
    ],
)
def test_what_figures_depend_on_makes_another_machine(changes: dict[str, Any]) -> None:
    assert fingerprint(**changes) != fingerprint()


def test_the_words_say_the_facts() -> None:
    assert machine_of(FACTS).words == "Amazon EC2 c5.2xlarge, Xeon 1, 4 cores, 16 GiB, Linux 6.1, hypervisor"
    assert machine_of({}).words == "nothing is known about it"


@pytest.mark.parametrize("value", [[], {}, True, -1, 10**400, 1e300, "", "x\x00\x1b[31m", None])
def test_facts_of_any_kind_are_borne(value: object) -> None:
    machine = machine_of(dict.fromkeys(FACTS, value))
    assert len(machine.fingerprint) == 16
    assert (machine.cores, machine.memory_gib) == (None, None)
