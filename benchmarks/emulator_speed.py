#!/usr/bin/env python3
"""How fast the emulator is beside moto's server, versitygw and nginx, as ratios.

    .venv/bin/python benchmarks/emulator_speed.py [--rounds 5] [--seconds 2] [--moto FILE] [--versitygw FILE]

One core for the servers, another for the load; the rounds alternate between all servers and the medians count. Our wire
log is on, as it always is. Objects of 4 KiB: what counts is requests per second of server CPU. The URLs are
presigned. moto checks no signature, so the emulator beside it has no keys either; versitygw does, and so does the
emulator beside it. Objects of 8 MiB: requests per second beside nginx, our PUTs with their
CRC32 verified, and stored or (`--discard`) thrown away as nginx throws them away.

Start moto's server from an environment of its own (`pip install 'moto[server]'`, then `--moto .../bin/moto_server`);
versitygw is found on PATH or in ~/go/bin. A missing peer is named, its rows are left out, and the exit code is 2.
Exits 1 when a bar is missed.
"""

import argparse
import base64
import contextlib
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from bars import met_or_missed
from botocore.config import Config
from peers import (
    LARGE_BYTES,
    SMALL_BYTES,
    Load,
    Rate,
    Target,
    free_port,
    large_puts,
    measure,
    median,
    need,
    nginx,
    pin,
    program,
    serving,
    wrk,
)

from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint

KEYS = ("benchmark", "not-a-secret-at-all")
BUCKET = "bucket"
PUT_KEYS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One server in one case, with the load that it gets."""

    name: str
    target: Target
    load: Load


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One kind of load; the bar is the least ratio of ours to the peer's, of CPU efficiency or of throughput."""

    name: str
    ours: Side
    peer: Side
    bar: float
    by_cpu: bool


def main() -> int:
    """Run all cases and print the table."""
    options = _options()
    need("nginx", "wrk")
    missing = []
    with tempfile.TemporaryDirectory(prefix="s3bench-emulator-") as name, contextlib.ExitStack() as stack:
        directory = Path(name)
        small, large = os.urandom(SMALL_BYTES), os.urandom(LARGE_BYTES)
        _write_objects(directory / "www" / BUCKET, small, large)
        web = stack.enter_context(nginx(directory))
        plain = stack.enter_context(_emulator(directory / "plain", small, large))
        discarding = stack.enter_context(_emulator(directory / "discarding", small, large, discard=True))
        cases = _nginx_cases(web, plain, discarding, large)
        targets = [web, plain, discarding]
        if options.moto is None:
            missing.append("moto's server (--moto)")
        else:
            moto = stack.enter_context(_moto(options.moto, small))
            targets.append(moto)
            cases += _signed_cases("moto", moto, "emulator", plain, 15)
        if options.versitygw is None:
            missing.append("versitygw (--versitygw)")
        else:
            gateway = stack.enter_context(_versitygw(options.versitygw, directory / "gateway", small))
            keyed = stack.enter_context(_emulator(directory / "keyed", small, large, keyed=True))
            targets += [gateway, keyed]
            cases += _signed_cases("versitygw", gateway, "emulator with keys", keyed, 2)
        pin(*targets)
        missed = [case.name for case in cases if not _run(case, options)]
    if missed:
        print(f"below the bar: {', '.join(missed)}")
        return 1
    if missing:
        print(f"not measured, since missing: {', '.join(missing)}", file=sys.stderr)
        return 2
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of load per server and round")
    parser.add_argument("--moto", default=program("moto_server"), help="the program moto_server")
    parser.add_argument("--versitygw", default=program("versitygw"), help="the program versitygw")
    return parser.parse_args()


def _nginx_cases(web: Target, ours: Target, discarding: Target, large: bytes) -> list[Case]:
    crc = base64.b64encode(zlib.crc32(large).to_bytes(4, "big")).decode()
    put = large_puts(f"/{BUCKET}/put", large, f"x-amz-checksum-crc32: {crc}\r\n")

    def gets(key: str, connections: int) -> Load:
        return wrk(f"/{BUCKET}/{key}", connections=connections)

    def case(name: str, bar: float, ours: Side, its_load: Load, *, by_cpu: bool = False) -> Case:
        return Case(name=name, ours=ours, peer=Side(name="nginx", target=web, load=its_load), bar=bar, by_cpu=by_cpu)

    small, big, nowhere = gets("small", 16), gets("large", 4), large_puts("/put/key", large)
    return [
        case("4 KiB GET", 0.6, Side(name="emulator", target=ours, load=small), small, by_cpu=True),
        case("8 MiB GET", 0.9, Side(name="emulator", target=ours, load=big), big),
        case("8 MiB PUT, stored", 1.0, Side(name="emulator", target=ours, load=put), nowhere),
        case("8 MiB PUT, discarded", 1.0, Side(name="discarding", target=discarding, load=put), nowhere),
    ]


def _signed_cases(peer_name: str, peer: Target, name: str, ours: Target, bar: float) -> list[Case]:
    """Small requests with presigned URLs, whether or not the server looks at the signature."""

    def case(what: str, operation: str, keys: list[str]) -> Case:
        sides = []
        for label, target in ((name, ours), (peer_name, peer)):
            client = _client(target.port)
            paths = [_presigned(client, operation, key) for key in keys]
            script = _puts(paths) if operation == "put_object" else ""
            load = wrk("/" if script else paths[0], connections=16, script=script)
            sides.append(Side(name=label, target=target, load=load))
        return Case(name=what, ours=sides[0], peer=sides[1], bar=bar, by_cpu=True)

    return [
        case("4 KiB GET", "get_object", ["small"]),
        case("4 KiB PUT", "put_object", [f"put{number}" for number in range(PUT_KEYS)]),
    ]


def _puts(paths: list[str]) -> str:
    """Write wrk's script for PUTs of 4 KiB of noise to one path after another."""
    listed = ",".join(f"[==[{path}]==]" for path in paths)
    return f"""
local paths = {{{listed}}}
local at = 0
local bytes = {{}}
math.randomseed(1)
for i = 1, {SMALL_BYTES} do bytes[i] = string.char(math.random(0, 255)) end
local body = table.concat(bytes)
request = function()
  at = at % #paths + 1
  return wrk.format("PUT", paths[at], {{}}, body)
end
"""


def _run(case: Case, options: argparse.Namespace) -> bool:
    """Print one case's row; whether it reaches its bar."""
    sides = (case.ours, case.peer)
    rates: dict[str, list[Rate]] = {side.name: [] for side in sides}
    for side in sides:
        measure(case.name, side.load, side.target, 0.5)  # warm-up
    for number in range(options.rounds):
        for side in sides if number % 2 else reversed(sides):
            rates[side.name].append(measure(case.name, side.load, side.target, options.seconds))
    ours, theirs = (median(rates[side.name]) for side in sides)
    by_cpu = theirs.server_cpu_us / ours.server_cpu_us
    by_rate = ours.requests_per_s / theirs.requests_per_s
    ratio = by_cpu if case.by_cpu else by_rate
    print(
        f"{case.name} beside {case.peer.name:9}: requests per CPU second {by_cpu:6.2f} times, requests per second "
        f"{by_rate:6.2f} times; {'CPU' if case.by_cpu else 'rate'} counts, bar {case.bar:g}: "
        f"{met_or_missed(ratio >= case.bar)}  "
        f"({ours.requests_per_s:.0f}/s beside {theirs.requests_per_s:.0f}/s, "
        f"{ours.server_cpu_us:.1f} us beside {theirs.server_cpu_us:.1f} us)",
        flush=True,
    )
    return ratio >= case.bar


def _write_objects(folder: Path, small: bytes, large: bytes) -> None:
    folder.mkdir(parents=True)
    (folder / "small").write_bytes(small)
    (folder / "large").write_bytes(large)


@contextlib.contextmanager
def _emulator(
    directory: Path, small: bytes, large: bytes, *, keyed: bool = False, discard: bool = False
) -> Iterator[Target]:
    directory.mkdir()
    access_key, secret_key = KEYS if keyed else (None, None)
    with EmulatorEndpoint(directory=directory) as endpoint:
        settings = EmulatorSettings(access_key=access_key, secret_key=secret_key, buckets=(BUCKET,), discard=discard)
        endpoint.arm(settings)
        port = int(endpoint.url.rpartition(":")[2])
        client = _client(port)
        client.put_object(Bucket=BUCKET, Key="small", Body=small)
        client.put_object(Bucket=BUCKET, Key="large", Body=large)

        before = 0

        def begin() -> None:
            nonlocal before
            before = endpoint.drain(requests_max=0).counters.requests

        def end() -> int:
            return endpoint.drain(requests_max=0).counters.requests - before

        yield Target(port=port, pid=endpoint.pid, begin=begin, end=end)


@contextlib.contextmanager
def _moto(path: str, small: bytes) -> Iterator[Target]:
    port = free_port()
    with serving([path, "-H", "127.0.0.1", "-p", str(port)], port) as target:
        client = _client(port)
        client.create_bucket(Bucket=BUCKET)
        client.put_object(Bucket=BUCKET, Key="small", Body=small)
        yield target


@contextlib.contextmanager
def _versitygw(path: str, directory: Path, small: bytes) -> Iterator[Target]:
    directory.mkdir()
    port = free_port()
    command = [path, "--port", f"127.0.0.1:{port}", "--keep-alive", "--quiet", "posix", str(directory)]
    keys = {"ROOT_ACCESS_KEY": KEYS[0], "ROOT_SECRET_KEY": KEYS[1]}
    with serving(command, port, keys) as target:
        client = _client(port)
        client.create_bucket(Bucket=BUCKET)
        client.put_object(Bucket=BUCKET, Key="small", Body=small)
        yield target


def _client(port: int) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id=KEYS[0],
        aws_secret_access_key=KEYS[1],
        region_name="us-east-1",
        config=Config(
            signature_version="s3v4",
            s3={"addressing_style": "path"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )


def _presigned(client: Any, operation: str, key: str) -> str:
    url: str = client.generate_presigned_url(operation, Params={"Bucket": BUCKET, "Key": key}, ExpiresIn=7200)
    return "/" + url.split("/", 3)[3]


if __name__ == "__main__":
    sys.exit(main())
