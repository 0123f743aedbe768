"""Strict decoding of versioned JSON files; files of a newer version than this s3bench knows are rejected."""

from typing import Annotated, TypeVar

import msgspec

from s3bench.errors import BadInput
from s3bench.results.decoding import decode

_T = TypeVar("_T", bound=msgspec.Struct)


def decode_versioned(text: bytes, kind: type[_T], *, key: str, newest: int, source: str, noun: str, fix: str) -> _T:
    """Decode a JSON object whose `key` holds the version of its format; `newest` is the newest known version.

    Raises `BadInput` with `source` and the JSON path of the error; `noun` names what the file should be.
    """
    head = msgspec.defstruct("Head", [(key, Annotated[int, msgspec.Meta(ge=1)])])
    try:
        number = getattr(decode(text, head), key)
        if number > newest:
            raise BadInput(
                f"{source} has {key} {number}; this s3bench reads versions up to {newest}",
                "a newer s3bench wrote it",
                "update s3bench",
            )
        return decode(text, kind)
    except msgspec.DecodeError as error:
        raise BadInput(f"{source} is not a {noun}", str(error), fix) from error
