"""Files of ours that carry the version of their format: read strictly, and not when a newer s3bench wrote them.

Owns what is said of a file that cannot be read. What a format holds is its type's own.
"""

from typing import Annotated, TypeVar

import msgspec

from s3bench.errors import BadInput
from s3bench.results.decoding import decode

_T = TypeVar("_T", bound=msgspec.Struct)


def decode_versioned(text: bytes, kind: type[_T], *, key: str, newest: int, source: str, noun: str, fix: str) -> _T:
    """Decode a JSON object whose `key` holds the version of its format, `newest` being the last one known.

    Raises `BadInput`, with the path of what is wrong, naming `source`; `noun` is what the file should have been.
    """
    head = msgspec.defstruct("Head", [(key, Annotated[int, msgspec.Meta(ge=1)])])
    try:
        number = getattr(decode(text, head), key)
        if number > newest:
            raise BadInput(
                f"{source} has {key} {number}; this s3bench knows {newest}",
                "a newer s3bench wrote it",
                "update s3bench",
            )
        return decode(text, kind)
    except msgspec.DecodeError as error:
        raise BadInput(f"{source} is no {noun}", str(error), fix) from error
