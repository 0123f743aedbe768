"""What runs on a node of a suite: one unit at a time, in a child process, and the answers to what the driver asks.

Owns the node's part of the talk, its directory, and the lease. No engine is known here; the process that this lives in
measures nothing.
"""

import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from os import environ
from typing import Any

from s3bench.clients.finding import find_client
from s3bench.clients.identity import program_digest
from s3bench.clients.store import ClientStore
from s3bench.cluster.node import facts_here
from s3bench.cluster.suite.child import END_S, Child
from s3bench.cluster.suite.message import ClientLookup, FoundHere, MissingHere, UnitOutcome, encode
from s3bench.errors import S3BenchError
from s3bench.run.owner import owned_directory, workspace_parent
from s3bench.spec.plan import parse_client_spec

LEASE_S = 10.0
"""A driver that was not heard of for so long is gone.

Longer than that of load: a unit is minutes of work on this node alone, which a pause of the driver or of the network
should not cost, and one that goes on in vain for ten seconds harms nobody. A driver that dies is known of at once, by
Ray; this is for one that is cut off, or stands still.
"""

_WATCH_S = 0.2
_JOIN_S = 2.0
_OWN_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE")


class SuiteNode:
    """One machine of a suite. Methods may be called by several threads; those that give orders come one by one."""

    def __init__(self, *, lease_s: float = LEASE_S) -> None:
        self._lease_s = lease_s
        self._stack = ExitStack()
        self._directory = self._stack.enter_context(owned_directory(workspace_parent(environ), keep=False))
        self._child: Child | None = None
        self._heard_s = time.monotonic()
        self._is_orphan = False
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def facts(self) -> dict[str, Any]:
        """What this node is, as `NodeFacts` in plain types: who asks may have another version."""
        self._hear()
        return facts_here()

    def look(self, specs: tuple[str, ...]) -> bytes:
        """Find the clients; gives a `ClientLookup`."""
        self._hear()
        return encode(ClientLookup(clients=tuple(_client(spec) for spec in specs)))

    def prepare(self, files: Mapping[str, bytes]) -> None:
        """Keep files, by their paths within the directory that units run in."""
        self._hear()
        for name, content in files.items():
            path = self._directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def begin(self, chunk: int, arguments: tuple[str, ...], keys: Mapping[str, str]) -> None:
        """Start `s3bench ARGUMENTS` for a unit; `keys` are variables for its environment alone."""
        self._hear()
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
        """How the unit that was begun last ended (`UnitOutcome`); `None` while it runs."""
        self._hear()
        assert self._child is not None, "a unit is begun first"
        exit_code = self._child.exit_code
        if exit_code is None:
            return None
        output = self._directory / self._output(chunk)
        said = f"the driver was not heard of for {self._lease_s:g} s" if self._is_orphan else self._child.last_words
        document = output.read_bytes() if output.is_file() else b""
        return encode(UnitOutcome(exit_code=exit_code, document=document, said=said))

    def stop(self) -> None:
        """Let the unit end as Ctrl-C does; its outcome still comes."""
        self._hear()
        if self._child is not None:
            self._child.stop()

    def close(self) -> None:
        """End the unit, and remove everything."""
        self._closed.set()
        self._thread.join(_JOIN_S)
        if self._child is not None:
            self._child.end(END_S)
        self._stack.close()

    def _hear(self) -> None:
        self._heard_s = time.monotonic()

    def _output(self, chunk: int) -> str:
        return f"{chunk}.json"

    def _watch(self) -> None:
        """End the unit of a driver that is gone."""
        while not self._closed.wait(_WATCH_S):
            child = self._child
            if child is not None and child.exit_code is None and time.monotonic() - self._heard_s > self._lease_s:
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
