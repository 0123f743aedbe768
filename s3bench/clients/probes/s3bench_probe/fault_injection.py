"""A fault of known size, planted into a client that is otherwise its own self: how a gate shows what it can see.

$S3BENCH_FAULT_INJECTION holds a JSON object with any of `turns` (how often a source text is compiled), `hold_bytes`
(memory to touch and to hold until the end), `requests` (GET requests more, to $AWS_ENDPOINT_URL over plain HTTP) and
`imports` (at least so many modules more). All of it happens where the probe is loaded, and is counted as the client's.
Loaded only when the variable is there. What cannot be planted is an error: a fault that silently is none would pass for
a gate that does not see it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

# Modules of the standard library, 3.9 to 3.14, that clients of S3 rarely import and that do nothing when imported. The
# first ones import nothing that a client has not imported already; a frozen aws-cli has some of them alone.
_RARE = (
    *("colorsys", "graphlib", "codeop", "netrc", "tabnanny", "fileinput", "stringprep", "sched", "timeit", "filecmp"),
    *("cmd", "code", "pickletools", "zipapp", "pyclbr", "symtable", "modulefinder", "pstats", "wave", "plistlib"),
    *("csv", "json.tool", "optparse", "bdb", "trace", "gettext", "statistics", "html.parser", "xml.sax.saxutils"),
    *("ftplib", "poplib", "smtplib", "imaplib", "mailbox", "wsgiref.headers", "urllib.robotparser", "socketserver"),
    *("http.cookiejar", "http.server", "xml.dom.minidom"),
)
# Where neighbours slow the machine, the time to compile it varies as the start of a client does (standard deviations of
# its log over minutes: 0.24; 0.21 to create a client, 0.28 to import botocore), and a loop of arithmetic half as much.
_SOURCE = """
class Shape:
    names = {"first": 1, "second": [2, 3]}

    def members(self, wanted, more=4):
        for name, shape in self.names.items():
            if name != wanted and shape > more:
                yield name, shape, [name] * more
        return {"size": len(self.names) + more}
"""
_HTTP_TIMEOUT_S = 30.0
_HELD: list[bytearray] = []


def play() -> None:
    """Plant what $S3BENCH_FAULT_INJECTION tells; raises when that is not possible here."""
    injection = json.loads(os.environ["S3BENCH_FAULT_INJECTION"])
    for name, size in injection.items():
        _PLANTS[name](size)


def _hold(size_bytes: int) -> None:
    # Zeros would come from the kernel's page of zeros: memory counts when it is written to.
    _HELD.append(bytearray(b"\x01") * size_bytes)


def _request(count: int) -> None:
    from http.client import HTTPConnection  # noqa: PLC0415 (only when asked for)
    from urllib.parse import urlsplit  # noqa: PLC0415 (as above)

    endpoint = urlsplit(os.environ.get("AWS_ENDPOINT_URL", ""))
    if endpoint.scheme != "http" or not endpoint.hostname:
        raise ValueError("S3BENCH_FAULT_INJECTION: requests are sent to an AWS_ENDPOINT_URL of http:// alone")
    connection = HTTPConnection(endpoint.hostname, endpoint.port or 80, timeout=_HTTP_TIMEOUT_S)
    try:
        for number in range(count):
            connection.request("GET", f"/s3bench-fault/{number}")
            connection.getresponse().read()  # whatever the answer: it was asked
    finally:
        connection.close()


def _import(count: int) -> None:
    goal = len(sys.modules) + count
    for name in _RARE:
        if len(sys.modules) >= goal:
            return
        try:  # noqa: SIM105 (contextlib would be an import of ours)
            __import__(name)
        except ImportError:  # a frozen build holds what its program needs, and little more
            pass
    if len(sys.modules) < goal:
        raise ValueError(
            f"S3BENCH_FAULT_INJECTION: {goal - len(sys.modules)} of {count} modules are not here to be imported"
        )


def _work(turns: int) -> None:
    for _ in range(turns):
        compile(_SOURCE, "work", "exec")


_PLANTS: dict[str, Any] = {
    "turns": _work,
    "hold_bytes": _hold,
    "requests": _request,
    "imports": _import,
}
