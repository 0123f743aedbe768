"""The flame graph's data: size, determinism, colours, and names that are harmless."""

import json
import re
import zlib
from base64 import b64decode
from typing import Any

import pytest

from s3bench.report.page.heat_map import contrast
from s3bench.report.page.page import render_page
from s3bench.report.page.profile import graph
from s3bench.report.page.profile.graph import flame_graph
from s3bench.report.page.profile.tints import CHANGE_TINTS, PACKAGE_TINTS
from s3bench.report.page.section import FlameGraph, Section
from tests.report.page.charts import HOSTILE
from tests.report.page.profile.stack_profiles import large_profile, profile
from tests.report.page.test_page import Elements

HOSTILE_NAMES = (HOSTILE, "</script><img src=x onerror=alert(1)>", "'\"><script>alert(1)</script>", "a\u2028b\u2029c")


def unpacked(flames: FlameGraph | None) -> dict[str, Any]:
    assert flames is not None
    data: dict[str, Any] = json.loads(zlib.decompress(b64decode(flames.data)))
    return data


def page_of(flames: FlameGraph | None) -> str:
    assert flames is not None
    return render_page("A profile", (Section(name="profile", title="Profile", flame_graphs=(flames,)),))


def names(data: dict[str, Any]) -> list[str]:
    return [data["functions"][place][1] for place in data["function"]]


def test_the_frames_of_one_profile_are_coloured_by_package() -> None:
    flames = flame_graph(None, profile({"app:main": 1, "app:main;lib.one:f": 5, "app:main;lib.two:g": 2}))
    data = unpacked(flames)
    assert names(data) == ["all", "main", "f", "g"]
    assert data["depth"] == [0, 1, 2, 2]
    assert data["self"] == [[0, 4, 20, 8]]
    assert data["tint"] == [0, 2, 1, 1]
    assert flames is not None
    assert flames.legend == (("package-1", "lib"), ("package-2", "app"))


def test_the_frames_of_two_are_coloured_by_the_difference_and_noise_is_not() -> None:
    baseline = profile({"a:main;a:same": 90, "a:main;a:less": 40, "a:main;a:little": 20})
    candidate = profile({"a:main;a:same": 91, "a:main;a:less": 20, "a:main;a:little": 29, "a:main;a:more": 100})
    flames = flame_graph(baseline, candidate, labels=("1.0", "2.0"))
    data = unpacked(flames)
    tints = dict(zip(names(data), data["tint"], strict=True))
    assert tints == {"all": 3, "main": 3, "more": 3, "same": 0, "little": 2, "less": 5}
    assert data["labels"] == ["2.0", "1.0"]
    assert flames is not None
    assert [name for name, _ in flames.legend] == ["change-0", "change-2", "change-3", "change-5"]
    first = flames.table.rows[0]
    assert [cell.text for cell in first] == ["a:more", "0", "500 ms", "+500 ms", "0", "500 ms", "+500 ms", "a.py:1"]


def test_a_profile_without_samples_has_no_graph() -> None:
    assert flame_graph(None, profile({})) is None


def test_five_thousand_stacks_take_less_than_400_kb_and_none_is_merged() -> None:
    flames = flame_graph(large_profile(seed=2, slower=1.5, runs=2), large_profile(runs=2))
    page = page_of(flames)
    assert len(page.encode()) < 400_000
    data = unpacked(flames)
    assert "others" not in names(data)
    assert len(data["function"]) > 50_000


def test_frames_are_merged_where_they_would_take_too_much_room_and_the_description_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(graph, "GRAPH_BYTES_MAX", 2_000)
    flames = flame_graph(None, large_profile(100, runs=2))
    assert flames is not None
    assert len(flames.data) <= 2_000
    data = unpacked(flames)
    merged = sum(samples for name, samples in zip(names(data), data["self"][0], strict=True) if name == "others") / sum(
        data["self"][0]
    )
    assert f"merged into `others`: {merged:.1%} of the time" in flames.description
    monkeypatch.undo()
    whole = unpacked(flame_graph(None, large_profile(100, runs=2)))
    assert sum(whole["self"][0]) == sum(data["self"][0])


def test_the_same_profiles_make_the_same_graph() -> None:
    stacks = {"a:main;a:f": 3, "a:main;a:g": 3, "a:main;a:h": 3}
    turned = dict(reversed(stacks.items()))
    assert flame_graph(profile(turned), profile(stacks)) == flame_graph(profile(stacks), profile(turned))


def test_hostile_names_are_in_no_markup() -> None:
    stacks = {
        f"app:main;{name.replace(';', ',').replace(':', ' ')}:{name.replace(';', ',')}": 9 for name in HOSTILE_NAMES
    }
    flames = flame_graph(profile(stacks), profile(stacks), labels=HOSTILE_NAMES[:2])
    assert flames is not None
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", flames.data)
    page = page_of(flames)
    tags = [tag for tag, _ in Elements(page).found]
    assert tags.count("script") == 1
    assert "img" not in tags
    assert page.replace("\n", "").isprintable()
    assert all(name.isprintable() for name in names(unpacked(flames)))


def test_very_long_names_are_cut_and_stay_different() -> None:
    data = unpacked(flame_graph(None, profile({f"a:{'x' * 100_000}{end}": 1 for end in "ab"})))
    assert len(set(names(data))) == 3
    assert max(map(len, names(data))) <= 200


def test_only_pages_with_a_flame_graph_have_its_script() -> None:
    without = render_page("A run", (Section(name="runs", title="Runs"),))
    flames = flame_graph(None, profile({"a:main": 1}))
    assert flames is not None
    inner = Section(name="a", title="A", flame_graphs=(flames,))
    outer = render_page("A run", (Section(name="runs", title="Runs", parts=(inner,)),))
    for page, expected in ((without, False), (outer, True)):
        assert ("DecompressionStream" in page) is expected
        assert (".change-3 {" in page) is expected


def test_texts_stand_out_from_every_colour() -> None:
    for tint in (*PACKAGE_TINTS, *CHANGE_TINTS):
        assert contrast(tint.text.light, tint.fill.light) >= 4.5, tint
        assert contrast(tint.text.dark, tint.fill.dark) >= 4.5, tint
