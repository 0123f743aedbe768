"""Writes the script of the stub inside the client's process, and reads its log as a wire log.

For Classic clients (aws-cli, boto3) only; `probes/s3bench_probe/stubbing.py` is what runs there. There are no sockets,
so connections are not counted, and checksums are not verified.
"""

import json
import re
from collections import Counter
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from s3bench.clients.registry import known_client, known_clients
from s3bench.errors import BadInput
from s3bench.s3.wirelog import TransferEngine, WireLog, WireRequest
from s3bench.spec.definition import FileBody, RequestMatch, Response
from s3bench.spec.reader import one_of

URL = "http://127.0.0.1:9"
"""Where a client is pointed that never opens a socket: the discard port (RFC 863), should it do so after all."""

_ATTEMPT = re.compile(r"attempt=([0-9]{1,6})")


def check_in_process(kind: str) -> None:
    """Raise `BadInput` for a client whose requests do not go through botocore."""
    if not known_client(kind).is_stubbed_in_process:
        able = one_of(name for name, client in known_clients().items() if client.is_stubbed_in_process)
        raise BadInput(
            f"{kind} cannot be stubbed in its own process",
            "its requests do not go through botocore",
            f"leave out `--stub in-process`, or select {able} with `--client`",
        )


def log_of(script: Path) -> Path:
    """Where the client that reads `script` logs its requests."""
    return script.with_name("requests.jsonl")


def write_script(script: Path, responses: tuple[Response, ...], *, workspace: Path, log: Path) -> None:
    """Write the script for one iteration, file bodies to be read from `workspace`, and create an empty `log`."""
    log.write_bytes(b"")
    told = {
        "workspace": str(workspace),
        "log": str(log),
        "responses": [_response(response) for response in responses],
    }
    script.write_text(json.dumps(told), "utf-8")


def _response(response: Response) -> dict[str, Any]:
    file = response.body.file if isinstance(response.body, FileBody) else ""
    return {
        "status_code": response.status_code,
        "headers": dict(response.headers),
        "body": response.body if isinstance(response.body, str) else "",
        "file": file,
        "instances": response.instances,
        "delay_s": response.delay_s,
        "match": _match(response.match),
    }


def _match(match: RequestMatch | None) -> dict[str, Any] | None:
    return None if match is None else {"method": match.method, "path": match.path, "query": list(match.query)}


class _Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line of the log, as `stubbing` writes it. `response` is the position in the script."""

    method: str
    path: str
    query: str
    byte_range: str
    attempt: str
    started_ns: int
    body_ended_ns: int
    ended_ns: int
    status: int
    body_bytes: int
    wire_bytes: int
    response: int | None
    file: str
    start: int
    end: int
    response_bytes: int
    error: str


_RECORDS: msgspec.json.Decoder[_Record] = msgspec.json.Decoder(_Record)


def read_log(log: Path, responses: tuple[Response, ...]) -> WireLog:
    """Read what the stub inside the process saw."""
    records = sorted(_RECORDS.decode_lines(log.read_bytes()), key=attrgetter("started_ns"))
    used = Counter(record.response for record in records)
    leftover = [
        f"responses[{position}]: {response.instances - used[position]} of {response.instances} instances unused"
        for position, response in enumerate(responses)
        if response.instances is not None and used[position] < response.instances
    ]
    return WireLog(
        requests=tuple(map(_request, records)),
        leftover=tuple(leftover),
        connections=0,
        connections_open_max=0,
        requests_in_flight_max=_in_flight_max(records),
        server_cpu_s=0.0,
        faults=(),
    )


def _request(record: _Record) -> WireRequest:
    return WireRequest(
        method=record.method,
        path=record.path,
        query=record.query,
        byte_range=record.byte_range,
        connection=0,
        attempt=_attempt(record.attempt),
        engine=TransferEngine.PYTHON,
        started_ns=record.started_ns,
        body_ended_ns=record.body_ended_ns,
        response_started_ns=record.ended_ns,
        ended_ns=record.ended_ns,
        status=record.status,
        body_bytes=record.body_bytes,
        wire_bytes=record.wire_bytes,
        response_bytes=record.response_bytes,
        checksums={},
        file=record.file,
        served_start=record.start,
        served_end=record.end,
        complete=True,
        error=record.error,
    )


@lru_cache(maxsize=64)
def _attempt(sdk_request: str) -> int:
    """The attempt that the header `amz-sdk-request` tells; 1 where it tells none."""
    found = _ATTEMPT.search(sdk_request)
    return int(found[1]) if found else 1


def _in_flight_max(records: list[_Record]) -> int:
    """How many requests were on at once; `records` are in the order of their start."""
    ends = sorted(record.ended_ns for record in records)
    highest = ended = 0
    for started, record in enumerate(records, 1):
        while ended < started - 1 and ends[ended] <= record.started_ns:
            ended += 1
        highest = max(highest, started - ended)
    return highest
