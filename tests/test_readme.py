"""The README tells the truth: its commands exist and its options are known."""

import json
import re

from s3bench.cli.load.options import OPTIONS, MatrixExtent
from tests.documented import ROOT, lines_of

README = (ROOT / "README.md").read_text()


def test_the_two_commands_of_a_newcomer_stand_there() -> None:
    assert list(lines_of(ROOT / "README.md"))[:2] == ["scripts/run-benchmarks --num-iterations 2", "scripts/test"]


def test_every_page_and_script_that_the_readme_names_is_there() -> None:
    named = re.findall(r"\]\((docs/[^)]+)\)", README) + re.findall(r"`(scripts/[a-z-]+)", README)
    named += [f"benchmarks/{name}" for name in re.findall(r"`([a-z_]+\.py)`", README)]
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_example_has_the_keys_of_a_real_measurement() -> None:
    (block,) = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
    from s3bench.results.measurement import Measurement  # noqa: PLC0415 (only this test needs it)

    (example,) = json.loads(block)["measurements"]
    assert set(example) <= set(Measurement.__struct_fields__)


def test_the_options_of_s3_benchmark_that_work_unchanged_are_named_and_are_options_of_load() -> None:
    (named,) = re.findall(r"options `((?:-[a-z] ?)+)` have the same meaning as in s3-benchmark", README)
    written = {word.rstrip(",") for option in OPTIONS.values() for word in option.written.split()}
    assert set(named.split()) <= written
    assert {f"--matrix {size}" for size in MatrixExtent} <= set(re.findall(r"`(--matrix \w+)`", README))
