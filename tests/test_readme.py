"""The README tells the truth: its commands exist and its options are known."""

import json
import re

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
