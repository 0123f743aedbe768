"""Which benchmarks a suite holds."""

from s3bench.spec.definition import Definition
from s3bench.spec.suite import Suite

QUICK = Definition(name="quick", command=("--version",))
SLOW = Definition(name="slow", command=("--version",), tags=("full",))


def test_the_default_suite_leaves_out_what_is_tagged_full() -> None:
    assert Suite.DEFAULT.of((QUICK, SLOW)) == (QUICK,)


def test_the_full_suite_is_everything() -> None:
    assert Suite.FULL.of((SLOW, QUICK)) == (SLOW, QUICK)


def test_what_a_suite_leaves_out_is_the_rest() -> None:
    assert Suite.DEFAULT.without((QUICK, SLOW)) == (SLOW,)
    assert Suite.FULL.without((QUICK, SLOW)) == ()
