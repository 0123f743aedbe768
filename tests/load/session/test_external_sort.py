"""Sorting in files gives what sorting in memory does."""

from pathlib import Path

import numpy as np
import pytest

from s3bench.load.engine.replay_file import ROW, Rows
from s3bench.load.session import external_sort
from s3bench.load.session.external_sort import ExternalSort


def rows_of(firsts: list[int]) -> Rows:
    rows = np.zeros(len(firsts), ROW)
    rows["key"] = firsts
    rows["order"] = np.arange(len(firsts))
    return rows


@pytest.mark.parametrize("values", [1, 3, 10**9])
def test_rows_of_many_runs_come_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: int) -> None:
    monkeypatch.setattr(external_sort, "_RUN_ROWS", 80)
    monkeypatch.setattr(external_sort, "_BLOCK_ROWS", 32)
    monkeypatch.setattr(external_sort, "_READ_ROWS_MIN", 8)
    random = np.random.default_rng(1)
    rows = random.permutation(rows_of(random.integers(values, size=1_200).tolist()))
    sort = ExternalSort(tmp_path, "x", by=("key", "order"))
    for first in range(0, len(rows), 20):
        sort.add(rows[first : first + 20])
    expected = rows[np.lexsort((rows["order"], rows["key"]))]
    for _ in range(2):
        found = list(sort.blocks())
        assert max(map(len, found)) <= 8 * 15
        assert (np.concatenate(found) == expected).all()
    sort.remove()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_sorted_to_nothing(tmp_path: Path) -> None:
    assert list(ExternalSort(tmp_path, "x", by=("key", "order")).blocks()) == []
