"""Lines that campaigns keep."""

from pathlib import Path

from kept import append, read  # type: ignore[import-not-found]


def test_a_line_that_was_cut_off_is_not_read_and_the_next_one_takes_its_place(tmp_path: Path) -> None:
    file = tmp_path / "data" / "kept.jsonl"
    assert read(file) == []
    append(file, {"number": 1})
    with file.open("ab") as out:
        out.write(b'{"numb')
    assert read(file) == [{"number": 1}]
    append(file, {"number": 2})
    assert file.read_text() == '{"number":1}\n{"number":2}\n'
