"""Files that carry the version of their format."""

import re

import msgspec
import pytest

from s3bench.errors import BadInput
from s3bench.results.versioned import decode_versioned


class Note(msgspec.Struct, forbid_unknown_fields=True):
    note_version: int
    text: str


def decoded(text: bytes) -> Note:
    return decode_versioned(
        text, Note, key="note_version", newest=2, source="note.json", noun="note", fix="give a note"
    )


@pytest.mark.parametrize("version", [1, 2])
def test_a_known_version_is_read(version: int) -> None:
    assert decoded(b'{"note_version": %d, "text": "hello"}' % version) == Note(note_version=version, text="hello")


def test_a_newer_version_is_refused_for_its_age_and_not_for_what_it_adds() -> None:
    with pytest.raises(BadInput, match=r"note\.json has note_version 3; this s3bench reads versions up to 2") as caught:
        decoded(b'{"note_version": 3, "text": "hello", "novelty": 1}')
    assert caught.value.fix == "update s3bench"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`, got `array`"),
        (b"{}", "missing required field `note_version`"),
        (b'{"note_version": 0}', r"at `\$.note_version`"),
        (b'{"note_version": 1, "text": 5}', r"Expected `str`, got `int` - at `\$.text`"),
        (b'{"note_version": 1, "text": "hello", "novelty": 1}', "unknown field `novelty`"),
        (b'{"note_version": 1, "text": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"note_version": 1, "text": "\xff"}', "can't decode byte 0xff"),
    ],
)
def test_what_is_no_such_file_is_said_with_the_place(text: bytes, why: str) -> None:
    with pytest.raises(BadInput, match=r"note\.json is not a note") as caught:
        decoded(text)
    assert re.search(why, caught.value.why)
