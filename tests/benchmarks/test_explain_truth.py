"""Planting causes: what is changed, what is not, and when an explanation counts as right."""

import ast
import os
import shutil
import sys
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import explain_truth  # type: ignore[import-not-found]
import pytest
from explain_truth import NOTHING, Trial, campaign, check, names_place, rank_of, summarize, trials_of
from kept import read  # type: ignore[import-not-found]
from planting.causes import CauseName, Planted, plant  # type: ignore[import-not-found]
from planting.copies import places_of  # type: ignore[import-not-found]
from planting.patch import Patch, apply, patched  # type: ignore[import-not-found]
from planting.places import BOTO3, CLI_V1, CLI_V2, Place, Places  # type: ignore[import-not-found]

from s3bench.clients.client import FoundClient
from s3bench.clients.search import own_sites
from s3bench.clients.store import ClientStore
from s3bench.errors import BadInput
from s3bench.profiling.explanation import Cause, CauseKind, Explanation

EXTENSION = Path(explain_truth.__file__).parent / "planting" / "s3_extension"
SPEED = 1e7
SOURCE = '''"""A module."""

import os


class Loader:
    def load(self, name):
        """Load it."""
        @str
        def inner():
            pass
        return name
'''


@pytest.fixture
def extension(tmp_path: Path) -> Path:
    """A tree of hard links, as staged clients are."""
    shutil.copytree(EXTENSION, tmp_path / "original" / EXTENSION.name)
    shutil.copytree(tmp_path / "original", tmp_path / "copy", copy_function=os.link)
    return tmp_path / "copy"


def _contents(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*.py")}


@pytest.mark.parametrize("kind", list(CauseName))
@pytest.mark.parametrize("seed", range(6))
def test_each_kind_changes_one_file_and_adds_at_most_one(extension: Path, kind: CauseName, seed: int) -> None:
    original = extension.parent / "original"
    before = _contents(original)
    planted = plant(kind, CLI_V2, seed, SPEED)
    lines = planted.put_into(extension)
    after = _contents(extension)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {planted.patch.place.file}
    assert set(after) - set(before) == {name for name, _source in planted.files}
    assert set(lines) == changed | (set(after) - set(before))
    assert _contents(original) == before
    for source in after.values():
        compile(source, "planted", "exec")


def test_lines_come_after_the_docstring_and_before_a_decorated_statement() -> None:
    patch = Patch(place=Place(file="m.py", function="Loader.load"), lines=("pass  # planted",))
    source, (lines,) = patched(SOURCE, patch)
    assert source.splitlines()[lines.start - 1] == "        pass  # planted"
    assert source.index("Load it") < source.index("planted") < source.index("@str")


def test_lines_for_a_module_come_after_its_imports() -> None:
    source, (lines,) = patched(SOURCE, Patch(place=Place(file="m.py"), lines=("import re",)))
    assert source.splitlines()[lines.start - 2 : lines.start] == ["import os", "import re"]


def test_the_numbers_of_appended_lines_are_those_in_the_file() -> None:
    place = Place(file="m.py", function="Loader.load")
    source, (_, appended) = patched(SOURCE, Patch(place=place, lines=("pass",), appended=("def new():", "    pass")))
    assert [source.splitlines()[number - 1] for number in appended] == ["def new():", "    pass"]


@pytest.mark.parametrize("function", ["Loader.save", "missing", "Short.one"])
def test_a_place_that_is_not_there_is_an_error(tmp_path: Path, function: str) -> None:
    (tmp_path / "m.py").write_text(SOURCE + "\n\nclass Short:\n    def one(self): return 1\n")
    with pytest.raises(ValueError, match=r"m\.py"):
        apply(Patch(place=Place(file="m.py", function=function), lines=("pass",)), tmp_path)


def test_byte_code_of_the_old_source_is_removed_from_the_copy_alone(extension: Path) -> None:
    codes = [root / "s3_extension" / "__pycache__" for root in (extension, extension.parent / "original")]
    name = Path(cache_from_source("rules.py")).name
    for folder in codes:
        folder.mkdir()
        (folder / name).write_bytes(b"code")
    apply(Patch(place=Place(file="s3_extension/rules.py"), lines=("pass",)), extension)
    assert [(folder / name).exists() for folder in codes] == [False, True]


@pytest.mark.parametrize("places", [BOTO3, CLI_V1, CLI_V2])
@pytest.mark.parametrize("kind", list(CauseName))
def test_seeds_draw_different_places_and_the_same_seed_the_same(places: Places, kind: CauseName) -> None:
    drawn = [plant(kind, places, seed, SPEED).patch for seed in range(5)]
    assert drawn == [plant(kind, places, seed, SPEED).patch for seed in range(5)]
    assert len({(patch.place.name, patch.lines) for patch in drawn}) >= 2


@pytest.mark.parametrize("kind", [CauseName.SLOW_FUNCTION, CauseName.MEMORY_KEPT, CauseName.MEMORY_DROPPED])
def test_slower_code_and_memory_are_planted_without_calls(kind: CauseName) -> None:
    planted = ast.parse("\n".join(plant(kind, CLI_V2, 0, SPEED).patch.lines))
    assert not any(isinstance(node, ast.Call) for node in ast.walk(planted))


def test_the_planted_work_is_a_loop_of_3_ms() -> None:
    scope: dict[str, object] = {}
    exec("\n".join(plant(CauseName.SLOW_FUNCTION, CLI_V2, 0, SPEED).patch.lines), scope)
    assert scope["_turn"] == 0.003 * SPEED


def test_the_planted_block_has_8_mb() -> None:
    scope: dict[str, Any] = {}
    exec("\n".join(plant(CauseName.MEMORY_KEPT, CLI_V2, 0, SPEED).patch.lines), scope)
    assert sys.getsizeof(scope["_KEPT"]) - sys.getsizeof([]) == 8 << 20


def _planted(**changes: object) -> Planted:
    patch = Patch(place=Place(file="pkg/a.py", function="A.run"), lines=("pass",))
    return Planted(**{"patch": patch, "names": frozenset({"pkg.a:A.run"}), **changes})


@pytest.mark.parametrize(
    ("cause", "planted", "is_named"),
    [
        (Cause(kind=CauseKind.FUNCTION, place="pkg.a:A.run"), _planted(), True),
        (Cause(kind=CauseKind.CALL, place="time:sleep", caller="pkg.a:A.run"), _planted(), True),
        (Cause(kind=CauseKind.CALL, place="pkg.a:A.run", caller="pkg.b:main"), _planted(), True),
        (Cause(kind=CauseKind.FUNCTION, place="pkg.b:main"), _planted(), False),
        (Cause(kind=CauseKind.FUNCTION, place="pkg.a:A.ran"), _planted(), False),
        (Cause(kind=CauseKind.IMPORT, place="pkg.a"), _planted(names=frozenset({"pkg.a:<module>"})), True),
        (Cause(kind=CauseKind.IMPORT, place="pkg"), _planted(names=frozenset({"pkg.a:<module>"})), False),
        (Cause(kind=CauseKind.ALLOCATION, place="pkg.a:", file="pkg/a.py", line=8), _planted(), True),
        (Cause(kind=CauseKind.ALLOCATION, place="pkg.a:", file="pkg/a.py", line=9), _planted(), False),
        (Cause(kind=CauseKind.REQUEST, place="HEAD /bucket/test_file"), _planted(method="HEAD"), True),
        (Cause(kind=CauseKind.REQUEST, place="PUT /bucket/test_file"), _planted(method="HEAD"), False),
        (Cause(kind=CauseKind.REQUEST, place="HEAD /bucket/test_file"), _planted(), False),
        (Cause(kind=CauseKind.SYSTEM_CALL, place="statx"), _planted(system_calls=frozenset({"statx"})), True),
        (Cause(kind=CauseKind.SYSTEM_CALL, place="openat"), _planted(system_calls=frozenset({"statx"})), False),
    ],
)
def test_the_place_is_named_by_itself_its_caller_its_line_or_its_kind(
    cause: Cause, planted: Planted, is_named: bool
) -> None:
    assert names_place(cause, planted, {"pkg/a.py": (range(7, 9),)}) is is_named


def test_the_rank_is_that_of_the_first_cause_that_names_the_place() -> None:
    other = Cause(kind=CauseKind.FUNCTION, place="pkg.b:main")
    right = Cause(kind=CauseKind.FUNCTION, place="pkg.a:A.run")
    assert rank_of((other, right, right), _planted(), {}) == 2
    assert rank_of((other,), _planted(), {}) is None


def test_trials_pair_every_kind_with_every_client() -> None:
    trials = list(trials_of(("x", "y", "z"), kinds=list(CauseName), trials=60, nulls=4))
    assert len(set(trials)) == 64
    assert {(trial.kind, trial.client) for trial in trials if trial.kind != NOTHING} == {
        (kind, client) for kind in CauseName for client in "xyz"
    }
    assert {trial.metric for trial in trials if trial.kind.startswith("memory")} == {"peak_memory"}


def _line(kind: str, rank: int | None, told: int = 1) -> dict[str, object]:
    causes = [{"kind": "function", "place": "pkg.b:main"}] * told
    return {"kind": kind, "client": "x", "seed": 0, "expected": ["pkg.a:A.run"], "rank": rank, "told": causes} | {
        "seconds": 3.0
    }


def test_the_summary_holds_what_was_found_against_the_bars(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [_line("sleep", 1)] * 3 + [_line("lock", 3)] + [_line(NOTHING, None, told=0)] * 20
    assert summarize(lines) == 0
    assert "among the first 3: 4 of 4" in capsys.readouterr().out
    assert summarize([*lines, _line("stat", None)]) == 1
    out = capsys.readouterr().out
    assert "missed: stat 0 in x: pkg.a:A.run, told function pkg.b:main" in out
    assert "among the first 3: 4 of 5 (38% to 96%), bar 90%: MISSED" in out
    assert summarize([*lines, *[_line(NOTHING, None)] * 2]) == 1


def test_a_client_that_cannot_be_changed_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be copied"):
        places_of(FoundClient(kind="s5cmd", version="2.3.0", executable=tmp_path / "s5cmd"))


def _explain_nothing(*_: object, **__: object) -> Explanation:
    return Explanation(benchmark="b", metric="total_time", change=0.0)


def _installed() -> list[str]:
    """A boto3 as a directory of packages, and an aws-cli v2 where one is in the store."""
    versions = ClientStore.from_environment(os.environ).versions("aws-cli")
    return [f"boto3-classic@{own_sites()[0]}", *(f"cli-classic@{version}" for version in versions[:1])]


@pytest.mark.campaign
@pytest.mark.timeout(900)
@pytest.mark.parametrize("client", _installed())
def test_every_kind_planted_into_a_real_client_leaves_it_working(client: str) -> None:
    assert check(list(trials_of((client,), kinds=list(CauseName), trials=12, nulls=0)), pairs=1) == 0


@pytest.mark.campaign
@pytest.mark.timeout(300)
def test_a_campaign_continues_where_it_was_interrupted(tmp_path: Path) -> None:
    file = tmp_path / "outcomes.jsonl"
    trials = [Trial(kind=kind, client=_installed()[0], seed=0) for kind in ("sleep", NOTHING)]
    campaign(trials[:1], _explain_nothing, time_limit_s=60, file=file)
    campaign(trials, _explain_nothing, time_limit_s=60, file=file)
    assert [(line["kind"], line["rank"], line["told"]) for line in read(file)] == [
        ("sleep", None, []),
        (NOTHING, None, []),
    ]
