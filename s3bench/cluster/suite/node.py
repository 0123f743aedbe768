"""The node of a suite: runs one unit at a time in a child process, and has the methods that the driver calls.

A lease protects against a lost driver.
"""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from os import environ
from typing import Any

from s3bench.clients.finding import find_client
from s3bench.clients.identity import program_digest
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.store import ClientStore
from s3bench.cluster.node import facts_here
from s3bench.cluster.suite.child import END_S, Child
from s3bench.cluster.suite.message import ClientLookup, FoundHere, MissingHere, UnitOutcome, encode
from s3bench.errors import S3BenchError
from s3bench.run.owner import owned_directory, workspace_parent

LEASE_S = 10.0
"""A driver that has not called for so long is lost.

Longer than that of load: a unit is minutes of work on this node alone, which a pause of the driver or of the network
should not destroy, and ten more seconds of useless work do no harm. Ray reports a dead driver at once; the lease is for
one that is disconnected or hangs.
"""

_WATCH_S = 0.2
_JOIN_S = 2.0
_OWN_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE")


class SuiteNode:
    """One machine of a suite. Methods may be called by several threads, but orders one at a time."""

    def __init__(self, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._stack = ExitStack()
        self._directory = self._stack.enter_context(owned_directory(workspace_parent(environ), keep=False))
        self._child: Child | None = None
        self._called_s = now_s()
        self._is_orphan = False
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def ping(self) -> None:
        """Answer as soon as this process has started."""
        self._renew_lease()

    def facts(self) -> dict[str, Any]:
        """The `NodeFacts` in plain types, since the driver may have another version."""
        self._renew_lease()
        return facts_here()

    def look(self, specs: tuple[str, ...]) -> bytes:
        """Look up the clients; returns an encoded `ClientLookup`."""
        self._renew_lease()
        return encode(ClientLookup(clients=tuple(_client(spec) for spec in specs)))

    def prepare(self, files: Mapping[str, bytes]) -> None:
        """Store files, by their paths within the directory that units run in."""
        self._renew_lease()
        for name, content in files.items():
            path = self._directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def begin(self, chunk: int, arguments: tuple[str, ...], keys: Mapping[str, str]) -> None:
        """Start `s3bench ARGUMENTS` for a unit; `keys` are added to its environment only."""
        self._renew_lease()
        if self._child is not None:
            assert self._child.exit_code is not None, "one unit at a time"
            self._child.end(END_S)
        self._is_orphan = False
        own = {name: value for name, value in environ.items() if not (keys and name in _OWN_KEYS)}
        self._child = Child(
            *arguments,
            *("-o", self._output(chunk)),
            directory=self._directory,
            name=str(chunk),
            environment={**own, **keys},
        )

    def outcome(self, chunk: int) -> bytes | None:
        """The encoded `UnitOutcome` of the last unit; `None` while it runs."""
        self._renew_lease()
        assert self._child is not None, "a unit is begun first"
        exit_code = self._child.exit_code
        if exit_code is None:
            return None
        output = self._directory / self._output(chunk)
        said = f"the driver did not call for {LEASE_S:g} s" if self._is_orphan else self._child.last_words
        document = output.read_bytes() if output.is_file() else b""
        return encode(UnitOutcome(exit_code=exit_code, document=document, said=said))

    def stop(self) -> None:
        """Make the unit end as at Ctrl-C; its outcome still follows."""
        self._renew_lease()
        if self._child is not None:
            self._child.stop()

    def close(self) -> None:
        """End the unit and remove its directory."""
        self._closed.set()
        self._thread.join(_JOIN_S)
        if self._child is not None:
            self._child.end(END_S)
        self._stack.close()

    def _renew_lease(self) -> None:
        self._called_s = self._now_s()

    def _output(self, chunk: int) -> str:
        return f"{chunk}.json"

    def _watch(self) -> None:
        """End the unit of a lost driver."""
        while not self._closed.wait(_WATCH_S):
            child = self._child
            if child is not None and child.exit_code is None and self._now_s() - self._called_s > LEASE_S:
                self._is_orphan = True
                child.stop()


def _client(text: str) -> FoundHere | MissingHere:
    try:
        found = find_client(parse_client_spec(text), ClientStore.from_environment(environ))
        digest = program_digest(found)
    except S3BenchError as error:
        return MissingHere(spec=text, why="; ".join(filter(None, (error.what, error.why))))
    return FoundHere(
        spec=text,
        kind=found.kind,
        version=found.version,
        label=found.label,
        detail=found.detail,
        digest=digest,
    )
