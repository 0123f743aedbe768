"""JSON bytes to types, with one error for everything that can be wrong with a file."""

from typing import Any, TypeVar, overload

import msgspec

_T = TypeVar("_T")


@overload
def decode(content: bytes) -> Any: ...
@overload
def decode(content: bytes, kind: type[_T]) -> _T: ...
def decode(content: bytes, kind: Any = Any) -> Any:
    """Decode JSON as `kind`. Raises `msgspec.DecodeError`, also for what is no UTF-8 or is nested too deeply."""
    try:
        return msgspec.json.decode(content, type=kind)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(str(error)) from error
    except RecursionError:
        raise msgspec.DecodeError("it is nested too deeply") from None
