#!/usr/bin/env python3
"""One S3 client under load, for load_cost.py and load_throughput.py: GETs or PUTs of keys in turn, bodies read whole.

    PYTHON load_peers.py obstore|awscrt|boto3 get|put URL BUCKET PREFIX KEYS BODY_BYTES REQUESTS SECONDS

Runs in an environment that has the client, so it imports nothing of s3bench. As many requests are on at a time as
REQUESTS says: tasks for obstore, threads for the others. Keys are PREFIX and a number of eight digits; with 0 KEYS the
prefix is the one key. After a first request, it prints the requests, the body bytes and the CPU seconds of the process
as JSON. Keys and region come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION. Any error ends it with exit
code 1.
"""

import asyncio
import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Order:
    """What is to be done."""

    verb: str
    url: str
    bucket: str
    keys: Iterator[str]
    body: bytes
    requests: int
    seconds: float

    def access(self) -> tuple[str, str, str]:
        """Access key, secret key and region."""
        return os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"], os.environ["AWS_REGION"]


Done = tuple[int, float]
"""Requests, and CPU seconds from the first to the last."""


def run_obstore(order: Order) -> Done:
    """Tasks that share one store."""
    import obstore  # noqa: PLC0415 (only one of the clients is there)
    from obstore.store import S3Store  # noqa: PLC0415

    access_key, secret_key, region = order.access()
    store = S3Store(
        order.bucket, endpoint=order.url, region=region, access_key_id=access_key, secret_access_key=secret_key,
        virtual_hosted_style_request=False, client_options={"allow_http": True},
    )  # fmt: skip

    async def once() -> None:
        if order.verb == "get":
            await (await obstore.get_async(store, next(order.keys))).bytes_async()
        else:
            await obstore.put_async(store, next(order.keys), order.body, use_multipart=False)

    return asyncio.run(_tasks(once, order))


async def _tasks(once: Callable[[], Awaitable[None]], order: Order) -> Done:
    await once()
    done, deadline_s, cpu_s = 0, time.monotonic() + order.seconds, time.process_time()

    async def work() -> None:
        nonlocal done
        while time.monotonic() < deadline_s:
            await once()
            done += 1

    await asyncio.gather(*(work() for _ in range(order.requests)))
    return done, time.process_time() - cpu_s


def run_boto3(order: Order) -> Done:
    """Threads that share one client."""
    import boto3  # noqa: PLC0415
    from botocore.config import Config  # noqa: PLC0415

    access_key, secret_key, region = order.access()
    client = boto3.client(
        "s3",
        endpoint_url=order.url,
        region_name=region,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        config=Config(max_pool_connections=order.requests, s3={"addressing_style": "path"}),
    )

    def once() -> None:
        if order.verb == "get":
            client.get_object(Bucket=order.bucket, Key=next(order.keys))["Body"].read()
        else:
            client.put_object(Bucket=order.bucket, Key=next(order.keys), Body=order.body)

    return _threads(once, order)


def run_awscrt(order: Order) -> Done:
    """Threads that share one S3 client, each with one request at a time; a part is a whole object."""
    from awscrt import auth, http, io, s3  # noqa: PLC0415

    access_key, secret_key, region = order.access()
    group = io.EventLoopGroup(1)
    bootstrap = io.ClientBootstrap(group, io.DefaultHostResolver(group))
    provider = auth.AwsCredentialsProvider.new_static(access_key, secret_key)
    client = s3.S3Client(
        bootstrap=bootstrap, region=region, tls_mode=s3.S3RequestTlsMode.DISABLED, throughput_target_gbps=10.0,
        signing_config=s3.create_default_s3_signing_config(region=region, credential_provider=provider),
        part_size=len(order.body),
    )  # fmt: skip
    place = urlsplit(order.url).netloc
    kind = s3.S3RequestType.GET_OBJECT if order.verb == "get" else s3.S3RequestType.PUT_OBJECT

    def once() -> None:
        headers = http.HttpHeaders([("Host", place)])
        stream: Any = None
        if order.verb == "put":
            headers.add("Content-Length", str(len(order.body)))
            stream = BytesIO(order.body)
        request = http.HttpRequest(order.verb.upper(), f"/{order.bucket}/{next(order.keys)}", headers, stream)
        client.make_request(type=kind, request=request, on_body=lambda **_: None).finished_future.result(60)

    return _threads(once, order)


def _threads(once: Callable[[], None], order: Order) -> Done:
    once()
    counts, deadline_s, cpu_s = [0] * order.requests, time.monotonic() + order.seconds, time.process_time()

    def work(slot: int) -> None:
        while time.monotonic() < deadline_s:
            once()
            counts[slot] += 1

    failed: list[threading.ExceptHookArgs] = []

    def fail(error: threading.ExceptHookArgs) -> None:
        failed.append(error)
        threading.__excepthook__(error)

    threading.excepthook = fail
    threads = [threading.Thread(target=work, args=(slot,), daemon=True) for slot in range(order.requests)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(order.seconds + 60)
    if failed:
        raise SystemExit(1)
    return sum(counts), time.process_time() - cpu_s


RUNS: dict[str, Callable[[Order], Done]] = {"boto3": run_boto3, "obstore": run_obstore, "awscrt": run_awscrt}


def _names(prefix: str, keys: int) -> Iterator[str]:
    """The keys in turn, for ever, which threads can share, unlike a generator."""
    if not keys:
        return itertools.repeat(prefix)
    first = os.getpid() % keys  # two processes that began at the same key would read the same ones all the time
    return itertools.cycle([f"{prefix}{(first + number) % keys:08d}" for number in range(keys)])


def main() -> None:
    """Run one client as the command line says."""
    name, verb, url, bucket, prefix, keys, size_bytes, requests, seconds = sys.argv[1:]
    order = Order(
        verb=verb,
        url=url,
        bucket=bucket,
        keys=_names(prefix, int(keys)),
        body=os.urandom(int(size_bytes)),
        requests=int(requests),
        seconds=float(seconds),
    )
    done, cpu_s = RUNS[name](order)
    print(json.dumps({"requests": done, "body_bytes": done * int(size_bytes), "cpu_s": cpu_s}), flush=True)
    os._exit(0)  # threads of native code would keep the process, and what they do at its end is not measured


if __name__ == "__main__":
    main()
