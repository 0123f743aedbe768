#!/usr/bin/env python3
"""One S3 client under load, for load_cost.py: prints requests, body bytes and CPU seconds of the process as JSON.

    PYTHON load_cost_peers.py obstore|boto3|awscrt get|put URL BUCKET KEY BODY_BYTES CONNECTIONS SECONDS

Runs in an environment that has the client, so it imports nothing of s3bench. As many requests are on at a time as there
are connections: threads for boto3, tasks for obstore, outstanding requests for awscrt. Bodies are read whole.
"""

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

ACCESS_KEY, SECRET_KEY, REGION = "benchmark", "not-a-secret-at-all", "us-east-1"

Done = tuple[int, float]
"""Requests, and CPU seconds from the first to the last."""


def run_boto3(verb: str, url: str, bucket: str, key: str, body: bytes, connections: int, seconds: float) -> Done:
    """Threads that share one client."""
    import boto3  # noqa: PLC0415 (only one of the clients is there)
    from botocore.config import Config  # noqa: PLC0415

    client = boto3.client(
        "s3",
        endpoint_url=url,
        region_name=REGION,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        config=Config(max_pool_connections=connections, s3={"addressing_style": "path"}),
    )

    def once() -> None:
        if verb == "get":
            client.get_object(Bucket=bucket, Key=key)["Body"].read()
        else:
            client.put_object(Bucket=bucket, Key=key, Body=body)

    once()
    return _threads(once, connections, seconds)


def _threads(once: Callable[[], None], connections: int, seconds: float) -> Done:
    counts = [0] * connections
    deadline_s = time.monotonic() + seconds

    def work(slot: int) -> None:
        while time.monotonic() < deadline_s:
            once()
            counts[slot] += 1

    cpu_s = time.process_time()
    threads = [threading.Thread(target=work, args=(slot,), daemon=True) for slot in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 60)
    return sum(counts), time.process_time() - cpu_s


def run_obstore(verb: str, url: str, bucket: str, key: str, body: bytes, connections: int, seconds: float) -> Done:
    """Tasks that share one store."""
    import obstore  # noqa: PLC0415
    from obstore.store import S3Store  # noqa: PLC0415

    store = S3Store(
        bucket, endpoint=url, region=REGION, access_key_id=ACCESS_KEY, secret_access_key=SECRET_KEY,
        virtual_hosted_style_request=False, client_options={"allow_http": True},
    )  # fmt: skip

    async def once() -> None:
        if verb == "get":
            await (await obstore.get_async(store, key)).bytes_async()
        else:
            await obstore.put_async(store, key, body, use_multipart=False)

    async def load() -> Done:
        await once()
        count = 0
        deadline_s = time.monotonic() + seconds

        async def work() -> None:
            nonlocal count
            while time.monotonic() < deadline_s:
                await once()
                count += 1

        cpu_s = time.process_time()
        await asyncio.gather(*(work() for _ in range(connections)))
        return count, time.process_time() - cpu_s

    return asyncio.run(load())


def run_awscrt(verb: str, url: str, bucket: str, key: str, body: bytes, connections: int, seconds: float) -> Done:
    """Threads that share one S3 client, each with one request at a time."""
    from awscrt import auth, http, io, s3  # noqa: PLC0415

    group = io.EventLoopGroup(1)
    bootstrap = io.ClientBootstrap(group, io.DefaultHostResolver(group))
    provider = auth.AwsCredentialsProvider.new_static(ACCESS_KEY, SECRET_KEY)
    client = s3.S3Client(
        bootstrap=bootstrap, region=REGION, tls_mode=s3.S3RequestTlsMode.DISABLED, throughput_target_gbps=10.0,
        signing_config=s3.create_default_s3_signing_config(region=REGION, credential_provider=provider),
        part_size=len(body),
    )  # fmt: skip
    place = urlsplit(url)
    kind = s3.S3RequestType.GET_OBJECT if verb == "get" else s3.S3RequestType.PUT_OBJECT

    def once() -> None:
        headers = http.HttpHeaders([("Host", place.netloc)])
        stream: Any = None
        if verb == "put":
            headers.add("Content-Length", str(len(body)))
            stream = BytesIO(body)
        request = http.HttpRequest(verb.upper(), f"/{bucket}/{key}", headers, stream)
        client.make_request(type=kind, request=request, on_body=lambda **_: None).finished_future.result(60)

    once()
    return _threads(once, connections, seconds)


RUNS: dict[str, Callable[..., Done]] = {"boto3": run_boto3, "obstore": run_obstore, "awscrt": run_awscrt}


def main() -> None:
    """Run one client as the command line says."""
    name, verb, url, bucket, key, size_bytes, connections, seconds = sys.argv[1:]
    body = os.urandom(int(size_bytes))
    requests, cpu_s = RUNS[name](verb, url, bucket, key, body, int(connections), float(seconds))
    print(json.dumps({"requests": requests, "body_bytes": requests * int(size_bytes), "cpu_s": cpu_s}), flush=True)
    os._exit(0)  # what threads of native code do at the end of an interpreter is not measured


if __name__ == "__main__":
    main()
