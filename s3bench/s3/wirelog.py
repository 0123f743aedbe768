"""The wire log: the server's record of what a client really did, request by request.

All times are `CLOCK_MONOTONIC` nanoseconds of this machine, comparable with every other process's.
"""

from enum import StrEnum

import msgspec


class TransferEngine(StrEnum):
    """The S3 transfer engine that sent a request, recognised from the bytes on the wire, never from a configuration.

    `CRT`: aws-c-s3, whose C code puts `CRTS3NativeClient/` into User-Agent itself. `PYTHON`: botocore's own HTTP
    client. `GO`: aws-sdk-go (s5cmd). `OTHER`: anything else.
    """

    CRT = "crt"
    PYTHON = "python"
    GO = "go"
    OTHER = "other"


class InjectedFault(StrEnum):
    """What the network model did to a request, beside delaying it.

    `SLOW_DOWN`: answered 503, since its prefix had too many. `ERROR`: answered 500. `RESET`: its reply cut by a TCP
    reset. `STALL`: its reply paused half-way.
    """

    NONE = ""
    SLOW_DOWN = "slow-down"
    ERROR = "error"
    RESET = "reset"
    STALL = "stall"


class WireRequest(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """One request and its response.

    `path` is decoded, without the query; `query` is raw. `byte_range` is the Range header as sent, or empty.
    `body_bytes` is the payload after chunked and aws-chunked framing was taken off, `wire_bytes` what crossed the
    socket for the body, `response_bytes` the response body bytes really sent. `attempt` is from `amz-sdk-request`
    (1 where absent). `status` is 0 when no response was sent. `checksums` maps each algorithm (`md5`, `crc32`,
    `crc32c`, `crc64nvme`, `sha1`, `sha256`; `content-sha256` for x-amz-content-sha256) to whether it was right;
    empty when none was declared or verifying was off. `file` is the workspace file that was served, or empty, and
    `served_start`, `served_end` the half-open byte range of it that the response carried.
    `complete` is true when the request was read and the response written to the last byte. `error` says what was
    wrong with the request as the server saw it (no response left, truncated body, checksum mismatch), or is empty.
    `asked_ttfb_s` is how long after `body_ended_ns` the response was to start, by the network model or a scripted
    delay; `fault` what the network model did to it.
    """

    method: str
    path: str
    query: str
    byte_range: str
    connection: int
    attempt: int
    engine: TransferEngine
    started_ns: int
    body_ended_ns: int
    response_started_ns: int
    ended_ns: int
    status: int
    body_bytes: int
    wire_bytes: int
    response_bytes: int
    checksums: dict[str, bool]
    file: str
    served_start: int
    served_end: int
    complete: bool
    error: str
    asked_ttfb_s: float = 0.0
    fault: InjectedFault = InjectedFault.NONE


class UploadDigest(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A checksum of the body of the last successful PUT of `path` with the raw `query`, as computed by the server.

    `algorithm` is one that the request declared, named as in `WireRequest.checksums`, else `crc32`; `value` has the
    raw bytes, big-endian.
    """

    path: str
    query: str
    algorithm: str
    value: bytes


class WireLog(msgspec.Struct, frozen=True, kw_only=True):
    """All that the server saw between arming and collecting, requests in order of their start.

    `leftover` describes each response that no request took ("responses[3]: 4 of 5 instances unused").
    `connections` counts connections accepted, `connections_open_max` how many were open at once.
    `requests_in_flight_max` counts requests between their first byte and the last byte of their response.
    `server_cpu_s` is the server's own CPU time in the span. `faults` are connections that spoke no HTTP, in words.
    `failures` are errors in the server's own code, in words: the requests concerned were answered 500.
    `verified` says that the server compared bodies with their declared checksums; a stub that did has `digests` too.
    """

    requests: tuple[WireRequest, ...]
    leftover: tuple[str, ...]
    connections: int
    connections_open_max: int
    requests_in_flight_max: int
    server_cpu_s: float
    faults: tuple[str, ...]
    failures: tuple[str, ...] = ()
    verified: bool = False
    digests: tuple[UploadDigest, ...] = ()
