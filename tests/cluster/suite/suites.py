"""Suites for tests: small definitions, and nodes that are simulated (`SimulatedSuite`) or real and in this process."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

import s3bench
from s3bench.bench.suite import new_result
from s3bench.clients.client import ClientSpec
from s3bench.clients.plan import parse_client_spec, plan_runs
from s3bench.clients.registry import known_clients
from s3bench.cluster.message import PROTOCOL
from s3bench.cluster.node_group import NodeGone
from s3bench.cluster.suite.message import ClientLookup, FoundHere, MissingHere, UnitOutcome, encode
from s3bench.cluster.suite.unit import SuiteUnit, split_suite
from s3bench.results.document import Client, Document, encode_document
from s3bench.run.machine import MachineFacts, machine_facts
from s3bench.spec.parse import read_definitions

MACHINE = {"cpu_model": "A", "cores_allowed": 4, "memory_total": 8 << 30, "kernel": "Linux 6.1.0"}
CLIENTS = ("s5cmd", "boto3-classic")


def upload(name: str, size_bytes: int, *, clients: Sequence[str] = CLIENTS) -> dict[str, Any]:
    """A definition: one file up, to the stub."""
    return {
        "name": name,
        "clients": list(clients),
        "command": ["s3", "cp", "file", "s3://bucket/file"],
        "dimensions": [{"name": "FileSize", "value": f"{size_bytes} B"}],
        "environment": {"files": [{"name": "file", "size": size_bytes}]},
        "responses": [{"match": {"method": "PUT"}, "headers": {"ETag": "e"}, "instances": "any"}],
    }


def written(directory: Path, *definitions: dict[str, Any]) -> Path:
    """A definition file."""
    path = directory / "suite.json"
    path.write_text(json.dumps(definitions), encoding="utf-8")
    return path


def units_of(file: Path, *, select: str | None = None) -> tuple[SuiteUnit, ...]:
    """A definition file as units."""
    plan = plan_runs(
        read_definitions(file, known_clients()),
        clients=(),
        select=select,
        num_chunks=1,
        chunk_id=0,
        iterations=1,
        warmup=0,
    )
    return split_suite(plan.cells)


def found(spec: str, **changes: str) -> FoundHere:
    """A client as nodes find it."""
    kind, _, version = spec.partition("@")
    usual = {"kind": kind, "version": version or "1.0", "label": f"{kind}@{version or '1.0'}", "detail": ""}
    return FoundHere(**{"spec": spec, "digest": "0123456789abcdef", **usual, **changes})


def found_clients(*specs: str) -> dict[ClientSpec, FoundHere]:
    """Clients as a muster found them."""
    return {parse_client_spec(spec): found(spec) for spec in specs or CLIENTS}


def document_of(
    unit: SuiteUnit,
    *,
    ended_at: str | None = "2026-01-01T00:00:09.000Z",
    complete: bool = True,
    machine: MachineFacts | None = None,
    warnings: tuple[str, ...] = (),
) -> Document:
    """What `s3bench run` writes of a unit, but for the measurements."""
    results = tuple(
        new_result(cell, Client(name=client.kind, version=client.version, label=client.label))
        for cell in unit.cells
        for client in (found(str(cell.client)),)
    )
    return Document(
        s3bench=s3bench.__version__,
        started_at="2026-01-01T00:00:01.000Z",
        ended_at=ended_at,
        machine=msgspec.to_builtins(machine or machine_facts()),
        warnings=warnings,
        results=tuple(result.completed() for result in results) if complete else results[:1],
    )


def _client(spec: str) -> Client:
    here = found(spec)
    return Client(name=here.kind, version=here.version, label=here.label)


@dataclass(kw_only=True)
class SimulatedSuiteNode:
    """Ends each unit, asked for the `turns`th time, with `outcome`, without one as a run that went well.

    It is gone, or silent, from the unit on that is its `gone_at`th or `silent_at`th, and does not hear what is in
    `deaf` once it has begun so many units. An outcome takes `outcome_s` to arrive. Stopped, it ends with 130. `heard_s`
    is when it was asked.
    """

    units: Mapping[int, SuiteUnit] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    look: Mapping[str, FoundHere | MissingHere] = field(default_factory=dict)
    niceness: int = 0
    warnings: tuple[str, ...] = ()
    turns: int = 1
    outcome: UnitOutcome | None = None
    gone_at: int | None = None
    silent_at: int | None = None
    deaf: Mapping[str, int] = field(default_factory=dict)
    outcome_s: float = 0.0
    begun: list[int] = field(default_factory=list)
    arguments: list[tuple[str, ...]] = field(default_factory=list)
    keys: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    stopped: bool = False
    closed: bool = False
    heard_s: list[float] = field(default_factory=list)
    _asked: int = 0

    def hears(self, method: str) -> bool:
        count = len(self.begun)
        return count < self.deaf.get(method, count + 1) and (self.silent_at is None or count < self.silent_at)

    def takes_s(self, method: str) -> float:
        return self.outcome_s if method == "outcome" else 0.0

    def answer(self, method: str, words: Sequence[Any]) -> Any:
        match method:
            case "facts":
                usual = {"protocol": PROTOCOL, "s3bench": s3bench.__version__, "python": "3.11.7", "cores": 4}
                capacity = {"descriptors": 20_000, "ports": None, "memory_bytes": None}
                node_warnings = {"capacity": capacity, "niceness": self.niceness, "warnings": self.warnings}
                return {**usual, "machine": MACHINE, **node_warnings, **self.facts}
            case "look":
                clients = tuple(self.look.get(spec, found(spec)) for spec in words[0])
                return encode(ClientLookup(clients=clients))
            case "prepare":
                [self.files] = words
            case "begin":
                chunk, arguments, self.keys = words
                self.begun.append(chunk)
                self.arguments.append(arguments)
                self._asked = 0
            case "outcome":
                return self._outcome(words[0])
            case "stop":
                self.stopped = True
            case "close":
                self.closed = True
        return None

    def _outcome(self, chunk: int) -> Any:
        assert chunk == self.begun[-1]
        if self.gone_at is not None and len(self.begun) >= self.gone_at:
            return NodeGone("its process died")
        self._asked += 1
        if self.stopped:
            partial = document_of(self.units[chunk], ended_at=None, complete=False)
            return encode(UnitOutcome(exit_code=130, document=encode_document(partial), said="interrupted"))
        if self._asked < self.turns:
            return None
        whole = UnitOutcome(exit_code=0, document=encode_document(document_of(self.units[chunk])), said="")
        return encode(self.outcome or whole)


class SimulatedSuite:
    """Simulated nodes, and a clock that moves on while somebody waits."""

    def __init__(self, *nodes: SimulatedSuiteNode, stop_at_s: float | None = None) -> None:
        self.each = nodes
        self.nodes = len(nodes)
        self.facts: Mapping[str, object] = {"engine": "simulated"}
        self.now_s = 0.0
        self._stop_at_s = stop_at_s

    def call(
        self,
        method: str,
        arguments: Mapping[int, tuple[object, ...]],
        *,
        limit_s: float,
        is_over: Callable[[], bool] = lambda: False,
    ) -> dict[int, Any]:
        there = [node for node in arguments if self.each[node].hears(method)]
        for node in there:
            self.each[node].heard_s.append(self.now_s)
        answers = {node: self.each[node].answer(method, arguments[node]) for node in there}
        in_time = {node: answer for node, answer in answers.items() if self.each[node].takes_s(method) <= limit_s}
        slowest_s = max((self.each[node].takes_s(method) for node in in_time), default=0.0)
        until_s = self.now_s + (slowest_s if len(in_time) == len(arguments) else limit_s)
        while self.now_s < until_s:
            self.now_s = min(until_s, self.now_s + 0.1)
            if is_over():
                raise KeyboardInterrupt
        return in_time

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def pause(self, seconds: float) -> bool:
        """Wait, and say whether it is time to stop."""
        self.now_s += seconds
        return self._stop_at_s is not None and self.now_s >= self._stop_at_s


def chunks(units: Iterable[SuiteUnit]) -> list[int]:
    return [unit.chunk for unit in units]
