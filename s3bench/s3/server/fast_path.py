"""The C code for simple requests (`fast_path.c`), where it was compiled.

It only saves time: it returns and records what the Python code would, and leaves every other request to it. It parses a
head of HTTP/1.1 with one of the usual methods, a path without `%` or non-ASCII bytes, and field names that Python has
validated before, each once. Host must be among them; Connection and Transfer-Encoding must not. A field name has at
most 64 bytes, a Content-Length at most 18 digits.
"""

from collections.abc import Callable
from typing import Any, Protocol

from s3bench.s3.protocol import http
from s3bench.s3.protocol.exchange import NO_BODY, Reply, RequestBody
from s3bench.s3.protocol.http import RequestHead
from s3bench.system.portable import extension

Begun = tuple[RequestHead, Reply | Exception, int, int]
"""The head of a request, its reply or what the handler raised, when that was made (ns), and how many bytes are sent."""


class FastPath(Protocol):
    """The functions in C."""

    def bind(
        self, head_class: type[RequestHead], no_body: RequestBody, methods: dict[str, str], names: dict[str, str], /
    ) -> None:
        """Set the class of heads, the body of a request without one, valid methods, and field names in lower case."""

    def parse_head(self, raw: bytes, /) -> RequestHead | None:
        """Parse the head in `raw`, which ends before the empty line; `None` if it is not simple."""

    def exchange(
        self,
        finish: Callable[[RequestHead, RequestBody, bytes], Reply],
        date_line: bytes,
        records: list[tuple[Any, ...]],
        records_max: int,
        started_ns: int,
        descriptor: int,
        connection: int,
        /,
    ) -> bytes | Begun | None:
        """Receive up to 64 KiB, as `socket.recv` does; reply if that is one simple request without body and Expect.

        Returns `None` if the reply was sent, and recorded as by `WireRecorder.add`; `Begun` if the reply cannot be sent
        at once, was not sent whole, or `finish` raised; else the bytes received, also if there are `records_max`
        records. Times are those of CLOCK_MONOTONIC, as the loop's are.
        """


def _load() -> FastPath | None:
    functions: FastPath | None = extension("s3bench.s3.server._fast_path")
    if functions is not None:
        functions.bind(RequestHead, NO_BODY, http.USUAL_METHODS, http.known_names)
    return functions


fast_path = _load()


def parse_head(raw: bytes) -> RequestHead:
    """Parse a request's head as `http.parse_head` does."""
    return (fast_path and fast_path.parse_head(raw)) or http.parse_head(raw)
