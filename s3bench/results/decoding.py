"""Decodes JSON bytes to types, with a single exception type for all errors."""

from typing import Any, TypeVar, overload

import msgspec

_T = TypeVar("_T")


@overload
def decode(content: bytes) -> Any: ...
@overload
def decode(content: bytes, kind: type[_T]) -> _T: ...
def decode(content: bytes, kind: Any = Any) -> Any:
    """Decode JSON as `kind`. Raises `msgspec.DecodeError`, also for invalid UTF-8 and for too deep nesting."""
    try:
        return msgspec.json.decode(content, type=kind)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(str(error)) from error
    except RecursionError:
        raise msgspec.DecodeError("it is nested too deeply") from None
