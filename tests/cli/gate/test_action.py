"""What `s3bench gate` decides before it measures."""

from pathlib import Path

import pytest

from s3bench.cli.gate.action import may_count_instructions
from s3bench.clients.client import FoundClient
from s3bench.gate.evidence import Side
from s3bench.gate.policy import Policy


@pytest.mark.parametrize(
    ("kinds", "policy", "switched_off", "expected"),
    [
        (("cli-classic", "cli-crt"), Policy(), False, True),
        (("cli-classic", "cli-classic"), Policy(), True, False),
        (("cli-classic", "s5cmd"), Policy(), False, False),
        (("rclone", "rclone"), Policy(), False, False),
        (("cli-classic", "cli-classic"), Policy(metrics=("peak_memory",)), False, False),
        (("cli-classic", "cli-classic"), Policy(exact=("instructions",)), False, False),
    ],
)
def test_instructions_are_counted_for_times_of_clients_whose_counts_repeat(
    kinds: tuple[str, str], policy: Policy, *, switched_off: bool, expected: bool
) -> None:
    clients = {
        side: FoundClient(kind=kind, version="1", executable=Path(kind)) for side, kind in zip(Side, kinds, strict=True)
    }
    assert may_count_instructions(policy, clients, is_switched_off=switched_off) is expected
